/*
 * Phases of a task's node and attempts: by the tables of schemas/phase.h, and told to whom it
 * concerns. An element's phases are the array's to write; it hears of them in news and at the end.
 */
#include "actors/task.h"

int tri_task_node_phase(struct tri_task *task, uint8_t phase, struct tr_text cause)
{
    struct tr_task_state *state = task->state;
    if (!tr_phase_may_follow(TR_SUBJECT_NODE, state->node_phase, phase)) {
        return TR_INVALID;
    }
    (void)cause;
    state->node_phase = phase;
    state->phases |= 1U << phase;
    return 0;
}

int tri_task_node_end(struct tri_task *task, uint8_t phase,
                      const struct tri_task_failure *failure, struct tr_text cause)
{
    (void)failure;
    return tri_task_node_phase(task, phase, cause);
}

int tri_task_attempt_phase(struct tri_task *task, uint8_t phase)
{
    struct tr_task_state *state = task->state;
    if (!tr_phase_may_follow(TR_SUBJECT_TASK, state->task_phase, phase)) {
        return TR_INVALID;
    }
    state->task_phase = phase;
    return 0;
}

int tri_task_lost_phase(struct tri_task *task)
{
    (void)task;
    return 0;
}

int tri_task_news(struct tri_task *task, uint8_t phase, struct tr_text message)
{
    const struct tr_node_news news = {
        .node = task->start.node,
        .element = task->start.element,
        .phase = phase,
        .attempt = task->state->attempt,
        .message = message,
    };
    return tr_tell(task->context, tr_parent(task->context), &tr_node_news_schema, &news);
}
