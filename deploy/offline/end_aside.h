/*
 * Ending an execution that was set aside: no engine loads it, so it is taken out of the store as it
 * is. Its history says that it was aborted, and keeps what was known of its nodes.
 */
#ifndef TR_DEPLOY_OFFLINE_END_ASIDE_H
#define TR_DEPLOY_OFFLINE_END_ASIDE_H

#include "deploy/history/executions.h"
#include "runtime/journal/store.h"

struct tr_end_aside {
    struct tri_store *store; /* opened for writing */
    const struct tr_execution *row;
    struct tr_text cause;
    uint64_t now_ms;
    uint64_t said;          /* by the program, in this opening */
    struct tri_vector *ops; /* the commit, to which is added */
    struct tr_arena *arena;
};

/* Adds the writing of a row to a commit. TR_MEMORY, and those of packing. */
TR_MUST_USE int tr_row_add(struct tr_arena *arena, struct tri_vector *ops,
                           const struct tr_schema *record, const void *row);

/* Adds what ends it. TR_STORE_DAMAGED, TR_MEMORY, and what reading images says. */
TR_MUST_USE int tr_end_aside(struct tr_end_aside *ending);

#endif
