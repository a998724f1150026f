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
#include <sys/epoll.h>
#include <unistd.h>
#include <zmq.h>

#include "runtime/link/zap.h"
#include "runtime/memory.h"

/* Unsent frames to one host before it is busy. */
#define HIGH_WATER_MARK 256

/* Maximum size of our frames: a full one and its last message. */
#define FRAME_BYTES_MAX (TR_INTERHOST_FRAME_BYTES + 2 * TR_MESSAGE_BYTES_MAX)

/*
 * How long a client may take to say who it is. One that is refused is sometimes left without an
 * answer by ZeroMQ, and tries again after this time.
 */
#define HANDSHAKE_MS_MAX 3000

/* How often a host that is away is tried: at first, and at the least. */
#define RECONNECT_MS 100
#define RECONNECT_MS_MAX 1000

struct tcp_wire {
    struct tri_wire base;
    const struct tri_directory *directory;
    struct tri_zap *zap; /* NULL without keys */
    int events;          /* an epoll of the descriptors of both; -1: not open */
    void *context;
    void *pull;
    void *push[TR_HOSTS_MAX]; /* by the index of the directory's peers; NULL: not connected */
    zmq_msg_t received;
};

static bool begins_with(const char *address, const char *beginning)
{
    return strncmp(address, beginning, strlen(beginning)) == 0;
}

/* Without keys an address has to be of this machine. */
static bool is_allowed(const struct tcp_wire *wire, const char *address)
{
    return wire->directory->has_keys
               ? begins_with(address, "tcp://")
               : begins_with(address, "tcp://127.0.0.1:") || begins_with(address, "tcp://[::1]:");
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
                  set_option(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS_MAX) &&
                  set_option(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) &&
                  set_option(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MS_MAX) &&
                  zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == 0;
    if (!is_set) {
        zmq_close(socket);
        return NULL;
    }
    return socket;
}

static bool set_key(void *socket, int option, const uint8_t *key)
{
    return zmq_setsockopt(socket, option, key, TR_WIRE_KEY_BYTES) == 0;
}

/* A server of CURVE: the one that asks who the other is. */
static bool secure_pull(const struct tcp_wire *wire)
{
    return !wire->directory->has_keys ||
           (set_option(wire->pull, ZMQ_CURVE_SERVER, 1) &&
            set_key(wire->pull, ZMQ_CURVE_SECRETKEY, wire->directory->keys.secret_key) &&
            zmq_setsockopt(wire->pull, ZMQ_ZAP_DOMAIN, TRI_ZAP_DOMAIN, strlen(TRI_ZAP_DOMAIN)) ==
                0);
}

static bool secure_push(const struct tcp_wire *wire, uint32_t place)
{
    const struct tr_wire_keys *keys = &wire->directory->keys;
    void *push = wire->push[place];
    return !wire->directory->has_keys ||
           (set_key(push, ZMQ_CURVE_SERVERKEY, wire->directory->peers[place].key) &&
            set_key(push, ZMQ_CURVE_PUBLICKEY, keys->public_key) &&
            set_key(push, ZMQ_CURVE_SECRETKEY, keys->secret_key));
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
    bool is_sent = error == 0 && wire->push[place] != NULL &&
                   zmq_send(wire->push[place], data, size, ZMQ_DONTWAIT) >= 0;
    if (error == 0 && !is_sent) {
        error = TR_BUSY;
    }
    tr_free(data);
    return error;
}

static int tcp_receive(struct tri_wire *base, struct tri_frame *frame)
{
    struct tcp_wire *wire = wire_of(base);
    if (wire->zap != NULL) {
        tri_zap_answer(wire->zap);
    }
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
    return wire_of(base)->events;
}

static void close_push(struct tcp_wire *wire, uint32_t place)
{
    if (wire->push[place] != NULL) {
        zmq_close(wire->push[place]);
        wire->push[place] = NULL;
    }
}

static void tcp_close(struct tri_wire *base)
{
    struct tcp_wire *wire = wire_of(base);
    for (uint32_t i = 0; i < TR_HOSTS_MAX; i++) {
        close_push(wire, i);
    }
    if (wire->pull != NULL) {
        zmq_close(wire->pull);
    }
    tri_zap_close(wire->zap);
    if (wire->events >= 0) {
        (void)close(wire->events);
    }
    tr_free(wire);
}

/* Before the first socket that asks it. */
static int open_zap(struct tcp_wire *wire)
{
    return wire->directory->has_keys ? tri_zap_open(wire->context, wire->directory, &wire->zap) : 0;
}

static int open_pull(struct tcp_wire *wire, const char *address)
{
    wire->pull = socket_new(wire->context, ZMQ_PULL);
    if (wire->pull == NULL || !secure_pull(wire)) {
        return TR_SYSTEM;
    }
    if (address == NULL) {
        return 0; /* a host without an address receives nothing, and its links stay down */
    }
    if (!is_allowed(wire, address)) {
        return TR_INVALID;
    }
    return zmq_bind(wire->pull, address) != 0 ? TR_SYSTEM : 0;
}

/* One without an address is connected when it has one. */
static int open_push(struct tcp_wire *wire, uint32_t place)
{
    const struct tri_neighbour *peer = &wire->directory->peers[place];
    if (peer->address[0] == '\0') {
        return 0;
    }
    if (!is_allowed(wire, peer->address) || (wire->directory->has_keys && !peer->has_key)) {
        return TR_INVALID;
    }
    wire->push[place] = socket_new(wire->context, ZMQ_PUSH);
    if (wire->push[place] == NULL || !secure_push(wire, place) ||
        zmq_connect(wire->push[place], peer->address) != 0) {
        close_push(wire, place);
        return TR_SYSTEM;
    }
    return 0;
}

static int tcp_connect(struct tri_wire *base, uint16_t host)
{
    struct tcp_wire *wire = wire_of(base);
    int place = tri_directory_place(wire->directory, host);
    if (place < 0) {
        return TR_NOT_FOUND;
    }
    close_push(wire, (uint32_t)place);
    return open_push(wire, (uint32_t)place);
}

static const struct tri_wire_ops tcp_ops = {
    .send = tcp_send,
    .connect = tcp_connect,
    .receive = tcp_receive,
    .release = tcp_release,
    .descriptor = tcp_descriptor,
    .close = tcp_close,
};

static int watch(const struct tcp_wire *wire, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(wire->events, EPOLL_CTL_ADD, descriptor, &event) != 0 ? TR_SYSTEM : 0;
}

static int open_events(struct tcp_wire *wire)
{
    int descriptor = -1;
    size_t size = sizeof descriptor;
    wire->events = epoll_create1(EPOLL_CLOEXEC);
    if (wire->events < 0 || zmq_getsockopt(wire->pull, ZMQ_FD, &descriptor, &size) != 0) {
        return TR_SYSTEM;
    }
    int error = watch(wire, descriptor);
    return error == 0 && wire->zap != NULL ? watch(wire, tri_zap_descriptor(wire->zap)) : error;
}

static int open_sockets(struct tcp_wire *wire, const char *address)
{
    int error = open_zap(wire);
    if (error == 0) {
        error = open_pull(wire, address);
    }
    for (uint32_t i = 0; error == 0 && i < tri_directory_count(wire->directory); i++) {
        error = open_push(wire, i);
    }
    return error == 0 ? open_events(wire) : error;
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
    wire->events = -1;
    wire->context = context;
    int error = open_sockets(wire, address);
    if (error != 0) {
        tcp_close(&wire->base);
        return error;
    }
    *out = &wire->base;
    return 0;
}

uint64_t tri_tcp_wire_refused(const struct tri_wire *wire)
{
    const struct tri_zap *zap = ((const struct tcp_wire *)wire)->zap;
    return zap != NULL ? tri_zap_refused(zap) : 0;
}
