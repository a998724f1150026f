/*
 * What a live engine takes for executions from people: answers to their gates, and
 * pauses.
 */
#ifndef TR_DEPLOY_SERVER_SERVE_GATES_H
#define TR_DEPLOY_SERVER_SERVE_GATES_H

#include "deploy/engine/assemble.h"
#include "schemas/runtime/request.h"

/*
 * Hands an answer to an execution when it suits a gate of its graph. `sent` is what to say; its
 * words are in `words` (TR_SERVE_WORDS_BYTES).
 */
#define TR_SERVE_WORDS_BYTES 512
void tr_serve_answer(struct tr_live *live, const struct tr_send_answer *answer, char *words,
                     struct tr_answer_sent *sent);

/* Pauses an execution, or lets it go on. TR_NO_ACTOR: it has ended; else as tr_query_root. */
TR_MUST_USE int tr_serve_pause(struct tr_live *live, const struct tr_pause_execution *pause);

#endif
