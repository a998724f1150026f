/*
 * A connection's life: agreeing upon TLS, or finding out by the first bytes of cleartext which HTTP
 * the client speaks; then one of the two protocols; then its end.
 *
 * Nothing is freed while a turn of the door goes on, since events of the same turn may be about it:
 * what is dead is out of all lists but one, and is freed when the turn ends. libmicrohttpd keeps
 * what it was given until it says that it has let go of it (`is_carried`).
 */
#include "deploy/door/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* What a client that knows the server speaks HTTP/2 begins with (RFC 9113, section 3.4). */
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
#define PREFACE_BYTES (sizeof preface - 1)

static struct tri_connection *connection_of(struct tri_watch *watch)
{
    return (struct tri_connection *)((char *)watch - offsetof(struct tri_connection, watch));
}

/* ------------------------------------------------------------------- its end */

static void unlink_dirty(struct tri_connection *connection)
{
    struct tri_connection **at = &connection->door->dirty;
    while (connection->is_dirty && *at != connection) {
        at = &(*at)->next_dirty;
    }
    if (connection->is_dirty) {
        *at = connection->next_dirty;
        connection->is_dirty = false;
    }
}

static void close_socket(struct tri_connection *connection)
{
    if (connection->socket >= 0) {
        tri_door_unwatch(connection->door, connection->socket);
        (void)close(connection->socket);
        connection->socket = -1;
    }
}

void tri_connection_close(struct tri_connection *connection)
{
    struct tr_door *door = connection->door;
    if (connection->phase == TRI_CONNECTION_DEAD) {
        return;
    }
    TR_ASSERT(connection->phase != TRI_CONNECTION_HTTP1 || !connection->is_carried);
    if (connection->phase == TRI_CONNECTION_HTTP2) {
        tri_http2_end(connection);
    } else if (connection->phase == TRI_CONNECTION_PIPE) {
        tri_pipe_close(connection);
    }
    connection->phase = TRI_CONNECTION_DEAD;
    tri_tls_end(connection);
    close_socket(connection);
    unlink_dirty(connection);
    *connection->link = connection->next;
    if (connection->next != NULL) {
        connection->next->link = connection->link;
    }
    connection->next = door->dead;
    door->dead = connection;
    door->connection_count--;
}

void tri_connection_end(struct tri_connection *connection)
{
    if (connection->is_carried) {
        tri_http1_cut(connection); /* libmicrohttpd lets go of it then, and it is closed */
    } else {
        tri_connection_close(connection);
    }
}

void tri_connections_bury(struct tr_door *door)
{
    struct tri_connection **at = &door->dead;
    while (*at != NULL) {
        struct tri_connection *connection = *at;
        if (connection->is_carried) {
            at = &connection->next;
            continue;
        }
        *at = connection->next;
        tr_free(connection);
    }
}

/* -------------------------------------------------------------- reading, writing */

ptrdiff_t tri_connection_read(struct tri_connection *connection, uint8_t *data, size_t size)
{
    if (connection->tls != NULL) {
        return tri_tls_read(connection, data, size);
    }
    ssize_t count = recv(connection->socket, data, size, 0);
    if (count >= 0) {
        return count;
    }
    return errno == EAGAIN || errno == EINTR ? TR_BUSY : TR_CLOSED;
}

ptrdiff_t tri_connection_write(struct tri_connection *connection, const uint8_t *data, size_t size)
{
    if (connection->tls != NULL) {
        return tri_tls_write(connection, data, size);
    }
    ssize_t count = send(connection->socket, data, size, MSG_NOSIGNAL);
    if (count > 0) {
        return count;
    }
    return errno == EAGAIN || errno == EINTR ? TR_BUSY : TR_CLOSED;
}

void tri_connection_expect(struct tri_connection *connection, uint32_t events)
{
    if (connection->events != events && connection->socket >= 0) {
        connection->events = events;
        tri_door_rewatch(connection->door, connection->socket, &connection->watch, events);
    }
}

void tri_connection_mark(struct tri_connection *connection)
{
    if (!connection->is_dirty && connection->phase != TRI_CONNECTION_DEAD) {
        connection->is_dirty = true;
        connection->next_dirty = connection->door->dirty;
        connection->door->dirty = connection;
    }
}

void tri_connection_flush(struct tri_connection *connection)
{
    if (connection->phase == TRI_CONNECTION_HTTP2) {
        tri_http2_flush(connection);
    }
}

/* ------------------------------------------------------------------ its begin */

static void begin_http2(struct tri_connection *connection)
{
    connection->since_ms = connection->door->now_ms;
    tri_connection_expect(connection, EPOLLIN);
    if (tri_http2_begin(connection) != 0) {
        tri_connection_close(connection);
        return;
    }
    tri_http2_read(connection); /* TLS may hold what has come */
}

/*
 * Closing a socket takes it out of epoll only if no process has another descriptor of it, as one
 * that is being started has for a moment. So it is taken out by name before libmicrohttpd closes
 * it (tri_http1_begin, or when it lets go of it), or what is freed could be woken.
 */
static void begin_http1(struct tri_connection *connection)
{
    int socket = connection->socket;
    struct tr_door *door = connection->door;
    connection->since_ms = door->now_ms;
    connection->phase = TRI_CONNECTION_HTTP1;
    tri_door_unwatch(door, socket);
    connection->socket = -1;
    if (tri_http1_begin(connection, socket) != 0) {
        tri_connection_close(connection);
        return;
    }
    /* Only to hear early that a client has left. */
    (void)!tri_door_watch(door, socket, &connection->watch, EPOLLRDHUP | EPOLLET);
}

static void begin_pipe(struct tri_connection *connection)
{
    int other;
    connection->since_ms = connection->door->now_ms;
    connection->phase = TRI_CONNECTION_PIPE;
    connection->pipe.socket = -1;
    if (tri_pipe_open(connection, &other) != 0 || tri_http1_begin(connection, other) != 0) {
        tri_connection_close(connection);
        return;
    }
    tri_pipe_turn(connection);
}

/*
 * The first bytes stay where they are, for whoever speaks the protocol. They are waited for by
 * edges, or the same bytes of half a preface would wake the door again and again.
 */
static void look_at_first_bytes(struct tri_connection *connection)
{
    char bytes[PREFACE_BYTES];
    ssize_t count = recv(connection->socket, bytes, sizeof bytes, MSG_PEEK);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        tri_connection_close(connection);
    } else if (memcmp(bytes, preface, (size_t)count) != 0) {
        begin_http1(connection);
    } else if ((size_t)count == PREFACE_BYTES) {
        begin_http2(connection);
    }
}

static void go_on_agreeing(struct tri_connection *connection)
{
    int error = tri_tls_agree(connection);
    if (error == TR_BUSY) {
        return;
    }
    if (error != 0) {
        tri_connection_close(connection);
    } else if (tri_tls_is_http2(connection)) {
        begin_http2(connection);
    } else {
        begin_pipe(connection);
    }
}

static void on_ready(struct tri_watch *watch, uint32_t events)
{
    struct tri_connection *connection = connection_of(watch);
    switch ((enum tri_connection_phase)connection->phase) {
    case TRI_CONNECTION_TLS:
        go_on_agreeing(connection);
        break;
    case TRI_CONNECTION_FIRST:
        look_at_first_bytes(connection);
        break;
    case TRI_CONNECTION_HTTP2:
        tri_connection_mark(connection);
        if ((events & ~(uint32_t)EPOLLOUT) != 0 || connection->tls != NULL) {
            tri_http2_read(connection);
        }
        break;
    case TRI_CONNECTION_PIPE:
        tri_pipe_turn(connection);
        break;
    case TRI_CONNECTION_HTTP1:
        connection->left_ms = connection->door->now_ms;
        tri_door_due(connection->door, connection->door->now_ms + TR_DOOR_LEFT_MS);
        break;
    case TRI_CONNECTION_DEAD:
        break;
    }
}

/* A peer that has gone without a word is noticed by the kernel. Small answers go at once. */
static void set_options(int socket)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, TR_DOOR_PROBE_AFTER_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, TR_DOOR_PROBE_EACH_S},
        {IPPROTO_TCP, TCP_KEEPCNT, TR_DOOR_PROBES},
        {IPPROTO_TCP, TCP_NODELAY, 1},
    };
    for (size_t i = 0; i < TR_COUNT_OF(options); i++) {
        (void)setsockopt(socket, options[i].level, options[i].name, &options[i].value,
                         sizeof options[i].value);
    }
}

void tri_connection_accept(struct tri_listener *listener, int socket)
{
    struct tr_door *door = listener->door;
    bool is_refused = door->connection_count >= door->connections_max;
    bool has_tls = door->tls != NULL && !listener->is_unix;
    struct tri_connection *connection =
        door->connection_count < door->connections_max + TR_DOOR_REFUSED_CONNECTIONS_MAX
            ? tr_alloc_zero(1, sizeof *connection)
            : NULL;
    if (connection == NULL) {
        (void)close(socket);
        return;
    }
    *connection = (struct tri_connection){
        .watch = {.ready = on_ready},
        .door = door,
        .phase = has_tls ? TRI_CONNECTION_TLS : TRI_CONNECTION_FIRST,
        .is_refused = is_refused,
        .takes_any_host = has_tls || listener->is_unix,
        .socket = socket,
        .events = has_tls ? EPOLLIN : EPOLLIN | EPOLLET,
        .since_ms = door->now_ms,
        .active_ms = door->now_ms,
        .sent_ms = door->now_ms,
        .next = door->connections,
        .link = &door->connections,
        .carrier_socket = -1,
    };
    if (connection->next != NULL) {
        connection->next->link = &connection->next;
    }
    door->connections = connection;
    door->connection_count++;
    if (!listener->is_unix) {
        set_options(socket);
    }
    if ((has_tls && tri_tls_begin(connection) != 0) ||
        tri_door_watch(door, socket, &connection->watch, connection->events) != 0) {
        tri_connection_close(connection);
        return;
    }
    tri_door_due(door, door->now_ms + (is_refused ? TR_DOOR_REFUSED_MS : TR_DOOR_HANDSHAKE_MS));
}

/* ------------------------------------------------------------------ deadlines */

static uint64_t sooner(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* How long it may stay as it is, from `since_ms` on; UINT64_MAX: for ever. */
static uint64_t span_of(const struct tri_connection *connection)
{
    if (connection->is_refused) {
        return TR_DOOR_REFUSED_MS;
    }
    switch ((enum tri_connection_phase)connection->phase) {
    case TRI_CONNECTION_TLS:
    case TRI_CONNECTION_FIRST:
        return TR_DOOR_HANDSHAKE_MS;
    case TRI_CONNECTION_HTTP1:
    case TRI_CONNECTION_PIPE:
        return connection->left_ms != 0    ? TR_DOOR_LEFT_MS
               : connection->requests == 0 ? TR_DOOR_HEAD_MS
                                           : TR_DOOR_HTTP1_IDLE_MS;
    case TRI_CONNECTION_HTTP2:
        return connection->requests == 0 && connection->active_ms == connection->since_ms
                   ? TR_DOOR_HEAD_MS
                   : TR_DOOR_HTTP2_IDLE_MS;
    case TRI_CONNECTION_DEAD:
        break;
    }
    return UINT64_MAX;
}

/* When it has rested, or been about to begin, for too long. */
static uint64_t due_of(const struct tri_connection *connection)
{
    bool is_http2 = connection->phase == TRI_CONNECTION_HTTP2;
    if (connection->exchanges != NULL) {
        return UINT64_MAX;
    }
    uint64_t last_ms = is_http2 ? connection->active_ms : connection->left_ms;
    uint64_t since_ms = last_ms > connection->since_ms ? last_ms : connection->since_ms;
    return since_ms + span_of(connection);
}

/* When the client has to have taken something. */
static uint64_t stalled_of(const struct tri_connection *connection)
{
    bool has_some = connection->unsent_bytes > 0 || tri_buffer_size(&connection->out) > 0;
    return has_some ? connection->sent_ms + TR_DOOR_STALLED_MS : UINT64_MAX;
}

uint64_t tri_connection_look(struct tri_connection *connection, uint64_t now_ms)
{
    uint64_t due_ms = UINT64_MAX;
    struct tr_door_exchange *next;
    for (struct tr_door_exchange *exchange = connection->exchanges; exchange != NULL;
         exchange = next) {
        next = exchange->next;
        due_ms = sooner(due_ms, tri_door_exchange_look(exchange, now_ms));
        if (connection->phase == TRI_CONNECTION_DEAD) {
            return UINT64_MAX;
        }
    }
    if (due_of(connection) > now_ms && stalled_of(connection) > now_ms) {
        return sooner(due_ms, sooner(due_of(connection), stalled_of(connection)));
    }
    bool is_polite = connection->phase == TRI_CONNECTION_HTTP2 && !connection->is_ending &&
                     stalled_of(connection) > now_ms;
    if (is_polite) {
        tri_http2_leave(connection, NGHTTP2_NO_ERROR);
        connection->since_ms = now_ms;
        connection->active_ms = now_ms;
        connection->is_refused = true; /* which leaves it little time to go */
        return now_ms + TR_DOOR_REFUSED_MS;
    }
    tri_connection_end(connection);
    return now_ms + TR_DOOR_REFUSED_MS;
}
