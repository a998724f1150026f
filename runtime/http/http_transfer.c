/*
 * A transfer from the inbox to its END: its states and its timeouts.
 *
 * In progress it has two timeouts: idle_timeout_ms of the server, and receiver_timeout_ms of a
 * stream's receiver. Each runs only while that side is expected to act: while the window is full
 * nothing is read, and the server's timeout does not run.
 *
 * A transfer is in one of two queues at any time: `held` until its secrets are resolved, then
 * `queue`. It leaves its queue before its END is delivered, and is freed after it. Only take_out
 * and fail_and_end lead there, so there is exactly one END.
 */
#include "runtime/http/http_transfer.h"

#include <string.h>

#include "runtime/env/clock.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"
#include "schemas/codec/error.h"

/* ---- Ending a transfer. --------------------------------------------------------------------- */

static void fail(struct tri_http_transfer *transfer, enum tri_http_fault fault, const char *words)
{
    tri_http_response_fail(&transfer->response, fault, words);
}

static void free_transfer(struct tri_http_transfer *transfer)
{
    tri_http_easy_fini(&transfer->easy);
    tri_secret_wipe(&transfer->secret_lines);
    tri_buffer_fini(&transfer->secret_lines);
    tri_http_response_fini(&transfer->response);
    tri_http_task_free(transfer->task);
    tr_free(transfer);
}

/*
 * Delivers the END and frees the transfer. It has left its queue and is no longer counted, so the
 * receiver may submit the next request at once, also with the same id.
 */
static void end_transfer(struct tri_http_transfer *transfer)
{
    struct tri_http *http = transfer->http;
    /* The receiver of the END may submit the next request at once. */
    atomic_fetch_sub_explicit(&http->accepted, 1, memory_order_relaxed);
    tri_http_response_end(&transfer->response);
    free_transfer(transfer);
}

static struct tri_http_queue *queue_of(struct tri_http_transfer *transfer)
{
    return transfer->is_held ? &transfer->http->held : &transfer->http->queue;
}

/*
 * Removes a transfer from its queue, and its handle from the multi handle, before either is freed:
 * curl would call on_body for a freed transfer.
 */
static void leave_queue(struct tri_http_transfer *transfer)
{
    struct tri_http *http = transfer->http;
    if (transfer->entry.is_active && transfer->easy.handle != NULL) {
        tri_curl_load()->multi_remove_handle(http->multi, transfer->easy.handle);
    }
    tri_http_queue_remove(queue_of(transfer), &transfer->entry);
}

static void take_out(struct tri_http_transfer *transfer)
{
    leave_queue(transfer);
    end_transfer(transfer);
}

static void fail_and_end(struct tri_http_transfer *transfer, enum tri_http_fault fault,
                         const char *words)
{
    fail(transfer, fault, words);
    end_transfer(transfer);
}

void tri_http_transfer_end(struct tri_http_transfer *transfer, enum tri_http_fault fault,
                           const char *words)
{
    fail(transfer, fault, words);
    take_out(transfer);
}

/* ---- What curl calls. ----------------------------------------------------------------------- */

/* Sets the entry's due time to the earlier timeout. */
static void set_due(struct tri_http_transfer *transfer)
{
    uint64_t idle_ms = transfer->idle_due_ms;
    uint64_t receiver_timeout_ms = transfer->receiver_due_ms;
    uint64_t due_ms = idle_ms == 0 || (receiver_timeout_ms != 0 && receiver_timeout_ms < idle_ms)
                          ? receiver_timeout_ms
                          : idle_ms;
    tri_http_queue_set_due(&transfer->http->queue, &transfer->entry, due_ms);
}

/* Restarts the server's idle timeout. */
static void expect_server(struct tri_http_transfer *transfer)
{
    uint32_t idle_ms = transfer->task->request.idle_timeout_ms;
    transfer->idle_due_ms = idle_ms != 0 ? tri_monotonic_ms() + idle_ms : 0;
    set_due(transfer);
}

/* Restarts the receiver's timeout: it consumed some bytes, or got the first unconsumed ones. */
static void expect_receiver(struct tri_http_transfer *transfer)
{
    bool is_expected =
        transfer->response.unconsumed_bytes > 0 && transfer->task->request.window_bytes > 0;
    transfer->receiver_due_ms =
        is_expected ? tri_monotonic_ms() + transfer->http->options.receiver_timeout_ms : 0;
    set_due(transfer);
}

/*
 * Pauses reading until the receiver has made room. The server's idle timeout does not run
 * meanwhile.
 */
static size_t hold_back(struct tri_http_transfer *transfer)
{
    transfer->is_paused = true;
    transfer->idle_due_ms = 0;
    set_due(transfer);
    return CURL_WRITEFUNC_PAUSE;
}

/* Any header restarts the server's idle timeout. */
static size_t on_header(char *data, size_t one, size_t size, void *self)
{
    struct tri_http_transfer *transfer = self;
    (void)one;
    expect_server(transfer);
    return tri_http_response_take_header(&transfer->response, data, size) ? size : 0;
}

/*
 * Called by curl with a part of the body. While the window is full reading pauses; curl keeps these
 * bytes and passes them again when reading resumes.
 */
static size_t on_body(char *data, size_t one, size_t size, void *self)
{
    struct tri_http_transfer *transfer = self;
    (void)one;
    if (tri_http_response_is_full(&transfer->response)) {
        return hold_back(transfer);
    }
    expect_server(transfer);
    if (!tri_http_response_take_body(&transfer->response, data, size)) {
        return CURL_WRITEFUNC_ERROR;
    }
    if (transfer->receiver_due_ms == 0) {
        expect_receiver(transfer);
    }
    return size;
}

/* ---- Beginning a transfer. ------------------------------------------------------------------ */

/* Deadline of the request on the monotonic clock; 0: none. */
static uint64_t deadline_ms_of(const struct tri_http_transfer *transfer)
{
    const struct tri_http_task *task = transfer->task;
    uint32_t timeout_ms = task->request.timeout_ms;
    return timeout_ms != 0 ? task->submitted_us / 1000 + timeout_ms : 0;
}

/* Remaining time of the request, less the time in the queue. 0: no deadline. */
static uint64_t left_ms_of(const struct tri_http_transfer *transfer)
{
    uint64_t deadline_ms = deadline_ms_of(transfer);
    uint64_t now_ms = tri_monotonic_ms();
    if (deadline_ms == 0) {
        return 0;
    }
    return deadline_ms > now_ms ? deadline_ms - now_ms : 1;
}

/*
 * False: no memory for a handle. The due time of the queue is replaced: from now on curl enforces
 * the deadline, and the entry's due time the two timeouts.
 */
static bool begin(struct tri_http_transfer *transfer)
{
    struct tri_http_callbacks callbacks = {
        .on_header = on_header, .on_body = on_body, .self = transfer};
    if (!tri_http_easy_init(&transfer->easy, transfer->task, &transfer->secret_lines, &callbacks,
                            left_ms_of(transfer))) {
        return false;
    }
    /* From now on curl enforces the deadline, and the queue the timeouts. */
    expect_server(transfer);
    return tri_curl_load()->multi_add_handle(transfer->http->multi, transfer->easy.handle) ==
           CURLM_OK;
}

void tri_http_transfer_begin(struct tri_http_transfer *transfer)
{
    if (!begin(transfer)) {
        tri_http_transfer_end(transfer, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
    }
}

/* ---- Queuing. -------------------------------------------------------------------------------- */

/* Queues a transfer for its host. It ends at once if its URL is invalid. */
static void join_queue(struct tri_http_transfer *transfer)
{
    struct tri_http *http = transfer->http;
    char buffer[TR_HTTP_URL_BYTES_MAX];
    struct tr_text host;
    transfer->is_held = false;
    if (!tri_http_easy_host(transfer->task->request.url.data, buffer, sizeof buffer, &host)) {
        fail_and_end(transfer, TRI_HTTP_INVALID, "the URL is neither http nor https");
    } else if (tri_http_queue_add(&http->queue, &transfer->entry, host) != 0) {
        fail_and_end(transfer, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
    } else {
        tri_http_queue_set_due(&http->queue, &transfer->entry, deadline_ms_of(transfer));
    }
}

/*
 * Resolves the secrets; the transfer waits in `held`, whose limits are 0, so it never begins from
 * there, but its deadline counts. It may end in here, so the caller must not touch it afterwards.
 */
static void ask_for_secrets(struct tri_http_transfer *transfer, uint64_t fresh_ms)
{
    struct tri_http *http = transfer->http;
    int error = tri_http_queue_add(&http->held, &transfer->entry, tr_text_of(""));
    if (error != 0) {
        fail_and_end(transfer, TRI_HTTP_MEMORY, tr_error_text(error));
        return;
    }
    transfer->is_held = true;
    tri_http_queue_set_due(&http->held, &transfer->entry, deadline_ms_of(transfer));
    error =
        tri_http_secrets_ask(http->secrets, &transfer->task->request, transfer->serial, fresh_ms);
    if (error != 0) {
        tri_http_transfer_end(transfer, error == TR_MEMORY ? TRI_HTTP_MEMORY : TRI_HTTP_SECRET,
                              tr_error_text(error));
    }
}

static bool is_same(const struct tri_buffer *a, const struct tri_buffer *b)
{
    size_t size = tri_buffer_size(a);
    return size == tri_buffer_size(b) &&
           (size == 0 || memcmp(tri_buffer_front(a), tri_buffer_front(b), size) == 0);
}

/*
 * The secrets are resolved, or not available. After a 401 the response stands unless the secrets
 * differ: sending the same ones would only fail again. The old lines go back with the task, which
 * overwrites them.
 */
void tri_http_transfer_use(struct tri_http_transfer *transfer, struct tri_http_task *found)
{
    bool is_no_news = found->has_failed || is_same(&found->found, &transfer->secret_lines);
    if (transfer->was_renewed && is_no_news) {
        take_out(transfer);
        return;
    }
    if (found->has_failed) {
        bool has_words = tri_buffer_size(&found->found) > 0;
        tri_http_transfer_end(transfer, TRI_HTTP_SECRET,
                              has_words ? (const char *)tri_buffer_front(&found->found)
                                        : tr_error_text(TR_MEMORY));
        return;
    }
    struct tri_buffer old = transfer->secret_lines;
    transfer->secret_lines = found->found;
    found->found = old; /* overwritten with the task */
    transfer->found_ms = tri_monotonic_ms();
    tri_http_response_reset(&transfer->response);
    leave_queue(transfer);
    join_queue(transfer);
}

/* Whether the server refused the credentials and they may have changed. */
static bool is_to_be_renewed(const struct tri_http_transfer *transfer)
{
    return transfer->response.status == 401 && transfer->response.fault == TRI_HTTP_NONE &&
           tri_http_has_secrets(&transfer->task->request) && !transfer->was_renewed;
}

/*
 * Sends the request once more with secrets resolved after the refused ones. A 401 means that the
 * request was not carried out, so this is safe for any method. The response is kept until the new
 * secrets are resolved.
 */
static void renew(struct tri_http_transfer *transfer)
{
    leave_queue(transfer);
    tri_http_easy_fini(&transfer->easy);
    transfer->was_renewed = true;
    ask_for_secrets(transfer, transfer->found_ms + 1);
}

/* Ends a request without a transfer, for want of memory. */
static void refuse_task(struct tri_http *http, struct tri_http_task *task)
{
    struct tri_http_response none = {.options = &http->options, .task = task};
    tri_http_response_fail(&none, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
    atomic_fetch_sub_explicit(&http->accepted, 1, memory_order_relaxed);
    tri_http_response_end(&none);
    tri_http_task_free(task);
}

void tri_http_transfer_take(struct tri_http *http, struct tri_http_task *task)
{
    struct tri_http_transfer *transfer = tr_alloc_zero(1, sizeof *transfer);
    if (transfer == NULL) {
        refuse_task(http, task);
        return;
    }
    transfer->http = http;
    transfer->task = task;
    transfer->serial = ++http->serial;
    transfer->response = (struct tri_http_response){.options = &http->options, .task = task};
    transfer->entry.id = task->request.id;
    if (tri_http_has_secrets(&task->request)) {
        ask_for_secrets(transfer, 0);
    } else {
        join_queue(transfer);
    }
}

/* ---- What becomes of it. -------------------------------------------------------------------- */

/*
 * Sets the fault of curl's result. If we stopped the transfer ourselves, a fault is set already,
 * and this one is dropped.
 */
static void note_result(struct tri_http_transfer *transfer, CURLcode code)
{
    if (code == CURLE_OK) {
        return;
    }
    const char *words;
    enum tri_http_fault fault = tri_http_easy_fault(&transfer->easy, code, &words);
    fail(transfer, fault, words);
}

/* The words for an expired transfer. */
static const char *words_of_delay(const struct tri_http_transfer *transfer, uint64_t now_ms)
{
    if (transfer->is_held) {
        return "its secrets were not found in time";
    }
    if (!transfer->entry.is_active) {
        return "it was not sent in time: too many requests are in progress to this host, or in all";
    }
    return transfer->idle_due_ms != 0 && transfer->idle_due_ms <= now_ms
               ? "no data arrived for too long (idle_timeout_ms)"
               : "the receiver consumed nothing for too long "
                 "(TR_HTTP_RECEIVER_TIMEOUT_MS)";
}

void tri_http_transfer_finish(struct tri_http_transfer *transfer, CURLcode code)
{
    note_result(transfer, code);
    transfer->response.retry_after_s = tri_http_easy_retry_after_s(&transfer->easy);
    if (is_to_be_renewed(transfer)) {
        renew(transfer);
    } else {
        take_out(transfer);
    }
}

void tri_http_transfer_expire(struct tri_http_transfer *transfer, uint64_t now_ms)
{
    tri_http_transfer_end(transfer, TRI_HTTP_TIMEOUT, words_of_delay(transfer, now_ms));
}

/*
 * Reading resumes when half of the window is free, so that it does not stop and resume with each
 * part. Excess bytes are ignored. easy_pause may call on_body before it returns, which may pause
 * again, so the flag is cleared before.
 */
void tri_http_transfer_give_room(struct tri_http_transfer *transfer, uint64_t bytes)
{
    uint64_t *unconsumed_bytes = &transfer->response.unconsumed_bytes;
    if (!transfer->entry.is_active) {
        return;
    }
    *unconsumed_bytes -= bytes < *unconsumed_bytes ? bytes : *unconsumed_bytes;
    expect_receiver(transfer);
    if (transfer->is_paused && *unconsumed_bytes <= transfer->task->request.window_bytes / 2) {
        transfer->is_paused = false;
        expect_server(transfer);
        /*
         * Curl passes the bytes it kept in this call; a failure is reported by the transfer's end.
         */
        (void)tri_curl_load()->easy_pause(transfer->easy.handle, CURLPAUSE_CONT);
    }
}
