/*
 * Calls by gRPC: a POST to /SERVICE/METHOD with one message; the response is messages and, in
 * trailers, how it ended. An end without any message is a response of headers alone, as the
 * protocol has it.
 */
#include <flyteidl/rpc_status.pb-c.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/value/literal.h"
#include "deploy/api/call_inside.h"
#include "deploy/api/methods.h"
#include "deploy/api_wire/gzip.h"
#include "schemas/codec/error.h"

#define CONTENT_TYPE                                                      \
    {                                                                     \
        .name = {"content-type", 12}, .value = { "application/grpc", 16 } \
    }
#define ACCEPTED                                                               \
    {                                                                          \
        .name = {"grpc-accept-encoding", 20}, .value = { "identity,gzip", 13 } \
    }

/* Words in a header are at most three times as long as they are. */
#define HEADER_BYTES (3 * TR_API_WORDS_BYTES)

/* ----------------------------------------------------------------------- ends */

/* Puts grpc-status and, unless it is OK, grpc-message; how many these are. */
static size_t put_status(enum tr_api_code code, const char *words, char *digits, char *room,
                         struct tr_door_header headers[2])
{
    size_t size = (size_t)snprintf(digits, 8, "%d", (int)code);
    headers[0] = (struct tr_door_header){.name = {"grpc-status", 11}, .value = {digits, size}};
    if (code == TR_API_OK) {
        return 1;
    }
    size = tr_grpc_words(tr_text_of(words), room, HEADER_BYTES);
    headers[1] = (struct tr_door_header){.name = {"grpc-message", 12}, .value = {room, size}};
    return 2;
}

static void refuse(struct tr_door_exchange *exchange, enum tr_api_code code, const char *words,
                   struct tr_text details)
{
    char digits[8];
    char room[HEADER_BYTES];
    struct tr_door_header headers[5] = {CONTENT_TYPE, ACCEPTED};
    size_t count = 2 + put_status(code, words, digits, room, headers + 2);
    if (details.size > 0) {
        headers[count++] =
            (struct tr_door_header){.name = {"grpc-status-details-bin", 23}, .value = details};
    }
    tr_door_exchange_answer(exchange, 200, headers, count, (struct tr_bytes){.size = 0});
}

void tri_grpc_refuse(struct tr_door_exchange *exchange, enum tr_api_code code, const char *words)
{
    refuse(exchange, code, words, (struct tr_text){.size = 0});
}

/* Appends a google.rpc.Status with the call's message beside the words, in base64. */
static void print_details(struct tr_api_call *call, enum tr_api_code code, const char *words,
                          struct tr_buffer *text)
{
    Google__Rpc__Status *status =
        tr_flyte_message_new(&call->arena, &google__rpc__status__descriptor);
    Google__Protobuf__Any *any =
        tr_flyte_message_new(&call->arena, &google__protobuf__any__descriptor);
    struct tr_text type =
        tr_arena_print(&call->arena, TRI_CALL_TYPE_PREFIX "%s", call->detail->descriptor->name);
    struct tr_buffer inner;
    struct tr_buffer outer;
    if (call->arena.error != 0) {
        return;
    }
    tr_buffer_init(&inner, 0);
    tr_buffer_init(&outer, 0);
    tr_flyte_message_pack(call->detail, &inner);
    any->type_url = (char *)(uintptr_t)type.data;
    any->value = (ProtobufCBinaryData){.len = inner.size, .data = inner.data};
    status->code = (int32_t)code;
    status->message = (char *)(uintptr_t)words;
    status->n_details = 1;
    status->details = &any;
    tr_flyte_message_pack(&status->base, &outer);
    if (inner.error == 0 && outer.error == 0) {
        tri_base64_write(tr_buffer_bytes(&outer), text);
    }
    tr_buffer_fini(&inner);
    tr_buffer_fini(&outer);
}

/* Without memory the details are left out. */
static void refuse_call(struct tr_api_call *call, enum tr_api_code code, const char *words)
{
    struct tr_buffer details;
    tr_buffer_init(&details, 0);
    if (call->detail != NULL) {
        print_details(call, code, words, &details);
    }
    refuse(call->exchange, code, words,
           details.error != 0 ? (struct tr_text){.size = 0} : tr_buffer_text(&details));
    tr_buffer_fini(&details);
}

static void finish(struct tr_api_call *call, enum tr_api_code code, const char *words)
{
    char digits[8];
    char room[HEADER_BYTES];
    struct tr_door_header headers[2];
    if (!call->has_begun) {
        refuse_call(call, code, words);
        return;
    }
    size_t count = put_status(code, words, digits, room, headers);
    tr_door_exchange_end(call->exchange, headers, count);
}

/* The prefix is put in front when the size is known. */
static int send(struct tr_api_call *call, const ProtobufCMessage *response)
{
    static const struct tr_door_header headers[] = {CONTENT_TYPE};
    struct tr_buffer bytes;
    uint8_t prefix[TR_GRPC_PREFIX_BYTES] = {0};
    tr_buffer_init(&bytes, 0);
    tr_buffer_add(&bytes, prefix, sizeof prefix);
    tr_flyte_message_pack(response, &bytes);
    int error = bytes.error;
    if (error != 0) {
        tr_buffer_fini(&bytes);
        tri_call_short(call, error);
        return TR_CLOSED;
    }
    tr_grpc_prefix(bytes.size - sizeof prefix, prefix);
    memcpy(bytes.data, prefix, sizeof prefix);
    if (!call->has_begun) {
        call->has_begun = true;
        tr_door_exchange_begin(call->exchange, 200, headers, TR_COUNT_OF(headers));
    }
    error = tr_door_exchange_write(call->exchange, tr_buffer_bytes(&bytes));
    tr_buffer_fini(&bytes);
    return error;
}

/* -------------------------------------------------------------------- requests */

static void refuse_large(struct tr_api_call *call)
{
    tr_api_fail(call, TR_API_RESOURCE_EXHAUSTED,
                "the message is larger than %llu bytes; the setting http.request_bytes allows more",
                (unsigned long long)call->api->message_bytes_max);
}

/* A message that is whole, as it was before it was compressed; NULL: the call has failed. */
static const void *unpack(struct tr_api_call *call)
{
    struct tr_bytes message = tr_grpc_message(&call->reader);
    struct tri_buffer inflated = {.capacity = 0};
    if (!call->reader.is_compressed) {
        return tri_call_unpack(call, message);
    }
    int error = tr_gzip_read(message, call->api->message_bytes_max, &inflated);
    const void *request = NULL;
    if (error == TR_LIMIT) {
        refuse_large(call);
    } else if (error == TR_MALFORMED) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT, "the message is no gzip, though it says so");
    } else if (error == TR_NOT_FOUND) {
        tr_api_fail(call, TR_API_UNIMPLEMENTED,
                    "libz.so.1 is not there to decompress the message; install the package zlib1g");
    } else if (error != 0) {
        tri_call_short(call, error);
    } else {
        struct tr_bytes bytes = {.data = tri_buffer_front(&inflated),
                                 .size = tri_buffer_size(&inflated)};
        request = tri_call_unpack(call, bytes);
    }
    tri_buffer_fini(&inflated);
    return request;
}

/* What is wrong with the message in hand; false: the call has failed. */
static bool check(struct tr_api_call *call, int error)
{
    if (error == TR_LIMIT) {
        refuse_large(call);
    } else if (error == TR_MALFORMED) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "the body is not one message behind its size in five bytes");
    } else if (error != 0) {
        tri_call_short(call, error);
    } else if (call->reader.prefix_size == TR_GRPC_PREFIX_BYTES && call->reader.is_compressed &&
               !call->is_compressed) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "the message is compressed, and no grpc-encoding says how");
    }
    return !call->is_over;
}

/* ------------------------------------------------------------------- dialogues */

/*
 * Has the request in hand answered, and forgets it: memory is that of one at a time. If there is
 * no room for the answer it stays in hand.
 */
static void answer_one(struct tr_api_call *call)
{
    call->is_busy = false;
    const void *request = unpack(call);
    if (request != NULL) {
        tri_call_handle(call, request);
    }
    tr_arena_fini(&call->arena);
    tr_arena_init(&call->arena);
    if (!call->is_busy) {
        tr_grpc_reader_next(&call->reader);
    }
}

/* Answers what has come, until there is no more of it or no room. */
static void go_on(struct tr_api_call *call)
{
    bool is_whole = true;
    while (!call->is_over && !call->is_busy && is_whole) {
        struct tr_bytes rest = {.data = tri_buffer_front(&call->body),
                                .size = tri_buffer_size(&call->body)};
        size_t size = rest.size;
        int error = tr_grpc_read(&call->reader, &rest, call->api->message_bytes_max, &is_whole);
        tri_buffer_consume(&call->body, size - rest.size);
        if (check(call, error) && is_whole) {
            answer_one(call);
        }
    }
    if (call->is_over) {
        return;
    }
    tr_door_exchange_hold(call->exchange, call->is_busy);
    if (call->has_ended && !call->is_busy && tr_grpc_reader_is_empty(&call->reader)) {
        tr_api_finish(call);
    } else if (call->has_ended && !call->is_busy) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "the body ends before its last message is whole");
    }
}

static void take_piece(struct tr_api_call *call, struct tr_bytes piece)
{
    if (!tri_call_collect(call, piece.size)) {
        return;
    }
    int error = tri_buffer_append(&call->body, piece.data, piece.size);
    if (error != 0) {
        tri_call_short(call, error);
    } else {
        go_on(call);
    }
}

static void give_room(struct tr_api_call *call)
{
    if (call->is_busy) {
        answer_one(call);
        go_on(call);
    }
}

/* ------------------------------------------------------------------- one request */

static void take_body(struct tr_api_call *call, struct tr_bytes piece)
{
    bool is_whole;
    if (call->method->is_dialogue) {
        take_piece(call, piece);
        return;
    }
    if (call->reader.prefix_size == TR_GRPC_PREFIX_BYTES && piece.size > 0 &&
        tri_buffer_size(&call->reader.message) == call->reader.size) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT, "this call takes one message, and here is more");
        return;
    }
    if (!tri_call_collect(call, piece.size)) {
        return;
    }
    int error = tr_grpc_read(&call->reader, &piece, call->api->message_bytes_max, &is_whole);
    (void)check(call, error == 0 && piece.size > 0 ? TR_MALFORMED : error);
}

static void take_end(struct tr_api_call *call)
{
    if (call->method->is_dialogue) {
        call->has_ended = true;
        go_on(call);
        return;
    }
    bool is_whole = call->reader.prefix_size == TR_GRPC_PREFIX_BYTES &&
                    tri_buffer_size(&call->reader.message) == call->reader.size;
    if (!is_whole) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "the body ends before its message is whole: %zu bytes behind its size",
                    tri_buffer_size(&call->reader.message));
        return;
    }
    const void *request = unpack(call);
    if (request != NULL) {
        tri_call_handle(call, request);
    }
}

const struct tri_call_form tri_grpc_form = {
    .body = take_body, .end = take_end, .room = give_room, .send = send, .finish = finish};

/* ----------------------------------------------------------------------- heads */

static bool is_encoding(struct tr_text encoding, const char *name)
{
    return tr_text_equal(encoding, tr_text_of(name));
}

/* What stands in the headers beside the path. */
static void read_headers(struct tr_api_call *call)
{
    struct tr_text encoding = tr_door_exchange_header(call->exchange, "grpc-encoding");
    struct tr_text timeout = tr_door_exchange_header(call->exchange, "grpc-timeout");
    uint64_t timeout_ms = 0;
    call->is_compressed = is_encoding(encoding, "gzip");
    if (encoding.data != NULL && !call->is_compressed && !is_encoding(encoding, "identity")) {
        tr_api_fail(call, TR_API_UNIMPLEMENTED,
                    "messages may be compressed with gzip, or not at all: identity, gzip");
        return;
    }
    if (timeout.data != NULL && !tr_grpc_timeout(timeout, &timeout_ms)) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "grpc-timeout is no time; write at most 8 digits and one of H M S m u n");
        return;
    }
    if (timeout.data != NULL && timeout_ms == 0) {
        tr_api_fail(call, TR_API_DEADLINE_EXCEEDED, "the deadline passed");
        return;
    }
    if (timeout_ms > 0 && timeout_ms < TR_API_TIMEOUT_MS_MAX) {
        tr_door_exchange_expire(call->exchange, timeout_ms);
    }
}

void tri_grpc_begin(struct tr_api *api, struct tr_door_exchange *exchange)
{
    const struct tr_door_request *request = tr_door_exchange_request(exchange);
    char words[256];
    bool has_service;
    const struct tr_api_method *method =
        tr_api_method_find(api->methods, api->method_count, request->path, &has_service);
    int size = request->path.size < 160 ? (int)request->path.size : 160;
    if (!tr_text_equal(request->method, tr_text_of("POST"))) {
        tri_grpc_refuse(exchange, TR_API_INVALID_ARGUMENT, "gRPC is called with POST");
        return;
    }
    if (method == NULL) {
        (void)snprintf(words, sizeof words, "there is no %s %.*s here",
                       has_service ? "method" : "service", size, request->path.data);
        tri_grpc_refuse(exchange, TR_API_UNIMPLEMENTED, words);
        return;
    }
    struct tr_api_call *call = tri_call_new(api, exchange, &tri_grpc_form, method);
    if (call != NULL && tri_call_admit(call)) {
        read_headers(call);
    }
}
