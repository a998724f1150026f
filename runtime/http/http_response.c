/*
 * Assembles a response: headers of its last part (redirects and 100 Continue come before it), and
 * the body whole, in chunks, in lines or item by item, within its limits.
 *
 * Only the first fault is kept: it is the cause, and curl's message about the stopped transfer
 * would hide it. Only a body with a status of 200 to 299 is streamed. The body of an error is
 * delivered whole with the END, so that a receiver of lines never takes an error's text for data.
 */
#include "runtime/http/http_response.h"

#include <stdio.h>
#include <string.h>

#include "runtime/env/clock.h"
#include "schemas/codec/error.h"

void tri_http_response_fini(struct tri_http_response *response)
{
    tri_buffer_fini(&response->headers);
    tri_buffer_fini(&response->body);
    tri_http_items_fini(&response->items);
}

void tri_http_response_reset(struct tri_http_response *response)
{
    tri_buffer_clear(&response->headers);
    tri_buffer_clear(&response->body);
    tri_http_items_fini(&response->items);
    response->items = (struct tri_http_items){0};
    response->status = 0;
    response->retry_after_s = 0;
}

void tri_http_response_fail(struct tri_http_response *response, enum tri_http_fault fault,
                            const char *words)
{
    if (response->fault == TRI_HTTP_NONE) {
        response->fault = fault;
        snprintf(response->words, sizeof response->words, "%s", words);
    }
}

/* Calls the receiver on the http thread. The views in the event are valid during the call. */
static void deliver(const struct tri_http_response *response, enum tri_http_event_kind kind,
                    struct tr_bytes body)
{
    struct tri_http_event event = {
        .id = response->task->request.id,
        .kind = kind,
        .status = response->status,
        .headers = {.data = (const char *)tri_buffer_front(&response->headers),
                    .size = tri_buffer_size(&response->headers)},
        .body = body,
        .fault = response->fault,
        .words = response->fault != TRI_HTTP_NONE ? response->words : "",
        .elapsed_us = tri_monotonic_us() - response->task->submitted_us,
        .retry_after_s = response->retry_after_s,
    };
    response->options->deliver(response->options->self, &event);
}

static struct tr_bytes kept_body(const struct tri_http_response *response)
{
    return (struct tr_bytes){.data = tri_buffer_front(&response->body),
                             .size = tri_buffer_size(&response->body)};
}

/* ---- Headers. ------------------------------------------------------------------------------- */

/* The number in a status line: HTTP/1.1 200 OK. */
static uint32_t status_in(const char *data, size_t size)
{
    const char *blank = memchr(data, ' ', size);
    uint32_t status = 0;
    for (const char *at = blank; at != NULL && ++at < data + size && *at >= '0' && *at <= '9';) {
        status = status * 10 + (uint32_t)(*at - '0');
    }
    return status;
}

/*
 * Takes one line. A status line begins another response, whose headers replace the previous ones.
 * False ends the transfer, with the fault set.
 */
bool tri_http_response_take_header(struct tri_http_response *response, const char *data,
                                   size_t size)
{
    if (size >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        response->status = status_in(data, size);
        tri_buffer_clear(&response->headers);
        return true;
    }
    if (size <= 2) {
        return true; /* the empty line after the headers */
    }
    if (tri_buffer_size(&response->headers) + size > TR_HTTP_HEADER_BYTES_MAX) {
        tri_http_response_fail(response, TRI_HTTP_TOO_LARGE,
                               "the headers of the response are too large "
                               "(TR_HTTP_HEADER_BYTES_MAX)");
        return false;
    }
    if (tri_buffer_append(&response->headers, data, size) != 0) {
        tri_http_response_fail(response, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
        return false;
    }
    return true;
}

/* ---- The body. ------------------------------------------------------------------------------ */

/* How the body is delivered, now that the status is known. */
static enum tri_http_delivery delivery_of(const struct tri_http_response *response)
{
    bool is_success = response->status >= 200 && response->status < 300;
    return is_success ? response->task->request.delivery : TRI_HTTP_WHOLE;
}

static size_t bytes_max(const struct tri_http_response *response)
{
    size_t asked = response->task->request.response_bytes_max;
    return asked != 0 ? asked : TR_HTTP_RESPONSE_BYTES_MAX;
}

static void fail_too_large(struct tri_http_response *response)
{
    char words[128];
    static const char *const parts[] = {
        [TRI_HTTP_LINES] = "a line of the response", [TRI_HTTP_ITEMS] = "an item of the response"};
    enum tri_http_delivery delivery = delivery_of(response);
    snprintf(words, sizeof words, "%s is larger than %zu bytes (response_bytes_max)",
             delivery < TRI_HTTP_LINES ? "the response" : parts[delivery], bytes_max(response));
    tri_http_response_fail(response, TRI_HTTP_TOO_LARGE, words);
}

static bool append(struct tri_http_response *response, const char *data, size_t size)
{
    if (tri_buffer_append(&response->body, data, size) != 0) {
        tri_http_response_fail(response, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
        return false;
    }
    return true;
}

/* Keeps bytes of the body; false, with the fault set, if there are too many. */
static bool keep(struct tri_http_response *response, const char *data, size_t size)
{
    size_t max = bytes_max(response);
    if (size > max || tri_buffer_size(&response->body) > max - size) {
        fail_too_large(response);
        return false;
    }
    return append(response, data, size);
}

/* Counts the bytes until the receiver reports them as consumed (tri_http_give_room). */
static void deliver_part(struct tri_http_response *response, struct tr_bytes bytes)
{
    response->unconsumed_bytes += bytes.size;
    deliver(response, TRI_HTTP_PART, bytes);
}

/*
 * How many of these bytes are whole lines. It stops before a line that is too long, so the lines
 * before it are delivered first. The body buffer holds the beginning of the first line.
 */
static size_t whole_lines(const struct tri_http_response *response, const char *data, size_t size)
{
    size_t begun = tri_buffer_size(&response->body);
    size_t max = bytes_max(response);
    size_t whole = 0;
    const char *end;
    while (whole < size && (end = memchr(data + whole, '\n', size - whole)) != NULL) {
        size_t line = (size_t)(end - data) - whole;
        if (begun + line > max) {
            break;
        }
        begun = 0;
        whole += line + 1;
    }
    return whole;
}

/*
 * Delivers all lines that end in these bytes as one part: a message for each line would cost more
 * than all other work for it.
 */
static bool take_lines(struct tri_http_response *response, const char *data, size_t size)
{
    size_t whole = whole_lines(response, data, size);
    if (whole > 0 && tri_buffer_size(&response->body) == 0) {
        deliver_part(response, (struct tr_bytes){.data = (const uint8_t *)data, .size = whole});
    } else if (whole > 0) {
        if (!append(response, data, whole)) {
            return false;
        }
        deliver_part(response, kept_body(response));
        tri_buffer_clear(&response->body);
    }
    return keep(response, data + whole, size - whole);
}

static void fail_items(struct tri_http_response *response, int error)
{
    if (error == TR_LIMIT) {
        fail_too_large(response);
    } else if (error == TR_MALFORMED) {
        tri_http_response_fail(response, TRI_HTTP_PROTOCOL,
                               "the response is no JSON object with a list of objects");
    } else {
        tri_http_response_fail(response, TRI_HTTP_MEMORY, tr_error_text(error));
    }
}

/* Delivers all items that end in these bytes as one part, as lines are. */
static bool take_items(struct tri_http_response *response, const char *data, size_t size)
{
    struct tri_buffer *whole = &response->items.whole;
    int error = tri_http_items_take(&response->items, data, size, bytes_max(response));
    if (error != 0) {
        fail_items(response, error);
    }
    if (tri_buffer_size(whole) > 0) {
        deliver_part(response, (struct tr_bytes){.data = tri_buffer_front(whole),
                                                 .size = tri_buffer_size(whole)});
        tri_buffer_clear(whole);
    }
    return error == 0;
}

bool tri_http_response_take_body(struct tri_http_response *response, const char *data, size_t size)
{
    bool is_taken = true;
    switch (delivery_of(response)) {
    case TRI_HTTP_WHOLE:
        is_taken = keep(response, data, size);
        break;
    case TRI_HTTP_CHUNKS:
        deliver_part(response, (struct tr_bytes){.data = (const uint8_t *)data, .size = size});
        break;
    case TRI_HTTP_LINES:
        is_taken = take_lines(response, data, size);
        break;
    case TRI_HTTP_ITEMS:
        is_taken = take_items(response, data, size);
        break;
    }
    return is_taken;
}

bool tri_http_response_is_full(const struct tri_http_response *response)
{
    size_t window = response->task->request.window_bytes;
    return window != 0 && response->unconsumed_bytes >= window;
}

/* What is left of a document without its items; nothing where that was cut off. */
static struct tr_bytes end_items(struct tri_http_response *response)
{
    const struct tri_buffer *rest = &response->items.rest;
    if (!tri_http_items_is_complete(&response->items)) {
        tri_http_response_fail(response, TRI_HTTP_PROTOCOL, "the response was cut off");
    }
    if (response->fault != TRI_HTTP_NONE) {
        return (struct tr_bytes){0};
    }
    return (struct tr_bytes){.data = tri_buffer_front(rest), .size = tri_buffer_size(rest)};
}

/*
 * The last line of a stream may lack its newline; it is delivered if the stream ended well. After a
 * fault it may be incomplete, and is dropped.
 */
void tri_http_response_end(struct tri_http_response *response)
{
    bool is_in_lines = delivery_of(response) == TRI_HTTP_LINES;
    if (is_in_lines && response->fault == TRI_HTTP_NONE && tri_buffer_size(&response->body) > 0) {
        deliver_part(response, kept_body(response));
    }
    if (is_in_lines) {
        tri_buffer_clear(&response->body); /* it may be incomplete */
    }
    deliver(response, TRI_HTTP_END,
            delivery_of(response) == TRI_HTTP_ITEMS ? end_items(response) : kept_body(response));
}
