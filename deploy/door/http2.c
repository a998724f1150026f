/*
 * HTTP/2 by nghttp2: its frames come in and go out through memory, its streams are exchanges.
 *
 * nghttp2 calls back while it reads or makes frames, and is only asked for frames outside of that,
 * when a turn ends (tri_http2_flush), so a handler may answer from within any call. What a client
 * has sent of a body is given back to its window at once for the connection, so that a body that is
 * held does not hold the others, and for the stream unless it is held.
 *
 * A response may end before its request. It waits for a rest that is short (`is_delayed`); a longer
 * one is taken and thrown away within the limits of a body, as clients take a stream that is reset
 * for one that failed, though it was answered whole.
 *
 * Floods: nghttp2 bounds resets, continuations, settings and acknowledgements that are not taken;
 * frames that ask for nothing are counted here.
 */
#include <stdio.h>
#include <string.h>

#include "deploy/door/connection.h"
#include "deploy/door/guard.h"
#include "schemas/codec/error.h"

/* Headers of a response. */
#define NAMES_MAX 64

/* How often what is to be sent is made and written in one turn. */
#define ROUNDS_MAX 16

#define MS_PER_S 1000

static struct tr_door_exchange *exchange_of(const struct tri_connection *connection, int32_t stream)
{
    return connection->door->nghttp2->session_get_stream_user_data(connection->session, stream);
}

/* ------------------------------------------------------------------ requests */

/*
 * A frame that asks for nothing; too many of them in a second are a flood. A client that goes on
 * while it is told so is not read any more.
 */
static int count_control(struct tri_connection *connection)
{
    uint64_t second = connection->door->now_ms / MS_PER_S;
    if (connection->control_second != second) {
        connection->control_second = second;
        connection->control_frames = 0;
    }
    if (++connection->control_frames > TR_DOOR_CONTROL_FRAMES_MAX) {
        tri_http2_leave(connection, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    return connection->control_frames > 2 * TR_DOOR_CONTROL_FRAMES_MAX
               ? NGHTTP2_ERR_CALLBACK_FAILURE
               : 0;
}

static const struct tri_transport transport;

/* Sends what has waited for the rest of the request. */
static void send_delayed(struct tr_door_exchange *exchange);

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *self)
{
    struct tri_connection *connection = self;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    struct tr_door_exchange *exchange = tri_door_exchange_new(connection, &transport);
    if (exchange == NULL) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    exchange->stream = frame->hd.stream_id;
    exchange->request.is_http2 = true;
    exchange->request.is_secure = connection->tls != NULL;
    (void)connection->door->nghttp2->session_set_stream_user_data(session, frame->hd.stream_id,
                                                                  exchange);
    return 0;
}

/* Names that begin with a colon are not headers. nghttp2 has seen to it that each is there once. */
static int take_header(struct tr_door_exchange *exchange, struct tr_text name, struct tr_text value)
{
    if (name.size == 0 || name.data[0] != ':') {
        return tri_door_exchange_add(exchange, name, value);
    }
    if (tr_text_equal(name, tr_text_of(":method"))) {
        return tri_door_exchange_set(exchange, &exchange->method, value);
    }
    if (tr_text_equal(name, tr_text_of(":path"))) {
        return tri_door_exchange_set(exchange, &exchange->target, value);
    }
    if (tr_text_equal(name, tr_text_of(":authority"))) {
        return tri_door_exchange_set(exchange, &exchange->authority, value);
    }
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *self)
{
    struct tr_door_exchange *exchange = exchange_of(self, frame->hd.stream_id);
    (void)session;
    (void)flags;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST ||
        exchange == NULL) {
        return 0; /* trailers of a request: nobody asks for them */
    }
    int error = take_header(exchange, (struct tr_text){(const char *)name, name_size},
                            (struct tr_text){(const char *)value, value_size});
    bool is_beyond = error == TR_OVERFLOW || error == TR_MEMORY;
    return is_beyond ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
}

/* Whatever is there for a request, or for its flow, is none. */
static bool is_control(const nghttp2_frame_hd *head)
{
    switch (head->type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION:
    case NGHTTP2_WINDOW_UPDATE:
        return false;
    case NGHTTP2_DATA:
        return head->length == 0 && (head->flags & NGHTTP2_FLAG_END_STREAM) == 0;
    default:
        return true;
    }
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *head, void *self)
{
    (void)session;
    return is_control(head) ? count_control(self) : 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *self)
{
    struct tri_connection *connection = self;
    bool is_request =
        frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    (void)session;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) {
        return 0;
    }
    struct tr_door_exchange *exchange = exchange_of(connection, frame->hd.stream_id);
    if (exchange != NULL && is_request) {
        tri_door_exchange_head(exchange);
    }
    if (exchange != NULL && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        tri_door_exchange_whole(exchange);
        send_delayed(exchange);
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t size, void *self)
{
    struct tri_connection *connection = self;
    const struct tri_nghttp2 *nghttp2 = connection->door->nghttp2;
    struct tr_door_exchange *exchange = exchange_of(connection, stream);
    (void)flags;
    (void)nghttp2->session_consume_connection(session, size);
    if (exchange == NULL) {
        return 0;
    }
    if (!tri_door_exchange_body(exchange, (struct tr_bytes){.data = data, .size = size})) {
        tr_door_exchange_reset(exchange);
    } else if (exchange->is_held) {
        exchange->unconsumed_bytes += size;
    } else {
        (void)nghttp2->session_consume_stream(session, stream, size);
    }
    if (exchange->body_bytes > TR_DOOR_AWAITED_BYTES_MAX) {
        send_delayed(exchange);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *self)
{
    struct tri_connection *connection = self;
    struct tr_door_exchange *exchange = exchange_of(connection, stream);
    (void)code;
    if (exchange != NULL) {
        (void)connection->door->nghttp2->session_set_stream_user_data(session, stream, NULL);
        tri_door_exchange_free(exchange);
        connection->requests++;
        connection->since_ms = connection->door->now_ms;
    }
    return 0;
}

/* ----------------------------------------------------------------- responses */

static nghttp2_nv pair_of(struct tr_text name, struct tr_text value)
{
    /* The library takes bytes that may be changed, and copies them. */
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name.data,
                        .value = (uint8_t *)(uintptr_t)value.data,
                        .namelen = name.size,
                        .valuelen = value.size,
                        .flags = NGHTTP2_NV_FLAG_NONE};
}

static size_t put_pairs(nghttp2_nv *pairs, size_t used, const struct tr_door_header *headers,
                        size_t count)
{
    TR_ASSERT(used + count <= NAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        pairs[used + i] = pair_of(headers[i].name, headers[i].value);
    }
    return used + count;
}

static void end_body(struct tr_door_exchange *exchange, uint32_t *flags)
{
    struct tri_connection *connection = exchange->connection;
    nghttp2_nv pairs[NAMES_MAX];
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (exchange->trailers.count > 0) {
        size_t count = put_pairs(pairs, 0, exchange->trailers.items, exchange->trailers.count);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        (void)connection->door->nghttp2->submit_trailer(connection->session, exchange->stream,
                                                        pairs, count);
    }
}

/* The handler may write, end or reset it while it hears that there is room, so flags come last. */
static ssize_t give_body(nghttp2_session *session, int32_t stream, uint8_t *room, size_t size_max,
                         uint32_t *flags, nghttp2_data_source *source, void *self)
{
    struct tr_door_exchange *exchange = source->ptr;
    size_t size = tri_buffer_size(&exchange->out);
    size = size < size_max ? size : size_max;
    (void)session;
    (void)stream;
    (void)self;
    if (size > 0) {
        memcpy(room, tri_buffer_front(&exchange->out), size);
        tri_door_exchange_sent(exchange, size);
    }
    bool is_all = tri_buffer_size(&exchange->out) == 0;
    if (is_all && exchange->response_phase == TRI_RESPONSE_ENDED) {
        end_body(exchange, flags);
    } else if (size == 0) {
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)size;
}

static void submit(struct tr_door_exchange *exchange, int status,
                   const struct tr_door_header *headers, size_t count, bool is_whole)
{
    struct tri_connection *connection = exchange->connection;
    nghttp2_nv pairs[NAMES_MAX];
    char digits[12];
    nghttp2_data_provider provider = {.source = {.ptr = exchange}, .read_callback = give_body};
    bool is_empty = is_whole && tri_buffer_size(&exchange->out) == 0;
    (void)snprintf(digits, sizeof digits, "%03d", status);
    pairs[0] = pair_of(tr_text_of(":status"), tr_text_of(digits));
    size_t used = put_pairs(pairs, 1, headers, count);
    if (connection->door->nghttp2->submit_response(connection->session, exchange->stream, pairs,
                                                   used, is_empty ? NULL : &provider) != 0) {
        tr_door_exchange_reset(exchange);
    }
    tri_connection_mark(connection);
}

/* Whether the request is not over, and what is missing may be little. */
static bool is_awaited(const struct tr_door_exchange *exchange)
{
    bool has_length = false;
    uint64_t length = 0;
    (void)tri_guard_length(&exchange->request, &has_length, &length);
    return exchange->request_phase != TRI_REQUEST_WHOLE &&
           exchange->body_bytes <= TR_DOOR_AWAITED_BYTES_MAX &&
           (!has_length || length <= TR_DOOR_AWAITED_BYTES_MAX);
}

static void begin_response(struct tr_door_exchange *exchange, int status,
                           const struct tr_door_header *headers, size_t count, bool is_whole)
{
    if (!is_whole || !is_awaited(exchange)) {
        submit(exchange, status, headers, count, is_whole);
        return;
    }
    exchange->status = status;
    exchange->is_delayed = true;
    if (tri_fields_copy(&exchange->trailers, headers, count) != 0) {
        exchange->is_delayed = false;
        tr_door_exchange_reset(exchange);
    }
}

static void send_delayed(struct tr_door_exchange *exchange)
{
    if (exchange->is_delayed && !exchange->is_reset) {
        struct tri_fields headers = exchange->trailers;
        exchange->trailers = (struct tri_fields){.count = 0};
        exchange->is_delayed = false;
        submit(exchange, exchange->status, headers.items, headers.count, true);
        tri_fields_fini(&headers);
    }
}

static void send_more(struct tr_door_exchange *exchange)
{
    struct tri_connection *connection = exchange->connection;
    send_delayed(exchange);
    (void)connection->door->nghttp2->session_resume_data(connection->session, exchange->stream);
    tri_connection_mark(connection);
}

static void take_more(struct tr_door_exchange *exchange)
{
    struct tri_connection *connection = exchange->connection;
    (void)connection->door->nghttp2->session_consume_stream(connection->session, exchange->stream,
                                                            exchange->unconsumed_bytes);
    exchange->unconsumed_bytes = 0;
    tri_connection_mark(connection);
}

static void reset(struct tr_door_exchange *exchange)
{
    struct tri_connection *connection = exchange->connection;
    (void)connection->door->nghttp2->submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE,
                                                       exchange->stream, NGHTTP2_INTERNAL_ERROR);
    tri_connection_mark(connection);
}

static const struct tri_transport transport = {
    .begin = begin_response, .more = send_more, .go_on = take_more, .reset = reset};

/* --------------------------------------------------------------- connections */

void tri_http2_flush(struct tri_connection *connection)
{
    const struct tri_nghttp2 *nghttp2 = connection->door->nghttp2;
    struct tri_buffer *out = &connection->out;
    const uint8_t *data;
    ssize_t size = 1;
    for (int round = 0; round < ROUNDS_MAX && size > 0; round++) {
        while (tri_buffer_size(out) < TR_DOOR_TURN_BYTES &&
               (size = nghttp2->session_mem_send(connection->session, &data)) > 0) {
            if (tri_buffer_append(out, data, (size_t)size) != 0) {
                tri_connection_close(connection);
                return;
            }
        }
        while (tri_buffer_size(out) > 0) {
            ptrdiff_t sent =
                tri_connection_write(connection, tri_buffer_front(out), tri_buffer_size(out));
            if (sent == TR_BUSY) {
                tri_connection_expect(connection, EPOLLIN | EPOLLOUT);
                return;
            }
            if (sent <= 0) {
                tri_connection_close(connection);
                return;
            }
            connection->sent_ms = connection->door->now_ms;
            tri_buffer_consume(out, (size_t)sent);
        }
    }
    if (size < 0 || (!nghttp2->session_want_read(connection->session) &&
                     !nghttp2->session_want_write(connection->session))) {
        tri_connection_close(connection);
        return;
    }
    if (connection->exchanges == NULL) {
        tri_buffer_fini(out); /* a connection that rests costs little */
    }
    tri_connection_expect(connection, size > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* TLS may hold more than the socket shows, so it is read until there is nothing. */
void tri_http2_read(struct tri_connection *connection)
{
    struct tr_door *door = connection->door;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        ptrdiff_t size = tri_connection_read(connection, door->room, TR_DOOR_TURN_BYTES);
        if (size == TR_BUSY) {
            return;
        }
        if (size <= 0) {
            tri_connection_close(connection);
            return;
        }
        connection->active_ms = door->now_ms;
        if (door->nghttp2->session_mem_recv(connection->session, door->room, (size_t)size) < 0) {
            tri_http2_flush(connection); /* it may say why */
            tri_connection_close(connection);
            return;
        }
        tri_connection_mark(connection);
        if (connection->tls == NULL) {
            return; /* epoll tells of more */
        }
    }
    tri_connection_expect(connection, EPOLLIN | EPOLLOUT); /* comes back at once */
}

void tri_http2_leave(struct tri_connection *connection, uint32_t code)
{
    if (!connection->is_ending) {
        connection->is_ending = true;
        (void)connection->door->nghttp2->session_terminate_session(connection->session, code);
        tri_connection_mark(connection);
    }
}

int tri_http2_begin(struct tri_connection *connection)
{
    struct tr_door *door = connection->door;
    const struct tri_nghttp2 *nghttp2 = door->nghttp2;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, TR_DOOR_STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, TR_DOOR_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, TR_DOOR_HEAD_BYTES_MAX},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    if (nghttp2->session_server_new2(&connection->session, door->callbacks, connection,
                                     door->options) != 0) {
        return TR_MEMORY;
    }
    connection->phase = TRI_CONNECTION_HTTP2;
    if (nghttp2->submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings,
                                 TR_COUNT_OF(settings)) != 0 ||
        nghttp2->session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0,
                                               TR_DOOR_CONNECTION_WINDOW_BYTES) != 0) {
        return TR_MEMORY;
    }
    tri_connection_mark(connection);
    return 0;
}

void tri_http2_end(struct tri_connection *connection)
{
    while (connection->exchanges != NULL) {
        tri_door_exchange_free(connection->exchanges);
    }
    connection->door->nghttp2->session_del(connection->session);
    connection->session = NULL;
    tri_buffer_fini(&connection->out);
}

/* ------------------------------------------------------------------ the door */

int tri_http2_open(struct tr_door *door)
{
    const struct tri_nghttp2 *nghttp2 = door->nghttp2;
    if (nghttp2->session_callbacks_new(&door->callbacks) != 0 ||
        nghttp2->option_new(&door->options) != 0) {
        return TR_MEMORY;
    }
    nghttp2->session_callbacks_set_on_begin_frame_callback(door->callbacks, on_begin_frame);
    nghttp2->session_callbacks_set_on_begin_headers_callback(door->callbacks, on_begin_headers);
    nghttp2->session_callbacks_set_on_header_callback(door->callbacks, on_header);
    nghttp2->session_callbacks_set_on_frame_recv_callback(door->callbacks, on_frame_recv);
    nghttp2->session_callbacks_set_on_data_chunk_recv_callback(door->callbacks, on_data);
    nghttp2->session_callbacks_set_on_stream_close_callback(door->callbacks, on_stream_close);
    nghttp2->option_set_no_auto_window_update(door->options, 1);
    nghttp2->option_set_max_outbound_ack(door->options, TR_DOOR_ACKNOWLEDGEMENTS_MAX);
    nghttp2->option_set_max_settings(door->options, TR_DOOR_SETTINGS_MAX);
    nghttp2->option_set_max_continuations(door->options, TR_DOOR_CONTINUATIONS_MAX);
    nghttp2->option_set_stream_reset_rate_limit(door->options, TR_DOOR_RESETS_BURST,
                                                TR_DOOR_RESETS_PER_S);
    return 0;
}

void tri_http2_close(struct tr_door *door)
{
    if (door->nghttp2 != NULL) {
        door->nghttp2->session_callbacks_del(door->callbacks);
        door->nghttp2->option_del(door->options);
    }
}
