/*
 * The calls of the engine's own and their answers: those by which a step asks the files service.
 *
 * A step has one call under way at most, and all it needs to make it again is in the pages. So an
 * answer that was lost with the engine, and a shortage of the machine that is waited out, are one
 * case: the same is asked again.
 */
#include "actors/task/task.h"
#include "schemas/runtime/files.h"

/* Tries of a call that was lost with the engine or finds no service. */
#define TRIES_MAX 5

/* How long what the machine had no room for is put off. */
#define AGAIN_MS 1000U

/* How a step asks again, since every call to this service may be made twice; its answer; and
 * whether the step cannot do without: without the cache work is merely done once more. */
static const struct step_call {
    int (*again)(struct tri_task *task);
    int (*answered)(struct tri_task *task, const struct tri_reply *reply);
    bool is_needed;
} calls[TR_STEP_COUNT] = {
    [TR_STEP_DIGEST] = {tri_task_digest_again, tri_task_digest_answered, false},
    [TR_STEP_LOOKUP] = {tri_task_enter_lookup, tri_task_lookup_answered, false},
    [TR_STEP_FETCH] = {tri_task_fetch_next, tri_task_fetch_answered, true},
    [TR_STEP_KEEP] = {tri_task_keep_next, tri_task_keep_answered, true},
    [TR_STEP_OFFLOAD] = {tri_task_offload_again, tri_task_offload_answered, true},
    [TR_STEP_PUT] = {tri_task_enter_put, tri_task_put_answered, false},
    [TR_STEP_GRAPH] = {tri_task_graph_again, tri_task_graph_answered, true},
};

static int ask_again(struct tri_task *task)
{
    const struct step_call *call = &calls[task->state->step];
    int error = call->again == NULL ? 0 : tri_task_outputs_load(task);
    return error != 0 || call->again == NULL ? error : call->again(task);
}

/* The timer of tri_task_wait_out: the step's call is made again, from what the pages hold. */
int tri_task_ask_again(struct tri_task *task)
{
    if (task->state->call != 0) {
        return 0; /* it was aborted meanwhile, and is at something else */
    }
    return ask_again(task);
}

/*
 * Whether an answer tells of what the machine has too little of for the moment, or of a place of
 * the blobs that is away. How long an input elsewhere is waited for is the step's own matter.
 */
static bool may_pass(const struct tri_task *task, const struct tri_reply *reply)
{
    bool is_away = reply->event->kind == TR_TASK_ANSWER && reply->error == TR_NO_CONNECTION;
    return tr_error_is_shortage(reply->error) || (is_away && task->state->step != TR_STEP_FETCH);
}

/*
 * The call may have been lost with the engine: it is made again up to TRIES_MAX times. What
 * passes, such as a disk without room, fails no task: it is waited out where the step cannot do
 * without. Everything else is the step's to judge.
 */
int tri_task_answered(struct tri_task *task, const struct tr_task_event *event)
{
    struct tr_task_state *state = task->state;
    struct tri_reply reply = {.event = event};
    struct tr_blob_failed failed;
    if (event->kind == TR_TASK_FAILED) {
        if (event->error == TR_NO_CONNECTION && ++state->tries < TRIES_MAX) {
            return ask_again(task);
        }
        reply.error = event->error;
        reply.message = tr_text_of(tr_error_text(event->error));
    } else if (event->type == tr_blob_failed_schema.id) {
        int error = tr_blob_failed_unpack(event->body, event->version, &failed);
        if (error != 0) {
            return error;
        }
        reply.error = failed.error == 0 ? TR_FAILED : (int)failed.error;
        reply.message = failed.message;
    }
    state->tries = 0;
    const struct step_call *call = &calls[state->step];
    if (call->answered == NULL) {
        return 0;
    }
    return may_pass(task, &reply) && call->is_needed
               ? tri_task_wait_out(task, reply.message, AGAIN_MS)
               : call->answered(task, &reply);
}
