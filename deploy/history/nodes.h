/*
 * What is known of the nodes of one execution: read from the history again and again, sorted by
 * path. For commands that show how an execution goes.
 */
#ifndef TR_DEPLOY_HISTORY_NODES_H
#define TR_DEPLOY_HISTORY_NODES_H

#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* One node. Texts belong to it. */
struct tr_node_seen {
    char *path;
    char *kind;    /* "task", "map", … */
    char *target;  /* of a gate its id */
    char *message; /* "CODE: message" of a failure; "" */
    uint8_t phase; /* enum tr_node_phase */
    uint8_t shown; /* the phase that was shown last; the caller sets it */
    uint32_t attempts;
    uint32_t shown_attempts; /* those that were shown last; the caller sets it */
    uint8_t cache_status;
    uint64_t created_ms;
    uint64_t started_ms;
    uint64_t ended_ms;
    /* Of an array; total 0: it has told nothing yet. */
    uint64_t total;
    uint64_t running;
    uint64_t succeeded;
    uint64_t cached; /* of those: from the cache */
    uint64_t failed;
    uint64_t retrying;
    uint64_t shown_done; /* the elements that were shown last; the caller sets it */
};

struct tr_nodes {
    uint64_t execution;
    struct tr_node_seen *items;
    size_t count;

    /* private */
    size_t capacity;
    size_t at; /* where the next row is looked for: rows come sorted */
};

void tr_nodes_init(struct tr_nodes *nodes, uint64_t execution);
void tr_nodes_fini(struct tr_nodes *nodes);

/* Reads what the reader's moment holds. TR_MEMORY, and what the reader says. */
TR_MUST_USE int tr_nodes_read(struct tr_nodes *nodes, struct tr_reader *reader);

/* Takes in one row, as tr_nodes_read does. TR_MEMORY. */
TR_MUST_USE int tr_nodes_take_status(struct tr_nodes *nodes, const struct tr_node_status *row);
TR_MUST_USE int tr_nodes_take_progress(struct tr_nodes *nodes, const struct tr_progress *row);

#endif
