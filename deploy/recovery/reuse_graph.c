/*
 * Whether a dynamic node has decided the same graph as in the execution that is taken over: only
 * then are its nodes the ones that gave something there.
 */
#include <string.h>

#include "actors/graph/compiled/graph.h"
#include "deploy/recovery/reuse_inside.h"
#include "schemas/engine/history.h"

static int take_graph(void *self, const void *row)
{
    struct tr_buffer *hash = self;
    struct tr_bytes graph = ((const struct tr_node_status *)row)->graph;
    tr_buffer_cut(hash, 0);
    tr_buffer_add(hash, graph.data, graph.size);
    return hash->error;
}

/* Reads the hash of the graph that the node at a path had decided, into `slots`. */
static int read_graph(struct tri_reuse *reuse, struct tr_text path)
{
    uint64_t execution;
    uint8_t phase;
    int error = tri_reuse_find(reuse, path, &execution, &phase);
    if (error != 0) {
        return error;
    }
    const struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    const struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(reuse->reader, &query, take_graph, &reuse->slots);
}

int tr_reuse_graph(const struct tr_inquiry *inquiry, struct tr_text recovery, struct tr_text path,
                   const uint8_t *hash, bool *is_same, char *explain)
{
    struct tri_reuse reuse;
    int error = tri_reuse_begin(&reuse, inquiry, recovery, explain);
    if (error == 0) {
        error = tri_reuse_explain_history(&reuse, read_graph(&reuse, path));
    }
    if (error == 0) {
        *is_same = reuse.slots.size == TR_GRAPH_HASH_BYTES &&
                   memcmp(reuse.slots.data, hash, TR_GRAPH_HASH_BYTES) == 0;
    }
    tri_reuse_finish(&reuse);
    return error;
}
