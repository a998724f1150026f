/*
 * POST /oauth2/token: a client shows its secret and gets a token, as OAuth 2.0 has it for clients
 * that act for themselves (RFC 6749, 4.4), or a device asks whether somebody has said whose it is
 * (RFC 8628). Secrets come by HTTP's basic authentication, each part escaped, or in the form.
 */
#include <string.h>

#include "actors/graph/value/literal.h"
#include "deploy/api/call_inside.h"
#include "deploy/api_wire/rest.h"
#include "deploy/common/clock.h"

void tri_oauth_answer(struct tr_api_call *call, int status, const char *type,
                      const struct tr_buffer *body)
{
    /* No other page may show the form as its own, and it sends nothing elsewhere. */
    const struct tr_door_header headers[] = {
        {.name = {"content-type", 12}, .value = tr_text_of(type)},
        {.name = {"cache-control", 13}, .value = {"no-store", 8}},
        {.name = {"content-security-policy", 23},
         .value = tr_text_of("default-src 'none'; form-action 'self'; frame-ancestors 'none'")},
    };
    call->is_over = true;
    if (body->error != 0) {
        tr_door_exchange_reset(call->exchange);
    } else {
        tr_door_exchange_answer(call->exchange, status, headers, TR_COUNT_OF(headers),
                                (struct tr_bytes){.data = body->data, .size = body->size});
    }
}

static void answer(struct tr_api_call *call, int status, const struct tr_buffer *json)
{
    tri_oauth_answer(call, status, "application/json", json);
}

void tri_oauth_refuse(struct tr_api_call *call, int status, const char *error, const char *words)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    tr_buffer_print(&json, "{\"error\": \"%s\", \"error_description\": ", error);
    tri_text_write(tr_text_of(words), &json);
    tr_buffer_add_string(&json, "}");
    answer(call, status, &json);
    tr_buffer_fini(&json);
}

static void grant(struct tr_api_call *call, const struct tr_api_client *client)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    tr_buffer_add_string(&json, "{\"access_token\": \"");
    tr_api_token_print(&call->api->clients, client, tr_clock_wall_ms() / 1000 + TR_API_TOKEN_S,
                       &json);
    tr_buffer_print(&json,
                    "\", \"token_type\": \"Bearer\", \"expires_in\": %d, \"scope\": \"all\"}",
                    TR_API_TOKEN_S);
    answer(call, 200, &json);
    tr_buffer_fini(&json);
}

/* ------------------------------------------------------------- the request */

bool tri_oauth_read(struct tr_api_call *call, struct tr_text text, struct tri_oauth_form *form)
{
    const struct {
        const char *name;
        struct tr_text *field;
    } fields[] = {{"grant_type", &form->grant_type},
                  {"client_id", &form->id},
                  {"client_secret", &form->secret},
                  {"device_code", &form->device_code},
                  {"user_code", &form->user_code}};
    struct tr_text name;
    struct tr_text value;
    struct tr_text plain;
    while (tr_rest_parameter(&text, &name, &value)) {
        if (!tr_rest_unescape(&call->arena, value, true, &plain)) {
            return false;
        }
        for (size_t i = 0; i < TR_COUNT_OF(fields); i++) {
            if (tr_text_equal(name, tr_text_of(fields[i].name))) {
                *fields[i].field = plain;
            }
        }
    }
    return true;
}

/* base64(ID:SECRET), which goes before the form. */
static bool read_basic(struct tr_api_call *call, struct tri_oauth_form *form)
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
    return tr_rest_unescape(&call->arena, id, true, &form->id) &&
           tr_rest_unescape(&call->arena, secret, true, &form->secret);
}

/* By id and secret. */
static void grant_client(struct tr_api_call *call, const struct tri_oauth_form *form)
{
    const struct tr_api_client *client =
        tr_api_client_of_secret(&call->api->clients, form->id, form->secret);
    if (client == NULL) {
        tri_oauth_refuse(call, 401, "invalid_client",
                         "there is no such client, or it has another secret");
    } else {
        grant(call, client);
    }
}

/* By a device's code. */
static void grant_device(struct tr_api_call *call, const struct tri_oauth_form *form)
{
    const struct tr_api_client *client = NULL;
    enum tr_device_answer found = call->api->devices == NULL
                                      ? TR_DEVICE_EXPIRED
                                      : tr_devices_ask(call->api->devices, form->device_code,
                                                       form->id, tr_clock_ms(), &client);
    switch (found) {
    case TR_DEVICE_IS:
        grant(call, client);
        break;
    case TR_DEVICE_PENDING:
        tri_oauth_refuse(call, 400, "authorization_pending", "nobody has said yet whose it is");
        break;
    case TR_DEVICE_TOO_FAST:
        tri_oauth_refuse(call, 400, "slow_down", "ask again later, and then more slowly");
        break;
    case TR_DEVICE_EXPIRED:
        tri_oauth_refuse(call, 400, "expired_token",
                         "no device of this client waits with this code any more; begin again");
        break;
    }
}

static void grant_token(struct tr_api_call *call, const struct tri_oauth_form *form)
{
    if (tr_text_equal(form->grant_type, tr_text_of("client_credentials"))) {
        grant_client(call, form);
    } else if (tr_text_equal(form->grant_type, tr_text_of(TRI_DEVICE_GRANT))) {
        grant_device(call, form);
    } else {
        tri_oauth_refuse(call, 400, "unsupported_grant_type",
                         "grant_type has to be client_credentials or " TRI_DEVICE_GRANT);
    }
}

/* Which path takes which form. */
static const struct {
    const char *path;
    struct tr_api_method method;
    void (*take)(struct tr_api_call *call, const struct tri_oauth_form *form);
} endpoints[] = {
    {TRI_TOKEN_PATH, {.service = "oauth2", .name = "token", .role = TR_API_ANYBODY}, grant_token},
    {TRI_DEVICE_PATH,
     {.service = "oauth2", .name = "device", .role = TR_API_ANYBODY},
     tri_device_begin},
    {TRI_DEVICE_PAGE,
     {.service = "oauth2", .name = "page", .role = TR_API_ANYBODY},
     tri_device_approve},
};

static void take_end(struct tr_api_call *call)
{
    struct tri_oauth_form form = {.grant_type = {.size = 0}};
    struct tr_text body = {.data = (const char *)tri_buffer_front(&call->body),
                           .size = tri_buffer_size(&call->body)};
    if (call->is_over) {
        return;
    }
    if (tr_text_equal(tr_door_exchange_request(call->exchange)->method, tr_text_of("GET"))) {
        tri_device_show(call);
        return;
    }
    if (!tri_oauth_read(call, body, &form) || !read_basic(call, &form)) {
        tri_oauth_refuse(call, 400, "invalid_request",
                         "the form or the header Authorization cannot be read");
        return;
    }
    for (size_t i = 0; i < TR_COUNT_OF(endpoints); i++) {
        if (call->method == &endpoints[i].method) {
            endpoints[i].take(call, &form);
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
    bool is_post = tr_text_equal(request->method, tr_text_of("POST"));
    bool is_get = tr_text_equal(request->method, tr_text_of("GET"));
    for (size_t i = 0; tri_api_needs_tokens(api) && i < TR_COUNT_OF(endpoints); i++) {
        bool is_page = strcmp(endpoints[i].path, TRI_DEVICE_PAGE) == 0;
        if ((is_post || (is_get && is_page)) &&
            tr_text_equal(request->path, tr_text_of(endpoints[i].path))) {
            if (tri_call_new(api, exchange, &form, &endpoints[i].method) != NULL) {
                tr_door_exchange_body_max_set(exchange, TR_API_TOKEN_FORM_BYTES_MAX);
            }
            return true;
        }
    }
    return false;
}
