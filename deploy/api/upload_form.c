/*
 * Uploads as calls of a form of their own: a body of any size goes on in pieces, and the answer is
 * a status alone.
 */
#include "deploy/api/upload.h"

#include <string.h>

#include "deploy/api/call_inside.h"

static void gone(struct tr_api_call *call)
{
    call->api->services.uploads->gone(call);
}

/*
 * No row of the table has it, as no message of Flyte's describes it. Who may put something there
 * has a URL that says so.
 */
static const struct tr_api_method upload = {
    .service = "uploads", .name = "PUT", .role = TR_API_ANYBODY, .gone = gone};

static void take_body(struct tr_api_call *call, struct tr_bytes piece)
{
    if (!call->is_over) {
        call->api->services.uploads->take(call, piece);
    }
}

static void take_end(struct tr_api_call *call)
{
    if (!call->is_over) {
        call->api->services.uploads->end(call);
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

/* What still comes is not kept, so that nothing holds it up: HTTP/1.1 hears no answer before. */
static void finish(struct tr_api_call *call, enum tr_api_code code, const char *words)
{
    tr_door_exchange_hold(call->exchange, false);
    if (code == TR_API_OK) {
        tr_door_exchange_answer(call->exchange, 200, NULL, 0, (struct tr_bytes){.size = 0});
    } else {
        tri_rest_refuse(call->exchange, tr_api_http_status(code), code, words);
    }
}

const struct tri_call_form tri_upload_form = {
    .body = take_body, .end = take_end, .send = send, .finish = finish};

static void begin(struct tr_api *api, struct tr_door_exchange *exchange, struct tr_text path)
{
    const struct tr_api_uploads *uploads = api->services.uploads;
    char words[TR_API_WORDS_BYTES] = "";
    struct tr_api_call *call = tri_call_new(api, exchange, &tri_upload_form, &upload);
    if (call == NULL) {
        return;
    }
    tr_door_exchange_body_max_set(exchange, TR_API_UPLOAD_BYTES_MAX);
    enum tr_api_code code =
        uploads->begin(uploads->self, call, path, tr_door_exchange_request(exchange)->query,
                       tr_door_exchange_header(exchange, "content-md5"), words);
    call->is_handled = code == TR_API_OK;
    if (code != TR_API_OK) {
        tr_api_fail(call, code, "%s", words);
    }
}

bool tri_upload_begin(struct tr_api *api, struct tr_door_exchange *exchange)
{
    const struct tr_door_request *request = tr_door_exchange_request(exchange);
    static const char prefix[] = TR_API_UPLOAD_PATH;
    size_t size = sizeof prefix - 1;
    bool is_one = api->services.uploads != NULL && request->path.size > size &&
                  memcmp(request->path.data, prefix, size) == 0 &&
                  tr_text_equal(request->method, tr_text_of("PUT"));
    if (is_one) {
        begin(
            api, exchange,
            (struct tr_text){.data = request->path.data + size, .size = request->path.size - size});
    }
    return is_one;
}

void tr_api_upload_done(struct tr_api_call *call)
{
    if (!call->is_over) {
        call->is_over = true;
        if (!tr_door_exchange_has_ended(call->exchange)) {
            finish(call, TR_API_OK, "");
        }
    }
}

void tr_api_upload_hold(struct tr_api_call *call, bool is_held)
{
    if (!call->is_over) {
        tr_door_exchange_hold(call->exchange, is_held);
    }
}
