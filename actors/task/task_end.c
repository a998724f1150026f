/*
 * The phases of a task's node and of its attempts, up to the last: each change is checked by the
 * tables of schemas/engine/phase.h, written into history, and told to the parent where it lasts.
 * Then how an attempt ends: success, another try, failure, abort.
 *
 * An element's node phases are its array's to write, in blocks: it hears of them in news and at the
 * end. Of an element's attempt there is one row, and only when it lasted, so that a map over what
 * ends at once writes none.
 *
 * Failures of the task itself and those of the system have budgets of their own. What is permanent
 * is not tried again. Codes and words of the last failure are Flyte's (nodes/executor.go).
 *
 * say_end is the only way out. It writes the node's end into history, gives back the reservation,
 * the token and the graph, says node_ended and stops, all in one commit: so after a crash either
 * the task goes on with all it holds, or its parent has the word and nothing is held.
 */
#include <math.h>
#include <string.h>

#include "actors/history/history.h"
#include "actors/task/task.h"
#include "actors/values/bind.h"
#include "schemas/codec/utf8.h"
#include "schemas/runtime/inquiry.h"

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

/*
 * At most `size_max` bytes of valid UTF-8, for the store and for JSON: bad bytes become '?', and of
 * a long text the middle is left out.
 */
struct tr_text tri_task_clean_text(struct tri_task *task, struct tr_text text, size_t size_max)
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

/* How many attempts were begun: none where the cache had it. */
static uint32_t attempts_of(const struct tri_task *task)
{
    return task->state->attempt + (task->state->attempt_created_ms != 0 ? 1 : 0);
}

static bool is_element(const struct tri_task *task)
{
    return task->start.element != TR_ELEMENT_NONE;
}

/* -------------------------------------------------------------- the node */

static int write_node(struct tri_task *task, uint8_t from, const struct tri_task_failure *failure,
                      struct tr_text cause)
{
    struct tr_task_state *state = task->state;
    const struct tr_graph *decided =
        state->graph == 0 ? NULL : tr_graph_registry_find(&task->engine->registry, state->graph);
    struct tr_node_status row = {
        .execution = task->start.number,
        .path = task->start.path,
        .kind = tri_task_is_dynamic(task) ? TRI_LITERAL_TEXT("dynamic") : TRI_LITERAL_TEXT("task"),
        .target = task->task->name,
        .name = task->node->name,
        .phase = state->node_phase,
        .created_ms = state->created_ms,
        .started_ms = state->started_ms,
        .attempts = attempts_of(task),
        .cache_status = state->cache_status,
    };
    if (failure != NULL) {
        row.failure = failure->kind;
        row.code = failure->code;
        row.message = failure->message;
        row.flyte_message = failure->flyte_message;
    }
    if (decided != NULL) {
        row.graph = (struct tr_bytes){.data = decided->hash, .size = TR_GRAPH_HASH_BYTES};
    }
    int error = tr_history_node(task->context, &row, from, cause, &state->changes);
    state->started_ms = row.started_ms;
    return error;
}

/*
 * The table's word on a change; what it forbids is our own mistake, and fails the handler. An
 * element's phases are counted but not written: its array does that.
 */
static int change_node(struct tri_task *task, uint8_t phase, const struct tri_task_failure *failure,
                       struct tr_text cause)
{
    struct tr_task_state *state = task->state;
    uint8_t from = state->node_phase;
    if (!tr_phase_may_follow(TR_SUBJECT_NODE, from, phase)) {
        return TR_INVALID;
    }
    state->node_phase = phase;
    state->phases |= 1U << phase;
    return is_element(task) ? 0 : write_node(task, from, failure, cause);
}

int tri_task_node_phase(struct tri_task *task, uint8_t phase, struct tr_text cause)
{
    return change_node(task, phase, NULL, cause);
}

int tri_task_node_begin(struct tri_task *task)
{
    int error = change_node(task, TR_NODE_PHASE_QUEUED, NULL, (struct tr_text){0});
    if (error != 0 || is_element(task)) {
        return error;
    }
    return tr_history_value(task->context, task->start.number, task->start.path, TR_VALUE_INPUTS,
                            task->start.inputs);
}

/* The node's last change: its phase, and for a success its outputs, in history. */
static int end_node(struct tri_task *task, uint8_t phase, const struct tri_task_failure *failure,
                    struct tr_text cause)
{
    int error = change_node(task, phase, failure, cause);
    if (error != 0 || failure != NULL || is_element(task)) {
        return error;
    }
    return tr_history_value(task->context, task->start.number, task->start.path, TR_VALUE_OUTPUTS,
                            task->outputs);
}

/* ------------------------------------------------------------- an attempt */

/* The logs that the plugin named, as a JSON list of their URIs. */
static struct tr_text logs_json(struct tri_task *task, struct tr_text logs)
{
    struct tr_buffer json;
    struct tr_buffer value;
    tr_buffer_init(&json, 0);
    tr_buffer_init(&value, 0);
    tr_buffer_add_string(&json, "[");
    for (size_t begin = 0; begin < logs.size;) {
        const char *line = logs.data + begin;
        const char *end = memchr(line, '\n', logs.size - begin);
        const char *tab = end == NULL ? NULL : memchr(line, '\t', (size_t)(end - line));
        if (tab == NULL) {
            break;
        }
        tr_buffer_cut(&value, 0);
        tr_buffer_text_value(&value,
                             (struct tr_text){.data = tab + 1, .size = (size_t)(end - tab - 1)});
        tr_buffer_add_string(&json, begin == 0 ? "" : ",");
        if (tr_literal_json(NULL, tr_buffer_bytes(&value), &json) != 0) {
            break;
        }
        begin += (size_t)(end - line) + 1;
    }
    tr_buffer_add_string(&json, "]");
    struct tr_text text = tr_arena_text(&task->arena, tr_buffer_text(&json));
    if (json.error != 0 || value.error != 0) {
        task->arena.error = TR_MEMORY;
    }
    tr_buffer_fini(&json);
    tr_buffer_fini(&value);
    return text;
}

/* The attempt as history shows it. Its failure is shown only once it has failed. */
static struct tr_attempt attempt_row(struct tri_task *task)
{
    const struct tr_task_state *state = task->state;
    const struct tr_task_note *note = &task->note;
    bool is_failed = state->task_phase == TR_TASK_PHASE_RETRYABLE_FAILURE ||
                     state->task_phase == TR_TASK_PHASE_PERMANENT_FAILURE || state->has_failed;
    struct tr_attempt row = {
        .execution = task->start.number,
        .path = task->start.path,
        .element = task->start.element,
        .attempt = state->attempt,
        .phase = state->task_phase,
        .plugin = task->plugin == NULL ? (struct tr_text){0} : tr_text_of(task->plugin->id),
        .generated_name = tri_task_identity(task)->generated_name,
        .folder = note->folder,
        .logs = note->logs.size == 0 ? (struct tr_text){0} : logs_json(task, note->logs),
        .created_ms = state->attempt_created_ms,
        .started_ms = state->attempt_started_ms,
        .is_unknown = note->is_unknown,
        .memory_bytes_max = note->memory_bytes_max,
        .cpu_us = note->cpu_us,
        .elapsed_us = note->elapsed_us,
        .error_output = task->error_output,
    };
    if (is_failed) { /* until then the note speaks of the attempt before */
        row.exit_status = note->exit_status;
        row.signal = note->signal;
        row.failure = note->failure;
        row.code = note->code;
        row.message = note->message;
    }
    return row;
}

/*
 * An element's row: when it is known that it lasts, and when it has ended. RUNNING is written once
 * it is known that the attempt lasts, and its start with it.
 */
static int write_element(struct tri_task *task)
{
    bool is_end = tr_phase_is_end(TR_SUBJECT_TASK, task->state->task_phase);
    if (is_end && !task->state->has_lasted) {
        return 0;
    }
    struct tr_attempt row = attempt_row(task);
    uint64_t now_ms = tr_now_ms(task->context);
    if (row.started_ms == 0 && row.phase == TR_TASK_PHASE_RUNNING) {
        row.started_ms = task->state->attempt_started_ms = now_ms;
    }
    row.ended_ms = is_end ? now_ms : 0;
    return tr_record(task->context, &tr_attempt_schema, &row);
}

/*
 * The plugin's phases, written with each change; of an element only the end, and only if it lasted.
 */
int tri_task_attempt_phase(struct tri_task *task, uint8_t phase)
{
    struct tr_task_state *state = task->state;
    uint8_t from = state->task_phase;
    if (!tr_phase_may_follow(TR_SUBJECT_TASK, from, phase)) {
        return TR_INVALID;
    }
    if (state->attempt_created_ms == 0) {
        state->attempt_created_ms = tr_now_ms(task->context);
    }
    int error = tri_task_note(task, false);
    state->task_phase = phase;
    if (error != 0) {
        return error;
    }
    if (is_element(task)) {
        return tr_phase_is_end(TR_SUBJECT_TASK, phase) ? write_element(task) : 0;
    }
    struct tr_attempt row = attempt_row(task);
    error = tr_history_attempt(task->context, &row, from, task->note.reason, &state->changes);
    state->attempt_started_ms = row.started_ms;
    return error;
}

int tri_task_lost_phase(struct tri_task *task)
{
    struct tr_attempt row = attempt_row(task);
    row.code = TRI_LITERAL_TEXT("PluginStateLost");
    row.message = task->note.reason;
    return tr_record(task->context, &tr_attempt_schema, &row);
}

int tri_task_lasts(struct tri_task *task)
{
    if (!is_element(task) || task->state->has_lasted) {
        return 0;
    }
    task->state->has_lasted = true;
    int error = tri_task_note(task, false);
    return error != 0 ? error : write_element(task);
}

/* ------------------------------------------------------------------- news */

int tri_task_news(struct tri_task *task, uint8_t phase, struct tr_text message)
{
    const struct tr_node_news news = {
        .node = task->start.node,
        .element = task->start.element,
        .phase = phase,
        .attempt = task->state->attempt,
        .message = message,
    };
    int error = tr_tell(task->context, tr_parent(task->context), &tr_node_news_schema, &news);
    return error == 0 && phase == TR_NODE_PHASE_RUNNING ? tri_task_lasts(task) : error;
}

/* ------------------------------------------------ what it holds, and lets go of */

int tri_task_token_release(struct tri_task *task)
{
    if (!task->state->has_token) {
        return 0;
    }
    task->state->has_token = false;
    const struct tr_resource_release release = {.identity =
                                                    tri_task_identity(task)->generated_name};
    return tr_tell(task->context, task->engine->resources, &tr_resource_release_schema, &release);
}

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
    struct tr_ref files = {.key = {.group = 0, .serial = TR_SERVICE_FILES}};
    if (drop.graph == 0) {
        return 0;
    }
    task->state->graph = 0;
    return tr_tell(task->context, files, &tr_graph_drop_schema, &drop);
}

/* --------------------------------------------------------------- the end */

/* The last message, and the end. `failure` is NULL for a success. */
static int say_end(struct tri_task *task, uint8_t phase, const struct tri_task_failure *failure)
{
    const struct tr_node_start *start = &task->start;
    struct tr_node_ended ended = {
        .node = start->node,
        .element = start->element,
        .attempts = attempts_of(task),
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
        ended.flyte_message = failure->flyte_message;
        bool is_below = failure->failed.size > 0;
        ended.error_output = is_below ? failure->error_output : task->error_output;
        ended.failed = is_below ? failure->failed : start->path;
        ended.failed_element = is_below ? failure->failed_element : start->element;
        cause = failure->message;
    }
    int error = end_node(task, phase, failure, cause);
    ended.phase = phase;
    ended.phases = task->state->phases;
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
    uint32_t attempts = attempts_of(task);
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

/* ------------------------------------------------------------------ abort */

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

/*
 * What has to be ended, by step, when an abort comes. In the steps that only wait for the files
 * service or a token, nothing is left outside, and the end is at once.
 */
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
        return task->state->is_held ? tri_task_end_aborted(task) : tri_task_inner_abort(task);
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
    task->note.cause = tri_task_clean_text(task, cause, TR_TASK_REASON_BYTES_MAX);
    bool lasts =
        state->step == TR_STEP_RUN || state->step == TR_STEP_GRAPH || state->step == TR_STEP_INNER;
    if (error != 0 || !lasts) {
        return error;
    }
    return tri_task_node_phase(task, is_time ? TR_NODE_PHASE_TIMING_OUT : TR_NODE_PHASE_ABORTING,
                               task->note.cause);
}

/*
 * The first abort decides the phase and its words. A later one counts only if it is the first
 * without grace.
 */
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
