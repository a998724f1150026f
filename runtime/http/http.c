/*
 * The http thread: takes requests from the inbox, queues them by host, runs them in one libcurl
 * multi handle, and delivers their results.
 *
 * Each round takes the tasks first, then ends expired requests, begins queued ones, lets curl work,
 * ends what curl has finished, and begins requests whose place is free now. It sleeps in multi_poll
 * until a socket is ready, a timeout is due, or a task is pushed. multi_wakeup also wakes the next
 * multi_poll, so no task is left waiting. Only this file, http_transfer.c and http_easy.c call
 * libcurl (http_library.h loads it).
 */
#include "runtime/http/http.h"

#include <pthread.h>

#include "runtime/env/clock.h"
#include "runtime/env/thread.h"
#include "runtime/http/http_transfer.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* libcurl; set before the first thread starts. */
static const struct tri_curl *curl;

/* ---- What curl tells. ----------------------------------------------------------------------- */

/* Whether requests have to wait, whoever they are for. */
static bool is_shut(const struct tri_http *http)
{
    return http->options.may_begin != NULL && !http->options.may_begin(http->options.gate);
}

static void begin_waiting(struct tri_http *http)
{
    struct tri_http_entry *entry;
    if (is_shut(http)) {
        return;
    }
    while ((entry = tri_http_queue_next(&http->queue)) != NULL) {
        tri_http_transfer_begin((struct tri_http_transfer *)entry);
    }
}

/* The result is copied first: ending a transfer removes its handle, which frees the report. */
static void end_finished(struct tri_http *http)
{
    int left;
    CURLMsg *report;
    while ((report = curl->multi_info_read(http->multi, &left)) != NULL) {
        if (report->msg != CURLMSG_DONE) {
            continue;
        }
        struct tri_http_transfer *transfer = NULL;
        CURLcode code = report->data.result; /* the report is freed with the handle */
        curl->easy_getinfo(report->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        tri_http_transfer_finish(transfer, code);
    }
}

/*
 * Ends expired transfers: in a queue, or if the server or the receiver is silent. Ending one calls
 * the receiver, which may submit and cancel; that only fills the inbox, so the queue does not
 * change under this loop.
 */
static void end_expired(struct tri_http_queue *queue)
{
    struct tri_http_entry *entry;
    uint64_t now_ms = tri_monotonic_ms();
    while ((entry = tri_http_queue_expired(queue, now_ms)) != NULL) {
        tri_http_transfer_expire((struct tri_http_transfer *)entry, now_ms);
    }
}

/* ---- Taking tasks. -------------------------------------------------------------------------- */

/* The transfer of a task, in either queue, or NULL. */
static struct tri_http_transfer *find(const struct tri_http *http, const struct tri_http_task *task)
{
    struct tri_http_entry *entry = tri_http_queue_find(&http->queue, task->request.id);
    entry = entry != NULL ? entry : tri_http_queue_find(&http->held, task->request.id);
    return (struct tri_http_transfer *)entry;
}

static void take_cancel(struct tri_http *http, struct tri_http_task *task)
{
    struct tri_http_transfer *transfer = find(http, task);
    if (transfer != NULL) {
        tri_http_transfer_end(transfer, TRI_HTTP_CANCELLED, "cancelled");
    }
    tri_http_task_free(task);
}

static void take_room(struct tri_http *http, struct tri_http_task *task)
{
    struct tri_http_transfer *transfer = find(http, task);
    if (transfer != NULL) {
        tri_http_transfer_give_room(transfer, task->room_bytes);
    }
    tri_http_task_free(task);
}

/*
 * Resolved secrets. The serial distinguishes them from those of an earlier request with the same
 * id, which may have been cancelled.
 */
static void take_found(struct tri_http *http, struct tri_http_task *task)
{
    struct tri_http_transfer *transfer = find(http, task);
    if (transfer != NULL && transfer->is_held && transfer->serial == task->serial) {
        tri_http_transfer_use(transfer, task);
    }
    tri_http_task_free(task);
}

/* Handles all tasks in order of submission, so a cancel never overtakes its request. */
static void take_tasks(struct tri_http *http)
{
    static void (*const takers[])(struct tri_http * http, struct tri_http_task * task) = {
        [TRI_HTTP_TASK_REQUEST] = tri_http_transfer_take,
        [TRI_HTTP_TASK_CANCEL] = take_cancel,
        [TRI_HTTP_TASK_ROOM] = take_room,
        [TRI_HTTP_TASK_FOUND] = take_found,
    };
    struct tri_http_task *task = tri_http_inbox_take(&http->inbox);
    while (task != NULL) {
        struct tri_http_task *next = task->next;
        takers[task->kind](http, task);
        task = next;
    }
}

/* ---- The thread. ---------------------------------------------------------------------------- */

/* Until the first timeout of either queue. curl shortens the sleep for its own timers. */
static int sleep_ms(const struct tri_http *http)
{
    uint64_t now_ms = tri_monotonic_ms();
    uint64_t held_ms = http->held.due_ms;
    uint64_t due_ms = http->queue.due_ms;
    due_ms = due_ms == 0 || (held_ms != 0 && held_ms < due_ms) ? held_ms : due_ms;
    int longest_ms = is_shut(http) ? TR_HTTP_SHUT_MS : TR_HTTP_SLEEP_MS;
    if (due_ms == 0 || due_ms > now_ms + (uint64_t)longest_ms) {
        return longest_ms;
    }
    return due_ms > now_ms ? (int)(due_ms - now_ms) : 0;
}

static void go_round(struct tri_http *http)
{
    int running;
    take_tasks(http);
    end_expired(&http->queue);
    end_expired(&http->held);
    begin_waiting(http);
    curl->multi_perform(http->multi, &running);
    end_finished(http);
    begin_waiting(http);
    curl->multi_poll(http->multi, NULL, 0, sleep_ms(http), NULL);
}

static void end_queue(const struct tri_http_queue *queue)
{
    struct tri_http_entry *entry;
    while ((entry = tri_http_queue_any(queue)) != NULL) {
        tri_http_transfer_end((struct tri_http_transfer *)entry, TRI_HTTP_CLOSED,
                              "the http thread was stopped");
    }
}

/* Tasks first: a request that was accepted and not taken yet must get its END, too. */
static void end_all(struct tri_http *http)
{
    take_tasks(http);
    end_queue(&http->queue);
    end_queue(&http->held);
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

/* Pushes a task. If the list was not empty, the push that found it empty has sent a wakeup. */
static void push_task(struct tri_http *http, struct tri_http_task *task)
{
    if (tri_http_inbox_push(&http->inbox, task)) {
        curl->multi_wakeup(http->multi);
    }
}

/* Called by the threads that resolve secrets. */
static void on_found(void *self, struct tri_http_task *task)
{
    push_task(self, task);
}

const char *tri_http_start_words(int error)
{
    return error == TR_SYSTEM && curl == NULL
               ? "libcurl.so.4 is not there, or too old; install the package libcurl4"
               : tr_error_text(error);
}

int tri_http_fault_error(enum tri_http_fault fault)
{
    static const int errors[] = {
        [TRI_HTTP_INVALID] = TR_INVALID, [TRI_HTTP_TOO_LARGE] = TR_LIMIT,
        [TRI_HTTP_MEMORY] = TR_MEMORY,   [TRI_HTTP_CLOSED] = TR_CLOSED,
        [TRI_HTTP_SECRET] = TR_DENIED,
    };
    bool is_known = fault < TR_COUNT_OF(errors) && errors[fault] != 0;
    return is_known ? errors[fault] : TR_NO_CONNECTION;
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
    made->options.receiver_timeout_ms =
        given_or(options->receiver_timeout_ms, TR_HTTP_RECEIVER_TIMEOUT_MS);
    tri_http_queue_init(
        &made->queue, given_or(options->concurrent_max, TR_HTTP_CONCURRENT_MAX),
        given_or(options->concurrent_per_host_max, TR_HTTP_CONCURRENT_PER_HOST_MAX));
    tri_http_queue_init(&made->held, 0, 0);
    made->multi = curl->multi_init();
    int error = made->multi != NULL ? 0 : TR_MEMORY;
    if (error == 0) {
        error = tri_http_secrets_new(options->secret_sources, options->secret_source_count,
                                     on_found, made, &made->secrets);
    }
    if (error == 0) {
        error = tri_thread_start("troupe-http", run, made, &made->thread);
    }
    if (error != 0) {
        tri_http_secrets_free(made->secrets);
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
    tri_http_secrets_free(http->secrets);
    end_all(http); /* tasks pushed in the meantime */
    curl->multi_cleanup(http->multi);
    tr_free(http);
    curl->global_cleanup();
}

/*
 * The request is counted before it is copied, so that threads that submit at the same time cannot
 * exceed requests_max together. Relaxed order is enough: the counter guards no other memory.
 */
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
    push_task(http, task);
    return 0;
}

/* Pushes a task about a submitted request. */
static int push_about(struct tri_http *http, uint64_t id, enum tri_http_task_kind kind,
                      uint64_t room_bytes)
{
    struct tri_http_task *task = tr_alloc_zero(1, sizeof *task);
    if (task == NULL) {
        return TR_MEMORY;
    }
    task->kind = kind;
    task->room_bytes = room_bytes;
    task->request.id = id;
    push_task(http, task);
    return 0;
}

int tri_http_cancel(struct tri_http *http, uint64_t id)
{
    return push_about(http, id, TRI_HTTP_TASK_CANCEL, 0);
}

int tri_http_give_room(struct tri_http *http, uint64_t id, uint64_t bytes)
{
    return push_about(http, id, TRI_HTTP_TASK_ROOM, bytes);
}
