/*
 * Injected bugs between places: whole batches, and single messages within them.
 */
#include "tests/sim/inject.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

static bool is_between_workers(uint32_t from, uint32_t to)
{
    return from < TR_WORKERS_MAX && to < TR_WORKERS_MAX && from != to;
}

void sim_inject_reorders(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                         size_t size)
{
    sim_net_push(&host->net, from, to, data, size);
    if (is_between_workers(from, to) && sim_inject_strikes(host, 2)) {
        sim_net_swap_last(&host->net, from, to);
    }
}

void sim_inject_doubles(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                        size_t size)
{
    if (is_between_workers(from, to) && sim_inject_strikes(host, 16)) {
        uint8_t *copy = tr_alloc(size);
        TR_ASSERT(copy != NULL);
        memcpy(copy, data, size);
        sim_net_push(&host->net, from, to, copy, size);
    }
    sim_net_push(&host->net, from, to, data, size);
}

void sim_inject_loses(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data, size_t size)
{
    if (is_between_workers(from, to) && sim_inject_strikes(host, 32)) {
        tr_free(data);
    } else {
        sim_net_push(&host->net, from, to, data, size);
    }
}

/* Hears the calls of a batch at once, and takes them out of it. */
void sim_inject_calls_early(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                            size_t size)
{
    if (to != TRI_PLACE_JOURNAL) {
        sim_net_push(&host->net, from, to, data, size);
        return;
    }
    struct tri_batch_header header;
    memcpy(&header, data, sizeof header);
    struct tri_batch left = {0};
    struct tr_bytes batch = {.data = data, .size = size};
    struct tri_op op;
    size_t offset = 0;
    while (tri_batch_next(batch, &offset, &op)) {
        bool is_call = op.kind == TRI_OP_CALL && op.type == TRI_PLACE_HTTP;
        if (is_call && sim_inject_strikes(host, 2)) {
            sim_environment_hear(host, op.data);
        } else {
            tri_batch_add(&left, &op);
        }
    }
    if (left.data == NULL) {
        /* Nothing is left; the number must not be missing, so something without meaning goes. */
        struct tri_op none = {.kind = TRI_OP_DELETE_PAGE, .key = {1, 1}};
        tri_batch_add(&left, &none);
    }
    size_t left_size;
    uint8_t *rest = tri_batch_take(&left, header.number, header.worker, &left_size);
    tr_free(data);
    sim_net_push(&host->net, from, to, rest, left_size);
}

/* How often a message of a frame goes on: 0 is lost, 1 as it should be. */
typedef uint32_t copies_of(struct sim_host *host, uint32_t to, const uint8_t *message);

/* Builds a frame again with some messages more or less. */
static void send_filtered(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                          size_t size, copies_of *copies)
{
    if (!is_between_workers(from, to)) {
        sim_net_push(&host->net, from, to, data, size);
        return;
    }
    struct tri_frame frame = {.data = data, .size = size};
    struct tri_frame_builder builder = {0};
    struct tr_bytes message;
    bool is_stored;
    size_t offset = 0;
    while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
        uint32_t count = message.size == 0 ? 1 : copies(host, to, message.data);
        for (uint32_t i = 0; i < count; i++) {
            int error = tri_frame_add(&builder, message, is_stored);
            TR_ASSERT(error == 0);
        }
    }
    tr_free(data);
    if (builder.count > 0) {
        size_t left_size;
        uint8_t *left = tri_frame_take(&builder, from, &left_size);
        sim_net_push(&host->net, from, to, left, left_size);
    }
}

static uint16_t type_of(const uint8_t *message)
{
    return tr_envelope_get(message, 16, type);
}

/* Whether this is a flush on the last part of its way: to the worker that gets the actor. */
static bool is_last_flush(uint32_t to, const uint8_t *message)
{
    struct tr_move_flush flush;
    return type_of(message) == tr_move_flush_schema.id &&
           tr_move_flush_unpack(tr_envelope_body(message), tr_move_flush_schema.version, &flush) ==
               0 &&
           flush.to_worker == to;
}

static uint32_t lose_flush(struct sim_host *host, uint32_t to, const uint8_t *message)
{
    return is_last_flush(to, message) && sim_inject_strikes(host, 4) ? 0 : 1;
}

static uint32_t double_flush(struct sim_host *host, uint32_t to, const uint8_t *message)
{
    return is_last_flush(to, message) && sim_inject_strikes(host, 2) ? 2 : 1;
}

static uint32_t lose_down(struct sim_host *host, uint32_t to, const uint8_t *message)
{
    (void)to;
    return type_of(message) == tr_down_schema.id && sim_inject_strikes(host, 4) ? 0 : 1;
}

static uint32_t lose_orphans(struct sim_host *host, uint32_t to, const uint8_t *message)
{
    (void)to;
    return type_of(message) == tr_orphans_schema.id && sim_inject_strikes(host, 2) ? 0 : 1;
}

void sim_inject_loses_flush(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                            size_t size)
{
    send_filtered(host, from, to, data, size, lose_flush);
}

void sim_inject_opens_early(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                            size_t size)
{
    send_filtered(host, from, to, data, size, double_flush);
}

void sim_inject_loses_down(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                           size_t size)
{
    send_filtered(host, from, to, data, size, lose_down);
}

void sim_inject_loses_orphans(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                              size_t size)
{
    send_filtered(host, from, to, data, size, lose_orphans);
}

/* A move without the messages that wait; `packed` has room for the snapshot. */
static void empty_mailbox(struct tr_move_image *move, uint8_t *packed, size_t capacity)
{
    static const uint8_t none[] = {0x90};
    struct tr_actor_snapshot snapshot;
    int error =
        tr_actor_snapshot_unpack(move->snapshot, tr_actor_snapshot_schema.version, &snapshot);
    TR_ASSERT(error == 0);
    snapshot.mailbox = (struct tr_bytes){.data = none, .size = sizeof none};
    struct tr_writer writer = tr_writer_of(packed, capacity);
    error = tr_actor_snapshot_pack(&snapshot, &writer);
    TR_ASSERT(error == 0);
    move->snapshot = (struct tr_bytes){.data = packed, .size = tr_writer_size(&writer)};
}

static void forget_parent(struct tr_move_image *move, uint8_t *packed, size_t capacity)
{
    (void)packed;
    (void)capacity;
    move->parent_address = (struct tr_text){0};
}

typedef void change_move(struct tr_move_image *move, uint8_t *packed, size_t capacity);

/* Packs a move's image again, changed; gives the size of the whole message. */
static size_t pack_changed(const uint8_t *message, change_move *change, uint8_t *changed,
                           size_t capacity)
{
    struct tr_move_image move;
    int error =
        tr_move_image_unpack(tr_envelope_body(message), tr_move_image_schema.version, &move);
    TR_ASSERT(error == 0);
    uint8_t *packed = tr_alloc(capacity);
    TR_ASSERT(packed != NULL);
    change(&move, packed, capacity);
    struct tr_writer writer = tr_writer_of(changed + TR_ENVELOPE_BYTES, capacity);
    error = tr_move_image_pack(&move, &writer);
    TR_ASSERT(error == 0);
    tr_free(packed);
    memcpy(changed, message, TR_ENVELOPE_BYTES);
    tr_envelope_put(changed, 32, body_size, (uint32_t)tr_writer_size(&writer));
    return TR_ENVELOPE_BYTES + tr_writer_size(&writer);
}

/* Sends a frame whose moves are changed, half of them. */
static void send_changed(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                         size_t size, change_move *change)
{
    struct tri_frame frame = {.data = data, .size = size};
    struct tri_frame_builder builder = {0};
    struct tr_bytes message;
    bool is_stored;
    size_t offset = 0;
    if (!is_between_workers(from, to)) {
        sim_net_push(&host->net, from, to, data, size);
        return;
    }
    while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
        uint8_t *changed = NULL;
        if (message.size > 0 && type_of(message.data) == tr_move_image_schema.id &&
            sim_inject_strikes(host, 2)) {
            changed = tr_alloc(TR_ENVELOPE_BYTES + size + 64);
            TR_ASSERT(changed != NULL);
            message.size = pack_changed(message.data, change, changed, size + 64);
            message.data = changed;
        }
        int error = tri_frame_add(&builder, message, is_stored);
        TR_ASSERT(error == 0);
        tr_free(changed);
    }
    tr_free(data);
    size_t left_size;
    uint8_t *left = tri_frame_take(&builder, from, &left_size);
    sim_net_push(&host->net, from, to, left, left_size);
}

void sim_inject_empties_snapshot(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                                 size_t size)
{
    send_changed(host, from, to, data, size, empty_mailbox);
}

void sim_inject_forgets_parents(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                                size_t size)
{
    send_changed(host, from, to, data, size, forget_parent);
}
