/*
 * How attempts and tasks end: success, another try, failure, abort.
 *
 * Failures of the task itself and those of the system have budgets of their own. What is permanent
 * is not tried again. Codes and words of the last failure are Flyte's (nodes/executor.go).
 */
#include <math.h>
#include <string.h>

#include "actors/values/bind.h"
#include "actors/task/task.h"
#include "schemas/codec/utf8.h"

/* ------------------------------------------------------------------ texts */

static void replace_bad_bytes(char *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t width = tr_utf8_width((struct tr_text){.data = data + at, .size = size - at});
        if (width == 0) {
            data[at] = '?';
        }
        at += width == 0 ? 1 : width;
    }
}

/* The beginning and the end of a text, with what is left out said between them. */
static struct tr_text shorten(struct tri_task *task, struct tr_text text, size_t size_max)
{
    size_t half = size_max / 2 - 32;
    return tr_arena_print(&task->arena, "%.*s\n... %zu bytes left out ...\n%.*s", (int)half,
                          text.data, text.size - 2 * half, (int)half, text.data + text.size - half);
}

struct tr_text tri_clean_text(struct tri_task *task, struct tr_text text, size_t size_max)
{
    if (text.size <= size_max && tr_utf8_valid(text)) {
        return text;
    }
    struct tr_text copy =
        text.size <= size_max ? tr_arena_text(&task->arena, text)
        : size_max < 128
            ? tr_arena_text(&task->arena, (struct tr_text){.data = text.data, .size = size_max})
            : shorten(task, text, size_max);
    char *data = copy.size == 0 ? NULL : tr_arena_alloc(&task->arena, copy.size);
    if (data == NULL) {
        return (struct tr_text){.data = "", .size = 0};
    }
    memcpy(data, copy.data, copy.size);
    replace_bad_bytes(data, copy.size);
    return (struct tr_text){.data = data, .size = copy.size};
}

/* --------------------------------------------------------------- last words */

uint32_t tri_task_attempts(const struct tri_task *task)
{
    return task->state->attempt + (task->state->attempt_created_ms != 0 ? 1 : 0);
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
    if (failure == NULL) {
        ended.outputs = task->outputs;
    } else {
        ended.failure = failure->kind;
        ended.code = failure->code;
        ended.message = failure->message;
        bool is_below = failure->failed.size > 0;
        ended.failed = is_below ? failure->failed : start->path;
        ended.failed_element = is_below ? failure->failed_element : start->element;
        cause = failure->message;
    }
    int error = tri_task_node_end(task, phase, failure, cause);
    ended.phase = phase;
    ended.phases = task->state->phases;
    error = error != 0 ? error : tri_reservation_release(task);
    error = error != 0 ? error : tri_token_release(task);
    error = error != 0 ? error : tri_graph_release(task);
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

int tri_enter_end(struct tri_task *task)
{
    return say_end(task, TR_NODE_PHASE_SUCCEEDED, NULL);
}

int tri_task_end_failed(struct tri_task *task, uint8_t phase,
                        const struct tri_task_failure *failure)
{
    return say_end(task, phase, failure);
}

int tri_task_settle(struct tri_task *task)
{
    int error = tri_task_attempt_phase(task, TR_TASK_PHASE_SUCCESS);
    error = error != 0 ? error : tri_task_finalize(task, TR_TASK_PHASE_SUCCESS);
    return error != 0 ? error : tri_task_go(task, TR_STEP_PUT);
}

/* ---------------------------------------------------------------- retries */

/* The budget that pays for a failure: how much of it is used, and how much there is. */
struct budget {
    uint32_t used;
    uint32_t total;
};

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

/* The wait before the next attempt, of which half to all (jitter). */
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
    return tri_milliseconds((int64_t)(wait * (0.5 + share / 2)));
}

/* The attempt is over; the next one begins after its wait, with nothing of this one left. */
static int try_again(struct tri_task *task, const struct tri_task_failure *failure)
{
    struct tr_task_state *state = task->state;
    uint64_t wait_ms = backoff_ms(task, failure->kind);
    int error = tri_task_node_phase(task, TR_NODE_PHASE_RETRYABLE_FAILURE, failure->message);
    error =
        error != 0 ? error : tri_task_news(task, TR_NODE_PHASE_RETRYABLE_FAILURE, failure->message);
    error = error != 0 ? error : tri_span_set(task, TRI_SPAN_OUTPUTS, (struct tr_bytes){0});
    if (error != 0) {
        return error;
    }
    state->attempt++;
    task->note.is_unknown = false; /* the note is being changed: tri_task_fail */
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

/* No more tries: Flyte's words where a budget was there to be used up. */
static int exhaust(struct tri_task *task, const struct tri_task_failure *failure,
                   struct budget budget)
{
    struct tri_task_failure last = *failure;
    if (!failure->is_permanent) {
        last.code = tr_arena_print(&task->arena, "RetriesExhausted|%.*s", (int)failure->code.size,
                                   failure->code.data);
        last.message = tr_arena_print(
            &task->arena, "[%u/%u] currentAttempt done. Last Error: %s::%.*s", budget.used,
            budget.total, failure->kind == TR_FAILURE_SYSTEM ? "SYSTEM" : "USER",
            (int)failure->message.size, failure->message.data);
    }
    return task->arena.error != 0 ? task->arena.error : say_end(task, TR_NODE_PHASE_FAILED, &last);
}

/* Keeps a failure's words for who looks while the next attempt is waited for. */
static int note_failure(struct tri_task *task, const struct tri_task_failure *failure)
{
    int error = tri_task_note(task, true);
    task->note.failure = failure->kind;
    task->note.is_permanent = failure->is_permanent;
    task->note.is_unknown = failure->is_unknown;
    task->note.signal = failure->signal;
    task->note.exit_status = failure->exit_status;
    task->note.code = failure->code;
    task->note.message = failure->message;
    task->note.reason = (struct tr_text){0};
    return error;
}

int tri_task_fail(struct tri_task *task, const struct tri_task_failure *failure)
{
    struct tr_task_state *state = task->state;
    struct tri_task_failure known = *failure;
    known.code = tri_clean_text(task, known.code, TR_FAILURE_CODE_BYTES_MAX);
    known.message = tri_clean_text(task, known.message, TR_FAILURE_MESSAGE_BYTES_MAX);
    int error = note_failure(task, &known);
    error = error != 0 ? error
                       : tri_task_attempt_phase(task, known.is_permanent
                                                          ? TR_TASK_PHASE_PERMANENT_FAILURE
                                                          : TR_TASK_PHASE_RETRYABLE_FAILURE);
    error = error != 0 ? error : tri_token_release(task);
    error = error != 0 ? error : tri_task_timer_stop(task, TRI_TIMER_ATTEMPT);
    if (error != 0) {
        return error;
    }
    state->has_failed = false;
    state->intent = TR_INTENT_TERMINAL;
    struct budget budget = budget_of(task, known.kind);
    if (known.is_permanent || budget.used >= budget.total) {
        return exhaust(task, &known, budget);
    }
    state->system_failures += known.kind == TR_FAILURE_SYSTEM ? 1 : 0;
    return try_again(task, &known);
}

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

/* ------------------------------------------------------------------ abort */

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

/* What has to be ended, by step, when an abort comes. */
static int end_step(struct tri_task *task)
{
    int error;
    switch ((enum tr_task_step)task->state->step) {
    case TR_STEP_RUN:
        return tri_task_go(task, TR_STEP_ABORT);
    case TR_STEP_ABORT:
        /* Again where it is to be without grace now; the first one goes on otherwise. */
        return task->state->is_hard ? tri_task_go(task, TR_STEP_ABORT) : 0;
    case TR_STEP_KEEP:
    case TR_STEP_OFFLOAD:
        error = tri_task_finalize(task, TR_TASK_PHASE_ABORTED);
        return error != 0 ? error : tri_task_end_aborted(task);
    case TR_STEP_GRAPH:
        return 0; /* the answer comes, and brings a graph that has to be let go of */
    case TR_STEP_INNER:
        return task->state->is_held ? tri_task_end_aborted(task) : tri_inner_abort(task);
    default:
        return tri_task_end_aborted(task);
    }
}

/* The phase that an abort has while it lasts. */
static int note_ending(struct tri_task *task, uint8_t phase, struct tr_text cause)
{
    struct tr_task_state *state = task->state;
    bool is_time = phase == TR_NODE_PHASE_TIMED_OUT;
    state->ending = phase;
    int error = tri_task_note(task, true);
    task->note.cause = tri_clean_text(task, cause, TR_TASK_REASON_BYTES_MAX);
    bool lasts =
        state->step == TR_STEP_RUN || state->step == TR_STEP_GRAPH || state->step == TR_STEP_INNER;
    if (error != 0 || !lasts) {
        return error;
    }
    return tri_task_node_phase(task, is_time ? TR_NODE_PHASE_TIMING_OUT : TR_NODE_PHASE_ABORTING,
                               task->note.cause);
}

int tri_task_abort(struct tri_task *task, uint8_t phase, bool is_hard, struct tr_text cause)
{
    struct tr_task_state *state = task->state;
    bool is_harder = is_hard && !state->is_hard;
    bool is_first = state->ending == 0;
    state->is_hard = state->is_hard || is_hard;
    int error = 0;
    if (is_first) {
        error = note_ending(task, phase == TR_NODE_PHASE_TIMED_OUT ? phase : TR_NODE_PHASE_ABORTED,
                            cause);
    }
    if (error != 0 || (!is_first && !is_harder)) {
        return error;
    }
    if (is_first && !is_harder && state->step == TR_STEP_ABORT) {
        return 0; /* a timed out attempt is being ended already */
    }
    return end_step(task);
}
