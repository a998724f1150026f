/*
 * One request after the other: it is submitted, the caller waits for its end with others running
 * meanwhile, and what failed for the moment is made again.
 *
 * A request in progress belongs to the http thread, and so does its exchange, until `wake` rings:
 * that is the http thread's last access. The caller returns only after that, also when it is to
 * stop.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/fetch/fetch_list.h"
#include "runtime/objects/objects_inside.h"
#include "schemas/codec/error.h"

#define LINE_BYTES 64

/* A request in progress. */
struct exchange {
    const struct tri_objects_request *request;
    struct tri_objects_answer *answer;
    int wake;        /* an eventfd */
    uint64_t offset; /* of the first byte of this answer in the object */
    uint64_t size;   /* of what the descriptor has got */
    bool is_begun;
    int error; /* of writing to the descriptor; errno is `number` */
    int number;
    enum tri_http_fault fault;
    uint32_t retry_after_s;
    char words[TR_HTTP_WORDS_BYTES_MAX];
    atomic_bool is_over;
};

/* ---- On the http thread. -------------------------------------------------------------------- */

static bool is_success(uint32_t status)
{
    return status >= 200 && status <= 299;
}

/* An answer that is not the rest that was asked for is the whole object. */
static bool begin_part(struct exchange *exchange, const struct tri_http_event *event)
{
    int fd = exchange->request->descriptor;
    exchange->is_begun = true;
    if (event->status != 206) {
        exchange->size = 0;
    }
    return ftruncate(fd, (off_t)exchange->size) == 0 &&
           lseek(fd, (off_t)exchange->size, SEEK_SET) >= 0;
}

static void take_part(struct exchange *exchange, const struct tri_http_event *event)
{
    int fd = exchange->request->descriptor;
    if (exchange->error != 0 || !is_success(event->status)) {
        return;
    }
    errno = 0;
    if (!exchange->is_begun && !begin_part(exchange, event)) {
        exchange->error = tri_below_error();
    }
    if (exchange->error == 0) {
        exchange->error = tri_below_write_all(fd, event->body);
    }
    exchange->number = errno;
    exchange->size += event->body.size;
}

static void take_end(struct exchange *exchange, const struct tri_http_event *event)
{
    struct tri_objects_answer *answer = exchange->answer;
    struct tr_text tag = tri_http_header(event->headers, "ETag");
    bool fits = tag.size <= TR_OBJECT_TAG_BYTES_MAX;
    answer->status = event->fault == TRI_HTTP_NONE ? event->status : 0;
    snprintf(answer->tag, sizeof answer->tag, "%.*s", fits ? (int)tag.size : 0, tag.data);
    exchange->fault = event->fault;
    exchange->retry_after_s = event->retry_after_s;
    snprintf(exchange->words, sizeof exchange->words, "%s", event->words);
    if (exchange->error == 0) {
        exchange->error = tri_buffer_append(&answer->body, event->body.data, event->body.size);
    }
    int wake = exchange->wake;
    atomic_store_explicit(&exchange->is_over, true, memory_order_release);
    (void)!eventfd_write(wake, 1);
}

static void deliver(void *self, const struct tri_http_event *event)
{
    struct exchange *exchange = (struct exchange *)(uintptr_t)event->id;
    (void)self;
    if (event->kind == TRI_HTTP_PART) {
        take_part(exchange, event);
    } else if (event->kind == TRI_HTTP_END) {
        take_end(exchange, event);
    }
}

/* ---- Words. --------------------------------------------------------------------------------- */

/* What to do about an answer, by its code, else by its error. */
static const char *remedy_of(struct tr_text code, int error)
{
    static const struct {
        const char *code; /* NULL: any */
        int error;
        const char *remedy;
    } remedies[] = {
        {"NoSuchBucket", TR_NOT_FOUND,
         "; make the bucket, or name another one in `blobs` of the settings"},
        {NULL, TR_NOT_FOUND,
         "; the object was removed there: put it back, or run again what made it"},
        {NULL, TR_DENIED,
         "; grant permission to get, put, list and delete objects there, or set another endpoint, "
         "region or secret under object_stores of the settings"},
        {NULL, TR_NO_CONNECTION, ""},
    };
    size_t i = 0;
    while (i + 1 < TR_COUNT_OF(remedies) &&
           (remedies[i].error != error ||
            (remedies[i].code != NULL && !tr_text_equal(tr_text_of(remedies[i].code), code)))) {
        i++;
    }
    return remedies[i].remedy;
}

/* "METHOD URL", without the query. */
static int fail(const struct tri_objects_request *request, int error, const char *words)
{
    struct tri_buffer url = {0};
    char *told = request->call->words;
    int failed = tri_fetch_location_url(&request->objects->location, request->key, &url);
    snprintf(told, TR_BLOB_WORDS_BYTES_MAX, "%s %.*s: %.*s", request->method,
             failed != 0 ? 0 : (int)(tri_buffer_size(&url) < 300 ? tri_buffer_size(&url) : 300),
             (const char *)tri_buffer_front(&url), TR_BLOB_WORDS_BYTES_MAX / 2, words);
    tri_buffer_fini(&url);
    return error;
}

static int fail_status(const struct tri_objects_request *request,
                       const struct tri_objects_answer *answer)
{
    char words[TR_BLOB_WORDS_BYTES_MAX];
    char signer[TRI_FETCH_SIGNER_BYTES];
    int error = tri_fetch_status_error(answer->status);
    struct tr_text code = tri_fetch_error_code(
        (struct tr_bytes){tri_buffer_front(&answer->body), tri_buffer_size(&answer->body)});
    snprintf(words, sizeof words, "the server answers with status %u%s%.*s, %s%s", answer->status,
             code.size > 0 ? " " : "", (int)code.size, code.data,
             tri_fetch_location_signer(&request->objects->location, signer),
             remedy_of(code, error));
    return fail(request, error, words);
}

static int fail_fault(const struct exchange *exchange)
{
    char words[TR_BLOB_WORDS_BYTES_MAX];
    snprintf(words, sizeof words, "no whole answer: %s", exchange->words);
    return fail(exchange->request, tri_http_fault_error(exchange->fault), words);
}

int tri_objects_fail_malformed(const struct tri_objects_request *request, const char *what)
{
    char words[TR_BLOB_WORDS_BYTES_MAX];
    snprintf(words, sizeof words,
             "the server's answer %s; set the endpoint of an object store of S3's kind under "
             "object_stores of the settings",
             what);
    return fail(request, TR_MALFORMED, words);
}

/* ---- Asking. -------------------------------------------------------------------------------- */

static int start_http(struct tri_objects *objects)
{
    const struct tri_http_options options = {
        .deliver = deliver,
        .secret_sources = objects->options.secrets,
        .secret_source_count = objects->options.secret_count,
    };
    return objects->http != NULL ? 0 : tri_http_start(&options, &objects->http);
}

static int make_url(const struct tri_objects_request *request, struct tri_buffer *url)
{
    int error = tri_fetch_location_url(&request->objects->location, request->key, url);
    if (error == 0 && request->query != NULL) {
        error = tri_buffer_append(url, "?", 1);
    }
    if (error == 0 && request->query != NULL) {
        error = tri_buffer_append(url, request->query, strlen(request->query));
    }
    return error != 0 ? error : tri_buffer_append(url, "", 1);
}

static int submit(struct exchange *exchange, const struct tri_buffer *url)
{
    const struct tri_objects_request *request = exchange->request;
    const struct tri_fetch_location *location = &request->objects->location;
    bool has_secret = tri_fetch_location_has_secret(location);
    char range[LINE_BYTES];
    snprintf(range, sizeof range, "Range: bytes=%llu-", (unsigned long long)exchange->size);
    const struct tr_text headers[] = {tr_text_of(range)};
    const struct tri_http_request http = {
        .id = (uint64_t)(uintptr_t)exchange,
        .method = tr_text_of(request->method),
        .url = tr_text_of((const char *)tri_buffer_front(url)),
        .headers = headers,
        .header_count = exchange->size > 0 ? 1 : 0,
        .secrets = has_secret ? &location->store->secret : NULL,
        .secret_count = has_secret ? 1 : 0,
        .aws_region = location->region,
        .aws_service = tr_text_of("s3"),
        .body = request->body,
        .idle_timeout_ms = TR_OBJECT_IDLE_MS,
        .delivery = request->descriptor >= 0 ? TRI_HTTP_CHUNKS : TRI_HTTP_WHOLE,
        .response_bytes_max = TR_OBJECT_ANSWER_BYTES_MAX,
        .ca_file = location->store != NULL ? location->store->ca_file : (struct tr_text){0},
        .is_proxied = true,
    };
    return tri_http_submit(request->objects->http, &http);
}

static bool is_stopping(const struct tri_objects_request *request)
{
    return atomic_load(request->call->is_stopping);
}

/* Waits for the end of a submitted request. To stop, it is cancelled, which ends it at once. */
static int wait_for_end(struct exchange *exchange)
{
    const struct tri_objects_request *request = exchange->request;
    int error = 0;
    while (error == 0 && !atomic_load_explicit(&exchange->is_over, memory_order_acquire)) {
        error = is_stopping(request) ? TR_CLOSED
                                     : tr_turn_wait(request->call->turn, exchange->wake, 200);
    }
    if (error != 0) {
        /* Without memory for the cancel it goes on to its end. */
        (void)!tri_http_cancel(request->objects->http, (uint64_t)(uintptr_t)exchange);
    }
    eventfd_t rings;
    while (eventfd_read(exchange->wake, &rings) != 0) {
        struct pollfd event = {.fd = exchange->wake, .events = POLLIN};
        (void)poll(&event, 1, -1);
    }
    return error;
}

/* One try. Errors without words are those of this side. */
static int try_once(struct exchange *exchange, const struct tri_buffer *url)
{
    exchange->is_begun = false;
    exchange->fault = TRI_HTTP_NONE;
    exchange->answer->status = 0;
    tri_buffer_clear(&exchange->answer->body);
    atomic_store(&exchange->is_over, false);
    int error = submit(exchange, url);
    if (error == 0) {
        error = wait_for_end(exchange);
    }
    if (error == 0 && exchange->error != 0) {
        errno = exchange->number;
        return exchange->error;
    }
    return error;
}

/* What a try has come to: an error with words, or 0. */
static int judge(const struct exchange *exchange, uint32_t fine_status)
{
    uint32_t status = exchange->answer->status;
    if (exchange->fault != TRI_HTTP_NONE) {
        return fail_fault(exchange);
    }
    return is_success(status) || status == fine_status
               ? 0
               : fail_status(exchange->request, exchange->answer);
}

/* Waits before the next try; as long as the server wants, within a bound. */
static int wait_between(const struct exchange *exchange, unsigned tries)
{
    uint64_t wait_ms = (uint64_t)TR_OBJECT_WAIT_MS << tries;
    uint64_t asked_ms = (uint64_t)exchange->retry_after_s * 1000;
    wait_ms = wait_ms < asked_ms ? asked_ms : wait_ms;
    wait_ms = wait_ms < TR_OBJECT_WAIT_MS_MAX ? wait_ms : TR_OBJECT_WAIT_MS_MAX;
    return is_stopping(exchange->request)
               ? TR_CLOSED
               : tr_turn_wait(exchange->request->call->turn, -1, (int)wait_ms);
}

static int repeat(struct exchange *exchange, const struct tri_buffer *url, uint32_t fine_status)
{
    int error = TR_NO_CONNECTION;
    for (unsigned tries = 0; error == TR_NO_CONNECTION && tries < TR_OBJECT_TRIES_MAX; tries++) {
        error = tries == 0 ? 0 : wait_between(exchange, tries - 1);
        if (error == 0) {
            exchange->answer->was_repeated = tries > 0;
            error = try_once(exchange, url);
        }
        if (error != 0) {
            return error;
        }
        error = judge(exchange, fine_status);
    }
    return error;
}

int tri_objects_ask(const struct tri_objects_request *request, uint32_t fine_status,
                    struct tri_objects_answer *answer)
{
    struct tri_buffer url = {0};
    struct exchange exchange = {.request = request, .answer = answer};
    int error = start_http(request->objects);
    request->call->words[0] = '\0';
    if (error != 0) {
        return fail(request, error, tri_http_start_words(error));
    }
    exchange.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    error = exchange.wake < 0 ? TR_SYSTEM : make_url(request, &url);
    if (error == 0) {
        error = repeat(&exchange, &url, fine_status);
    }
    int number = errno;
    tri_buffer_fini(&url);
    if (exchange.wake >= 0) {
        close(exchange.wake);
    }
    if (error != 0 && request->call->words[0] == '\0') {
        return fail(request, error,
                    error == TR_SYSTEM || error == TR_STORE_FULL ? strerror(number)
                                                                 : tr_error_text(error));
    }
    return error;
}
