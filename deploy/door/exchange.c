/*
 * An exchange from the first header to its end, whichever protocol carries it.
 *
 * Both sides have three phases, which only grow: of the request HEAD, BODY, WHOLE, of the response
 * NONE, BEGUN, ENDED. The handler hears of a request between its head and the end of its response.
 * What a handler does wrong is a mistake of this program and ends it; what a client does wrong has
 * an answer, and what memory does not allow resets the exchange, so that handlers need not ask.
 */
#include "deploy/door/exchange.h"

#include <stdio.h>
#include <string.h>

#include "deploy/door/connection.h"
#include "deploy/door/guard.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* What HTTP/2 counts for each header beside its text. */
#define HEADER_BYTES 32

/* ---------------------------------------------------------------- lifecycle */

static struct tr_door_exchange **slot_of(struct tr_door *door, uint64_t number)
{
    return &door->found[number % TRI_FOUND_SLOTS];
}

struct tr_door_exchange *tri_door_exchange_new(struct tri_connection *connection,
                                               const struct tri_transport *transport)
{
    struct tr_door_exchange *exchange = tr_alloc_zero(1, sizeof *exchange);
    if (exchange == NULL) {
        return NULL;
    }
    struct tr_door *door = connection->door;
    exchange->connection = connection;
    exchange->transport = transport;
    exchange->number = ++door->number;
    exchange->body_bytes_max = door->body_bytes_max;
    exchange->part = &door->whole;
    exchange->window_ms = door->now_ms;
    exchange->link = &connection->exchanges;
    exchange->next = connection->exchanges;
    if (exchange->next != NULL) {
        exchange->next->link = &exchange->next;
    }
    connection->exchanges = exchange;
    struct tr_door_exchange **slot = slot_of(door, exchange->number);
    exchange->next_found = *slot;
    *slot = exchange;
    tri_door_due(door, door->now_ms + TR_DOOR_HEAD_MS);
    return exchange;
}

void tri_door_exchange_free(struct tr_door_exchange *exchange)
{
    struct tri_connection *connection = exchange->connection;
    struct tr_door *door = connection->door;
    exchange->response_phase = TRI_RESPONSE_ENDED;
    exchange->is_reset = true;
    if (exchange->is_told && exchange->part->handler->gone != NULL) {
        exchange->part->handler->gone(exchange->part->self, exchange);
    }
    struct tr_door_exchange **slot = slot_of(door, exchange->number);
    while (*slot != exchange) {
        slot = &(*slot)->next_found;
    }
    *slot = exchange->next_found;
    *exchange->link = exchange->next;
    if (exchange->next != NULL) {
        exchange->next->link = exchange->link;
    }
    connection->unsent_bytes -= tri_buffer_size(&exchange->out);
    door->head_bytes -= exchange->head_bytes;
    tri_buffer_fini(&exchange->out);
    tri_fields_fini(&exchange->fields);
    tri_fields_fini(&exchange->trailers);
    tr_free(exchange);
}

struct tr_door_exchange *tr_door_find(struct tr_door *door, uint64_t number)
{
    struct tr_door_exchange *exchange = *slot_of(door, number);
    while (exchange != NULL && exchange->number != number) {
        exchange = exchange->next_found;
    }
    return exchange;
}

/* -------------------------------------------------------------- the request */

static int count_head(struct tr_door_exchange *exchange, size_t size)
{
    struct tr_door *door = exchange->connection->door;
    size_t bytes_max = TR_DOOR_HEAD_BYTES_MAX;
    exchange->head_bytes += size + HEADER_BYTES;
    door->head_bytes += size + HEADER_BYTES;
    if (exchange->head_bytes > TR_DOOR_HEAD_TIMES_MAX * bytes_max ||
        door->head_bytes > TR_DOOR_HEADS_BYTES_MAX) {
        return TR_OVERFLOW;
    }
    return exchange->head_bytes > bytes_max ? TR_LIMIT : 0;
}

int tri_door_exchange_set(struct tr_door_exchange *exchange, struct tri_piece *piece,
                          struct tr_text text)
{
    int error = count_head(exchange, text.size);
    if (error == 0) {
        piece->size = text.size;
        error = tri_fields_keep(&exchange->fields, text, &piece->place);
    }
    return error;
}

int tri_door_exchange_add(struct tr_door_exchange *exchange, struct tr_text name,
                          struct tr_text value)
{
    int error = count_head(exchange, name.size + value.size);
    if (error == 0 && exchange->fields.count == TR_DOOR_HEADERS_MAX) {
        exchange->has_too_many = true;
        error = TR_LIMIT;
    }
    return error != 0 ? error : tri_fields_add(&exchange->fields, name, value);
}

static struct tr_text text_of(const struct tr_door_exchange *exchange, struct tri_piece piece)
{
    return tri_fields_text(&exchange->fields, piece.place, piece.size);
}

static void view_head(struct tr_door_exchange *exchange)
{
    struct tr_door_request *request = &exchange->request;
    tri_fields_close(&exchange->fields);
    struct tr_text target = text_of(exchange, exchange->target);
    const char *mark = memchr(target.data, '?', target.size);
    size_t path_size = mark == NULL ? target.size : (size_t)(mark - target.data);
    size_t query_at = mark == NULL ? target.size : path_size + 1;
    request->method = text_of(exchange, exchange->method);
    request->path = (struct tr_text){.data = target.data, .size = path_size};
    request->query =
        (struct tr_text){.data = target.data + query_at, .size = target.size - query_at};
    request->authority = text_of(exchange, exchange->authority);
    request->headers = exchange->fields.items;
    request->header_count = exchange->fields.count;
    struct tr_text host = tri_guard_header(request, "host");
    if (request->authority.size == 0 && host.data != NULL) {
        request->authority = host;
    }
}

/* Whose request it is: what is refused is told to the same handler. */
static void find_part(struct tr_door_exchange *exchange)
{
    const struct tr_door *door = exchange->connection->door;
    struct tr_text path = exchange->request.path;
    for (size_t i = 0; i < door->part_count; i++) {
        const struct tr_door_part *part = &door->parts[i];
        size_t size = strlen(part->prefix);
        bool is_long = part->is_whole ? path.size == size : path.size >= size;
        if (is_long && memcmp(path.data, part->prefix, size) == 0) {
            exchange->part = part;
            return;
        }
    }
}

/* What is against a request before anything of it is done. */
static struct tri_refusal look_at_head(const struct tr_door_exchange *exchange, char *words)
{
    const struct tri_connection *connection = exchange->connection;
    if (exchange->head_bytes > TR_DOOR_HEAD_BYTES_MAX || exchange->has_too_many) {
        (void)snprintf(words, TR_DOOR_WORDS_BYTES,
                       "the head of the request is larger than %u bytes (TR_DOOR_HEAD_BYTES_MAX), "
                       "or has more than %d headers (TR_DOOR_HEADERS_MAX)",
                       TR_DOOR_HEAD_BYTES_MAX, TR_DOOR_HEADERS_MAX);
        return (struct tri_refusal){431, words};
    }
    if (connection->is_refused) {
        (void)snprintf(words, TR_DOOR_WORDS_BYTES,
                       "there are %u connections already; the setting http.connections, or a "
                       "higher limit of descriptors, allows more",
                       connection->door->connections_max);
        return (struct tri_refusal){503, words};
    }
    if (connection->unsent_bytes > TR_DOOR_CONNECTION_UNSENT_BYTES) {
        (void)snprintf(words, TR_DOOR_WORDS_BYTES,
                       "the client has not taken %u bytes of earlier answers "
                       "(TR_DOOR_CONNECTION_UNSENT_BYTES)",
                       TR_DOOR_CONNECTION_UNSENT_BYTES);
        return (struct tri_refusal){429, words};
    }
    return tri_guard_request(&exchange->request, connection->takes_any_host);
}

static void refuse_body(struct tr_door_exchange *exchange)
{
    char words[TR_DOOR_WORDS_BYTES];
    (void)snprintf(words, sizeof words,
                   "the body of the request is larger than %llu bytes; the setting "
                   "http.request_bytes allows more",
                   (unsigned long long)exchange->body_bytes_max);
    tri_door_exchange_refuse(exchange, 413, words);
}

void tri_door_exchange_head(struct tr_door_exchange *exchange)
{
    struct tr_door *door = exchange->connection->door;
    char words[TR_DOOR_WORDS_BYTES];
    bool has_length = false;
    uint64_t length = 0;
    exchange->request_phase = TRI_REQUEST_BODY;
    exchange->window_ms = door->now_ms;
    tri_door_due(door, door->now_ms + TR_DOOR_BODY_MS);
    view_head(exchange);
    find_part(exchange);
    struct tri_refusal refusal = look_at_head(exchange, words);
    if (refusal.status != 0) {
        tri_door_exchange_refuse(exchange, refusal.status, refusal.words);
        return;
    }
    exchange->is_told = true;
    if (exchange->part->handler->begin != NULL) {
        exchange->part->handler->begin(exchange->part->self, exchange);
    }
    bool is_said = tri_guard_length(&exchange->request, &has_length, &length) && has_length;
    if (is_said && length > exchange->body_bytes_max &&
        exchange->response_phase == TRI_RESPONSE_NONE) {
        refuse_body(exchange);
    }
}

/* Whether the handler still hears of the request. */
static bool is_heard(const struct tr_door_exchange *exchange)
{
    return exchange->response_phase != TRI_RESPONSE_ENDED && !exchange->is_refused &&
           !exchange->is_reset;
}

bool tri_door_exchange_body(struct tr_door_exchange *exchange, struct tr_bytes piece)
{
    exchange->body_bytes += piece.size;
    if (is_heard(exchange) && exchange->body_bytes > exchange->body_bytes_max) {
        refuse_body(exchange);
    } else if (is_heard(exchange) && exchange->part->handler->body != NULL) {
        exchange->part->handler->body(exchange->part->self, exchange, piece);
    }
    return !exchange->is_reset &&
           (is_heard(exchange) ||
            exchange->body_bytes <= exchange->body_bytes_max + TR_DOOR_DISCARDED_BYTES_MAX);
}

void tri_door_exchange_whole(struct tr_door_exchange *exchange)
{
    exchange->request_phase = TRI_REQUEST_WHOLE;
    if (is_heard(exchange) && exchange->part->handler->end != NULL) {
        exchange->part->handler->end(exchange->part->self, exchange);
    }
}

void tri_door_exchange_refuse(struct tr_door_exchange *exchange, int status, const char *words)
{
    if (exchange->response_phase != TRI_RESPONSE_NONE || exchange->is_reset) {
        tr_door_exchange_reset(exchange);
        return;
    }
    exchange->is_refused = true;
    exchange->is_told = true;
    exchange->part->handler->refuse(exchange->part->self, exchange, status, words);
    TR_ASSERT(exchange->response_phase == TRI_RESPONSE_ENDED || exchange->is_reset);
}

/* ------------------------------------------------------------- the response */

/* What the client will not see is not kept: the body of an answer to HEAD. */
static int keep(struct tr_door_exchange *exchange, struct tr_bytes piece)
{
    if (tr_text_equal(exchange->request.method, tr_text_of("HEAD"))) {
        return 0;
    }
    struct tri_connection *connection = exchange->connection;
    int error = tri_buffer_append(&exchange->out, piece.data, piece.size);
    if (error == 0 && piece.size > 0) {
        if (connection->unsent_bytes == 0) {
            connection->sent_ms = connection->door->now_ms;
        }
        connection->unsent_bytes += piece.size;
        tri_door_due(connection->door, connection->door->now_ms + TR_DOOR_STALLED_MS);
    }
    return error;
}

void tr_door_exchange_answer(struct tr_door_exchange *exchange, int status,
                             const struct tr_door_header *headers, size_t header_count,
                             struct tr_bytes body)
{
    if (exchange->is_reset) {
        return;
    }
    TR_ASSERT(exchange->response_phase == TRI_RESPONSE_NONE);
    if (keep(exchange, body) != 0) {
        tr_door_exchange_reset(exchange);
        return;
    }
    exchange->response_phase = TRI_RESPONSE_ENDED;
    exchange->transport->begin(exchange, status, headers, header_count, true);
}

void tr_door_exchange_begin(struct tr_door_exchange *exchange, int status,
                            const struct tr_door_header *headers, size_t header_count)
{
    if (exchange->is_reset) {
        return;
    }
    TR_ASSERT(exchange->response_phase == TRI_RESPONSE_NONE);
    exchange->response_phase = TRI_RESPONSE_BEGUN;
    exchange->transport->begin(exchange, status, headers, header_count, false);
}

int tr_door_exchange_write(struct tr_door_exchange *exchange, struct tr_bytes piece)
{
    if (exchange->is_reset || exchange->response_phase != TRI_RESPONSE_BEGUN) {
        return TR_CLOSED;
    }
    if (tri_buffer_size(&exchange->out) > TR_DOOR_UNSENT_BYTES ||
        exchange->connection->unsent_bytes > TR_DOOR_CONNECTION_UNSENT_BYTES) {
        exchange->wants_room = true;
        return TR_BUSY;
    }
    if (keep(exchange, piece) != 0) {
        tr_door_exchange_reset(exchange);
        return TR_CLOSED;
    }
    exchange->transport->more(exchange);
    return 0;
}

void tr_door_exchange_end(struct tr_door_exchange *exchange, const struct tr_door_header *trailers,
                          size_t trailer_count)
{
    if (exchange->is_reset) {
        return;
    }
    TR_ASSERT(exchange->response_phase == TRI_RESPONSE_BEGUN);
    if (tri_fields_copy(&exchange->trailers, trailers, trailer_count) != 0) {
        tr_door_exchange_reset(exchange);
        return;
    }
    exchange->response_phase = TRI_RESPONSE_ENDED;
    exchange->transport->more(exchange);
}

void tr_door_exchange_reset(struct tr_door_exchange *exchange)
{
    if (!exchange->is_reset) {
        exchange->is_reset = true;
        exchange->transport->reset(exchange);
    }
}

/* The handler may write more from within its call. */
void tri_door_exchange_sent(struct tr_door_exchange *exchange, size_t size)
{
    struct tri_connection *connection = exchange->connection;
    struct tr_door *door = connection->door;
    tri_buffer_consume(&exchange->out, size);
    connection->unsent_bytes -= size;
    connection->sent_ms = door->now_ms;
    if (exchange->wants_room && exchange->response_phase == TRI_RESPONSE_BEGUN &&
        !exchange->is_reset && tri_buffer_size(&exchange->out) <= TR_DOOR_UNSENT_BYTES / 2) {
        exchange->wants_room = false;
        if (exchange->part->handler->room != NULL) {
            exchange->part->handler->room(exchange->part->self, exchange);
        }
    }
}

/* --------------------------------------------------------------- deadlines */

static uint64_t sooner(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* The client is too slow with the head or the body. */
static void end_slow(struct tr_door_exchange *exchange)
{
    char words[TR_DOOR_WORDS_BYTES];
    if (exchange->is_delayed) {
        exchange->transport->more(exchange); /* without the rest, then */
        return;
    }
    if (exchange->carrier != NULL || exchange->request_phase == TRI_REQUEST_HEAD) {
        tri_connection_end(exchange->connection); /* no handler can answer what is not whole */
        return;
    }
    (void)snprintf(words, sizeof words,
                   "less than %d bytes of the body came within %d ms (TR_DOOR_BODY_BYTES_MIN, "
                   "TR_DOOR_BODY_MS)",
                   TR_DOOR_BODY_BYTES_MIN, TR_DOOR_BODY_MS);
    tri_door_exchange_refuse(exchange, 408, words);
}

/* When the client has to have sent more; UINT64_MAX: nothing is awaited. */
static uint64_t due_of(const struct tr_door_exchange *exchange)
{
    if (exchange->request_phase == TRI_REQUEST_WHOLE || exchange->is_held || exchange->is_reset) {
        return UINT64_MAX;
    }
    bool is_head = exchange->request_phase == TRI_REQUEST_HEAD;
    if (exchange->connection->left_ms != 0) {
        return exchange->connection->left_ms + TR_DOOR_LEFT_MS;
    }
    return exchange->window_ms + (is_head ? TR_DOOR_HEAD_MS : TR_DOOR_BODY_MS);
}

uint64_t tri_door_exchange_look(struct tr_door_exchange *exchange, uint64_t now_ms)
{
    uint64_t due_ms = due_of(exchange);
    if (due_ms <= now_ms && exchange->request_phase == TRI_REQUEST_BODY &&
        exchange->body_bytes - exchange->window_bytes >= TR_DOOR_BODY_BYTES_MIN) {
        exchange->window_ms = now_ms;
        exchange->window_bytes = exchange->body_bytes;
        due_ms = due_of(exchange);
    }
    if (due_ms <= now_ms) {
        exchange->window_ms = now_ms;
        end_slow(exchange);
        return now_ms + TR_DOOR_BODY_MS; /* the connection may be closed by now */
    }
    if (exchange->expire_ms != 0 && exchange->expire_ms <= now_ms) {
        exchange->expire_ms = 0;
        if (is_heard(exchange) && exchange->part->handler->expired != NULL) {
            exchange->part->handler->expired(exchange->part->self, exchange);
        }
    }
    return exchange->expire_ms == 0 ? due_ms : sooner(due_ms, exchange->expire_ms);
}

/* ------------------------------------------------------- what a handler asks */

uint64_t tr_door_exchange_number(const struct tr_door_exchange *exchange)
{
    return exchange->number;
}

struct tr_door *tr_door_exchange_door(const struct tr_door_exchange *exchange)
{
    return exchange->connection->door;
}

const struct tr_door_request *tr_door_exchange_request(const struct tr_door_exchange *exchange)
{
    return &exchange->request;
}

struct tr_text tr_door_exchange_header(const struct tr_door_exchange *exchange, const char *name)
{
    return tri_guard_header(&exchange->request, name);
}

void *tr_door_exchange_state(const struct tr_door_exchange *exchange)
{
    return exchange->state;
}

void tr_door_exchange_state_set(struct tr_door_exchange *exchange, void *state)
{
    exchange->state = state;
}

void tr_door_exchange_body_max_set(struct tr_door_exchange *exchange, uint64_t bytes_max)
{
    exchange->body_bytes_max = bytes_max;
}

void tr_door_exchange_hold(struct tr_door_exchange *exchange, bool is_held)
{
    if (exchange->is_held == is_held) {
        return;
    }
    exchange->is_held = is_held;
    if (!is_held) {
        struct tr_door *door = exchange->connection->door;
        exchange->window_ms = door->now_ms;
        exchange->window_bytes = exchange->body_bytes;
        tri_door_due(door, door->now_ms + TR_DOOR_BODY_MS);
        exchange->transport->go_on(exchange);
    }
}

void tr_door_exchange_expire(struct tr_door_exchange *exchange, uint64_t after_ms)
{
    struct tr_door *door = exchange->connection->door;
    exchange->expire_ms = after_ms == 0 ? 0 : door->now_ms + after_ms;
    if (after_ms != 0) {
        tri_door_due(door, exchange->expire_ms);
    }
}

bool tr_door_exchange_has_begun(const struct tr_door_exchange *exchange)
{
    return exchange->response_phase != TRI_RESPONSE_NONE;
}

bool tr_door_exchange_has_ended(const struct tr_door_exchange *exchange)
{
    return exchange->response_phase == TRI_RESPONSE_ENDED;
}
