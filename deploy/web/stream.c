/*
 * Server-sent events: a document, again each time it has changed. Who asks for one with
 * accept: text/event-stream stays, and all who watch the same share one feed, so that a thousand
 * pages cost one look at the store. An event's id is the document's etag: who comes back with it
 * (Last-Event-ID) gets nothing until there is something new, on whichever engine.
 *
 * A thread waits for the store to change and posts a turn to the door's thread, which has all
 * feeds; a feed's document is made on the queue of those that look. Sending to a thousand costs
 * more than looking: so what is new waits in a batch, whose events each client gets in one piece. A
 * client that is slow gets the newest document when it has room, and is told how many it has
 * missed: nobody waits for it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "deploy/history/changes.h"
#include "deploy/web/web_inside.h"
#include "runtime/env/thread.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define EVENTS "text/event-stream"
#define BEAT ":\n\n"

static void wake(const struct tr_web *web)
{
    (void)!write(web->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/* --------------------------------------------------------------------------- feeds */

static uint64_t due_of(const struct tr_web_feed *feed)
{
    uint64_t due_ms = feed->told_ms + TR_WEB_BEAT_MS;
    uint64_t look_ms = UINT64_MAX;
    if (feed->batch_count > 0 && feed->send_ms < due_ms) {
        due_ms = feed->send_ms;
    }
    if (feed->is_running) {
        return due_ms;
    }
    if (feed->is_changed) {
        look_ms = feed->next_ms;
    } else if ((feed->route->flags & TR_WEB_OF_ENGINE) != 0) {
        look_ms = feed->looked_ms + TR_WEB_ENGINE_EVENTS_MS;
    }
    return look_ms < due_ms ? look_ms : due_ms;
}

/* Says how long the thread may rest, and wakes it if that is shorter than it was. */
static void plan(struct tr_web *web)
{
    uint64_t now_ms = tr_clock_ms();
    uint64_t due_ms = UINT64_MAX;
    for (const struct tr_web_feed *feed = web->feeds; feed != NULL; feed = feed->next) {
        uint64_t own_ms = due_of(feed);
        due_ms = own_ms < due_ms ? own_ms : due_ms;
    }
    uint32_t rest_ms = due_ms == UINT64_MAX ? UINT32_MAX
                       : due_ms <= now_ms   ? 1
                                            : (uint32_t)(due_ms - now_ms);
    if (rest_ms < atomic_exchange(&web->rest_ms, rest_ms)) {
        wake(web);
    }
}

static void feed_free(struct tr_web_feed *feed)
{
    tr_buffer_fini(&feed->event);
    tr_buffer_fini(&feed->batch);
    tr_free(feed->path);
    tr_free(feed->query);
    tr_free(feed);
}

/* When nobody watches it, and no job looks at it. */
static void drop_if_done(struct tr_web_feed *feed)
{
    if (feed->visits != NULL || feed->is_running) {
        return;
    }
    struct tr_web_feed **link = &feed->web->feeds;
    while (*link != feed) {
        link = &(*link)->next;
    }
    *link = feed->next;
    feed_free(feed);
}

static void write_all(struct tr_web_feed *feed, const char *text)
{
    for (struct tri_web_visit *visit = feed->visits; visit != NULL; visit = visit->next) {
        if (!visit->is_behind) {
            (void)!tr_door_exchange_write(
                visit->exchange,
                (struct tr_bytes){.data = (const uint8_t *)text, .size = strlen(text)});
        }
    }
    feed->told_ms = tr_clock_ms();
}

/* Has a job look at the document. */
static void look(struct tr_web_feed *feed)
{
    struct tr_web *web = feed->web;
    struct tr_web_job *job = tr_web_job_new(web);
    if (job == NULL) {
        feed->next_ms = tr_clock_ms() + TR_WEB_ENGINE_EVENTS_MS;
        return;
    }
    const struct tr_web_head head = {.method = tr_text_of("GET"),
                                     .path = tr_text_of(feed->path),
                                     .query = tr_text_of(feed->query)};
    job->door = web->door;
    job->feed = feed;
    job->principal = "http";
    feed->is_running = true;
    feed->is_changed = false;
    feed->looked_ms = tr_clock_ms();
    job->problem = tr_web_request_read(&job->arena, &head, &job->request, job->words);
    TR_ASSERT(job->request.route != NULL); /* it was read before */
    tri_web_hand(web, job);
}

/* -------------------------------------------------------------------- what a client gets */

/* Events to a client that has room for them; what it has missed before is told first. */
static int send_events(struct tri_web_visit *visit, struct tr_bytes events)
{
    char words[96] = "";
    if (visit->missed > 0) {
        (void)snprintf(words, sizeof words, "event: missed\ndata: {\"count\":%llu}\n\n",
                       (unsigned long long)visit->missed);
    }
    struct tr_bytes told = {.data = (const uint8_t *)words, .size = strlen(words)};
    int error = told.size == 0 ? 0 : tr_door_exchange_write(visit->exchange, told);
    if (error == 0) {
        visit->missed = 0;
        error = tr_door_exchange_write(visit->exchange, events);
    }
    if (error == 0) {
        (void)snprintf(visit->known_tag, sizeof visit->known_tag, "%s", visit->feed->tag);
        visit->is_behind = false;
    } else if (error == TR_BUSY) {
        visit->is_behind = true;
    }
    return error;
}

/* The newest document, to who joins or has room again; of the batch he needs no more. */
static void send_newest(struct tri_web_visit *visit)
{
    const struct tr_web_feed *feed = visit->feed;
    if (send_events(visit, tr_buffer_bytes(&feed->event)) == 0) {
        visit->had_bytes = feed->batch.size;
        visit->had_count = feed->batch_count;
    }
}

void tri_web_stream_begin_response(struct tri_web_visit *visit)
{
    static const struct tr_door_header headers[] = {
        {.name = {"content-type", 12}, .value = {EVENTS, sizeof EVENTS - 1}},
        {.name = {"cache-control", 13}, .value = {"no-store", 8}},
        {.name = {"x-content-type-options", 22}, .value = {"nosniff", 7}},
    };
    tr_door_exchange_begin(visit->exchange, 200, headers, TR_COUNT_OF(headers));
    if (visit->feed != NULL) {
        tr_door_exchange_expire(visit->exchange, TR_WEB_STREAM_MS_MAX);
    }
    (void)!tr_door_exchange_write(
        visit->exchange, (struct tr_bytes){.data = (const uint8_t *)BEAT, .size = sizeof BEAT - 1});
}

/* Whether a client takes events: its response has begun, and has no end yet. */
static bool is_open(struct tri_web_visit *visit)
{
    if (tr_door_exchange_has_ended(visit->exchange)) {
        return false;
    }
    if (!tr_door_exchange_has_begun(visit->exchange)) {
        tri_web_stream_begin_response(visit);
    }
    return true;
}

static bool is_known(const struct tri_web_visit *visit)
{
    return visit->feed->tag[0] != '\0' &&
           tri_web_is_tag(tr_text_of(visit->known_tag), visit->feed->tag);
}

/* What is there, to who has just come. */
static void show(struct tri_web_visit *visit)
{
    if (!is_open(visit)) {
        return;
    }
    if (is_known(visit)) {
        visit->had_bytes = visit->feed->batch.size;
        visit->had_count = visit->feed->batch_count;
    } else {
        send_newest(visit);
    }
}

/* The events of the batch that a client does not have; one that is behind misses them. */
static void show_batch(struct tri_web_visit *visit)
{
    const struct tr_web_feed *feed = visit->feed;
    uint64_t count = feed->batch_count - visit->had_count;
    struct tr_bytes events = tr_buffer_bytes(&feed->batch);
    events.data += visit->had_bytes;
    events.size -= visit->had_bytes;
    visit->had_bytes = 0;
    visit->had_count = 0;
    if (!is_open(visit) || is_known(visit) || count == 0) {
        return;
    }
    if (visit->is_behind) {
        visit->missed += count;
    } else if (send_events(visit, events) == TR_BUSY) {
        visit->missed += count - 1; /* the newest is still to come */
    }
}

static void clear_batch(struct tr_web_feed *feed)
{
    tr_buffer_fini(&feed->batch);
    tr_buffer_init(&feed->batch, 0);
    feed->batch_count = 0;
}

/* The span in which some work is one part of so many. */
static uint64_t rest_of(uint64_t worked_us)
{
    uint64_t rest_ms = TR_WEB_STREAM_PARTS * worked_us / 1000;
    rest_ms = rest_ms > TR_WEB_EVENTS_MS ? rest_ms : TR_WEB_EVENTS_MS;
    return rest_ms < TR_WEB_REST_MS_MAX ? rest_ms : TR_WEB_REST_MS_MAX;
}

/*
 * What it takes to send a batch: at least what the thread has worked since the last one, as most
 * of that is done when its sockets are written to, and costs more on a machine that is busy.
 */
static uint64_t cost_of(const struct tr_web_feed *feed, uint64_t client_count)
{
    uint64_t each_us = TR_WEB_SENDING_US + feed->batch.size / TR_WEB_SENDING_BYTES_PER_US;
    uint64_t worked_us = feed->sent_us == 0 ? 0 : tr_web_worked_us() - feed->sent_us;
    return worked_us > client_count * each_us ? worked_us : client_count * each_us;
}

static void send_batch(struct tr_web_feed *feed)
{
    uint64_t now_ms = tr_clock_ms();
    uint64_t client_count = 0;
    for (struct tri_web_visit *visit = feed->visits; visit != NULL; visit = visit->next) {
        client_count++;
        show_batch(visit);
    }
    feed->send_ms = now_ms + rest_of(cost_of(feed, client_count));
    feed->sent_us = tr_web_worked_us();
    feed->told_ms = now_ms;
    clear_batch(feed);
}

/* Where too much waits, only the newest does. */
static void add_to_batch(struct tr_web_feed *feed)
{
    bool is_full = feed->batch.size + feed->event.size > TR_WEB_BATCH_BYTES;
    if (feed->batch.error != 0 || (feed->batch_count > 0 && is_full)) {
        clear_batch(feed);
        for (struct tri_web_visit *visit = feed->visits; visit != NULL; visit = visit->next) {
            visit->had_bytes = 0;
            visit->had_count = 0;
        }
    }
    tr_buffer_add(&feed->batch, feed->event.data, feed->event.size);
    feed->batch_count++;
    if (feed->event.error != 0 || feed->batch.error != 0) {
        feed->tag[0] = '\0'; /* without memory it is looked at again */
        feed->is_changed = true;
        feed->batch_count = 0;
    }
}

/* The document is one line, with a line feed behind it. */
static void make_event(struct tr_web_feed *feed, const struct tr_web_job *job)
{
    size_t size = job->answer.size;
    size -= size > 0 && job->answer.data[size - 1] == '\n' ? 1 : 0;
    tr_buffer_fini(&feed->event);
    tr_buffer_init(&feed->event, 0);
    tr_buffer_print(&feed->event, "id: %s\nevent: document\ndata: ", job->tag);
    tr_buffer_add(&feed->event, job->answer.data, size);
    tr_buffer_add_string(&feed->event, "\n\n");
    (void)snprintf(feed->tag, sizeof feed->tag, "%s", job->tag);
}

/* There is no such document any more, or it cannot be made: all are told, and come back. */
static void end_all(struct tr_web_feed *feed, struct tr_web_job *job)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "event: problem\ndata: ");
    tr_web_problem_print(job->problem, job->words, &text);
    tr_buffer_add_string(&text, "\n");
    for (struct tri_web_visit *visit = feed->visits; visit != NULL; visit = visit->next) {
        struct tr_door_exchange *exchange = visit->exchange;
        if (tr_door_exchange_has_ended(exchange)) {
            continue;
        }
        if (!tr_door_exchange_has_begun(exchange)) {
            tri_web_answer(exchange, job);
        } else {
            (void)!tr_door_exchange_write(exchange, tr_buffer_bytes(&text));
            tr_door_exchange_end(exchange, NULL, 0);
        }
    }
    tr_buffer_fini(&text);
}

void tri_web_stream_take(struct tr_web_feed *feed, struct tr_web_job *job)
{
    struct tr_web *web = feed->web;
    bool is_fine = job->problem == TR_WEB_FINE;
    feed->is_running = false;
    feed->next_ms = feed->looked_ms + rest_of(job->worked_us);
    if (is_fine && strcmp(job->tag, feed->tag) != 0) {
        make_event(feed, job);
        add_to_batch(feed);
    }
    if (feed->batch_count > 0 && (!is_fine || tr_clock_ms() >= feed->send_ms)) {
        send_batch(feed);
    }
    if (!is_fine) {
        end_all(feed, job);
    }
    drop_if_done(feed);
    plan(web);
}

void tri_web_stream_room(struct tri_web_visit *visit)
{
    if (visit->feed != NULL && visit->is_behind) {
        visit->missed += visit->feed->batch_count - visit->had_count; /* but for the newest */
        visit->had_count = visit->feed->batch_count;
        send_newest(visit);
    }
}

/* What was allowed for a token is not for ever: the client comes back with one that is good. */
void tri_web_stream_end(struct tri_web_visit *visit)
{
    if (visit->feed != NULL && tr_door_exchange_has_begun(visit->exchange)) {
        tr_door_exchange_end(visit->exchange, NULL, 0);
    }
}

void tri_web_stream_leave(struct tri_web_visit *visit)
{
    struct tr_web_feed *feed = visit->feed;
    if (feed == NULL) {
        return;
    }
    *visit->link = visit->next;
    if (visit->next != NULL) {
        visit->next->link = visit->link;
    }
    visit->feed = NULL;
    visit->web->stream_count--;
    drop_if_done(feed);
}

/* --------------------------------------------------------------------- the thread */

/* The door's thread: looks at what is due. */
static void turn(struct tr_web *web, bool has_changed)
{
    uint64_t now_ms = tr_clock_ms();
    struct tr_web_feed *next;
    for (struct tr_web_feed *feed = web->feeds; feed != NULL; feed = next) {
        next = feed->next;
        bool is_engines = (feed->route->flags & TR_WEB_OF_ENGINE) != 0;
        feed->is_changed |=
            is_engines ? now_ms >= feed->looked_ms + TR_WEB_ENGINE_EVENTS_MS : has_changed;
        if (now_ms >= feed->told_ms + TR_WEB_BEAT_MS) {
            write_all(feed, BEAT);
        }
        if (feed->batch_count > 0 && now_ms >= feed->send_ms) {
            send_batch(feed);
        }
        if (feed->is_changed && !feed->is_running && now_ms >= feed->next_ms) {
            look(feed);
        }
    }
    plan(web);
}

static void turn_changed(void *argument)
{
    turn(argument, true);
}

static void turn_timed(void *argument)
{
    turn(argument, false);
}

static void take_wake(const struct tr_web *web)
{
    uint64_t count;
    (void)!read(web->wake, &count, sizeof count);
}

/* While nobody watches, what changes is not even looked at. */
static void *watch(void *argument)
{
    struct tr_web *web = argument;
    while (!atomic_load(&web->is_stopping)) {
        uint32_t rest_ms = atomic_load(&web->rest_ms);
        bool is_watched = rest_ms != UINT32_MAX;
        struct pollfd wanted[] = {{.fd = web->wake, .events = POLLIN},
                                  {.fd = is_watched ? web->changes : -1, .events = POLLIN}};
        (void)poll(wanted, TR_COUNT_OF(wanted), is_watched ? (int)rest_ms : -1);
        bool has_changed = wanted[1].revents != 0;
        take_wake(web);
        if (atomic_load(&web->is_stopping)) {
            break;
        }
        if (has_changed) {
            tr_changes_take(web->changes);
        }
        if (is_watched) {
            (void)!tr_door_post(web->door, has_changed ? turn_changed : turn_timed, web);
            struct pollfd pause = {.fd = web->wake, .events = POLLIN};
            (void)poll(&pause, 1, TR_WEB_EVENTS_MS); /* what happens meanwhile waits in them */
        }
    }
    return NULL;
}

/* The thread begins with the first stream. */
static int begin_watcher(struct tr_web *web)
{
    int error = 0;
    if (web->has_watcher) {
        return 0;
    }
    if (web->wake < 0) {
        web->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        error = web->wake < 0 ? TR_SYSTEM : 0;
    }
    if (error == 0 && web->changes < 0) {
        error = tr_changes_open(web->options.folder, &web->changes);
    }
    atomic_store(&web->rest_ms, UINT32_MAX);
    if (error == 0) {
        error = tri_thread_start("troupe-streams", watch, web, &web->watcher);
    }
    web->has_watcher = error == 0;
    return error;
}

void tri_web_streams_stop(struct tr_web *web)
{
    atomic_store(&web->is_stopping, true);
    tri_web_follow_stop(web);
    if (web->has_watcher) {
        wake(web);
        (void)pthread_join(web->watcher, NULL);
        web->has_watcher = false;
    }
}

void tri_web_streams_free(struct tr_web *web)
{
    tri_web_follow_free(web);
    while (web->feeds != NULL) {
        struct tr_web_feed *feed = web->feeds;
        web->feeds = feed->next;
        feed_free(feed);
    }
    if (web->wake >= 0) {
        (void)close(web->wake);
    }
    if (web->changes >= 0) {
        (void)close(web->changes);
    }
}

/* ----------------------------------------------------------------------- joining one */

static struct tr_web_feed *find_feed(struct tr_web *web, const struct tr_door_request *request)
{
    for (struct tr_web_feed *feed = web->feeds; feed != NULL; feed = feed->next) {
        if (tr_text_equal(tr_text_of(feed->path), request->path) &&
            tr_text_equal(tr_text_of(feed->query), request->query)) {
            return feed;
        }
    }
    return NULL;
}

static struct tr_web_feed *feed_new(struct tri_web_visit *visit)
{
    const struct tr_door_request *request = tr_door_exchange_request(visit->exchange);
    struct tr_web *web = visit->web;
    struct tr_web_feed *feed = tr_alloc_zero(1, sizeof *feed);
    if (feed == NULL) {
        return NULL;
    }
    feed->web = web;
    feed->route = visit->job->request.route;
    feed->path = tr_text_copy(request->path);
    feed->query = tr_text_copy(request->query);
    tr_buffer_init(&feed->event, 0);
    tr_buffer_init(&feed->batch, 0);
    if (feed->path == NULL || feed->query == NULL) {
        feed_free(feed);
        return NULL;
    }
    feed->told_ms = tr_clock_ms();
    feed->next = web->feeds;
    web->feeds = feed;
    return feed;
}

static void join(struct tri_web_visit *visit, struct tr_web_feed *feed)
{
    struct tr_text known = tr_door_exchange_header(visit->exchange, "last-event-id");
    if (known.size < sizeof visit->known_tag && known.size > 0) {
        memcpy(visit->known_tag, known.data, known.size);
    }
    visit->feed = feed;
    visit->next = feed->visits;
    visit->link = &feed->visits;
    if (visit->next != NULL) {
        visit->next->link = &visit->next;
    }
    feed->visits = visit;
    visit->web->stream_count++;
}

bool tri_web_wants_events(const struct tri_web_visit *visit)
{
    struct tr_text accept = tr_door_exchange_header(visit->exchange, "accept");
    return accept.data != NULL &&
           memmem(accept.data, accept.size, EVENTS, sizeof EVENTS - 1) != NULL;
}

/* Whether what is asked for is a document. */
static bool is_document(const struct tr_web_route *route)
{
    return strcmp(route->method, "GET") == 0 && route->schema != NULL;
}

bool tri_web_stream_begin(struct tri_web_visit *visit)
{
    struct tr_web *web = visit->web;
    struct tr_web_job *job = visit->job;
    struct tr_web_feed *feed = NULL;
    if (!is_document(job->request.route) || !tri_web_wants_events(visit)) {
        return false;
    }
    if (web->stream_count == TR_WEB_STREAMS_MAX) {
        tr_web_job_refuse(job, TR_WEB_BUSY,
                          "there are %d streams of events already (TR_WEB_STREAMS_MAX)",
                          TR_WEB_STREAMS_MAX);
    } else if (atomic_load(&web->is_stopping)) {
        tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "the engine is leaving");
    } else {
        int error = begin_watcher(web);
        feed = error == 0 ? find_feed(web, tr_door_exchange_request(visit->exchange)) : NULL;
        feed = error == 0 && feed == NULL ? feed_new(visit) : feed;
        if (feed == NULL) {
            tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "%s",
                              error == TR_SYSTEM ? strerror(errno)
                                                 : tr_error_text(error != 0 ? error : TR_MEMORY));
        }
    }
    if (feed == NULL) {
        tri_web_answer(visit->exchange, job);
        return true;
    }
    join(visit, feed);
    if (feed->tag[0] != '\0') {
        show(visit);
    }
    if (!feed->is_running) {
        look(feed); /* nobody is shown what was there before he came */
    }
    plan(web);
    return true;
}
