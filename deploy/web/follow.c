/*
 * Streams that go on with something: changes of an execution, logs as they are written, a tap. Each
 * has a thread, which runs what a command runs that follows, line by line; the door's thread sends
 * the lines on. There are few of them: who wants to see how things stand watches a document
 * (stream.c), of which there may be many.
 *
 * What a client does not take waits in a buffer that is bounded; lines beyond it are dropped and
 * counted, so that nobody waits for the client. The thread is told by `is_gone` that nobody reads,
 * and looks at that once a second. It frees nothing: it says at its end that it is over, and the
 * door's thread, or the end of all, joins it.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/history/changes.h"
#include "deploy/history/events.h"
#include "deploy/history/executions.h"
#include "deploy/web/handlers.h"
#include "deploy/web/web_inside.h"
#include "runtime/env/thread.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/codec/print.h"

/* How long a change is waited for before it is looked whether the client has gone. */
#define LOOK_MS 1000

struct tr_web_follower {
    struct tr_web *web;
    struct tr_web_follower *next;
    struct tr_web_job *job;
    struct tri_web_visit *visit; /* the door's thread; NULL: the client has gone */
    pthread_t thread;
    bool is_joined;
    atomic_bool is_gone;

    /* Of its thread. */
    const char *event;
    struct tr_buffer line;
    uint64_t said_bytes; /* of the whole text */
    uint64_t known_bytes;
    bool is_cut; /* the rest of a line is left out */

    pthread_mutex_t mutex; /* of what follows */
    struct tr_buffer waiting;
    uint64_t missed;
    bool is_posted;
    bool is_over;
};

/* -------------------------------------------------------------------- the door's thread */

static void follower_free(struct tr_web_follower *follower)
{
    if (!follower->is_joined) {
        (void)pthread_join(follower->thread, NULL);
    }
    if (follower->visit != NULL) {
        follower->visit->follower = NULL;
    }
    tr_buffer_fini(&follower->line);
    tr_buffer_fini(&follower->waiting);
    (void)pthread_mutex_destroy(&follower->mutex);
    tr_web_job_free(follower->job);
    tr_free(follower);
}

static void forget(struct tr_web_follower *follower)
{
    struct tr_web *web = follower->web;
    pthread_mutex_lock(&web->mutex);
    struct tr_web_follower **link = &web->followers;
    while (*link != follower) {
        link = &(*link)->next;
    }
    *link = follower->next;
    pthread_mutex_unlock(&web->mutex);
    web->follower_count--;
    follower_free(follower);
}

/* What was dropped stands in front of what comes behind it. */
static int send_waiting(struct tr_web_follower *follower, struct tr_door_exchange *exchange)
{
    struct tr_buffer *waiting = &follower->waiting;
    int error = waiting->size == 0 ? 0 : tr_door_exchange_write(exchange, tr_buffer_bytes(waiting));
    if (error == TR_BUSY) {
        return error;
    }
    tr_buffer_cut(waiting, 0);
    if (follower->missed > 0) {
        char words[96];
        (void)snprintf(words, sizeof words, "event: missed\ndata: {\"count\":%" PRIu64 "}\n\n",
                       follower->missed);
        struct tr_bytes told = {.data = (const uint8_t *)words, .size = strlen(words)};
        follower->missed =
            error == 0 && tr_door_exchange_write(exchange, told) == 0 ? 0 : follower->missed;
    }
    return error;
}

static void end_response(const struct tr_web_follower *follower, struct tr_door_exchange *exchange)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    if (follower->job->problem == TR_WEB_FINE) {
        tr_buffer_add_string(&text, "event: end\ndata: {}\n\n");
    } else {
        tr_buffer_add_string(&text, "event: problem\ndata: ");
        tr_web_problem_print(follower->job->problem, follower->job->words, &text);
        tr_buffer_add_string(&text, "\n");
    }
    (void)!tr_door_exchange_write(exchange, tr_buffer_bytes(&text));
    tr_door_exchange_end(exchange, NULL, 0);
    tr_buffer_fini(&text);
}

/* Sends what waits; true: nothing more will come, and all is sent or nobody wants it. */
static bool send_on(struct tr_web_follower *follower)
{
    struct tr_door_exchange *exchange = follower->visit == NULL ? NULL : follower->visit->exchange;
    pthread_mutex_lock(&follower->mutex);
    bool is_over = follower->is_over;
    bool is_silent = follower->waiting.size == 0 && follower->missed == 0;
    follower->is_posted = false;
    if (exchange == NULL || tr_door_exchange_has_ended(exchange)) {
        pthread_mutex_unlock(&follower->mutex);
        return is_over;
    }
    bool has_begun = tr_door_exchange_has_begun(exchange);
    if (!has_begun && !(is_over && is_silent)) {
        tri_web_stream_begin_response(follower->visit);
        has_begun = true;
    }
    int error = has_begun ? send_waiting(follower, exchange) : 0;
    pthread_mutex_unlock(&follower->mutex);
    if (error == TR_BUSY || !is_over) {
        return false;
    }
    if (!has_begun && follower->job->problem != TR_WEB_FINE) {
        tri_web_answer(exchange, follower->job);
    } else {
        if (!has_begun) {
            tri_web_stream_begin_response(follower->visit);
        }
        end_response(follower, exchange);
    }
    return true;
}

static void flush(void *argument)
{
    struct tr_web_follower *follower = argument;
    if (send_on(follower)) {
        forget(follower);
    }
}

void tri_web_follow_room(struct tri_web_visit *visit)
{
    if (visit->follower != NULL) {
        flush(visit->follower);
    }
}

/* Nothing has come for a while: the client hears that it goes on. */
void tri_web_follow_beat(struct tri_web_visit *visit)
{
    static const char beat[] = ":\n\n";
    if (visit->follower == NULL || tr_door_exchange_has_ended(visit->exchange)) {
        return;
    }
    if (!tr_door_exchange_has_begun(visit->exchange)) {
        tri_web_stream_begin_response(visit);
    }
    (void)!tr_door_exchange_write(
        visit->exchange, (struct tr_bytes){.data = (const uint8_t *)beat, .size = sizeof beat - 1});
    tr_door_exchange_expire(visit->exchange, TR_WEB_BEAT_MS);
}

void tri_web_follow_leave(struct tri_web_visit *visit)
{
    struct tr_web_follower *follower = visit->follower;
    if (follower == NULL) {
        return;
    }
    visit->follower = NULL;
    follower->visit = NULL;
    atomic_store(&follower->is_gone, true);
    flush(follower);
}

/* ------------------------------------------------------------------------- its thread */

static void post(struct tr_web_follower *follower)
{
    if (!follower->is_posted) {
        follower->is_posted = tr_door_post(follower->job->door, flush, follower) == 0;
    }
}

/* An event with a document on one line; `id` "": it has none. */
static void say(struct tr_web_follower *follower, const char *id, struct tr_text document)
{
    pthread_mutex_lock(&follower->mutex);
    struct tr_buffer *waiting = &follower->waiting;
    if (waiting->size + document.size > TR_WEB_FOLLOWER_BYTES || follower->missed > 0) {
        follower->missed++;
    } else {
        if (id[0] != '\0') {
            tr_buffer_print(waiting, "id: %s\n", id);
        }
        tr_buffer_print(waiting, "event: %s\ndata: ", follower->event);
        tr_buffer_add_text(waiting, document);
        tr_buffer_add_string(waiting, "\n\n");
    }
    post(follower);
    pthread_mutex_unlock(&follower->mutex);
}

static bool is_tap(const struct tr_web_follower *follower)
{
    return follower->job->request.route->handle == tr_web_follow_tap;
}

/* The id of an event of a tap is its hybrid time; one of lost events has none. */
static void print_clock(struct tr_text line, char *id, size_t size)
{
    static const char name[] = "\"clock\":";
    const char *at = memmem(line.data, line.size, name, sizeof name - 1);
    unsigned long long clock = at == NULL ? 0 : strtoull(at + sizeof name - 1, NULL, 10);
    if (clock != 0) {
        (void)snprintf(id, size, "%llu", clock);
    }
}

/* A tap has only what passes while it is open: who comes back hears that something is missing. */
static void say_gap(struct tr_web_follower *follower)
{
    const char *last = follower->job->last_event;
    uint64_t clock = last == NULL ? 0 : strtoull(last, NULL, 10);
    if (clock != 0) {
        pthread_mutex_lock(&follower->mutex);
        tr_buffer_add_string(&follower->waiting, "event: missed\ndata: ");
        tr_buffer_print(&follower->waiting, "{\"count\":null,\"since\":\"%" PRIu64 "\"}\n\n",
                        clock);
        post(follower);
        pthread_mutex_unlock(&follower->mutex);
    }
}

/* A part of a document is none: of a line that is too long this is said. False: nothing is. */
static bool add_document(struct tr_web_follower *follower, struct tr_text line, bool is_whole,
                         struct tr_buffer *json)
{
    bool is_rest = follower->is_cut;
    follower->is_cut = !is_whole;
    if (is_rest) {
        return false;
    }
    tr_buffer_add_text(json, is_whole ? line : tr_text_of("{\"truncated\":true}"));
    return true;
}

/*
 * A line of a log as text of JSON, which has no line feeds; of a tap as it is. `is_whole`: it has
 * come to its end.
 */
static void say_line(struct tr_web_follower *follower, bool is_whole)
{
    bool is_said = true;
    char room[256];
    char id[32] = "";
    struct tr_buffer json;
    struct tr_text line = tr_buffer_text(&follower->line);
    follower->said_bytes += line.size + 1;
    if (follower->said_bytes <= follower->known_bytes) {
        tr_buffer_cut(&follower->line, 0);
        return;
    }
    tr_buffer_init(&json, 0);
    if (is_tap(follower)) {
        is_said = add_document(follower, line, is_whole, &json);
        print_clock(line, id, sizeof id);
    } else {
        struct tr_sink sink = tr_buffer_sink(&json, room, sizeof room);
        tr_print_json_text(&sink, line);
        tr_sink_flush(&sink);
        (void)snprintf(id, sizeof id, "%" PRIu64, follower->said_bytes);
    }
    if (is_said) {
        say(follower, id, tr_buffer_text(&json));
    }
    tr_buffer_fini(&json);
    tr_buffer_cut(&follower->line, 0);
}

/* The C library's write: 0 is a failure, by which a command sees that nobody reads. */
static ssize_t take(void *self, const char *data, size_t size)
{
    struct tr_web_follower *follower = self;
    if (atomic_load(&follower->is_gone)) {
        return 0;
    }
    for (size_t at = 0; at < size;) {
        const char *end = memchr(data + at, '\n', size - at);
        size_t part = end == NULL ? size - at : (size_t)(end - data) - at;
        tr_buffer_add(&follower->line, data + at, part);
        at += part;
        if (end != NULL || follower->line.size >= TR_WEB_LINE_BYTES) {
            say_line(follower, end != NULL);
            at += end != NULL ? 1 : 0;
        }
    }
    return (ssize_t)size;
}

/* Runs a command that follows, as tr_web_job_call runs one that ends. */
static void call(struct tr_web_follower *follower, const char *option)
{
    static const cookie_io_functions_t functions = {.write = take};
    struct tr_web_job *job = follower->job;
    int count = 0;
    char **own = tr_web_request_arguments(&job->arena, &job->request,
                                          tr_web_options(job->web)->folder, &count);
    char **words =
        own == NULL ? NULL : tr_arena_array(&job->arena, (size_t)count + 2, sizeof *words);
    FILE *out = fopencookie(follower, "w", functions);
    if (words != NULL) {
        words[0] = (char *)(uintptr_t)tr_arena_print(&job->arena, "%s", option).data;
        memcpy(words + 1, own, ((size_t)count + 1) * sizeof *words);
    }
    if (out == NULL || words == NULL || words[0] == NULL) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s", tr_error_text(TR_MEMORY));
    } else {
        (void)setvbuf(out, NULL, _IOLBF, BUFSIZ);
        struct tr_console console = {
            .out = out, .identity = job->principal, .is_gone = &follower->is_gone};
        tr_web_job_call_with(job, job->request.route->command, count + 1, words, &console);
        if (follower->line.size > 0) {
            say_line(follower, true);
        }
    }
    if (out != NULL) {
        (void)fclose(out);
    }
}

/* ----------------------------------------------------------------- changes of an execution */

struct following {
    struct tr_web_follower *follower;
    struct tr_reader *reader;
    struct tr_events events;
    uint64_t execution;
    uint64_t since_ms;
    bool is_over;
};

/* Times of events come from several threads: what is near the last one may come once more. */
static uint64_t since_of(const struct tr_web_job *job)
{
    uint64_t last_ms = job->last_event == NULL ? 0 : strtoull(job->last_event, NULL, 10);
    return last_ms > TR_WEB_RESUMED_MS ? last_ms - TR_WEB_RESUMED_MS : 0;
}

static void say_change(struct following *following, const struct tr_event *event)
{
    char id[32];
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    FILE *stream = tr_web_job_stream(&json);
    if (stream == NULL) {
        return;
    }
    struct tr_document document;
    tr_document_init(&document, stream, TR_OUTPUT_JSON);
    tr_event_write(event, &document);
    tr_document_fini(&document);
    (void)fclose(stream);
    (void)snprintf(id, sizeof id, "%" PRIu64, event->row.at_ms);
    struct tr_text text = tr_buffer_text(&json);
    text.size -= text.size > 0 ? 1 : 0; /* the line feed */
    say(following->follower, id, text);
    tr_buffer_fini(&json);
}

static int look(struct following *following)
{
    struct tr_executions_row copy;
    int error = tr_reader_refresh(following->reader);
    if (error == 0) {
        error = tr_executions_get(following->reader, following->execution, &copy);
    }
    if (error == 0) {
        following->is_over = tr_phase_is_end(TR_SUBJECT_EXECUTION, copy.row.phase);
        tr_executions_row_fini(&copy);
        error = tr_events_read(&following->events, following->reader);
    }
    for (uint32_t i = 0; error == 0 && i < following->events.count; i++) {
        if (following->events.items[i].row.at_ms >= following->since_ms) {
            say_change(following, &following->events.items[i]);
        }
    }
    tr_reader_release(following->reader); /* as long as it waits */
    return error;
}

/* Looks no more often than a watch does (look/watch.c): reading takes one part of all time. */
static int stay(struct following *following)
{
    int changes;
    int error = tr_changes_open(tr_reader_folder(following->reader), &changes);
    if (error != 0) {
        return error;
    }
    while (error == 0 && !following->is_over && !atomic_load(&following->follower->is_gone)) {
        uint64_t begin_ms = tr_clock_ms();
        error = look(following);
        uint64_t rest_ms = TR_WEB_EVENTS_MS + TR_WEB_STREAM_PARTS * (tr_clock_ms() - begin_ms);
        if (error == 0 && !following->is_over) {
            (void)poll(NULL, 0, rest_ms < LOOK_MS ? (int)rest_ms : LOOK_MS);
            tr_changes_rest(changes, LOOK_MS);
        }
    }
    (void)close(changes);
    return error;
}

static void follow_changes(struct tr_web_follower *follower)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_web_job *job = follower->job;
    struct following following = {.follower = follower, .since_ms = since_of(job)};
    struct tr_executions_row copy;
    struct tr_text parts[] = {tr_text_of(tr_web_request_value(&job->request, "project")),
                              tr_text_of(tr_web_request_value(&job->request, "domain")),
                              tr_text_of(tr_web_request_value(&job->request, "name"))};
    int error = tr_history_open(tr_web_options(job->web)->folder, words, &following.reader);
    if (error == 0) {
        error = tr_executions_named(following.reader, parts[0], parts[1], parts[2], &copy);
    }
    if (error == 0) {
        following.execution = copy.row.execution;
        tr_executions_row_fini(&copy);
        tr_events_init(&following.events, following.execution);
        error = stay(&following);
        tr_events_fini(&following.events);
    }
    if (error != 0) {
        tr_web_job_refuse(job, tr_web_problem_of_exit(TR_EXIT_ENGINE, error), "%s",
                          words[0] != '\0'        ? words
                          : error == TR_NOT_FOUND ? "there is no such execution"
                                                  : tr_error_text(error));
    }
    tr_reader_close(following.reader);
}

/* ---------------------------------------------------------------------------- its life */

static void *follow(void *argument)
{
    struct tr_web_follower *follower = argument;
    const struct tr_web_route *route = follower->job->request.route;
    if (route->handle == tr_web_follow_changes) {
        follow_changes(follower);
    } else {
        if (is_tap(follower)) {
            say_gap(follower);
        }
        call(follower, is_tap(follower) ? "--output=json" : "--follow");
    }
    pthread_mutex_lock(&follower->mutex);
    follower->is_over = true;
    post(follower);
    pthread_mutex_unlock(&follower->mutex);
    return NULL;
}

static struct tr_web_follower *follower_new(struct tri_web_visit *visit)
{
    struct tr_web *web = visit->web;
    struct tr_web_job *job = visit->job;
    struct tr_web_follower *follower = tr_alloc_zero(1, sizeof *follower);
    if (follower == NULL) {
        return NULL;
    }
    follower->web = web;
    follower->job = job;
    follower->visit = visit;
    follower->event = job->request.route->handle == tr_web_follow_changes ? "change"
                      : job->request.route->handle == tr_web_follow_tap   ? "message"
                                                                          : "line";
    bool is_counted = job->last_event != NULL && !is_tap(follower);
    follower->known_bytes = is_counted ? strtoull(job->last_event, NULL, 10) : 0;
    tr_buffer_init(&follower->line, 0);
    tr_buffer_init(&follower->waiting, 0);
    (void)pthread_mutex_init(&follower->mutex, NULL);
    if (tri_thread_start("troupe-follower", follow, follower, &follower->thread) != 0) {
        follower->is_joined = true;
        follower->visit = NULL;
        follower->job = NULL;
        follower_free(follower);
        return NULL;
    }
    return follower;
}

/* One lock with the end of all, which joins whatever it finds, and lets no more begin. */
static struct tr_web_follower *begin(struct tri_web_visit *visit)
{
    struct tr_web *web = visit->web;
    struct tr_web_follower *follower = NULL;
    pthread_mutex_lock(&web->mutex);
    if (!atomic_load(&web->is_stopping)) {
        follower = follower_new(visit);
    }
    if (follower != NULL) {
        follower->next = web->followers;
        web->followers = follower;
    }
    pthread_mutex_unlock(&web->mutex);
    return follower;
}

bool tri_web_follow_begin(struct tri_web_visit *visit)
{
    struct tr_web *web = visit->web;
    struct tr_web_job *job = visit->job;
    if ((job->request.route->flags & TR_WEB_FOLLOWS) == 0 || !tri_web_wants_events(visit)) {
        return false;
    }
    bool has_room = web->follower_count < TR_WEB_FOLLOWERS_MAX;
    struct tr_web_follower *follower = has_room ? begin(visit) : NULL;
    if (follower == NULL) {
        tr_web_job_refuse(job, has_room ? TR_WEB_UNAVAILABLE : TR_WEB_BUSY, "%s",
                          has_room ? "no thread can be begun"
                                   : "too many streams follow something (TR_WEB_FOLLOWERS_MAX)");
        tri_web_answer(visit->exchange, job);
        return true;
    }
    visit->job = NULL;
    visit->follower = follower;
    web->follower_count++;
    tr_door_exchange_expire(visit->exchange, LOOK_MS);
    return true;
}

void tri_web_follow_stop(struct tr_web *web)
{
    pthread_mutex_lock(&web->mutex);
    for (struct tr_web_follower *each = web->followers; each != NULL; each = each->next) {
        atomic_store(&each->is_gone, true);
    }
    for (struct tr_web_follower *each = web->followers; each != NULL; each = each->next) {
        (void)pthread_join(each->thread, NULL);
        each->is_joined = true;
    }
    pthread_mutex_unlock(&web->mutex);
}

void tri_web_follow_free(struct tr_web *web)
{
    while (web->followers != NULL) {
        struct tr_web_follower *follower = web->followers;
        web->followers = follower->next;
        follower_free(follower);
    }
}

/* ---------------------------------------------------- what is asked without a stream */

static void refuse_plain(struct tr_web_job *job)
{
    tr_web_job_refuse(job, TR_WEB_INVALID,
                      "this is a stream of events: ask with accept: text/event-stream");
}

void tr_web_follow_changes(struct tr_web_job *job)
{
    refuse_plain(job);
}

void tr_web_follow_tap(struct tr_web_job *job)
{
    refuse_plain(job);
}
