/*
 * A group on its way to the store: operations of many batches, each thing at most once.
 */
#ifndef TR_RUNTIME_JOURNAL_GROUP_H
#define TR_RUNTIME_JOURNAL_GROUP_H

#include "runtime/journal/batch.h"

/* Operations and an index of them by what they are about. The bytes stay the batches'. */
struct tri_group_commit {
    struct tri_op *ops; /* kind 0: cancelled */
    size_t count;
    size_t capacity;
    uint32_t *places; /* open addressing: index + 1 */
    size_t place_count;
    uint32_t turn; /* deletions of rows so far */
};

/* Adds an operation; it replaces, or cancels, an earlier one about the same thing. TR_MEMORY. */
TR_MUST_USE int tri_group_commit_add(struct tri_group_commit *group, const struct tri_op *op);

/* Drops what was cancelled and sorts the rest; after this only `clear` may follow. */
void tri_group_commit_finish(struct tri_group_commit *group);

/* Empties it and keeps its memory. */
void tri_group_commit_clear(struct tri_group_commit *group);

void tri_group_commit_fini(struct tri_group_commit *group);

#endif
