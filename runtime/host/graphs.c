/*
 * Graphs of the program, which the journal commits beside the batches of workers.
 */
#include "runtime/host/host.h"

int tr_host_put_graph(struct tr_host *host, struct tr_bytes row, uint64_t now_ms)
{
    struct tri_op op = {.kind = TRI_OP_PUT_GRAPH, .number = now_ms, .data = row};
    if (host->store == NULL || row.size < TRI_GRAPH_HASH_BYTES) {
        return TR_INVALID;
    }
    tri_op_sort_by_hash(&op);
    return tri_inbox_put(&host->journal.inbox, &op, NULL);
}

int tr_host_remove_graphs(struct tr_host *host, struct tr_bytes hashes, uint64_t before_ms)
{
    struct tri_inbox *inbox = &host->journal.inbox;
    uint64_t ticket = 0;
    int error = 0;
    if (host->store == NULL || hashes.size % TRI_GRAPH_HASH_BYTES != 0) {
        return TR_INVALID;
    }
    for (size_t at = 0; error == 0 && at < hashes.size; at += TRI_GRAPH_HASH_BYTES) {
        struct tri_op op = {.kind = TRI_OP_DELETE_GRAPH,
                            .number = before_ms,
                            .data = {hashes.data + at, TRI_GRAPH_HASH_BYTES}};
        tri_op_sort_by_hash(&op);
        error = tri_inbox_put(inbox, &op, &ticket);
    }
    return error != 0 ? error : tri_inbox_wait(inbox, ticket);
}
