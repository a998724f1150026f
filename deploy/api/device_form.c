/*
 * POST /oauth2/device: a device begins. GET and POST /device: a page at which somebody says whose
 * it is. Where that somebody comes from does not matter: he has the secret of a client.
 */
#include <ctype.h>
#include <string.h>

#include "actors/graph/value/literal.h"
#include "deploy/api/call_inside.h"
#include "deploy/common/clock.h"
#include "runtime/memory.h"

/* ------------------------------------------------------------- the device */

/* Appends a URL of this port as a JSON text, with a query behind. */
static void add_url(struct tr_api_call *call, const char *query, const char *value,
                    struct tr_buffer *json)
{
    const struct tr_door_request *request = tr_door_exchange_request(call->exchange);
    struct tr_buffer url;
    tr_buffer_init(&url, 0);
    tr_buffer_print(&url, "%s://", request->is_secure ? "https" : "http");
    tr_buffer_add_text(&url, request->authority);
    tr_buffer_print(&url, TRI_DEVICE_PAGE "%s%s", query, value);
    tri_text_write(tr_buffer_text(&url), json);
    json->error = json->error != 0 ? json->error : url.error;
    tr_buffer_fini(&url);
}

static void answer_begun(struct tr_api_call *call, const struct tr_device *device)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    tr_buffer_print(&json, "{\"device_code\": \"%s\", \"user_code\": \"%s\", ", device->code,
                    device->user_code);
    tr_buffer_add_string(&json, "\"verification_uri\": ");
    add_url(call, "", "", &json);
    tr_buffer_add_string(&json, ", \"verification_uri_complete\": ");
    add_url(call, "?user_code=", device->user_code, &json);
    tr_buffer_print(&json, ", \"expires_in\": %d, \"interval\": %d}", TR_DEVICE_S,
                    TR_DEVICE_INTERVAL_S);
    tri_oauth_answer(call, 200, "application/json", &json);
    tr_buffer_fini(&json);
}

void tri_device_begin(struct tr_api_call *call, const struct tri_oauth_form *form)
{
    struct tr_api *api = call->api;
    if (api->devices == NULL) {
        api->devices = tr_alloc_zero(1, sizeof *api->devices);
    }
    const struct tr_device *device = api->devices == NULL || form->id.size == 0
                                         ? NULL
                                         : tr_devices_begin(api->devices, &api->clients, form->id,
                                                            tr_clock_wall_ms(), tr_clock_ms());
    if (form->id.size == 0 || form->id.size > TR_API_CLIENT_BYTES_MAX) {
        tri_oauth_refuse(call, 400, "invalid_request",
                         "the form has no client_id, or too long a one");
    } else if (device == NULL) {
        tri_oauth_refuse(call, 503, "temporarily_unavailable",
                         "too many devices wait (TR_DEVICES_MAX); try again later");
    } else {
        answer_begun(call, device);
    }
}

/* ------------------------------------------------------------- the page */

static void answer_page(struct tr_api_call *call, int status, const char *words,
                        struct tr_text user_code)
{
    struct tr_buffer page;
    tr_buffer_init(&page, 0);
    tr_buffer_print(
        &page,
        "<!doctype html><meta charset=utf-8><title>Troupe</title><h1>A device wants to act for "
        "you</h1><p>%s<form method=post action=" TRI_DEVICE_PAGE "><p><label>The code that it "
        "shows <input name=user_code autocomplete=off value=\"",
        words);
    for (size_t i = 0; i < user_code.size && i < TR_USER_CODE_BYTES; i++) {
        char letter = user_code.data[i];
        if (isalpha((unsigned char)letter) || letter == '-') {
            tr_buffer_print(&page, "%c", letter);
        }
    }
    tr_buffer_add_string(
        &page, "\"></label><p><label>Your client's id <input name=client_id></label><p><label>Its "
               "secret <input name=client_secret type=password></label><p><button>It is mine"
               "</button></form>");
    tri_oauth_answer(call, status, "text/html", &page);
    tr_buffer_fini(&page);
}

void tri_device_show(struct tr_api_call *call)
{
    struct tri_oauth_form form = {.user_code = {.size = 0}};
    struct tr_text query = tr_door_exchange_request(call->exchange)->query;
    if (!tri_oauth_read(call, query, &form)) {
        form.user_code.size = 0;
    }
    answer_page(call, 200, "Compare the code with that of your device.", form.user_code);
}

void tri_device_approve(struct tr_api_call *call, const struct tri_oauth_form *form)
{
    struct tr_api *api = call->api;
    const struct tr_api_client *client =
        tr_api_client_of_secret(&api->clients, form->id, form->secret);
    if (client == NULL) {
        answer_page(call, 401, "There is no such client, or it has another secret.",
                    form->user_code);
    } else if (api->devices == NULL ||
               !tr_devices_approve(api->devices, form->user_code, client, tr_clock_ms())) {
        answer_page(call, 400, "No device shows this code, or its time is over.", form->user_code);
    } else {
        struct tr_buffer page;
        tr_buffer_init(&page, 0);
        tr_buffer_add_string(&page, "<!doctype html><meta charset=utf-8><title>Troupe</title><h1>"
                                    "Done</h1><p>The device goes on. You may close this page.");
        tri_oauth_answer(call, 200, "text/html", &page);
        tr_buffer_fini(&page);
    }
}
