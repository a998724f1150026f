/*
 * The cache's steps of a task.
 */
#include "actors/task.h"

int tri_enter_digest(struct tri_task *task)
{
    return tri_task_go(task, TR_STEP_LOOKUP);
}

int tri_enter_lookup(struct tri_task *task)
{
    return tri_task_go(task, TR_STEP_RESERVE);
}

int tri_enter_reserve(struct tri_task *task)
{
    return tri_task_go(task, TR_STEP_TOKEN);
}

int tri_enter_put(struct tri_task *task)
{
    return tri_task_go(task, TR_STEP_END);
}

int tri_on_cache_owner(struct tri_task *task)
{
    (void)task;
    return 0;
}

int tri_reservation_release(struct tri_task *task)
{
    task->state->has_reservation = false;
    return 0;
}
