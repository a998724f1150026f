/*
 * Questions that a node asks before it begins: whether it need not run, since an earlier execution
 * has its outputs (workflow_recover.c), or for inputs that look into values which lie elsewhere
 * (workflow_bind.c). What comes of them is in workflow_answer.c.
 *
 * A workflow has one question under way, for the node at the front of its queue. The node stays
 * there until the answer is here, so a question that fails, or that a crash or a pause makes
 * worthless, is simply put again: asking changes nothing.
 *
 * `recovery_call` says what is under way: 0 nothing, TRI_QUESTION_WAITS a wait before the question
 * is put again, anything else the number of the call. While it is not 0 no node of the graph
 * begins, since the first of the queue has to be the one that was asked for when the answer comes.
 */
#include "actors/workflow/workflow.h"
#include "schemas/runtime/files.h"

int tri_workflow_ask(struct tri_flow *flow, enum tri_question kind, const struct tr_schema *schema,
                     const void *body)
{
    struct tr_workflow_state *state = flow->state;
    TR_ASSERT(state->recovery_call == 0);
    state->question_kind = (uint8_t)kind;
    return tr_call(flow->context, TR_SERVICE_FILES, schema, body, 0, &state->recovery_call);
}

/* An answer that is still on its way is dropped by the runtime (tr_ask_cancel). */
int tri_workflow_ask_give_up(struct tri_flow *flow)
{
    uint64_t call = flow->state->recovery_call;
    flow->state->recovery_call = 0;
    flow->state->recovery_tries = 0;
    if (call == 0) {
        return 0;
    }
    return call == TRI_QUESTION_WAITS ? tr_timer_stop(flow->context, TRI_TIMER_QUESTION)
                                      : tr_ask_cancel(flow->context, call);
}

void tri_workflow_ask_again(struct tri_flow *flow)
{
    if (flow->state->recovery_call == TRI_QUESTION_WAITS) {
        flow->state->recovery_call = 0;
    }
}
