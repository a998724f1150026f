/*
 * Lines wait in a heap of no order: they are few. When one has waited long enough, all with a lower
 * clock go before it, in the order of their clocks; of equal ones the first that came.
 *
 * The other hosts are entered as clients enter them, by the key that hosts have for each other.
 */
#include "deploy/server/tap_merge.h"

#include <stdio.h>
#include <string.h>

#include "deploy/entry/entry.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Hosts that one tap is opened at. */
#define HOSTS_MAX 64

/* Bytes that a name of a host takes in a line. */
#define NAMED_BYTES 160

struct source {
    char name[TRI_ZAP_WHO_BYTES];
    struct tri_client *client; /* NULL: it is over */
};

struct line {
    uint64_t clock;
    uint64_t came; /* the how manieth line it is */
    uint64_t came_ms;
    char *text;
    size_t size;
};

struct tr_tap_merge {
    bool is_json;
    char own[TRI_ZAP_WHO_BYTES];
    struct source sources[HOSTS_MAX];
    size_t source_count;
    struct line lines[TR_TAP_MERGE_LINES_MAX];
    size_t count;
    uint64_t came;
    uint64_t dropped; /* lines beyond the most */
    uint64_t shown;
    uint64_t limit;
    char *said; /* the line that is shown now */
};

/* ---- What the filter concerns. --------------------------------------------------------------- */

/* The end of /PROJECT/DOMAIN/NAME at the beginning of a pattern; 0: it is not of one execution. */
static size_t execution_end(const char *pattern)
{
    size_t at = 0;
    for (int part = 0; part < 3; part++) {
        if (pattern[at++] != '/') {
            return 0;
        }
        size_t begin = at;
        while (pattern[at] != '\0' && strchr("/*[,?", pattern[at]) == NULL) {
            at++;
        }
        if (at == begin || (part < 2 && pattern[at] != '/')) {
            return 0;
        }
    }
    return strchr("/[", pattern[at]) != NULL && pattern[at] != '\0' ? at : 0;
}

/* Whether all patterns of a list are of the execution of the first. */
static bool are_of_one(const char *patterns, size_t end)
{
    for (const char *at = patterns; at != NULL;) {
        bool is_it = strncmp(at, patterns, end) == 0 && (at[end] == '/' || at[end] == '[');
        const char *comma = strchr(at, ',');
        if (!is_it) {
            return false;
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

/* The number of the only execution that a filter is about; 0: it may be about any. */
static uint64_t execution_of(struct tr_live *live, const char *patterns)
{
    struct tr_executions_row found;
    struct tr_reader *reader;
    size_t end = execution_end(patterns);
    uint64_t number = 0;
    if (end == 0 || !are_of_one(patterns, end) || tr_live_read(live, NULL, &reader) != 0) {
        return 0;
    }
    const char *project = patterns + 1;
    const char *domain = strchr(project, '/') + 1;
    const char *name = strchr(domain, '/') + 1;
    struct tr_text texts[] = {{.data = project, .size = (size_t)(domain - project) - 1},
                              {.data = domain, .size = (size_t)(name - domain) - 1},
                              {.data = name, .size = (size_t)(patterns + end - name)}};
    if (tr_executions_named(reader, texts[0], texts[1], texts[2], &found) == 0) {
        number = found.row.execution;
        tr_executions_row_fini(&found);
    }
    tr_live_read_end(live);
    return number;
}

/* ---- Lines. ---------------------------------------------------------------------------------- */

/* A line with the name of its host: as a member of an object, or before the words. */
static int name_line(const struct tr_tap_merge *merge, const char *host, struct tr_text line,
                     bool is_lost, struct line *made)
{
    bool is_object = merge->is_json && line.size > 1 && line.data[0] == '{';
    bool is_named = is_object || (!merge->is_json && is_lost);
    made->text = tr_alloc(line.size + NAMED_BYTES);
    if (made->text == NULL) {
        return TR_MEMORY;
    }
    int head = !is_named   ? 0
               : is_object ? snprintf(made->text, NAMED_BYTES, "{\"host\":\"%s\",", host)
                           : snprintf(made->text, NAMED_BYTES, "host %s: ", host);
    size_t left_out = is_object ? 1 : 0;
    memcpy(made->text + head, line.data + left_out, line.size - left_out);
    made->size = (size_t)head + line.size - left_out;
    return 0;
}

static int add(struct tr_tap_merge *merge, const char *host, struct tr_text line, uint64_t clock,
               bool is_lost, uint64_t now_ms)
{
    if (line.size == 0) {
        return 0;
    }
    if (merge->count == TR_TAP_MERGE_LINES_MAX) {
        merge->dropped++;
        return 0;
    }
    struct line *made = &merge->lines[merge->count];
    *made = (struct line){.clock = clock, .came = merge->came, .came_ms = now_ms};
    int error = name_line(merge, host, line, is_lost, made);
    if (error == 0) {
        merge->came++;
        merge->count++;
    }
    return error;
}

/* What is said of a host itself. It has no clock: it stands where it came. */
static int say(struct tr_tap_merge *merge, const char *host, const char *why, uint64_t now_ms)
{
    char words[256];
    if (merge->is_json) {
        (void)snprintf(words, sizeof words, "{\"point\":\"unseen\",\"reason\":\"%s\"}", why);
    } else {
        (void)snprintf(words, sizeof words, "what passes there is not seen: %s", why);
    }
    return add(merge, host, tr_text_of(words), 0, true, now_ms);
}

int tr_tap_merge_add(struct tr_tap_merge *merge, struct tr_text line, uint64_t clock, bool is_lost,
                     uint64_t now_ms)
{
    return add(merge, merge->own, line, clock, is_lost, now_ms);
}

/* ---- The other hosts. ------------------------------------------------------------------------ */

static void end_source(struct source *source)
{
    tri_client_close(source->client);
    source->client = NULL;
}

static int take(struct tr_tap_merge *merge, struct source *source, const struct tri_request *came,
                uint64_t now_ms)
{
    struct tr_tap_row row;
    struct tr_answered answered;
    if (came->type == tr_tap_row_schema.id &&
        tr_tap_row_unpack(came->body, came->version, &row) == 0) {
        return add(merge, source->name, row.line, row.clock, row.is_lost, now_ms);
    }
    bool has_failed = came->type != tr_answered_schema.id ||
                      tr_answered_unpack(came->body, came->version, &answered) != 0 ||
                      answered.error != 0;
    end_source(source);
    return has_failed ? say(merge, source->name, "it does not open the tap", now_ms) : 0;
}

static int read_source(struct tr_tap_merge *merge, struct source *source, uint64_t now_ms)
{
    int error = 0;
    while (error == 0 && source->client != NULL) {
        struct tri_request came;
        int next = tri_client_next(source->client, -1, 0, &came);
        if (next == TR_TIMEOUT) {
            return 0;
        }
        if (next == 0) {
            error = take(merge, source, &came, now_ms);
        } else {
            end_source(source);
            error = say(merge, source->name, "it does not answer", now_ms);
        }
    }
    return error;
}

static int open_source(struct tr_tap_merge *merge, struct tr_live *live,
                       const struct tr_entry_host *host, const struct tr_open_tap *open)
{
    struct source *source = &merge->sources[merge->source_count++];
    struct tr_open_tap there = *open;
    uint32_t number;
    there.is_here = true;
    (void)snprintf(source->name, sizeof source->name, "%s", host->name);
    int error =
        host->address[0] == '\0' ? TR_NOT_FOUND : tr_entry_connect(live, host, &source->client);
    if (error == 0) {
        error = tri_client_ask(source->client, &tr_open_tap_schema, &there, &number);
    }
    if (error != 0) {
        end_source(source);
        return say(merge, host->name,
                   host->address[0] == '\0' ? "it has no entry_address" : tr_error_text(error),
                   tr_live_now_ms(live));
    }
    return 0;
}

int tr_tap_merge_open(struct tr_live *live, const struct tr_open_tap *open,
                      const struct tr_tap_filter *filter, struct tr_tap_merge **out)
{
    struct tr_entry_host *hosts = tr_alloc_zero(HOSTS_MAX, sizeof *hosts);
    size_t count =
        hosts == NULL ? 0
                      : tr_entry_hosts(live, execution_of(live, filter->address), hosts, HOSTS_MAX);
    struct tr_tap_merge *merge = count > 0 ? tr_alloc_zero(1, sizeof *merge) : NULL;
    int error = hosts == NULL || (count > 0 && merge == NULL) ? TR_MEMORY : 0;
    if (merge != NULL) {
        merge->is_json = open->is_json;
        merge->limit = filter->limit;
        tr_entry_own_name(live, merge->own, sizeof merge->own);
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = open_source(merge, live, &hosts[i], open);
    }
    tr_free(hosts);
    if (error != 0) {
        tr_tap_merge_free(merge);
        return error;
    }
    *out = merge;
    return 0;
}

int tr_tap_merge_read(struct tr_tap_merge *merge, uint64_t now_ms)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < merge->source_count; i++) {
        error = read_source(merge, &merge->sources[i], now_ms);
    }
    if (error == 0 && merge->dropped > 0 && merge->count < TR_TAP_MERGE_LINES_MAX / 2) {
        char words[96];
        (void)snprintf(words, sizeof words,
                       merge->is_json ? "{\"point\":\"lost\",\"lost\":%llu}"
                                      : "%llu messages are missing here",
                       (unsigned long long)merge->dropped);
        merge->dropped = 0;
        error = add(merge, merge->own, tr_text_of(words), 0, true, now_ms);
    }
    return error;
}

/* ---- Showing. -------------------------------------------------------------------------------- */

static bool is_before(const struct line *a, const struct line *b)
{
    return a->clock != b->clock ? a->clock < b->clock : a->came < b->came;
}

int tr_tap_merge_next(struct tr_tap_merge *merge, uint64_t now_ms, struct tr_text *line)
{
    bool is_due = false;
    struct line *first = NULL;
    for (size_t i = 0; i < merge->count; i++) {
        struct line *each = &merge->lines[i];
        is_due = is_due || now_ms - each->came_ms >= TR_TAP_MERGE_MS;
        first = first == NULL || is_before(each, first) ? each : first;
    }
    if (!is_due || tr_tap_merge_is_full(merge)) {
        return TR_NOT_FOUND;
    }
    tr_free(merge->said);
    merge->said = first->text;
    *line = (struct tr_text){.data = first->text, .size = first->size};
    *first = merge->lines[--merge->count];
    merge->shown++;
    return 0;
}

bool tr_tap_merge_is_over(const struct tr_tap_merge *merge)
{
    for (size_t i = 0; i < merge->source_count; i++) {
        if (merge->sources[i].client != NULL) {
            return false;
        }
    }
    return merge->count == 0;
}

bool tr_tap_merge_is_full(const struct tr_tap_merge *merge)
{
    return merge->limit != 0 && merge->shown >= merge->limit;
}

void tr_tap_merge_free(struct tr_tap_merge *merge)
{
    if (merge != NULL) {
        for (size_t i = 0; i < merge->source_count; i++) {
            end_source(&merge->sources[i]);
        }
        for (size_t i = 0; i < merge->count; i++) {
            tr_free(merge->lines[i].text);
        }
        tr_free(merge->said);
        tr_free(merge);
    }
}
