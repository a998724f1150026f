/*
 * Reads the graph, unless this host has it already, and holds it until the asker says graph_drop.
 */
#include "deploy/inquiries/graph_read.h"

#include <stdio.h>

#include "actors/engine.h"
#include "deploy/graphs/graphs.h"
#include "schemas/runtime/inquiry.h"

static int hold(const struct tr_inquiry *inquiry, struct tr_bytes hash)
{
    struct tr_engine *engine = inquiry->program;
    struct tr_graph *graph = NULL;
    uint64_t number;
    if (tr_graph_registry_share(&engine->registry, hash.data)) {
        return 0;
    }
    int error = tr_graphs_get(inquiry->store_folder, hash, &graph);
    return error != 0 ? error : tr_graph_registry_put(&engine->registry, graph, &number);
}

int tr_graph_read_answer(const struct tr_inquiry *inquiry, char *explain)
{
    struct tr_graph_read asked;
    struct tr_engine *engine = inquiry->program;
    if (tr_graph_read_unpack(inquiry->body, inquiry->version, &asked) != 0 ||
        asked.graph.size != TR_GRAPH_HASH_BYTES) {
        return TR_MALFORMED;
    }
    int error = hold(inquiry, asked.graph);
    if (error != 0) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "its definition cannot be read: %s",
                 tr_error_text(error));
        return error;
    }
    const struct tr_graph_made made = {.graph = asked.graph, .engine_start = engine->life};
    error = tr_inquiry_answer(inquiry, &tr_graph_made_schema, &made);
    if (error != 0) {
        tr_graph_registry_drop(&engine->registry, tr_graph_number(asked.graph.data));
    }
    return error;
}
