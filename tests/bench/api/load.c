/*
 * A client of gRPC that costs little, so that a server is what is measured: unary calls of one
 * kind, from one thread, over any number of connections with any number of calls at once on each.
 *
 *     load HOST:PORT
 *
 * reads lines, and prints one for each when it is done:
 *
 *     PATH CONNECTIONS STREAMS CALLS MILLISECONDS BODY
 *     CALLS FAILED SECONDS MEDIAN_US P99_US BYTES BODY
 *
 * A line makes CALLS calls, or as many as fit into MILLISECONDS if that is not 0. BODY is a message
 * in hexadecimal digits, `-` if it is empty: what each call asks, and what the last one was
 * answered. Connections stay open for the next line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1024
#define FRAME_HEAD_BYTES 5
#define WINDOW_BYTES (16 << 20)

struct bytes {
    uint8_t *data;
    size_t size;
    size_t room;
};

struct connection {
    int fd;
    nghttp2_session *session;
    struct bytes out; /* what the socket has not taken */
};

struct call {
    struct connection *connection;
    double began_ns;
    size_t sent; /* of the request */
    bool is_ok;
    struct bytes answer;
};

/* What a line asks for, and what has come of it. */
struct order {
    char path[256];
    unsigned connections;
    unsigned streams;
    uint64_t calls;
    double end_ns; /* 0: no end */
    struct bytes request;

    uint64_t begun;
    uint64_t ended;
    uint64_t failed;
    double *times_us;
    size_t times_room;
    struct bytes answer; /* the last one */
};

static const char *where;
static struct connection connections[CONNECTIONS_MAX];
static unsigned connection_count;
static struct order order;

static void fail(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "load: %s: %s\n", what, nghttp2_strerror(error));
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *grown(void *data, size_t size)
{
    data = realloc(data, size);
    if (data == NULL) {
        fail("memory");
    }
    return data;
}

static void append(struct bytes *bytes, const uint8_t *data, size_t size)
{
    if (bytes->size + size > bytes->room) {
        bytes->room = 2 * (bytes->size + size);
        bytes->data = grown(bytes->data, bytes->room);
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

/* ------------------------------------------------------------------------ calls */

static bool is_more_wanted(void)
{
    return order.end_ns != 0 ? now_ns() < order.end_ns : order.begun < order.calls;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t room,
                            uint32_t *flags, nghttp2_data_source *source, void *self)
{
    (void)session, (void)stream, (void)self;
    struct call *call = source->ptr;
    size_t size = order.request.size - call->sent;
    size = size < room ? size : room;
    memcpy(buffer, order.request.data + call->sent, size);
    call->sent += size;
    *flags = call->sent == order.request.size ? NGHTTP2_DATA_FLAG_EOF : 0;
    return (ssize_t)size;
}

#define HEADER(NAME, VALUE)                                                   \
    {                                                                         \
        .name = (uint8_t *)(uintptr_t)(NAME), .namelen = strlen(NAME),        \
        .value = (uint8_t *)(uintptr_t)(VALUE), .valuelen = strlen(VALUE),    \
        .flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE \
    }

static void begin_call(struct connection *connection)
{
    nghttp2_nv headers[] = {
        HEADER(":method", "POST"),          HEADER(":scheme", "http"),
        HEADER(":path", order.path),        HEADER(":authority", where),
        HEADER("te", "trailers"),           HEADER("content-type", "application/grpc"),
        HEADER("user-agent", "bench-load"),
    };
    struct call *call = grown(NULL, sizeof *call);
    *call = (struct call){.connection = connection, .began_ns = now_ns()};
    nghttp2_data_provider body = {.source = {.ptr = call}, .read_callback = read_request};
    int32_t stream = nghttp2_submit_request(connection->session, NULL, headers,
                                            sizeof headers / sizeof headers[0], &body, call);
    must(stream < 0 ? stream : 0, "a call");
    order.begun++;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *self)
{
    (void)flags, (void)self;
    static const char status[] = "grpc-status";
    struct call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (call != NULL && name_size == sizeof status - 1 && memcmp(name, status, name_size) == 0) {
        call->is_ok = value_size == 1 && value[0] == '0';
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t size, void *self)
{
    (void)flags, (void)self;
    struct call *call = nghttp2_session_get_stream_user_data(session, stream);
    if (call != NULL) {
        append(&call->answer, data, size);
    }
    return 0;
}

static void note_time(double time_us)
{
    if (order.ended == order.times_room) {
        order.times_room = 2 * order.times_room + 1024;
        order.times_us = grown(order.times_us, order.times_room * sizeof order.times_us[0]);
    }
    order.times_us[order.ended] = time_us;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *self)
{
    (void)self;
    struct call *call = nghttp2_session_get_stream_user_data(session, stream);
    note_time((now_ns() - call->began_ns) / 1e3);
    order.ended++;
    order.failed += error != 0 || !call->is_ok;
    free(order.answer.data);
    order.answer = call->answer;
    if (is_more_wanted()) {
        begin_call(call->connection);
    }
    free(call);
    return 0;
}

/* ------------------------------------------------------------------------ connections */

static nghttp2_session *make_session(void)
{
    static nghttp2_session_callbacks *callbacks;
    if (callbacks == NULL) {
        must(nghttp2_session_callbacks_new(&callbacks), "memory");
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    }
    nghttp2_session *session;
    nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES};
    must(nghttp2_session_client_new(&session, callbacks, NULL), "memory");
    must(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &settings, 1), "settings");
    must(nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, WINDOW_BYTES),
         "a window");
    return session;
}

static int connect_to(void)
{
    char host[64];
    unsigned port;
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (sscanf(where, "%63[0-9.]:%u", host, &port) != 2 ||
        inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        fail(where);
    }
    address.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        fail(where);
    }
    return fd;
}

static void open_connections(unsigned count)
{
    while (connection_count < count) {
        connections[connection_count++] =
            (struct connection){.fd = connect_to(), .session = make_session()};
    }
}

/* Lets the socket take what it will. */
static void send_frames(struct connection *connection)
{
    struct bytes *out = &connection->out;
    const uint8_t *frames;
    ssize_t size;
    while ((size = nghttp2_session_mem_send(connection->session, &frames)) > 0) {
        append(out, frames, (size_t)size);
    }
    must(size < 0 ? (int)size : 0, "a frame");
    ssize_t sent = out->size == 0 ? 0 : send(connection->fd, out->data, out->size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
        fail("send");
    }
    if (sent > 0) {
        out->size -= (size_t)sent;
        memmove(out->data, out->data + sent, out->size);
    }
}

static void take_frames(struct connection *connection)
{
    static uint8_t buffer[256 << 10];
    ssize_t size = recv(connection->fd, buffer, sizeof buffer, 0);
    if (size == 0 || (size < 0 && errno != EAGAIN)) {
        fail("the server has ended the connection");
    }
    if (size > 0) {
        ssize_t taken = nghttp2_session_mem_recv(connection->session, buffer, (size_t)size);
        must(taken < 0 ? (int)taken : 0, "what came");
    }
}

static void turn(void)
{
    struct pollfd files[CONNECTIONS_MAX];
    for (unsigned i = 0; i < connection_count; i++) {
        send_frames(&connections[i]);
        short events = connections[i].out.size > 0 ? POLLIN | POLLOUT : POLLIN;
        files[i] = (struct pollfd){.fd = connections[i].fd, .events = events};
    }
    if (poll(files, connection_count, -1) < 0) {
        fail("poll");
    }
    for (unsigned i = 0; i < connection_count; i++) {
        if ((files[i].revents & ~POLLOUT) != 0) {
            take_frames(&connections[i]);
        }
    }
}

/* ------------------------------------------------------------------------ lines */

static void carry_out(void)
{
    open_connections(order.connections);
    for (unsigned i = 0; i < order.connections * order.streams && is_more_wanted(); i++) {
        begin_call(&connections[i % order.connections]);
    }
    while (order.ended < order.begun) {
        turn();
    }
}

static void read_body(const char *digits)
{
    size_t size = digits[0] == '-' ? 0 : strlen(digits) / 2;
    uint8_t head[FRAME_HEAD_BYTES] = {0, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
                                      (uint8_t)(size >> 8), (uint8_t)size};
    order.request.size = 0;
    append(&order.request, head, sizeof head);
    for (size_t i = 0; i < size; i++) {
        unsigned value = 0;
        (void)sscanf(digits + 2 * i, "%2x", &value);
        append(&order.request, &(uint8_t){(uint8_t)value}, 1);
    }
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;
    return *left < *right ? -1 : *left > *right;
}

static void print_result(double began_ns)
{
    size_t count = order.ended;
    qsort(order.times_us, count, sizeof order.times_us[0], compare);
    printf("%llu %llu %.6f %.1f %.1f %zu ", (unsigned long long)count,
           (unsigned long long)order.failed, (now_ns() - began_ns) / 1e9,
           count == 0 ? 0 : order.times_us[count / 2],
           count == 0 ? 0 : order.times_us[count * 99 / 100], order.answer.size);
    for (size_t i = FRAME_HEAD_BYTES; i < order.answer.size; i++) {
        printf("%02x", order.answer.data[i]);
    }
    printf("%s\n", order.answer.size <= FRAME_HEAD_BYTES ? "-" : "");
    fflush(stdout);
}

static void do_line(char *line)
{
    char *digits = strrchr(line, ' ');
    unsigned long long calls = 0;
    unsigned long long milliseconds = 0;
    if (digits == NULL ||
        sscanf(line, "%255s %u %u %llu %llu", order.path, &order.connections, &order.streams,
               &calls, &milliseconds) != 5 ||
        order.connections == 0 || order.connections > CONNECTIONS_MAX) {
        fprintf(stderr, "load: no line: %s\n", line);
        exit(2);
    }
    read_body(digits + 1);
    double began_ns = now_ns();
    order.begun = order.ended = order.failed = 0;
    order.calls = calls;
    order.end_ns = milliseconds == 0 ? 0 : began_ns + (double)milliseconds * 1e6;
    order.answer.size = 0;
    carry_out();
    print_result(began_ns);
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    if (argc != 2) {
        fprintf(stderr, "usage: load HOST:PORT\n");
        return 2;
    }
    where = argv[1];
    while ((size = getline(&line, &room, stdin)) > 0) {
        line[size - (line[size - 1] == '\n')] = 0;
        do_line(line);
    }
    free(line);
    return 0;
}
