/*
 * The engine's side of the endpoint: one ROUTER, which names its connections.
 *
 * The socket is in the store's folder, whatever the length of its path: it is bound through an open
 * descriptor of the folder.
 *
 * A message of a ROUTER has two parts: the name of the connection, and one frame of
 * runtime/link/request.c. Anything else is dropped and counted, since any program of the owner may
 * connect.
 *
 * Sending answers never blocks: a client that does not read fills its pipe of
 * TR_ENDPOINT_ANSWERS_MAX answers, then it gets no more (TR_BUSY). So a slow client costs bounded
 * memory and no time of the engine.
 *
 * The entry is a second ROUTER. Who it is whose message came says its property "User-Id", which is
 * what the gate has said of its key; nothing that a client sends can set it.
 */
#include "runtime/link/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "runtime/memory.h"

struct tri_endpoint {
    void *context;
    void *router;
    void *entry; /* the same for those who come over tcp; NULL: nobody may */
    struct tri_zap *zap;
    int entry_descriptor;
    int folder;
    int descriptor;
    uint64_t refused;
    zmq_msg_t received;
};

/* ------------------------------------------------------------------ open and close */

static int set_number(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value);
}

/*
 * ROUTER_MANDATORY makes a send to a disconnected client an error (EHOSTUNREACH), and a send to a
 * full pipe EAGAIN. Without it ZeroMQ drops both silently.
 */
static int configure(void *router)
{
    int64_t bytes_max = TR_ENDPOINT_BYTES_MAX;
    bool is_set = set_number(router, ZMQ_LINGER, 0) == 0 &&
                  set_number(router, ZMQ_ROUTER_MANDATORY, 1) == 0 &&
                  set_number(router, ZMQ_SNDHWM, TR_ENDPOINT_ANSWERS_MAX) == 0 &&
                  zmq_setsockopt(router, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == 0;
    return is_set ? 0 : TR_SYSTEM;
}

/*
 * Binds the socket, which only the owner may use from the beginning.
 *
 * The mode comes from the umask, because a chmod after the bind would leave a moment in which
 * others can connect.
 */
static int bind_socket(struct tri_endpoint *endpoint)
{
    char address[64];
    size_t size = sizeof endpoint->descriptor;
    snprintf(address, sizeof address, "ipc:///proc/self/fd/%d/%s", endpoint->folder,
             TR_ENDPOINT_NAME);
    mode_t before = umask(0177);
    int result = zmq_bind(endpoint->router, address);
    (void)umask(before);
    if (result != 0 ||
        zmq_getsockopt(endpoint->router, ZMQ_FD, &endpoint->descriptor, &size) != 0) {
        return TR_SYSTEM;
    }
    return 0;
}

static int open_all(struct tri_endpoint *endpoint, const char *folder)
{
    endpoint->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (endpoint->folder < 0) {
        return TR_SYSTEM;
    }
    endpoint->context = zmq_ctx_new();
    if (endpoint->context == NULL) {
        return TR_SYSTEM;
    }
    endpoint->router = zmq_socket(endpoint->context, ZMQ_ROUTER);
    if (endpoint->router == NULL) {
        return TR_SYSTEM;
    }
    int error = configure(endpoint->router);
    return error != 0 ? error : bind_socket(endpoint);
}

int tri_endpoint_open(const char *folder, struct tri_endpoint **out)
{
    struct tri_endpoint *endpoint = tr_alloc_zero(1, sizeof *endpoint);
    if (endpoint == NULL) {
        return TR_MEMORY;
    }
    zmq_msg_init(&endpoint->received);
    int error = open_all(endpoint, folder);
    if (error != 0) {
        int number = errno;
        tri_endpoint_close(endpoint);
        errno = number;
        return error;
    }
    *out = endpoint;
    return 0;
}

/* ----------------------------------------------------------------------- the entry */

#define ENTRY_DOMAIN "troupe.entry"

/*
 * How long a client may take to say who it is; and how soon one whose machine is gone is found, so
 * that its answers are not kept for ever.
 */
#define HANDSHAKE_MS_MAX 5000
#define HEARTBEAT_MS 10000
#define HEARTBEAT_LOST_MS 30000

static bool secure_entry(void *socket, const struct tr_wire_keys *keys)
{
    return set_number(socket, ZMQ_CURVE_SERVER, 1) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, TR_WIRE_KEY_BYTES) == 0 &&
           zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, ENTRY_DOMAIN, strlen(ENTRY_DOMAIN)) == 0 &&
           set_number(socket, ZMQ_IPV6, 1) == 0 &&
           set_number(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS_MAX) == 0 &&
           set_number(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) == 0 &&
           set_number(socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_LOST_MS) == 0;
}

static int open_entry(struct tri_endpoint *endpoint, const struct tri_endpoint_entry *entry)
{
    const struct tri_zap_gate gate = {
        .domain = ENTRY_DOMAIN, .self = entry->self, .lets_in = entry->lets_in};
    size_t size = sizeof endpoint->entry_descriptor;
    int error = tri_zap_open_gate(endpoint->context, &gate, &endpoint->zap);
    if (error != 0) {
        return error;
    }
    endpoint->entry = zmq_socket(endpoint->context, ZMQ_ROUTER);
    if (endpoint->entry == NULL || configure(endpoint->entry) != 0 ||
        !secure_entry(endpoint->entry, entry->keys) ||
        zmq_bind(endpoint->entry, entry->address) != 0 ||
        zmq_getsockopt(endpoint->entry, ZMQ_FD, &endpoint->entry_descriptor, &size) != 0) {
        return TR_SYSTEM;
    }
    return 0;
}

static void close_entry(struct tri_endpoint *endpoint, int linger_ms)
{
    if (endpoint->entry != NULL) {
        (void)set_number(endpoint->entry, ZMQ_LINGER, linger_ms);
        zmq_close(endpoint->entry);
        endpoint->entry = NULL;
    }
    tri_zap_close(endpoint->zap);
    endpoint->zap = NULL;
}

int tri_endpoint_enter(struct tri_endpoint *endpoint, const struct tri_endpoint_entry *entry)
{
    int error = open_entry(endpoint, entry);
    int number = errno;
    if (error != 0) {
        close_entry(endpoint, 0);
        errno = number;
    }
    return error;
}

void tri_endpoint_entry_descriptors(const struct tri_endpoint *endpoint, int descriptors[2])
{
    descriptors[0] = endpoint->entry_descriptor;
    descriptors[1] = tri_zap_descriptor(endpoint->zap);
}

/*
 * How long closing waits for the last answers to be sent, at most: only for a client that does not
 * read. On a machine with much else to do the library's thread may have no turn for a while.
 */
#define LINGER_MS 2000

/* The library's threads do the rest, for which only the end of the context waits. */
void tri_endpoint_leave(struct tri_endpoint *endpoint)
{
    if (endpoint != NULL && endpoint->router != NULL) {
        (void)unlinkat(endpoint->folder, TR_ENDPOINT_NAME, 0);
        (void)set_number(endpoint->router, ZMQ_LINGER, LINGER_MS);
        zmq_close(endpoint->router);
        endpoint->router = NULL;
        close_entry(endpoint, LINGER_MS);
    }
}

void tri_endpoint_close(struct tri_endpoint *endpoint)
{
    if (endpoint == NULL) {
        return;
    }
    zmq_msg_close(&endpoint->received);
    tri_endpoint_leave(endpoint);
    if (endpoint->context != NULL) {
        zmq_ctx_term(endpoint->context);
    }
    if (endpoint->folder > 0) {
        close(endpoint->folder);
    }
    tr_free(endpoint);
}

/*
 * ZeroMQ's descriptor is edge-triggered: it becomes readable once for a change of state. So the
 * caller must read until tri_endpoint_next has nothing, or it may miss messages.
 */
int tri_endpoint_descriptor(const struct tri_endpoint *endpoint)
{
    return endpoint->descriptor;
}

uint64_t tri_endpoint_refused(const struct tri_endpoint *endpoint)
{
    return endpoint->refused;
}

/* ---------------------------------------------------------------------- requests */

/* Receives one part; false when there is none. */
static bool receive_part(struct tri_endpoint *endpoint, void *router)
{
    zmq_msg_close(&endpoint->received);
    zmq_msg_init(&endpoint->received);
    return zmq_msg_recv(&endpoint->received, router, ZMQ_DONTWAIT) >= 0;
}

/* Drops the remaining parts of a message with too many. */
static void drop_parts(struct tri_endpoint *endpoint, void *router)
{
    while (zmq_msg_more(&endpoint->received) != 0 && receive_part(endpoint, router)) {
    }
}

/* Whose message it is; false: nobody's. */
static bool read_who(struct tri_endpoint *endpoint, const void *router, struct tri_peer *peer)
{
    const char *who = router == endpoint->entry ? zmq_msg_gets(&endpoint->received, "User-Id") : "";
    (void)snprintf(peer->who, sizeof peer->who, "%s", who != NULL ? who : "");
    return router != endpoint->entry || peer->who[0] != '\0';
}

/* Reads the rest of a message whose sender was received; returns whether it is a request. */
static bool read_message(struct tri_endpoint *endpoint, void *router, struct tri_peer *peer,
                         struct tri_request *request)
{
    size_t name_size = zmq_msg_size(&endpoint->received);
    bool is_good = name_size <= TRI_PEER_BYTES_MAX && zmq_msg_more(&endpoint->received) != 0 &&
                   read_who(endpoint, router, peer);
    if (is_good) {
        peer->size = (uint8_t)name_size;
        memcpy(peer->name, zmq_msg_data(&endpoint->received), name_size);
        is_good = receive_part(endpoint, router) && zmq_msg_more(&endpoint->received) == 0;
    }
    struct tr_bytes frame = {.data = zmq_msg_data(&endpoint->received),
                             .size = zmq_msg_size(&endpoint->received)};
    if (is_good && tri_request_read(frame, request) == 0) {
        peer->number = request->number;
        return true;
    }
    drop_parts(endpoint, router);
    endpoint->refused++;
    return false;
}

static int next_of(struct tri_endpoint *endpoint, void *router, struct tri_peer *peer,
                   struct tri_request *request)
{
    while (router != NULL && receive_part(endpoint, router)) {
        if (read_message(endpoint, router, peer, request)) {
            return 0;
        }
    }
    return TR_NOT_FOUND;
}

int tri_endpoint_next(struct tri_endpoint *endpoint, struct tri_peer *peer,
                      struct tri_request *request)
{
    if (endpoint->zap != NULL) {
        tri_zap_answer(endpoint->zap);
    }
    int error = next_of(endpoint, endpoint->router, peer, request);
    return error == TR_NOT_FOUND ? next_of(endpoint, endpoint->entry, peer, request) : error;
}

static int send_failed(int number)
{
    return number == EHOSTUNREACH ? TR_NO_CONNECTION : number == EAGAIN ? TR_BUSY : TR_SYSTEM;
}

int tri_endpoint_answer(struct tri_endpoint *endpoint, const struct tri_peer *peer,
                        const struct tr_schema *schema, const void *body)
{
    uint8_t *frame;
    size_t size;
    int error = tri_request_make(peer->number, schema, body, &frame, &size);
    if (error != 0) {
        return error;
    }
    void *router = peer->who[0] != '\0' ? endpoint->entry : endpoint->router;
    bool is_sent = zmq_send(router, peer->name, peer->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0 &&
                   zmq_send(router, frame, size, ZMQ_DONTWAIT) >= 0;
    error = is_sent ? 0 : send_failed(errno);
    tr_free(frame);
    return error;
}
