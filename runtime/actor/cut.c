/*
 * The output of a worker: batches for the journal, and frames for other places.
 *
 * A cut sends the journal everything that changed since the last one, as of between two messages.
 * It takes its number before any message of it leaves the worker (law 4 of
 * runtime/ARCHITECTURE.md), so a cut always comes before the frames to other workers.
 *
 * Messages to other workers, settled messages, rows and counters of new groups are added to the
 * batch when they occur. Images, pages and mailboxes are added only by the cut, once for each
 * changed actor, however many messages it has handled. So the cost of a cut depends on what has
 * changed, not on the number of actors.
 *
 * A cut is made between two messages. Then an actor's state, its mailbox and its sent messages are
 * consistent, and a start that loads them continues as if the process had only paused.
 */
#include "runtime/actor/deliver.h"

#include "runtime/actor/hooks.h"
#include "runtime/actor/image.h"

/* ----------------------------------------------------------- the journal */

/*
 * Packs the actor directly into the batch. The flag STORED means that the store will have it, so
 * its end must be written, too. Without memory the batch keeps its error and tri_cut_make ends the
 * host: a batch without one image would combine an old state with new messages.
 */
static void put_image(struct tri_worker *worker, struct tri_actor *actor)
{
    size_t size_max = tri_image_size_max(worker, actor);
    struct tri_op op = {
        .kind = TRI_OP_PUT_ACTOR,
        .type = tri_actor_behaviour(worker, actor)->id,
        .incarnation = actor->incarnation,
        .key = actor->key,
        .number = (actor->flags & TRI_ACTOR_STORED) == 0 ? 1 : 0, /* its first image */
    };
    uint8_t *at = tri_batch_reserve(&worker->batch, &op, size_max);
    if (at == NULL) {
        return;
    }
    struct tr_writer writer = tr_writer_of(at, size_max);
    int error = tri_image_write(worker, actor, &writer);
    TR_ASSERT(error == 0); /* the bound is ours */
    tri_batch_shrink(&worker->batch, size_max, tr_writer_size(&writer));
    actor->flags |= TRI_ACTOR_STORED;
}

struct page_visit {
    struct tri_worker *worker;
    struct tr_key key;
};

/* Adds one changed page; no bytes: it was removed. */
static void put_page(void *self, uint32_t page, struct tr_bytes bytes)
{
    const struct page_visit *visit = self;
    struct tri_op op = {
        .kind = bytes.data != NULL ? TRI_OP_PUT_PAGE : TRI_OP_DELETE_PAGE,
        .key = visit->key,
        .number = page,
        .data = bytes,
    };
    tri_batch_add(&visit->worker->batch, &op);
}

/*
 * Adds messages that arrived since the last cut and are not handled. A message that was handled in
 * between is never written.
 */
static void put_mailbox(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_message *message = actor->mailbox_fresh;
    for (; message != NULL; message = message->next) {
        if (message->is_stored == 0) {
            tri_message_put(worker, message);
        }
    }
    actor->mailbox_fresh = NULL;
}

/* Adds everything of an actor that changed since the last cut. */
static void put_actor(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->flags &= (uint16_t)~TRI_ACTOR_DIRTY;
    put_image(worker, actor);
    if (actor->pages != NULL) {
        struct page_visit visit = {.worker = worker, .key = actor->key};
        tri_page_each_dirty(actor, &visit, put_page);
    }
    put_mailbox(worker, actor);
}

/* A slot whose actor has ended, or was written before under the same slot, is not marked. */
static void put_actors(struct tri_worker *worker)
{
    for (uint32_t i = 0; i < worker->dirty_count; i++) {
        struct tri_actor *actor = tri_actor_at(worker, worker->dirty[i]);
        if ((actor->flags & TRI_ACTOR_DIRTY) != 0) {
            put_actor(worker, actor);
        }
    }
    worker->dirty_count = 0;
}

/*
 * Counters of spawns are written in the same batch as the actors that they numbered, so no key is
 * assigned twice after a crash.
 */
static void put_groups(struct tri_worker *worker)
{
    for (uint32_t i = 0; i < worker->dirty_group_count; i++) {
        struct tri_group *group = tri_group_find(worker, worker->dirty_groups[i]);
        if (group != NULL && group->is_counter_dirty) {
            group->is_counter_dirty = false;
            struct tri_op op = {.kind = TRI_OP_PUT_COUNTER,
                                .key = {group->number, worker->index + 1},
                                .number = group->next_spawn};
            tri_batch_add(&worker->batch, &op);
        }
    }
    worker->dirty_group_count = 0;
}

void tri_cut_make(struct tri_worker *worker)
{
    put_actors(worker);
    put_groups(worker);
    /*
     * An operation is missing. A restart continues from the last complete batch, which has the
     * lower number.
     */
    if (worker->batch.error != 0) {
        worker->fatal = worker->batch.error;
        return;
    }
    if (tri_batch_is_empty(&worker->batch)) {
        return;
    }
    /*
     * Commit order. The number is taken before anything of this cut is sent. A worker that handles
     * a sent message takes its own next number later, from the same counter. So an effect never has
     * a lower number than its cause, and a journal that commits numbers without a gap never keeps
     * an effect without its cause.
     */
    struct tri_shared *shared = worker->shared;
    uint64_t number = atomic_fetch_add_explicit(&shared->next_number, 1, memory_order_acq_rel);
    size_t size;
    uint8_t *data = tri_batch_take(&worker->batch, number, worker->index, &size);
    worker->cut_number = number;
    worker->cuts_outstanding++;
    worker->cut_bytes_outstanding += size;
    worker->handled_since_cut = 0;
    worker->metrics.cuts++;
    tri_tap_note_batches(worker);
    tri_outbox_send(&worker->outbox, worker->link, TRI_PLACE_JOURNAL, data, size);
}

/* ---------------------------------------------------------- other places */

/*
 * The sender's batch stores the message and the receiver's batch removes it. The receiver takes its
 * number later, so the order of commits is "stored, then removed", and after a crash in between the
 * message is in the store. The frame has the mark is_stored, so the receiver does not store it
 * again.
 */
void tri_outbound_add(struct tri_worker *worker, uint32_t place, struct tri_message *message)
{
    if (worker->is_journaled && message->is_stored == 0) {
        tri_message_put(worker, message);
    }
    struct tr_bytes bytes = {.data = message->bytes, .size = message->size};
    int error = tri_outbox_add(&worker->outbox, place, bytes, message->is_stored != 0);
    TR_ASSERT(error == 0); /* its space was reserved before it was accepted (commit.c) */
    worker->metrics.messages_sent++;
    tri_recorder_note(worker, TR_TAP_SEND, message, 0);
    tri_message_free(worker, message);
}

/* The cut is sent before the frames to other places, so their effects have later numbers. */
void tri_cut_flush(struct tri_worker *worker)
{
    if (worker->is_journaled) {
        tri_cut_make(worker);
    }
    if (worker->fatal == 0) {
        tri_outbox_flush(&worker->outbox, worker->link);
    }
}

/*
 * Waits until the pipe to the journal has taken everything, and checks once a millisecond. Only for
 * a worker that ends.
 */
void tri_cut_flush_journal(struct tri_worker *worker)
{
    tri_cut_flush(worker);
    while (worker->fatal == 0 && worker->outbox.places[TRI_PLACE_JOURNAL].backlog_count > 0) {
        tri_channel_wait(worker->link, 1000000);
        tri_outbox_flush(&worker->outbox, worker->link);
    }
}

/*
 * Memory is bounded by limits of what is outstanding: batches and their bytes towards the disk,
 * frames towards full pipes. A congested worker continues reading, so that two of them cannot wait
 * for each other.
 */
bool tri_is_congested(const struct tri_worker *worker)
{
    return worker->cuts_outstanding >= TR_CUTS_OUTSTANDING_MAX ||
           worker->cut_bytes_outstanding >= TR_CUT_BYTES_OUTSTANDING_MAX ||
           tri_outbox_is_congested(&worker->outbox);
}
