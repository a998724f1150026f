/*
 * A command's side of the endpoint: a DEALER for requests and answers, and a PAIR for the events of
 * its connection (zmq_socket_monitor).
 *
 * The connection is made once. If it cannot be made, or ends, the engine is gone, and the monitor
 * reports it. RECONNECT_MS is a day rather than ZeroMQ's -1 (never): with -1 ZeroMQ drops received
 * messages that are not read yet.
 *
 * A client belongs to one thread. Only tri_client_next blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "runtime/link/endpoint.h"
#include "runtime/link/entry_locator.h"
#include "runtime/link/preflight.h"
#include "runtime/memory.h"

#define RECONNECT_MS 86400000

/*
 * How long an entry may take to say who it is: one that has another key never does. And how soon it
 * is found that its machine is gone.
 */
#define HANDSHAKE_MS_MAX 5000
#define HEARTBEAT_MS 10000
#define HEARTBEAT_LOST_MS 30000

#define MONITOR_ADDRESS "inproc://connection"

struct tri_client {
    void *context;
    void *dealer;
    void *monitor;
    int folder; /* -1: it comes over tcp */
    uint32_t asked;
    bool was_connected;
    bool has_heard; /* a message was received */
    bool is_gone;
    bool is_unknown; /* the entry has nobody with our key */
    zmq_msg_t received;
};

static int set_number(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value);
}

/*
 * No second connection while the command runs, and no linger when it ends: unsent messages have no
 * reader by then.
 */
static int configure(void *dealer)
{
    int64_t bytes_max = TR_ENDPOINT_BYTES_MAX;
    bool is_set = set_number(dealer, ZMQ_LINGER, 0) == 0 &&
                  set_number(dealer, ZMQ_RECONNECT_IVL, RECONNECT_MS) == 0 &&
                  set_number(dealer, ZMQ_RCVHWM, TR_ENDPOINT_ANSWERS_MAX) == 0 &&
                  zmq_setsockopt(dealer, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max) == 0;
    return is_set ? 0 : TR_SYSTEM;
}

static int open_sockets(struct tri_client *client)
{
    client->context = zmq_ctx_new();
    if (client->context == NULL) {
        return TR_SYSTEM;
    }
    client->dealer = zmq_socket(client->context, ZMQ_DEALER);
    client->monitor = zmq_socket(client->context, ZMQ_PAIR);
    return client->dealer == NULL || client->monitor == NULL ? TR_SYSTEM
                                                             : configure(client->dealer);
}

static int connect_to(struct tri_client *client, const char *address)
{
    int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                 ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    bool is_fine = set_number(client->monitor, ZMQ_LINGER, 0) == 0 &&
                   zmq_socket_monitor(client->dealer, MONITOR_ADDRESS, events) == 0 &&
                   zmq_connect(client->monitor, MONITOR_ADDRESS) == 0 &&
                   zmq_connect(client->dealer, address) == 0;
    return is_fine ? 0 : TR_SYSTEM;
}

/*
 * The path of a Unix socket has at most 108 bytes; through the descriptor a folder with a path of
 * any length is reached, also after it is renamed.
 */
static int connect_all(struct tri_client *client)
{
    char address[64];
    snprintf(address, sizeof address, "ipc:///proc/self/fd/%d/%s", client->folder,
             TR_ENDPOINT_NAME);
    int error = open_sockets(client);
    return error != 0 ? error : connect_to(client, address);
}

/*
 * Before the first call of the library, which would abort the process if it cannot create a thread.
 */
static int client_new(int folder, struct tri_client **out)
{
    char words[TRI_PREFLIGHT_WORDS_BYTES];
    if (tri_preflight_check(TRI_PREFLIGHT_CLIENT_NEEDS, words) != 0) {
        return TR_LIMIT;
    }
    struct tri_client *client = tr_alloc_zero(1, sizeof *client);
    if (client == NULL) {
        return TR_MEMORY;
    }
    client->folder = folder;
    zmq_msg_init(&client->received);
    *out = client;
    return 0;
}

static bool secure(void *socket, const struct tri_client_entry *entry)
{
    const struct tr_wire_keys *keys = entry->keys;
    return zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, entry->server_key, TR_WIRE_KEY_BYTES) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, TR_WIRE_KEY_BYTES) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, TR_WIRE_KEY_BYTES) == 0 &&
           set_number(socket, ZMQ_IPV6, 1) == 0 &&
           set_number(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS_MAX) == 0 &&
           set_number(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) == 0 &&
           set_number(socket, ZMQ_HEARTBEAT_TIMEOUT, HEARTBEAT_LOST_MS) == 0;
}

int tri_client_enter(const struct tri_client_entry *entry, struct tri_client **out)
{
    struct tri_client *client;
    int error = client_new(-1, &client);
    if (error != 0) {
        return error;
    }
    error = open_sockets(client);
    if (error == 0) {
        error = secure(client->dealer, entry) ? connect_to(client, entry->address) : TR_SYSTEM;
    }
    if (error != 0) {
        tri_client_close(client);
        return error;
    }
    *out = client;
    return 0;
}

/* Of a locator: the first host that answers at all. */
static int enter_any(const char *text, struct tri_client **client)
{
    char explain[TRI_ENTRY_EXPLAIN_BYTES];
    struct tr_wire_keys keys;
    size_t found = 0;
    struct tri_entry_locator *locator = tr_alloc(sizeof *locator);
    if (locator == NULL) {
        return TR_MEMORY;
    }
    int error = tri_entry_locator_read(text, locator, explain);
    if (error == 0) {
        error = tri_entry_key_read(locator->key_file, &keys, explain);
    }
    if (error == 0) {
        error = tri_entry_probe(locator, 0, &found);
    }
    if (error == 0) {
        struct tri_client_entry entry = {.address = locator->addresses[found], .keys = &keys};
        memcpy(entry.server_key, locator->server_key, sizeof entry.server_key);
        error = tri_client_enter(&entry, client);
    }
    tr_free(locator);
    return error;
}

int tri_client_open(const char *folder, struct tri_client **out)
{
    if (tri_entry_is_locator(folder)) {
        return enter_any(folder, out);
    }
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return errno == ENOENT ? TR_NO_CONNECTION : TR_SYSTEM;
    }
    if (faccessat(descriptor, TR_ENDPOINT_NAME, F_OK, 0) != 0) {
        close(descriptor);
        return TR_NO_CONNECTION;
    }
    struct tri_client *client;
    int error = client_new(descriptor, &client);
    if (error != 0) {
        close(descriptor);
        return error;
    }
    error = connect_all(client);
    if (error != 0) {
        tri_client_close(client);
        return error;
    }
    *out = client;
    return 0;
}

int tri_client_descriptor(const struct tri_client *client)
{
    int descriptor = -1;
    size_t size = sizeof descriptor;
    return zmq_getsockopt(client->dealer, ZMQ_FD, &descriptor, &size) == 0 ? descriptor : -1;
}

void tri_client_close(struct tri_client *client)
{
    if (client == NULL) {
        return;
    }
    zmq_msg_close(&client->received);
    if (client->dealer != NULL) {
        (void)zmq_socket_monitor(client->dealer, NULL, 0);
        zmq_close(client->dealer);
    }
    if (client->monitor != NULL) {
        zmq_close(client->monitor);
    }
    if (client->context != NULL) {
        zmq_ctx_term(client->context);
    }
    if (client->folder >= 0) {
        close(client->folder);
    }
    tr_free(client);
}

int tri_client_ask(struct tri_client *client, const struct tr_schema *schema, const void *body,
                   uint32_t *number)
{
    uint8_t *frame;
    size_t size;
    int error = tri_request_make(++client->asked, schema, body, &frame, &size);
    if (error != 0) {
        return error;
    }
    int sent = zmq_send(client->dealer, frame, size, ZMQ_DONTWAIT);
    tr_free(frame);
    if (sent < 0) {
        return TR_NO_CONNECTION;
    }
    *number = client->asked;
    return 0;
}

/* Reads a received answer; TR_NOT_FOUND. Malformed frames are ignored. */
static int receive(struct tri_client *client, struct tri_request *answer)
{
    while (true) {
        zmq_msg_close(&client->received);
        zmq_msg_init(&client->received);
        if (zmq_msg_recv(&client->received, client->dealer, ZMQ_DONTWAIT) < 0) {
            return TR_NOT_FOUND;
        }
        struct tr_bytes frame = {.data = zmq_msg_data(&client->received),
                                 .size = zmq_msg_size(&client->received)};
        if (tri_request_read(frame, answer) == 0) {
            return 0;
        }
    }
}

/*
 * Any event that was asked for is the end of the connection, but for its begin. Each comes in two
 * parts, the first of which begins with its number.
 */
static void read_events(struct tri_client *client)
{
    char part[256];
    uint16_t event = 0;
    while (zmq_recv(client->monitor, part, sizeof part, ZMQ_DONTWAIT) >= (int)sizeof event) {
        memcpy(&event, part, sizeof event);
        (void)zmq_recv(client->monitor, part, sizeof part, ZMQ_DONTWAIT);
        client->was_connected = client->was_connected || event == ZMQ_EVENT_CONNECTED;
        client->is_gone = client->is_gone || event != ZMQ_EVENT_CONNECTED;
        client->is_unknown = client->is_unknown || event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    }
}

/*
 * An engine that closes a connection without sending anything accepts no more clients (accept.c).
 */
static int gone(const struct tri_client *client)
{
    if (client->is_unknown) {
        return TR_CLOSED;
    }
    return client->folder >= 0 && client->was_connected && !client->has_heard ? TR_BUSY
                                                                              : TR_NO_CONNECTION;
}

int tri_client_next(struct tri_client *client, int descriptor, uint32_t timeout_ms,
                    struct tri_request *answer)
{
    zmq_pollitem_t items[] = {
        {.socket = client->dealer, .events = ZMQ_POLLIN},
        {.socket = client->monitor, .events = ZMQ_POLLIN},
        {.fd = descriptor, .events = ZMQ_POLLIN},
    };
    int count = descriptor >= 0 ? 3 : 2;
    int error = receive(client, answer);
    if (error == TR_NOT_FOUND && !client->is_gone) {
        bool was_connected;
        do { /* the begin of the connection is nothing that is waited for, and comes once */
            was_connected = client->was_connected;
            (void)zmq_poll(items, count, (long)timeout_ms);
            read_events(client);
            error = receive(client, answer);
        } while (error == TR_NOT_FOUND && !client->is_gone &&
                 was_connected != client->was_connected);
    }
    if (error == TR_NOT_FOUND) {
        error = client->is_gone ? gone(client) : TR_TIMEOUT;
    }
    client->has_heard = client->has_heard || error == 0;
    return error;
}
