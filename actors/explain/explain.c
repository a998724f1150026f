/*
 * Words for what is waited for, of tasks and of those that tasks wait for: slots and caches.
 *
 * Everything here reads committed bytes, which it trusts no further than their schemas and rows
 * reach: sizes are cut to what a row may hold, and a row that is not there leaves its words out.
 * The store may be that of a live engine, so two actors may be seen at different commits: a task
 * that waits for a slot while the resource manager does not know it yet is no fault.
 *
 * Words are made when they are asked for and kept nowhere, so they follow the state in every case.
 */
#include "actors/explain/explain.h"

#include <string.h>

#include "actors/graph/document/moment.h"
#include "actors/graph/document/report.h"
#include "actors/services/catalog.h"
#include "actors/services/resources.h"
#include "actors/store/task_name.h"
#include "schemas/codec/utf8.h"
#include "schemas/engine/flow.h"
#include "schemas/engine/phase.h"

#define NOTE_PAGE 2

/* Words of others that are shown: reasons, messages. */
#define WORDS_BYTES_MAX 240

/*
 * `at_ms` is by the clock of states, which may be ahead of the one on the wall: it is shown as
 * people would have read it, and the way to it is told by the states' own clock.
 */
void tri_explain_time(uint64_t at_ms, struct tr_explain_now now, struct tr_buffer *text)
{
    uint64_t shown_ms = at_ms - now.ahead_ms;
    struct tr_moment moment = {.seconds = (int64_t)(shown_ms / 1000),
                               .nanoseconds = (uint32_t)(shown_ms % 1000) * 1000000};
    tr_moment_print(moment, text);
    if (at_ms > now.steady_ms) {
        tr_buffer_add_string(text, ", in ");
        tr_duration_print((int64_t)(at_ms - now.steady_ms) * 1000000, text);
    }
}

/* ------------------------------------------------------------------- task */

/* The page of a task that has words for people; without one the note stays empty. */
static int read_note(const struct tr_explain_pages *pages, struct tr_task_note *note)
{
    struct tr_bytes page = {0};
    int error = pages->page(pages->self, NOTE_PAGE, &page);
    if (error != 0 || page.size == 0) {
        return error;
    }
    return tr_task_note_unpack(page, tr_task_note_schema.version, note) == 0 ? 0 : TR_MALFORMED;
}

/* Words of others, which may be many: it is seen where they were cut. */
static void add_words(struct tr_buffer *text, struct tr_text words)
{
    bool is_cut = words.size > WORDS_BYTES_MAX;
    size_t size = is_cut ? tr_utf8_cut(words, WORDS_BYTES_MAX) : words.size;
    tr_buffer_print(text, "%.*s%s", (int)size, words.data, is_cut ? "…" : "");
}

/* Between two attempts. The failure is that of the attempt before, which the note keeps. */
static void explain_backoff(const struct tr_task_state *state, const struct tr_task_note *note,
                            struct tr_explain_now now, struct tr_buffer *text)
{
    tr_buffer_print(text, "attempt %u waits until ", state->attempt);
    tri_explain_time(state->until_ms, now, text);
    tr_buffer_print(text, "; the one before failed with %.*s: ", TRI_TEXT(note->code));
    add_words(text, note->message);
}

/*
 * An attempt, as the plugin has reported it last. `is_left`: no engine runs now, so what was so
 * then is told in the past. A folder of the short form is completed by the attempt's name.
 */
static void explain_run(const struct tr_task_state *state, const struct tr_task_note *note,
                        struct tr_text generated_name, bool is_left, struct tr_buffer *text)
{
    tr_buffer_print(text, "attempt %u %s %s", state->attempt, is_left ? "was" : "is",
                    tr_task_phase_word(state->task_phase));
    if (note->reason.size > 0) {
        tr_buffer_add_string(text, " (");
        add_words(text, note->reason);
        tr_buffer_add_string(text, ")");
    }
    if (is_left) {
        tr_buffer_add_string(text,
                             " when the engine ended; the next engine finds out what became of it");
    }
    if (state->intent == TR_INTENT_INTENT || state->intent == TR_INTENT_UNKNOWN) {
        tr_buffer_print(text, "; %s", tr_task_intent_words(state->intent));
    }
    if (note->folder.size > 0) {
        bool is_short = tr_task_folder_is_short(note->folder);
        tr_buffer_print(text, "; its folder is %.*s%.*s", TRI_TEXT(note->folder),
                        is_short ? (int)generated_name.size : 0, generated_name.data);
    }
}

/*
 * Either the node is to end (`ending`), or the attempt has failed and what it left behind is being
 * ended.
 */
static void explain_abort(const struct tr_task_state *state, const struct tr_task_note *note,
                          struct tr_buffer *text)
{
    tr_buffer_print(text, "it %s", tr_task_step_words(TR_STEP_ABORT));
    if (state->ending != 0) {
        tr_buffer_print(text, "; then it is %s", tr_node_phase_word(state->ending));
        if (note->cause.size > 0) {
            tr_buffer_add_string(text, ": ");
            add_words(text, note->cause);
        }
    } else if (state->has_failed) {
        tr_buffer_print(text, "; then attempt %u has failed with %.*s: ", state->attempt,
                        TRI_TEXT(note->code));
        add_words(text, note->message);
    }
}

/* The namespace of the slot, where it waits for one of a plugin's. */
static void explain_slot(const struct tr_task_note *note, struct tr_buffer *text)
{
    if (note->resource.size > 0) {
        tr_buffer_print(text, "it waits for a slot in '%.*s'", TRI_TEXT(note->resource));
    } else {
        tr_buffer_print(text, "it %s", tr_task_step_words(TR_STEP_TOKEN));
    }
}

/* In a step of the files service's, without a call under way: why it was put off. */
static void explain_shortage(const struct tr_task_state *state, const struct tr_task_note *note,
                             struct tr_buffer *text)
{
    bool is_of_files = state->step == TR_STEP_FETCH || state->step == TR_STEP_KEEP ||
                       state->step == TR_STEP_OFFLOAD || state->step == TR_STEP_GRAPH;
    if (is_of_files && state->call == 0 && note->reason.size > 0) {
        tr_buffer_add_string(text, " (");
        add_words(text, note->reason);
        tr_buffer_add_string(text, ")");
    }
}

int tr_explain_task(const struct tr_task_state *state, const struct tr_explain_pages *pages,
                    struct tr_text generated_name, struct tr_explain_now now,
                    struct tr_buffer *text)
{
    struct tr_task_note note = {0};
    int error = read_note(pages, &note);
    if (error != 0) {
        return error;
    }
    if (state->is_held) {
        tr_buffer_add_string(text, "it is paused, and begins when the execution goes on");
        return text->error;
    }
    switch ((enum tr_task_step)state->step) {
    case TR_STEP_BACKOFF:
        explain_backoff(state, &note, now, text);
        break;
    case TR_STEP_RUN:
        explain_run(state, &note, generated_name, pages->is_left, text);
        break;
    case TR_STEP_ABORT:
        explain_abort(state, &note, text);
        break;
    case TR_STEP_TOKEN:
        explain_slot(&note, text);
        break;
    default:
        tr_buffer_print(text, "it %s", tr_task_step_words(state->step));
        explain_shortage(state, &note, text);
    }
    return text->error;
}

/* -------------------------------------------------------------- resources */

/* A size from the disk is not trusted beyond the row. */
static struct tr_text place_name(const struct tri_place_row *place)
{
    size_t size = place->name_size < sizeof place->name ? place->name_size : sizeof place->name;
    return (struct tr_text){.data = place->name, .size = size};
}

/* A row that cannot be read says nothing: it is a remark only. */
static bool is_dormant(struct tr_rows *rows, const struct tr_resources_state *state,
                       uint64_t execution)
{
    bool is = false;
    return tri_resources_dormant_has(rows, state, execution, &is) == 0 && is;
}

#define DORMANT_NOTE " (dormant: `troupe resume` goes on with it)"

void tr_explain_dormant(const struct tr_resources_state *state,
                        const struct tr_explain_pages *pages, uint64_t execution,
                        struct tr_buffer *text)
{
    struct tr_rows rows =
        tr_rows_reader(pages->page, pages->self, state, sizeof(union tri_resource_any));
    if (is_dormant(&rows, state, execution)) {
        tr_buffer_add_string(text, DORMANT_NOTE);
    }
}

/*
 * The place of the project behind that of a domain; 0: there is none. A scope of a project itself
 * has none behind it.
 */
static uint32_t project_of(struct tr_rows *rows, uint32_t scope)
{
    const void *row;
    bool is_there = scope != 0 && tr_rows_get(rows, scope, &row) == 0;
    return is_there ? ((const struct tri_place_row *)row)->project : 0;
}

/*
 * The holders of a place's slots: some of them by name. Looks at each row. That takes as long as
 * the table is; it is done once for each place of a request, by a command and never by an actor.
 */
static void name_holders(struct tr_rows *rows, const struct tr_resources_state *state,
                         uint32_t place, struct tr_buffer *text)
{
    uint32_t named = 0;
    uint32_t more = 0;
    for (uint32_t number = 1; number <= rows->used; number++) {
        const void *row;
        if (tr_rows_get(rows, number, &row) != 0 ||
            ((const struct tr_rows_head *)row)->key.kind != TRI_ROW_REQUEST) {
            continue;
        }
        const struct tri_request_row *request = row;
        uint32_t scope = tri_resources_request_scope(request);
        bool is_of = request->place == place || request->pool == place || scope == place ||
                     project_of(rows, scope) == place;
        if (request->queue != 0 || !is_of) {
            continue;
        }
        if (named == TR_EXPLAIN_HOLDERS_MAX) {
            more++;
            continue;
        }
        size_t size = request->identity_size < sizeof request->identity ? request->identity_size
                                                                        : sizeof request->identity;
        tr_buffer_print(text, "%s%.*s%s", named++ == 0 ? ": " : ", ", (int)size, request->identity,
                        is_dormant(rows, state, request->execution) ? DORMANT_NOTE : "");
    }
    if (more > 0) {
        tr_buffer_print(text, " and %u more", more);
    }
}

/* Parts of what it waits for are divided: the first follows a colon. */
static void begin_part(struct tr_buffer *text, uint32_t *parts)
{
    tr_buffer_add_string(text, (*parts)++ == 0 ? ": for " : ", and for ");
}

/*
 * A place's bound, if it has one: how much of it is in use, and its holders. A place of no bound is
 * left out: nothing waits for it.
 */
static void explain_place(struct tr_rows *rows, const struct tr_resources_state *state,
                          uint32_t number, const char *what, struct tr_buffer *text,
                          uint32_t *parts)
{
    const void *row;
    if (number == 0 || tr_rows_get(rows, number, &row) != 0) {
        return;
    }
    const struct tri_place_row *place = row;
    struct tr_text name = place_name(place);
    if (place->slots != 0) {
        begin_part(text, parts);
        tr_buffer_print(text, "a slot in %s'%.*s' (%u of %u in use", what, TRI_TEXT(name),
                        place->used, place->slots);
        name_holders(rows, state, number, text);
        tr_buffer_add_string(text, ")");
    }
    if (place->per_second > 0) {
        begin_part(text, parts);
        tr_buffer_print(text, "its turn in %s'%.*s', which lets %g begin a second", what,
                        TRI_TEXT(name), place->per_second);
    }
}

void tr_explain_host(const struct tr_explain_hosts *hosts, uint16_t host, struct tr_buffer *text)
{
    tr_buffer_add_string(text, "host ");
    size_t before = text->size;
    if (hosts != NULL && hosts->name != NULL) {
        hosts->name(hosts->self, host, text);
    }
    if (text->size == before) {
        tr_buffer_print(text, "%u", host);
    }
}

/* What is said of the machine that a request books of. */
struct of_machine {
    const struct tri_place_row *machine;
    const struct tr_explain_hosts *hosts;
    uint16_t host; /* 0: there is one machine only */
};

/* `unit` makes thousandths into CPUs; what is not asked for, or has no bound, is left out. */
static void explain_amount(const struct of_machine *of, const char *what, size_t offset,
                           const struct tri_amounts *wanted, double unit, struct tr_buffer *text,
                           uint32_t *parts)
{
    uint64_t amounts[4];
    const struct tri_amounts *const from[] = {wanted, &of->machine->booked, &of->machine->dormant,
                                              &of->machine->amounts};
    for (size_t i = 0; i < TR_COUNT_OF(from); i++) {
        memcpy(&amounts[i], (const uint8_t *)from[i] + offset, sizeof amounts[i]);
    }
    if (amounts[0] == 0 || amounts[3] == 0) {
        return;
    }
    begin_part(text, parts);
    tr_buffer_print(text, "%g %s", (double)amounts[0] / unit, what);
    if (of->host != 0) {
        tr_buffer_add_string(text, " of ");
        tr_explain_host(of->hosts, of->host, text);
    }
    /* What dormant executions have booked does not count, as in the resource manager itself. */
    tr_buffer_print(text, " (%g of %g in use)", (double)(amounts[1] - amounts[2]) / unit,
                    (double)amounts[3] / unit);
}

/* A machine that is gone, or of which nothing is known yet, is waited for itself. */
static void explain_host(const struct of_machine *of, const struct tri_host_row *host,
                         struct tr_buffer *text, uint32_t *parts)
{
    if (of->host == 0 || (host->has_told && host->gone == 0)) {
        return;
    }
    begin_part(text, parts);
    tr_explain_host(of->hosts, of->host, text);
    tr_buffer_add_string(text, host->gone != 0 ? ", which is gone: it asks again on another one"
                                               : ", which has not said yet what it has");
}

static void explain_machine(struct tr_rows *rows, const struct tri_request_row *request,
                            const struct tr_explain_hosts *hosts, struct tr_buffer *text,
                            uint32_t *parts)
{
    const struct tri_host_row *host;
    const void *row;
    uint32_t number;
    struct of_machine of = {.hosts = hosts, .host = tri_resources_request_host(request)};
    if (!tri_resources_request_is_booking(request) ||
        tri_resources_host_get(rows, of.host, &number, &host) != 0) {
        return;
    }
    const struct tri_host_row copy = *host; /* looking at others may bring another page */
    if (tr_rows_get(rows, copy.machine, &row) != 0) {
        return;
    }
    of.machine = row;
    explain_amount(&of, "CPU", offsetof(struct tri_amounts, cpu_millis), &request->amounts, 1000,
                   text, parts);
    explain_amount(&of, "MiB of memory", offsetof(struct tri_amounts, memory_bytes),
                   &request->amounts, 1U << 20, text, parts);
    explain_amount(&of, "GPU", offsetof(struct tri_amounts, gpu_count), &request->amounts, 1, text,
                   parts);
    explain_host(&of, &copy, text, parts);
}

/*
 * Names every place that the request needs, not only the one that is in its way: that may be
 * another one by the time people read it.
 */
int tr_explain_request(const struct tr_resources_state *state, const struct tr_explain_pages *pages,
                       struct tr_key task, struct tr_explain_now now,
                       const struct tr_explain_hosts *hosts, struct tr_buffer *text)
{
    struct tr_rows rows =
        tr_rows_reader(pages->page, pages->self, state, sizeof(union tri_resource_any));
    struct tr_rows_key key = tr_rows_key_numbers(TRI_ROW_REQUEST, task.group, task.serial);
    uint32_t number;
    const void *row;
    int error = tr_rows_find(&rows, &key, &number);
    if (error != 0) {
        return error;
    }
    error = tr_rows_get(&rows, number, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_request_row *request = row;
    tr_buffer_add_string(text, request->queue == 0 ? "it has what it asked for since "
                                                   : "it waits since ");
    tri_explain_time(request->since_ms, now, text);
    if (request->queue != 0) {
        uint32_t parts = 0;
        uint32_t scope = tri_resources_request_scope(request);
        explain_place(&rows, state, request->place, "", text, &parts);
        explain_place(&rows, state, scope, "", text, &parts);
        explain_place(&rows, state, project_of(&rows, scope), "", text, &parts);
        explain_place(&rows, state, request->pool, "the pool ", text, &parts);
        explain_machine(&rows, request, hosts, text, &parts);
        tr_buffer_print(text, "; %llu %s in all, and executions take turns",
                        (unsigned long long)state->waiting,
                        state->waiting == 1 ? "task waits" : "tasks wait");
    }
    return text->error;
}

/* ---------------------------------------------------------------- catalog */

/*
 * `*maker` stays 0 where the task itself makes the value. An entry without an owner, which is being
 * told of, reads as TR_NOT_FOUND: the task will look into the cache at once.
 */
int tr_explain_cache(const struct tr_catalog_state *state, const struct tr_explain_pages *pages,
                     struct tr_key task, struct tr_buffer *text, uint64_t *maker)
{
    struct tr_rows rows =
        tr_rows_reader(pages->page, pages->self, state, sizeof(union tri_catalog_any));
    struct tr_rows_key key = tr_rows_key_numbers(TRI_ROW_ASKER, task.group, task.serial);
    uint32_t number;
    const void *row;
    int error = tr_rows_find(&rows, &key, &number);
    if (error != 0) {
        return error;
    }
    error = tr_rows_get(&rows, number, &row);
    if (error != 0) {
        return error;
    }
    error = tr_rows_get(&rows, ((const struct tri_asker_row *)row)->entry, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_entry_row *entry = row;
    *maker = 0;
    if (entry->owner == number) {
        tr_buffer_add_string(text, "it makes what others may wait for");
        return text->error;
    }
    error = tr_rows_get(&rows, entry->owner, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_asker_row *owner = row;
    size_t size = owner->name_size < sizeof owner->name ? owner->name_size : sizeof owner->name;
    tr_buffer_print(text, "it waits for what %.*s%s makes", (int)size, owner->name,
                    owner->is_cut ? "…" : "");
    *maker = owner->watched.actor.key.group;
    return text->error;
}
