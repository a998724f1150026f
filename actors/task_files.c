/*
 * Files and large values: what is fetched before an attempt and kept behind it.
 */
#include "actors/task.h"

int tri_enter_fetch(struct tri_task *task)
{
    return tri_task_go(task, TR_STEP_RUN);
}

int tri_enter_keep(struct tri_task *task)
{
    return tri_task_go(task, TR_STEP_OFFLOAD);
}

int tri_enter_offload(struct tri_task *task)
{
    return tri_task_settle(task);
}

int tri_task_answered(struct tri_task *task, const struct tr_task_event *event)
{
    (void)task;
    (void)event;
    return 0;
}
