/*
 * The graphs that unfinished work of a store needs before an engine lets anything run.
 */
#ifndef TR_DEPLOY_NEEDS_H
#define TR_DEPLOY_NEEDS_H

#include "deploy/engine/assemble.h"

/* A graph, and who has to hold it: a launcher, or the schedules. */
struct tr_need {
    uint64_t graph;
    char holder[2 * 64];
};

struct tr_needs {
    struct tr_live *live;
    char *explain; /* TRI_STORE_EXPLAIN_BYTES: why they cannot be met */

    /* private */
    struct tr_need *items;
    size_t count;
    size_t capacity;
    struct tr_reader *reader;
};

/*
 * Reads who needs which graphs, puts them on the shelf, and notes the unfinished executions among
 * the sleepers; before the host's start. In a store that is new nobody needs anything. Errors:
 * those of tr_graphs_get and of the reader, TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_needs_read(struct tr_needs *needs);

/* Launchers and schedules take the graphs over; after the host's start. What asking says. */
TR_MUST_USE int tr_needs_hand_over(struct tr_needs *needs);

void tr_needs_fini(struct tr_needs *needs);

#endif
