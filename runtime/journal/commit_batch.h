/*
 * A commit batch, on its way to the store: operations of many workers' batches, each thing at most
 * once.
 */
#ifndef TR_RUNTIME_JOURNAL_COMMIT_BATCH_H
#define TR_RUNTIME_JOURNAL_COMMIT_BATCH_H

#include "runtime/journal/batch.h"

/* Operations and an index of them by what they are about. The bytes stay the batches'. */
struct tri_commit_batch {
    struct tri_op *ops; /* kind 0: cancelled */
    size_t count;
    size_t capacity;
    uint32_t *places; /* open addressing: index + 1 */
    size_t place_count;
    uint32_t turn; /* deletions of rows so far */
};

/* Adds an operation; it replaces, or cancels, an earlier one about the same thing. TR_MEMORY. */
TR_MUST_USE int tri_commit_batch_add(struct tri_commit_batch *batch, const struct tri_op *op);

/* Drops what was cancelled and sorts the rest; after this only `clear` may follow. */
void tri_commit_batch_finish(struct tri_commit_batch *batch);

/* Empties it and keeps its memory. */
void tri_commit_batch_clear(struct tri_commit_batch *batch);

void tri_commit_batch_fini(struct tri_commit_batch *batch);

#endif
