/*
 * Elements over executions: those that gave something in an earlier one are kept, and what they
 * gave here is left to a later one.
 *
 * In an execution with a recovery the next elements, up to a block of them, are asked about before
 * they are spawned (schemas/engine/recovery.h). Those that are kept have ended when the array comes
 * to them.
 *
 * An array that ends while some of its elements gave nothing writes what the others gave into the
 * history, a block in a handler: its own outputs do not say it, or there are none.
 */
#include "actors/array/array.h"
#include "actors/values/bind.h"
#include "schemas/engine/history.h"
#include "schemas/engine/recovery.h"

/* What one row holds, unless one element alone has more. */
#define ROW_BYTES_MAX (256U << 10)

/* ------------------------------------------------------------- from an earlier one */

bool tri_array_has_to_ask(const struct tri_array *array)
{
    const struct tr_array_state *state = array->state;
    return state->is_recovering && state->known <= state->next && state->next < state->count;
}

/* What the items of the list are that a map gives of an output; NULL: it gives none. */
static const struct tr_type *listed_type(const struct tri_array *array, uint32_t output)
{
    const struct tr_type *list = array->node->outputs.items[output].type;
    for (uint32_t i = 0; list->kind == TR_TYPE_UNION && i < list->count; i++) {
        if (list->parts[i]->kind == TR_TYPE_LIST) {
            list = list->parts[i];
            break;
        }
    }
    return list->kind == TR_TYPE_LIST ? list->parts[0] : NULL;
}

/* Of each output whether its list holds unions around what elements give. */
static void add_wrapped(const struct tri_array *array, struct tr_buffer *wrapped)
{
    tr_buffer_array(wrapped, array->target.outputs.count);
    for (uint32_t i = 0; i < array->target.outputs.count; i++) {
        const struct tr_type *item = listed_type(array, i);
        tr_buffer_bool(wrapped, item != NULL && item->kind == TR_TYPE_UNION &&
                                    item != array->target.outputs.items[i].type);
    }
}

/*
 * Asks what of the next block is kept. The answer ends exactly the elements from state->next to the
 * end of the block, before any of them is spawned.
 */
int tri_array_ask(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    struct tr_node_start head;
    struct tr_buffer buffer;
    struct tr_buffer wrapped;
    uint32_t in_block = TRI_ARRAY_BLOCK - state->next % TRI_ARRAY_BLOCK;
    uint32_t left = state->count - state->next;
    if (state->call != 0) {
        return 0;
    }
    tr_buffer_init(&buffer, 0);
    tr_buffer_init(&wrapped, 0);
    add_wrapped(array, &wrapped);
    int error = wrapped.error;
    if (error == 0) {
        error = tri_array_head(array, &buffer, &head);
    }
    if (error == 0) {
        struct tr_recover_elements question = {
            .recovery = head.recovery,
            .path = head.path,
            .first = state->next,
            .count = left < in_block ? left : in_block,
            .outputs = array->target.outputs.count,
            .wrapped = tr_buffer_bytes(&wrapped),
        };
        error = tri_array_call(array, &tr_recover_elements_schema, &question);
    }
    tr_buffer_fini(&wrapped);
    tr_buffer_fini(&buffer);
    return error;
}

/*
 * Appends one output of an element, taken from a list that the map gave. The earlier map may have
 * put values into a union (`T | none`); the element gave the plain one.
 */
static int add_listed(const struct tri_array *array, uint32_t output, struct tr_bytes slot,
                      struct tr_buffer *outputs)
{
    const struct tr_type *item = listed_type(array, output);
    if (item == NULL) {
        return TR_INVALID;
    }
    int error = tr_bind_cast(item, array->target.outputs.items[output].type, slot, outputs);
    return error == TR_LIMIT ? TR_INVALID : error;
}

/* The outputs of an element; TR_INVALID where they are not what it has to give. */
static int read_outputs(const struct tri_array *array, struct tr_bytes slots, bool is_listed,
                        struct tr_buffer *outputs)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(slots, &cursor);
    int error = count == array->target.outputs.count ? 0 : TR_INVALID;
    tr_buffer_array(outputs, count);
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        error = cursor.error;
        if (error == 0 && is_listed) {
            error = add_listed(array, i, slot, outputs);
        } else if (error == 0) {
            tr_buffer_add(outputs, slot.data, slot.size);
        }
    }
    return error != 0 ? error : outputs->error;
}

/*
 * An element ends before it is spawned. It counts as succeeded at once, though state->next has not
 * come to it.
 */
static int keep_element(struct tri_array *array, uint32_t element, struct tr_bytes outputs)
{
    static const struct tri_element before = {.phase = TR_NODE_PHASE_NOT_YET_STARTED};
    struct tr_bytes value = array->target.outputs.count == 0 ? (struct tr_bytes){0} : outputs;
    int error = tri_array_element_keep(array, element, value);
    if (error == TR_LIMIT) {
        return tri_array_fail(array, "OutputSizeExceeded",
                              "the outputs of the elements up to [%u] take more than %llu bytes "
                              "(TR_ARRAY_KEPT_BYTES_MAX)",
                              element, (unsigned long long)TR_ARRAY_KEPT_BYTES_MAX);
    }
    if (error != 0) {
        return error;
    }
    array->state->succeeded++;
    return tri_array_history_element_changed(array, element, &before, TR_NODE_PHASE_RECOVERED, 0, 0,
                                             (struct tr_text){0}, (struct tr_text){0});
}

/*
 * One [element, outputs] of the answer. An element outside of the question is malformed: it would
 * be counted twice.
 */
static int take_element(struct tri_array *array, const struct tr_recovered_elements *answer,
                        struct tr_cursor *cursor)
{
    struct tr_buffer outputs;
    bool is_pair = tr_read_array(cursor) == 2;
    uint64_t element = tr_read_u64(cursor);
    struct tr_bytes slots = tr_read_any(cursor);
    bool is_asked_for = element >= answer->first && element - answer->first < answer->count;
    if (cursor->error != 0 || !is_pair || !is_asked_for) {
        return TR_MALFORMED;
    }
    tr_buffer_init(&outputs, 0);
    int error = read_outputs(array, slots, answer->is_listed, &outputs);
    if (error == 0) {
        error = keep_element(array, (uint32_t)element, tr_buffer_bytes(&outputs));
    } else if (error == TR_INVALID) {
        error = 0; /* what does not suit the node is done again */
    }
    tr_buffer_fini(&outputs);
    return error;
}

/* The answer for a block. `known` says up to where elements may be spawned without asking. */
int tri_array_recovered(struct tri_array *array, const struct tr_message *message)
{
    struct tr_array_state *state = array->state;
    struct tr_recovered_elements answer;
    struct tr_cursor cursor;
    int error = tr_message_read(message, recovered_elements, &answer);
    if (error != 0 || state->step != TRI_ARRAY_RUNNING) {
        return error;
    }
    if (answer.first != state->next || answer.count == 0 ||
        answer.count > TRI_ARRAY_BLOCK - state->next % TRI_ARRAY_BLOCK) {
        return TR_MALFORMED;
    }
    uint32_t count = tr_slots_begin(answer.elements, &cursor);
    for (uint32_t i = 0; error == 0 && i < count && state->step == TRI_ARRAY_RUNNING; i++) {
        error = take_element(array, &answer, &cursor);
    }
    /* Also of elements that the answer does not name it is known now that they run. */
    state->known = state->next + answer.count;
    return error != 0 ? error : tri_array_go_on(array);
}

/* The recovery of an element that launches is its own plan, under the array's: RECOVERY!PATH[N]. */
int tri_array_launched_recovery(const struct tri_array *array, const struct tr_node_start *start,
                                struct tr_buffer *recovery)
{
    if (start->recovery.size > 0) {
        tr_buffer_print(recovery, "%.*s!%.*s[%u]", TRI_TEXT(start->recovery), TRI_TEXT(start->path),
                        array->state->next);
    }
    return recovery->error;
}

/* --------------------------------------------------------------------- for a later one */

/*
 * With no success there is nothing to keep; with nothing but successes the map's own outputs say it
 * all.
 */
bool tri_array_has_to_keep(const struct tri_array *array)
{
    const struct tr_array_state *state = array->state;
    return state->succeeded > 0 && state->succeeded < state->count &&
           state->kept_next < state->next;
}

/* Rows on their way. */
struct rows {
    struct tr_buffer outputs; /* entries */
    struct tr_buffer row;
    uint32_t count;
    uint32_t first;
    size_t bytes; /* of all rows */
};

/* The gathered entries as one record, under the first element of them. */
static int write_row(struct tri_array *array, struct rows *rows)
{
    struct tr_node_start head;
    struct tr_buffer buffer;
    if (rows->count == 0) {
        return 0;
    }
    tr_buffer_init(&buffer, 0);
    tr_buffer_cut(&rows->row, 0);
    tr_buffer_array(&rows->row, rows->count);
    tr_buffer_add(&rows->row, rows->outputs.data, rows->outputs.size);
    int error = rows->row.error;
    if (error == 0) {
        error = tri_array_head(array, &buffer, &head);
    }
    if (error == 0) {
        struct tr_element_output row = {
            .execution = array->state->number,
            .path = head.path,
            .first = rows->first,
            .outputs = tr_buffer_bytes(&rows->row),
        };
        error = tr_record(array->context, &tr_element_output_schema, &row);
    }
    tr_buffer_fini(&buffer);
    tr_buffer_cut(&rows->outputs, 0);
    rows->count = 0;
    return error;
}

/*
 * Adds the outputs of one element that succeeded to the row in hand; a full row is written first.
 */
static int add_output(struct tri_array *array, struct rows *rows, uint32_t element)
{
    struct tri_element found;
    struct tr_buffer scratch;
    struct tr_bytes value;
    int error = tri_array_element_get(array, element, &found);
    bool has_output =
        found.phase == TR_NODE_PHASE_SUCCEEDED || found.phase == TR_NODE_PHASE_RECOVERED;
    if (error != 0 || !has_output) {
        return error;
    }
    tr_buffer_init(&scratch, 0);
    error = tri_array_element_value(array, element, &scratch, &value);
    if (error == 0 && rows->count > 0 && rows->outputs.size + value.size > ROW_BYTES_MAX) {
        error = write_row(array, rows);
    }
    if (error == 0) {
        rows->first = rows->count == 0 ? element : rows->first;
        rows->count++;
        tr_buffer_array(&rows->outputs, 2);
        tr_buffer_u64(&rows->outputs, element);
        if (value.size == 0) {
            tr_buffer_nil(&rows->outputs);
        }
        tr_buffer_add(&rows->outputs, value.data, value.size);
        rows->bytes += value.size;
        error = rows->outputs.error;
    }
    tr_buffer_fini(&scratch);
    return error;
}

/*
 * A share of the rows that a later recovery reads: elements of one block, at most a chunk's bytes
 * in one handler.
 */
int tri_array_keep_some(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    struct rows rows = {.count = 0};
    uint32_t end = state->kept_next - state->kept_next % TRI_ARRAY_BLOCK + TRI_ARRAY_BLOCK;
    int error = 0;
    end = end < state->next ? end : state->next;
    tr_buffer_init(&rows.outputs, 0);
    tr_buffer_init(&rows.row, 0);
    while (error == 0 && state->kept_next < end && rows.bytes < TR_ARRAY_CHUNK_BYTES) {
        error = add_output(array, &rows, state->kept_next++);
    }
    if (error == 0) {
        error = write_row(array, &rows);
    }
    tr_buffer_fini(&rows.row);
    tr_buffer_fini(&rows.outputs);
    return error != 0 ? error : tri_array_go_on(array);
}
