/*
 * A short table: whoever was asked for longest ago makes room.
 */
#include "deploy/api_runs/graphs_kept.h"

#include <string.h>

#include "deploy/api_runs/runs_limits.h"
#include "deploy/graphs/graphs.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct kept_graph {
    struct tr_graph *graph; /* NULL: the place is free */
    uint64_t asked;
};

struct tr_graphs_kept {
    struct kept_graph places[TR_DESK_GRAPHS_MAX];
    uint64_t asked;
};

int tr_graphs_kept_new(struct tr_graphs_kept **kept)
{
    struct tr_graphs_kept *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        return TR_MEMORY;
    }
    *kept = made;
    return 0;
}

void tr_graphs_kept_free(struct tr_graphs_kept *kept)
{
    for (size_t i = 0; kept != NULL && i < TR_COUNT_OF(kept->places); i++) {
        tr_graph_free(kept->places[i].graph);
    }
    tr_free(kept);
}

int tr_graphs_kept_get(struct tr_graphs_kept *kept, struct tr_reader *reader, struct tr_bytes hash,
                       const struct tr_graph **graph)
{
    struct kept_graph *oldest = &kept->places[0];
    struct tr_graph *read;
    if (hash.size != TR_GRAPH_HASH_BYTES) {
        return TR_NOT_FOUND;
    }
    for (size_t i = 0; i < TR_COUNT_OF(kept->places); i++) {
        struct kept_graph *place = &kept->places[i];
        if (place->graph != NULL && memcmp(place->graph->hash, hash.data, hash.size) == 0) {
            place->asked = ++kept->asked;
            *graph = place->graph;
            return 0;
        }
        oldest = place->asked < oldest->asked ? place : oldest;
    }
    int error = tr_graphs_read(reader, hash, &read);
    if (error != 0) {
        return error;
    }
    tr_graph_free(oldest->graph);
    *oldest = (struct kept_graph){.graph = read, .asked = ++kept->asked};
    *graph = read;
    return 0;
}
