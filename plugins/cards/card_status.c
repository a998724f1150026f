/*
 * What a status means: a list of rules, of which the first counts that fits.
 *
 *     {when: {a.b: Done}, phase: succeeded}              the text, number or truth at a path
 *     {when: {a: [X, Y], b: null}, phase: failed, ...}   one of several; nothing
 *     {condition: Failed, reason: [Late], phase: ...}    a condition that is True, by its type
 *
 * Operators put conditions beside each other, often in the same second, so their times say nothing:
 * the order of the rules does. A rule says whose failure it is, its code, and where its message
 * stands.
 */
#include "plugins/cards/cards.h"

#include <stdio.h>

#define SHOWN_PATHS_MAX 8
#define SHOWN_BYTES_MAX 500

const struct tri_card_phase tri_card_phases[] = {
    {"queued", TR_TASK_PHASE_QUEUED},
    {"initializing", TR_TASK_PHASE_INITIALIZING},
    {"running", TR_TASK_PHASE_RUNNING},
    {"succeeded", TR_TASK_PHASE_SUCCESS},
    {"failed", TR_TASK_PHASE_RETRYABLE_FAILURE},
};
const size_t tri_card_phase_count = TR_COUNT_OF(tri_card_phases);

struct condition {
    struct tr_text type;
    struct tr_text status;
    struct tr_text reason;
    struct tr_text message;
};

/* ------------------------------------------------------------------------------------- reading */

/* "a.b" as a pointer, "/a/b"; NULL: no memory, or longer than paths are. */
static const char *pointer_of(struct tr_webapi_batch *batch, struct tr_text path)
{
    char *pointer = batch->api->scratch(batch, 2 * path.size + 2);
    size_t size = 0;
    if (pointer == NULL) {
        return NULL;
    }
    pointer[size++] = '/';
    for (size_t i = 0; i < path.size; i++) {
        char letter = path.data[i];
        if (letter == '~' || letter == '/') {
            pointer[size++] = '~';
        }
        pointer[size++] = (char)(letter == '.'   ? '/'
                                 : letter == '~' ? '0'
                                 : letter == '/' ? '1'
                                                 : letter);
    }
    pointer[size] = '\0';
    return pointer;
}

static int find(struct tr_webapi_batch *batch, struct tr_bytes status, struct tr_text path,
                struct tr_bytes *value)
{
    const char *pointer = pointer_of(batch, path);
    *value = (struct tr_bytes){0};
    if (pointer == NULL) {
        return TR_MEMORY;
    }
    return tr_scan_is_none(status) || path.size == 0 ? 0 : tr_scan(status, &pointer, 1, value);
}

/* A text, or a number or truth as JSON has it; maps and lists are nothing. */
static int words_of(struct tr_webapi_batch *batch, struct tr_bytes value, struct tr_text *words)
{
    *words = (struct tr_text){0};
    if (tr_scan_is_none(value) || value.data[0] == '{' || value.data[0] == '[') {
        return 0;
    }
    if (value.data[0] == '"') {
        return tr_scan_text(batch, value, words);
    }
    *words = (struct tr_text){.data = (const char *)value.data, .size = value.size};
    return tr_utf8_valid(*words) ? 0 : TR_MALFORMED;
}

int tri_card_text_at(struct tr_webapi_batch *batch, struct tr_bytes status, struct tr_text path,
                     struct tr_text *text)
{
    struct tr_bytes value;
    int error = find(batch, status, path, &value);
    return error != 0 ? error : words_of(batch, value, text);
}

static int read_condition(struct tr_webapi_batch *batch, struct tr_bytes item,
                          struct condition *condition)
{
    static const char *const paths[] = {"/type", "/status", "/reason", "/message"};
    struct tr_bytes values[TR_COUNT_OF(paths)];
    struct tr_text *const texts[] = {&condition->type, &condition->status, &condition->reason,
                                     &condition->message};
    int error = tr_scan(item, paths, TR_COUNT_OF(paths), values);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(paths); i++) {
        error = words_of(batch, values[i], texts[i]);
    }
    return error;
}

/* A condition that is True; one that is not there is empty. */
static int find_condition(struct tr_webapi_batch *batch, struct tr_bytes status,
                          struct tr_text type, struct condition *found)
{
    struct tr_bytes list;
    *found = (struct condition){0};
    int error = find(batch, status, tr_text_of("conditions"), &list);
    struct tr_scan_walk walk = tr_scan_walk(error == 0 ? list : (struct tr_bytes){0});
    while (error == 0 && tr_scan_next(&walk)) {
        struct condition each = {0};
        error = read_condition(batch, walk.item, &each);
        bool is_it = error == 0 && tr_text_equal(each.type, type) &&
                     tr_text_equal(each.status, tr_text_of("True"));
        if (is_it) {
            *found = each;
            return 0;
        }
    }
    return error != 0 ? error : walk.error;
}

/* ------------------------------------------------------------------------------------- fitting */

/* Whether words are what a rule wants: a text, a number or a truth. */
static bool is_word(struct tr_bytes wanted, struct tr_text words)
{
    char room[24];
    struct tr_text text = tr_json_text(wanted);
    enum tr_codec_type type = tr_json_type(wanted);
    if (type == TR_CODEC_BOOL) {
        text = tr_text_of(tr_json_bool(wanted) ? "true" : "false");
    } else if (type == TR_CODEC_UNSIGNED || type == TR_CODEC_SIGNED) {
        (void)snprintf(room, sizeof room, "%lld", (long long)tr_json_i64(wanted, 0));
        text = tr_text_of(room);
    }
    return tr_text_equal(text, words);
}

static bool is_wanted(struct tr_bytes wanted, struct tr_text words)
{
    struct tr_json_walk walk = tr_json_walk(wanted);
    if (!tri_card_is_there(wanted)) {
        return words.size == 0;
    }
    if (tr_json_type(wanted) != TR_CODEC_ARRAY) {
        return is_word(wanted, words);
    }
    while (tr_json_next(&walk)) {
        if (is_wanted(walk.value, words)) {
            return true;
        }
    }
    return false;
}

static int fits(struct tr_webapi_batch *batch, struct tr_bytes rule, struct tr_bytes status,
                struct condition *condition, bool *is)
{
    struct tr_text type = tr_json_text(tr_json_get(rule, "condition"));
    struct tr_bytes reason = tr_json_get(rule, "reason");
    struct tr_json_walk walk = tr_json_walk(tr_json_get(rule, "when"));
    *is = true;
    *condition = (struct condition){0};
    int error = type.size == 0 ? 0 : find_condition(batch, status, type, condition);
    if (type.size > 0) {
        *is =
            condition->type.size > 0 && (reason.size == 0 || is_wanted(reason, condition->reason));
    }
    while (error == 0 && *is && tr_json_next(&walk)) {
        struct tr_text words;
        error = tri_card_text_at(batch, status, walk.name, &words);
        *is = error == 0 && is_wanted(walk.value, words);
    }
    return error;
}

/* -------------------------------------------------------------------------------- its meaning */

static struct tr_text format(struct tr_webapi_batch *batch, const char *first, struct tr_text a,
                             const char *second, struct tr_text b)
{
    size_t size = strlen(first) + a.size + strlen(second) + b.size + 1;
    char *room = batch->api->scratch(batch, size);
    int used = room == NULL ? 0
                            : snprintf(room, size, "%s%.*s%s%.*s", first, (int)a.size,
                                       a.data == NULL ? "" : a.data, second, (int)b.size,
                                       b.data == NULL ? "" : b.data);
    return (struct tr_text){.data = room, .size = used < 0 ? 0 : (size_t)used};
}

/* What the rule has looked at, for people: "a = X, b = Y". */
static int shown_by(struct tr_webapi_batch *batch, struct tr_bytes rules, struct tr_bytes status,
                    struct tr_text *shown)
{
    struct tr_text seen[SHOWN_PATHS_MAX];
    size_t count = 0;
    struct tr_json_walk each = tr_json_walk(rules);
    int error = 0;
    *shown = (struct tr_text){0};
    while (error == 0 && tr_json_next(&each)) {
        struct tr_json_walk walk = tr_json_walk(tr_json_get(each.value, "when"));
        while (error == 0 && tr_json_next(&walk) && count < SHOWN_PATHS_MAX) {
            struct tr_text words;
            bool is_new = true;
            for (size_t i = 0; i < count; i++) {
                is_new = is_new && !tr_text_equal(seen[i], walk.name);
            }
            error = is_new ? tri_card_text_at(batch, status, walk.name, &words) : 0;
            if (!is_new || error != 0) {
                continue;
            }
            seen[count++] = walk.name;
            bool has_room = words.size > 0 && shown->size + words.size < SHOWN_BYTES_MAX;
            if (has_room) {
                struct tr_text pair = format(batch, "", walk.name, " = ", words);
                *shown = format(batch, "", *shown, shown->size > 0 ? ", " : "", pair);
            }
        }
    }
    return error;
}

static int show_conditions(struct tr_webapi_batch *batch, struct tr_bytes status,
                           struct tr_text *shown)
{
    struct tr_bytes list;
    int error = find(batch, status, tr_text_of("conditions"), &list);
    struct tr_scan_walk walk = tr_scan_walk(error == 0 ? list : (struct tr_bytes){0});
    while (error == 0 && tr_scan_next(&walk)) {
        struct condition each = {0};
        error = read_condition(batch, walk.item, &each);
        bool is_true = error == 0 && tr_text_equal(each.status, tr_text_of("True")) &&
                       shown->size + each.type.size < SHOWN_BYTES_MAX;
        if (is_true) {
            struct tr_text pair = format(batch, "condition ", each.type, "", (struct tr_text){0});
            *shown = format(batch, "", *shown, shown->size > 0 ? ", " : "", pair);
        }
    }
    return error != 0 ? error : walk.error;
}

/* No rule fits: the phase stays, and people see what the rules have looked at. */
static int take_unknown(struct tr_webapi_batch *batch, struct tr_bytes rules,
                        struct tr_bytes status, struct tr_webapi_report *report)
{
    struct tr_text shown;
    int error = shown_by(batch, rules, status, &shown);
    if (error == 0) {
        error = show_conditions(batch, status, &shown);
    }
    report->phase = TR_TASK_PHASE_UNDEFINED;
    report->reason = shown.size == 0 ? tr_text_of("no rule of its card fits its status")
                                     : format(batch, "no rule of its card fits its status: ", shown,
                                              "", (struct tr_text){0});
    return error;
}

static uint8_t phase_of(struct tr_text name)
{
    for (size_t i = 0; i < TR_COUNT_OF(tri_card_phases); i++) {
        if (tr_text_equal(name, tr_text_of(tri_card_phases[i].name))) {
            return tri_card_phases[i].phase;
        }
    }
    return TR_TASK_PHASE_UNDEFINED;
}

static int message_of(struct tr_webapi_batch *batch, struct tr_bytes rules, struct tr_bytes rule,
                      struct tr_bytes status, const struct condition *condition,
                      struct tr_text *message)
{
    struct tr_text path = tr_json_text(tr_json_get(rule, "message"));
    int error = path.size == 0 ? 0 : tri_card_text_at(batch, status, path, message);
    if (error != 0 || message->size > 0) {
        return error;
    }
    if (condition->type.size > 0) {
        struct tr_text reason = condition->reason.size > 0 ? condition->reason : condition->type;
        *message = condition->message.size == 0
                       ? reason
                       : format(batch, "", reason, ": ", condition->message);
        return 0;
    }
    return shown_by(batch, rules, status, message);
}

static int take_failure(struct tr_bytes rule, struct tr_webapi_report *report)
{
    struct tr_text code = tr_json_text(tr_json_get(rule, "code"));
    struct tr_bytes retry = tr_json_get(rule, "retry");
    bool is_final = tr_json_type(retry) == TR_CODEC_BOOL && !tr_json_bool(retry);
    bool is_system = tr_text_equal(tr_json_text(tr_json_get(rule, "whose")), tr_text_of("system"));
    report->phase = is_final ? TR_TASK_PHASE_PERMANENT_FAILURE : TR_TASK_PHASE_RETRYABLE_FAILURE;
    report->failure = is_system ? TR_FAILURE_SYSTEM : TR_FAILURE_USER;
    report->code = code.size > 0 ? code : tr_text_of("JobFailed");
    report->message = report->reason;
    report->reason = (struct tr_text){0};
    return 0;
}

int tri_card_read_status(struct tr_webapi_batch *batch, struct tr_bytes rules,
                         struct tr_bytes status, struct tr_webapi_report *report)
{
    struct tr_json_walk walk = tr_json_walk(rules);
    struct condition condition;
    bool is = false;
    while (tr_json_next(&walk)) {
        int error = fits(batch, walk.value, status, &condition, &is);
        if (error != 0) {
            return error;
        }
        if (is) {
            report->phase = phase_of(tr_json_text(tr_json_get(walk.value, "phase")));
            error = report->phase == TR_TASK_PHASE_SUCCESS
                        ? 0
                        : message_of(batch, rules, walk.value, status, &condition, &report->reason);
            bool has_failed = report->phase == TR_TASK_PHASE_RETRYABLE_FAILURE;
            return error != 0 || !has_failed ? error : take_failure(walk.value, report);
        }
    }
    return take_unknown(batch, rules, status, report);
}
