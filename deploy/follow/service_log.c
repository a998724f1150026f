/*
 * Telling what becomes of executions: those that were created or have ended lately are found by
 * their times, each time that something was written. Only -v, which tells of all phases, looks at
 * those that live one by one: 100,000 that wait cost nothing else.
 */
#include "deploy/follow/service_log.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/common/document.h"
#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/history/changes.h"
#include "deploy/history/executions.h"
#include "runtime/memory.h"

/* Rows may be committed later than younger ones, by no more than this. */
#define LATE_MS 5000

/* An execution that lives, or was created or has ended lately. */
struct known {
    uint64_t execution;
    uint64_t latest_ms; /* its creation or its end */
    uint8_t phase;
};

struct tr_service_log {
    const struct tr_invocation *invocation;
    struct tr_live *live;
    int changes;
    bool is_due;
    bool has_begun; /* what was there before is not told */
    uint64_t next_ms;
    uint64_t newest_ms;  /* the latest creation or end that was seen */
    struct known *known; /* by number */
    size_t count;
    size_t capacity;
};

/* ----------------------------------------------------------------------------- one line */

static bool is_json(const struct tr_service_log *log)
{
    return log->invocation->output == TR_OUTPUT_JSON;
}

static void print_text(struct tr_text text)
{
    struct tr_buffer line;
    tr_buffer_init(&line, 0);
    tr_time_print(tr_clock_wall_ms(), &line);
    tr_buffer_add_string(&line, "  ");
    tr_line_print(text, 0, &line);
    fprintf(stderr, "%.*s\n", (int)line.size, (const char *)line.data);
    tr_buffer_fini(&line);
}

void tr_service_log_note(struct tr_service_log *log, bool is_warning, const char *text)
{
    struct tr_document document;
    if (!is_warning && log->invocation->is_quiet) {
        return;
    }
    if (!is_json(log)) {
        print_text(tr_text_of(text));
        return;
    }
    flockfile(stderr); /* warnings may come from other threads: a line stays whole */
    tr_document_init(&document, stderr, TR_OUTPUT_JSON);
    tr_document_begin_map(&document, NULL);
    tr_document_time(&document, "at", tr_clock_wall_ms());
    tr_document_text(&document, "level", tr_text_of(is_warning ? "warning" : "info"));
    tr_document_text(&document, "message", tr_text_of(text));
    tr_document_end(&document);
    tr_document_fini(&document);
    funlockfile(stderr);
}

static void write_row(const struct tr_execution *row, const char *event)
{
    struct tr_document document;
    flockfile(stderr);
    tr_document_init(&document, stderr, TR_OUTPUT_JSON);
    tr_document_begin_map(&document, NULL);
    tr_document_time(&document, "at", tr_clock_wall_ms());
    tr_document_text(&document, "level", tr_text_of("info"));
    tr_document_text(&document, "event", tr_text_of(event));
    tr_document_text(&document, "execution", row->name);
    tr_document_text(&document, "project", row->project);
    tr_document_text(&document, "domain", row->domain);
    tr_document_text(&document, "workflow", row->workflow);
    tr_document_text(&document, "phase", tr_text_of(tr_execution_phase_word(row->phase)));
    tr_document_text(&document, "cause", row->cause);
    tr_document_text(&document, "code", row->code);
    tr_document_text(&document, "error", row->message);
    tr_document_end(&document);
    tr_document_fini(&document);
    funlockfile(stderr);
}

/* How an execution begins: what it runs and why. */
static void print_begin(const struct tr_execution *row, struct tr_buffer *text)
{
    tr_buffer_print(text, " begins: %.*s", (int)row->workflow.size, row->workflow.data);
    if (row->cause.size > 0) {
        tr_buffer_print(text, ", %.*s", (int)row->cause.size, row->cause.data);
    }
}

/* How it goes on, or ended and why. */
static void print_phase(const struct tr_execution *row, struct tr_buffer *text)
{
    tr_buffer_print(text, " %s", tr_execution_phase_word(row->phase));
    if (!tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        return;
    }
    tr_buffer_add_string(text, " after ");
    tr_span_print(tr_took_ms(row->created_ms, row->started_ms, row->ended_ms, row->ended_ms), text);
    if (row->code.size > 0) {
        tr_buffer_add_string(text, ": ");
        tr_failure_line(row->code, row->message, 0, text);
    }
}

static void tell(const struct tr_service_log *log, const struct tr_execution *row, bool is_new)
{
    struct tr_buffer text;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    if (log->invocation->is_quiet || !tr_host_owns(log->live->host, row->execution)) {
        return; /* the host that has it tells */
    }
    if (is_json(log)) {
        write_row(row, is_new ? "begins" : has_ended ? "ended" : "phase");
        return;
    }
    tr_buffer_init(&text, 0);
    tr_buffer_add_text(&text, row->name);
    if (is_new) {
        print_begin(row, &text);
    } else {
        print_phase(row, &text);
    }
    print_text(tr_buffer_text(&text));
    tr_buffer_fini(&text);
}

/* --------------------------------------------------------------------------- known executions */

/* The place of a number, or where it belongs. */
static size_t place_of(const struct tr_service_log *log, uint64_t execution)
{
    size_t low = 0;
    size_t high = log->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_behind = log->known[middle].execution < execution;
        low = is_behind ? middle + 1 : low;
        high = is_behind ? high : middle;
    }
    return low;
}

static uint64_t latest_ms(const struct tr_execution *row)
{
    return row->ended_ms > row->created_ms ? row->ended_ms : row->created_ms;
}

static int add(struct tr_service_log *log, size_t place, const struct tr_execution *row)
{
    if (log->count == log->capacity) {
        size_t capacity = 2 * log->capacity + 16;
        struct known *grown = tr_realloc(log->known, capacity * sizeof *grown);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        log->known = grown;
        log->capacity = capacity;
    }
    struct known *at = &log->known[place];
    memmove(at + 1, at, (log->count - place) * sizeof *at);
    *at = (struct known){row->execution, latest_ms(row), row->phase};
    log->count++;
    return 0;
}

/* Tells of a row what was not told yet. */
static int take(void *self, const void *value)
{
    struct tr_service_log *log = self;
    const struct tr_execution *row = value;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    size_t place = place_of(log, row->execution);
    bool is_known = place < log->count && log->known[place].execution == row->execution;
    if (latest_ms(row) > log->newest_ms) {
        log->newest_ms = latest_ms(row);
    }
    if (!is_known) {
        int error = add(log, place, row);
        if (error == 0 && log->has_begun) {
            tell(log, row, true);
        }
        if (error != 0 || !has_ended || !log->has_begun) {
            return error;
        }
    } else if (log->known[place].phase == row->phase) {
        return 0;
    }
    log->known[place].phase = row->phase;
    log->known[place].latest_ms = latest_ms(row);
    if (has_ended || log->invocation->is_verbose) {
        tell(log, row, false);
    }
    return 0;
}

static bool is_live(const struct known *known)
{
    return !tr_phase_is_end(TR_SUBJECT_EXECUTION, known->phase);
}

static uint64_t recent_ms(const struct tr_service_log *log)
{
    return log->newest_ms < LATE_MS ? 0 : log->newest_ms - LATE_MS;
}

/* Looks at those that live, one by one. */
static int look_at_known(struct tr_service_log *log, struct tr_reader *reader)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < log->count; i++) {
        const struct known *known = &log->known[i];
        if (is_live(known)) {
            struct tr_reader_filter filter =
                tr_filter_number("execution", TR_FILTER_EQUAL, known->execution);
            struct tr_reader_query query = {
                .record = &tr_execution_schema, .filters = &filter, .filter_count = 1};
            error = tr_reader_rows(reader, &query, take, log);
        }
    }
    return error;
}

/* Looks at those of which `field`, a time, is not long ago. */
static int look_at_recent(struct tr_service_log *log, struct tr_reader *reader, const char *field,
                          uint64_t since_ms)
{
    struct tr_reader_filter filter = tr_filter_number(field, TR_FILTER_GREATER_EQUAL, since_ms);
    struct tr_reader_query query = {.record = &tr_execution_schema,
                                    .filters = &filter,
                                    .filter_count = 1,
                                    .order = {{.field = field}}};
    return tr_reader_rows(reader, &query, take, log);
}

/* What has ended and cannot come again is forgotten. */
static void forget(struct tr_service_log *log)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->count; i++) {
        const struct known *known = &log->known[i];
        if (is_live(known) || known->latest_ms >= recent_ms(log)) {
            log->known[kept++] = *known;
        }
    }
    log->count = kept;
}

static int look(struct tr_service_log *log)
{
    struct tr_reader *reader;
    uint64_t since_ms = recent_ms(log);
    int error = tr_live_read(log->live, NULL, &reader);
    if (error != 0) {
        return error;
    }
    if (log->invocation->is_verbose) {
        error = look_at_known(log, reader);
    }
    if (error == 0) {
        error = look_at_recent(log, reader, "created_ms", since_ms);
    }
    if (error == 0) {
        error = look_at_recent(log, reader, "ended_ms", since_ms);
    }
    tr_live_read_end(log->live);
    forget(log);
    return error;
}

/* ----------------------------------------------------------------------------- its life */

static int by_number(const void *a, const void *b)
{
    uint64_t one = ((const struct known *)a)->execution;
    uint64_t other = ((const struct known *)b)->execution;
    return (one > other) - (one < other);
}

/* What was there before: the unfinished ones, and the newest. */
static int begin(struct tr_service_log *log)
{
    const struct tr_dormant *dormant = &log->live->dormant;
    int error = 0;
    log->newest_ms = tr_clock_wall_ms();
    for (uint32_t i = 0; error == 0 && i < dormant->count; i++) {
        struct tr_execution row = {.execution = dormant->items[i].execution,
                                   .phase = TR_EXECUTION_RUNNING};
        error = add(log, log->count, &row);
    }
    if (log->count > 0) {
        qsort(log->known, log->count, sizeof *log->known, by_number);
    }
    if (error == 0) {
        error = look(log);
    }
    log->has_begun = true;
    return error;
}

static void stop_listening(struct tr_service_log *log)
{
    if (log->changes >= 0) {
        close(log->changes);
        log->changes = -1;
    }
}

/* What is written from now on wakes the engine. */
static int listen_anew(struct tr_service_log *log)
{
    struct epoll_event event = {.events = EPOLLIN};
    stop_listening(log);
    int error = tr_changes_open(log->live->folder, &log->changes);
    if (error != 0) {
        return error;
    }
    return epoll_ctl(log->live->events, EPOLL_CTL_ADD, log->changes, &event) != 0 ? TR_SYSTEM : 0;
}

int tr_service_log_new(const struct tr_invocation *invocation, struct tr_live *live,
                       struct tr_service_log **out)
{
    struct tr_service_log *log = tr_alloc_zero(1, sizeof *log);
    if (log == NULL) {
        return TR_MEMORY;
    }
    log->invocation = invocation;
    log->live = live;
    log->changes = -1;
    int error = listen_anew(log);
    if (error == 0) {
        error = begin(log);
    }
    if (error != 0) {
        tr_service_log_free(log);
        return error;
    }
    *out = log;
    return 0;
}

void tr_service_log_free(struct tr_service_log *log)
{
    if (log == NULL) {
        return;
    }
    stop_listening(log);
    tr_free(log->known);
    tr_free(log);
}

/*
 * Whether something was written; from then on until the look nothing more of that is heard, and no
 * write has to tell.
 */
static bool is_due(struct tr_service_log *log)
{
    struct pollfd one = {.fd = log->changes, .events = POLLIN};
    if (!log->is_due && poll(&one, 1, 0) > 0) {
        log->is_due = true;
        stop_listening(log);
    }
    return log->is_due;
}

void tr_service_log_step(struct tr_service_log *log)
{
    uint64_t now_ms = tr_clock_ms();
    if (!is_due(log) || now_ms < log->next_ms) {
        return;
    }
    bool is_heard = listen_anew(log) == 0; /* else it looks again when it may */
    log->is_due = look(log) != 0 || !is_heard;
    uint64_t took_ms = tr_clock_ms() - now_ms;
    log->next_ms = now_ms + TR_SERVICE_LOG_MS + TR_SERVICE_LOG_PARTS * took_ms;
}

void tr_service_log_last(struct tr_service_log *log)
{
    (void)!look(log);
}

uint32_t tr_service_log_timeout_ms(const struct tr_service_log *log)
{
    uint64_t now_ms = tr_clock_ms();
    if (!log->is_due) {
        return UINT32_MAX;
    }
    return now_ms < log->next_ms ? (uint32_t)(log->next_ms - now_ms) : 0;
}
