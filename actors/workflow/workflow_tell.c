/*
 * What a workflow tells: history of its own phases and of the nodes that have no actor, the last
 * word to its parent, and what is said about launches.
 *
 * The root's phases are an execution's; those of an inline workflow are its node's, in the same
 * words. An element of a map leaves its node's history to the array, and what a task has decided
 * leaves it to that task.
 */
#include <stdio.h>

#include "actors/history/history.h"
#include "actors/services/launch.h"
#include "actors/services/launcher_shard.h"
#include "actors/workflow/workflow.h"

/* Each phase of an execution, as its node has it. */
static const uint8_t node_phases[] = {
    [TR_EXECUTION_UNDEFINED] = TR_NODE_PHASE_NOT_YET_STARTED,
    [TR_EXECUTION_QUEUED] = TR_NODE_PHASE_QUEUED,
    [TR_EXECUTION_RUNNING] = TR_NODE_PHASE_RUNNING,
    [TR_EXECUTION_SUCCEEDING] = TR_NODE_PHASE_SUCCEEDING,
    [TR_EXECUTION_SUCCEEDED] = TR_NODE_PHASE_SUCCEEDED,
    [TR_EXECUTION_FAILING] = TR_NODE_PHASE_FAILING,
    [TR_EXECUTION_FAILED] = TR_NODE_PHASE_FAILED,
    [TR_EXECUTION_ABORTING] = TR_NODE_PHASE_ABORTING,
    [TR_EXECUTION_ABORTED] = TR_NODE_PHASE_ABORTED,
    [TR_EXECUTION_TIMING_OUT] = TR_NODE_PHASE_TIMING_OUT,
    [TR_EXECUTION_TIMED_OUT] = TR_NODE_PHASE_TIMED_OUT,
};

/* Each kind of node in the word of the language. */
static const char *const kind_words[] = {
    [TR_NODE_START] = "start",       [TR_NODE_END] = "end",       [TR_NODE_TASK] = "task",
    [TR_NODE_WORKFLOW] = "workflow", [TR_NODE_LAUNCH] = "launch", [TR_NODE_DYNAMIC] = "dynamic",
    [TR_NODE_MAP] = "map",           [TR_NODE_BRANCH] = "switch", [TR_NODE_APPROVE] = "approve",
    [TR_NODE_SIGNAL] = "signal",     [TR_NODE_SLEEP] = "sleep",
};

/* ------------------------------------------------------------------- words */

void tri_workflow_own_path_add(const struct tri_flow *flow, struct tr_buffer *buffer)
{
    tr_buffer_add_text(buffer, flow->start.path);
    if (tri_workflow_is_element(flow)) {
        tr_buffer_print(buffer, "[%llu]", (unsigned long long)flow->state->element);
    }
}

void tri_workflow_path_add(const struct tri_flow *flow, uint32_t node, struct tr_buffer *buffer)
{
    tri_workflow_own_path_add(flow, buffer);
    if (flow->start.path.size > 0 || tri_workflow_is_element(flow)) {
        tr_buffer_add_string(buffer, "/");
    }
    tr_buffer_add_text(buffer, flow->workflow->nodes[node].id);
}

/* The last part of "PROJECT/DOMAIN/NAME". */
static struct tr_text execution_name(struct tr_text execution)
{
    size_t at = execution.size;
    while (at > 0 && execution.data[at - 1] != '/') {
        at--;
    }
    return (struct tr_text){.data = execution.data + at, .size = execution.size - at};
}

/* ----------------------------------------------------------------- failure */

int tri_workflow_failure_get(struct tri_flow *flow, struct tr_buffer *buffer,
                             struct tr_node_ended *failure, bool *is_there)
{
    struct tr_bytes bytes;
    *is_there = flow->state->failure != 0;
    if (!*is_there) {
        *failure = (struct tr_node_ended){.failed_element = TR_ELEMENT_NONE};
        return 0;
    }
    int error = tr_heap_get(flow->context, &flow->heap, flow->state->failure, &flow->value, &bytes);
    if (error == 0) {
        /* A copy, since others may be read from the heap while it is in use. */
        tr_buffer_cut(buffer, 0);
        tr_buffer_add(buffer, bytes.data, bytes.size);
        error = buffer->error;
    }
    return error != 0 ? error
                      : tr_node_ended_unpack(tr_buffer_bytes(buffer), flow->state->failure_version,
                                             failure);
}

int tri_workflow_final_failure(struct tri_flow *flow, struct tr_buffer *under,
                               struct tr_buffer *words, struct tr_node_ended *failure)
{
    bool is_there;
    int error = tri_workflow_failure_get(flow, under, failure, &is_there);
    bool is_failed = flow->state->outcome != TR_EXECUTION_SUCCEEDED;
    if (error != 0 || !is_there || !is_failed) {
        return error;
    }
    tr_buffer_add_text(words, failure->message);
    if (flow->state->failures > 1) {
        tr_buffer_print(words, " (and %u more)", flow->state->failures - 1);
    }
    failure->message = tr_buffer_text(words);
    return words->error;
}

/* ------------------------------------------------------------- own history */

static int count_execution(struct tri_flow *flow, const struct tr_execution *row)
{
    const struct tr_metric_labels labels = {row->project, row->domain, row->workflow};
    uint64_t run_ms = row->ended_ms > row->started_ms ? row->ended_ms - row->started_ms : 0;
    return tr_count_execution(flow->context, &tr_engine_of(flow->context)->metric_workflows,
                              &labels, row->phase, run_ms);
}

static int record_execution(struct tri_flow *flow, uint8_t from, uint8_t to, struct tr_text cause,
                            const struct tr_node_ended *failure)
{
    bool is_failed = to != TR_EXECUTION_RUNNING && to != TR_EXECUTION_QUEUED &&
                     flow->state->outcome != TR_EXECUTION_SUCCEEDED;
    struct tr_execution row = {
        .execution = flow->start.number,
        .project = flow->graph->project,
        .domain = flow->graph->domain,
        .name = execution_name(flow->start.execution),
        .workflow = flow->workflow->name,
        .plan = flow->start.plan,
        .phase = to,
        .created_ms = flow->state->begun_ms,
        .started_ms = to == TR_EXECUTION_QUEUED ? 0 : flow->state->begun_ms,
        .graph = {.data = flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .parent = flow->start.parent,
        .cause = flow->start.cause,
        .recovery = flow->start.recovery,
        .failed_element = TR_ELEMENT_NONE,
        .is_paused = flow->state->is_paused && to == TR_EXECUTION_RUNNING,
        .labels = flow->start.labels,
        .request = flow->start.request,
    };
    if (is_failed) {
        row.code = failure->code;
        row.message = failure->message;
        row.flyte_message = failure->flyte_message;
        row.failed = failure->failed;
        row.failed_element = failure->failed_element;
    }
    if (from == to) {
        return tr_history_pause(flow->context, &row, cause, &flow->state->recorded);
    }
    int error = tr_history_execution(flow->context, &row, from, cause, &flow->state->recorded);
    bool is_new = from == TR_EXECUTION_UNDEFINED;
    if (error == 0 && is_new) {
        error = tr_history_labels(flow->context, &row);
    }
    return error != 0 ? error : count_execution(flow, &row);
}

/* This workflow as a node of its parent's. */
static int record_own_node(struct tri_flow *flow, uint8_t from, uint8_t to, struct tr_text cause,
                           const struct tr_node_ended *failure)
{
    /* The parent's workflow is what node_start names. */
    const struct tr_node *node =
        &flow->graph->workflows[flow->start.workflow].nodes[flow->state->node];
    bool is_failed = flow->state->outcome != TR_EXECUTION_SUCCEEDED;
    struct tr_node_status row = {
        .execution = flow->start.number,
        .path = flow->start.path,
        .kind = tr_text_of(kind_words[node->kind]),
        .target = tr_node_target_name(flow->graph, node),
        .name = node->name,
        .phase = node_phases[to],
        .created_ms = flow->state->begun_ms,
        .started_ms = flow->state->begun_ms,
        .attempts = 1,
    };
    if (is_failed) {
        row.failure = failure->failure;
        row.code = failure->code;
        row.message = failure->message;
        row.flyte_message = failure->flyte_message;
    }
    return tr_history_node(flow->context, &row, node_phases[from], cause, &flow->state->recorded);
}

/* The texts live until the row is packed, which tr_record does at once. */
static int record(struct tri_flow *flow, uint8_t from, uint8_t to, struct tr_text cause)
{
    struct tr_buffer under;
    struct tr_buffer words;
    struct tr_node_ended failure;
    tr_buffer_init(&under, 0);
    tr_buffer_init(&words, 0);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = tri_workflow_final_failure(flow, &under, &words, &failure);
    }
    if (error == 0) {
        error = tri_workflow_is_root(flow) ? record_execution(flow, from, to, cause, &failure)
                                           : record_own_node(flow, from, to, cause, &failure);
    }
    tr_buffer_fini(&words);
    tr_buffer_fini(&under);
    return error;
}

int tri_workflow_phase_set(struct tri_flow *flow, uint8_t phase, struct tr_text cause)
{
    struct tr_workflow_state *state = flow->state;
    uint8_t from = state->phase;
    bool is_known =
        phase < TR_COUNT_OF(node_phases) && tr_phase_may_follow(TR_SUBJECT_EXECUTION, from, phase);
    TR_ASSERT(is_known);
    TR_ASSERT(tr_phase_may_follow(TR_SUBJECT_NODE, node_phases[from], node_phases[phase]));
    state->phase = phase;
    state->phases |= 1U << node_phases[phase];
    return tri_workflow_has_history(flow) ? record(flow, from, phase, cause) : 0;
}

int tri_workflow_pause_record(struct tri_flow *flow, struct tr_text cause)
{
    return record(flow, flow->state->phase, flow->state->phase, cause);
}

/* -------------------------------------------------- nodes without an actor */

/* A time of the steady clock as people read it. */
static uint64_t shown_ms_of(const struct tr_context *context, uint64_t steady_ms)
{
    return tr_now_ms(context) - (tr_steady_ms(context) - steady_ms);
}

int tri_workflow_node_record(struct tri_flow *flow, uint32_t node, uint8_t from, uint8_t to,
                             uint64_t begun_ms, const struct tri_failure *failure)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    uint64_t shown_ms = begun_ms == 0 ? 0 : shown_ms_of(flow->context, begun_ms);
    struct tr_buffer path;
    tr_buffer_init(&path, 0);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        tri_workflow_path_add(flow, node, &path);
        error = path.error;
    }
    if (error == 0) {
        struct tr_node_status row = {
            .execution = flow->start.number,
            .path = tr_buffer_text(&path),
            .kind = tr_text_of(kind_words[compiled->kind]),
            .target = tr_node_target_name(flow->graph, compiled),
            .name = compiled->name,
            .phase = to,
            .created_ms = shown_ms,
            .started_ms = shown_ms,
        };
        if (failure != NULL) {
            row.failure = failure->kind;
            row.code = failure->code;
            row.message = failure->message;
            row.flyte_message = failure->flyte_message;
        }
        error = tr_history_node(flow->context, &row, from, flow->cause, &flow->state->recorded);
    }
    tr_buffer_fini(&path);
    return error;
}

int tri_workflow_node_record_value(struct tri_flow *flow, uint32_t node, enum tr_value_side side,
                                   struct tr_bytes slots)
{
    struct tr_buffer path;
    tr_buffer_init(&path, 0);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        tri_workflow_path_add(flow, node, &path);
        error = path.error;
    }
    if (error == 0) {
        error =
            tr_history_value(flow->context, flow->start.number, tr_buffer_text(&path), side, slots);
    }
    tr_buffer_fini(&path);
    return error;
}

int tri_workflow_tell_at_work(struct tri_flow *flow)
{
    if (tri_workflow_is_root(flow) || flow->state->has_told_news) {
        return 0;
    }
    struct tr_node_news news = {
        .node = flow->state->node, .element = flow->state->element, .phase = TR_NODE_PHASE_RUNNING};
    flow->state->has_told_news = true;
    flow->state->phases = 0; /* the end says what has come since */
    return tr_tell(flow->context, tr_parent(flow->context), &tr_node_news_schema, &news);
}

/* ----------------------------------------------------------------- the end */

/* The values that the workflow gives: nothing unless it succeeded. */
static int take_outputs(struct tri_flow *flow, struct tr_buffer *buffer)
{
    struct tri_row row;
    if (flow->state->outcome != TR_EXECUTION_SUCCEEDED) {
        return 0;
    }
    int error = tri_workflow_row_get(flow, flow->workflow->end, &row);
    return error != 0 ? error : tri_workflow_slots_copy(flow, row.outputs, buffer);
}

static int tell_launcher(struct tri_flow *flow)
{
    struct tr_execution_ended ended = {
        .graph = flow->state->graph,
        .name = execution_name(flow->start.execution),
        .phase = flow->state->phase,
    };
    return tr_tell(flow->context, tr_parent(flow->context), &tr_execution_ended_schema, &ended);
}

/* The last message; `node` and `element` are what the parent knows the workflow by. */
static int tell_end(struct tri_flow *flow, struct tr_ref to, uint32_t node, uint64_t element,
                    struct tr_bytes outputs)
{
    struct tr_buffer under;
    struct tr_buffer words;
    struct tr_node_ended ended;
    tr_buffer_init(&under, 0);
    tr_buffer_init(&words, 0);
    int error = tri_workflow_final_failure(flow, &under, &words, &ended);
    if (error == 0) {
        bool is_failed = flow->state->outcome != TR_EXECUTION_SUCCEEDED;
        struct tr_node_ended plain = {.failed_element = TR_ELEMENT_NONE};
        ended = is_failed ? ended : plain;
        ended.node = node;
        ended.element = element;
        ended.phase = node_phases[flow->state->phase];
        ended.phases = flow->state->phases;
        ended.attempts = 1;
        ended.outputs = outputs;
        error = tr_tell(flow->context, to, &tr_node_ended_schema, &ended);
    }
    tr_buffer_fini(&words);
    tr_buffer_fini(&under);
    return error;
}

/* The root's: to the launcher, and to the launch node that waits for it, if there is one. */
static int tell_those_above(struct tri_flow *flow, struct tr_bytes outputs)
{
    const struct tr_node_start *start = &flow->start;
    if (!tri_workflow_is_root(flow)) {
        return tell_end(flow, tr_parent(flow->context), flow->state->node, flow->state->element,
                        outputs);
    }
    int error = tell_launcher(flow);
    if (error != 0 || tr_key_is_none(start->launching.key)) {
        return error;
    }
    return tell_end(flow, start->launching, start->launching_node, start->launching_element,
                    outputs);
}

/*
 * The order: the last phase with its history, the outputs, the last words, the stop. All of it is
 * one commit, so the parent that hears the end finds the history complete.
 */
int tri_workflow_say_end(struct tri_flow *flow)
{
    struct tr_buffer outputs;
    tr_buffer_init(&outputs, 0);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = tri_workflow_phase_set(flow, flow->state->outcome, tr_text_of(""));
    }
    if (error == 0) {
        error = take_outputs(flow, &outputs);
    }
    if (error == 0 && outputs.size > 0 && tri_workflow_has_history(flow)) {
        error = tr_history_value(flow->context, flow->start.number, flow->start.path,
                                 TR_VALUE_OUTPUTS, tr_buffer_bytes(&outputs));
    }
    if (error == 0) {
        error = tell_those_above(flow, tr_buffer_bytes(&outputs));
    }
    tr_buffer_fini(&outputs);
    return error != 0 ? error : tr_stop(flow->context);
}

/* ---------------------------------------------------------------- launches */

int tri_workflow_tell_launched(struct tri_flow *flow, const struct tr_node_start *start)
{
    if (!tri_workflow_is_root(flow) || tr_key_is_none(start->launching.key)) {
        return 0;
    }
    struct tr_launched launched = {.execution = tr_self(flow->context)};
    return tr_tell(flow->context, start->launching, &tr_launched_schema, &launched);
}

/* Of launchers in shards the one for this execution. */
static int choose_launcher(const struct tri_flow *flow, const struct tr_launch *launch,
                           struct tr_ref *launcher)
{
    struct tr_graph_registry *registry = &tr_engine_of(flow->context)->registry;
    const struct tr_graph *graph =
        launch->graph.size == TR_GRAPH_HASH_BYTES
            ? tr_graph_registry_find(registry, tr_graph_number(launch->graph.data))
            : NULL;
    bool is_there =
        graph != NULL && (launch->plan == TR_GRAPH_NONE || launch->plan < graph->plan_count);
    return is_there ? tr_launcher_choose(flow->context, graph, launch->plan, launch->name, launcher)
                    : TR_NOT_FOUND;
}

/*
 * Only a launch node of this execution may ask, and only for itself. The root alone knows how deep
 * the execution lies, which labels it has and how its tasks run, so it says so to the launcher.
 */
int tri_workflow_pass_launch(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_launch launch;
    struct tr_ref launcher = tr_parent(flow->context);
    int error = tr_message_read(message, launch, &launch);
    bool is_from_below = message->from.key.group == tr_self(flow->context).key.group &&
                         tr_key_equal(launch.launching.key, message->from.key);
    if (error != 0 || !tri_workflow_is_root(flow) || !is_from_below) {
        return error != 0 ? error : tr_unexpected(flow->context, message);
    }
    error = tri_workflow_start(flow);
    if (error == 0 && flow->start.depth >= TR_LAUNCH_DEPTH_MAX) {
        struct tr_launched refused = {
            .error = TR_LIMIT,
            .message = tr_text_of("executions launch each other more than TR_LAUNCH_DEPTH_MAX (32) "
                                  "deep"),
        };
        return tr_tell(flow->context, launch.launching, &tr_launched_schema, &refused);
    }
    if (error == 0 && tr_launcher_has_shards(tr_engine_of(flow->context))) {
        error = choose_launcher(flow, &launch, &launcher);
    }
    launch.depth = flow->start.depth + 1;
    launch.inherited_labels = flow->start.labels;
    launch.environment = flow->start.environment;
    launch.raw_output_prefix = flow->start.raw_output_prefix;
    launch.interruptible = flow->start.interruptible;
    return error != 0 ? error : tr_tell(flow->context, launcher, &tr_launch_schema, &launch);
}

/*
 * What the gate says to the signals: that it waits, or that it does not any more. It goes to the
 * root, which alone knows the signals' actor and may have to spawn it.
 */
int tri_workflow_tell_signals(struct tri_flow *flow, uint32_t node, bool waits)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tr_ref self = tr_self(flow->context);
    struct tr_ref root = tr_group_root(self.key.group);
    struct tr_buffer path;
    tr_buffer_init(&path, 0);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        tri_workflow_path_add(flow, node, &path);
        error = path.error;
    }
    if (error == 0 && waits) {
        struct tr_signal_wait wait = {
            .gate = self, .node = node, .id = compiled->signal_id, .path = tr_buffer_text(&path)};
        error = tr_tell(flow->context, root, &tr_signal_wait_schema, &wait);
    } else if (error == 0) {
        struct tr_signal_stop stop = {
            .gate = self, .node = node, .id = compiled->signal_id, .path = tr_buffer_text(&path)};
        error = tr_tell(flow->context, root, &tr_signal_stop_schema, &stop);
    }
    tr_buffer_fini(&path);
    return error;
}

/* An answered gate is unknown to the signals already; any other one has to be forgotten there. */
int tri_workflow_gate_leave(struct tri_flow *flow, uint32_t node)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    int error = 0;
    flow->state->waiting--;
    if (compiled->kind == TR_NODE_SLEEP) {
        error = tr_timer_stop(flow->context, TRI_TIMER_SLEEPS + node);
    } else if (!flow->is_answered) {
        error = tri_workflow_tell_signals(flow, node, false);
    }
    return error;
}
