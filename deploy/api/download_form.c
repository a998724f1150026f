/*
 * Downloads as calls of a form of their own: the answer is a file in pieces, whole or a range of it
 * (RFC 9110, 14). What a task has written is nobody's page: a browser shows a deck as one of an
 * origin of its own, and keeps all else.
 */
#include "deploy/api/download.h"

#include <stdio.h>
#include <string.h>

#include "deploy/api/call_inside.h"
#include "deploy/api_wire/rest.h"
#include "schemas/codec/error.h"

static void room(struct tr_api_call *call)
{
    call->api->services.downloads->room(call);
}

static void gone(struct tr_api_call *call)
{
    call->api->services.downloads->gone(call);
}

/* No row of the table has it, as no message of Flyte's describes it. */
static const struct tr_api_method download = {
    .service = "downloads", .name = "GET", .role = TR_API_ANYBODY, .room = room, .gone = gone};

static void take_body(struct tr_api_call *call, struct tr_bytes piece)
{
    (void)call;
    (void)piece;
}

static void take_end(struct tr_api_call *call)
{
    (void)call;
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
    if (call->has_begun) {
        tr_door_exchange_reset(call->exchange);
    } else {
        tri_rest_refuse(call->exchange, tr_api_http_status(code), code, words);
    }
}

static const struct tri_call_form form = {
    .body = take_body, .end = take_end, .send = send, .finish = finish};

static bool is_head(const struct tr_api_call *call)
{
    return tr_text_equal(tr_door_exchange_request(call->exchange)->method, tr_text_of("HEAD"));
}

static void begin(struct tr_api *api, struct tr_door_exchange *exchange, struct tr_text path)
{
    const struct tr_api_downloads *downloads = api->services.downloads;
    char words[TR_API_WORDS_BYTES] = "";
    struct tr_api_call *call = tri_call_new(api, exchange, &form, &download);
    if (call == NULL) {
        return;
    }
    struct tr_text conditional = tr_door_exchange_header(exchange, "if-range");
    struct tr_api_download asked = {.path = path,
                                    .query = tr_door_exchange_request(exchange)->query,
                                    .range = tr_door_exchange_header(exchange, "range")};
    if (conditional.data != NULL) {
        asked.range = (struct tr_text){.size = 0}; /* nothing says that the file is the same */
    }
    if (!tr_rest_unescape(&call->arena, path, false, &asked.file)) {
        tr_api_fail(call, TR_API_INVALID_ARGUMENT,
                    "the path has an escape that is none, or is no UTF-8");
        return;
    }
    enum tr_api_code code = downloads->begin(downloads->self, call, &asked, words);
    call->is_handled = code == TR_API_OK;
    if (code != TR_API_OK) {
        tr_api_fail(call, code, "%s", words);
    }
}

bool tri_download_begin(struct tr_api *api, struct tr_door_exchange *exchange)
{
    const struct tr_door_request *request = tr_door_exchange_request(exchange);
    static const char prefix[] = TR_API_DOWNLOAD_PATH;
    size_t size = sizeof prefix - 1;
    bool is_one = api->services.downloads != NULL && request->path.size > size &&
                  memcmp(request->path.data, prefix, size) == 0 &&
                  (tr_text_equal(request->method, tr_text_of("GET")) ||
                   tr_text_equal(request->method, tr_text_of("HEAD")));
    if (is_one) {
        begin(
            api, exchange,
            (struct tr_text){.data = request->path.data + size, .size = request->path.size - size});
    }
    return is_one;
}

/* ------------------------------------------------------------- the response */

static bool is_page(const char *name)
{
    size_t size = strlen(name);
    return size > 5 && strcmp(name + size - 5, ".html") == 0;
}

bool tr_api_download_begin(struct tr_api_call *call, const struct tr_api_download_part *part)
{
    struct tr_door_headers headers = {.count = 0};
    char length[32];
    char range[96];
    if (call->is_over) {
        return false;
    }
    (void)snprintf(length, sizeof length, "%llu", (unsigned long long)(part->end - part->first));
    tr_door_headers_add(&headers, "content-length", part->is_outside ? "0" : length);
    tr_door_headers_add(&headers, "accept-ranges", "bytes");
    tr_door_headers_add(&headers, "x-content-type-options", "nosniff");
    tr_door_headers_add(&headers, "content-type",
                        is_page(part->name) ? "text/html" : "application/octet-stream");
    if (is_page(part->name)) {
        tr_door_headers_add(&headers, "content-security-policy", TR_API_PAGE_POLICY);
    }
    if (part->is_outside) {
        (void)snprintf(range, sizeof range, "bytes */%llu", (unsigned long long)part->size);
    } else if (part->is_part) {
        (void)snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)part->first,
                       (unsigned long long)(part->end - 1), (unsigned long long)part->size);
    }
    if (part->is_part || part->is_outside) {
        tr_door_headers_add(&headers, "content-range", range);
    }
    call->has_begun = true;
    tr_door_exchange_begin(call->exchange,
                           part->is_outside ? 416
                           : part->is_part  ? 206
                                            : 200,
                           headers.items, headers.count);
    if (is_head(call) || part->is_outside || part->first == part->end) {
        tr_api_download_end(call);
        return false;
    }
    return true;
}

int tr_api_download_write(struct tr_api_call *call, struct tr_bytes bytes)
{
    return call->is_over ? TR_CLOSED : tr_door_exchange_write(call->exchange, bytes);
}

void tr_api_download_end(struct tr_api_call *call)
{
    if (!call->is_over) {
        call->is_over = true;
        tr_door_exchange_end(call->exchange, NULL, 0);
    }
}

void tr_api_download_break(struct tr_api_call *call)
{
    if (!call->is_over) {
        call->is_over = true;
        tr_door_exchange_reset(call->exchange);
    }
}
