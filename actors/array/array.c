/*
 * The array: the actor of a `map` node.
 *
 *     node_start -> how long the lists are -> children, as many at once as may be
 *                -> each one's end -> all outputs as lists -> node_ended
 *
 * When it will not succeed (too many elements failed, its deadline passed, an abort came) no
 * child is spawned any more, those that live are told to end, and it ends when they have. It knows
 * nothing of what its children do.
 *
 * Read on in array.h, then array_step.c (what all parts do), array_source.c (inputs),
 * array_window.c (children), array_block.c (what is kept of them), array_recover.c (what an earlier
 * execution gave), array_gather.c (outputs), array_errors.c, array_history.c.
 *
 * The steps: NEW until node_start, OPENING until the lengths of all lists are known, RUNNING while
 * children live or are to be spawned, GATHERING while outputs become lists, or ENDING from the
 * moment at which it cannot succeed. No step goes back. Whatever takes more than a share of work
 * sends array_next and goes on when that comes, behind the messages of children that wait already.
 */
#include "actors/array/array.h"

#include "actors/values/bind.h"

/* What is mapped; a launch plan's inputs are those of its workflow that it does not fix. */
static int find_target(struct tri_array *array)
{
    const struct tr_graph *graph = array->graph;
    uint32_t target = array->node->target;
    switch (array->node->target_kind) {
    case TR_TARGET_TASK:
        array->target = graph->tasks[target].interface;
        return 0;
    case TR_TARGET_WORKFLOW:
        array->target = graph->workflows[target].interface;
        return 0;
    case TR_TARGET_PLAN:
        array->target = graph->workflows[graph->plans[target].workflow].interface;
        array->target.inputs = graph->plans[target].inputs;
        return 0;
    default:
        return TR_INVALID;
    }
}

/* Finds what the state names; TR_NOT_FOUND when the graph registry has no such graph. */
static int look_up(struct tri_array *array, uint64_t graph, uint32_t workflow, uint32_t node)
{
    array->graph = tr_graph_registry_find(&tr_engine_of(array->context)->registry, graph);
    if (array->graph == NULL || workflow >= array->graph->workflow_count ||
        node >= array->graph->workflows[workflow].node_count) {
        return TR_NOT_FOUND;
    }
    array->workflow = &array->graph->workflows[workflow];
    array->node = &array->workflow->nodes[node];
    if (array->node->kind != TR_NODE_MAP) {
        return TR_INVALID;
    }
    return find_target(array);
}

/* ---------------------------------------------------------------------- its start */

/* How many of `count` elements have to succeed. */
static uint32_t needed_of(const struct tr_node *node, uint32_t count)
{
    double share = node->min_success_ratio * count;
    uint32_t whole = (uint32_t)share;
    /* A share like 0.7 of 10 is a little more than 7 in doubles: that is no element more. */
    whole += share - whole > 1e-9 * (count + 1.0) ? 1 : 0;
    return node->min_successes > 0 ? node->min_successes : whole < count ? whole : count;
}

/* All lengths are known: the places of its pages, and what has to succeed. */
static int begin(struct tri_array *array)
{
    struct tr_array_state *state = array->state;
    uint32_t blocks = (state->count + TRI_ARRAY_BLOCK - 1) / TRI_ARRAY_BLOCK;
    /*
     * The number of blocks is fixed from here on, so the heap begins right behind them and may
     * grow.
     */
    state->heap_first = state->block_page + 2 * blocks;
    state->needed = needed_of(array->node, state->count);
    if (state->count == 0) {
        return tri_array_gather(array);
    }
    if (state->needed > state->count) {
        return tri_array_fail(array, "InvalidArrayLength",
                              "the list has %u elements, and %u have to succeed", state->count,
                              state->needed);
    }
    state->step = TRI_ARRAY_RUNNING;
    return tri_array_spawn(array);
}

/* Goes on with learning the lengths. */
static int open_sources(struct tri_array *array)
{
    bool is_known = false;
    int error = tri_array_sources_count(array, &is_known);
    return error == 0 && is_known ? begin(array) : error;
}

static void take_over(struct tri_array *array, const struct tr_node_start *start)
{
    *array->state = (struct tr_array_state){
        .graph = start->graph,
        .workflow = start->workflow,
        .node = start->node,
        .element = start->element,
        .number = start->number,
        .cache_mode = start->cache_mode,
        .step = TRI_ARRAY_OPENING,
        .is_recovering = start->recovery.size > 0,
        .begun_ms = tr_now_ms(array->context),
    };
}

/*
 * Tells its parent that it runs, and keeps its deadline. History comes before the news, so a parent
 * that hears of it finds it there.
 */
static int announce(struct tri_array *array, const struct tr_node_start *start)
{
    struct tr_node_news news = {
        .node = start->node, .element = start->element, .phase = TR_NODE_PHASE_RUNNING};
    int error = tri_array_to(array, TR_NODE_PHASE_QUEUED);
    if (error == 0) {
        error = tri_array_to(array, TR_NODE_PHASE_RUNNING);
    }
    if (error == 0) {
        error = tri_array_history_value(array, TR_VALUE_INPUTS, start->inputs);
    }
    if (error == 0) {
        error = tr_tell(array->context, tr_parent(array->context), &tr_node_news_schema, &news);
    }
    if (error == 0 && array->node->deadline_ns > 0) {
        uint64_t delay_ms = ((uint64_t)array->node->deadline_ns + 999999) / 1000000;
        error = tr_timer_start(array->context, TRI_ARRAY_TIMER_DEADLINE, delay_ms);
    }
    return error;
}

/* What is wrong with it before anything begins, if something is. */
static int refuse(struct tri_array *array, bool has_inputs)
{
    if (array->node->outputs.count > TR_ARRAY_OUTPUTS_MAX) {
        return tri_array_fail(array, "BadSpecification",
                              "the map has %u outputs, more than %u (TR_ARRAY_OUTPUTS_MAX)",
                              array->node->outputs.count, TR_ARRAY_OUTPUTS_MAX);
    }
    return has_inputs ? 0
                      : tri_array_fail(array, "BindingResolutionError",
                                       "the map got other inputs than its target has");
}

static int on_start(struct tri_array *array, const struct tr_message *message)
{
    struct tr_node_start start;
    bool has_inputs = false;
    if (array->state->step != TRI_ARRAY_NEW) {
        return tr_unexpected(array->context, message);
    }
    int error = tr_message_read(message, node_start, &start);
    if (error != 0) {
        return error;
    }
    error = look_up(array, start.graph, start.workflow, start.node);
    if (error != 0) {
        return error;
    }
    take_over(array, &start);
    error = tri_array_keep(array, &start, &has_inputs);
    if (error == 0) {
        error = announce(array, &start);
    }
    if (error == 0) {
        error = refuse(array, has_inputs);
    }
    if (error == 0 && array->state->step == TRI_ARRAY_OPENING) {
        error = tri_array_sources_open(array, start.inputs);
    }
    return error == 0 && array->state->step == TRI_ARRAY_OPENING ? open_sources(array) : error;
}

/* ----------------------------------------------------------------------- messages */

static int on_abort(struct tri_array *array, const struct tr_message *message)
{
    struct tr_node_abort word;
    struct tr_array_state *state = array->state;
    if (tr_message_read(message, node_abort, &word) != 0 || state->step == TRI_ARRAY_NEW) {
        return tr_unexpected(array->context, message);
    }
    array->cause = word.cause;
    uint8_t phase =
        word.phase == TR_NODE_PHASE_TIMED_OUT ? TR_NODE_PHASE_TIMED_OUT : TR_NODE_PHASE_ABORTED;
    if (word.is_hard && !state->is_hard) {
        /* Elements that were told to end are told again, without grace. */
        state->is_hard = true;
        state->abort_next = 0;
    }
    return tri_array_end_in(array, phase);
}

/*
 * Elements begin again where they may; those that live hear of it in their turn. A change while a
 * walk to the children is under way begins it anew: each hears the last word.
 */
static int on_pause(struct tri_array *array, const struct tr_message *message)
{
    struct tr_node_pause word;
    struct tr_array_state *state = array->state;
    bool is_from_parent = tr_key_equal(message->from.key, tr_parent(array->context).key);
    int error = tr_message_read(message, node_pause, &word);
    if (error != 0) {
        return error;
    }
    if (!is_from_parent) {
        return tr_unexpected(array->context, message);
    }
    if (state->is_paused == word.is_paused) {
        return 0;
    }
    state->is_paused = word.is_paused;
    state->is_pausing = state->step == TRI_ARRAY_RUNNING;
    state->pause_next = 0;
    return state->is_pausing ? tri_array_go_on(array) : 0;
}

/* Spawns the next chunk, and tells children of a pause. */
static int run_on(struct tri_array *array)
{
    int error = array->state->is_pausing ? tri_array_pause_some(array) : 0;
    if (error != 0) {
        return error;
    }
    return array->state->next < array->state->count ? tri_array_spawn(array)
                                                    : tri_array_evaluate(array);
}

/*
 * The message names no work: what is to be done follows from the step that the array is in when it
 * comes.
 */
static int on_next(struct tri_array *array)
{
    array->state->is_continuing = false;
    switch (array->state->step) {
    case TRI_ARRAY_OPENING:
        return open_sources(array);
    case TRI_ARRAY_RUNNING:
        return run_on(array);
    case TRI_ARRAY_ENDING:
        return array->state->live > 0 ? tri_array_abort_some(array)
                                      : tri_array_end_in(array, array->state->ending);
    default:
        return 0;
    }
}

static int on_timer(struct tri_array *array, const struct tr_message *message)
{
    struct tr_timer timer;
    int error = tr_message_read(message, timer, &timer);
    if (error != 0) {
        return error;
    }
    switch (timer.id) {
    case TRI_ARRAY_TIMER_DEADLINE:
        array->cause = tr_text_of("its deadline has passed");
        return array->state->step == TRI_ARRAY_ENDING
                   ? 0
                   : tri_array_end_in(array, TR_NODE_PHASE_TIMED_OUT);
    case TRI_ARRAY_TIMER_HISTORY:
        array->state->has_timer = false;
        return tri_array_history_flush(array);
    case TRI_ARRAY_TIMER_PROGRESS:
        return tri_array_history_count(array);
    case TRI_ARRAY_TIMER_CALL:
        return tri_array_call_again(array);
    default:
        return 0;
    }
}

static int on_ask_failed(struct tri_array *array, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    if (error != 0 || tr_message_ask(message) != array->state->call) {
        return error;
    }
    return tri_array_on_call_failed(array, (int)-failed.reason, (struct tr_text){0});
}

static int dispatch(struct tri_array *array, const struct tr_message *message)
{
    if (tr_message_is(message, &tr_node_ended_schema)) {
        return tri_array_on_ended(array, message);
    }
    if (tr_message_is(message, &tr_array_next_schema)) {
        return on_next(array);
    }
    if (tr_message_is(message, &tr_node_news_schema)) {
        return tri_array_on_news(array, message);
    }
    if (tr_message_is(message, &tr_node_abort_schema)) {
        return on_abort(array, message);
    }
    if (tr_message_is(message, &tr_node_pause_schema)) {
        return on_pause(array, message);
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        return on_timer(array, message);
    }
    if (tr_message_is(message, &tr_ask_failed_schema)) {
        return on_ask_failed(array, message);
    }
    if (message->kind == TR_KIND_REPLY) {
        return tri_array_on_answer(array, message);
    }
    return tr_unexpected(array->context, message);
}

/* No child lives any more: what a later recovery needs is written, and then it ends. */
static int finish(struct tri_array *array)
{
    return tri_array_has_to_keep(array) ? tri_array_keep_some(array) : tri_array_end_now(array);
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tri_array array = {.context = context, .state = state};
    int error;
    if (tr_message_is(message, &tr_node_start_schema)) {
        error = on_start(&array, message);
    } else if (array.state->step == TRI_ARRAY_NEW) {
        error = tr_unexpected(context, message);
    } else {
        error = look_up(&array, array.state->graph, array.state->workflow, array.state->node);
        if (error == 0) {
            error = dispatch(&array, message);
        }
    }
    return error == 0 && array.may_end ? finish(&array) : error;
}

const struct tr_behaviour tr_array_behaviour = {
    .name = "array", .id = 103, .state = &tr_array_state_schema, .handle = handle};
