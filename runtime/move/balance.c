/*
 * Offers and takes work. The later half of the run queue moves, which waits longest, a few actors
 * at a time, so that a mistake is small.
 */
#include "runtime/move/balance.h"

/* Minimum queue length for an offer. */
#define QUEUE_LEAST 4

/* Minimum time of a message: a move takes a hundred microseconds. */
#define MESSAGE_NS_LEAST 50000

/* Actors moved at once, and the minimum interval of offers. */
#define MOVES_AT_ONCE 8
#define OFFER_EVERY_NS 2000000

/*
 * A queue that is long because a pipe or the journal is behind would not be shorter elsewhere, and
 * offers would wait in the same pipes.
 */
static bool has_too_much(const struct tri_worker *worker)
{
    return !tri_is_congested(worker) && worker->outbox.backlog_count == 0 &&
           worker->ready.count >= QUEUE_LEAST && worker->message_ns >= MESSAGE_NS_LEAST;
}

/*
 * Tells all workers that this one is busy, at most every OFFER_EVERY_NS. The time is set before any
 * answer, so a worker without idle neighbours does not repeat it in each slice.
 */
void tri_balance_offer(struct tri_worker *worker)
{
    if (!has_too_much(worker) || worker->now_ns - worker->balanced_ns < OFFER_EVERY_NS) {
        return;
    }
    worker->balanced_ns = worker->now_ns;
    struct tr_busy busy = {.worker = worker->index};
    for (uint32_t place = 0; place < worker->shared->worker_count; place++) {
        if (place != worker->index) {
            tri_tell_worker(worker, place, &tr_busy_schema, &busy);
        }
    }
}

/* An idle worker answers. Several may: each gets a few actors. */
void tri_balance_on_busy(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_busy busy;
    if (tr_message_read(message, busy, &busy) != 0 || worker->ready.count > 0 ||
        busy.worker >= worker->shared->worker_count) {
        return;
    }
    tri_tell_worker(worker, busy.worker, &tr_free_schema, &(struct tr_free){worker->index});
}

void tri_balance_on_free(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_free idle;
    if (tr_message_read(message, free, &idle) != 0 || !has_too_much(worker)) {
        return;
    }
    uint32_t stays = worker->ready.count / 2;
    uint32_t slot = worker->ready.head;
    for (uint32_t i = 0; i < stays + MOVES_AT_ONCE && slot != 0; i++) {
        const struct tri_actor *actor = tri_actor_at(worker, slot);
        if (i >= stays && actor->phase == TRI_READY) {
            struct tr_move_ask ask = {.actor = actor->key, .to_worker = idle.worker};
            tri_tell_worker(worker, 0, &tr_move_ask_schema, &ask);
        }
        slot = actor->run_next;
    }
}
