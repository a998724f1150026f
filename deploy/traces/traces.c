/*
 * One thread: it waits until something was committed, looks which executions have ended since it
 * last looked, and sends one after the other. Nothing of it is on the way of an actor: it reads as
 * a command beside the engine does, and waits for the collector alone.
 *
 * An execution is sent once per engine. Ends are read in their order, and only those that lie a
 * moment back: by then no earlier one can come any more, so that one time is enough to know where
 * to go on.
 */
#include "deploy/traces/traces.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/history/changes.h"
#include "deploy/history/executions.h"
#include "deploy/traces/spans.h"
#include "runtime/env/thread.h"
#include "runtime/http/http.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define URL_BYTES 2048
#define FAULT_BYTES 256
#define ANSWER_BYTES_MAX (64U << 10)

/* What became of a request. */
enum outcome { WAITING, ACCEPTED, AGAIN, REFUSED };

struct ended {
    uint64_t execution;
    uint64_t ended_ms;
};

struct tr_traces {
    struct tr_traces_options options;
    char url[URL_BYTES];
    struct tri_http *http;
    struct tr_reader *reader;
    int changes;
    int wake; /* an eventfd: an answer, or the end */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_stopping;

    /* Of the thread. */
    uint64_t cursor_ms; /* what ended until then was looked at */
    struct ended *ended;
    size_t first; /* the oldest of `count` in the ring */
    size_t count;
    uint64_t left_out;
    bool is_away; /* the last request was not answered as it should */

    pthread_mutex_t mutex; /* of what follows */
    uint64_t number;       /* of the last request */
    enum outcome outcome;
    uint32_t retry_after_s;
    char fault[FAULT_BYTES];
};

/* --------------------------------------------------------------------------- an answer */

/* 429 and what says that it is a matter of time, by OTLP/HTTP. */
static enum outcome outcome_of(const struct tri_http_event *event)
{
    bool is_later = event->status == 429 || event->status == 502 || event->status == 503 ||
                    event->status == 504;
    if (event->fault != TRI_HTTP_NONE) {
        return event->fault == TRI_HTTP_INVALID ? REFUSED : AGAIN;
    }
    return event->status >= 200 && event->status < 300 ? ACCEPTED : is_later ? AGAIN : REFUSED;
}

/* On the thread of HTTP. */
static void deliver(void *self, const struct tri_http_event *event)
{
    struct tr_traces *traces = self;
    uint64_t one = 1;
    if (event->kind != TRI_HTTP_END) {
        return;
    }
    pthread_mutex_lock(&traces->mutex);
    if (event->id == traces->number) {
        traces->outcome = outcome_of(event);
        traces->retry_after_s = event->retry_after_s;
        if (event->fault != TRI_HTTP_NONE) {
            (void)snprintf(traces->fault, sizeof traces->fault, "no answer (%s)",
                           tri_http_fault_name(event->fault));
        } else {
            (void)snprintf(traces->fault, sizeof traces->fault, "the answer is HTTP %u",
                           event->status);
        }
    }
    pthread_mutex_unlock(&traces->mutex);
    (void)!write(traces->wake, &one, sizeof one);
}

/* ---------------------------------------------------------------------------- sending */

static void rest(struct tr_traces *traces, uint64_t wait_ms, bool hears_changes)
{
    struct pollfd wanted[] = {{.fd = traces->wake, .events = POLLIN},
                              {.fd = hears_changes ? traces->changes : -1, .events = POLLIN}};
    uint64_t count;
    (void)poll(wanted, TR_COUNT_OF(wanted), wait_ms > INT32_MAX ? -1 : (int)wait_ms);
    (void)!read(traces->wake, &count, sizeof count);
    if (wanted[1].revents != 0) {
        tr_changes_take(traces->changes);
    }
}

/* What the collector is told of who sends. */
static size_t secret_of(const struct tr_traces *traces, struct tr_http_secret *secret)
{
    const struct tr_traces_options *options = &traces->options;
    bool is_basic = options->authorization == TR_WEBAPI_AUTHORIZATION_BASIC;
    if (options->authorization == TR_WEBAPI_AUTHORIZATION_NONE) {
        return 0;
    }
    *secret =
        (struct tr_http_secret){.kind = is_basic ? TR_HTTP_SECRET_BASIC : TR_HTTP_SECRET_PLAIN,
                                .header = tr_text_of("Authorization"),
                                .prefix = tr_text_of(is_basic ? "" : "Bearer "),
                                .group = options->secret.group,
                                .key = options->secret.key,
                                .version = options->secret.version};
    return 1;
}

/* Sends a document and waits for what becomes of it; stopped meanwhile it is AGAIN. */
static enum outcome ask(struct tr_traces *traces, struct tr_bytes document)
{
    struct tr_text type = tr_text_of("Content-Type: application/json");
    struct tr_http_secret secret;
    size_t secrets = secret_of(traces, &secret);
    pthread_mutex_lock(&traces->mutex);
    traces->outcome = WAITING;
    traces->retry_after_s = 0;
    const char *ca_file = traces->options.ca_file;
    const struct tri_http_request request = {
        .id = ++traces->number,
        .method = tr_text_of("POST"),
        .url = tr_text_of(traces->url),
        .headers = &type,
        .header_count = 1,
        .secrets = secrets > 0 ? &secret : NULL,
        .secret_count = secrets,
        .body = document,
        .timeout_ms = TR_TRACES_TIMEOUT_MS,
        .response_bytes_max = ANSWER_BYTES_MAX,
        .ca_file = tr_text_of(ca_file == NULL ? "" : ca_file),
        .is_proxied = true,
    };
    pthread_mutex_unlock(&traces->mutex);
    int error = tri_http_submit(traces->http, &request);
    enum outcome outcome = error == 0 ? WAITING : AGAIN;
    while (outcome == WAITING && !atomic_load(&traces->is_stopping)) {
        rest(traces, UINT64_MAX, false);
        pthread_mutex_lock(&traces->mutex);
        outcome = traces->outcome;
        pthread_mutex_unlock(&traces->mutex);
    }
    return outcome == WAITING ? AGAIN : outcome;
}

TR_PRINTF(2, 3)
static void warn(const struct tr_traces *traces, const char *format, ...)
{
    char words[URL_BYTES + 2 * FAULT_BYTES];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(words, sizeof words, format, values);
    va_end(values);
    traces->options.warn(traces->options.self, words);
}

/* Says so once, until something is answered again. */
static void note_away(struct tr_traces *traces)
{
    char fault[FAULT_BYTES];
    pthread_mutex_lock(&traces->mutex);
    memcpy(fault, traces->fault, sizeof fault);
    pthread_mutex_unlock(&traces->mutex);
    if (!traces->is_away) {
        traces->is_away = true;
        warn(traces, "traces cannot be sent to %s: %s; they are tried again", traces->url, fault);
    }
}

/* How long until the next try: what the collector says, or twice as long each time. */
static uint64_t wait_of(struct tr_traces *traces, uint32_t tries)
{
    uint64_t wait_ms = TR_TRACES_RETRY_MS;
    for (uint32_t i = 1; i < tries && wait_ms < TR_TRACES_RETRY_MS_MAX; i++) {
        wait_ms *= 2;
    }
    pthread_mutex_lock(&traces->mutex);
    uint64_t asked_ms = 1000 * (uint64_t)traces->retry_after_s;
    pthread_mutex_unlock(&traces->mutex);
    wait_ms = asked_ms > 0 ? asked_ms : wait_ms;
    return wait_ms < TR_TRACES_RETRY_MS_MAX ? wait_ms : TR_TRACES_RETRY_MS_MAX;
}

/* For tr_spans_send. TR_CLOSED: being stopped; TR_TIMEOUT, TR_INVALID: it is lost. */
static int send_document(void *self, struct tr_bytes document)
{
    struct tr_traces *traces = self;
    uint64_t begin_ms = tr_clock_ms();
    for (uint32_t tries = 1;; tries++) {
        enum outcome outcome = ask(traces, document);
        if (atomic_load(&traces->is_stopping)) {
            return TR_CLOSED;
        }
        if (outcome == ACCEPTED) {
            traces->is_away = false;
            return 0;
        }
        if (outcome == REFUSED) {
            return TR_INVALID;
        }
        note_away(traces);
        uint64_t until_ms = tr_clock_ms() + wait_of(traces, tries);
        if (until_ms >= begin_ms + TR_TRACES_GIVE_UP_MS) {
            return TR_TIMEOUT;
        }
        for (uint64_t now_ms = tr_clock_ms();
             now_ms < until_ms && !atomic_load(&traces->is_stopping); now_ms = tr_clock_ms()) {
            rest(traces, until_ms - now_ms, false);
        }
    }
}

static void send_one(struct tr_traces *traces, uint64_t execution)
{
    const struct tr_spans_request request = {.reader = traces->reader,
                                             .store = traces->options.store,
                                             .service = traces->options.service,
                                             .execution = execution,
                                             .left_out = &traces->left_out};
    int error = tr_reader_refresh(traces->reader);
    if (error == 0) {
        error = tr_spans_send(&request, send_document, traces);
    }
    if (error == 0) {
        atomic_fetch_add(traces->options.sent, 1);
    } else if (error != TR_NOT_FOUND && error != TR_CLOSED) {
        uint64_t lost = atomic_fetch_add(traces->options.lost, 1) + 1;
        pthread_mutex_lock(&traces->mutex);
        char fault[FAULT_BYTES];
        memcpy(fault, traces->fault, sizeof fault);
        pthread_mutex_unlock(&traces->mutex);
        bool is_theirs = error == TR_INVALID || error == TR_TIMEOUT;
        warn(traces, "the trace of an execution is lost, %" PRIu64 " so far: %s%s%s", lost,
             is_theirs ? traces->url : "", is_theirs ? ": " : "",
             is_theirs ? fault : tr_error_text(error));
    }
}

/* ---------------------------------------------------------------------------- looking */

/* Keeps the latest; the oldest beyond the bound are lost. */
static int take_ended(void *self, const void *value)
{
    struct tr_traces *traces = self;
    const struct tr_execution *row = value;
    if (traces->count == TR_TRACES_WAITING_MAX) {
        traces->first = (traces->first + 1) % TR_TRACES_WAITING_MAX;
        traces->count--;
        atomic_fetch_add(traces->options.lost, 1);
    }
    size_t at = (traces->first + traces->count++) % TR_TRACES_WAITING_MAX;
    traces->ended[at] = (struct ended){.execution = row->execution, .ended_ms = row->ended_ms};
    return 0;
}

/* Looks at what has ended until a moment ago. */
static int look(struct tr_traces *traces)
{
    uint64_t until_ms = tr_clock_wall_ms() - TR_TRACES_SETTLED_MS;
    struct tr_reader_filter filters[] = {
        tr_filter_number("ended_ms", TR_FILTER_GREATER, traces->cursor_ms),
        tr_filter_number("ended_ms", TR_FILTER_LESS_EQUAL, until_ms),
    };
    struct tr_reader_query query = {.record = &tr_execution_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters),
                                    .order = {{.field = "ended_ms"}}};
    int error = tr_reader_refresh(traces->reader);
    if (error == 0) {
        error = tr_reader_rows(traces->reader, &query, take_ended, traces);
    }
    tr_reader_release(traces->reader);
    if (error == 0 && until_ms > traces->cursor_ms) {
        traces->cursor_ms = until_ms;
    }
    return error;
}

static void send_all(struct tr_traces *traces)
{
    while (traces->count > 0 && !atomic_load(&traces->is_stopping)) {
        uint64_t execution = traces->ended[traces->first].execution;
        traces->first = (traces->first + 1) % TR_TRACES_WAITING_MAX;
        traces->count--;
        send_one(traces, execution);
    }
}

/*
 * Something that was committed may be an end that is not a moment back yet: so it is looked twice,
 * at once and when that has passed, and then not until something is committed again.
 */
static void *run(void *argument)
{
    struct tr_traces *traces = argument;
    bool is_settled = false;
    while (!atomic_load(&traces->is_stopping)) {
        int error = look(traces);
        send_all(traces);
        if (error != 0 && error != TR_BUSY) {
            warn(traces, "traces: the history cannot be read: %s", tr_error_text(error));
        }
        uint64_t seen_ms = tr_clock_ms();
        rest(traces, is_settled ? UINT64_MAX : 2 * TR_TRACES_SETTLED_MS, is_settled);
        bool has_slept = tr_clock_ms() - seen_ms >= 2 * TR_TRACES_SETTLED_MS;
        is_settled = !is_settled && has_slept && error == 0;
    }
    return NULL;
}

/* ---------------------------------------------------------------------------- its life */

static int open_all(struct tr_traces *traces, char *words)
{
    const struct tri_http_options http = {
        .deliver = deliver,
        .self = traces,
        .requests_max = 2,
        .secret_sources = traces->options.secret_sources,
        .secret_source_count = traces->options.secret_source_count,
    };
    traces->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    traces->ended = tr_alloc_zero(TR_TRACES_WAITING_MAX, sizeof *traces->ended);
    if (traces->ended == NULL) {
        return TR_MEMORY;
    }
    int error =
        traces->wake < 0 ? TR_SYSTEM : tr_changes_open(traces->options.folder, &traces->changes);
    if (error == 0) {
        char explain[TRI_STORE_EXPLAIN_BYTES] = "";
        error = tr_history_open(traces->options.folder, explain, &traces->reader);
        (void)snprintf(words, TR_TRACES_WORDS_BYTES, "%.500s", explain);
    }
    if (error == 0) {
        tr_reader_release(traces->reader);
        error = tri_http_start(&http, &traces->http);
        if (error != 0) {
            (void)snprintf(words, TR_TRACES_WORDS_BYTES, "%s", tri_http_start_words(error));
        }
    }
    if (error == 0) {
        error = tri_thread_start("troupe-traces", run, traces, &traces->thread);
        traces->has_thread = error == 0;
    }
    return error;
}

int tr_traces_open(const struct tr_traces_options *options, char *words, struct tr_traces **out)
{
    struct tr_traces *traces = tr_alloc_zero(1, sizeof *traces);
    words[0] = '\0';
    if (traces == NULL) {
        return TR_MEMORY;
    }
    traces->options = *options;
    traces->changes = -1;
    traces->wake = -1;
    traces->cursor_ms = tr_clock_wall_ms() - TR_TRACES_AGAIN_MS;
    (void)snprintf(traces->url, sizeof traces->url, "%s/v1/traces", options->endpoint);
    (void)pthread_mutex_init(&traces->mutex, NULL);
    int error = open_all(traces, words);
    if (error != 0) {
        tr_traces_close(traces);
        return error;
    }
    *out = traces;
    return 0;
}

void tr_traces_close(struct tr_traces *traces)
{
    uint64_t one = 1;
    if (traces == NULL) {
        return;
    }
    atomic_store(&traces->is_stopping, true);
    if (traces->has_thread) {
        (void)!write(traces->wake, &one, sizeof one);
        (void)pthread_join(traces->thread, NULL);
    }
    tri_http_stop(traces->http);
    tr_reader_close(traces->reader);
    if (traces->changes >= 0) {
        (void)close(traces->changes);
    }
    if (traces->wake >= 0) {
        (void)close(traces->wake);
    }
    (void)pthread_mutex_destroy(&traces->mutex);
    tr_free(traces->ended);
    tr_free(traces);
}
