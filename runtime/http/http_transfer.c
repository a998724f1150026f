/*
 * A transfer from the inbox to its END: what it waits for, and what ends it.
 *
 * While it is under way two are waited for: the server, for idle_timeout_ms, and the receiver of a
 * stream, for patience_ms. One that is not expected to do anything has all the time there is:
 * nothing is read while the receiver has enough in hand, and that is no idle time of the server's.
 *
 * A transfer is in one of two lines at any time: `held` while its secrets are looked for, else
 * `queue`. It leaves its queue before its END is delivered, and is freed after it. Only take_out and
 * fail_and_end lead there, so there is exactly one END.
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
 * Delivers the END and frees the transfer. It is in no queue any more and is counted out before, so
 * the receiver may submit the next request at once, also with the same id.
 */
static void end_transfer(struct tri_http_transfer *transfer)
{
    struct tri_http *http = transfer->http;
    /* The caller that hears of the end may submit the next one at once. */
    atomic_fetch_sub_explicit(&http->accepted, 1, memory_order_relaxed);
    tri_http_response_end(&transfer->response);
    free_transfer(transfer);
}

static struct tri_http_queue *queue_of(struct tri_http_transfer *transfer)
{
    return transfer->is_held ? &transfer->http->held : &transfer->http->queue;
}

/*
 * Takes a transfer out of its queue, and its handle out of the multi handle, before either is freed:
 * curl would call on_body for a transfer that is gone.
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

/* Has the queue see to whichever comes first. */
static void set_due(struct tri_http_transfer *transfer)
{
    uint64_t idle_ms = transfer->idle_due_ms;
    uint64_t patience_ms = transfer->patience_due_ms;
    uint64_t due_ms =
        idle_ms == 0 || (patience_ms != 0 && patience_ms < idle_ms) ? patience_ms : idle_ms;
    tri_http_queue_set_due(&transfer->http->queue, &transfer->entry, due_ms);
}

/* The server said something, or is waited for again: its time begins anew. */
static void expect_server(struct tri_http_transfer *transfer)
{
    uint32_t idle_ms = transfer->task->request.idle_timeout_ms;
    transfer->idle_due_ms = idle_ms != 0 ? tri_monotonic_ms() + idle_ms : 0;
    set_due(transfer);
}

/* The receiver took something, or was given something after he had nothing: his time begins. */
static void expect_receiver(struct tri_http_transfer *transfer)
{
    bool is_expected = transfer->response.in_hand > 0 && transfer->task->request.window_bytes > 0;
    transfer->patience_due_ms =
        is_expected ? tri_monotonic_ms() + transfer->http->options.patience_ms : 0;
    set_due(transfer);
}

/*
 * Pauses reading until the receiver has made room. The server's idle time does not run meanwhile.
 */
static size_t hold_back(struct tri_http_transfer *transfer)
{
    transfer->is_paused = true;
    transfer->idle_due_ms = 0;
    set_due(transfer);
    return CURL_WRITEFUNC_PAUSE;
}

/* Any header is a sign of life of the server. */
static size_t on_header(char *data, size_t one, size_t size, void *self)
{
    struct tri_http_transfer *transfer = self;
    (void)one;
    expect_server(transfer);
    return tri_http_response_take_header(&transfer->response, data, size) ? size : 0;
}

/* Called by curl with some of the body. A receiver that has its window full holds the server back;
 * curl keeps these bytes and gives them again when reading goes on. */
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
    if (transfer->patience_due_ms == 0) {
        expect_receiver(transfer);
    }
    return size;
}

/* ---- Beginning a transfer. ------------------------------------------------------------------ */

/* When the request has to have ended, on the monotonic clock; 0: never. */
static uint64_t deadline_ms_of(const struct tri_http_transfer *transfer)
{
    const struct tri_http_task *task = transfer->task;
    uint32_t timeout_ms = task->request.timeout_ms;
    return timeout_ms != 0 ? task->submitted_us / 1000 + timeout_ms : 0;
}

/* What is left of its time: what was spent waiting in queue counts. 0: there is no end to it. */
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
 * False: curl has no memory for it. The due time of waiting in queue is replaced: from here on curl
 * sees to the whole time of the request, and the queue to signs of life.
 */
static bool begin(struct tri_http_transfer *transfer)
{
    struct tri_http_ears ears = {.on_header = on_header, .on_body = on_body, .self = transfer};
    if (!tri_http_easy_init(&transfer->easy, transfer->task, &transfer->secret_lines, &ears,
                            left_ms_of(transfer))) {
        return false;
    }
    /* From now on curl sees to the end, and the queue to signs of life. */
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

/* ---- Getting in queue. ----------------------------------------------------------------------- */

/* Puts a transfer into the queue for its host. It ends at once if its URL makes no sense. */
static void join_queue(struct tri_http_transfer *transfer)
{
    struct tri_http *http = transfer->http;
    char buffer[TR_HTTP_URL_BYTES_MAX];
    struct tr_text host;
    transfer->is_held = false;
    if (!tri_http_easy_host(transfer->task->request.url.data, buffer, sizeof buffer, &host)) {
        fail_and_end(transfer, TRI_HTTP_INVALID, "the URL is none of http or https");
    } else if (tri_http_queue_add(&http->queue, &transfer->entry, host) != 0) {
        fail_and_end(transfer, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
    } else {
        tri_http_queue_set_due(&http->queue, &transfer->entry, deadline_ms_of(transfer));
    }
}

/*
 * Asks for the secrets; the transfer waits in `held`, whose limits are 0, so its turn never comes
 * there, but its deadline counts. It may end in here, so the caller does not touch it afterwards.
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
 * The secrets are there, or cannot be had. Where the server has refused others, its answer 401
 * stands unless these are different: sending the same again would only get it again. The old lines
 * go back with the task, which overwrites them.
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
    found->found = old; /* and is overwritten with it */
    transfer->found_ms = tri_monotonic_ms();
    tri_http_response_reset(&transfer->response);
    leave_queue(transfer);
    join_queue(transfer);
}

/* The server refuses the credentials: perhaps the secrets are others by now. */
static bool is_to_be_renewed(const struct tri_http_transfer *transfer)
{
    return transfer->response.status == 401 && transfer->response.fault == TRI_HTTP_NONE &&
           transfer->task->request.secret_count > 0 && !transfer->was_renewed;
}

/*
 * Sends the request once more with secrets that were found after the ones that the server refused.
 * A 401 means that it was not carried out, so this is safe for any method. The response is kept
 * until new secrets are there.
 */
static void renew(struct tri_http_transfer *transfer)
{
    leave_queue(transfer);
    tri_http_easy_fini(&transfer->easy);
    transfer->was_renewed = true;
    ask_for_secrets(transfer, transfer->found_ms + 1);
}

/* Without memory for a transfer there is still an END. */
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
    if (task->request.secret_count > 0) {
        ask_for_secrets(transfer, 0);
    } else {
        join_queue(transfer);
    }
}

/* ---- What becomes of it. -------------------------------------------------------------------- */

/*
 * The fault of curl's result. Where we stopped the transfer ourselves a fault is noted already, and
 * this one is dropped.
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

/* What is said of a transfer whose time is over. */
static const char *words_of_delay(const struct tri_http_transfer *transfer, uint64_t now_ms)
{
    if (transfer->is_held) {
        return "its secrets were not found in time";
    }
    if (!transfer->entry.is_active) {
        return "its turn did not come: too many requests are under way to this host, or in all";
    }
    return transfer->idle_due_ms != 0 && transfer->idle_due_ms <= now_ms
               ? "nothing came for too long (idle_timeout_ms)"
               : "nobody takes what comes: the receiver gave no room back for too long "
                 "(TR_HTTP_PATIENCE_MS)";
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
 * Reading goes on when half of the window is free, so that it does not stop and go with each part.
 * More than was delivered is passed over. easy_pause may call on_body before it returns, which may
 * pause again, so the flag is cleared before.
 */
void tri_http_transfer_give_room(struct tri_http_transfer *transfer, uint64_t bytes)
{
    uint64_t *in_hand = &transfer->response.in_hand;
    if (!transfer->entry.is_active) {
        return;
    }
    *in_hand -= bytes < *in_hand ? bytes : *in_hand;
    expect_receiver(transfer);
    if (transfer->is_paused && *in_hand <= transfer->task->request.window_bytes / 2) {
        transfer->is_paused = false;
        expect_server(transfer);
        /* What it holds is taken in here; whether it goes well is told by its end. */
        (void)tri_curl_load()->easy_pause(transfer->easy.handle, CURLPAUSE_CONT);
    }
}
