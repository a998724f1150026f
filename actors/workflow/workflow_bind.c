/*
 * The inputs of a node when it begins, from what it is bound to.
 *
 * What looks into a value that lies elsewhere is asked for: the node goes back to the front of the
 * queue, and begins with the answer. Nothing of that is kept, for a node that does not begin after
 * all asks again.
 */
#include "actors/history/history.h"
#include "actors/values/bind_plan.h"
#include "actors/workflow/workflow.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"

/* What stands in a message beside values. */
#define MESSAGE_MARGIN_BYTES 65536

/*
 * The workflow's failure as a value, for `$err`. Nothing where there is none. `$err` is there for
 * on_failure and finally; the code, node and element are those of the first failure.
 */
static int write_failure(struct tri_flow *flow, struct tr_buffer *buffer)
{
    struct tr_buffer under;
    struct tr_node_ended ended;
    bool is_there = false;
    tr_buffer_init(&under, 0);
    int error = tri_workflow_failure_get(flow, &under, &ended, &is_there);
    if (error == 0 && is_there) {
        bool has_element = ended.failed_element != TR_ELEMENT_NONE;
        struct tr_failure value = {.node = ended.failed,
                                   .code = ended.code,
                                   .message = ended.message,
                                   .details = ended.details,
                                   .element = has_element ? (int64_t)ended.failed_element : -1};
        tr_write_failure(buffer, &value);
        error = buffer->error;
    }
    tr_buffer_fini(&under);
    return error;
}

static int fail_size(struct tri_flow *flow, uint32_t node)
{
    bool is_end = flow->workflow->nodes[node].kind == TR_NODE_END;
    struct tri_failure failure = tri_workflow_failure_of(
        is_end ? "OutputSizeExceeded" : "InputSizeExceeded",
        tr_text_of("the values together are larger than TR_MESSAGE_BYTES_MAX (1 MiB)"));
    return tri_workflow_node_failed(flow, node, &failure);
}

/*
 * The slot that takes the place of what an input is bound to; false: none does. The pairs are [name
 * of the input, slot]; the empty name is a launch node's own plan (find_launched).
 */
bool tri_workflow_edit_find(struct tr_bytes edits, struct tr_text input, struct tr_bytes *slot)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(edits, &cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text name = {0};
        if (tr_read_array(&cursor) == 2) {
            name = tr_read_text(&cursor);
        }
        struct tr_bytes value = tr_read_any(&cursor);
        if (cursor.error == 0 && tr_text_equal(name, input)) {
            *slot = value;
            return true;
        }
    }
    return false;
}

static int edit(struct tri_flow *flow, uint32_t node, struct tr_bytes edits,
                struct tr_buffer *inputs)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tr_buffer edited;
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(tr_buffer_bytes(inputs), &cursor);
    tr_buffer_init(&edited, inputs->size_max);
    tr_buffer_array(&edited, count);
    for (uint32_t i = 0; i < count && i < compiled->input_count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        (void)tri_workflow_edit_find(edits, flow->workflow->bindings[compiled->input_first + i].key,
                                     &slot);
        tr_buffer_add(&edited, slot.data, slot.size);
    }
    int error = cursor.error != 0 ? cursor.error : edited.error;
    if (error != 0) {
        tr_buffer_fini(&edited);
        return error;
    }
    tr_buffer_fini(inputs);
    *inputs = edited;
    return 0;
}

/* Puts edited inputs of a rerun in the places of what was bound. */
static int put_edits(struct tri_flow *flow, uint32_t node, struct tr_buffer *inputs)
{
    struct tri_row row;
    struct tr_buffer edits;
    int error = flow->state->is_recovering ? tri_workflow_row_get(flow, node, &row) : 0;
    if (error != 0 || !flow->state->is_recovering || row.outputs == 0) {
        return error;
    }
    tr_buffer_init(&edits, 0);
    error = tri_workflow_slots_copy(flow, row.outputs, &edits);
    if (error == 0) {
        error = edit(flow, node, tr_buffer_bytes(&edits), inputs);
    }
    tr_buffer_fini(&edits);
    return error;
}

/*
 * Binds what the node is bound to, or takes what it was given, and puts edited inputs in place. An
 * answer (`flow->given`) is taken as it is: the program has bound all inputs of the node by the
 * same rules.
 */
static int bind(struct tri_flow *flow, uint32_t node, struct tr_binder *binder,
                struct tr_buffer *inputs)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    int error;
    if (flow->given.size > 0) {
        tr_buffer_add(inputs, flow->given.data, flow->given.size);
        error = inputs->error;
    } else {
        error = tr_bind_inputs(binder, compiled, inputs);
    }
    return error != 0 ? error : put_edits(flow, node, inputs);
}

/* The binder of a node; `err` is under the workflow's error. */
static int binder_init(struct tri_flow *flow, uint32_t node, struct tr_buffer *err,
                       struct tr_binder *binder)
{
    bool is_in_graph = flow->workflow->nodes[node].role == TR_ROLE_GRAPH;
    int error = is_in_graph ? 0 : write_failure(flow, err);
    *binder = (struct tr_binder){.workflow = flow->workflow,
                                 .output = tri_workflow_output_find,
                                 .self = flow,
                                 .failure = tr_buffer_bytes(err)};
    return error;
}

/* What becomes of a node whose inputs cannot be bound here. */
static int refuse(struct tri_flow *flow, uint32_t node, struct tr_binder *binder)
{
    if (binder->lies_elsewhere) {
        return tri_workflow_bind_ask(flow, node, binder);
    }
    struct tri_failure failure = tri_workflow_failure_of(binder->code, binder->message);
    return tri_workflow_node_failed(flow, node, &failure);
}

int tri_workflow_bind_inputs(struct tri_flow *flow, uint32_t node, struct tr_buffer *inputs,
                             bool *is_bound)
{
    struct tr_buffer err;
    struct tr_binder binder;
    tr_buffer_init(&err, 0);
    int error = binder_init(flow, node, &err, &binder);
    if (error == 0) {
        error = bind(flow, node, &binder, inputs);
    }
    if (error == TR_INVALID) {
        error = refuse(flow, node, &binder);
    } else if (error == 0 && inputs->size > TR_MESSAGE_BYTES_MAX - MESSAGE_MARGIN_BYTES) {
        error = fail_size(flow, node);
    } else {
        *is_bound = error == 0;
    }
    tr_buffer_fini(&err);
    return error;
}

int tri_workflow_bind_kept(struct tri_flow *flow, uint32_t node, struct tr_bytes got, bool *is_fine)
{
    struct tr_buffer err;
    struct tr_buffer inputs;
    struct tr_binder binder;
    tr_buffer_init(&err, 0);
    tr_buffer_init(&inputs, 0);
    int error = binder_init(flow, node, &err, &binder);
    if (error == 0) {
        error = bind(flow, node, &binder, &inputs);
    }
    *is_fine = true;
    bool is_bound = error == 0;
    if (error == TR_INVALID) {
        *is_fine = binder.lies_elsewhere;
        error = *is_fine ? 0 : refuse(flow, node, &binder);
    }
    if (error == 0 && *is_fine && (got.size > 0 || is_bound)) {
        error = tri_workflow_node_record_value(flow, node, TR_VALUE_INPUTS,
                                               got.size > 0 ? got : tr_buffer_bytes(&inputs));
    }
    tr_buffer_fini(&inputs);
    tr_buffer_fini(&err);
    return error;
}

/* ---------------------------------------------------------------- asked for */

int tri_workflow_bind_ask(struct tri_flow *flow, uint32_t node, struct tr_binder *binder)
{
    struct tr_buffer plan;
    tr_buffer_init(&plan, 0);
    int error = tr_bind_plan(binder, &flow->workflow->nodes[node], &plan);
    if (error == TR_INVALID) {
        struct tri_failure failure = tri_workflow_failure_of(binder->code, binder->message);
        error = tri_workflow_node_failed(flow, node, &failure);
    } else if (error == 0 && plan.size > TR_MESSAGE_BYTES_MAX - MESSAGE_MARGIN_BYTES) {
        error = fail_size(flow, node);
    } else if (error == 0) {
        const struct tr_values_bind question = {.plan = tr_buffer_bytes(&plan)};
        error = tri_workflow_ask(flow, TRI_QUESTION_VALUES, &tr_values_bind_schema, &question);
        if (error == 0) {
            error = tri_workflow_ready_return(flow, node);
        }
    }
    tr_buffer_fini(&plan);
    return error;
}
