/*
 * Messages that came to a moved actor by the new way while older ones may still be on the old one.
 * They wait in the order of their coming; see move/move.c for who says when the old way is empty.
 *
 * Moves are made one at a time, so the list has an entry for one actor at most and a search costs
 * nothing. A start knows nothing of this list: it finds these messages in the store and sorts them
 * with all others.
 */
#include "runtime/actor/deliver.h"

static struct tri_held **find_held(struct tri_worker *worker, struct tr_key key)
{
    struct tri_held **link = &worker->held;
    while (*link != NULL && !tr_key_equal((*link)->actor, key)) {
        link = &(*link)->next;
    }
    return link;
}

void tri_hold(struct tri_worker *worker, struct tri_actor *actor, struct tri_message *message)
{
    struct tri_held **link = find_held(worker, actor->key);
    if (*link == NULL) {
        struct tri_held *held = tr_alloc_zero(1, sizeof *held);
        TR_ASSERT(held != NULL); /* a message that was accepted must not be lost */
        held->actor = actor->key;
        *link = held;
    }
    struct tri_held *held = *link;
    message->next = NULL;
    /* It lies in no mailbox, so no cut would find it. */
    if (worker->is_journaled && message->is_stored == 0) {
        tri_message_put(worker, message);
    }
    if (held->tail != NULL) {
        held->tail->next = message;
    } else {
        held->head = message;
    }
    held->tail = message;
    held->count++;
}

uint32_t tri_held_count(struct tri_worker *worker, struct tr_key key)
{
    const struct tri_held *held = *find_held(worker, key);
    return held == NULL ? 0 : held->count;
}

/* Takes what is held for a key out of the worker's list. */
static struct tri_message *take_held(struct tri_worker *worker, struct tr_key key)
{
    struct tri_held **link = find_held(worker, key);
    struct tri_held *held = *link;
    if (held == NULL) {
        return NULL;
    }
    struct tri_message *first = held->head;
    *link = held->next;
    tr_free(held);
    return first;
}

/*
 * The mailbox has everything that came by the old way. These go behind it, so the order of each
 * sender is kept.
 */
void tri_hold_release(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tr_key key = actor->key;
    struct tri_message *message = take_held(worker, key);
    while (message != NULL) {
        struct tri_message *next = message->next;
        /* One of them may end the actor, so each looks for its receiver. */
        tri_deliver(worker, message, 0);
        message = next;
    }
}

void tri_hold_forget(struct tri_worker *worker, struct tr_key key)
{
    struct tri_message *message = take_held(worker, key);
    while (message != NULL) {
        struct tri_message *next = message->next;
        tri_dead_letter(worker, message, TR_NO_ACTOR);
        message = next;
    }
}
