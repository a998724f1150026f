/*
 * The http thread: takes requests from the inbox, lets them wait in line for their host, runs them
 * in one libcurl multi handle, and delivers what comes.
 *
 * This file and http_easy.c alone call libcurl (http_library.h loads it).
 */
#include "runtime/env/http.h"

#include <pthread.h>
#include <signal.h>

#include "runtime/env/clock.h"
#include "runtime/env/http_easy.h"
#include "runtime/env/http_line.h"
#include "runtime/env/http_response.h"
#include "runtime/memory.h"
#include "schemas/error.h"

/* The library; set before the first thread starts. */
static const struct tri_curl *curl;

struct tri_http {
    struct tri_http_options options;
    struct tri_http_inbox inbox;
    atomic_uint_fast32_t accepted; /* and not ended */
    atomic_bool is_stopping;
    CURLM *multi;
    struct tri_http_line line;
    pthread_t thread;
};

/* A request from the inbox to its end. */
struct transfer {
    struct tri_http_place place; /* must be first */
    struct tri_http *http;
    struct tri_http_task *task;
    struct tri_http_easy easy; /* without a handle while it waits */
    struct tri_http_response response;
};

/* ---- Ending a transfer. --------------------------------------------------------------------- */

static void fail(struct transfer *transfer, enum tri_http_fault fault, const char *words)
{
    tri_http_response_fail(&transfer->response, fault, words);
}

static void free_transfer(struct transfer *transfer)
{
    tri_http_easy_fini(&transfer->easy);
    tri_http_response_fini(&transfer->response);
    tri_http_task_free(transfer->task);
    tr_free(transfer);
}

/* Delivers the END. The transfer is in no line any more. */
static void end_transfer(struct transfer *transfer)
{
    struct tri_http *http = transfer->http;
    /* Whoever hears of the end may submit the next one at once. */
    atomic_fetch_sub_explicit(&http->accepted, 1, memory_order_relaxed);
    tri_http_response_end(&transfer->response);
    free_transfer(transfer);
}

/* Takes a transfer out of the line and of curl, and ends it. */
static void take_out(struct transfer *transfer)
{
    struct tri_http *http = transfer->http;
    if (transfer->place.is_active && transfer->easy.handle != NULL) {
        curl->multi_remove_handle(http->multi, transfer->easy.handle);
    }
    tri_http_line_remove(&http->line, &transfer->place);
    end_transfer(transfer);
}

/* ---- What curl calls. ----------------------------------------------------------------------- */

/* Something came: the time of patience begins anew. */
static void note_sign_of_life(struct transfer *transfer)
{
    uint32_t idle_ms = transfer->task->request.idle_timeout_ms;
    if (idle_ms != 0) {
        tri_http_line_set_due(&transfer->http->line, &transfer->place,
                              tri_monotonic_ms() + idle_ms);
    }
}

static size_t on_header(char *data, size_t one, size_t size, void *self)
{
    struct transfer *transfer = self;
    (void)one;
    note_sign_of_life(transfer);
    return tri_http_response_take_header(&transfer->response, data, size) ? size : 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *self)
{
    struct transfer *transfer = self;
    (void)one;
    note_sign_of_life(transfer);
    return tri_http_response_take_body(&transfer->response, data, size) ? size
                                                                        : CURL_WRITEFUNC_ERROR;
}

/* ---- Beginning a transfer. ------------------------------------------------------------------ */

/* When the request has to have ended, on the monotonic clock; 0: never. */
static uint64_t deadline_ms_of(const struct transfer *transfer)
{
    const struct tri_http_task *task = transfer->task;
    uint32_t timeout_ms = task->request.timeout_ms;
    return timeout_ms != 0 ? task->submitted_us / 1000 + timeout_ms : 0;
}

/* What is left of its time: what was spent waiting in line counts. 0: there is no end to it. */
static uint64_t left_ms_of(const struct transfer *transfer)
{
    uint64_t deadline_ms = deadline_ms_of(transfer);
    uint64_t now_ms = tri_monotonic_ms();
    if (deadline_ms == 0) {
        return 0;
    }
    return deadline_ms > now_ms ? deadline_ms - now_ms : 1;
}

/* Sends a request on its way; false where curl has no memory for it. */
static bool begin(struct transfer *transfer)
{
    struct tri_http_ears ears = {.on_header = on_header, .on_body = on_body, .self = transfer};
    if (!tri_http_easy_init(&transfer->easy, transfer->task, &ears, left_ms_of(transfer))) {
        return false;
    }
    /* From now on curl sees to the end, and the line to signs of life. */
    tri_http_line_set_due(&transfer->http->line, &transfer->place, 0);
    note_sign_of_life(transfer);
    return curl->multi_add_handle(transfer->http->multi, transfer->easy.handle) == CURLM_OK;
}

static void begin_waiting(struct tri_http *http)
{
    struct tri_http_place *place;
    while ((place = tri_http_line_next(&http->line)) != NULL) {
        struct transfer *transfer = (struct transfer *)place;
        if (!begin(transfer)) {
            fail(transfer, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
            take_out(transfer);
        }
    }
}

/* ---- What curl tells. ----------------------------------------------------------------------- */

/* What curl says is only news if we did not stop the transfer ourselves. */
static void note_result(struct transfer *transfer, CURLcode code)
{
    if (code == CURLE_OK) {
        return;
    }
    const char *words;
    enum tri_http_fault fault = tri_http_easy_fault(&transfer->easy, code, &words);
    fail(transfer, fault, words);
}

static void end_finished(struct tri_http *http)
{
    int left;
    CURLMsg *report;
    while ((report = curl->multi_info_read(http->multi, &left)) != NULL) {
        if (report->msg != CURLMSG_DONE) {
            continue;
        }
        struct transfer *transfer = NULL;
        CURLcode code = report->data.result; /* the report goes with the handle */
        curl->easy_getinfo(report->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        note_result(transfer, code);
        take_out(transfer);
    }
}

/* Ends who waited in line for too long, or from whose server nothing comes. */
static void end_expired(struct tri_http *http)
{
    struct tri_http_place *place;
    uint64_t now_ms = tri_monotonic_ms();
    while ((place = tri_http_line_expired(&http->line, now_ms)) != NULL) {
        struct transfer *transfer = (struct transfer *)place;
        fail(transfer, TRI_HTTP_TIMEOUT,
             place->is_active ? "nothing came for too long (idle_timeout_ms)"
                              : "its turn did not come: too many requests are under way to this "
                                "host, or in all");
        take_out(transfer);
    }
}

/* ---- Taking tasks. -------------------------------------------------------------------------- */

/* Without memory for a transfer there is still an END. */
static void refuse_task(struct tri_http *http, struct tri_http_task *task)
{
    struct tri_http_response none = {.options = &http->options, .task = task};
    tri_http_response_fail(&none, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
    atomic_fetch_sub_explicit(&http->accepted, 1, memory_order_relaxed);
    tri_http_response_end(&none);
    tri_http_task_free(task);
}

/* Puts a request into the line. It ends at once if its URL makes no sense. */
static void take_request(struct tri_http *http, struct tri_http_task *task)
{
    char buffer[TR_HTTP_URL_BYTES_MAX];
    struct tr_text host;
    struct transfer *transfer = tr_alloc_zero(1, sizeof *transfer);
    if (transfer == NULL) {
        refuse_task(http, task);
        return;
    }
    transfer->http = http;
    transfer->task = task;
    transfer->response = (struct tri_http_response){.options = &http->options, .task = task};
    transfer->place.id = task->request.id;
    if (!tri_http_easy_host(task->request.url.data, buffer, sizeof buffer, &host)) {
        fail(transfer, TRI_HTTP_INVALID, "the URL is none of http or https");
        end_transfer(transfer);
    } else if (tri_http_line_add(&http->line, &transfer->place, host) != 0) {
        fail(transfer, TRI_HTTP_MEMORY, tr_error_text(TR_MEMORY));
        end_transfer(transfer);
    } else {
        tri_http_line_set_due(&http->line, &transfer->place, deadline_ms_of(transfer));
    }
}

static void take_cancel(struct tri_http *http, struct tri_http_task *task)
{
    struct transfer *transfer =
        (struct transfer *)tri_http_line_find(&http->line, task->request.id);
    if (transfer != NULL) {
        fail(transfer, TRI_HTTP_CANCELLED, "cancelled");
        take_out(transfer);
    }
    tri_http_task_free(task);
}

static void take_tasks(struct tri_http *http)
{
    struct tri_http_task *task = tri_http_inbox_take(&http->inbox);
    while (task != NULL) {
        struct tri_http_task *next = task->next;
        if (task->is_cancel) {
            take_cancel(http, task);
        } else {
            take_request(http, task);
        }
        task = next;
    }
}

/* ---- The thread. ---------------------------------------------------------------------------- */

static int sleep_ms(const struct tri_http *http)
{
    uint64_t now_ms = tri_monotonic_ms();
    uint64_t due_ms = http->line.due_ms;
    if (due_ms == 0 || due_ms > now_ms + TR_HTTP_SLEEP_MS) {
        return TR_HTTP_SLEEP_MS;
    }
    return due_ms > now_ms ? (int)(due_ms - now_ms) : 0;
}

static void go_round(struct tri_http *http)
{
    int running;
    take_tasks(http);
    end_expired(http);
    begin_waiting(http);
    curl->multi_perform(http->multi, &running);
    end_finished(http);
    begin_waiting(http);
    curl->multi_poll(http->multi, NULL, 0, sleep_ms(http), NULL);
}

static void end_all(struct tri_http *http)
{
    struct tri_http_place *place;
    take_tasks(http);
    while ((place = tri_http_line_any(&http->line)) != NULL) {
        struct transfer *transfer = (struct transfer *)place;
        fail(transfer, TRI_HTTP_CLOSED, "the http thread was stopped");
        take_out(transfer);
    }
}

static void *run(void *self)
{
    struct tri_http *http = self;
    while (!atomic_load(&http->is_stopping)) {
        go_round(http);
    }
    end_all(http);
    return NULL;
}

/* Starts the thread with all signals blocked: they are for the program's other threads. */
static int start_thread(struct tri_http *http)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&http->thread, NULL, run, http);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number == 0) {
        (void)pthread_setname_np(http->thread, "troupe-http");
    }
    return number == 0 ? 0 : TR_SYSTEM;
}

static uint32_t given_or(uint32_t given, uint32_t otherwise)
{
    return given != 0 ? given : otherwise;
}

int tri_http_start(const struct tri_http_options *options, struct tri_http **http)
{
    if (curl == NULL) {
        curl = tri_curl_load();
    }
    if (curl == NULL || curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return TR_SYSTEM;
    }
    struct tri_http *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        curl->global_cleanup();
        return TR_MEMORY;
    }
    made->options = *options;
    made->options.requests_max = given_or(options->requests_max, TR_HTTP_REQUESTS_MAX);
    tri_http_line_init(&made->line, given_or(options->concurrent_max, TR_HTTP_CONCURRENT_MAX),
                       given_or(options->concurrent_per_host_max, TR_HTTP_CONCURRENT_PER_HOST_MAX));
    made->multi = curl->multi_init();
    int error = made->multi != NULL ? start_thread(made) : TR_MEMORY;
    if (error != 0) {
        curl->multi_cleanup(made->multi);
        tr_free(made);
        curl->global_cleanup();
        return error;
    }
    *http = made;
    return 0;
}

void tri_http_stop(struct tri_http *http)
{
    if (http == NULL) {
        return;
    }
    atomic_store(&http->is_stopping, true);
    curl->multi_wakeup(http->multi);
    pthread_join(http->thread, NULL);
    end_all(http); /* cancels that were handed over in the meantime */
    curl->multi_cleanup(http->multi);
    tr_free(http);
    curl->global_cleanup();
}

static void hand_over(struct tri_http *http, struct tri_http_task *task)
{
    if (tri_http_inbox_push(&http->inbox, task)) {
        curl->multi_wakeup(http->multi);
    }
}

int tri_http_submit(struct tri_http *http, const struct tri_http_request *request)
{
    struct tri_http_task *task;
    if (atomic_load(&http->is_stopping)) {
        return TR_CLOSED;
    }
    if (atomic_fetch_add_explicit(&http->accepted, 1, memory_order_relaxed) >=
        http->options.requests_max) {
        atomic_fetch_sub_explicit(&http->accepted, 1, memory_order_relaxed);
        return TR_BUSY;
    }
    int error = tri_http_task_new(request, &task);
    if (error != 0) {
        atomic_fetch_sub_explicit(&http->accepted, 1, memory_order_relaxed);
        return error;
    }
    task->submitted_us = tri_monotonic_us();
    hand_over(http, task);
    return 0;
}

int tri_http_cancel(struct tri_http *http, uint64_t id)
{
    struct tri_http_task *task = tr_alloc_zero(1, sizeof *task);
    if (task == NULL) {
        return TR_MEMORY;
    }
    task->is_cancel = true;
    task->request.id = id;
    hand_over(http, task);
    return 0;
}
