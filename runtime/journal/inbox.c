/*
 * Two lists under one lock: what waits, and what the current commit has taken. A commit whose
 * outcome is unknown must be repeated as it was, so what was taken stays apart until it is done.
 */
#include "runtime/journal/inbox.h"

#include <string.h>

#include "runtime/memory.h"

struct tri_inbox_item {
    struct tri_inbox_item *next;
    struct tri_op op; /* its data is `bytes` */
    uint8_t bytes[];
};

static void lock(struct tri_inbox *inbox)
{
    int error = pthread_mutex_lock(&inbox->mutex);
    TR_ASSERT(error == 0);
}

static void unlock(struct tri_inbox *inbox)
{
    int error = pthread_mutex_unlock(&inbox->mutex);
    TR_ASSERT(error == 0);
}

void tri_inbox_init(struct tri_inbox *inbox)
{
    memset(inbox, 0, sizeof *inbox);
    pthread_mutex_init(&inbox->mutex, NULL);
    pthread_cond_init(&inbox->changed, NULL);
    inbox->last = &inbox->first;
    inbox->taken_last = &inbox->taken;
}

static void free_list(struct tri_inbox_item *item)
{
    while (item != NULL) {
        struct tri_inbox_item *next = item->next;
        tr_free(item);
        item = next;
    }
}

void tri_inbox_fini(struct tri_inbox *inbox)
{
    free_list(inbox->first);
    free_list(inbox->taken);
    pthread_cond_destroy(&inbox->changed);
    pthread_mutex_destroy(&inbox->mutex);
}

static int add(struct tri_inbox *inbox, struct tri_inbox_item *item, uint64_t *ticket)
{
    size_t size = item->op.data.size;
    if (inbox->is_closed) {
        return TR_CLOSED;
    }
    if (inbox->bytes > 0 && inbox->bytes + size > TRI_INBOX_BYTES_MAX) {
        return TR_BUSY;
    }
    *inbox->last = item;
    inbox->last = &item->next;
    inbox->bytes += size;
    inbox->put++;
    if (ticket != NULL) {
        *ticket = inbox->put;
    }
    atomic_store_explicit(&inbox->has_any, true, memory_order_release);
    return 0;
}

int tri_inbox_put(struct tri_inbox *inbox, const struct tri_op *op, uint64_t *ticket)
{
    struct tri_inbox_item *item = tr_alloc(sizeof *item + op->data.size);
    if (item == NULL) {
        return TR_MEMORY;
    }
    *item = (struct tri_inbox_item){.op = *op};
    if (op->data.size > 0) {
        memcpy(item->bytes, op->data.data, op->data.size);
    }
    item->op.data.data = item->bytes;
    lock(inbox);
    int error = add(inbox, item, ticket);
    unlock(inbox);
    if (error != 0) {
        tr_free(item);
    }
    return error;
}

int tri_inbox_wait(struct tri_inbox *inbox, uint64_t ticket)
{
    lock(inbox);
    while (inbox->done < ticket && !inbox->is_closed && inbox->waits_for == 0) {
        pthread_cond_wait(&inbox->changed, &inbox->mutex);
    }
    int error = inbox->done >= ticket ? 0 : inbox->is_closed ? TR_CLOSED : inbox->waits_for;
    unlock(inbox);
    return error;
}

static void take_more(struct tri_inbox *inbox)
{
    lock(inbox);
    if (inbox->first != NULL) {
        *inbox->taken_last = inbox->first;
        inbox->taken_last = inbox->last;
        inbox->first = NULL;
        inbox->last = &inbox->first;
    }
    unlock(inbox);
}

int tri_inbox_take(struct tri_inbox *inbox, bool takes_more, struct tri_commit_batch *batch)
{
    int error = 0;
    if (!tri_inbox_has_any(inbox)) {
        return 0;
    }
    if (takes_more) {
        take_more(inbox);
    }
    for (const struct tri_inbox_item *item = inbox->taken; error == 0 && item != NULL;
         item = item->next) {
        error = tri_commit_batch_add(batch, &item->op);
    }
    return error;
}

void tri_inbox_finish(struct tri_inbox *inbox, int error)
{
    struct tri_inbox_item *done = NULL;
    if (!tri_inbox_has_any(inbox)) {
        return;
    }
    lock(inbox);
    inbox->waits_for = error;
    if (error == 0) {
        done = inbox->taken;
        for (const struct tri_inbox_item *item = done; item != NULL; item = item->next) {
            inbox->bytes -= item->op.data.size;
            inbox->done++;
        }
        inbox->taken = NULL;
        inbox->taken_last = &inbox->taken;
        atomic_store_explicit(&inbox->has_any, inbox->first != NULL, memory_order_release);
    }
    pthread_cond_broadcast(&inbox->changed);
    unlock(inbox);
    free_list(done);
}

void tri_inbox_close(struct tri_inbox *inbox)
{
    lock(inbox);
    inbox->is_closed = true;
    pthread_cond_broadcast(&inbox->changed);
    unlock(inbox);
}
