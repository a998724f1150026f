/*
 * Nodes: how one begins, by its kind, and the last word of its actor.
 */
#include "actors/services/growth.h"
#include "actors/workflow/workflow.h"

/* The end node only binds the workflow's outputs; it succeeds here and has no actor. */
static int begin_end(struct tri_flow *flow, uint32_t node)
{
    struct tr_buffer values;
    uint64_t place = 0;
    bool is_bound = false;
    tr_buffer_init(&values, 0);
    int error = tri_workflow_bind_inputs(flow, node, &values, &is_bound);
    if (error == 0 && is_bound) {
        error = tri_workflow_slots_put(flow, tr_buffer_bytes(&values), &place);
        if (error == 0) {
            error = tri_workflow_node_succeeded(flow, node, TR_NODE_PHASE_SUCCEEDED, place);
        }
    }
    tr_buffer_fini(&values);
    return error;
}

/* Spawns a node's actor and tells it what it is. */
static int spawn(struct tri_flow *flow, uint32_t node, const struct tr_behaviour *behaviour,
                 struct tr_text path, struct tr_bytes inputs)
{
    const struct tr_node_start *start = &flow->start;
    struct tr_spawn_options options = {.name = flow->workflow->nodes[node].id};
    struct tr_ref child;
    struct tr_text recovery;
    struct tr_buffer under;
    struct tri_row *row;
    tr_buffer_init(&under, 0);
    int error = tri_workflow_recovery_inside(flow, node, &under, &recovery);
    if (error == 0) {
        error = tr_spawn(flow->context, behaviour, &options, &child);
    }
    if (error == 0) {
        struct tr_node_start message = {
            .graph = flow->state->graph,
            .workflow = flow->state->workflow,
            .node = node,
            .element = TR_ELEMENT_NONE,
            .execution = start->execution,
            .number = start->number,
            .path = path,
            .cache_mode = start->cache_mode,
            .inputs = inputs,
            .recovery = recovery,
            .environment = start->environment,
            .raw_output_prefix = start->raw_output_prefix,
            .interruptible = start->interruptible,
        };
        error = tr_tell_hinted(flow->context, child, tr_spawned_hint(flow->context),
                               &tr_node_start_schema, &message);
    }
    tr_buffer_fini(&under);
    if (error == 0) {
        error = tri_workflow_row_edit(flow, node, &row);
    }
    if (error == 0) {
        row->phase = TR_NODE_PHASE_RUNNING;
        row->child = child.key.serial;
        flow->state->running++;
    }
    return error;
}

/*
 * Binds the inputs and spawns the actor. What cannot be bound has failed or waits for an answer:
 * then `is_bound` is false and nothing is spawned.
 */
static int spawn_child(struct tri_flow *flow, uint32_t node, const struct tr_behaviour *behaviour)
{
    struct tr_buffer inputs;
    struct tr_buffer path;
    bool is_bound = false;
    tr_buffer_init(&inputs, 0);
    tr_buffer_init(&path, 0);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = tri_workflow_bind_inputs(flow, node, &inputs, &is_bound);
    }
    if (error != 0 || !is_bound) {
        goto done;
    }
    tri_workflow_path_add(flow, node, &path);
    error = path.error;
    if (error == 0 && path.size > TR_ADDRESS_BYTES_MAX) {
        struct tri_failure failure = tri_workflow_failure_of(
            "AddressTooLong", tr_text_of("the node's path is longer than TR_ADDRESS_BYTES_MAX"));
        error = tri_workflow_node_failed(flow, node, &failure);
        goto done;
    }
    if (error == 0) {
        error = spawn(flow, node, behaviour, tr_buffer_text(&path), tr_buffer_bytes(&inputs));
        uint32_t size = (uint32_t)inputs.size;
        /* Inputs are copied into messages: the share bounds their bytes as well as their number. */
        flow->bytes_left -= size < flow->bytes_left ? size : flow->bytes_left;
    }
done:
    tr_buffer_fini(&path);
    tr_buffer_fini(&inputs);
    return error;
}

/* Before anything is bound: an execution that has grown to its limits begins no more nodes. */
static int begin_child(struct tri_flow *flow, uint32_t node, const struct tr_behaviour *behaviour)
{
    struct tr_growth growth = tr_growth_of_execution(flow->context);
    if (growth.code != NULL) {
        struct tri_failure failure =
            tri_workflow_failure_of(growth.code, tr_text_of(growth.message));
        return tri_workflow_node_failed(flow, node, &failure);
    }
    return spawn_child(flow, node, behaviour);
}

static int begin_task(struct tri_flow *flow, uint32_t node)
{
    return begin_child(flow, node, &tr_task_behaviour);
}

static int begin_map(struct tri_flow *flow, uint32_t node)
{
    return begin_child(flow, node, &tr_array_behaviour);
}

static int begin_workflow(struct tri_flow *flow, uint32_t node)
{
    return begin_child(flow, node, &tr_workflow_behaviour);
}

static int begin_launch(struct tri_flow *flow, uint32_t node)
{
    return begin_child(flow, node, &tr_launch_behaviour);
}

/* Each kind's beginning; the start has ended from the first. A new kind is a function and a row. */
static int (*const beginnings[])(struct tri_flow *flow, uint32_t node) = {
    [TR_NODE_END] = begin_end,
    [TR_NODE_TASK] = begin_task,
    [TR_NODE_WORKFLOW] = begin_workflow,
    [TR_NODE_LAUNCH] = begin_launch,
    [TR_NODE_DYNAMIC] = begin_task,
    [TR_NODE_MAP] = begin_map,
    [TR_NODE_BRANCH] = tri_workflow_branch_begin,
    [TR_NODE_APPROVE] = tri_workflow_gate_begin,
    [TR_NODE_SIGNAL] = tri_workflow_gate_begin,
    [TR_NODE_SLEEP] = tri_workflow_sleep_begin,
};

static int begin_node(struct tri_flow *flow, uint32_t node)
{
    uint8_t kind = flow->workflow->nodes[node].kind;
    TR_ASSERT(kind < TR_COUNT_OF(beginnings) && beginnings[kind] != NULL);
    return beginnings[kind](flow, node);
}

/* Whether a node that is ready may begin: width and pauses are the graph's nodes'. */
bool tri_workflow_may_begin(const struct tri_flow *flow)
{
    uint32_t width = tri_workflow_width(flow->state, flow->workflow);
    if (flow->state->ready_first == 0 || flow->state->stage != TRI_STAGE_GRAPH) {
        return flow->state->ready_first != 0;
    }
    return !flow->state->is_paused && (width == 0 || flow->state->running < width);
}

static int begin_one(struct tri_flow *flow)
{
    uint32_t node;
    struct tri_row row;
    int error = tri_workflow_ready_pop(flow, &node);
    if (error == 0) {
        error = tri_workflow_row_get(flow, node, &row);
    }
    if (error == 0 && tri_workflow_row_is_done(&row)) {
        /* The deadline of its branch was quicker. */
        return (row.flags & TRI_ROW_SETTLES) != 0 ? tri_workflow_settle_push(flow, node) : 0;
    }
    if (error != 0) {
        return error;
    }
    flow->starts_left--;
    return begin_node(flow, node);
}

int tri_workflow_first_begin(struct tri_flow *flow)
{
    return tri_workflow_may_begin(flow) ? begin_one(flow) : 0;
}

/* ---------------------------------------------------------- ends of children */

static int take_failure(struct tri_flow *flow, uint32_t node, const struct tr_node_ended *ended)
{
    struct tri_failure failure = {
        .phase = ended->phase,
        .kind = ended->failure,
        .code = ended->code,
        .message = ended->message,
        .failed = ended->failed,
        .failed_element = ended->failed_element,
        .flyte_message = ended->flyte_message,
        .details = ended->details,
    };
    if (failure.failed.size == 0) {
        failure.failed_element = TR_ELEMENT_NONE;
    }
    if (failure.code.size == 0) {
        failure.code =
            tr_text_of(ended->phase == TR_NODE_PHASE_ABORTED ? "NodeAborted" : "UnknownError");
    }
    return tri_workflow_node_failed(flow, node, &failure);
}

/*
 * Whether the message is the one word that is waited for from this child. Its serial has to be that
 * of the row: so a message that comes twice, or of another actor, ends no node.
 */
static int is_expected(struct tri_flow *flow, const struct tr_message *message,
                       const struct tr_node_ended *ended, bool *is_fine)
{
    struct tri_row row;
    *is_fine = false;
    if (ended->node >= flow->workflow->node_count || ended->node == 0 ||
        !tr_phase_is_end(TR_SUBJECT_NODE, ended->phase)) {
        return 0;
    }
    int error = tri_workflow_row_get(flow, ended->node, &row);
    *is_fine = error == 0 && row.phase == TR_NODE_PHASE_RUNNING && row.child != 0 &&
               row.child == message->from.key.serial &&
               message->from.key.group == tr_self(flow->context).key.group &&
               !tri_workflow_is_row(&flow->workflow->nodes[ended->node]);
    return error;
}

int tri_workflow_child_ended(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_node_ended ended;
    bool is_fine;
    int error = tr_message_read(message, node_ended, &ended);
    if (error != 0) {
        return error;
    }
    error = is_expected(flow, message, &ended, &is_fine);
    if (error != 0) {
        return error;
    }
    if (!is_fine) {
        return tr_unexpected(flow->context, message);
    }
    flow->state->running--;
    switch ((enum tr_node_phase)ended.phase) {
    case TR_NODE_PHASE_SUCCEEDED:
    case TR_NODE_PHASE_RECOVERED:
        return tri_workflow_outputs_take(flow, ended.node, &ended);
    case TR_NODE_PHASE_SKIPPED:
        return tri_workflow_node_skipped(flow, ended.node);
    case TR_NODE_PHASE_FAILED:
    case TR_NODE_PHASE_TIMED_OUT:
    case TR_NODE_PHASE_ABORTED:
    default:
        return take_failure(flow, ended.node, &ended);
    }
}
