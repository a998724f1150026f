/*
 * Calls by REST, as Flyte's gateway translates them: a message is made of the body, the path's
 * variables and the query, and the response is JSON. Where a client says octet-stream, in
 * content-type or accept, a message is its bytes, as Flyte's console wants it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/value/literal.h"
#include "deploy/api/call_inside.h"
#include "deploy/api_wire/rest.h"
#include "schemas/codec/error.h"

#define JSON "application/json"
#define OCTETS "application/octet-stream"

/* ----------------------------------------------------------------------- ends */

static void answer(struct tr_door_exchange *exchange, int status, const char *type,
                   struct tr_bytes body)
{
    const struct tr_door_header headers[] = {
        {.name = {"content-type", 12}, .value = tr_text_of(type)},
        {.name = {"x-content-type-options", 22}, .value = {"nosniff", 7}},
    };
    tr_door_exchange_answer(exchange, status, headers, TR_COUNT_OF(headers), body);
}

/* A message among others: its type stands before its fields. */
static void print_detail(const ProtobufCMessage *detail, struct tr_buffer *json)
{
    struct tr_buffer fields;
    tr_buffer_init(&fields, 0);
    tr_flyte_message_write_json(detail, &fields);
    struct tr_text text = tr_buffer_text(&fields);
    bool is_empty = text.size < 3;
    tr_buffer_print(json, "{\"@type\": \"" TRI_CALL_TYPE_PREFIX "%s\"%s", detail->descriptor->name,
                    is_empty ? "" : ", ");
    tr_buffer_add(json, is_empty ? "}" : text.data + 1, is_empty ? 1 : text.size - 1);
    json->error = json->error != 0 ? json->error : fields.error;
    tr_buffer_fini(&fields);
}

/* The JSON of an error is that of google.rpc.Status. */
static void refuse(struct tr_door_exchange *exchange, int status, enum tr_api_code code,
                   const char *words, const ProtobufCMessage *detail)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    tr_buffer_print(&json, "{\"code\": %d, \"message\": ", (int)code);
    tri_text_write(tr_text_of(words), &json);
    tr_buffer_add_string(&json, ", \"details\": [");
    if (detail != NULL) {
        print_detail(detail, &json);
    }
    tr_buffer_add_string(&json, "]}");
    if (json.error != 0) {
        tr_door_exchange_reset(exchange);
    } else {
        answer(exchange, status, JSON, tr_buffer_bytes(&json));
    }
    tr_buffer_fini(&json);
}

void tri_rest_refuse(struct tr_door_exchange *exchange, int status, enum tr_api_code code,
                     const char *words)
{
    refuse(exchange, status, code, words, NULL);
}

/* Whether a header names a type, parameters of it or others beside it notwithstanding. */
static bool has_type(struct tr_text header, const char *type)
{
    return header.data != NULL && memmem(header.data, header.size, type, strlen(type)) != NULL;
}

static int send(struct tr_api_call *call, const ProtobufCMessage *response)
{
    bool is_octets = has_type(tr_door_exchange_header(call->exchange, "accept"), OCTETS);
    struct tr_buffer body;
    tr_buffer_init(&body, 0);
    if (is_octets) {
        tr_flyte_message_pack(response, &body);
    } else {
        tr_flyte_message_write_json(response, &body);
    }
    int error = body.error;
    if (error == 0) {
        call->has_begun = true;
        answer(call->exchange, 200, is_octets ? OCTETS : JSON, tr_buffer_bytes(&body));
    }
    tr_buffer_fini(&body);
    if (error != 0) {
        tri_call_short(call, error);
        return TR_CLOSED;
    }
    return 0;
}

static void finish(struct tr_api_call *call, enum tr_api_code code, const char *words)
{
    if (!call->has_begun) {
        refuse(call->exchange, tr_api_http_status(code), code, words, call->detail);
    }
}

/* -------------------------------------------------------------------- requests */

static void take_body(struct tr_api_call *call, struct tr_bytes piece)
{
    if (tri_call_collect(call, piece.size) &&
        tri_buffer_append(&call->body, piece.data, piece.size) != 0) {
        tri_call_short(call, TR_MEMORY);
    }
}

/* One field by its escaped name and value; false: the call has failed. */
static bool set_field(struct tr_api_call *call, ProtobufCMessage *message, struct tr_text name,
                      struct tr_text value, bool is_query)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    struct tr_text field;
    struct tr_text text;
    if (!tr_rest_unescape(&call->arena, name, is_query, &field) ||
        !tr_rest_unescape(&call->arena, value, is_query, &text)) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "the path or the query has an escape that is none, or is no UTF-8");
        return false;
    }
    int error = tr_flyte_message_set(&call->arena, message, field, text, problem);
    if (error == TR_INVALID) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT, "%s", problem);
    } else if (error != 0) {
        tri_call_short(call, error);
    }
    return error == 0;
}

static bool set_fields(struct tr_api_call *call, ProtobufCMessage *message)
{
    const struct tr_door_request *request = tr_door_exchange_request(call->exchange);
    struct tr_rest_variable variables[TR_API_VARIABLES_MAX];
    struct tr_text query = request->query;
    struct tr_text name;
    struct tr_text value;
    size_t count = 0;
    bool is_fine = tr_rest_match(call->variables, request->path, variables, &count);
    TR_ASSERT(is_fine);
    for (size_t i = 0; is_fine && i < count; i++) {
        is_fine = set_field(call, message, variables[i].field, variables[i].value, false);
    }
    while (is_fine && tr_rest_parameter(&query, &name, &value)) {
        is_fine = set_field(call, message, name, value, true);
    }
    return is_fine;
}

/* The message that the body is; without one it has no field set. */
static ProtobufCMessage *read_body(struct tr_api_call *call)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    struct tr_bytes body = {.data = tri_buffer_front(&call->body),
                            .size = tri_buffer_size(&call->body)};
    if (has_type(tr_door_exchange_header(call->exchange, "content-type"), OCTETS)) {
        return (ProtobufCMessage *)(uintptr_t)tri_call_unpack(call, body);
    }
    ProtobufCMessage *message = tr_flyte_message_new(&call->arena, call->method->request);
    int error = message == NULL ? call->arena.error : 0;
    if (error == 0 && body.size > 0) {
        struct tr_text text = {.data = (const char *)body.data, .size = body.size};
        error = tr_flyte_message_read_json(&call->arena, message, text, TR_API_MESSAGE_BYTES_MAX,
                                           problem);
    }
    if (error == TR_INVALID) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT, "%s", problem);
    } else if (error != 0) {
        tri_call_short(call, error);
    }
    return error == 0 ? message : NULL;
}

static void take_end(struct tr_api_call *call)
{
    ProtobufCMessage *message = read_body(call);
    if (message != NULL && set_fields(call, message)) {
        tri_call_handle(call, message);
    }
}

const struct tri_call_form tri_rest_form = {
    .body = take_body, .end = take_end, .send = send, .finish = finish};

/* ----------------------------------------------------------------------- heads */

/* What is served beside the RPCs. */
static bool is_page(struct tr_door_exchange *exchange, struct tr_text path)
{
    static const char alive[] = "ok\n";
    if (!tr_text_equal(path, tr_text_of("/healthcheck"))) {
        return false;
    }
    answer(exchange, 200, "text/plain",
           (struct tr_bytes){.data = (const uint8_t *)alive, .size = sizeof alive - 1});
    return true;
}

/* The row and the template of a path; NULL: none has both the path and the method. */
static const struct tr_api_method *find(const struct tr_api *api, struct tr_text verb,
                                        struct tr_text path, struct tr_text *template,
                                        bool *has_path)
{
    struct tr_rest_variable variables[TR_API_VARIABLES_MAX];
    size_t count;
    struct tr_text method;
    bool is_head = tr_text_equal(verb, tr_text_of("HEAD"));
    *has_path = false;
    for (size_t i = 0; i < api->method_count; i++) {
        const char *rest = api->methods[i].rest;
        while (tr_rest_next(&rest, &method, template)) {
            if (!tr_rest_match(*template, path, variables, &count)) {
                continue;
            }
            *has_path = true;
            if (tr_text_equal(method, is_head ? tr_text_of("GET") : verb)) {
                return &api->methods[i];
            }
        }
    }
    return NULL;
}

static bool is_read(struct tr_text verb)
{
    return tr_text_equal(verb, tr_text_of("GET")) || tr_text_equal(verb, tr_text_of("HEAD"));
}

void tri_rest_begin(struct tr_api *api, struct tr_door_exchange *exchange)
{
    const struct tr_door_request *request = tr_door_exchange_request(exchange);
    struct tr_text encoding = tr_door_exchange_header(exchange, "content-encoding");
    struct tr_text template;
    bool has_path;
    if (is_read(request->method) && is_page(exchange, request->path)) {
        return;
    }
    if (tri_upload_begin(api, exchange) || tri_download_begin(api, exchange) ||
        tri_token_begin(api, exchange)) {
        return;
    }
    const struct tr_api_method *method =
        find(api, request->method, request->path, &template, &has_path);
    if (method == NULL) {
        tri_rest_refuse(exchange, has_path ? 405 : 404,
                        has_path ? TR_API_UNIMPLEMENTED : TR_API_NOT_FOUND,
                        has_path ? "this path is not for this method" : "there is nothing here");
        return;
    }
    if (encoding.data != NULL && !tr_text_equal(encoding, tr_text_of("identity"))) {
        tri_rest_refuse(exchange, 415, TR_API_UNIMPLEMENTED,
                        "a body must not be compressed; leave content-encoding out");
        return;
    }
    struct tr_api_call *call = tri_call_new(api, exchange, &tri_rest_form, method);
    if (call != NULL) {
        call->variables = template;
        (void)tri_call_admit(call);
    }
}
