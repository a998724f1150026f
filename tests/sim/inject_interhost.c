/*
 * Injected bugs of what hosts say to each other: between an interhost actor, the journal that lets
 * its words go, and the service that brings those of others.
 */
#include "runtime/cluster/interhost.h"
#include "tests/sim/inject.h"
#include "tests/sim/world.h"

/* Does something with a message of a frame that is built again. */
typedef void rebuild(struct sim_host *host, struct tr_bytes message,
                     struct tri_frame_builder *builder);

static void add(struct tri_frame_builder *builder, struct tr_bytes message)
{
    int error = tri_frame_add(builder, message, false);
    TR_ASSERT(error == 0);
}

static void push_rebuilt(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                         size_t size, rebuild *change)
{
    struct tri_frame frame = {.data = data, .size = size};
    struct tri_frame_builder builder = {0};
    struct tr_bytes message;
    bool is_stored;
    size_t offset = 0;
    while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
        if (message.size == 0) {
            add(&builder, message);
        } else {
            change(host, message, &builder);
        }
    }
    tr_free(data);
    if (builder.count > 0) {
        size_t left_size;
        uint8_t *left = tri_frame_take(&builder, from, &left_size);
        sim_net_push(&host->net, from, to, left, left_size);
    }
}

static bool is_type(struct tr_bytes message, const struct tr_schema *schema)
{
    return tr_envelope_get(message.data, 16, type) == schema->id;
}

static struct tr_interhost_send read_send(struct tr_bytes message)
{
    struct tr_interhost_send send;
    int error = tr_interhost_send_unpack(tr_envelope_body(message.data),
                                         tr_interhost_send_schema.version, &send);
    TR_ASSERT(error == 0);
    return send;
}

bool sim_inject_keeps_interhost(struct sim_host *host, const struct tri_op *op)
{
    bool is_of_interhost = op->kind == TRI_OP_PUT_PAGE && tri_is_interhost(op->key);
    return !is_of_interhost || !sim_inject_strikes(host, 6);
}

/* An acknowledgement does not wait for the commit of what it acknowledges. */
void sim_inject_acknowledges_early(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                                   size_t size)
{
    if (to != TRI_PLACE_JOURNAL) {
        sim_net_push(&host->net, from, to, data, size);
        return;
    }
    struct tri_frame_builder early = {0};
    struct tr_bytes batch = {.data = data, .size = size};
    struct tri_op op;
    size_t offset = 0;
    while (tri_batch_next(batch, &offset, &op)) {
        bool is_ack = op.kind == TRI_OP_CALL && op.type == TRI_PLACE_INTERHOST &&
                      is_type(op.data, &tr_interhost_ack_schema);
        if (is_ack && sim_inject_strikes(host, 2)) {
            add(&early, op.data); /* it goes once more when it may: that does no harm */
        }
    }
    if (early.count > 0) {
        size_t early_size;
        uint8_t *frame = tri_frame_take(&early, TRI_PLACE_JOURNAL, &early_size);
        sim_net_push(&host->net, TRI_PLACE_JOURNAL, TRI_PLACE_INTERHOST, frame, early_size);
    }
    sim_net_push(&host->net, from, to, data, size);
}

/* What was sent once by this world's interhost actors: as many as a small world has. */
#define SENT_MAX 65536

static struct sent {
    uint64_t seed;
    uint64_t from;
    uint64_t to;
    uint64_t stream;
    uint64_t number;
} sent[SENT_MAX];

/* Whether a number of a stream has been sent before. */
static bool was_sent(struct sim_host *host, struct tr_bytes message)
{
    struct tr_interhost_send send = read_send(message);
    struct sent one = {
        .seed = host->world->plan.seed,
        .from = tr_envelope_get(message.data, 64, from_group),
        .to = tr_envelope_get(message.data, 64, to_group),
        .stream = send.stream,
        .number = send.number,
    };
    uint64_t hash = sim_mix(one.from ^ sim_mix(one.to ^ sim_mix(one.stream ^ sim_mix(one.number))));
    struct sent *place = &sent[hash % SENT_MAX];
    bool was = send.number != 0 && memcmp(place, &one, sizeof one) == 0;
    *place = one;
    return was;
}

static void skip_resent(struct sim_host *host, struct tr_bytes message,
                        struct tri_frame_builder *builder)
{
    bool is_again = is_type(message, &tr_interhost_send_schema) && was_sent(host, message);
    if (!is_again || !sim_inject_strikes(host, 1)) {
        add(builder, message);
    }
}

void sim_inject_skips_resend(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                             size_t size)
{
    if (from == TRI_PLACE_JOURNAL && to == TRI_PLACE_INTERHOST) {
        push_rebuilt(host, from, to, data, size, skip_resent);
    } else {
        sim_net_push(&host->net, from, to, data, size);
    }
}

/* A message comes twice, and the second time it bears the number of the next one. */
static void number_again(struct sim_host *host, struct tr_bytes message,
                         struct tri_frame_builder *builder)
{
    add(builder, message);
    if (!is_type(message, &tr_interhost_send_schema) || !sim_inject_strikes(host, 16)) {
        return;
    }
    struct tr_interhost_send send = read_send(message);
    if (send.number == 0) {
        return;
    }
    send.number++;
    size_t body_max = tr_interhost_send_schema.size_max(&send);
    uint8_t *changed = tr_alloc(TR_ENVELOPE_BYTES + body_max);
    TR_ASSERT(changed != NULL);
    struct tr_writer writer = tr_writer_of(changed + TR_ENVELOPE_BYTES, body_max);
    int error = tr_interhost_send_pack(&send, &writer);
    TR_ASSERT(error == 0);
    memcpy(changed, message.data, TR_ENVELOPE_BYTES);
    tr_envelope_put(changed, 32, body_size, (uint32_t)tr_writer_size(&writer));
    add(builder, (struct tr_bytes){changed, TR_ENVELOPE_BYTES + tr_writer_size(&writer)});
    tr_free(changed);
}

/* The news of a link. */
static void lose_link(struct sim_host *host, struct tr_bytes message,
                      struct tri_frame_builder *builder, bool is_up)
{
    struct tr_interhost_link link;
    bool is_news = is_type(message, &tr_interhost_link_schema) &&
                   tr_interhost_link_unpack(tr_envelope_body(message.data),
                                            tr_interhost_link_schema.version, &link) == 0;
    if (!is_news || link.is_up != is_up || !sim_inject_strikes(host, 1)) {
        add(builder, message);
    }
}

static void lose_down(struct sim_host *host, struct tr_bytes message,
                      struct tri_frame_builder *builder)
{
    lose_link(host, message, builder, false);
}

static void lose_up(struct sim_host *host, struct tr_bytes message,
                    struct tri_frame_builder *builder)
{
    lose_link(host, message, builder, true);
}

static void lose_owners(struct sim_host *host, struct tr_bytes message,
                        struct tri_frame_builder *builder)
{
    if (!is_type(message, &tr_interhost_owners_schema) || !sim_inject_strikes(host, 1)) {
        add(builder, message);
    }
}

/* Changes what the interhost service tells the workers. */
static void change_incoming(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                            size_t size, rebuild *change)
{
    if (from == TRI_PLACE_INTERHOST && to < TR_WORKERS_MAX) {
        push_rebuilt(host, from, to, data, size, change);
    } else {
        sim_net_push(&host->net, from, to, data, size);
    }
}

void sim_inject_numbers_again(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                              size_t size)
{
    change_incoming(host, from, to, data, size, number_again);
}

void sim_inject_hides_down(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                           size_t size)
{
    change_incoming(host, from, to, data, size, lose_down);
}

void sim_inject_hides_up(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                         size_t size)
{
    change_incoming(host, from, to, data, size, lose_up);
}

void sim_inject_hides_owners(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data,
                             size_t size)
{
    change_incoming(host, from, to, data, size, lose_owners);
}
