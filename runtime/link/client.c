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
#include "runtime/link/preflight.h"
#include "runtime/memory.h"

#define RECONNECT_MS 86400000

#define MONITOR_ADDRESS "inproc://connection"

struct tri_client {
    void *context;
    void *dealer;
    void *monitor;
    int folder;
    uint32_t asked;
    bool was_connected;
    bool has_heard; /* a message was received */
    bool is_gone;
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

static int connect_all(struct tri_client *client)
{
    char address[64];
    int events = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                 ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
    client->context = zmq_ctx_new();
    if (client->context == NULL) {
        return TR_SYSTEM;
    }
    client->dealer = zmq_socket(client->context, ZMQ_DEALER);
    client->monitor = zmq_socket(client->context, ZMQ_PAIR);
    if (client->dealer == NULL || client->monitor == NULL) {
        return TR_SYSTEM;
    }
    int error = configure(client->dealer);
    /*
     * The path of a Unix socket has at most 108 bytes; through the descriptor a folder with a path
     * of any length is reached, also after it is renamed.
     */
    snprintf(address, sizeof address, "ipc:///proc/self/fd/%d/%s", client->folder,
             TR_ENDPOINT_NAME);
    if (error == 0 && (set_number(client->monitor, ZMQ_LINGER, 0) != 0 ||
                       zmq_socket_monitor(client->dealer, MONITOR_ADDRESS, events) != 0 ||
                       zmq_connect(client->monitor, MONITOR_ADDRESS) != 0 ||
                       zmq_connect(client->dealer, address) != 0)) {
        error = TR_SYSTEM;
    }
    return error;
}

int tri_client_open(const char *folder, struct tri_client **out)
{
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        return errno == ENOENT ? TR_NO_CONNECTION : TR_SYSTEM;
    }
    if (faccessat(descriptor, TR_ENDPOINT_NAME, F_OK, 0) != 0) {
        close(descriptor);
        return TR_NO_CONNECTION;
    }
    /*
     * Before the first call of the library, which would abort the process if it cannot create a
     * thread.
     */
    char words[TRI_PREFLIGHT_WORDS_BYTES];
    struct tri_client *client = NULL;
    if (tri_preflight_check(TRI_PREFLIGHT_CLIENT_NEEDS, words) != 0) {
        close(descriptor);
        return TR_LIMIT;
    }
    client = tr_alloc_zero(1, sizeof *client);
    if (client == NULL) {
        close(descriptor);
        return TR_MEMORY;
    }
    client->folder = descriptor;
    zmq_msg_init(&client->received);
    int error = connect_all(client);
    if (error != 0) {
        tri_client_close(client);
        return error;
    }
    *out = client;
    return 0;
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
    close(client->folder);
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
    }
}

/*
 * An engine that closes a connection without sending anything accepts no more clients (accept.c).
 */
static int gone(const struct tri_client *client)
{
    return client->was_connected && !client->has_heard ? TR_BUSY : TR_NO_CONNECTION;
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
