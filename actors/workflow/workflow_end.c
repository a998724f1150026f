/*
 * The ways to a workflow's end: failures, aborts and bounds of time, and the stages behind them.
 *
 *     GRAPH --all nodes have ended--> [ON_FAILURE] --> [FINALLY] --> the end
 *       |                                  ^
 *       +--a failure, an abort, a bound--> DRAIN, until no child runs
 *
 * The first failure stays the workflow's error; how it ends is `outcome`.
 *
 * Failure policies are Flyte's (WorkflowMetadata.on_failure). FAIL_IMMEDIATELY goes to DRAIN with
 * the first failure: running children are aborted, nothing new begins. finish_runnable, which is
 * FAIL_AFTER_EXECUTABLE_NODES_COMPLETE, stays in GRAPH: what does not depend on the failed node
 * goes on, and the workflow fails when all nodes have ended or were skipped.
 *
 * on_failure runs behind a failure or a time-out, not behind an abort, as Flyte's failure node
 * does. finally, which Flyte does not have, runs behind everything; an abort without grace ends
 * it, and behind a success a bound of time.
 *
 * A child that ends as it was told to while draining is no failure. A workflow leaves a stage only
 * when no child runs and no gate waits, so no child outlives its workflow.
 */
#include "actors/workflow/workflow.h"
#include "schemas/codec/utf8.h"

/* Keeps the first failure for the last message and for on_failure; later ones only count. */
static int keep_failure(struct tri_flow *flow, const struct tri_failure *failure)
{
    if (flow->state->failure != 0) {
        return 0;
    }
    struct tr_node_ended kept = {
        .node = flow->state->node,
        .element = flow->state->element,
        .phase = failure->phase,
        .failure = failure->kind,
        .code = failure->code,
        .message = failure->message,
        .failed = failure->failed,
        .failed_element = failure->failed_element,
        .flyte_message = failure->flyte_message,
        .details = failure->details,
    };
    flow->state->failure_version = tr_node_ended_schema.version;
    return tri_workflow_body_put(flow, &tr_node_ended_schema, &kept, &flow->state->failure);
}

/* Begins to abort all children that run; what does not run yet will not begin. */
static void abort_from_here(struct tri_flow *flow, uint8_t child_phase)
{
    flow->state->is_aborting = true;
    flow->state->abort_at = 0;
    flow->state->abort_phase = child_phase;
}

/*
 * Nodes that were ready do not begin, and those that have ended set off no others. Rows keep their
 * flags and links; no queue leads to them any more.
 */
static void drop_queues(struct tri_flow *flow)
{
    struct tr_workflow_state *state = flow->state;
    state->ready_first = state->ready_last = 0;
    state->settle_first = state->settle_last = state->settle_at = 0;
}

/* The bounds of time are for the graph and, without a failure, for finally; not for clean-up. */
static int stop_timers(struct tri_flow *flow)
{
    int error = tr_timer_stop(flow->context, TRI_TIMER_TIMEOUT);
    return error != 0 ? error : tr_timer_stop(flow->context, TRI_TIMER_DEADLINE);
}

/* Cleaning up is not held back. */
static void lift_pause(struct tri_flow *flow)
{
    flow->state->is_paused = false;
    flow->state->is_pausing = false;
}

/*
 * Leaves the graph: nothing begins any more, and what runs is aborted share by share. A pause is
 * lifted, or nothing would ever end; a question under way is given up. After that `running` and
 * `waiting` only fall, so the stage ends.
 */
static int drain(struct tri_flow *flow, uint8_t child_phase)
{
    drop_queues(flow);
    lift_pause(flow);
    flow->state->stage = TRI_STAGE_DRAIN;
    abort_from_here(flow, child_phase);
    int error = tri_workflow_ask_give_up(flow);
    return error != 0 ? error : stop_timers(flow);
}

/* ---------------------------------------------------------------- failures */

/* Whether a child ends as it was told to: that is no failure. */
static bool is_asked_for(const struct tri_flow *flow, const struct tri_failure *failure)
{
    return flow->state->stage == TRI_STAGE_DRAIN &&
           (failure->phase == TR_NODE_PHASE_ABORTED || failure->phase == flow->state->abort_phase);
}

/*
 * A node outside of branches has failed, and is not optional. What follows is the policy's, and
 * only the first failure decides it: in a stage behind the graph it is counted and no more.
 */
int tri_workflow_failed(struct tri_flow *flow, uint32_t node, const struct tri_failure *failure)
{
    (void)node;
    struct tr_workflow_state *state = flow->state;
    if (is_asked_for(flow, failure)) {
        return 0;
    }
    state->failures++;
    int error = keep_failure(flow, failure);
    if (error != 0 || state->stage != TRI_STAGE_GRAPH) {
        return error;
    }
    state->outcome = TR_EXECUTION_FAILED;
    if (flow->workflow->policy == TR_POLICY_FINISH_RUNNABLE) {
        return 0;
    }
    state->runs_on_failure = true;
    error = tri_workflow_phase_set(flow, TR_EXECUTION_FAILING, tr_text_of("a node failed"));
    return error != 0 ? error : drain(flow, TR_NODE_PHASE_ABORTED);
}

/*
 * on_failure or finally has ended. Only finally may change the outcome, and only a success: the
 * failure of clean-up hides no earlier one.
 */
int tri_workflow_handler_ended(struct tri_flow *flow, uint32_t node,
                               const struct tri_failure *failure)
{
    bool is_finally = flow->workflow->nodes[node].role == TR_ROLE_FINALLY;
    if (failure == NULL || !is_finally || flow->state->outcome != TR_EXECUTION_SUCCEEDED) {
        return 0; /* the first failure stays the workflow's */
    }
    flow->state->failures++;
    flow->state->outcome = TR_EXECUTION_FAILED;
    int error = keep_failure(flow, failure);
    return error != 0
               ? error
               : tri_workflow_phase_set(flow, TR_EXECUTION_FAILING, tr_text_of("finally failed"));
}

/* ------------------------------------------------------ aborts and time-outs */

/* Whether what was running or about to run has to be ended by this abort, stage by stage. */
static int abort_stage(struct tri_flow *flow, uint8_t child_phase, bool is_harder)
{
    switch ((enum tri_stage)flow->state->stage) {
    case TRI_STAGE_GRAPH:
        return drain(flow, child_phase);
    case TRI_STAGE_DRAIN:
        if (is_harder) {
            abort_from_here(flow, child_phase);
        }
        return 0;
    case TRI_STAGE_ON_FAILURE:
        drop_queues(flow);
        abort_from_here(flow, child_phase);
        return 0;
    case TRI_STAGE_FINALLY:
        if (flow->state->is_hard) {
            abort_from_here(flow, child_phase);
        }
        return stop_timers(flow);
    }
    return TR_MALFORMED;
}

/* The phase on the way to the end that an abort asks for, where the table allows it. */
static uint8_t ending_phase(const struct tri_flow *flow, bool is_timeout)
{
    bool may_time_out =
        tr_phase_may_follow(TR_SUBJECT_EXECUTION, flow->state->phase, TR_EXECUTION_TIMING_OUT);
    return is_timeout && may_time_out ? TR_EXECUTION_TIMING_OUT : TR_EXECUTION_ABORTING;
}

/*
 * node_abort, from the parent or of a user. The first one decides the outcome and its cause; a
 * later one counts only if it is the first without grace, which is told to the children again.
 */
int tri_workflow_abort(struct tri_flow *flow, const struct tr_node_abort *abort)
{
    struct tr_workflow_state *state = flow->state;
    struct tr_text cause = abort->cause;
    cause.size = tr_utf8_cut(cause, TRI_MESSAGE_TEXT_MAX);
    bool is_timeout = abort->phase == TR_NODE_PHASE_TIMED_OUT;
    bool is_harder = abort->is_hard && !state->is_hard;
    bool was_aborted = state->is_aborted;
    struct tri_failure failure = {.phase =
                                      is_timeout ? TR_NODE_PHASE_TIMED_OUT : TR_NODE_PHASE_ABORTED,
                                  .code = tr_text_of(is_timeout ? "TimeoutExpired" : "Aborted"),
                                  .message = abort->cause,
                                  .failed_element = TR_ELEMENT_NONE};
    state->is_hard = state->is_hard || abort->is_hard;
    state->is_aborted = true;
    state->runs_on_failure = false;
    int error = 0;
    if (!was_aborted) {
        uint8_t phase = ending_phase(flow, is_timeout);
        bool is_late = phase == TR_EXECUTION_TIMING_OUT;
        state->outcome = is_late ? TR_EXECUTION_TIMED_OUT : TR_EXECUTION_ABORTED;
        error = keep_failure(flow, &failure);
        if (error == 0) {
            error = tri_workflow_phase_set(flow, phase, cause);
        }
    }
    if (error != 0 || (was_aborted && !is_harder)) {
        return error;
    }
    return abort_stage(flow, failure.phase, is_harder);
}

/*
 * A bound of time has passed. Only the graph has one, and finally behind a success; anything else
 * is ending already.
 */
int tri_workflow_timed_out(struct tri_flow *flow, bool is_deadline)
{
    struct tr_workflow_state *state = flow->state;
    struct tr_text cause = tr_text_of(is_deadline ? "the node ran longer than its deadline"
                                                  : "the workflow ran longer than its timeout");
    bool is_graph = state->stage == TRI_STAGE_GRAPH;
    bool is_cleaning = state->stage == TRI_STAGE_FINALLY && state->phase == TR_EXECUTION_SUCCEEDING;
    if (!is_graph && !is_cleaning) {
        return 0;
    }
    struct tri_failure failure = {.phase = TR_NODE_PHASE_TIMED_OUT,
                                  .kind = TR_FAILURE_USER,
                                  .code = tr_text_of("TimeoutExpired"),
                                  .message = cause,
                                  .failed_element = TR_ELEMENT_NONE};
    int error = keep_failure(flow, &failure);
    state->failures++;
    state->outcome = TR_EXECUTION_TIMED_OUT;
    state->runs_on_failure = is_graph;
    if (error == 0) {
        error = tri_workflow_phase_set(flow, TR_EXECUTION_TIMING_OUT, cause);
    }
    if (error != 0 || is_graph) {
        return error != 0 ? error : drain(flow, TR_NODE_PHASE_TIMED_OUT);
    }
    abort_from_here(flow, TR_NODE_PHASE_TIMED_OUT);
    return stop_timers(flow);
}

/* ------------------------------------------------------------------ stages */

/*
 * Begins on_failure, finally, or nothing more. Each runs at most once, since the stages only go on.
 */
static int go_to(struct tri_flow *flow, enum tri_stage stage, bool *has_ended)
{
    struct tr_workflow_state *state = flow->state;
    uint32_t on_failure = flow->workflow->on_failure;
    uint32_t last = flow->workflow->finally;
    if (stage == TRI_STAGE_ON_FAILURE && state->runs_on_failure && on_failure != TR_GRAPH_NONE) {
        state->stage = TRI_STAGE_ON_FAILURE;
        return tri_workflow_ready_push(flow, on_failure);
    }
    if (last != TR_GRAPH_NONE) {
        state->stage = TRI_STAGE_FINALLY;
        return tri_workflow_ready_push(flow, last);
    }
    *has_ended = true;
    return 0;
}

/* All nodes have ended: with success, or with what finish_runnable has waited for. */
static int leave_graph(struct tri_flow *flow, bool *has_ended)
{
    lift_pause(flow);
    if (flow->state->outcome == TR_EXECUTION_SUCCEEDED) {
        int error = tri_workflow_phase_set(flow, TR_EXECUTION_SUCCEEDING, tr_text_of(""));
        return error != 0 ? error : go_to(flow, TRI_STAGE_FINALLY, has_ended);
    }
    flow->state->runs_on_failure = true;
    int error = tri_workflow_phase_set(flow, TR_EXECUTION_FAILING, tr_text_of("nodes failed"));
    if (error != 0) {
        return error;
    }
    error = stop_timers(flow);
    return error != 0 ? error : go_to(flow, TRI_STAGE_ON_FAILURE, has_ended);
}

/* Whether a child runs, or a gate or a sleep waits. */
static bool is_busy(const struct tr_workflow_state *state)
{
    return state->running + state->waiting > 0;
}

/* Whether a handler's node has ended, or will not begin because of an abort. */
static int is_handler_over(struct tri_flow *flow, uint32_t node, bool *is_over)
{
    struct tri_row row;
    int error = tri_workflow_row_get(flow, node, &row);
    bool will_not = flow->state->stage == TRI_STAGE_ON_FAILURE && !flow->state->runs_on_failure;
    *is_over = error == 0 && !is_busy(flow->state) && (tri_workflow_row_is_done(&row) || will_not);
    return error;
}

/*
 * Whether the stage is over, and what comes then. `is_over`: the caller goes on in the next stage;
 * `has_ended`: there is none.
 */
int tri_workflow_stage_next(struct tri_flow *flow, bool *is_over, bool *has_ended)
{
    struct tr_workflow_state *state = flow->state;
    int error = 0;
    *is_over = *has_ended = false;
    switch ((enum tri_stage)state->stage) {
    case TRI_STAGE_GRAPH:
        *is_over = state->done == flow->workflow->end + 1;
        return *is_over ? leave_graph(flow, has_ended) : 0;
    case TRI_STAGE_DRAIN:
        *is_over = !is_busy(state);
        return *is_over ? go_to(flow, TRI_STAGE_ON_FAILURE, has_ended) : 0;
    case TRI_STAGE_ON_FAILURE:
        error = is_handler_over(flow, flow->workflow->on_failure, is_over);
        return *is_over ? go_to(flow, TRI_STAGE_FINALLY, has_ended) : error;
    case TRI_STAGE_FINALLY:
        error = is_handler_over(flow, flow->workflow->finally, is_over);
        *has_ended = *is_over;
        return error;
    }
    return TR_MALFORMED;
}
