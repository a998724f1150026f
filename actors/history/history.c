/*
 * Rows of the history, from handlers.
 *
 * Each change of a phase writes two rows: the change, which stays, and how it stands now, which
 * the next one replaces. Both are made from one struct here, so that they cannot differ. Elements
 * of arrays would be too many rows: their changes are gathered as JSON text, which views unfold.
 *
 * Everything here is an effect of the calling handler: rows and state are one commit. So history
 * never shows a phase that a crash takes back, and a handler that runs again writes the same rows
 * under the same numbers.
 */
#include "actors/history/history.h"

#include <string.h>

#include "actors/graph/document/labels.h"
#include "schemas/codec/print.h"
#include "schemas/codec/sink.h"

/* Of memory for entries, so that one of them always fits: its longest texts are cut by it. */
#define ENTRIES_BYTES_MIN 1024

/* A change of phase. Texts live until the call returns. */
struct phase_change {
    uint64_t execution;
    uint8_t subject; /* enum tr_subject */
    uint8_t from;
    uint8_t to;
    struct tr_text path;
    uint64_t element; /* of an attempt: TR_ELEMENT_NONE or its element; else not looked at */
    uint32_t attempt;
    struct tr_text cause;
    struct tr_text code;
    struct tr_text message;
};

static int record_change(struct tr_context *context, const struct phase_change *change,
                         uint64_t *changes)
{
    bool is_attempt = change->subject == TR_SUBJECT_TASK;
    struct tr_phase row = {
        .execution = change->execution,
        .actor = tr_self(context).key,
        .number = *changes + 1,
        .subject = change->subject,
        .path = change->path,
        .element = is_attempt ? change->element : TR_ELEMENT_NONE,
        .attempt = is_attempt ? change->attempt : 0,
        .phase = change->to,
        .at_ms = tr_now_ms(context),
        .cause = change->cause,
        .code = change->code,
        .message = change->message,
    };
    int error = tr_record_first(context, &tr_phase_schema, &row);
    if (error == 0) {
        ++*changes;
    }
    return error;
}

/* What the tables of schemas/engine/phase.h forbid is the caller's mistake: TR_INVALID. */
static int write_change(struct tr_context *context, const struct phase_change *change,
                        uint64_t *changes)
{
    bool may_follow =
        tr_phase_may_follow((enum tr_subject)change->subject, change->from, change->to);
    return may_follow ? record_change(context, change, changes) : TR_INVALID;
}

/* The three times of a row with phases. */
struct times {
    uint64_t *created_ms;
    uint64_t *started_ms;
    uint64_t *ended_ms;
};

/*
 * created_ms and started_ms are set once and stay over retries; ended_ms is that of the last end.
 */
static void note_times(const struct tr_context *context, struct times times, bool is_running,
                       bool is_end)
{
    uint64_t now_ms = tr_now_ms(context);
    if (*times.created_ms == 0) {
        *times.created_ms = now_ms;
    }
    if (is_running && *times.started_ms == 0) {
        *times.started_ms = now_ms;
    }
    if (is_end) {
        *times.ended_ms = now_ms;
    }
}

/* Records a change, and sets the times of the row that it is about. */
static int change_phase(struct tr_context *context, const struct phase_change *change,
                        struct times times, bool is_running, uint64_t *changes)
{
    int error = write_change(context, change, changes);
    if (error == 0) {
        note_times(context, times, is_running,
                   tr_phase_is_end((enum tr_subject)change->subject, change->to));
    }
    return error;
}

/* Whose phase was none before has no row yet. */
static int write_row(struct tr_context *context, const struct tr_schema *schema, const void *row,
                     uint8_t from)
{
    return from == 0 ? tr_record_first(context, schema, row) : tr_record(context, schema, row);
}

int tr_history_execution(struct tr_context *context, struct tr_execution *row, uint8_t from,
                         struct tr_text cause, uint64_t *changes)
{
    struct phase_change change = {
        .execution = row->execution,
        .subject = TR_SUBJECT_EXECUTION,
        .from = from,
        .to = row->phase,
        .cause = cause,
        .code = row->code,
        .message = row->message,
    };
    struct times times = {&row->created_ms, &row->started_ms, &row->ended_ms};
    int error = change_phase(context, &change, times, row->phase == TR_EXECUTION_RUNNING, changes);
    return error != 0 ? error : tr_record(context, &tr_execution_schema, row);
}

int tr_history_launched(struct tr_context *context, struct tr_execution *row)
{
    row->phase = TR_EXECUTION_QUEUED;
    row->created_ms = tr_now_ms(context);
    return tr_record_first(context, &tr_execution_schema, row);
}

int tr_history_labels(struct tr_context *context, const struct tr_execution *row)
{
    struct tr_text rest = row->labels;
    struct tr_label label;
    int error = 0;
    while (error == 0 && tr_labels_next(&rest, &label)) {
        struct tr_execution_label label_row = {
            .execution = row->execution,
            .key = label.key,
            .value = label.value,
            .is_launched = row->parent.size > 0,
            .created_ms = row->created_ms,
        };
        error = tr_record_first(context, &tr_execution_label_schema, &label_row);
    }
    return error;
}

int tr_history_pause(struct tr_context *context, const struct tr_execution *row,
                     struct tr_text cause, uint64_t *changes)
{
    /* Not write_change: no table lets a phase follow itself. `from` is 0, and no node is named. */
    struct phase_change stays = {.execution = row->execution,
                                 .subject = TR_SUBJECT_EXECUTION,
                                 .to = row->phase,
                                 .cause = cause};
    int error = record_change(context, &stays, changes);
    return error != 0 ? error : tr_record(context, &tr_execution_schema, row);
}

int tr_history_node(struct tr_context *context, struct tr_node_status *row, uint8_t from,
                    struct tr_text cause, uint64_t *changes)
{
    struct phase_change change = {
        .execution = row->execution,
        .subject = TR_SUBJECT_NODE,
        .from = from,
        .to = row->phase,
        .path = row->path,
        .cause = cause,
        .code = row->code,
        .message = row->message,
    };
    struct times times = {&row->created_ms, &row->started_ms, &row->ended_ms};
    bool is_running =
        row->phase == TR_NODE_PHASE_RUNNING || row->phase == TR_NODE_PHASE_DYNAMIC_RUNNING;
    int error = change_phase(context, &change, times, is_running, changes);
    return error != 0 ? error : write_row(context, &tr_node_status_schema, row, from);
}

int tr_history_attempt(struct tr_context *context, struct tr_attempt *row, uint8_t from,
                       struct tr_text cause, uint64_t *changes)
{
    struct phase_change change = {
        .execution = row->execution,
        .subject = TR_SUBJECT_TASK,
        .from = from,
        .to = row->phase,
        .path = row->path,
        .element = row->element,
        .attempt = row->attempt,
        .cause = cause,
        .code = row->code,
        .message = row->message,
    };
    struct times times = {&row->created_ms, &row->started_ms, &row->ended_ms};
    int error = change_phase(context, &change, times, row->phase == TR_TASK_PHASE_RUNNING, changes);
    return error != 0 ? error : write_row(context, &tr_attempt_schema, row, from);
}

int tr_history_value(struct tr_context *context, uint64_t execution, struct tr_text path,
                     enum tr_value_side side, struct tr_bytes slots)
{
    struct tr_node_value row = {
        .execution = execution, .path = path, .side = (uint8_t)side, .slots = slots};
    return tr_record_first(context, &tr_node_value_schema, &row);
}

int tr_history_forget(struct tr_context *context, uint64_t execution)
{
    /* Each of the structs begins with its key's first field; the others are not looked at. */
    union tr_history_row row;
    int error = 0;
    for (size_t i = 0; error == 0 && i < tr_history_schema_count; i++) {
        const struct tr_schema *schema = tr_history_schemas[i];
        TR_ASSERT(schema->struct_size <= sizeof row && schema->fields()->offset == 0);
        memset(&row, 0, sizeof row);
        memcpy(&row, &execution, sizeof execution);
        error = tr_record_delete(context, schema, &row, 1);
    }
    return error;
}

/* ------------------------------------------------------ elements of arrays */

/* The order in which a node may go through its phases, as far as it goes through each once. */
static const uint8_t order[] = {
    TR_NODE_PHASE_QUEUED,     TR_NODE_PHASE_RUNNING,           TR_NODE_PHASE_DYNAMIC_RUNNING,
    TR_NODE_PHASE_SUCCEEDING, TR_NODE_PHASE_RETRYABLE_FAILURE, TR_NODE_PHASE_FAILING,
    TR_NODE_PHASE_TIMING_OUT, TR_NODE_PHASE_ABORTING,          TR_NODE_PHASE_SUCCEEDED,
    TR_NODE_PHASE_FAILED,     TR_NODE_PHASE_SKIPPED,           TR_NODE_PHASE_TIMED_OUT,
    TR_NODE_PHASE_RECOVERED,  TR_NODE_PHASE_ABORTED,
};

/* A retry is not seen in a set of phases: it may have been running once more in between. */
#define PHASES_MAX (2 * TR_COUNT_OF(order))

/* The phases in their order, and the one that they lead to so far. */
struct ordered {
    uint8_t phases[PHASES_MAX];
    uint32_t count;
    uint8_t last;
};

static bool go(struct ordered *ordered, uint8_t to)
{
    if (!tr_phase_may_follow(TR_SUBJECT_NODE, ordered->last, to)) {
        return false;
    }
    ordered->phases[ordered->count++] = to;
    ordered->last = to;
    return true;
}

/*
 * Puts a set of phases into an order that the table allows. The array keeps a bit for each phase of
 * an element, and not their order. RUNNING is tried in between where a phase does not follow
 * directly, since an element that failed may have run once more. TR_INVALID: there is no such
 * order.
 */
static int put_in_order(const struct tr_element_change *change, struct ordered *ordered)
{
    uint32_t left = change->phases;
    /* Only a node that was running at all can have been running once more. */
    bool may_repeat = (left & 1U << TR_NODE_PHASE_RUNNING) != 0;
    *ordered = (struct ordered){.last = change->from};
    for (size_t i = 0; i < TR_COUNT_OF(order); i++) {
        if ((left & 1U << order[i]) == 0) {
            continue;
        }
        left &= ~(1U << order[i]);
        bool is_gone = go(ordered, order[i]) ||
                       (may_repeat && go(ordered, TR_NODE_PHASE_RUNNING) && go(ordered, order[i]));
        if (!is_gone) {
            return TR_INVALID;
        }
    }
    return left == 0 && ordered->count > 0 ? 0 : TR_INVALID;
}

/* The beginning of a text, cut between characters. */
static struct tr_text cut(struct tr_text text, size_t size_max)
{
    if (text.size > size_max) {
        text.size = size_max;
        /*
         * Bytes 10xxxxxx go on with a character of UTF-8: the cut moves back to the beginning of
         * one.
         */
        while (text.size > 0 && ((uint8_t)text.data[text.size] & 0xc0) == 0x80) {
            text.size--;
        }
    }
    return text;
}

static void print_entry(struct tr_sink *sink, const struct tr_element_change *change,
                        const struct ordered *ordered, uint64_t after_ms, size_t size)
{
    tr_sink_format(sink, "[%llu,%u,%llu", (unsigned long long)change->element, change->attempt,
                   (unsigned long long)after_ms);
    for (uint32_t i = 0; i < ordered->count; i++) {
        tr_sink_format(sink, ",%u", ordered->phases[i]);
    }
    if (change->code.size > 0 || change->message.size > 0) {
        tr_sink_put_char(sink, ',');
        /*
         * A character can take six bytes in JSON (\u001f), so both together stay below the size of
         * an empty block: an entry always fits into one.
         */
        tr_print_json_text(sink, cut(change->code, size / 32));
        tr_sink_put_char(sink, ',');
        tr_print_json_text(sink, cut(change->message, size / 10));
    }
    tr_sink_put_char(sink, ']');
}

int tr_history_element(void *memory, size_t size, const struct tr_element_change *change,
                       uint8_t *last)
{
    struct tr_element_entries *entries = memory;
    struct ordered ordered;
    TR_ASSERT(size >= ENTRIES_BYTES_MIN && entries->size < size - sizeof *entries);
    int error = put_in_order(change, &ordered);
    if (error != 0) {
        return error;
    }
    bool is_first = entries->count == 0;
    /* Blocks begin with their earliest entry; a clock that was set back begins a new one. */
    if (entries->count >= TR_ELEMENT_ENTRIES_MAX ||
        (!is_first && change->at_ms < entries->base_ms)) {
        return TR_LIMIT;
    }
    uint64_t base_ms = is_first ? change->at_ms : entries->base_ms;
    char *text = (char *)(entries + 1);
    size_t room = size - sizeof *entries - entries->size - 1; /* one for the closing bracket */
    struct tr_sink sink = tr_sink_of(text + entries->size, room);
    tr_sink_put_char(&sink, is_first ? '[' : ',');
    print_entry(&sink, change, &ordered, change->at_ms - base_ms, size);
    /* Nothing of the head has changed, so the text that was printed in part does not count. */
    if (sink.truncated) {
        return TR_LIMIT;
    }
    uint64_t element = change->element;
    entries->element_min =
        is_first || element < entries->element_min ? element : entries->element_min;
    entries->element_max =
        is_first || element > entries->element_max ? element : entries->element_max;
    entries->base_ms = base_ms;
    entries->size += (uint32_t)sink.size;
    entries->count++;
    if (last != NULL) {
        *last = ordered.last;
    }
    return 0;
}

int tr_history_elements(struct tr_context *context, uint64_t execution, struct tr_text path,
                        void *memory, uint64_t *changes)
{
    struct tr_element_entries *entries = memory;
    if (entries->count == 0) {
        return 0;
    }
    char *text = (char *)(entries + 1);
    /* The row is a view of this memory; tr_record packs it before the entries are emptied. */
    text[entries->size] = ']'; /* room was kept for it */
    struct tr_element_block row = {
        .execution = execution,
        .actor = tr_self(context).key,
        .number = *changes + 1,
        .path = path,
        .element_min = entries->element_min,
        .element_max = entries->element_max,
        .base_ms = entries->base_ms,
        .entry_count = entries->count,
        .entries = {text, entries->size + 1},
    };
    int error = tr_record_first(context, &tr_element_block_schema, &row);
    if (error == 0) {
        ++*changes;
        *entries = (struct tr_element_entries){0};
    }
    return error;
}
