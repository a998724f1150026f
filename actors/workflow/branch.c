/*
 * Branches: the conditions are asked in their order, the first arm that holds is taken, and the
 * nodes of the others are skipped. The branch ends as the node of its arm does; its outputs are
 * those of that node, put into the branch's order and types.
 *
 * An arm's nodes lie behind their branch, whatever is nested in them included: so the nodes of a
 * branch are a range.
 */
#include "actors/values/bind.h"
#include "actors/workflow/workflow.h"
#include "runtime/memory.h"

#define NS_PER_MS 1000000

static int fail_branch(struct tri_flow *flow, uint32_t node, const char *code,
                       struct tr_text message)
{
    struct tri_failure failure = {.phase = TR_NODE_PHASE_FAILED,
                                  .kind = TR_FAILURE_USER,
                                  .code = tr_text_of(code),
                                  .message = message,
                                  .failed_element = TR_ELEMENT_NONE};
    return tri_workflow_node_failed(flow, node, &failure);
}

/* ------------------------------------------------------------ taking an arm */

/* The branch runs from now on; its deadline begins. */
static int enter(struct tri_flow *flow, uint32_t node, uint32_t arm)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tri_row *row;
    int error = tri_workflow_node_record(flow, node, TR_NODE_PHASE_NOT_YET_STARTED,
                                         TR_NODE_PHASE_RUNNING, tr_steady_ms(flow->context), NULL);
    if (error != 0) {
        return error;
    }
    error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    row->phase = TR_NODE_PHASE_RUNNING;
    row->child = tr_steady_ms(flow->context);
    row->arm = arm + 1;
    row->flags |= TRI_ROW_HAS_ARMS;
    if (compiled->deadline_ns > 0) {
        uint64_t delay_ms = ((uint64_t)compiled->deadline_ns + NS_PER_MS - 1) / NS_PER_MS;
        error = tr_timer_start(flow->context, TRI_TIMER_NODES + node, delay_ms);
    }
    return error != 0 ? error : tri_workflow_settle_push(flow, node);
}

/*
 * The other way to end at once: succeeded, with nothing to give. The flag has its arms skipped
 * before those behind the branch are told.
 */
static int skip_all(struct tri_flow *flow, uint32_t node)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    row->flags |= TRI_ROW_HAS_ARMS;
    return tri_workflow_node_succeeded(flow, node, TR_NODE_PHASE_SUCCEEDED, 0);
}

/*
 * Fails the branch with the message of `fail`. One that holds references is an input of the branch,
 * and may not be there, as what a condition asks for.
 */
static int fail_with(struct tri_flow *flow, uint32_t node, const struct tr_arm *arm,
                     const struct tr_binder *binder, const struct tr_bytes *inputs)
{
    struct tr_text message = arm->message;
    if (arm->message_input != TR_GRAPH_NONE) {
        struct tr_cursor cursor = tr_cursor_of(inputs[arm->message_input]);
        message = tr_read_text(&cursor);
        if (cursor.error != 0) {
            return fail_branch(flow, node, TR_CODE_BINDING, binder->message);
        }
    }
    return fail_branch(flow, node, "UserProvidedError", message);
}

/* A node, `skip` (the branch succeeds and gives none), or `fail` with its message. */
static int take_arm(struct tri_flow *flow, uint32_t node, const struct tr_arm *arm,
                    const struct tr_binder *binder, const struct tr_bytes *inputs)
{
    switch ((enum tr_arm_kind)arm->kind) {
    case TR_ARM_NODE:
        return enter(flow, node, arm->node);
    case TR_ARM_SKIP:
        return skip_all(flow, node);
    case TR_ARM_FAIL:
        return fail_with(flow, node, arm, binder, inputs);
    }
    return TR_MALFORMED;
}

/* Asks the conditions in order. TR_NOT_FOUND: none holds. */
static int choose(struct tri_flow *flow, uint32_t node, const struct tr_bytes *inputs,
                  const struct tr_arm **arm, int *problem)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    for (uint32_t i = 0; i < compiled->arm_count; i++) {
        const struct tr_arm *candidate = &flow->workflow->arms[compiled->arm_first + i];
        bool holds = candidate->condition == TR_GRAPH_NONE;
        if (!holds) {
            *problem = tr_condition_evaluate(flow->workflow, compiled, candidate->condition, inputs,
                                             &holds);
        }
        if (*problem != 0 || holds) {
            *arm = candidate;
            return 0;
        }
    }
    return TR_NOT_FOUND;
}

/*
 * Takes the first arm that holds. A condition that asks for a value that is not there fails the
 * branch, as does one whose values cannot be compared (Flyte's MalformedBranchUserError).
 */
static int decide(struct tri_flow *flow, uint32_t node, const struct tr_binder *binder,
                  const struct tr_bytes *inputs)
{
    const struct tr_arm *arm = NULL;
    int problem = 0;
    if (choose(flow, node, inputs, &arm, &problem) == TR_NOT_FOUND) {
        return fail_branch(flow, node, "NoBranchTakenError",
                           tr_text_of("no condition holds, and there is no else"));
    }
    if (problem == TR_NOT_FOUND) {
        return fail_branch(flow, node, TR_CODE_BINDING, binder->message);
    }
    if (problem != 0) {
        return fail_branch(flow, node, "MalformedBranchUserError",
                           tr_text_of("a condition compares values of different kinds; a duration "
                                      "or a datetime compares with text in its form, and a number "
                                      "with numbers alone"));
    }
    return take_arm(flow, node, arm, binder, inputs);
}

/* Views of the values that were asked for, and the decision. */
static int decide_given(struct tri_flow *flow, uint32_t node, struct tr_binder *binder,
                        struct tr_bytes *inputs)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(flow->given, &cursor);
    if (count != flow->workflow->nodes[node].input_count) {
        return TR_MALFORMED;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool is_there = tr_read_array(&cursor) == 1;
        inputs[i] = is_there ? tr_read_any(&cursor) : (struct tr_bytes){0};
    }
    binder->message = flow->given_words.size > 0
                          ? flow->given_words
                          : tr_text_of("a condition asks for a value that is not there");
    return cursor.error != 0 ? TR_MALFORMED : decide(flow, node, binder, inputs);
}

/* Views of the values in `values`, and the decision; or they are asked for. */
static int decide_from(struct tri_flow *flow, uint32_t node, struct tr_binder *binder,
                       struct tr_buffer *values, struct tr_bytes *inputs, size_t *sizes)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    size_t at = 0;
    if (flow->given.size > 0) {
        return decide_given(flow, node, binder, inputs);
    }
    int error = tr_bind_condition_inputs(binder, compiled, values, sizes);
    if (error == TR_INVALID && binder->lies_elsewhere) {
        return tri_workflow_bind_ask(flow, node, binder);
    }
    if (error == TR_INVALID) {
        return fail_branch(flow, node, binder->code, binder->message);
    }
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < compiled->input_count; i++) {
        inputs[i] = (struct tr_bytes){.data = values->data + at, .size = sizes[i]};
        at += sizes[i];
    }
    return decide(flow, node, binder, inputs);
}

/*
 * Binds the values that the conditions ask for, and decides; what lies elsewhere is asked for
 * first, and the branch begins again with the answer.
 */
int tri_workflow_branch_begin(struct tri_flow *flow, uint32_t node)
{
    uint32_t count = flow->workflow->nodes[node].input_count;
    struct tr_binder binder = {
        .workflow = flow->workflow, .output = tri_workflow_output_find, .self = flow};
    struct tr_buffer values;
    struct tr_bytes *inputs = tr_alloc_zero(count + (size_t)1, sizeof *inputs);
    size_t *sizes = tr_alloc_zero(count + (size_t)1, sizeof *sizes);
    tr_buffer_init(&values, 0);
    int error = TR_MEMORY;
    if (inputs != NULL && sizes != NULL) {
        error = decide_from(flow, node, &binder, &values, inputs, sizes);
    }
    tr_buffer_fini(&values);
    tr_free(sizes);
    tr_free(inputs);
    return error;
}

/* ------------------------------------------------------- the arms not taken */

/*
 * Whether `node` lies within the nodes of the arm that begins with `arm`. A node's number is above
 * its parent's, so the walk upwards can stop at the arm's.
 */
static bool is_within(const struct tr_workflow *workflow, uint32_t node, uint32_t arm)
{
    while (node != TR_GRAPH_NONE && node > arm) {
        node = workflow->nodes[node].parent;
    }
    return node == arm;
}

/* A node of an arm that was not taken. No node outside of its arm waits for it, so none is told. */
static int skip_node(struct tri_flow *flow, uint32_t node)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0 || tri_workflow_row_is_done(row)) {
        return error;
    }
    uint8_t from = row->phase;
    TR_ASSERT(tr_phase_may_follow(TR_SUBJECT_NODE, from, TR_NODE_PHASE_SKIPPED));
    row->phase = TR_NODE_PHASE_SKIPPED;
    flow->state->done += flow->workflow->nodes[node].role == TR_ROLE_GRAPH ? 1 : 0;
    return tri_workflow_node_record(flow, node, from, TR_NODE_PHASE_SKIPPED, 0, NULL);
}

/*
 * All are skipped: the arm that was taken, if there is one, may begin. The arm begins only now:
 * history shows the others as skipped before anything of it runs.
 */
static int finish_arms(struct tri_flow *flow, uint32_t node)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    row->flags &= (uint8_t)~TRI_ROW_HAS_ARMS;
    flow->state->settle_at = 0;
    if (tri_workflow_row_is_done(row)) {
        return 0; /* those behind the branch are told next */
    }
    uint32_t arm = row->arm - 1;
    bool is_again = (row->recovery & TRI_RECOVERY_AGAIN) != 0;
    error = tri_workflow_settle_pop(flow);
    return error != 0 ? error : tri_workflow_node_told(flow, arm, false, is_again);
}

/*
 * Skips all nodes behind the branch that are of its other arms, in shares. Nodes of arms follow
 * their branch directly, those of inner branches included. `settle_at` counts the nodes that were
 * looked at, and is set back to 0 for the second walk, to those behind the branch.
 */
int tri_workflow_branch_skip_arms(struct tri_flow *flow, uint32_t node, bool *is_done)
{
    const struct tr_workflow *workflow = flow->workflow;
    struct tri_row row;
    int error = tri_workflow_row_get(flow, node, &row);
    *is_done = false;
    while (error == 0 && flow->steps_left > 0) {
        uint32_t at = node + 1 + flow->state->settle_at;
        bool is_below = at < workflow->node_count && workflow->nodes[at].parent != TR_GRAPH_NONE &&
                        workflow->nodes[at].parent >= node;
        if (!is_below) {
            *is_done = true;
            return finish_arms(flow, node);
        }
        if (row.arm == 0 || !is_within(workflow, at, row.arm - 1)) {
            error = skip_node(flow, at);
        }
        flow->state->settle_at++;
        flow->steps_left--;
    }
    return error;
}

/* --------------------------------------------------------- the arm's ending */

/* ------------------------------------------------------- deadlines, aborts */

/* The node that the branch waits for, through branches in branches. */
static int find_leaf(struct tri_flow *flow, uint32_t node, uint32_t *leaf, struct tri_row *row)
{
    *leaf = node;
    int error = tri_workflow_row_get(flow, node, row);
    while (error == 0 && flow->workflow->nodes[*leaf].kind == TR_NODE_BRANCH &&
           row->phase == TR_NODE_PHASE_RUNNING) {
        *leaf = row->arm - 1;
        error = tri_workflow_row_get(flow, *leaf, row);
    }
    return error;
}

/* Ends what the branch waits for; its own end follows from that, as TIMED_OUT. */
int tri_workflow_branch_timed_out(struct tri_flow *flow, uint32_t node)
{
    struct tri_row *row;
    struct tri_row below;
    uint32_t leaf;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0 || row->phase != TR_NODE_PHASE_RUNNING) {
        return error;
    }
    /*
     * Kept until the arm ends: a failure of the arm counts as a time-out of the branch then
     * (fail_parent).
     */
    row->flags |= TRI_ROW_TIMED_OUT;
    error = find_leaf(flow, node, &leaf, &below);
    if (error != 0 || tri_workflow_row_is_done(&below)) {
        return error;
    }
    struct tr_text message = tr_text_of("the switch ran longer than its deadline");
    if (below.phase == TR_NODE_PHASE_RUNNING &&
        tri_workflow_is_waiter(&flow->workflow->nodes[leaf])) {
        return tri_workflow_gate_end(flow, leaf, TR_NODE_PHASE_TIMED_OUT, message);
    }
    if (below.phase == TR_NODE_PHASE_RUNNING) {
        struct tr_node_abort abort = {.phase = TR_NODE_PHASE_TIMED_OUT, .cause = message};
        struct tr_ref child = {{tr_self(flow->context).key.group, below.child}, 0};
        return tr_tell(flow->context, child, &tr_node_abort_schema, &abort);
    }
    struct tri_failure failure = {.phase = TR_NODE_PHASE_TIMED_OUT,
                                  .kind = TR_FAILURE_USER,
                                  .code = tr_text_of("TimeoutExpired"),
                                  .message = message,
                                  .failed_element = TR_ELEMENT_NONE};
    return tri_workflow_node_failed(flow, leaf, &failure);
}

/*
 * A running arm is a row of its own and is told as such; the branch itself ends here only if its
 * arm has not begun.
 */
int tri_workflow_branch_abort(struct tri_flow *flow, uint32_t node)
{
    struct tri_row row;
    uint32_t leaf;
    int error = find_leaf(flow, node, &leaf, &row);
    if (error != 0 || row.phase == TR_NODE_PHASE_RUNNING) {
        return error;
    }
    struct tri_failure failure = {.phase = TR_NODE_PHASE_ABORTED,
                                  .code = tr_text_of("NodeAborted"),
                                  .message = tr_text_of("its workflow was ended"),
                                  .failed_element = TR_ELEMENT_NONE};
    return tri_workflow_node_failed(flow, node, &failure);
}
