/*
 * HTTP/1.1 behind TLS: libmicrohttpd has one end of a pair of sockets, and bytes are moved between
 * the other end and TLS, both ways, a buffer each. A buffer is empty before it is filled again, so
 * neither side can run ahead of the other.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deploy/door/connection.h"
#include "schemas/codec/error.h"

/* How often both directions are tried in one turn. */
#define ROUNDS_MAX 16

static struct tri_connection *connection_of(struct tri_watch *watch)
{
    return (struct tri_connection *)((char *)watch - offsetof(struct tri_connection, pipe.watch));
}

static void on_ready(struct tri_watch *watch, uint32_t events)
{
    struct tri_connection *connection = connection_of(watch);
    (void)events;
    if (connection->phase == TRI_CONNECTION_PIPE) {
        tri_pipe_turn(connection);
    }
}

int tri_pipe_open(struct tri_connection *connection, int *other)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        return TR_SYSTEM;
    }
    connection->pipe.watch.ready = on_ready;
    if (tri_door_watch(connection->door, ends[0], &connection->pipe.watch, EPOLLIN) != 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return TR_SYSTEM;
    }
    connection->pipe.socket = ends[0];
    *other = ends[1];
    return 0;
}

static void close_pair(struct tri_connection *connection)
{
    struct tri_pipe *pipe = &connection->pipe;
    if (pipe->socket >= 0) {
        tri_door_unwatch(connection->door, pipe->socket);
        (void)close(pipe->socket);
        pipe->socket = -1;
    }
}

/* One that waits for its handler does not notice. */
void tri_pipe_close(struct tri_connection *connection)
{
    close_pair(connection);
    if (connection->is_carried && connection->exchanges != NULL) {
        tr_door_exchange_reset(connection->exchanges);
    }
    tri_buffer_fini(&connection->pipe.in);
    tri_buffer_fini(&connection->pipe.out);
    connection->door->runs_http1 = true;
}

/* From TLS to libmicrohttpd; whether something was moved, or why it is over. */
static int move_in(struct tri_connection *connection, bool *has_moved)
{
    struct tr_door *door = connection->door;
    struct tri_buffer *in = &connection->pipe.in;
    if (tri_buffer_size(in) == 0) {
        ptrdiff_t size = tri_connection_read(connection, door->room, TR_DOOR_TURN_BYTES);
        if (size == TR_BUSY) {
            return 0;
        }
        if (size <= 0 || tri_buffer_append(in, door->room, (size_t)size) != 0) {
            return TR_CLOSED;
        }
        connection->active_ms = door->now_ms;
        *has_moved = true;
    }
    if (connection->pipe.socket < 0) {
        tri_buffer_clear(in); /* nobody reads it any more */
        return 0;
    }
    ssize_t sent =
        send(connection->pipe.socket, tri_buffer_front(in), tri_buffer_size(in), MSG_NOSIGNAL);
    if (sent > 0) {
        tri_buffer_consume(in, (size_t)sent);
        *has_moved = true;
    } else if (errno != EAGAIN && errno != EINTR) {
        tri_buffer_clear(in);
    }
    return 0;
}

/* From libmicrohttpd to TLS. When it has closed its end and all is moved it is over. */
static int move_out(struct tri_connection *connection, bool *has_moved)
{
    struct tr_door *door = connection->door;
    struct tri_buffer *out = &connection->pipe.out;
    if (tri_buffer_size(out) == 0 && connection->pipe.socket >= 0) {
        ssize_t size = recv(connection->pipe.socket, door->room, TR_DOOR_TURN_BYTES, 0);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            return 0;
        }
        if (size <= 0) {
            close_pair(connection);
        } else if (tri_buffer_append(out, door->room, (size_t)size) != 0) {
            return TR_CLOSED;
        }
    }
    if (tri_buffer_size(out) == 0) {
        return connection->pipe.socket < 0 ? TR_CLOSED : 0;
    }
    ptrdiff_t sent = tri_connection_write(connection, tri_buffer_front(out), tri_buffer_size(out));
    if (sent == TR_BUSY) {
        return 0;
    }
    if (sent <= 0) {
        return TR_CLOSED;
    }
    tri_buffer_consume(out, (size_t)sent);
    *has_moved = true;
    return 0;
}

void tri_pipe_turn(struct tri_connection *connection)
{
    struct tri_pipe *pipe = &connection->pipe;
    int error = 0;
    bool has_moved = true;
    for (int round = 0; round < ROUNDS_MAX && has_moved && error == 0; round++) {
        has_moved = false;
        error = move_out(connection, &has_moved);
        if (error == 0) {
            error = move_in(connection, &has_moved);
        }
    }
    if (error != 0) {
        tri_connection_close(connection);
        return;
    }
    bool is_in_full = tri_buffer_size(&pipe->in) > 0;
    bool is_out_full = tri_buffer_size(&pipe->out) > 0;
    /* What was cut short goes on at once: a socket that can be written says so. */
    tri_connection_expect(connection,
                          (is_in_full ? 0U : EPOLLIN) | (is_out_full || has_moved ? EPOLLOUT : 0U));
    if (pipe->socket >= 0) {
        tri_door_rewatch(connection->door, pipe->socket, &pipe->watch,
                         (is_out_full ? 0U : EPOLLIN) | (is_in_full ? EPOLLOUT : 0U));
    }
}
