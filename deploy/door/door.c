/*
 * The door's thread: it waits for sockets, for what others post, and for deadlines.
 *
 * A turn takes what is ready, runs what was posted, lets libmicrohttpd work, sends what exchanges
 * have to say, looks at deadlines if one is due, and frees what is dead. With no client there is no
 * deadline, so a door that nobody asks for anything sleeps.
 */
#include "deploy/door/door.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "deploy/door/address.h"
#include "deploy/door/connection.h"
#include "runtime/env/clock.h"
#include "runtime/env/thread.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------- watching */

int tri_door_watch(struct tr_door *door, int descriptor, struct tri_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = watch}};
    return epoll_ctl(door->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : TR_SYSTEM;
}

void tri_door_rewatch(struct tr_door *door, int descriptor, struct tri_watch *watch,
                      uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = watch}};
    (void)epoll_ctl(door->epoll, EPOLL_CTL_MOD, descriptor, &event);
}

void tri_door_unwatch(struct tr_door *door, int descriptor)
{
    (void)epoll_ctl(door->epoll, EPOLL_CTL_DEL, descriptor, NULL);
}

void tri_door_due(struct tr_door *door, uint64_t time_ms)
{
    if (time_ms < door->look_ms) {
        door->look_ms = time_ms;
    }
}

/* ------------------------------------------------------------------- accepting */

static void watch_listeners(struct tr_door *door, bool is_accepting)
{
    door->is_accepting = is_accepting;
    for (size_t i = 0; i < door->listener_count; i++) {
        struct tri_listener *listener = &door->listeners[i];
        tri_door_rewatch(door, listener->socket, &listener->watch, is_accepting ? EPOLLIN : 0U);
    }
}

/* Without descriptors accepting rests: a listener would say again and again that somebody waits. */
static void on_client(struct tri_watch *watch, uint32_t events)
{
    struct tri_listener *listener = (struct tri_listener *)watch;
    struct tr_door *door = listener->door;
    (void)events;
    for (int i = 0; i < TR_DOOR_ACCEPTED_IN_A_TURN; i++) {
        int socket = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket >= 0) {
            tri_connection_accept(listener, socket);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            watch_listeners(door, false);
            tri_door_due(door, door->now_ms + TR_DOOR_REST_MS);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

/* -------------------------------------------------------------------- posting */

static void on_wakeup(struct tri_watch *watch, uint32_t events)
{
    struct tr_door *door =
        (struct tr_door *)((char *)watch - offsetof(struct tr_door, wakeup_watch));
    uint64_t count;
    (void)events;
    (void)!read(door->wakeup, &count, sizeof count);
}

static void wake(struct tr_door *door)
{
    const uint64_t one = 1;
    (void)!write(door->wakeup, &one, sizeof one);
}

int tr_door_post(struct tr_door *door, void (*run)(void *argument), void *argument)
{
    struct tri_door_post *post = tr_alloc(sizeof *post);
    if (post == NULL) {
        return TR_MEMORY;
    }
    *post = (struct tri_door_post){.run = run, .argument = argument};
    (void)pthread_mutex_lock(&door->lock);
    bool is_first = door->posts == NULL;
    *door->posts_end = post;
    door->posts_end = &post->next;
    (void)pthread_mutex_unlock(&door->lock);
    if (is_first) {
        wake(door); /* else the one that found none has done it */
    }
    return 0;
}

static void run_posts(struct tr_door *door)
{
    (void)pthread_mutex_lock(&door->lock);
    struct tri_door_post *post = door->posts;
    door->posts = NULL;
    door->posts_end = &door->posts;
    (void)pthread_mutex_unlock(&door->lock);
    while (post != NULL) {
        struct tri_door_post *next = post->next;
        post->run(post->argument);
        tr_free(post);
        post = next;
    }
}

/* ----------------------------------------------------------------- the thread */

static void look_at_deadlines(struct tr_door *door)
{
    struct tri_connection *next;
    door->look_ms = UINT64_MAX;
    door->looked_ms = door->now_ms;
    if (!door->is_accepting) {
        watch_listeners(door, true);
    }
    for (struct tri_connection *at = door->connections; at != NULL; at = next) {
        next = at->next;
        tri_door_due(door, tri_connection_look(at, door->now_ms));
    }
}

/* What is sent may tell handlers of room, who write more, which is marked again for this turn. */
static void flush(struct tr_door *door)
{
    while (door->dirty != NULL) {
        struct tri_connection *connection = door->dirty;
        door->dirty = connection->next_dirty;
        connection->is_dirty = false;
        tri_connection_flush(connection);
    }
}

/* When deadlines are looked at; UINT64_MAX: there is none. */
static uint64_t look_at_ms(const struct tr_door *door)
{
    uint64_t least_ms = door->looked_ms + TR_DOOR_LOOK_MS;
    return door->look_ms > least_ms ? door->look_ms : least_ms;
}

static int sleep_ms(const struct tr_door *door)
{
    uint64_t now_ms = tri_monotonic_ms();
    if (door->runs_http1) {
        return 0;
    }
    if (door->look_ms == UINT64_MAX) {
        return -1;
    }
    uint64_t look_ms = look_at_ms(door);
    uint64_t left_ms = look_ms > now_ms ? look_ms - now_ms : 0;
    return left_ms < INT32_MAX ? (int)left_ms : INT32_MAX;
}

static void turn(struct tr_door *door)
{
    struct epoll_event events[TR_DOOR_EVENTS];
    int count = epoll_wait(door->epoll, events, TR_DOOR_EVENTS, sleep_ms(door));
    door->now_ms = tri_monotonic_ms();
    for (int i = 0; i < count; i++) {
        struct tri_watch *watch = events[i].data.ptr;
        watch->ready(watch, events[i].events);
    }
    run_posts(door);
    if (door->runs_http1) {
        tri_http1_run(door);
    }
    flush(door);
    if (look_at_ms(door) <= door->now_ms) {
        look_at_deadlines(door);
        flush(door);
    }
    tri_connections_bury(door);
}

/* Clients of HTTP/2 are told to go elsewhere, as far as they listen. */
static void end_all(struct tr_door *door)
{
    run_posts(door);
    for (struct tri_connection *at = door->connections; at != NULL; at = at->next) {
        if (at->phase == TRI_CONNECTION_HTTP2) {
            tri_http2_leave(at, NGHTTP2_NO_ERROR);
        }
    }
    flush(door);
    tri_http1_close(door);
    while (door->connections != NULL) {
        tri_connection_close(door->connections);
    }
    tri_connections_bury(door);
}

/* Handlers are called when whoever opens it has it. */
static void *run(void *self)
{
    struct tr_door *door = self;
    (void)pthread_mutex_lock(&door->lock);
    (void)pthread_mutex_unlock(&door->lock);
    while (!atomic_load(&door->is_stopping)) {
        turn(door);
    }
    end_all(door);
    return NULL;
}

/* --------------------------------------------------------------- opening, closing */

static int listen_at(struct tr_door *door, const char *text, char *words)
{
    struct tri_listener *listener = &door->listeners[door->listener_count];
    struct tri_door_address address;
    char reason[TR_DOOR_WORDS_BYTES];
    int error = tri_door_address_read(text, door->tls != NULL, &address, words);
    if (error != 0) {
        return error;
    }
    *listener = (struct tri_listener){
        .watch = {.ready = on_client}, .door = door, .socket = -1, .is_unix = address.is_unix};
    error = tri_door_address_listen(&address, &listener->socket, reason);
    if (error != 0) {
        (void)snprintf(words, TR_DOOR_WORDS_BYTES, "nobody can listen at %.128s: %.200s", text,
                       reason);
        return error;
    }
    door->listener_count++;
    tri_door_address_print(listener->socket, listener->address);
    return tri_door_watch(door, listener->socket, &listener->watch, EPOLLIN);
}

/* As many connections as the process has descriptors to spare: half of them. */
static uint32_t bounded(uint32_t wanted)
{
    struct rlimit limit;
    uint32_t connections = wanted != 0 ? wanted : TR_DOOR_CONNECTIONS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < connections) {
        connections = (uint32_t)(limit.rlim_cur / 2);
    }
    return connections;
}

static int open_parts(struct tr_door *door, const struct tr_door_options *options, char *words)
{
    door->nghttp2 = tri_nghttp2_load(words);
    if (door->nghttp2 == NULL || !tri_microhttpd_is_there(words)) {
        return TR_SYSTEM;
    }
    (void)snprintf(words, TR_DOOR_WORDS_BYTES, "%s", tr_error_text(TR_MEMORY));
    door->room = tr_alloc(TR_DOOR_TURN_BYTES);
    door->epoll = epoll_create1(EPOLL_CLOEXEC);
    door->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (door->room == NULL || door->epoll < 0 || door->wakeup < 0) {
        return TR_MEMORY;
    }
    door->wakeup_watch.ready = on_wakeup;
    int error = tri_door_watch(door, door->wakeup, &door->wakeup_watch, EPOLLIN);
    if (error == 0) {
        error = tri_http2_open(door);
    }
    if (error == 0 && options->certificate != NULL) {
        error = tri_tls_open(door, options->certificate, options->key, words);
    }
    for (size_t i = 0; error == 0 && i < options->address_count; i++) {
        error = listen_at(door, options->addresses[i], words);
    }
    return error;
}

/* What other threads cannot reach any more. */
static void free_parts(struct tr_door *door)
{
    for (size_t i = 0; i < door->listener_count; i++) {
        if (door->listeners[i].is_unix) {
            (void)unlink(door->listeners[i].address + strlen("unix:"));
        }
        (void)close(door->listeners[i].socket);
    }
    tri_http1_close(door);
    tri_http2_close(door);
    tri_tls_close(door);
    if (door->wakeup >= 0) {
        (void)close(door->wakeup);
    }
    if (door->epoll >= 0) {
        (void)close(door->epoll);
    }
    (void)pthread_mutex_destroy(&door->lock);
    tr_free(door->room);
    tr_free(door);
}

int tr_door_open(const struct tr_door_options *options, char *words, struct tr_door **door)
{
    TR_ASSERT(options->address_count <= TR_DOOR_ADDRESSES_MAX);
    struct tr_door *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        (void)snprintf(words, TR_DOOR_WORDS_BYTES, "%s", tr_error_text(TR_MEMORY));
        return TR_MEMORY;
    }
    made->whole =
        (struct tr_door_part){.prefix = "", .handler = options->handler, .self = options->self};
    made->parts = options->parts;
    made->part_count = options->part_count;
    made->body_bytes_max =
        options->body_bytes_max != 0 ? options->body_bytes_max : TR_DOOR_BODY_BYTES_MAX;
    made->connections_max = bounded(options->connections_max);
    made->epoll = -1;
    made->wakeup = -1;
    made->posts_end = &made->posts;
    made->look_ms = UINT64_MAX;
    made->is_accepting = true;
    made->now_ms = tri_monotonic_ms();
    (void)pthread_mutex_init(&made->lock, NULL);
    int error = open_parts(made, options, words);
    (void)pthread_mutex_lock(&made->lock);
    if (error == 0) {
        error = tri_thread_start("troupe-door", run, made, &made->thread);
    }
    if (error == 0) {
        *door = made;
    }
    (void)pthread_mutex_unlock(&made->lock);
    if (error != 0) {
        free_parts(made);
    }
    return error;
}

void tr_door_close(struct tr_door *door)
{
    if (door != NULL) {
        atomic_store(&door->is_stopping, true);
        wake(door);
        (void)pthread_join(door->thread, NULL);
        free_parts(door);
    }
}

size_t tr_door_address_count(const struct tr_door *door)
{
    return door->listener_count;
}

const char *tr_door_address(const struct tr_door *door, size_t index)
{
    TR_ASSERT(index < door->listener_count);
    return door->listeners[index].address;
}
