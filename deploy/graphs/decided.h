/*
 * The graphs that dynamic nodes of one execution have decided, by the paths of those nodes: what
 * lies below such a node is found in its graph, not in the execution's.
 */
#ifndef TR_DEPLOY_GRAPHS_DECIDED_H
#define TR_DEPLOY_GRAPHS_DECIDED_H

#include "actors/graph/compiled/graph.h"
#include "runtime/journal/reader.h"

struct tr_decided {
    const char *folder; /* of the store; the caller's */
    struct tr_arena arena;
    struct tri_vector nodes;  /* private: sorted by path */
    struct tri_vector graphs; /* private: those that were read */
};

/* Whether a graph has a dynamic node at all; most have none, and nobody has to look further. */
bool tr_graph_decides(const struct tr_graph *graph);

/* None, before anything is read. */
void tr_decided_init(struct tr_decided *decided, const char *folder);

/* Reads which graphs there are; none is opened yet. TR_MEMORY, and what the reader says. */
TR_MUST_USE int tr_decided_read(struct tr_decided *decided, struct tr_reader *reader,
                                uint64_t execution);
void tr_decided_fini(struct tr_decided *decided);

/*
 * The graph of the node at a path, or of a number (tr_graph_number). TR_NOT_FOUND where there is
 * none, or where it cannot be read any more; TR_MEMORY.
 */
TR_MUST_USE int tr_decided_at(struct tr_decided *decided, struct tr_text path,
                              const struct tr_graph **graph);
TR_MUST_USE int tr_decided_numbered(struct tr_decided *decided, uint64_t number,
                                    const struct tr_graph **graph);

/*
 * The node and the graph at a position, counted from 0 on; positions end where it is TR_LIMIT.
 * Errors as above.
 */
TR_MUST_USE int tr_decided_get(struct tr_decided *decided, uint32_t position, struct tr_text *path,
                               const struct tr_graph **graph);

#endif
