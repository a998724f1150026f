/*
 * How a task is told to end, by its parent or by its node's deadline, in whichever step it is.
 */
#include "actors/task/task.h"

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
