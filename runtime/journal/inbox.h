/*
 * Operations for the journal that come from no worker, such as a graph that the program keeps: they
 * are in the next commit that the journal begins. So whatever a worker does because of a message
 * that was sent after tri_inbox_put is committed with them or later.
 *
 * Any thread puts; the journal's takes. It is the one place of a host where threads share a lock,
 * since a frame could be overtaken by one of another pipe.
 */
#ifndef TR_RUNTIME_JOURNAL_INBOX_H
#define TR_RUNTIME_JOURNAL_INBOX_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/journal/commit_batch.h"

/* Bytes that may wait; a first operation may be larger. */
#define TRI_INBOX_BYTES_MAX (64U << 20)

struct tri_inbox_item;

struct tri_inbox {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct tri_inbox_item *first; /* not taken yet */
    struct tri_inbox_item **last;
    struct tri_inbox_item *taken; /* of the current commit, until it is done */
    struct tri_inbox_item **taken_last;
    size_t bytes;   /* of both */
    uint64_t put;   /* operations so far */
    uint64_t done;  /* of these, committed */
    int waits_for;  /* why the journal cannot commit now, or 0 */
    bool is_closed; /* it never commits again */
    atomic_bool has_any;
};

void tri_inbox_init(struct tri_inbox *inbox);

/* Drops what was not committed, as in a crash. */
void tri_inbox_fini(struct tri_inbox *inbox);

/*
 * Copies an operation and its bytes. `ticket` (or NULL) is for tri_inbox_wait. TR_BUSY (too much
 * waits), TR_CLOSED, TR_MEMORY.
 */
TR_MUST_USE int tri_inbox_put(struct tri_inbox *inbox, const struct tri_op *op, uint64_t *ticket);

/*
 * Waits until the operation of a ticket, and all before it, are committed. TR_CLOSED, or the error
 * for which the journal waits, such as TR_STORE_FULL: they may still be committed later.
 */
TR_MUST_USE int tri_inbox_wait(struct tri_inbox *inbox, uint64_t ticket);

/* --- For the journal. --- */

/* Whether there is something to be committed. */
static inline bool tri_inbox_has_any(struct tri_inbox *inbox)
{
    return atomic_load_explicit(&inbox->has_any, memory_order_acquire);
}

/*
 * Adds what was taken before and not committed, and with `takes_more` what has come since, to a
 * commit batch; their bytes stay until tri_inbox_finish. TR_MEMORY.
 */
TR_MUST_USE int tri_inbox_take(struct tri_inbox *inbox, bool takes_more,
                               struct tri_commit_batch *batch);

/* What was taken is committed; or with an error it is not, and is taken again. */
void tri_inbox_finish(struct tri_inbox *inbox, int error);

/* Nothing is committed any more. */
void tri_inbox_close(struct tri_inbox *inbox);

#endif
