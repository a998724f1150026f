/*
 * Frames between hosts over ZeroMQ. Its sockets reconnect by themselves and lose frames in flight,
 * as a wire may; the sessions above detect and report it.
 *
 * Each host binds one PULL, and connects one PUSH to each neighbour. So a pair of hosts has two TCP
 * connections, one for each direction, and either may be up while the other is down; a session is
 * up only when both are. Frames name their host of origin.
 */
#include "runtime/link/tcp.h"

#include <string.h>
#include <zmq.h>

#include "runtime/memory.h"

/* Unsent frames to one host before it is busy. */
#define HIGH_WATER_MARK 256

/* Maximum size of our frames: a full one and its last message. */
#define FRAME_BYTES_MAX (TR_INTERHOST_FRAME_BYTES + 2 * TR_MESSAGE_BYTES_MAX)

struct tcp_wire {
    struct tri_wire base;
    const struct tri_directory *directory;
    void *pull;
    void **push; /* by the index of the directory's peers */
    zmq_msg_t received;
};

static bool is_of_this_machine(const char *address)
{
    static const char *const beginnings[] = {"tcp://127.0.0.1:", "tcp://[::1]:"};
    for (size_t i = 0; i < TR_COUNT_OF(beginnings); i++) {
        if (strncmp(address, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool set_option(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

static void *socket_new(void *context, int type)
{
    void *socket = zmq_socket(context, type);
    int64_t bytes_max = FRAME_BYTES_MAX;
    if (socket == NULL) {
        return NULL;
    }
    /*
     * A frame that cannot be sent at once is not kept for a later connection.
     *
     * ZMQ_IMMEDIATE makes a send without a connection fail with TR_BUSY. A frame kept for a later
     * connection would arrive in another session, which refuses it.
     */
    bool is_set = set_option(socket, ZMQ_SNDHWM, HIGH_WATER_MARK) &&
                  set_option(socket, ZMQ_RCVHWM, HIGH_WATER_MARK) &&
                  set_option(socket, ZMQ_LINGER, 0) && set_option(socket, ZMQ_IMMEDIATE, 1) &&
                  set_option(socket, ZMQ_IPV6, 1) &&
                  zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == 0;
    if (!is_set) {
        zmq_close(socket);
        return NULL;
    }
    return socket;
}

static struct tcp_wire *wire_of(struct tri_wire *base)
{
    return (struct tcp_wire *)base;
}

static int tcp_send(struct tri_wire *base, uint16_t host, uint8_t *data, size_t size)
{
    struct tcp_wire *wire = wire_of(base);
    int place = tri_directory_place(wire->directory, host);
    int error = place < 0 ? TR_NOT_FOUND : 0;
    /* Copied: frames are few, and otherwise a thread of ZeroMQ would free the bytes. */
    if (error == 0 && zmq_send(wire->push[place], data, size, ZMQ_DONTWAIT) < 0) {
        error = TR_BUSY;
    }
    tr_free(data);
    return error;
}

static int tcp_receive(struct tri_wire *base, struct tri_frame *frame)
{
    struct tcp_wire *wire = wire_of(base);
    zmq_msg_init(&wire->received);
    if (zmq_msg_recv(&wire->received, wire->pull, ZMQ_DONTWAIT) < 0) {
        return TR_NOT_FOUND;
    }
    *frame = (struct tri_frame){.data = zmq_msg_data(&wire->received),
                                .size = zmq_msg_size(&wire->received)};
    return 0;
}

static void tcp_release(struct tri_wire *base, struct tri_frame *frame)
{
    zmq_msg_close(&wire_of(base)->received);
    *frame = (struct tri_frame){0};
}

static int tcp_descriptor(struct tri_wire *base)
{
    int descriptor = -1;
    size_t size = sizeof descriptor;
    int failed = zmq_getsockopt(wire_of(base)->pull, ZMQ_FD, &descriptor, &size);
    TR_ASSERT(failed == 0);
    return descriptor;
}

static void tcp_close(struct tri_wire *base)
{
    struct tcp_wire *wire = wire_of(base);
    for (uint32_t i = 0; wire->push != NULL && i < wire->directory->peer_count; i++) {
        if (wire->push[i] != NULL) {
            zmq_close(wire->push[i]);
        }
    }
    if (wire->pull != NULL) {
        zmq_close(wire->pull);
    }
    tr_free(wire->push);
    tr_free(wire);
}

static const struct tri_wire_ops tcp_ops = {
    .send = tcp_send,
    .receive = tcp_receive,
    .release = tcp_release,
    .descriptor = tcp_descriptor,
    .close = tcp_close,
};

static int open_pull(struct tcp_wire *wire, void *context, const char *address)
{
    wire->pull = socket_new(context, ZMQ_PULL);
    if (wire->pull == NULL) {
        return TR_SYSTEM;
    }
    if (address == NULL) {
        return 0; /* a host without an address receives nothing, and its links stay down */
    }
    if (!is_of_this_machine(address)) {
        return TR_INVALID;
    }
    return zmq_bind(wire->pull, address) != 0 ? TR_SYSTEM : 0;
}

static int open_push(struct tcp_wire *wire, void *context, uint32_t place)
{
    const char *address = wire->directory->peers[place].address;
    if (!is_of_this_machine(address)) {
        return TR_INVALID;
    }
    wire->push[place] = socket_new(context, ZMQ_PUSH);
    if (wire->push[place] == NULL || zmq_connect(wire->push[place], address) != 0) {
        return TR_SYSTEM;
    }
    return 0;
}

int tri_tcp_wire_open(void *context, const struct tri_directory *directory, const char *address,
                      struct tri_wire **out)
{
    struct tcp_wire *wire = tr_alloc_zero(1, sizeof *wire);
    if (wire == NULL) {
        return TR_MEMORY;
    }
    wire->base.ops = &tcp_ops;
    wire->directory = directory;
    wire->push = tr_alloc_zero(directory->peer_count + 1, sizeof *wire->push);
    int error = wire->push == NULL ? TR_MEMORY : open_pull(wire, context, address);
    for (uint32_t i = 0; error == 0 && i < directory->peer_count; i++) {
        error = open_push(wire, context, i);
    }
    if (error != 0) {
        tcp_close(&wire->base);
        return error;
    }
    *out = &wire->base;
    return 0;
}
