/*
 * POST /oauth2/token: a client shows its secret and gets a token, as OAuth 2.0 has it for clients
 * that act for themselves (RFC 6749, 4.4). Secrets come by HTTP's basic authentication, each part
 * escaped, or in the form.
 */
#include <string.h>

#include "actors/graph/value/literal.h"
#include "deploy/api/call_inside.h"
#include "deploy/api/clients.h"
#include "deploy/api_wire/rest.h"
#include "deploy/common/clock.h"

#define TOKEN_PATH "/oauth2/token"

static const struct tr_api_method token = {
    .service = "oauth2", .name = "token", .role = TR_API_ANYBODY};

static void answer(struct tr_api_call *call, int status, const struct tr_buffer *json)
{
    static const struct tr_door_header headers[] = {
        {.name = {"content-type", 12}, .value = {"application/json", 16}},
        {.name = {"cache-control", 13}, .value = {"no-store", 8}},
    };
    if (json->error != 0) {
        tr_door_exchange_reset(call->exchange);
    } else {
        tr_door_exchange_answer(call->exchange, status, headers, TR_COUNT_OF(headers),
                                (struct tr_bytes){.data = json->data, .size = json->size});
    }
}

/* An error as OAuth 2.0 says it. */
static void refuse(struct tr_api_call *call, int status, const char *error, const char *words)
{
    struct tr_buffer json;
    call->is_over = true;
    tr_buffer_init(&json, 0);
    tr_buffer_print(&json, "{\"error\": \"%s\", \"error_description\": ", error);
    tri_text_write(tr_text_of(words), &json);
    tr_buffer_add_string(&json, "}");
    answer(call, status, &json);
    tr_buffer_fini(&json);
}

/* A token for a client; an execution has one already, which it shows as its secret. */
static void grant(struct tr_api_call *call, const struct tr_api_client *client,
                  struct tr_text execution_token)
{
    struct tr_buffer json;
    call->is_over = true;
    tr_buffer_init(&json, 0);
    tr_buffer_add_string(&json, "{\"access_token\": \"");
    if (client == NULL) {
        tr_buffer_add_text(&json, execution_token);
    } else {
        tr_api_token_print(&call->api->clients, client, tr_clock_wall_ms() / 1000 + TR_API_TOKEN_S,
                           &json);
    }
    tr_buffer_print(&json,
                    "\", \"token_type\": \"Bearer\", \"expires_in\": %d, \"scope\": \"all\"}",
                    TR_API_TOKEN_S);
    answer(call, 200, &json);
    tr_buffer_fini(&json);
}

/* ------------------------------------------------------------- the request */

struct wish {
    struct tr_text grant_type;
    struct tr_text id;
    struct tr_text secret;
};

static bool read_form(struct tr_api_call *call, struct wish *wish)
{
    struct tr_text form = {.data = (const char *)tri_buffer_front(&call->body),
                           .size = tri_buffer_size(&call->body)};
    struct tr_text name;
    struct tr_text value;
    struct tr_text plain;
    while (tr_rest_parameter(&form, &name, &value)) {
        if (!tr_rest_unescape(&call->arena, value, true, &plain)) {
            return false;
        }
        struct tr_text *field = tr_text_equal(name, tr_text_of("grant_type"))  ? &wish->grant_type
                                : tr_text_equal(name, tr_text_of("client_id")) ? &wish->id
                                : tr_text_equal(name, tr_text_of("client_secret")) ? &wish->secret
                                                                                   : NULL;
        if (field != NULL) {
            *field = plain;
        }
    }
    return true;
}

/* base64(ID:SECRET), which goes before the form. */
static bool read_basic(struct tr_api_call *call, struct wish *wish)
{
    struct tr_text header = tr_door_exchange_header(call->exchange, "authorization");
    struct tr_text basic = tr_api_credentials(header, "Basic");
    struct tr_bytes bytes = {.size = 0};
    if (basic.size == 0) {
        return true;
    }
    if (!tri_base64_read(basic, &call->arena, &bytes)) {
        return false;
    }
    const char *text = (const char *)bytes.data;
    const char *colon = bytes.size == 0 ? NULL : memchr(text, ':', bytes.size);
    if (colon == NULL) {
        return false;
    }
    struct tr_text id = {.data = text, .size = (size_t)(colon - text)};
    struct tr_text secret = {.data = colon + 1, .size = bytes.size - id.size - 1};
    return tr_rest_unescape(&call->arena, id, true, &wish->id) &&
           tr_rest_unescape(&call->arena, secret, true, &wish->secret);
}

static void take_end(struct tr_api_call *call)
{
    struct wish wish = {.grant_type = {.size = 0}};
    if (call->is_over) {
        return;
    }
    if (!read_form(call, &wish) || !read_basic(call, &wish)) {
        refuse(call, 400, "invalid_request", "the form or the header Authorization cannot be read");
    } else if (!tr_text_equal(wish.grant_type, tr_text_of("client_credentials"))) {
        refuse(call, 400, "unsupported_grant_type", "grant_type has to be client_credentials");
    } else {
        const struct tr_api_client *client =
            tr_api_client_of_secret(&call->api->clients, wish.id, wish.secret);
        struct tr_text execution = tr_api_execution_of_bearer(&call->api->clients, wish.secret);
        bool is_execution = execution.size > 0 && tr_text_equal(execution, wish.id);
        if (client == NULL && !is_execution) {
            refuse(call, 401, "invalid_client",
                   "there is no such client, or it has another secret");
        } else {
            grant(call, client, wish.secret);
        }
    }
}

static void take_body(struct tr_api_call *call, struct tr_bytes piece)
{
    if (!call->is_over && tri_call_collect(call, piece.size) &&
        tri_buffer_append(&call->body, piece.data, piece.size) != 0) {
        tri_call_short(call, TR_MEMORY);
    }
}

/* There are no messages. */
static int send(struct tr_api_call *call, const ProtobufCMessage *response)
{
    (void)call;
    (void)response;
    TR_ASSERT(false);
    return 0;
}

static void finish(struct tr_api_call *call, enum tr_api_code code, const char *words)
{
    tri_rest_refuse(call->exchange, tr_api_http_status(code), code, words);
}

static const struct tri_call_form form = {
    .body = take_body, .end = take_end, .send = send, .finish = finish};

bool tri_token_begin(struct tr_api *api, struct tr_door_exchange *exchange)
{
    const struct tr_door_request *request = tr_door_exchange_request(exchange);
    bool is_one = tri_api_needs_tokens(api) &&
                  tr_text_equal(request->path, tr_text_of(TOKEN_PATH)) &&
                  tr_text_equal(request->method, tr_text_of("POST"));
    if (is_one && tri_call_new(api, exchange, &form, &token) != NULL) {
        tr_door_exchange_body_max_set(exchange, TR_API_TOKEN_FORM_BYTES_MAX);
    }
    return is_one;
}
