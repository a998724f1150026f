/*
 * The task actor: hosts the plugin of one node or one element, through cache, resources, attempts,
 * retries, time-outs and abort, until it says node_ended and stops.
 *
 * This file takes messages apart and keeps the table of steps; what happens in a step is in the
 * files beside it (task.h says which). Everything of one message happens in memory of its own, and
 * what the next message needs is written at its end (tri_task_keep): a task that ends within its
 * first message writes no page and starts no timer.
 *
 * A life follows the table of steps, with two ways back (RESERVE to LOOKUP when another task has
 * made the value, BACKOFF to TOKEN for the next attempt) and a short cut (LOOKUP to END on a hit).
 * ABORT is entered from RUN, and again for an abort without grace; in any other step no plugin has
 * work outside to end.
 *
 * Every message is checked against the step before it counts: a timer, an answer or a grant of a
 * step that is over changes nothing, so none of them has to be taken back when a step is left
 * early.
 */
#include "actors/task/task.h"
#include "schemas/runtime/archive.h"

/* --------------------------------------------------------------- the steps */

/* For steps that are not entered by tri_task_go; being asked to is a mistake of this code. */
static int never(struct tri_task *task)
{
    (void)task;
    return TR_INVALID;
}

static int (*const enter[TR_STEP_COUNT])(struct tri_task *task) = {
    [TR_STEP_NEW] = never,
    [TR_STEP_DIGEST] = tri_task_enter_digest,
    [TR_STEP_LOOKUP] = tri_task_enter_lookup,
    [TR_STEP_RESERVE] = tri_task_enter_reserve,
    [TR_STEP_TOKEN] = tri_task_enter_token,
    [TR_STEP_FETCH] = tri_task_enter_fetch,
    [TR_STEP_RUN] = tri_task_enter_run,
    [TR_STEP_KEEP] = tri_task_enter_keep,
    [TR_STEP_OFFLOAD] = tri_task_enter_offload,
    [TR_STEP_PUT] = tri_task_enter_put,
    [TR_STEP_BACKOFF] = never,
    [TR_STEP_ABORT] = tri_task_enter_abort,
    [TR_STEP_END] = tri_task_enter_end,
    [TR_STEP_GRAPH] = tri_task_enter_graph,
    [TR_STEP_INNER] = tri_task_enter_inner,
};

/* Enters the step that was chosen, and each that it leads to, until one waits for a message. */
static int enter_steps(struct tri_task *task)
{
    int error = 0;
    while (error == 0 && task->is_entering) {
        task->is_entering = false;
        error = enter[task->state->step](task);
    }
    return error;
}

/* ------------------------------------------------------------ the messages */

/*
 * The node begins: QUEUED in history, then the steps, as far as they go in this handling. The
 * deadline is started last: a task that has ended by then needs none.
 */
static int on_start(struct tri_task *task)
{
    struct tr_task_state *state = task->state;
    state->is_begun = true;
    state->created_ms = tr_now_ms(task->context);
    int error = tri_task_node_begin(task);
    if (error == 0) {
        error = tri_task_go(task, TR_STEP_DIGEST);
    }
    if (error == 0) {
        error = enter_steps(task);
    }
    /* The deadline of a map is kept by its array, for all elements together. */
    bool is_bounded = task->node->deadline_ns > 0 && task->start.element == TR_ELEMENT_NONE;
    if (error == 0 && !task->is_over && is_bounded) {
        error = tri_task_timer_start(task, TRI_TIMER_DEADLINE,
                                     tri_task_milliseconds(task->node->deadline_ns));
    }
    return error;
}

static int on_abort(struct tri_task *task)
{
    struct tr_node_abort abort;
    int error = tr_message_read(task->message, node_abort, &abort);
    return error != 0 ? error : tri_task_abort(task, abort.phase, abort.is_hard, abort.cause);
}

/*
 * No attempt and no decided graph begins, or they begin again: what was held back does at once. A
 * graph that runs hears of it.
 */
static int on_pause(struct tri_task *task)
{
    struct tr_node_pause pause;
    struct tr_task_state *state = task->state;
    int error = tr_message_read(task->message, node_pause, &pause);
    if (error != 0 || !tr_key_equal(task->message->from.key, tr_parent(task->context).key)) {
        return error != 0 ? error : tr_unexpected(task->context, task->message);
    }
    bool goes_on = state->is_held && !pause.is_paused;
    bool is_inside = state->step == TR_STEP_INNER && !state->is_held;
    state->is_paused = pause.is_paused;
    state->is_held = state->is_held && !goes_on;
    if (is_inside) {
        return tri_task_inner_tell(task, &tr_node_pause_schema, &pause);
    }
    return goes_on ? tri_task_go(task, (enum tr_task_step)state->step) : 0;
}

static struct tr_text expired(struct tri_task *task, const char *what, int64_t nanoseconds)
{
    struct tr_buffer text;
    tr_buffer_init(&text, TR_DURATION_BYTES_MAX);
    tr_duration_print(nanoseconds, &text);
    struct tr_text message = tr_arena_print(&task->arena, "task %s timeout [%.*s] expired", what,
                                            (int)text.size, (const char *)text.data);
    tr_buffer_fini(&text);
    return message;
}

/*
 * The time of an attempt is over only while its plugin works; while it waits for the files service
 * the time stands still (tri_task_timeout_hold), and a timer that rings meanwhile is an old one.
 */
static int on_attempt_timer(struct tri_task *task)
{
    if (task->state->step != TR_STEP_RUN || task->state->files_call != 0) {
        return 0;
    }
    const struct tri_task_failure failure = {
        .kind = TR_FAILURE_USER,
        .code = TRI_LITERAL_TEXT("TimeoutExpired"),
        .message = expired(task, "execution", task->settings->timeout_ns),
    };
    return tri_task_give_up(task, &failure);
}

/* The wait is over: the node is queued once more. */
static int on_retry_timer(struct tri_task *task)
{
    if (task->state->step != TR_STEP_BACKOFF) {
        return 0;
    }
    int error = tri_task_node_phase(task, TR_NODE_PHASE_QUEUED, (struct tr_text){0});
    return error != 0 ? error : tri_task_go(task, TR_STEP_TOKEN);
}

static int on_own_timer(struct tri_task *task, uint64_t timer)
{
    switch (timer) {
    case TRI_TIMER_ATTEMPT:
        return on_attempt_timer(task);
    case TRI_TIMER_DEADLINE:
        return tri_task_abort(task, TR_NODE_PHASE_TIMED_OUT, false,
                              expired(task, "active", task->node->deadline_ns));
    case TRI_TIMER_RETRY:
        return on_retry_timer(task);
    case TRI_TIMER_FILES:
        return tri_task_ask_again(task);
    default:
        return TR_INVALID;
    }
}

/*
 * Whether the plugin is listening. Only then are answers, news and timers handed to it; the plugin
 * hears nothing of other steps.
 */
static bool is_in_plugin(const struct tri_task *task)
{
    return task->state->step == TR_STEP_RUN || task->state->step == TR_STEP_ABORT;
}

static int on_timer(struct tri_task *task)
{
    struct tr_timer timer;
    int error = tr_message_read(task->message, timer, &timer);
    if (error != 0) {
        return error;
    }
    if ((timer.id & TRI_TASK_TIMER_OWN) != 0) {
        return on_own_timer(task, timer.id & ~TRI_TASK_TIMER_OWN);
    }
    if (timer.id >> 32 != (uint64_t)task->state->attempt + 1 || !is_in_plugin(task)) {
        return 0;
    }
    const struct tr_task_event event = {.kind = TR_TASK_TIMER, .call = timer.id & UINT32_MAX};
    return tri_task_event(task, &event);
}

/*
 * The answer to a call, or why there is none. A plugin hears of the calls of this attempt only.
 * Numbers of calls grow, so `plugin_call`, the first one of this attempt, tells its calls from
 * those of attempts before. The intent follows: an answer shows that the outside was reached, a
 * lost connection or a timeout leaves it unknown (law 5 of runtime/ARCHITECTURE.md).
 */
static int on_outcome(struct tri_task *task, struct tr_task_event *event)
{
    struct tr_task_state *state = task->state;
    event->call = tr_message_ask(task->message);
    if (event->call == state->call && state->call != 0) {
        state->call = 0;
        return tri_task_answered(task, event);
    }
    if (!is_in_plugin(task) || state->plugin_call == 0 || event->call < state->plugin_call) {
        return 0;
    }
    int error = tri_task_timeout_go_on(task, event->call);
    if (error != 0) {
        return error;
    }
    bool is_unknown = event->error == TR_NO_CONNECTION || event->error == TR_TIMEOUT;
    if (event->kind == TR_TASK_ANSWER) {
        state->intent = TR_INTENT_SUBMITTED;
    } else if (is_unknown) {
        state->intent = TR_INTENT_UNKNOWN;
    }
    return tri_task_event(task, event);
}

static int on_failed(struct tri_task *task)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(task->message, ask_failed, &failed);
    struct tr_task_event event = {.kind = TR_TASK_FAILED, .error = -(int)failed.reason};
    return error != 0 ? error : on_outcome(task, &event);
}

static struct tr_task_event event_of(const struct tr_message *message, enum tr_task_event_kind kind)
{
    return (struct tr_task_event){.kind = (uint8_t)kind,
                                  .type = message->type,
                                  .version = message->version,
                                  .body = message->body};
}

/*
 * Services of the host, and the refresh actors of the task's plugin, are heard by the plugin.
 */
static bool is_service(const struct tri_task *task, struct tr_ref from)
{
    if (tr_group_is_host(from.key.group)) {
        return true;
    }
    for (size_t i = 0; i < task->engine->endpoint_count; i++) {
        const struct tr_engine_endpoint *endpoint = &task->engine->endpoints[i];
        if (endpoint->plugin == task->plugin && tr_key_equal(endpoint->refresh.key, from.key)) {
            return true;
        }
    }
    return false;
}

/* What no schema of the engine's own is: answers, and news of services. */
static int on_other(struct tri_task *task)
{
    if (task->message->kind == TR_KIND_REPLY) {
        struct tr_task_event event = event_of(task->message, TR_TASK_ANSWER);
        return on_outcome(task, &event);
    }
    if (!is_service(task, task->message->from)) {
        return tr_unexpected(task->context, task->message);
    }
    if (!is_in_plugin(task)) {
        return 0;
    }
    struct tr_task_event event = event_of(task->message, TR_TASK_NEWS);
    if (task->state->intent == TR_INTENT_INTENT || task->state->intent == TR_INTENT_UNKNOWN) {
        task->state->intent = TR_INTENT_SUBMITTED;
    }
    return tri_task_event(task, &event);
}

/* What ran on the machine that it came from was ended there. */
static int give_up_what_ran(struct tri_task *task)
{
    const struct tri_task_failure failure = {
        .kind = TR_FAILURE_SYSTEM,
        .code = TRI_LITERAL_TEXT("Moved"),
        .message = TRI_LITERAL_TEXT("it ran where it was exported, and was ended there"),
    };
    if (task->state->step == TR_STEP_RUN) {
        return tri_task_fail(task, &failure);
    }
    return task->state->has_failed ? tri_task_fail_as_noted(task) : tri_task_end_aborted(task);
}

/*
 * It came from another store, whose services have let it go: those here are asked again, also the
 * refresh actor of its back end. An attempt whose work was that machine's has ended. A plugin of
 * the Web API shape hears the message itself, and asks the refresh actor of this store.
 */
static int on_services_changed(struct tri_task *task)
{
    bool was_local = task->plugin != NULL && task->plugin->is_local && is_in_plugin(task);
    int error =
        tri_task_span_set(task, TRI_SPAN_INPUTS, (struct tr_bytes){0}); /* files lay there */
    if (error != 0 || was_local) {
        return error != 0 ? error : give_up_what_ran(task);
    }
    error = tri_task_token_again(task);
    if (error == 0) {
        error = tri_task_reservation_again(task);
    }
    bool counts_on_it = task->plugin != NULL && task->plugin->webapi != NULL && is_in_plugin(task);
    if (error != 0 || !counts_on_it) {
        return error;
    }
    struct tr_task_event event = event_of(task->message, TR_TASK_NEWS);
    return tri_task_event(task, &event);
}

/*
 * The store was put back from a backup. What ran on the machine, and what it has left there, its
 * plugin takes for unknown; what others keep is asked about as after a crash.
 */
static int on_store_restored(struct tri_task *task)
{
    struct tr_task_state *state = task->state;
    bool is_local = task->plugin != NULL && task->plugin->is_local;
    int error = 0;
    if (!is_local || (state->step != TR_STEP_RUN && state->step != TR_STEP_KEEP)) {
        return 0;
    }
    if (state->step == TR_STEP_KEEP) {
        state->step = TR_STEP_RUN;
        state->cursor = 0;
        state->call = 0;
        error = tri_task_span_set(task, TRI_SPAN_URIS, (struct tr_bytes){0});
    }
    struct tr_task_event event = event_of(task->message, TR_TASK_NEWS);
    return error != 0 ? error : tri_task_event(task, &event);
}

struct reaction {
    const struct tr_schema *schema;
    int (*handle)(struct tri_task *task);
};

static const struct reaction reactions[] = {
    {&tr_timer_schema, on_timer},
    {&tr_ask_failed_schema, on_failed},
    {&tr_node_abort_schema, on_abort},
    {&tr_node_pause_schema, on_pause},
    {&tr_resource_granted_schema, tri_task_on_granted},
    {&tr_resource_ask_again_schema, tri_task_on_token_again},
    {&tr_resource_refused_schema, tri_task_on_refused},
    {&tr_cache_owner_schema, tri_task_on_cache_owner},
    {&tr_services_changed_schema, on_services_changed},
    {&tr_store_restored_schema, on_store_restored},
    {&tr_node_ended_schema, tri_task_on_inner_ended},
};

static int react(struct tri_task *task)
{
    for (size_t i = 0; i < TR_COUNT_OF(reactions); i++) {
        if (tr_message_is(task->message, reactions[i].schema)) {
            return reactions[i].handle(task);
        }
    }
    return on_other(task);
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tr_task_state *own = state;
    bool is_start = tr_message_is(message, &tr_node_start_schema);
    if (is_start == own->is_begun) {
        return tr_unexpected(context, message); /* begun twice, or not at all */
    }
    /*
     * The first kilobyte of the handling's memory is on the stack: most messages need no more, and
     * allocate nothing.
     */
    _Alignas(16) uint8_t room[TRI_TASK_ROOM_BYTES] = {0};
    struct tri_task task;
    tri_task_init(&task, context, own, message);
    tr_arena_init_with(&task.arena, room, sizeof room);
    int error = tri_task_open(&task);
    if (error == 0) {
        error = is_start ? on_start(&task) : react(&task);
    }
    if (error == 0) {
        error = enter_steps(&task);
    }
    if (error == 0 && !task.is_over) {
        error = tri_task_keep(&task);
    }
    if (error == 0) {
        error = task.arena.error;
    }
    tr_arena_fini(&task.arena);
    return error;
}

static void gauge(const void *value, int64_t sign, int64_t *values)
{
    const struct tr_task_state *state = value;
    struct tr_gauges *gauges = (struct tr_gauges *)values;
    uint8_t phase = state->task_phase;
    bool is_under_way = phase != TR_TASK_PHASE_UNDEFINED && phase < TR_TASK_PHASE_COUNT &&
                        !tr_phase_is_end(TR_SUBJECT_TASK, phase);
    if (is_under_way) {
        gauges->attempts[phase] += sign;
    }
    gauges->tasks_retrying += state->step == TR_STEP_BACKOFF ? sign : 0;
}

const struct tr_behaviour tr_task_behaviour = {
    .name = "task", .id = 102, .state = &tr_task_state_schema, .handle = handle, .gauge = gauge};
