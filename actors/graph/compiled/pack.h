/*
 * A graph as bytes: what is stored under its hash and sent to other hosts.
 *
 * Packing the same definition gives the same bytes on every machine; reading checks every number,
 * so that bytes of any origin give either a graph whose indexes all hold, or an error.
 */
#ifndef TR_ACTORS_GRAPH_COMPILED_PACK_H
#define TR_ACTORS_GRAPH_COMPILED_PACK_H

#include "actors/graph/compiled/graph.h"

/* The version of the packed form. A reader of version N reads all older ones. */
#define TR_GRAPH_VERSION 1

/* Appends the packed graph. */
TR_MUST_USE int tr_graph_pack(const struct tr_graph *graph, struct tr_buffer *buffer);

/*
 * Reads a packed graph, which becomes the caller's. Its texts are copies. TR_MALFORMED,
 * TR_VERSION, TR_MEMORY or TR_LIMIT.
 */
TR_MUST_USE int tr_graph_unpack(struct tr_bytes bytes, struct tr_graph **graph);

/* Sets the graph's hash: the SHA-256 of its packed form. */
TR_MUST_USE int tr_graph_name(struct tr_graph *graph);

/* SHA-256, TR_GRAPH_HASH_BYTES of it. */
void tr_digest(struct tr_bytes bytes, uint8_t *hash);

#endif
