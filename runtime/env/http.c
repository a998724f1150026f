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
    bool is_paused;            /* nothing is read, since the receiver has enough in hand */
    uint64_t idle_due_ms;      /* when the server was silent for too long; 0: never */
    uint64_t patience_due_ms;  /* when the receiver was; 0: it has nothing in hand */
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

/* Has the line see to whichever comes first. */
static void set_due(struct transfer *transfer)
{
    uint64_t idle_ms = transfer->idle_due_ms;
    uint64_t patience_ms = transfer->patience_due_ms;
    uint64_t due_ms =
        idle_ms == 0 || (patience_ms != 0 && patience_ms < idle_ms) ? patience_ms : idle_ms;
    tri_http_line_set_due(&transfer->http->line, &transfer->place, due_ms);
}

/* The server said something, or is waited for again: its time begins anew. */
static void expect_server(struct transfer *transfer)
{
    uint32_t idle_ms = transfer->task->request.idle_timeout_ms;
    transfer->idle_due_ms = idle_ms != 0 ? tri_monotonic_ms() + idle_ms : 0;
    set_due(transfer);
}

/* The receiver took something, or was given something after he had nothing: his time begins. */
static void expect_receiver(struct transfer *transfer)
{
    bool is_expected = transfer->response.in_hand > 0 && transfer->task->request.window_bytes > 0;
    transfer->patience_due_ms =
        is_expected ? tri_monotonic_ms() + transfer->http->options.patience_ms : 0;
    set_due(transfer);
}

/* Nothing is read any more until the receiver has made room: no time of the server's. */
static size_t hold_back(struct transfer *transfer)
{
    transfer->is_paused = true;
    transfer->idle_due_ms = 0;
    set_due(transfer);
    return CURL_WRITEFUNC_PAUSE;
}

static size_t on_header(char *data, size_t one, size_t size, void *self)
{
    struct transfer *transfer = self;
    (void)one;
    expect_server(transfer);
    return tri_http_response_take_header(&transfer->response, data, size) ? size : 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *self)
{
    struct transfer *transfer = self;
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
    expect_server(transfer);
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

/* What is said of a transfer whose time is over. */
static const char *words_of_delay(const struct transfer *transfer, uint64_t now_ms)
{
    if (!transfer->place.is_active) {
        return "its turn did not come: too many requests are under way to this host, or in all";
    }
    return transfer->idle_due_ms != 0 && transfer->idle_due_ms <= now_ms
               ? "nothing came for too long (idle_timeout_ms)"
               : "nobody takes what comes: the receiver gave no room back for too long "
                 "(TR_HTTP_PATIENCE_MS)";
}

/* Ends who waited in line for too long, and where server or receiver is silent. */
static void end_expired(struct tri_http *http)
{
    struct tri_http_place *place;
    uint64_t now_ms = tri_monotonic_ms();
    while ((place = tri_http_line_expired(&http->line, now_ms)) != NULL) {
        struct transfer *transfer = (struct transfer *)place;
        fail(transfer, TRI_HTTP_TIMEOUT, words_of_delay(transfer, now_ms));
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

/* The receiver has taken something. Reading goes on when half of what he may have is free, so that
 * it does not stop and go with each part. */
static void take_room(struct tri_http *http, struct tri_http_task *task)
{
    struct transfer *transfer =
        (struct transfer *)tri_http_line_find(&http->line, task->request.id);
    if (transfer != NULL && transfer->place.is_active) {
        uint64_t *in_hand = &transfer->response.in_hand;
        *in_hand -= task->room_bytes < *in_hand ? task->room_bytes : *in_hand;
        expect_receiver(transfer);
        if (transfer->is_paused && *in_hand <= transfer->task->request.window_bytes / 2) {
            transfer->is_paused = false;
            expect_server(transfer);
            /* What it holds is taken in here; whether it goes well is told by its end. */
            (void)curl->easy_pause(transfer->easy.handle, CURLPAUSE_CONT);
        }
    }
    tri_http_task_free(task);
}

static void take_tasks(struct tri_http *http)
{
    static void (*const takers[])(struct tri_http * http, struct tri_http_task * task) = {
        [TRI_HTTP_TASK_REQUEST] = take_request,
        [TRI_HTTP_TASK_CANCEL] = take_cancel,
        [TRI_HTTP_TASK_ROOM] = take_room,
    };
    struct tri_http_task *task = tri_http_inbox_take(&http->inbox);
    while (task != NULL) {
        struct tri_http_task *next = task->next;
        takers[task->kind](http, task);
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
    made->options.patience_ms = given_or(options->patience_ms, TR_HTTP_PATIENCE_MS);
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

/* Hands over a word about a request. */
static int say_of(struct tri_http *http, uint64_t id, enum tri_http_task_kind kind,
                  uint64_t room_bytes)
{
    struct tri_http_task *task = tr_alloc_zero(1, sizeof *task);
    if (task == NULL) {
        return TR_MEMORY;
    }
    task->kind = kind;
    task->room_bytes = room_bytes;
    task->request.id = id;
    hand_over(http, task);
    return 0;
}

int tri_http_cancel(struct tri_http *http, uint64_t id)
{
    return say_of(http, id, TRI_HTTP_TASK_CANCEL, 0);
}

int tri_http_give_room(struct tri_http *http, uint64_t id, uint64_t bytes)
{
    return say_of(http, id, TRI_HTTP_TASK_ROOM, bytes);
}
