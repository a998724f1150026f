/*
 * Any bytes as frames of another host, one behind the other: they are refused, or what the workers
 * are handed are whole messages for interhost actors and news of the link.
 *
 * Each frame of the input is a byte of its kind and two of its size: as it stands; behind the head
 * that the session waits for; the same in the envelope of a message for an interhost actor; or time
 * passes.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "runtime/cluster/interhost.h"
#include "runtime/cluster/service.h"
#include "runtime/memory.h"

enum { RAW, BEHIND_HEAD, IN_MESSAGE, TIME, KINDS, HEAD_BYTES_MAX = 512, PEER = 2 };

static uint64_t now_ns;
static struct tr_env env;
static struct tri_directory directory;
static struct tri_owners owners;
static struct tri_interhost_service service;

/* The one frame that arrives. */
static struct tr_bytes arriving;

static int link_send(struct tri_channel *link, uint32_t place, uint8_t *data, size_t size)
{
    (void)link;
    struct tri_frame frame = {.data = data, .size = size};
    struct tr_bytes message;
    size_t offset = 0;
    bool is_stored;
    TR_ASSERT(place == 0);
    while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
        size_t whole;
        struct tr_key to = {tr_envelope_get(message.data, 64, to_group),
                            tr_envelope_get(message.data, 64, to_serial)};
        uint16_t type = tr_envelope_get(message.data, 16, type);
        TR_ASSERT(tr_envelope_check(message, &whole) == 0 && whole == message.size);
        TR_ASSERT(type == tr_interhost_link_schema.id ||
                  (tri_is_interhost(to) && to.group != TR_GROUP_HERE));
    }
    tr_free(data);
    return 0;
}

static int link_receive(struct tri_channel *link, struct tri_frame *frame)
{
    (void)link;
    (void)frame;
    return TR_NOT_FOUND;
}

static void link_release(struct tri_channel *link, struct tri_frame *frame)
{
    (void)link;
    (void)frame;
}

static int wire_send(struct tri_wire *wire, uint16_t host, uint8_t *data, size_t size)
{
    (void)wire;
    (void)size;
    TR_ASSERT(host == PEER);
    tr_free(data);
    return 0;
}

static int wire_receive(struct tri_wire *wire, struct tri_frame *frame)
{
    (void)wire;
    if (arriving.data == NULL) {
        return TR_NOT_FOUND;
    }
    *frame = (struct tri_frame){.data = arriving.data, .size = arriving.size};
    arriving = (struct tr_bytes){0};
    return 0;
}

static void wire_release(struct tri_wire *wire, struct tri_frame *frame)
{
    (void)wire;
    (void)frame;
}

static uint64_t clock_ns(struct tr_env *unused)
{
    (void)unused;
    return now_ns;
}

static const struct tr_env_ops env_ops = {.monotonic_ns = clock_ns};
static const struct tri_channel_ops link_ops = {
    .send = link_send, .receive = link_receive, .release = link_release};
static const struct tri_wire_ops wire_ops = {
    .send = wire_send, .receive = wire_receive, .release = wire_release};
static struct tri_channel pipes = {.ops = &link_ops, .place = TRI_PLACE_INTERHOST};
static struct tri_wire wire = {.ops = &wire_ops};

static size_t put_envelope(uint8_t *at, uint16_t type, struct tr_key to, size_t body_size)
{
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_TELL,
        .version = 1,
        .type = type,
        .from_group = tri_partition_origin(PEER) | 16,
        .to_group = to.group,
        .to_serial = to.serial,
        .body_size = (uint32_t)body_size,
    };
    tr_envelope_pack(&envelope, at);
    return TR_ENVELOPE_BYTES;
}

/* The head of the next frame of the pair of sessions that is up, or that brings one up. */
static size_t put_head(uint8_t *at, bool has_messages)
{
    const struct tri_session *session = &service.peers[0].session;
    struct tr_interhost_frame head = {.host = PEER,
                                      .session = session->theirs > 77 ? session->theirs : 77,
                                      .peer_session = session->mine,
                                      .number = session->received + (has_messages ? 1 : 0)};
    struct tr_writer writer = tr_writer_of(at + TR_ENVELOPE_BYTES, HEAD_BYTES_MAX);
    TR_ASSERT(tr_interhost_frame_pack(&head, &writer) == 0);
    size_t size = tr_writer_size(&writer);
    return put_envelope(at, tr_interhost_frame_schema.id, (struct tr_key){0}, size) + size;
}

/* Memory of exactly the frame's size, so that a sanitizer sees the first byte too far. */
static void arrive(const uint8_t *data, size_t size)
{
    uint8_t *copy = tr_alloc(size > 0 ? size : 1);
    TR_ASSERT(copy != NULL);
    memcpy(copy, data, size);
    arriving = (struct tr_bytes){.data = copy, .size = size};
    (void)tri_interhost_service_step(&service);
    TR_ASSERT(service.error == 0);
    tr_free(copy);
}

static void arrive_as(unsigned kind, const uint8_t *data, size_t size)
{
    static uint8_t buffer[2 * TR_ENVELOPE_BYTES + HEAD_BYTES_MAX + UINT16_MAX];
    const struct tr_key interhost = {tri_partition_origin(1) | 16, TRI_INTERHOST_NUMBER << 4};
    size_t used = put_head(buffer, size > 0);
    if (kind == IN_MESSAGE) {
        used += put_envelope(buffer + used, tr_interhost_send_schema.id, interhost, size);
    }
    memcpy(buffer + used, data, size);
    arrive(buffer, used + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    now_ns = 1000000000;
    env.ops = &env_ops;
    directory = (struct tri_directory){.number = 1};
    TR_ASSERT(tri_directory_add(&directory, PEER, (struct tr_text){0}) == 0);
    const struct tr_ref host = {{tri_host_group(1, 0), 0}, 3};
    tri_owners_init(&owners, 1);
    TR_ASSERT(tri_interhost_service_init(&service, &env, &directory, &owners, 1, host) == 0);
    service.sender.link = &pipes;
    service.wire = &wire;
    while (size >= 3) {
        unsigned kind = data[0] % KINDS;
        size_t wanted = (size_t)data[1] << 8 | data[2];
        size_t taken = kind == TIME ? 0 : wanted < size - 3 ? wanted : size - 3;
        if (kind == TIME) {
            now_ns += wanted * 1000000;
            (void)tri_interhost_service_step(&service);
        } else if (kind == RAW) {
            arrive(data + 3, taken);
        } else {
            arrive_as(kind, data + 3, taken);
        }
        data += 3 + taken;
        size -= 3 + taken;
    }
    tri_interhost_service_fini(&service);
    return 0;
}
