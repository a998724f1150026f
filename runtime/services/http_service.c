/*
 * The http service: one thread takes calls and submits requests; libcurl's thread sends the
 * answers.
 *
 * The two threads share only the list of ended calls (http_calls.h): a request's id is its call. So
 * the answers are sent over a second link.
 *
 * A call is added to the table, submitted, and belongs to the http thread until its END, which
 * pushes it onto the list of ended ones. The calls' thread frees it at its next round. A cancel or
 * room that arrives in between finds the call in the table and is passed on by its id; http ignores
 * an ended id.
 */
#include "runtime/exchange.h"
#include "runtime/http/http.h"
#include "runtime/memory.h"
#include "runtime/services/http_calls.h"
#include "schemas/runtime/http.h"

#define WAIT_NS 200000000
#define HEADERS_MAX 64

/* Largest response that fits into one message, with envelope and headers. */
#define RESPONSE_BYTES_MAX (TR_MESSAGE_BYTES_MAX - 131072)

struct tri_http_service {
    struct tri_service calls;   /* receives calls */
    struct tri_service answers; /* sends answers; used by the http thread alone */
    struct tri_http_options options;
    const struct tr_identity *identities;
    size_t identity_count;
    const struct tri_life *life;
    struct tri_http *http; /* NULL until the first request: its library takes time to load */
    struct tri_http_calls open;
};

/* -------------------------------------------------- the http thread's side */

/* Opens the link of this thread, at its first answer. */
static int open_sender(struct tri_http_service *service)
{
    if (service->answers.sender.link != NULL) {
        return 0;
    }
    return service->answers.env->ops->link_open(service->answers.env, TRI_PLACE_HTTP_ANSWERS,
                                                &service->answers.sender.link);
}

static int tell_end(struct tri_http_service *service, const struct tri_caller *caller,
                    const struct tri_http_event *event)
{
    struct tr_http_response response = {
        .status = event->status,
        .fault = tr_text_of(tri_http_fault_name(event->fault)),
        .message = tr_text_of(event->words),
        .headers = {.data = (const uint8_t *)event->headers.data, .size = event->headers.size},
        .body = event->body,
        .elapsed_us = event->elapsed_us,
        .retry_after_s = event->retry_after_s,
    };
    return tri_service_reply(&service->answers, caller, &tr_http_response_schema, &response);
}

static int tell_part(struct tri_http_service *service, const struct tri_caller *caller,
                     const struct tri_http_event *event)
{
    struct tr_http_part part = {.ask = caller->ask, .bytes = event->body};
    return tri_service_tell(&service->answers, caller, &tr_http_part_schema, &part);
}

/*
 * Runs on the http thread: answers have a sender of their own, so nothing is shared with the thread
 * that takes calls. An answer too large for a message becomes a refusal.
 */
static void deliver(void *self, const struct tri_http_event *event)
{
    struct tri_http_service *service = self;
    struct tri_http_call *call = (struct tri_http_call *)(uintptr_t)event->id;
    const struct tri_caller *caller = &call->caller;
    int error = open_sender(service);
    if (error == 0) {
        error = event->kind == TRI_HTTP_END ? tell_end(service, caller, event)
                                            : tell_part(service, caller, event);
        if (error == TR_LIMIT) {
            tri_service_refuse(&service->answers, caller, error);
            error = 0;
        }
        tri_sender_flush(&service->answers.sender);
    }
    if (error != 0) {
        tri_service_fail(&service->answers, error);
    }
    if (event->kind == TRI_HTTP_END) {
        tri_http_calls_end(&service->open, call);
    }
}

/* -------------------------------------------------------- the calls' side */

/* The headers of a request, as views into the message. */
static int read_headers(struct tr_bytes packed, struct tr_text *headers, size_t *count)
{
    struct tr_cursor cursor = tr_cursor_of(packed);
    if (tr_read_nil(&cursor)) {
        *count = 0;
        return 0;
    }
    uint32_t wanted = tr_read_array(&cursor);
    if (wanted > HEADERS_MAX) {
        return TR_LIMIT;
    }
    for (uint32_t i = 0; i < wanted; i++) {
        headers[i] = tr_read_text(&cursor);
    }
    *count = wanted;
    return cursor.error;
}

/* The secrets of a request, as views into the message. */
static int read_secrets(struct tr_bytes packed, struct tr_http_secret *secrets, size_t *count)
{
    struct tr_cursor cursor;
    uint32_t wanted = tr_http_secrets_begin(packed, &cursor);
    if (wanted > TR_HTTP_SECRETS_MAX) {
        return TR_LIMIT;
    }
    for (uint32_t i = 0; i < wanted; i++) {
        secrets[i] = tr_http_secret_next(&cursor);
    }
    *count = wanted;
    return cursor.error;
}

/*
 * The timeout of a request: its own, or the time left until its call's deadline if that is less; 0
 * is none. TR_TIMEOUT: nothing is left, because the call waited for its commit, so its actor has
 * given it up, and may have made another in its place.
 */
static int find_timeout(struct tri_http_service *service, const uint8_t *envelope,
                        const struct tr_http_request *wanted, uint32_t *timeout_ms)
{
    uint64_t deadline_ms = tr_envelope_get(envelope, 64, deadline_ms);
    uint64_t now_ms = tri_life_steady_ms(service->life, tri_monotonic_ns(service->calls.env));
    if (deadline_ms != 0 && deadline_ms <= now_ms) {
        return TR_TIMEOUT;
    }
    uint64_t left_ms = deadline_ms - now_ms;
    if (deadline_ms == 0 || (wanted->timeout_ms != 0 && wanted->timeout_ms < left_ms)) {
        *timeout_ms = wanted->timeout_ms;
    } else {
        *timeout_ms = left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX;
    }
    return 0;
}

/* The window of a stream: 0 means the default, and a larger value is capped. */
static size_t window_of(const struct tr_http_request *wanted)
{
    if (wanted->window_bytes == 0) {
        return TR_HTTP_WINDOW_BYTES;
    }
    return wanted->window_bytes < TR_HTTP_WINDOW_BYTES_MAX ? (size_t)wanted->window_bytes
                                                           : TR_HTTP_WINDOW_BYTES_MAX;
}

/* The identity of a name; empty: none. TR_NOT_FOUND: it is another host's. */
static int find_identity(const struct tri_http_service *service, struct tr_text name,
                         const struct tr_identity **identity)
{
    *identity = NULL;
    for (size_t i = 0; i < service->identity_count && name.size > 0; i++) {
        if (tr_text_equal(name, tr_text_of(service->identities[i].name))) {
            *identity = &service->identities[i];
        }
    }
    return name.size > 0 && *identity == NULL ? TR_NOT_FOUND : 0;
}

/*
 * Submits a request; views into the message are fine, since http copies it. The http thread is
 * started with the first request.
 */
static int submit(struct tri_http_service *service, const struct tr_http_request *wanted,
                  uint32_t timeout_ms, struct tri_http_call *call)
{
    struct tr_text headers[HEADERS_MAX];
    size_t header_count;
    struct tr_http_secret secrets[TR_HTTP_SECRETS_MAX];
    size_t secret_count;
    int error = read_headers(wanted->headers, headers, &header_count);
    if (error != 0) {
        return error;
    }
    error = read_secrets(wanted->secrets, secrets, &secret_count);
    if (error != 0) {
        return error;
    }
    const struct tr_identity *identity;
    error = find_identity(service, wanted->identity, &identity);
    if (error != 0) {
        return error;
    }
    uint64_t most = wanted->response_bytes_max;
    struct tri_http_request request = {
        .id = (uint64_t)(uintptr_t)call,
        .method = wanted->method,
        .url = wanted->url,
        .headers = headers,
        .header_count = header_count,
        .secrets = secrets,
        .secret_count = secret_count,
        .aws_region = wanted->aws_region,
        .aws_service = wanted->aws_service,
        .body = wanted->body,
        .timeout_ms = timeout_ms,
        .connect_timeout_ms = wanted->connect_timeout_ms,
        .idle_timeout_ms = wanted->idle_timeout_ms,
        .response_bytes_max = most == 0 || most > RESPONSE_BYTES_MAX ? RESPONSE_BYTES_MAX : most,
        .window_bytes = window_of(wanted),
        .delivery = (enum tri_http_delivery)wanted->delivery,
        .ca_file = wanted->ca_file,
        .client_certificate = wanted->client_certificate,
        .client_key = wanted->client_key,
        .identity = identity,
        .is_insecure = wanted->is_insecure,
        .redirects_max = wanted->redirects_max,
    };
    if (service->http == NULL) {
        error = tri_http_start(&service->options, &service->http);
    }
    return error != 0 ? error : tri_http_submit(service->http, &request);
}

/* The actor of a stream is told that its request leaves: since then the stream is open. */
static int tell_begin(struct tri_http_service *service, const struct tri_caller *caller,
                      const struct tr_http_request *request)
{
    struct tr_http_part part = {.ask = caller->ask};
    return request->delivery == TR_HTTP_WHOLE
               ? 0
               : tri_service_tell(&service->calls, caller, &tr_http_part_schema, &part);
}

/*
 * The call is added to the table before the request is submitted, since its END may follow at once.
 */
static int take_request(struct tri_http_service *service, const uint8_t *envelope,
                        const struct tri_caller *caller)
{
    struct tr_http_request request;
    int error = tr_http_request_unpack(tr_envelope_body(envelope),
                                       tr_envelope_get(envelope, 8, version), &request);
    if (error != 0) {
        return error;
    }
    if (request.delivery > TR_HTTP_ITEMS) {
        return TR_INVALID;
    }
    uint32_t timeout_ms = 0;
    error = find_timeout(service, envelope, &request, &timeout_ms);
    if (error != 0) {
        return error;
    }
    error = tell_begin(service, caller, &request);
    if (error != 0) {
        return error;
    }
    struct tri_http_call *call = tri_http_calls_add(&service->open, caller);
    if (call == NULL) {
        return TR_MEMORY;
    }
    /* After a successful submit `call` belongs to the http thread, and may have ended already. */
    error = submit(service, &request, timeout_ms, call);
    if (error != 0) {
        tri_http_calls_end(&service->open, call);
    }
    return error;
}

/* Cancels a call of the actor; an ended one is ignored. */
static int take_cancel(struct tri_http_service *service, const uint8_t *envelope,
                       const struct tri_caller *caller)
{
    struct tr_http_cancel cancel;
    int error = tr_http_cancel_unpack(tr_envelope_body(envelope),
                                      tr_envelope_get(envelope, 8, version), &cancel);
    if (error != 0) {
        return error;
    }
    const struct tri_http_call *call = tri_http_calls_find(&service->open, caller->ref, cancel.ask);
    return call != NULL ? tri_http_cancel(service->http, (uint64_t)(uintptr_t)call) : 0;
}

/* The actor has consumed bytes of a stream. */
static int take_more(struct tri_http_service *service, const uint8_t *envelope,
                     const struct tri_caller *caller)
{
    struct tr_http_more more;
    int error = tr_http_more_unpack(tr_envelope_body(envelope),
                                    tr_envelope_get(envelope, 8, version), &more);
    if (error != 0) {
        return error;
    }
    const struct tri_http_call *call = tri_http_calls_find(&service->open, caller->ref, more.ask);
    return call != NULL ? tri_http_give_room(service->http, (uint64_t)(uintptr_t)call, more.bytes)
                        : 0;
}

/*
 * The messages and their handlers. A call that cannot be taken is refused. A told message gets no
 * answer: without memory a cancel or room is lost, and the call ends by its timeouts.
 */
static const struct {
    const struct tr_schema *schema;
    int (*take)(struct tri_http_service *service, const uint8_t *envelope,
                const struct tri_caller *caller);
} takers[] = {
    {&tr_http_request_schema, take_request},
    {&tr_http_cancel_schema, take_cancel},
    {&tr_http_more_schema, take_more},
};

static void take_message(struct tri_http_service *service, const uint8_t *envelope)
{
    struct tri_caller caller = tri_service_caller(envelope);
    int error = TR_UNKNOWN_TYPE;
    for (size_t i = 0; i < TR_COUNT_OF(takers); i++) {
        if (takers[i].schema->id == tr_envelope_get(envelope, 16, type)) {
            error = takers[i].take(service, envelope, &caller);
        }
    }
    if (error != 0 && tr_envelope_get(envelope, 8, kind) == TR_KIND_CALL) {
        tri_service_refuse(&service->calls, &caller, error);
    }
}

static void take_frame(struct tri_http_service *service, const struct tri_frame *frame)
{
    struct tr_bytes bytes;
    bool is_stored;
    size_t size;
    size_t offset = 0;
    while (tri_frame_next(frame, &offset, &bytes, &is_stored)) {
        if (tr_envelope_check(bytes, &size) == 0) {
            take_message(service, bytes.data);
        }
    }
}

static void *calls_main(void *argument)
{
    struct tri_http_service *service = argument;
    struct tri_service *calls = &service->calls;
    int error = calls->env->ops->link_open(calls->env, TRI_PLACE_HTTP, &calls->sender.link);
    if (error != 0) {
        tri_service_fail(calls, error);
        return NULL;
    }
    while (!atomic_load(&calls->is_stopping)) {
        struct tri_frame frame;
        while (tri_channel_receive(calls->sender.link, &frame) == 0) {
            take_frame(service, &frame);
            tri_channel_release(calls->sender.link, &frame);
        }
        tri_sender_flush(&calls->sender);
        tri_http_calls_free_ended(&service->open);
        tri_channel_wait(calls->sender.link, WAIT_NS);
    }
    return NULL;
}

int tri_http_service_start(const struct tri_http_service_options *options,
                           struct tri_http_service **out)
{
    struct tri_http_service *service = tr_alloc_zero(1, sizeof *service);
    if (service == NULL) {
        return TR_MEMORY;
    }
    service->life = options->life;
    service->identities = options->identities;
    service->identity_count = options->identity_count;
    tri_service_init(&service->calls, options->env, options->worker_count, options->host_ref,
                     TR_SERVICE_HTTP);
    tri_service_init(&service->answers, options->env, options->worker_count, options->host_ref,
                     TR_SERVICE_HTTP_ANSWERS);
    service->calls.fatal = options->fatal;
    service->answers.fatal = options->fatal;
    service->options = (struct tri_http_options){
        .deliver = deliver,
        .self = service,
        .receiver_timeout_ms = options->receiver_timeout_ms,
        .secret_sources = options->secrets,
        .secret_source_count = options->secret_count,
        .may_begin = options->may_begin,
        .gate = options->gate,
    };
    if (pthread_create(&service->calls.thread, NULL, calls_main, service) != 0) {
        tr_free(service);
        return TR_SYSTEM;
    }
    service->calls.is_started = true;
    *out = service;
    return 0;
}

void tri_http_service_figures(const struct tri_http_service *service,
                              struct tr_service_figures *figures)
{
    figures->http_open = atomic_load_explicit(&service->open.count, memory_order_relaxed);
}

void tri_http_service_request_stop(struct tri_http_service *service)
{
    atomic_store(&service->calls.is_stopping, true);
}

void tri_http_service_stop(struct tri_http_service *service)
{
    if (service == NULL) {
        return;
    }
    tri_http_service_request_stop(service);
    pthread_join(service->calls.thread, NULL);
    /*
     * Stops the calls' thread first, which submits, then the http thread, which answers; only then
     * frees the table.
     */
    tri_http_stop(service->http);
    tri_http_calls_fini(&service->open);
    tri_service_fini(&service->calls);
    tri_service_fini(&service->answers);
    tr_free(service);
}
