/*
 * A simple balancer: a busy worker offers some of its queue, and an idle worker takes it, by
 * ordinary moves. Off unless the host's options enable it.
 *
 * It helps only if messages take longer than a move: a fan-out of short tasks is faster on one
 * worker, so quick work is never offered.
 */
#ifndef TR_RUNTIME_MOVE_BALANCE_H
#define TR_RUNTIME_MOVE_BALANCE_H

#include "runtime/actor/deliver.h"

/* After a slice: offers work if the queue is too long. */
void tri_balance_offer(struct tri_worker *worker);

/* Another worker is busy: answers if this one is idle. */
void tri_balance_on_busy(struct tri_worker *worker, const struct tr_message *message);

/* Another worker is idle: up to half of the queue here may move there. */
void tri_balance_on_free(struct tri_worker *worker, const struct tr_message *message);

#endif
