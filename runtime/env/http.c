/*
 * The http thread: takes requests from the inbox, lets them wait in line for their host, runs them
 * in one libcurl multi handle, and delivers what comes.
 *
 * This is the only file that calls libcurl (http_library.h loads it).
 */
#include "runtime/env/http.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "runtime/env/clock.h"
#include "runtime/env/http_library.h"
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
    CURL *easy; /* NULL while it waits */
    struct curl_slist *headers;
    struct tri_http_response response;
    char words[CURL_ERROR_SIZE]; /* curl's */
};

/* ---- Ending a transfer. --------------------------------------------------------------------- */

static void fail(struct transfer *transfer, enum tri_http_fault fault, const char *words)
{
    tri_http_response_fail(&transfer->response, fault, words);
}

static void free_transfer(struct transfer *transfer)
{
    if (transfer->easy != NULL) {
        curl->easy_cleanup(transfer->easy);
    }
    curl->slist_free_all(transfer->headers);
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
    if (transfer->place.is_active && transfer->easy != NULL) {
        curl->multi_remove_handle(http->multi, transfer->easy);
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

/* Adds a header to the list; false without memory. */
static bool add_header(struct transfer *transfer, const char *header)
{
    struct curl_slist *longer = curl->slist_append(transfer->headers, header);
    if (longer == NULL) {
        return false;
    }
    transfer->headers = longer;
    return true;
}

/* One of the request's headers. Curl takes "Name:" for the wish to leave it out, and "Name;" for a
 * header without a value. */
static bool add_own_header(struct transfer *transfer, struct tr_text header)
{
    const char *colon = memchr(header.data, ':', header.size);
    bool is_empty = colon[1 + strspn(colon + 1, " \t")] == '\0';
    if (!is_empty) {
        return add_header(transfer, header.data);
    }
    char *named = tr_text_copy(header);
    if (named == NULL) {
        return false;
    }
    named[colon - header.data] = ';';
    named[colon - header.data + 1] = '\0';
    bool is_added = add_header(transfer, named);
    tr_free(named);
    return is_added;
}

static bool set_headers(struct transfer *transfer)
{
    const struct tri_http_request *request = &transfer->task->request;
    bool has_type = false;
    bool is_set = add_header(transfer, "Expect:");
    for (size_t i = 0; i < request->header_count && is_set; i++) {
        is_set = add_own_header(transfer, request->headers[i]);
        has_type = has_type || strncasecmp(request->headers[i].data, "content-type:", 13) == 0;
    }
    if (!has_type) {
        /* Curl would call every body a form. */
        is_set = is_set && add_header(transfer, "Content-Type:");
    }
    curl->easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
    return is_set;
}

static void set_method(const struct transfer *transfer)
{
    const struct tri_http_request *request = &transfer->task->request;
    const char *method = request->method.data;
    CURL *easy = transfer->easy;
    if (strcmp(method, "GET") == 0 && request->body.size == 0) {
        curl->easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    if (strcmp(method, "HEAD") == 0) {
        curl->easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return;
    }
    bool has_body = request->body.size > 0 || strcmp(method, "POST") == 0 ||
                    strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
    if (has_body) {
        curl->easy_setopt(easy, CURLOPT_POST, 1L);
        curl->easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.data);
        curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    }
    if (strcmp(method, "POST") != 0) {
        curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    }
}

/* When the request has to have ended, on the monotonic clock; 0: never. */
static uint64_t deadline_ms_of(const struct transfer *transfer)
{
    const struct tri_http_task *task = transfer->task;
    uint32_t timeout_ms = task->request.timeout_ms;
    return timeout_ms != 0 ? task->submitted_us / 1000 + timeout_ms : 0;
}

/* The timeouts. What was spent waiting in line counts. */
static void set_timeouts(struct transfer *transfer)
{
    uint32_t connect_ms = transfer->task->request.connect_timeout_ms;
    uint64_t deadline_ms = deadline_ms_of(transfer);
    curl->easy_setopt(transfer->easy, CURLOPT_CONNECTTIMEOUT_MS,
                      (long)(connect_ms != 0 ? connect_ms : TR_HTTP_CONNECT_TIMEOUT_MS));
    if (deadline_ms != 0) {
        uint64_t now_ms = tri_monotonic_ms();
        uint64_t left_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 1;
        curl->easy_setopt(transfer->easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
    }
    /* From now on curl sees to the end, and the line to signs of life. */
    tri_http_line_set_due(&transfer->http->line, &transfer->place, 0);
    note_sign_of_life(transfer);
}

static void set_tls(const struct transfer *transfer)
{
    const struct tri_http_request *request = &transfer->task->request;
    CURL *easy = transfer->easy;
    if (request->ca_file.size > 0) {
        curl->easy_setopt(easy, CURLOPT_CAINFO, request->ca_file.data);
        curl->easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (request->client_certificate.size > 0) {
        curl->easy_setopt(easy, CURLOPT_SSLCERT, request->client_certificate.data);
    }
    if (request->client_key.size > 0) {
        curl->easy_setopt(easy, CURLOPT_SSLKEY, request->client_key.data);
    }
    if (request->is_insecure) {
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static void set_route(const struct transfer *transfer)
{
    static const long versions[] = {
        [TRI_HTTP_VERSION_1_OR_2] = CURL_HTTP_VERSION_2TLS,
        [TRI_HTTP_VERSION_1] = CURL_HTTP_VERSION_1_1,
        [TRI_HTTP_VERSION_2] = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE,
    };
    const struct tri_http_request *request = &transfer->task->request;
    CURL *easy = transfer->easy;
    curl->easy_setopt(easy, CURLOPT_URL, request->url.data);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_HTTP_VERSION, versions[request->version]);
    curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, request->redirects_max > 0 ? 1L : 0L);
    curl->easy_setopt(easy, CURLOPT_MAXREDIRS, (long)request->redirects_max);
    if (!request->is_proxied) {
        curl->easy_setopt(easy, CURLOPT_PROXY, "");
    }
}

static void set_callbacks(struct transfer *transfer)
{
    CURL *easy = transfer->easy;
    curl->easy_setopt(easy, CURLOPT_PRIVATE, (void *)transfer);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->words);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, (void *)transfer);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, (void *)transfer);
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_USERAGENT, "troupe");
}

/* Sends a request on its way; false where curl has no memory for it. */
static bool begin(struct transfer *transfer)
{
    transfer->easy = curl->easy_init();
    if (transfer->easy == NULL) {
        return false;
    }
    set_callbacks(transfer);
    set_route(transfer);
    set_method(transfer);
    set_timeouts(transfer);
    set_tls(transfer);
    return set_headers(transfer) &&
           curl->multi_add_handle(transfer->http->multi, transfer->easy) == CURLM_OK;
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

/* Which fault each of curl's results is; all others are PROTOCOL. */
static const struct {
    CURLcode code;
    enum tri_http_fault fault;
} faults[] = {
    {CURLE_COULDNT_RESOLVE_HOST, TRI_HTTP_RESOLVE}, {CURLE_COULDNT_RESOLVE_PROXY, TRI_HTTP_RESOLVE},
    {CURLE_COULDNT_CONNECT, TRI_HTTP_CONNECT},      {CURLE_INTERFACE_FAILED, TRI_HTTP_CONNECT},
    {CURLE_OPERATION_TIMEDOUT, TRI_HTTP_TIMEOUT},   {CURLE_SSL_CONNECT_ERROR, TRI_HTTP_TLS},
    {CURLE_SSL_ENGINE_NOTFOUND, TRI_HTTP_TLS},      {CURLE_SSL_ENGINE_SETFAILED, TRI_HTTP_TLS},
    {CURLE_SSL_CERTPROBLEM, TRI_HTTP_TLS},          {CURLE_SSL_CIPHER, TRI_HTTP_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, TRI_HTTP_TLS}, {CURLE_SSL_CACERT_BADFILE, TRI_HTTP_TLS},
    {CURLE_SSL_ISSUER_ERROR, TRI_HTTP_TLS},         {CURLE_SSL_CLIENTCERT, TRI_HTTP_TLS},
    {CURLE_FILESIZE_EXCEEDED, TRI_HTTP_TOO_LARGE},  {CURLE_OUT_OF_MEMORY, TRI_HTTP_MEMORY},
    {CURLE_URL_MALFORMAT, TRI_HTTP_INVALID},
};

/* What curl says is only news if we did not stop the transfer ourselves. */
static void note_result(struct transfer *transfer, CURLcode code)
{
    if (code == CURLE_OK) {
        return;
    }
    enum tri_http_fault fault = TRI_HTTP_PROTOCOL;
    for (size_t i = 0; i < TR_COUNT_OF(faults); i++) {
        if (faults[i].code == code) {
            fault = faults[i].fault;
        }
    }
    fail(transfer, fault, transfer->words[0] != '\0' ? transfer->words : curl->easy_strerror(code));
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

/* Scheme, host and port of a URL, in the caller's buffer. */
static bool find_host(const char *url, char *buffer, size_t size, struct tr_text *host)
{
    char *scheme = NULL;
    char *name = NULL;
    char *port = NULL;
    bool is_found = false;
    CURLU *parsed = curl->url();
    if (parsed != NULL && curl->url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl->url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl->url_get(parsed, CURLUPART_HOST, &name, 0) == CURLUE_OK &&
        curl->url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        int used = snprintf(buffer, size, "%s://%s:%s", scheme, name, port);
        bool is_http = strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0;
        is_found = is_http && used > 0 && (size_t)used < size;
        *host = tr_text_of(buffer);
    }
    curl->free(scheme);
    curl->free(name);
    curl->free(port);
    curl->url_cleanup(parsed);
    return is_found;
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
    if (!find_host(task->request.url.data, buffer, sizeof buffer, &host)) {
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
