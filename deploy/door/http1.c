/*
 * HTTP/1.1 by libmicrohttpd, without a thread and a listening socket of its own: it is handed
 * accepted sockets, and its epoll descriptor is one of those that the door watches.
 *
 * It calls on_request when the head is there, for each part of the body, and when all is there; a
 * response can be given at the first and the last of these calls. A request whose handler has not
 * answered at the last one is suspended, and resumed when there is something: then the last call is
 * made again. A response in pieces is suspended in the same way while there is no piece.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deploy/door/connection.h"
#include "deploy/door/guard.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* How much of a response it asks for, and sends, at once. */
#define BLOCK_BYTES_MAX TR_DOOR_TURN_BYTES
#define BLOCK_BYTES_MIN 512U

#define REQUEST_TIMEOUT \
    "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

static const struct tri_transport transport;

static struct tri_connection *connection_of(struct tr_door *door, struct MHD_Connection *carrier)
{
    const union MHD_ConnectionInfo *info =
        door->microhttpd->get_connection_info(carrier, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

static void suspend(struct tr_door_exchange *exchange)
{
    exchange->is_suspended = true;
    exchange->connection->door->microhttpd->suspend_connection(exchange->carrier);
}

static void resume(struct tr_door_exchange *exchange)
{
    struct tr_door *door = exchange->connection->door;
    door->runs_http1 = true;
    if (exchange->is_suspended) {
        exchange->is_suspended = false;
        door->microhttpd->resume_connection(exchange->carrier);
    }
}

/* ------------------------------------------------------------------- requests */

/* The first line has come: the target as it was sent, and what the library keeps as our state. */
static void *on_target(void *self, const char *target, struct MHD_Connection *carrier)
{
    struct tri_connection *connection = connection_of(self, carrier);
    struct tr_door_exchange *exchange =
        connection == NULL ? NULL : tri_door_exchange_new(connection, &transport);
    if (exchange == NULL) {
        return NULL;
    }
    exchange->carrier = carrier;
    exchange->request.is_secure = connection->tls != NULL;
    /* One that is too long is in no field, and the head is refused for its size. */
    if (tri_door_exchange_set(exchange, &exchange->target, tr_text_of(target)) == TR_MEMORY) {
        exchange->is_reset = true;
    }
    return exchange;
}

/* The target is not unescaped: that is the handler's. */
static size_t keep_escapes(void *self, struct MHD_Connection *carrier, char *text)
{
    (void)self;
    (void)carrier;
    return strlen(text);
}

static enum MHD_Result take_header(void *self, enum MHD_ValueKind kind, const char *name,
                                   size_t name_size, const char *value, size_t value_size)
{
    struct tr_door_exchange *exchange = self;
    (void)kind;
    int error = tri_door_exchange_add(exchange, (struct tr_text){.data = name, .size = name_size},
                                      (struct tr_text){.data = value, .size = value_size});
    if (error == TR_MEMORY) {
        exchange->is_reset = true;
    }
    return error == TR_MEMORY || error == TR_OVERFLOW ? MHD_NO : MHD_YES;
}

static void take_head(struct tr_door_exchange *exchange, const char *method)
{
    const struct tri_microhttpd *microhttpd = exchange->connection->door->microhttpd;
    if (tri_door_exchange_set(exchange, &exchange->method, tr_text_of(method)) == TR_MEMORY) {
        exchange->is_reset = true;
    }
    (void)microhttpd->get_connection_values_n(exchange->carrier, MHD_HEADER_KIND, take_header,
                                              exchange);
    if (!exchange->is_reset) {
        tri_door_exchange_head(exchange);
    }
}

/*
 * Whether a response goes before the body: the client waits for a word before it sends it, or it is
 * more than is thrown away, or nobody knows where it ends. Else the response waits for the last
 * call, as the library closes a connection with what has not been read, and a client that still
 * sends would not see it.
 */
static bool goes_early(const struct tr_door_exchange *exchange)
{
    bool has_length = false;
    uint64_t length = 0;
    bool is_clear = tri_guard_length(&exchange->request, &has_length, &length);
    bool is_huge = has_length && length > exchange->body_bytes_max + TR_DOOR_DISCARDED_BYTES_MAX;
    return exchange->response_phase == TRI_RESPONSE_ENDED &&
           (!is_clear || is_huge ||
            (tr_door_exchange_header(exchange, "expect").data != NULL &&
             (!has_length || length > 0)));
}

static enum MHD_Result hand_over(struct tr_door_exchange *exchange)
{
    const struct tri_microhttpd *microhttpd = exchange->connection->door->microhttpd;
    exchange->is_queued = true;
    enum MHD_Result result = microhttpd->queue_response(
        exchange->carrier, (unsigned int)exchange->status, exchange->response);
    microhttpd->destroy_response(exchange->response); /* which counts the references to it */
    exchange->response = NULL;
    return result;
}

static enum MHD_Result answer_or_wait(struct tr_door_exchange *exchange)
{
    if (exchange->is_reset) {
        return MHD_NO;
    }
    if (exchange->response != NULL) {
        return hand_over(exchange);
    }
    if (!exchange->is_queued) {
        suspend(exchange);
    }
    return MHD_YES;
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *carrier, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    struct tr_door_exchange *exchange = *state;
    (void)self;
    (void)carrier;
    (void)url;
    (void)version;
    if (exchange == NULL || exchange->is_reset) {
        return MHD_NO;
    }
    if (exchange->request_phase == TRI_REQUEST_HEAD) {
        take_head(exchange, method);
        return exchange->is_reset ? MHD_NO : goes_early(exchange) ? hand_over(exchange) : MHD_YES;
    }
    if (*size > 0) {
        struct tr_bytes piece = {.data = (const uint8_t *)data, .size = *size};
        *size = 0;
        if (!tri_door_exchange_body(exchange, piece)) {
            return MHD_NO;
        }
        if (exchange->is_held) {
            suspend(exchange);
        }
        return MHD_YES;
    }
    if (exchange->request_phase == TRI_REQUEST_BODY) {
        tri_door_exchange_whole(exchange);
    }
    return answer_or_wait(exchange);
}

static void on_completed(void *self, struct MHD_Connection *carrier, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct tr_door_exchange *exchange = *state;
    (void)self;
    (void)carrier;
    (void)code;
    if (exchange == NULL) {
        return;
    }
    struct tri_connection *connection = exchange->connection;
    *state = NULL;
    if (exchange->response != NULL) {
        connection->door->microhttpd->destroy_response(exchange->response);
    }
    tri_door_exchange_free(exchange);
    connection->requests++;
    connection->since_ms = connection->door->now_ms;
    tri_door_due(connection->door, connection->since_ms + TR_DOOR_HTTP1_IDLE_MS);
}

/* ------------------------------------------------------------------- responses */

static ssize_t give_body(void *self, uint64_t position, char *room, size_t size_max)
{
    struct tr_door_exchange *exchange = self;
    size_t size = tri_buffer_size(&exchange->out);
    size = size < size_max ? size : size_max;
    (void)position;
    if (exchange->is_reset) {
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (size > 0) {
        memcpy(room, tri_buffer_front(&exchange->out), size);
        tri_door_exchange_sent(exchange, size);
        return (ssize_t)size;
    }
    if (exchange->response_phase == TRI_RESPONSE_ENDED) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    suspend(exchange);
    return 0;
}

/* How long a response in pieces will be, where its handler knows. */
static uint64_t length_of(const struct tr_door_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *value = tr_text_equal(headers[i].name, tr_text_of("content-length"))
                          ? tr_text_copy(headers[i].value)
                          : NULL;
        if (value != NULL) {
            uint64_t length = strtoull(value, NULL, 10);
            tr_free(value);
            return length;
        }
    }
    return MHD_SIZE_UNKNOWN;
}

/* It makes its own of the headers that frame a message. */
static bool is_framing(struct tr_text name)
{
    return tr_text_equal(name, tr_text_of("content-length")) ||
           tr_text_equal(name, tr_text_of("transfer-encoding"));
}

static bool add_header(const struct tri_microhttpd *microhttpd, struct MHD_Response *response,
                       const struct tr_door_header *header)
{
    char *name = tr_text_copy(header->name);
    char *value = tr_text_copy(header->value);
    bool is_added = name != NULL && value != NULL &&
                    microhttpd->add_response_header(response, name, value) == MHD_YES;
    tr_free(name);
    tr_free(value);
    return is_added;
}

static struct MHD_Response *make_response(struct tr_door_exchange *exchange, bool is_whole,
                                          uint64_t length)
{
    const struct tri_microhttpd *microhttpd = exchange->connection->door->microhttpd;
    static char nothing[1];
    size_t size = tri_buffer_size(&exchange->out);
    if (is_whole && size == 0) {
        return microhttpd->create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    }
    size_t block = !is_whole || size > BLOCK_BYTES_MAX ? BLOCK_BYTES_MAX
                   : size < BLOCK_BYTES_MIN            ? BLOCK_BYTES_MIN
                                                       : size;
    return microhttpd->create_response_from_callback(is_whole ? size : length, block, give_body,
                                                     exchange, NULL);
}

static void begin_response(struct tr_door_exchange *exchange, int status,
                           const struct tr_door_header *headers, size_t count, bool is_whole)
{
    static const struct tr_door_header last = {.name = {"connection", 10}, .value = {"close", 5}};
    const struct tri_microhttpd *microhttpd = exchange->connection->door->microhttpd;
    struct MHD_Response *response = make_response(exchange, is_whole, length_of(headers, count));
    bool is_made = response != NULL;
    for (size_t i = 0; is_made && i < count; i++) {
        is_made = is_framing(headers[i].name) || add_header(microhttpd, response, &headers[i]);
    }
    if (is_made && exchange->is_refused) {
        is_made = add_header(microhttpd, response, &last);
    }
    if (!is_made) {
        if (response != NULL) {
            microhttpd->destroy_response(response);
        }
        tr_door_exchange_reset(exchange);
        return;
    }
    exchange->status = status;
    exchange->response = response;
    if (exchange->request_phase == TRI_REQUEST_WHOLE) {
        resume(exchange);
    }
}

static void send_more(struct tr_door_exchange *exchange)
{
    if (exchange->is_queued) {
        resume(exchange);
    }
}

static void take_more(struct tr_door_exchange *exchange)
{
    if (exchange->request_phase == TRI_REQUEST_BODY) {
        resume(exchange);
    }
}

/* Where the library is not about to ask, its socket is cut. */
static void reset(struct tr_door_exchange *exchange)
{
    if (exchange->connection->carrier_socket >= 0) {
        (void)shutdown(exchange->connection->carrier_socket, SHUT_RDWR);
    }
    resume(exchange);
}

static const struct tri_transport transport = {
    .begin = begin_response, .more = send_more, .go_on = take_more, .reset = reset};

/* ----------------------------------------------------------------- connections */

static void on_connection(void *self, struct MHD_Connection *carrier, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct tr_door *door = self;
    (void)carrier;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = door->handed_over;
        return;
    }
    struct tri_connection *connection = *context;
    if (connection->phase == TRI_CONNECTION_HTTP1) {
        tri_door_unwatch(door, connection->carrier_socket); /* it is closed behind this */
    }
    connection->is_carried = false;
    connection->carrier_socket = -1;
    if (connection->phase == TRI_CONNECTION_HTTP1) {
        tri_connection_close(connection);
    } /* a pipe moves what there is, and ends then */
}

static void on_ready(struct tri_watch *watch, uint32_t events)
{
    struct tr_door *door =
        (struct tr_door *)((char *)watch - offsetof(struct tr_door, daemon_watch));
    (void)events;
    door->runs_http1 = true;
}

/* Opens what the clients of HTTP/1.1 need, when the first of them comes. */
static int open_daemon(struct tr_door *door)
{
    char words[TR_DOOR_WORDS_BYTES];
    door->microhttpd = tri_microhttpd_load(words);
    if (door->microhttpd == NULL) {
        return TR_SYSTEM;
    }
    door->daemon = door->microhttpd->start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        on_request, door, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned int)(door->connections_max + TR_DOOR_REFUSED_CONNECTIONS_MAX),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)TR_DOOR_HTTP1_BYTES,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, door, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
        door, MHD_OPTION_NOTIFY_COMPLETED, on_completed, door, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, door, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_END);
    if (door->daemon == NULL) {
        return TR_MEMORY;
    }
    const union MHD_DaemonInfo *info =
        door->microhttpd->get_daemon_info(door->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    door->daemon_watch.ready = on_ready;
    int error = info == NULL ? TR_SYSTEM
                             : tri_door_watch(door, info->epoll_fd, &door->daemon_watch, EPOLLIN);
    if (error != 0) {
        door->microhttpd->stop_daemon(door->daemon);
        door->daemon = NULL;
    }
    return error;
}

int tri_http1_begin(struct tri_connection *connection, int socket)
{
    struct tr_door *door = connection->door;
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    int error = door->daemon != NULL ? 0 : open_daemon(door);
    if (error != 0) {
        (void)close(socket);
        return error;
    }
    connection->carrier_socket = socket;
    connection->is_carried = true;
    door->handed_over = connection;
    door->runs_http1 = true;
    enum MHD_Result result = door->microhttpd->add_connection(
        door->daemon, socket, (const struct sockaddr *)&peer, sizeof(sa_family_t));
    door->handed_over = NULL;
    if (result != MHD_YES) {
        connection->is_carried = false; /* and the socket is closed */
        connection->carrier_socket = -1;
        return TR_SYSTEM;
    }
    tri_door_due(door, door->now_ms + TR_DOOR_HEAD_MS);
    return 0;
}

/* Nothing of a response is on its way while a request comes, so the words are not mixed up. */
void tri_http1_cut(struct tri_connection *connection)
{
    const struct tr_door_exchange *exchange = connection->exchanges;
    bool is_awaited = exchange == NULL
                          ? connection->requests == 0
                          : exchange->request_phase != TRI_REQUEST_WHOLE && !exchange->is_queued;
    if (is_awaited) {
        (void)send(connection->carrier_socket, REQUEST_TIMEOUT, sizeof REQUEST_TIMEOUT - 1,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    (void)shutdown(connection->carrier_socket, SHUT_RDWR);
    if (exchange != NULL && exchange->is_suspended) {
        tr_door_exchange_reset(connection->exchanges);
    }
    connection->since_ms = connection->door->now_ms;
    connection->door->runs_http1 = true;
}

void tri_http1_run(struct tr_door *door)
{
    unsigned MHD_LONG_LONG due_ms;
    door->runs_http1 = false;
    (void)door->microhttpd->run(door->daemon);
    if (door->microhttpd->get_timeout(door->daemon, &due_ms) == MHD_YES && due_ms == 0) {
        door->runs_http1 = true;
    }
}

/* The library must not be stopped while something is suspended. */
void tri_http1_close(struct tr_door *door)
{
    if (door->daemon == NULL) {
        return;
    }
    for (struct tri_connection *at = door->connections; at != NULL; at = at->next) {
        for (struct tr_door_exchange *exchange = at->exchanges; exchange != NULL;
             exchange = exchange->next) {
            if (exchange->carrier != NULL) {
                tr_door_exchange_reset(exchange);
            }
        }
    }
    (void)door->microhttpd->run(door->daemon);
    door->microhttpd->stop_daemon(door->daemon);
    door->daemon = NULL;
}
