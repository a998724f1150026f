/*
 * The simplest balancer: a worker with real work in its queue offers some of it, and a worker with
 * nothing to do takes it, by ordinary moves. Off unless the host's options ask for it.
 *
 * It helps only where messages take longer than a move: a fan-out of no-ops is faster on one
 * worker, so work that is quick is never offered.
 */
#ifndef TR_RUNTIME_MOVE_BALANCE_H
#define TR_RUNTIME_MOVE_BALANCE_H

#include "runtime/actor/deliver.h"

/* After a slice: offers work if there is too much of it here. */
void tri_balance(struct tri_worker *worker);

/* Another worker has too much: answer if this one has nothing. */
void tri_balance_on_busy(struct tri_worker *worker, const struct tr_message *message);

/* Another worker has nothing: half of what waits here may go there. */
void tri_balance_on_free(struct tri_worker *worker, const struct tr_message *message);

#endif
