/*
 * What leaves a worker: batches for the journal, and batches for other places.
 *
 * A cut gives the journal everything that changed since the last one, as it is between two
 * messages. Its number is taken before anything of it leaves the worker (law 4), so a cut always
 * comes before the batches to other workers.
 */
#include "runtime/host/worker.h"

#include "runtime/actor/image.h"
#include "runtime/watch/port.h"

/* ----------------------------------------------------------- the journal */

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

static void put_groups(struct tri_worker *worker)
{
    for (uint32_t i = 0; i < worker->dirty_group_count; i++) {
        struct tri_group *group = tri_group_find(worker, worker->dirty_groups[i]);
        if (group != NULL && group->is_counter_dirty) {
            group->is_counter_dirty = false;
            struct tri_op op = {.kind = TRI_OP_PUT_COUNTER,
                                .key = {group->number, worker->index + 1},
                                .number = group->next_birth};
            tri_batch_add(&worker->batch, &op);
        }
    }
    worker->dirty_group_count = 0;
}

void tri_cut(struct tri_worker *worker)
{
    put_actors(worker);
    put_groups(worker);
    if (worker->batch.error != 0) {
        worker->fatal = worker->batch.error;
        return;
    }
    if (tri_batch_is_empty(&worker->batch)) {
        return;
    }
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

void tri_outbound_add(struct tri_worker *worker, uint32_t place, struct tri_message *message)
{
    if (worker->is_journaled && message->is_stored == 0) {
        tri_message_put(worker, message);
    }
    struct tr_bytes bytes = {.data = message->bytes, .size = message->size};
    int error = tri_outbox_add(&worker->outbox, place, bytes, message->is_stored != 0);
    TR_ASSERT(error == 0); /* its room was taken before it was accepted (runtime/actor/room.c) */
    worker->metrics.messages_sent++;
    tri_record(worker, TR_TAP_SEND, message, 0);
    tri_message_free(worker, message);
}

void tri_flush(struct tri_worker *worker)
{
    if (worker->is_journaled) {
        tri_cut(worker);
    }
    if (worker->fatal == 0) {
        tri_outbox_flush(&worker->outbox, worker->link);
    }
}

void tri_flush_journal(struct tri_worker *worker)
{
    tri_flush(worker);
    while (worker->fatal == 0 && worker->outbox.places[TRI_PLACE_JOURNAL].backlog_count > 0) {
        tri_link_wait(worker->link, 1000000);
        tri_outbox_flush(&worker->outbox, worker->link);
    }
}
