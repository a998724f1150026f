/*
 * Writing of the program itself. Its operations become a batch with a number of the workers' order,
 * so that the journal alone writes the store, under the fence of this host.
 *
 * The number is taken right before the batch is sent: the journal commits nothing behind a number
 * that it does not have. The answer is a call in that batch, which leaves when it is committed.
 */
#include "runtime/host/control.h"

/* What the program hears when the batch is committed. */
static int add_reply(struct tr_host *host, struct tri_batch *batch, uint64_t request)
{
    uint8_t bytes[TR_ENVELOPE_BYTES + 64];
    struct tr_control_reply reply = {.request = request};
    struct tr_writer writer =
        tr_writer_of(bytes + TR_ENVELOPE_BYTES, sizeof bytes - TR_ENVELOPE_BYTES);
    int error = tr_control_reply_pack(&reply, &writer);
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_SIGNAL,
        .version = tr_control_reply_schema.version,
        .type = tr_control_reply_schema.id,
        .body_size = (uint32_t)tr_writer_size(&writer),
        .to_serial = TR_SERVICE_CONTROL,
        .from_group = host->shared.host.key.group,
        .from_serial = TR_SERVICE_CONTROL,
        .from_incarnation = host->shared.host.incarnation,
        .from_epoch = host->shared.host.incarnation,
        .sequence = ++host->sender.said,
    };
    if (error != 0) {
        return error;
    }
    tr_envelope_pack(&envelope, bytes);
    struct tr_bytes message = {.data = bytes, .size = TR_ENVELOPE_BYTES + envelope.body_size};
    tri_batch_add_call(batch, TRI_PLACE_CONTROL, message);
    return batch->error;
}

int tr_host_write(struct tr_host *host, const struct tri_op *ops, size_t count)
{
    struct tri_batch batch = {.data = NULL};
    if (!host->is_started || host->store == NULL) {
        return TR_CLOSED;
    }
    if (host->writing != 0) {
        return TR_BUSY;
    }
    for (size_t i = 0; i < count; i++) {
        tri_batch_add(&batch, &ops[i]);
    }
    uint64_t request = tri_control_request(host);
    int error = add_reply(host, &batch, request);
    if (error != 0) {
        tri_batch_fini(&batch);
        return error;
    }
    host->writing = request;
    size_t size;
    uint64_t number = atomic_fetch_add_explicit(&host->shared.next_number, 1, memory_order_acq_rel);
    uint8_t *data = tri_batch_take(&batch, number, TRI_BATCH_OF_PROGRAM, &size);
    tri_outbox_send(&host->sender.outbox, host->sender.link, TRI_PLACE_JOURNAL, data, size);
    tri_sender_flush(&host->sender);
    return 0;
}

struct tr_ref tr_host_self(const struct tr_host *host)
{
    return host->shared.host;
}

int tr_host_may_begin(const struct tr_host *host)
{
    return tri_group_may_begin(&host->shared);
}

int tr_host_written(struct tr_host *host)
{
    int error = atomic_load(&host->fatal);
    return error != 0 ? error : host->writing != 0 ? TR_BUSY : 0;
}

/* Graphs, which the journal commits beside the batches of workers. */

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
