/*
 * Between the door and the two forms of a call: which one a client speaks is said by its
 * content-type.
 */
#include "deploy/api/api.h"

#include <string.h>

#include "deploy/api/call_inside.h"
#include "deploy/api/methods.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define GRPC_TYPE "application/grpc"

/* Whether a request is one of gRPC: its type, alone or with +proto or parameters. */
static bool is_grpc(const struct tr_door_exchange *exchange)
{
    struct tr_text type = tr_door_exchange_header(exchange, "content-type");
    size_t size = strlen(GRPC_TYPE);
    return type.size >= size && memcmp(type.data, GRPC_TYPE, size) == 0;
}

static bool is_protobuf(const struct tr_door_exchange *exchange)
{
    struct tr_text type = tr_door_exchange_header(exchange, "content-type");
    struct tr_text rest = {.data = type.data + strlen(GRPC_TYPE),
                           .size = type.size - strlen(GRPC_TYPE)};
    return rest.size == 0 || rest.data[0] == ';' ||
           (rest.size >= 6 && memcmp(rest.data, "+proto", 6) == 0);
}

static void begin(void *self, struct tr_door_exchange *exchange)
{
    struct tr_api *api = self;
    if (!is_grpc(exchange)) {
        tri_rest_begin(api, exchange);
    } else if (!is_protobuf(exchange)) {
        tri_rest_refuse(exchange, 415, TR_API_UNIMPLEMENTED,
                        "gRPC is spoken here with protobuf alone: application/grpc+proto");
    } else if (!tr_door_exchange_request(exchange)->is_http2) {
        tri_rest_refuse(exchange, 505, TR_API_UNIMPLEMENTED, "gRPC needs HTTP/2");
    } else {
        tri_grpc_begin(api, exchange);
    }
}

static void take_body(void *self, struct tr_door_exchange *exchange, struct tr_bytes piece)
{
    struct tr_api_call *call = tr_door_exchange_state(exchange);
    (void)self;
    call->form->body(call, piece);
}

static void take_end(void *self, struct tr_door_exchange *exchange)
{
    struct tr_api_call *call = tr_door_exchange_state(exchange);
    (void)self;
    call->form->end(call);
}

static void give_room(void *self, struct tr_door_exchange *exchange)
{
    struct tr_api_call *call = tr_door_exchange_state(exchange);
    (void)self;
    if (!call->is_over && call->method->is_dialogue) {
        call->form->room(call);
    } else if (!call->is_over && call->method->room != NULL) {
        call->method->room(call);
    }
}

/* What has begun goes on, if the handler has given it away; only its client is told. */
static void expire(void *self, struct tr_door_exchange *exchange)
{
    struct tr_api_call *call = tr_door_exchange_state(exchange);
    (void)self;
    tr_api_fail(call, TR_API_DEADLINE_EXCEEDED, "the deadline passed");
}

static void refuse(void *self, struct tr_door_exchange *exchange, int status, const char *words)
{
    (void)self;
    if (is_grpc(exchange) && tr_door_exchange_request(exchange)->is_http2) {
        tri_grpc_refuse(exchange, tr_api_code_of(status), words);
    } else {
        tri_rest_refuse(exchange, status, tr_api_code_of(status), words);
    }
}

static void go(void *self, struct tr_door_exchange *exchange)
{
    struct tr_api_call *call = tr_door_exchange_state(exchange);
    (void)self;
    if (call != NULL) {
        tri_call_free(call);
    }
}

static const struct tr_door_handler handler = {.begin = begin,
                                               .body = take_body,
                                               .end = take_end,
                                               .room = give_room,
                                               .expired = expire,
                                               .refuse = refuse,
                                               .gone = go};

int tr_api_open(const struct tr_api_options *options, char *words, struct tr_api **api)
{
    struct tr_api *made = tr_alloc_zero(1, sizeof *made);
    const struct tr_door_options door = {.addresses = options->addresses,
                                         .address_count = options->address_count,
                                         .certificate = options->certificate,
                                         .key = options->key,
                                         .body_bytes_max = options->request_bytes_max,
                                         .connections_max = options->connections_max,
                                         .handler = &handler,
                                         .self = made,
                                         .parts = options->parts,
                                         .part_count = options->part_count};
    if (made == NULL) {
        words[0] = '\0';
        return TR_MEMORY;
    }
    made->methods = options->methods != NULL ? options->methods : tr_api_methods;
    made->method_count = options->methods != NULL ? options->method_count : tr_api_method_count;
    made->everybody = (uint8_t)options->everybody;
    made->clients = options->clients;
    made->provider = options->provider;
    made->services = options->services;
    made->message_bytes_max =
        options->request_bytes_max != 0 ? options->request_bytes_max : TR_DOOR_BODY_BYTES_MAX;
    int error = tri_outside_open(made, words);
    if (error == 0) {
        error = tr_door_open(&door, words, &made->door);
    }
    if (error != 0) {
        tri_outside_close(made);
        tr_free(made);
        return error;
    }
    atomic_store(&made->is_open, true);
    *api = made;
    return 0;
}

void tr_api_close(struct tr_api *api)
{
    if (api != NULL) {
        atomic_store(&api->is_open, false);
        tri_outside_close(api);
        tr_door_close(api->door);
        tr_free(api->devices);
        tr_free(api);
    }
}

size_t tr_api_address_count(const struct tr_api *api)
{
    return tr_door_address_count(api->door);
}

const char *tr_api_address(const struct tr_api *api, size_t index)
{
    return tr_door_address(api->door, index);
}
