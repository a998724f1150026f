/*
 * A commit batch: the operations of many workers' batches for one commit of the store, at most one
 * for each object.
 */
#ifndef TR_RUNTIME_JOURNAL_COMMIT_BATCH_H
#define TR_RUNTIME_JOURNAL_COMMIT_BATCH_H

#include "runtime/journal/batch.h"

/* A place of the index: the operation there, and a part of its hash, which spares looking at it. */
struct tri_commit_place {
    uint32_t position; /* in `ops`, from 1 on; 0: the place is free */
    uint32_t hash;
};

/* Operations, and an index by object. Their bytes stay in the batches. */
struct tri_commit_batch {
    struct tri_op *ops; /* kind 0: cancelled */
    size_t count;
    size_t capacity;
    struct tri_commit_place *places; /* open addressing */
    size_t place_count;
    uint32_t turn; /* deletions of rows so far */
};

/* Adds an operation; it replaces or cancels an earlier one on the same object. TR_MEMORY. */
TR_MUST_USE int tri_commit_batch_add(struct tri_commit_batch *batch, const struct tri_op *op);

/*
 * Drops cancelled operations and sorts the rest as a store's tables need it; afterwards only
 * `clear` may be called.
 */
void tri_commit_batch_finish(struct tri_commit_batch *batch);

/*
 * The same for a store that adds them to a batch of its own again (`gathers`), which is cheaper:
 * they are sorted only where their order means something.
 */
void tri_commit_batch_finish_unsorted(struct tri_commit_batch *batch);

/* Empties it and keeps its memory. */
void tri_commit_batch_clear(struct tri_commit_batch *batch);

void tri_commit_batch_fini(struct tri_commit_batch *batch);

#endif
