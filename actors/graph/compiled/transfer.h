/*
 * The fields of a graph, named once for both directions: the same function writes a struct and
 * reads it. For graph_pack.c and graph_unpack.c only.
 */
#ifndef TR_ACTORS_GRAPH_COMPILED_TRANSFER_H
#define TR_ACTORS_GRAPH_COMPILED_TRANSFER_H

#include "actors/graph/compiled/pack.h"

/* One direction: with a buffer it writes, without one it reads from the cursor. */
struct tri_transfer {
    struct tr_buffer *buffer;
    struct tr_cursor cursor;
    struct tr_arena *arena;
    struct tr_types types; /* reading: what was read so far */
    struct tr_graph *graph;
};

/* Moves the whole graph. Errors are in the buffer, the cursor or the arena. */
void tri_transfer_graph(struct tri_transfer *transfer, struct tr_graph *graph);

#endif
