/*
 * Nodes: how one begins, by its kind, and what its end means to those behind it.
 *
 * A node that fails stands for itself: an optional one goes on with outputs that are none, the
 * failure of an arm is its branch's, and any other one is the workflow's.
 *
 * A node's end has three steps, each in one place: note_end writes history and stops timers,
 * end_row changes the row and the counts, pass_on (or the failure's way up) puts the node into the
 * settle queue. From there its dependents are looked at in shares (workflow.c), so that a node with
 * 100,000 dependents takes no handler too long.
 *
 * Skipping travels that way, too, as in Flyte: a node is skipped, once all before it have settled,
 * when one of them was skipped or has failed; its own end then skips those behind it.
 */
#include "actors/history/history.h"
#include "actors/services/growth.h"
#include "actors/values/bind.h"
#include "actors/workflow/workflow.h"
#include "schemas/codec/utf8.h"

/* ----------------------------------------------------------------- endings */

/*
 * The row of a node that has ended. `child` is cleared, so a second word of the same child finds no
 * row that waits for it.
 */
static int end_row(struct tri_flow *flow, uint32_t node, uint8_t phase, uint64_t outputs,
                   uint8_t flags)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    TR_ASSERT(tr_phase_may_follow(TR_SUBJECT_NODE, row->phase, phase));
    row->phase = phase;
    row->outputs = outputs;
    row->flags |= flags;
    row->child = 0;
    flow->state->done += flow->workflow->nodes[node].role == TR_ROLE_GRAPH ? 1 : 0;
    return 0;
}

/*
 * Records the end of a node that has no actor of its own, and stops what it waits for. A node with
 * an actor records its own end; only if it never began does this write it. It reads the row's
 * phase, so it comes before end_row.
 */
static int note_end(struct tri_flow *flow, uint32_t node, uint8_t phase,
                    const struct tri_failure *failure)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tri_row row;
    int error = tri_workflow_row_get(flow, node, &row);
    bool is_row = tri_workflow_is_row(compiled);
    bool is_recorded = row.phase == TR_NODE_PHASE_NOT_YET_STARTED || is_row;
    if (error == 0 && is_recorded) {
        error =
            tri_workflow_node_record(flow, node, row.phase, phase, is_row ? row.child : 0, failure);
    }
    if (error == 0 && is_row && compiled->deadline_ns > 0) {
        error = tr_timer_stop(flow->context, TRI_TIMER_NODES + node);
    }
    if (error == 0 && tri_workflow_is_waiter(compiled) && row.phase == TR_NODE_PHASE_RUNNING) {
        error = tri_workflow_gate_leave(flow, node);
    }
    return error;
}

/*
 * A node has ended in a way that lets others go on, or skips them. While draining no dependents are
 * told: nothing begins any more.
 */
static int pass_on(struct tri_flow *flow, uint32_t node)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    bool is_drained = flow->state->stage == TRI_STAGE_DRAIN;
    if (!is_drained && (compiled->kind == TR_NODE_BRANCH || compiled->downstream_count > 0)) {
        int error = tri_workflow_settle_push(flow, node);
        if (error != 0) {
            return error;
        }
    }
    if (compiled->parent != TR_GRAPH_NONE) {
        return tri_workflow_branch_arm_done(flow, node);
    }
    return compiled->role == TR_ROLE_GRAPH ? 0 : tri_workflow_handler_ended(flow, node, NULL);
}

/*
 * A node has ended well: SUCCEEDED or RECOVERED, with slots at `outputs`. A branch without a value,
 * as one whose arm was skipped, gives none to those that refer to it.
 */
int tri_workflow_node_succeeded(struct tri_flow *flow, uint32_t node, uint8_t phase,
                                uint64_t outputs)
{
    bool is_plain = flow->workflow->nodes[node].kind == TR_NODE_END;
    bool gives_none = outputs == 0 && flow->workflow->nodes[node].kind == TR_NODE_BRANCH;
    int error = is_plain ? 0 : note_end(flow, node, phase, NULL);
    if (error == 0) {
        error = end_row(flow, node, phase, outputs, gives_none ? TRI_ROW_GIVES_NONE : 0);
    }
    return error != 0 ? error : pass_on(flow, node);
}

/*
 * A node that will not run, because of an arm that was not taken or what was before it. A branch
 * passes that on to its arms.
 */
int tri_workflow_node_skipped(struct tri_flow *flow, uint32_t node)
{
    bool is_branch = flow->workflow->nodes[node].kind == TR_NODE_BRANCH;
    int error = note_end(flow, node, TR_NODE_PHASE_SKIPPED, NULL);
    if (error == 0) {
        error = end_row(flow, node, TR_NODE_PHASE_SKIPPED, 0, is_branch ? TRI_ROW_HAS_ARMS : 0);
    }
    return error != 0 ? error : pass_on(flow, node);
}

/* The failure of an arm is its branch's, unless that has ended already. */
static int fail_parent(struct tri_flow *flow, uint32_t node, const struct tri_failure *failure)
{
    uint32_t parent = flow->workflow->nodes[node].parent;
    struct tri_row row;
    int error = tri_workflow_row_get(flow, parent, &row);
    if (error != 0 || tri_workflow_row_is_done(&row)) {
        return error;
    }
    struct tri_failure same = *failure;
    if ((row.flags & TRI_ROW_TIMED_OUT) != 0) {
        same.phase = TR_NODE_PHASE_TIMED_OUT;
    } else if (same.phase != TR_NODE_PHASE_ABORTED) {
        same.phase = TR_NODE_PHASE_FAILED;
    }
    return tri_workflow_node_failed(flow, parent, &same);
}

/*
 * The node that a failure is attributed to. Under FAIL_IMMEDIATELY the workflow drains now and
 * tells no dependents; otherwise those behind the node are told, and are skipped.
 */
static int blame(struct tri_flow *flow, uint32_t node, const struct tri_failure *failure)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    if (compiled->parent != TR_GRAPH_NONE) {
        return fail_parent(flow, node, failure);
    }
    if (compiled->role != TR_ROLE_GRAPH) {
        return tri_workflow_handler_ended(flow, node, failure);
    }
    int error = tri_workflow_failed(flow, node, failure);
    if (error != 0 || flow->state->stage == TRI_STAGE_DRAIN) {
        return error;
    }
    return tri_workflow_settle_push(flow, node);
}

/*
 * The end of a node that failed, was aborted or timed out. Texts are cut to what a row may hold;
 * without a path of its own the failure is this node's.
 */
int tri_workflow_node_failed(struct tri_flow *flow, uint32_t node,
                             const struct tri_failure *failure)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tri_failure known = *failure;
    struct tr_buffer path;
    struct tri_row row;
    tr_buffer_init(&path, 0);
    known.code.size = tr_utf8_cut(known.code, TRI_CODE_TEXT_MAX);
    known.message.size = tr_utf8_cut(known.message, TRI_MESSAGE_TEXT_MAX);
    known.failed.size = tr_utf8_cut(known.failed, TR_ADDRESS_BYTES_MAX);
    int error = tri_workflow_row_get(flow, node, &row);
    if (error == 0) {
        error = tri_workflow_start(flow);
    }
    if (error == 0 && known.failed.size == 0) {
        tri_workflow_path_add(flow, node, &path);
        known.failed = tr_buffer_text(&path);
        error = path.error;
    }
    if (error == 0) {
        error = note_end(flow, node, known.phase, &known);
    }
    bool has_arms = compiled->kind == TR_NODE_BRANCH && row.arm == 0;
    uint8_t flags = (uint8_t)((compiled->is_optional ? TRI_ROW_GIVES_NONE : 0) |
                              (has_arms ? TRI_ROW_HAS_ARMS : 0));
    if (error == 0) {
        error = end_row(flow, node, known.phase, 0, flags);
    }
    if (error == 0 && has_arms && flow->state->stage != TRI_STAGE_DRAIN) {
        error = tri_workflow_settle_push(flow, node); /* a branch that took no arm skips all */
    }
    if (error == 0) {
        error = compiled->is_optional ? pass_on(flow, node) : blame(flow, node, &known);
    }
    tr_buffer_fini(&path);
    return error;
}

/* ------------------------------------------------------------------ values */

/*
 * The value of an output, for bindings (tr_bind_open): what the node gave, or none of the output's
 * type where it gives none: an optional node that failed, a branch that took no arm.
 */
int tri_workflow_output_find(void *self, uint32_t node, uint32_t output, struct tr_bytes *slot)
{
    struct tri_flow *flow = self;
    struct tri_row row;
    int error = tri_workflow_row_get(flow, node, &row);
    if (error != 0) {
        return error;
    }
    if ((row.flags & TRI_ROW_GIVES_NONE) == 0) {
        return tri_workflow_slots_find(flow, row.outputs, output, slot);
    }
    tr_buffer_cut(&flow->value, 0);
    error = tr_bind_none(flow->workflow->nodes[node].outputs.items[output].type, &flow->value);
    if (error == 0) {
        *slot = tr_buffer_bytes(&flow->value);
    }
    return error;
}

/* -------------------------------------------------------------- beginnings */

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

int tri_workflow_node_begin(struct tri_flow *flow, uint32_t node)
{
    uint8_t kind = flow->workflow->nodes[node].kind;
    TR_ASSERT(kind < TR_COUNT_OF(beginnings) && beginnings[kind] != NULL);
    return beginnings[kind](flow, node);
}

/*
 * Counts upstreams, of which each tells once. Only the last one decides, so a node is not skipped
 * before all of them have ended, and begins or is skipped exactly once.
 */
int tri_workflow_node_told(struct tri_flow *flow, uint32_t node, bool skips, bool is_anew)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0 || tri_workflow_row_is_done(row)) {
        return error; /* an arm that was not taken does not wait any more */
    }
    row->told++;
    row->flags |= skips ? TRI_ROW_SKIPS : 0;
    row->recovery |= is_anew ? TRI_RECOVERY_AGAIN : 0;
    if (row->told < flow->workflow->nodes[node].upstream_count) {
        return 0;
    }
    return (row->flags & TRI_ROW_SKIPS) != 0 ? tri_workflow_node_skipped(flow, node)
                                             : tri_workflow_ready_push(flow, node);
}

/* ---------------------------------------------------------- ends of children */

/* The type in which a node's target gives an output; a node that is optional adds none to it. */
static const struct tr_type *given_type(const struct tri_flow *flow, const struct tr_node *node,
                                        uint32_t output)
{
    const struct tr_type *type = node->outputs.items[output].type;
    if (node->kind == TR_NODE_TASK || node->kind == TR_NODE_DYNAMIC) {
        return flow->graph->tasks[node->target].interface.outputs.items[output].type;
    }
    if (node->kind == TR_NODE_WORKFLOW || node->kind == TR_NODE_LAUNCH) {
        bool is_plan = node->target_kind == TR_TARGET_PLAN;
        uint32_t workflow = is_plan ? flow->graph->plans[node->target].workflow : node->target;
        return flow->graph->workflows[workflow].interface.outputs.items[output].type;
    }
    if (node->kind == TR_NODE_APPROVE) {
        return flow->workflow->bindings[node->input_first + output].type;
    }
    if (node->kind == TR_NODE_SIGNAL) {
        return node->signal_type;
    }
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind == TR_TYPE_LIST) {
            return type->parts[i];
        }
    }
    return type;
}

/* Makes the outputs of an optional node's target into those of the node. */
static int cast_outputs(struct tri_flow *flow, const struct tr_node *node, struct tr_bytes outputs,
                        struct tr_buffer *buffer)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(outputs, &cursor);
    tr_buffer_array(buffer, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        int error = cursor.error;
        if (error == 0) {
            error =
                tr_bind_cast(given_type(flow, node, i), node->outputs.items[i].type, slot, buffer);
        }
        if (error != 0) {
            return error;
        }
    }
    return buffer->error;
}

/*
 * A child that says it succeeded, and yet its node has failed. The child has recorded a success, so
 * its node's failure is recorded here.
 */
static int refuse(struct tri_flow *flow, uint32_t node, const char *code, const char *message)
{
    struct tri_failure failure = tri_workflow_failure_of(code, tr_text_of(message));
    bool has_actor = !tri_workflow_is_row(&flow->workflow->nodes[node]);
    int error = has_actor ? tri_workflow_node_record(flow, node, TR_NODE_PHASE_RUNNING,
                                                     failure.phase, 0, &failure)
                          : 0;
    return error != 0 ? error : tri_workflow_node_failed(flow, node, &failure);
}

int tri_workflow_keep_outputs(struct tri_flow *flow, uint32_t node,
                              const struct tr_node_ended *ended)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tr_buffer cast;
    struct tr_bytes outputs = ended->outputs;
    uint64_t place = 0;
    int error = 0;
    tr_buffer_init(&cast, 0);
    if (compiled->is_optional && compiled->outputs.count > 0) {
        error = cast_outputs(flow, compiled, outputs, &cast);
        outputs = tr_buffer_bytes(&cast);
    }
    if (error == TR_INVALID || error == TR_LIMIT) {
        error = refuse(flow, node, "MismatchingTypes", "an output is not of its declared type");
    } else if (error == 0) {
        error = tri_workflow_slots_put(flow, outputs, &place);
        if (error == 0) {
            error = tri_workflow_node_succeeded(flow, node, ended->phase, place);
        }
    }
    tr_buffer_fini(&cast);
    return error;
}

/* Whether a list has a slot for each output of a node. */
static bool is_complete(const struct tri_flow *flow, uint32_t node, struct tr_bytes outputs)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(outputs, &cursor);
    return cursor.error == 0 && count == flow->workflow->nodes[node].outputs.count;
}

int tri_workflow_node_keep(struct tri_flow *flow, uint32_t node, struct tr_bytes inputs,
                           struct tr_bytes outputs, bool *is_kept)
{
    struct tr_node_ended ended = {.phase = TR_NODE_PHASE_RECOVERED, .outputs = outputs};
    bool is_fine = false;
    *is_kept = is_complete(flow, node, outputs);
    if (!*is_kept) {
        return 0;
    }
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = tri_workflow_bind_kept(flow, node, inputs, &is_fine);
    }
    if (error == 0 && is_fine) {
        error = tri_workflow_node_record_value(flow, node, TR_VALUE_OUTPUTS, outputs);
        if (error == 0) {
            error = tri_workflow_keep_outputs(flow, node, &ended);
        }
    }
    return error;
}

static int take_success(struct tri_flow *flow, uint32_t node, const struct tr_node_ended *ended)
{
    if (!is_complete(flow, node, ended->outputs)) {
        return refuse(flow, node, "OutputsNotFoundError",
                      "it succeeded without giving all of its declared outputs");
    }
    return tri_workflow_keep_outputs(flow, node, ended);
}

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
        .error_output = ended->error_output,
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
        return take_success(flow, ended.node, &ended);
    case TR_NODE_PHASE_SKIPPED:
        return tri_workflow_node_skipped(flow, ended.node);
    case TR_NODE_PHASE_FAILED:
    case TR_NODE_PHASE_TIMED_OUT:
    case TR_NODE_PHASE_ABORTED:
    default:
        return take_failure(flow, ended.node, &ended);
    }
}
