/*
 * The step of a task, and what belongs to it: its call, the engine's own timers, the time that an
 * attempt may take, and the attempt's token.
 *
 * A step is not entered where it is chosen. tri_task_go notes it, and task.c enters it when the
 * function that chose it has returned. So whatever a step does may lead to any other one, and the
 * files of the steps need not know each other.
 */
#include "actors/task/task.h"

/*
 * Each step begins with its counters at zero and no call under way; answers to earlier calls find
 * another number in state->call and are not the step's.
 */
int tri_task_go(struct tri_task *task, enum tr_task_step step)
{
    task->state->step = (uint8_t)step;
    task->state->cursor = 0;
    task->state->offset = 0;
    task->state->call = 0;
    task->is_entering = true;
    return 0;
}

/*
 * Without a time limit: the files service always answers, and a crash is told as TR_NO_CONNECTION.
 */
int tri_task_call(struct tri_task *task, uint16_t service, const struct tr_schema *schema,
                  const void *body)
{
    return tr_call(task->context, service, schema, body, 0, &task->state->call);
}

int tri_task_timer_start(struct tri_task *task, enum tri_task_timer timer, uint64_t delay_ms)
{
    return tr_timer_start(task->context, TRI_TASK_TIMER_OWN | timer, delay_ms);
}

/* A task in its first handler (not kept yet) has started no timer that could be stopped. */
int tri_task_timer_stop(struct tri_task *task, enum tri_task_timer timer)
{
    return task->state->is_kept ? tr_timer_stop(task->context, TRI_TASK_TIMER_OWN | timer) : 0;
}

int tri_task_wait_out(struct tri_task *task, struct tr_text why, uint64_t wait_ms)
{
    int error = tri_task_note(task, true);
    task->note.reason = tr_arena_print(&task->arena, "%.*s; tried again in %llu ms", TRI_TEXT(why),
                                       (unsigned long long)wait_ms);
    return error != 0 ? error : tri_task_timer_start(task, TRI_TIMER_FILES, wait_ms);
}

/* --------------------------------------------- the time of an attempt */

/*
 * The limit of the attempt (Flyte's execution timeout), from its first call on. While a file call
 * is under way it does not run: tri_task_timeout_go_on starts it. Until the sum with the clock is
 * made, `timeout_ms` is a span; behind it the moment at which the time is over.
 */
int tri_task_timeout_begin(struct tri_task *task)
{
    struct tr_task_state *state = task->state;
    if (task->settings->timeout_ns <= 0) {
        return 0;
    }
    state->timeout_ms = tri_task_milliseconds(task->settings->timeout_ns);
    if (state->files_call != 0) {
        return 0;
    }
    uint64_t delay_ms = state->timeout_ms;
    state->timeout_ms += tr_now_ms(task->context);
    return tri_task_timer_start(task, TRI_TIMER_ATTEMPT, delay_ms);
}

/* The time stands still: timeout_ms is what is left of it, not a moment, until it goes on. */
void tri_task_timeout_hold(struct tri_task *task, uint64_t files_call)
{
    struct tr_task_state *state = task->state;
    if (state->timeout_ms != 0 && state->files_call == 0) {
        uint64_t now_ms = tr_now_ms(task->context);
        state->timeout_ms = state->timeout_ms > now_ms ? state->timeout_ms - now_ms : 1;
    }
    state->files_call = files_call;
}

int tri_task_timeout_go_on(struct tri_task *task, uint64_t call)
{
    struct tr_task_state *state = task->state;
    if (state->files_call == 0 || call != state->files_call) {
        return 0;
    }
    state->files_call = 0;
    if (state->timeout_ms == 0) {
        return 0;
    }
    uint64_t left_ms = state->timeout_ms;
    state->timeout_ms += tr_now_ms(task->context);
    return tri_task_timer_start(task, TRI_TIMER_ATTEMPT, left_ms);
}

/* ---------------------------------------------------------- the token */

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
