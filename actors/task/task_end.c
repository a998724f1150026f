/*
 * How an attempt ends, and the node with it: the plugin cleans up; then success, another try,
 * failure, abort.
 *
 * Failures of the task itself and those of the system have budgets of their own. What is permanent
 * is not tried again. Codes and words of the last failure are Flyte's (nodes/executor.go).
 *
 * say_end is the only way out. It writes the node's end into history, gives back the reservation,
 * the token and the graph, says node_ended and stops, all in one commit: so after a crash either
 * the task goes on with all it holds, or its parent has the word and nothing is held.
 */
#include <math.h>

#include "actors/graph/document/usage.h"
#include "actors/task/task.h"
#include "schemas/runtime/inquiry.h"

/* -------------------------------------------------------------- clean-up */

/* Why the task's plugin is not called, or NULL. */
const char *tri_task_quarantine(const struct tri_task *task)
{
    return task->plugin == NULL ? NULL : tr_engine_quarantine(task->engine, task->plugin);
}

/*
 * Lets the plugin clean up. A cleanup that fails is not the task's failure. With a state that is
 * lost it is called with an empty one: it has its identity to go by. Only a lack of memory is an
 * error, for then the handler runs again.
 */
static int clean_up(struct tri_task *task, uint8_t phase)
{
    int fault = 0;
    int error = task->plugin_state == NULL ? tri_task_plugin_state_load(task, &fault) : 0;
    if (error != 0) {
        return error;
    }
    tr_engine_call_begins(task->context, task->plugin, "finalize");
    int result = task->plugin->finalize(&task->plugin_side, task->plugin_state, phase);
    tr_engine_call_ends(task->context);
    return task->failure != 0 ? task->failure : result == TR_MEMORY ? result : 0;
}

int tri_task_finalize(struct tri_task *task, uint8_t phase)
{
    task->state->intent = TR_INTENT_TERMINAL;
    const struct tr_plugin *plugin = task->plugin;
    bool is_called =
        plugin != NULL && plugin->finalize != NULL && tri_task_quarantine(task) == NULL;
    int error = is_called ? clean_up(task, phase) : 0;
    return error != 0 ? error : tri_task_token_release(task);
}

/* ------------------------------------------------ what it holds, and lets go of */

static int release_reservation(struct tri_task *task)
{
    struct tr_task_state *state = task->state;
    if (!state->has_reservation) {
        return 0;
    }
    state->has_reservation = false;
    int error = tri_task_note(task, false);
    const struct tr_cache_release release = {
        .key = task->note.cache_key,
        .is_made = state->cache_status == TR_CACHE_STATUS_HIT ||
                   state->cache_status == TR_CACHE_STATUS_POPULATED ||
                   state->cache_status == TR_CACHE_STATUS_OVERWRITTEN,
    };
    return error != 0
               ? error
               : tr_tell(task->context, task->engine->catalog, &tr_cache_release_schema, &release);
}

/* The graph of a dynamic task. The registry forgets it when the last hold on it is gone. */
static int release_graph(struct tri_task *task)
{
    const struct tr_graph_drop drop = {.graph = task->state->graph};
    struct tr_ref files = {.key = {.group = TR_GROUP_HERE, .serial = TR_SERVICE_FILES}};
    if (drop.graph == 0) {
        return 0;
    }
    task->state->graph = 0;
    return tr_tell(task->context, files, &tr_graph_drop_schema, &drop);
}

/* --------------------------------------------------------------- the end */

/*
 * Lines about the attempt that has failed, for error values and whoever reads no history: the end
 * of what it wrote to stderr, what it used, where its files are.
 */
static int make_details(struct tri_task *task, struct tr_text *details)
{
    const struct tr_task_note *note = &task->note;
    struct tr_buffer lines;
    int error = task->state->attempt_created_ms == 0 ? 0 : tri_task_note(task, false);
    if (error != 0 || task->state->attempt_created_ms == 0) {
        return error;
    }
    tr_buffer_init(&lines, 0);
    tr_buffer_add_text(&lines, task->error_output);
    if (note->elapsed_us > 0) {
        tr_buffer_add_string(&lines, lines.size > 0 ? "\nit took " : "it took ");
        const struct tr_usage usage = {.memory_bytes_max = note->memory_bytes_max,
                                       .cpu_us = note->cpu_us,
                                       .elapsed_us = note->elapsed_us,
                                       .memory_bound = note->memory_bound,
                                       .is_bound_kept = note->is_bound_kept};
        tr_usage_print(&usage, &lines);
    }
    if (note->folder.size > 0) {
        tr_buffer_add_string(&lines, lines.size > 0 ? "\nits files are in " : "its files are in ");
        tr_buffer_add_text(&lines, note->folder);
    }
    *details = tr_arena_text(&task->arena, tr_buffer_text(&lines));
    error = lines.error != 0 ? lines.error : task->arena.error;
    tr_buffer_fini(&lines);
    return error;
}

/* What the last message says of a failure, which may be one of a node below. */
static int describe(struct tri_task *task, const struct tri_task_failure *failure,
                    struct tr_node_ended *ended)
{
    bool is_below = failure->failed.size > 0;
    ended->failure = failure->kind;
    ended->code = failure->code;
    ended->message = failure->message;
    ended->flyte_message = failure->flyte_message;
    ended->details = failure->details;
    ended->failed = is_below ? failure->failed : task->start.path;
    ended->failed_element = is_below ? failure->failed_element : task->start.element;
    return is_below ? 0 : make_details(task, &ended->details);
}

/* The last message, and the end. `failure` is NULL for a success. */
static int say_end(struct tri_task *task, uint8_t phase, const struct tri_task_failure *failure)
{
    const struct tr_node_start *start = &task->start;
    struct tr_node_ended ended = {
        .node = start->node,
        .element = start->element,
        .attempts = tri_task_attempts(task),
        .cache_status = task->state->cache_status,
        .failed_element = TR_ELEMENT_NONE,
    };
    struct tr_text cause = {0};
    int error = 0;
    if (failure == NULL) {
        ended.outputs = task->outputs;
    } else {
        error = describe(task, failure, &ended);
        cause = failure->message;
    }
    if (error == 0) {
        error = tri_task_node_end(task, phase, failure, cause);
    }
    ended.phase = phase;
    ended.phases = task->state->phases;
    if (error == 0) {
        error = tr_count_cache(task->context, task->state->cache_status);
    }
    if (error == 0) {
        error = release_reservation(task);
    }
    if (error == 0) {
        error = tri_task_token_release(task);
    }
    if (error == 0) {
        error = release_graph(task);
    }
    if (error == 0) {
        uint32_t hint = tr_key_equal(task->message->from.key, tr_parent(task->context).key)
                            ? task->message->from_hint
                            : 0;
        error = tr_tell_hinted(task->context, tr_parent(task->context), hint, &tr_node_ended_schema,
                               &ended);
    }
    task->state->step = TR_STEP_END;
    task->is_over = true;
    return error != 0 ? error : tr_stop(task->context);
}

int tri_task_enter_end(struct tri_task *task)
{
    return say_end(task, TR_NODE_PHASE_SUCCEEDED, NULL);
}

int tri_task_end_failed(struct tri_task *task, uint8_t phase,
                        const struct tri_task_failure *failure)
{
    return say_end(task, phase, failure);
}

/* The attempt is over and its outputs are kept: the plugin cleans up, then the cache gets them. */
int tri_task_settle(struct tri_task *task)
{
    int error = tri_task_attempt_phase(task, TR_TASK_PHASE_SUCCESS);
    if (error != 0) {
        return error;
    }
    error = tri_task_finalize(task, TR_TASK_PHASE_SUCCESS);
    return error != 0 ? error : tri_task_go(task, TR_STEP_PUT);
}

/* ---------------------------------------------------------------- retries */

/* The budget that pays for a failure: how much of it is used, and how much there is. */
struct budget {
    uint32_t used;
    uint32_t total;
};

/*
 * The user's budget has one more than `retries`: those count attempts after the first. Failures of
 * the system do not use it up, nor the other way round (Flyte's retries and system retries).
 */
static struct budget budget_of(const struct tri_task *task, uint8_t kind)
{
    const struct tr_task_state *state = task->state;
    if (kind == TR_FAILURE_SYSTEM) {
        return (struct budget){state->system_failures, task->engine->system_retries};
    }
    return (struct budget){state->attempt + 1 - state->system_failures,
                           task->settings->retries + 1};
}

/* What a failure of the system waits at least, so that retries are not used up in a moment. */
static const struct tr_backoff system_backoff = {.first_ns = 250000000, .factor = 4};

/* first * factor^n up to max, in nanoseconds. */
static double wait_ns(const struct tr_backoff *backoff, uint32_t n)
{
    if (backoff->first_ns <= 0) {
        return 0;
    }
    double factor = backoff->factor >= 1 ? backoff->factor : 1;
    double wait = (double)backoff->first_ns * pow(factor, n);
    double bound = backoff->max_ns > 0 ? (double)backoff->max_ns : 9e18;
    return wait < bound ? wait : bound;
}

/*
 * The wait before the next attempt, of which half to all (jitter). 53 bits of the random number
 * make the share, as many as a double holds exactly. Half of the wait is certain; the other half
 * spreads tasks that have failed together.
 */
static uint64_t backoff_ms(struct tri_task *task, uint8_t kind)
{
    const struct tr_task_state *state = task->state;
    double wait = wait_ns(&task->settings->backoff, state->attempt);
    if (kind == TR_FAILURE_SYSTEM) {
        wait = fmax(wait, wait_ns(&system_backoff, state->system_failures - 1));
    }
    if (wait <= 0) {
        return 0;
    }
    double share = (double)(tr_random(task->context) >> 11) / 9007199254740992.0;
    return tri_task_milliseconds((int64_t)(wait * (0.5 + share / 2)));
}

/*
 * The attempt is over; the next one begins after its wait, with nothing of this one left. The
 * parent hears at once, so an array sees that the element is not at work. What the handling has
 * made of the old attempt, such as its name, is made anew for the next one.
 */
static int try_again(struct tri_task *task, const struct tri_task_failure *failure)
{
    struct tr_task_state *state = task->state;
    uint64_t wait_ms = backoff_ms(task, failure->kind);
    int error = tri_task_node_phase(task, TR_NODE_PHASE_RETRYABLE_FAILURE, failure->message);
    if (error != 0) {
        return error;
    }
    error = tri_task_news(task, TR_NODE_PHASE_RETRYABLE_FAILURE, failure->message);
    if (error != 0) {
        return error;
    }
    error = tri_task_span_set(task, TRI_SPAN_OUTPUTS, (struct tr_bytes){0});
    if (error != 0) {
        return error;
    }
    state->attempt++;
    task->note.is_unknown = false; /* the note is being changed: tri_task_fail */
    task->note.memory_bytes_max = task->note.cpu_us = task->note.elapsed_us = 0;
    task->note.memory_bound = 0;
    task->note.is_bound_kept = false;
    state->task_phase = TR_TASK_PHASE_UNDEFINED;
    state->attempt_created_ms = 0;
    state->attempt_started_ms = 0;
    state->plugin_call = 0;
    state->has_lasted = false;
    state->until_ms = tr_steady_ms(task->context) + wait_ms;
    state->step = TR_STEP_BACKOFF;
    task->has_identity = false;
    task->has_template = false;
    task->has_outputs = false;
    task->has_packed_state = false;
    return tri_task_timer_start(task, TRI_TIMER_RETRY, wait_ms);
}

/* How it ended, and behind it the cause. */
static struct tr_text with_outcome(struct tri_task *task, struct tr_text outcome,
                                   struct tr_text message)
{
    return outcome.size == 0 ? message
           : message.size == 0
               ? outcome
               : tr_arena_print(&task->arena, "%.*s: %.*s", TRI_TEXT(outcome), TRI_TEXT(message));
}

/* The words of a node whose attempts are used up: the cause, and how many there were. */
static struct tr_text exhausted_text(struct tri_task *task, const struct tri_task_failure *failure)
{
    uint32_t attempts = tri_task_attempts(task);
    if (failure->outcome.size == 0) {
        return attempts == 1 ? failure->message
                             : tr_arena_print(&task->arena, "%.*s (the last of %u attempts)",
                                              TRI_TEXT(failure->message), attempts);
    }
    struct tr_text outcome =
        attempts == 1
            ? tr_arena_print(&task->arena, "%.*s of 1 attempt", TRI_TEXT(failure->outcome))
            : tr_arena_print(&task->arena, "%.*s of the last of %u attempts",
                             TRI_TEXT(failure->outcome), attempts);
    return with_outcome(task, outcome, failure->message);
}

/*
 * No more tries. Where a budget was there to be used up Flyte's code and text say so. Without a
 * budget that was used up (a permanent failure) the code stays the failure's own.
 */
static int exhaust(struct tri_task *task, const struct tri_task_failure *failure,
                   struct budget budget)
{
    struct tri_task_failure last = *failure;
    struct tr_text told = failure->outcome.size > 0 ? failure->outcome : failure->message;
    if (failure->is_permanent) {
        last.message = with_outcome(task, failure->outcome, failure->message);
    } else {
        last.code = tr_arena_print(&task->arena, "RetriesExhausted|%.*s", TRI_TEXT(failure->code));
        last.message = exhausted_text(task, failure);
        last.flyte_message = tr_arena_print(
            &task->arena, "[%u/%u] currentAttempt done. Last Error: %s::%.*s", budget.used,
            budget.total, failure->kind == TR_FAILURE_SYSTEM ? "SYSTEM" : "USER", TRI_TEXT(told));
    }
    return task->arena.error != 0 ? task->arena.error : say_end(task, TR_NODE_PHASE_FAILED, &last);
}

/* Keeps a failure for `troupe explain` while the next attempt is waited for. */
static int note_failure(struct tri_task *task, const struct tri_task_failure *failure)
{
    int error = tri_task_note(task, true);
    task->note.failure = failure->kind;
    task->note.is_permanent = failure->is_permanent;
    task->note.is_unknown = failure->is_unknown;
    task->note.signal = failure->signal;
    task->note.exit_status = failure->exit_status;
    task->note.code = failure->code;
    task->note.message = with_outcome(task, failure->outcome, failure->message);
    task->note.reason = (struct tr_text){0};
    return error != 0 ? error : task->arena.error;
}

/*
 * Order matters: the note has the failure before the phase is written, and the token is back before
 * the wait begins, so that a task that waits to be tried again holds nothing.
 */
int tri_task_fail(struct tri_task *task, const struct tri_task_failure *failure)
{
    struct tr_task_state *state = task->state;
    struct tri_task_failure known = *failure;
    known.code = tri_task_clean_text(task, known.code, TR_FAILURE_CODE_BYTES_MAX);
    tri_task_choose_retry(task, &known);
    known.message = tri_task_clean_text(task, known.message, TR_FAILURE_MESSAGE_BYTES_MAX);
    known.outcome = tri_task_clean_text(task, known.outcome, TR_FAILURE_OUTCOME_BYTES_MAX);
    int error = note_failure(task, &known);
    if (error != 0) {
        return error;
    }
    struct budget budget = budget_of(task, known.kind);
    bool is_last = known.is_permanent || budget.used >= budget.total;
    error = tri_task_attempt_phase(task, is_last ? TR_TASK_PHASE_PERMANENT_FAILURE
                                                 : TR_TASK_PHASE_RETRYABLE_FAILURE);
    if (error != 0) {
        return error;
    }
    error = tri_task_token_release(task);
    if (error != 0) {
        return error;
    }
    error = tri_task_timer_stop(task, TRI_TIMER_ATTEMPT);
    if (error != 0) {
        return error;
    }
    state->has_failed = false;
    state->intent = TR_INTENT_TERMINAL;
    if (is_last) {
        return exhaust(task, &known, budget);
    }
    state->system_failures += known.kind == TR_FAILURE_SYSTEM ? 1 : 0;
    return try_again(task, &known);
}

/*
 * The attempt was given up for this reason (tri_task_give_up), and its work has been ended since.
 */
int tri_task_fail_as_noted(struct tri_task *task)
{
    int error = tri_task_note(task, false);
    struct tri_task_failure failure = {
        .kind = task->note.failure,
        .is_permanent = task->note.is_permanent,
        .is_unknown = task->note.is_unknown,
        .signal = task->note.signal,
        .exit_status = task->note.exit_status,
        .code = task->note.code,
        .message = task->note.message,
    };
    return error != 0 ? error : tri_task_fail(task, &failure);
}

/* ------------------------------------------------------------ aborted */

/*
 * An attempt that was on record ends as ABORTED; the node ends as `ending` says, with Flyte's
 * codes.
 */
int tri_task_end_aborted(struct tri_task *task)
{
    bool is_time = task->state->ending == TR_NODE_PHASE_TIMED_OUT;
    int error = tri_task_note(task, false);
    if (error == 0 && task->state->attempt_created_ms != 0 &&
        !tr_phase_is_end(TR_SUBJECT_TASK, task->state->task_phase)) {
        error = tri_task_attempt_phase(task, TR_TASK_PHASE_ABORTED);
    }
    if (error != 0) {
        return error;
    }
    struct tri_task_failure failure = {
        .kind = TR_FAILURE_USER,
        .code = is_time ? TRI_LITERAL_TEXT("TimeoutExpired") : TRI_LITERAL_TEXT("NodeAborted"),
        .message = task->note.cause,
    };
    return say_end(task, task->state->ending, &failure);
}
