/*
 * The graphs of a store: each definition that was ever run lies in STORE/graphs, packed, under its
 * SHA-256, before an execution of it begins.
 */
#ifndef TR_DEPLOY_HISTORY_GRAPHS_H
#define TR_DEPLOY_HISTORY_GRAPHS_H

#include "actors/graph/compiled/graph.h"

/* The name of a graph: its hash in hexadecimal digits, and a closing zero. */
#define TR_GRAPH_HEX_BYTES (2 * TR_GRAPH_HASH_BYTES + 1)
void tr_graph_hex(const uint8_t *hash, char hex[TR_GRAPH_HEX_BYTES]);

/*
 * Keeps a graph that has its hash; of one that is there already only the age begins anew. With
 * `is_synced` it outlives the loss of power. TR_MEMORY, TR_STORE_FULL, TR_SYSTEM (errno).
 */
TR_MUST_USE int tr_graphs_put(const char *store, const struct tr_graph *graph, bool is_synced);

/*
 * Removes a graph by its name if it is older than a time: as old as the last tr_graphs_put of it.
 * `bytes` is its size, 0 where it stays. TR_SYSTEM (errno).
 */
TR_MUST_USE int tr_graphs_remove_old(const char *store, const char *name, uint64_t before_ms,
                                     uint64_t *bytes);

/*
 * Reads the graph of a hash, which becomes the caller's. TR_NOT_FOUND, TR_STORE_DAMAGED (it is not
 * what its name says), TR_VERSION (of a newer program), TR_SYSTEM (errno), TR_MEMORY.
 */
TR_MUST_USE int tr_graphs_get(const char *store, struct tr_bytes hash, struct tr_graph **graph);

#endif
