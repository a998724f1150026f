/*
 * The workflow actor: the hub of a graph. It knows for each node how many of its upstreams have
 * ended, begins a node when all have, and hears the end of each child. One runs for an execution,
 * one for each workflow inside it, one for each element of a map over a workflow.
 *
 * Whatever a message changes, the work that follows is done in shares: a handler begins some
 * children, tells some nodes of their upstreams, and, where more is left, says workflow_next to
 * itself. So a node with a hundred thousand others behind it does not hold up other messages.
 *
 * A handling has two parts: the message changes rows and queues (dispatch), then go_on does pieces
 * of work until none is left, or the share is used up. Work is taken in a fixed order: nodes that
 * have ended are told to those behind them first, then an abort or a pause goes on to children,
 * then nodes begin, and only when nothing of that is left the stage may change. So a stage never
 * ends while an end in it is not yet passed on.
 */
#include "actors/workflow/workflow.h"

#include "actors/history/history.h"

#define NS_PER_MS 1000000

/* ------------------------------------------------------------- the handler */

/*
 * What one handler works with. The bounds of its share are set anew each time; work beyond them is
 * left to workflow_next. The buffers are initialized last: where this fails there is nothing to
 * free.
 */
static int flow_init(struct tri_flow *flow, struct tr_context *context,
                     struct tr_workflow_state *state)
{
    *flow = (struct tri_flow){
        .context = context,
        .state = state,
        .graph = tr_graph_registry_find(&tr_engine_of(context)->registry, state->graph),
        .starts_left = TRI_STARTS_MAX,
        .steps_left = TRI_STEPS_MAX,
        .looks_left = TRI_LOOKS_MAX,
        .bytes_left = TRI_SENT_BYTES_MAX};
    if (flow->graph == NULL || state->workflow >= flow->graph->workflow_count) {
        return TR_NOT_FOUND;
    }
    flow->workflow = &flow->graph->workflows[state->workflow];
    flow->heap = (struct tr_heap){.first = tri_workflow_heap_first(flow->workflow),
                                  .page = state->heap_page,
                                  .used = state->heap_used};
    tr_buffer_init(&flow->start_bytes, 0);
    tr_buffer_init(&flow->value, 0);
    return 0;
}

static void flow_fini(struct tri_flow *flow)
{
    tr_buffer_fini(&flow->value);
    tr_buffer_fini(&flow->start_bytes);
}

/*
 * Tells those behind the first node of the queue of its end; arms are told by their branch.
 * `settle_at` counts those that were told, over handlers; the node stays at the front until it has
 * told all. A skipped arm or a taken one hears from the branch itself, so it is passed over here.
 */
static int settle(struct tri_flow *flow)
{
    uint32_t node = flow->state->settle_first - 1;
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tri_row row;
    bool is_done = true;
    bool is_anew = false;
    int error = tri_workflow_row_get(flow, node, &row);
    if (error == 0 && (row.flags & TRI_ROW_HAS_ARMS) != 0) {
        error = tri_workflow_branch_skip_arms(flow, node, &is_done);
        is_done = is_done && tri_workflow_row_is_done(&row);
    }
    if (error != 0 || !is_done) {
        return error;
    }
    bool gives = row.phase == TR_NODE_PHASE_SUCCEEDED || row.phase == TR_NODE_PHASE_RECOVERED ||
                 (row.flags & TRI_ROW_GIVES_NONE) != 0;
    error = tri_workflow_recovery_is_anew(flow, node, &is_anew);
    while (error == 0 && flow->steps_left > 0 &&
           flow->state->settle_at < compiled->downstream_count) {
        uint32_t at = compiled->downstream_first + flow->state->settle_at++;
        uint32_t to = flow->workflow->downstream[at];
        flow->steps_left--;
        error = flow->workflow->nodes[to].parent == node
                    ? 0
                    : tri_workflow_node_told(flow, to, !gives, is_anew);
    }
    bool is_over = error == 0 && flow->state->settle_at == compiled->downstream_count;
    return is_over ? tri_workflow_settle_pop(flow) : error;
}

/* One piece of work; `is_idle` when there is none that could be done now. */
static int work(struct tri_flow *flow, bool *is_idle, bool *has_ended)
{
    struct tr_workflow_state *state = flow->state;
    bool goes_on = true;
    bool is_asked = false;
    if (state->settle_first != 0) {
        return settle(flow);
    }
    if (state->is_aborting) {
        return tri_workflow_abort_children(flow);
    }
    if (state->is_pausing) {
        return tri_workflow_pause_children(flow);
    }
    if (state->ready_first != 0) {
        int error = tri_workflow_recovery_ask(flow, &is_asked);
        *is_idle = is_asked || state->recovery_call != 0 || !tri_workflow_may_begin(flow);
        return error != 0 || *is_idle ? error : tri_workflow_first_begin(flow);
    }
    int error = tri_workflow_stage_next(flow, &goes_on, has_ended);
    *is_idle = !goes_on || *has_ended;
    return error;
}

static bool has_share_left(const struct tri_flow *flow)
{
    return flow->starts_left > 0 && flow->steps_left > 0 && flow->looks_left > 0 &&
           flow->bytes_left > 0;
}

/* Does this handler's share, and asks for the next one if it was not enough. */
static int go_on(struct tri_flow *flow)
{
    bool is_idle = false;
    bool has_ended = false;
    int error = 0;
    while (error == 0 && !is_idle && has_share_left(flow)) {
        error = work(flow, &is_idle, &has_ended);
    }
    if (error == 0 && has_ended) {
        error = tri_workflow_notify_end(flow);
    }
    if (error != 0 || has_ended) {
        return error != 0 ? error : tri_workflow_say_end(flow);
    }
    if (!is_idle && !flow->state->is_continuing) {
        flow->state->is_continuing = true;
        struct tr_workflow_next next = {.stage = flow->state->stage};
        return tr_tell(flow->context, tr_self(flow->context), &tr_workflow_next_schema, &next);
    }
    /*
     * An idle workflow waits for a child, a gate, a sleep, an answer or the end of a pause, or has
     * told itself to go on.
     */
    TR_ASSERT(flow->state->running + flow->state->waiting > 0 || flow->state->is_continuing ||
              flow->state->recovery_call != 0 || flow->state->is_paused);
    return 0;
}

/* ------------------------------------------------------------------- start */

/*
 * Where this workflow stands in its parent's graph. The root stands for itself, as does a graph
 * that a task has decided: for these `*deadline_ns` stays as it is.
 */
static int find_place(const struct tr_engine *engine, const struct tr_node_start *start,
                      uint32_t *workflow, int64_t *deadline_ns)
{
    const struct tr_graph *graph = tr_graph_registry_find(
        (struct tr_graph_registry *)(uintptr_t)&engine->registry, start->graph);
    if (graph == NULL) {
        return TR_NOT_FOUND;
    }
    if (start->workflow >= graph->workflow_count) {
        return TR_INVALID;
    }
    if (start->node == TR_GRAPH_NONE || start->is_dynamic) {
        *workflow = start->workflow;
        return 0;
    }
    const struct tr_workflow *parent = &graph->workflows[start->workflow];
    if (start->node >= parent->node_count ||
        parent->nodes[start->node].target_kind != TR_TARGET_WORKFLOW) {
        return TR_INVALID;
    }
    *workflow = parent->nodes[start->node].target;
    /* The deadline of a map is the array's. */
    *deadline_ns = start->element == TR_ELEMENT_NONE ? parent->nodes[start->node].deadline_ns : 0;
    return 0;
}

static int start_timer(struct tri_flow *flow, uint64_t timer, int64_t after_ns)
{
    if (after_ns <= 0) {
        return 0;
    }
    return tr_timer_start(flow->context, timer, ((uint64_t)after_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/*
 * Keeps the start and the inputs, which are the outputs of node 0. Node 0 has succeeded from the
 * first on, so what refers to inputs is bound like any other reference.
 */
static int keep_start(struct tri_flow *flow, const struct tr_node_start *start)
{
    struct tr_node_start kept = *start;
    struct tri_row *row;
    uint64_t inputs;
    kept.inputs = (struct tr_bytes){0};
    flow->state->start_version = tr_node_start_schema.version;
    flow->state->parallelism = start->parallelism;
    int error = tri_workflow_body_put(flow, &tr_node_start_schema, &kept, &flow->state->start);
    if (error == 0) {
        error = tri_workflow_slots_put(flow, start->inputs, &inputs);
    }
    if (error == 0) {
        error = tri_workflow_row_edit(flow, 0, &row);
    }
    if (error == 0) {
        row->phase = TR_NODE_PHASE_SUCCEEDED;
        row->outputs = inputs;
        flow->state->done = 1;
        error = tri_workflow_settle_push(flow, 0);
    }
    return error;
}

static int record_start(struct tri_flow *flow, const struct tr_node_start *start)
{
    int error = 0;
    if (tri_workflow_is_root(flow)) {
        error = tri_workflow_phase_set(flow, TR_EXECUTION_QUEUED, start->cause);
    }
    if (error == 0) {
        error = tri_workflow_phase_set(flow, TR_EXECUTION_RUNNING, tr_text_of(""));
    }
    if (error == 0 && tri_workflow_has_history(flow) && start->inputs.size > 0) {
        error = tr_history_value(flow->context, start->number, start->path, TR_VALUE_INPUTS,
                                 start->inputs);
    }
    return error;
}

/*
 * The state is filled in before the flow is made of it. History and the launching node hear of the
 * start before anything of the graph begins.
 */
static int start_workflow(struct tr_context *context, struct tr_workflow_state *state,
                          const struct tr_message *message)
{
    struct tr_node_start start;
    struct tri_flow flow;
    int64_t deadline_ns = 0;
    int error = tr_message_read(message, node_start, &start);
    if (error == 0) {
        error = find_place(tr_engine_of(context), &start, &state->workflow, &deadline_ns);
    }
    if (error != 0) {
        return error;
    }
    state->graph = start.graph;
    state->node = start.node;
    state->element = start.element;
    state->is_dynamic = start.is_dynamic;
    state->begun_ms = tr_now_ms(context);
    state->outcome = TR_EXECUTION_SUCCEEDED;
    state->is_recovering = start.recovery.size > 0;
    error = flow_init(&flow, context, state);
    if (error != 0) {
        return error;
    }
    error = keep_start(&flow, &start);
    if (error == 0) {
        error = record_start(&flow, &start);
    }
    if (error == 0) {
        error = tri_workflow_tell_launched(&flow, &start);
    }
    if (error == 0) {
        error = start_timer(&flow, TRI_TIMER_TIMEOUT, flow.workflow->timeout_ns);
    }
    if (error == 0) {
        error = start_timer(&flow, TRI_TIMER_DEADLINE, deadline_ns);
    }
    if (error == 0) {
        error = go_on(&flow);
    }
    flow_fini(&flow);
    return error;
}

/* ---------------------------------------------------------------- messages */

/*
 * `troupe abort` asks the root and is answered at once: the end may take long, and history shows
 * it.
 */
static int handle_abort(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_node_abort abort;
    int error = tr_message_read(message, node_abort, &abort);
    bool is_from_parent =
        tri_workflow_is_root(flow) || tr_key_equal(message->from.key, tr_parent(flow->context).key);
    if (error != 0 || !is_from_parent) {
        return error != 0 ? error : tr_unexpected(flow->context, message);
    }
    if (message->kind == TR_KIND_ASK) {
        struct tr_node_news news = {.element = TR_ELEMENT_NONE, .phase = TR_NODE_PHASE_ABORTING};
        error = tr_reply(flow->context, message, &tr_node_news_schema, &news);
    }
    return error != 0 ? error : tri_workflow_abort(flow, &abort);
}

/*
 * Timers of nodes are named by their node: deadlines from TRI_TIMER_NODES on, sleeps from
 * TRI_TIMER_SLEEPS on, so one node may have both.
 */
static int handle_timer(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_timer timer;
    int error = tr_message_read(message, timer, &timer);
    if (error != 0) {
        return error;
    }
    if (timer.id == TRI_TIMER_QUESTION) {
        tri_workflow_ask_again(flow);
        return 0;
    }
    if (timer.id < TRI_TIMER_NODES) {
        return tri_workflow_timed_out(flow, timer.id == TRI_TIMER_DEADLINE);
    }
    bool is_sleep = timer.id >= TRI_TIMER_SLEEPS;
    uint64_t node = timer.id - (is_sleep ? TRI_TIMER_SLEEPS : TRI_TIMER_NODES);
    if (node >= flow->workflow->node_count) {
        return tr_unexpected(flow->context, message);
    }
    bool is_branch = flow->workflow->nodes[node].kind == TR_NODE_BRANCH;
    return is_sleep    ? tri_workflow_sleep_over(flow, (uint32_t)node)
           : is_branch ? tri_workflow_branch_timed_out(flow, (uint32_t)node)
                       : tri_workflow_gate_timed_out(flow, (uint32_t)node);
}

/* What a child says of itself matters to an array above: that something runs outside. */
static int handle_news(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_node_news news;
    int error = tr_message_read(message, node_news, &news);
    return error != 0 || news.phase != TR_NODE_PHASE_RUNNING ? error
                                                             : tri_workflow_tell_at_work(flow);
}

static int dispatch(struct tri_flow *flow, const struct tr_message *message)
{
    if (tr_message_is(message, &tr_node_ended_schema)) {
        return tri_workflow_child_ended(flow, message);
    }
    if (tr_message_is(message, &tr_workflow_next_schema)) {
        flow->state->is_continuing = false;
        return 0;
    }
    if (tr_message_is(message, &tr_node_news_schema)) {
        return handle_news(flow, message);
    }
    if (tr_message_is(message, &tr_launch_schema)) {
        return tri_workflow_pass_launch(flow, message);
    }
    if (tr_message_is(message, &tr_node_abort_schema)) {
        return handle_abort(flow, message);
    }
    if (tr_message_is(message, &tr_node_pause_schema)) {
        return tri_workflow_pause(flow, message);
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        return handle_timer(flow, message);
    }
    if (tr_message_is(message, &tr_signal_given_schema)) {
        return tri_workflow_gate_given(flow, message);
    }
    if (tr_message_is(message, &tr_ask_failed_schema) || message->kind == TR_KIND_REPLY) {
        return tri_workflow_ask_heard(flow, message);
    }
    return tri_workflow_signals_hand_on(flow, message);
}

static int workflow_handle(struct tr_context *context, void *generic,
                           const struct tr_message *message)
{
    struct tr_workflow_state *state = generic;
    struct tri_flow flow;
    if (state->graph == 0) {
        return tr_message_is(message, &tr_node_start_schema)
                   ? start_workflow(context, state, message)
                   : tr_unexpected(context, message);
    }
    int error = flow_init(&flow, context, state);
    if (error != 0) {
        return error;
    }
    error = dispatch(&flow, message);
    if (error == 0) {
        error = go_on(&flow);
    }
    flow_fini(&flow);
    return error;
}

const struct tr_behaviour tr_workflow_behaviour = {
    .name = "workflow",
    .id = 101,
    .state = &tr_workflow_state_schema,
    .handle = workflow_handle,
};
