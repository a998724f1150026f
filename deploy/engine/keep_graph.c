/*
 * It is packed each time: a graph that the store has is only looked up there, and nobody but the
 * store knows what was removed.
 */
#include "deploy/engine/keep_graph.h"

#include <stdio.h>

#include "deploy/common/clock.h"
#include "deploy/graphs/graphs.h"

int tr_live_keep_graph(struct tr_live *live, const struct tr_graph *graph, char *words)
{
    struct tr_buffer row;
    char hex[TR_GRAPH_HEX_BYTES];
    int error = tr_graphs_row(graph, &row);
    if (error == 0) {
        error = tr_host_put_graph(live->host, tr_buffer_bytes(&row), tr_clock_wall_ms());
    }
    tr_buffer_fini(&row);
    if (error != 0) {
        tr_graph_hex(graph->hash, hex);
        (void)snprintf(words, TRI_STORE_EXPLAIN_BYTES,
                       "the definition, graph %s, cannot be kept in the store %.200s: %s", hex,
                       live->folder,
                       error == TR_LIMIT  ? "it is larger than 512 MiB; part it into several"
                       : error == TR_BUSY ? "too much waits to be written; try again"
                                          : tr_error_text(error));
    }
    return error;
}
