/*
 * The watchdog's thread. It reads the workers' turns, which are atomic, and nothing else until it
 * has found a stuck handler: then the worker changes nothing any more, and the process is about to
 * end.
 *
 * The order of the end: the file for the next start records that a handler was stuck; stderr gets
 * the certain facts, then data from the worker's memory, which may be wrong and crash; the stuck
 * thread gets SIGABRT, so that a core file shows its position; and if that does not end the
 * process, abort does.
 */
#include "runtime/host/watchdog.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/watch/crash.h"

#define NS_PER_MS 1000000ULL

/* Checks within the handler's time limit, and their minimum and maximum interval. */
#define LOOKS 8
#define LOOK_MS_MIN 1
#define LOOK_MS_MAX 250

/*
 * How long the stuck worker's thread may take to end the process itself, so that a core names it.
 */
#define END_MS 2000

/*
 * How long a crash in progress may take to end the process, and the exit status after that: a
 * shell's for SIGABRT, 128 + 6.
 */
#define CRASH_MS 30000
#define CRASH_STATUS 134

/* Names of an address to print, from the actor upwards. */
#define NAMES_MAX 16

struct tri_watchdog {
    struct tr_host *host;
    pthread_t thread;
    int stop_event;
    uint32_t stuck_ms;
    uint32_t look_ms;
    struct tri_watchdog_state turns[TR_WORKERS_MAX];
};

/*
 * A turn that has changed, or is even, means that the handler has returned since the last check.
 * Time counts from the first check that sees a turn, so a stuck handler is found late by at most
 * one interval and never early.
 */
uint64_t tri_watchdog_check(struct tri_watchdog_state *watched, uint64_t turn, uint64_t passed_ns,
                            uint64_t look_ns)
{
    bool is_handling = (turn & 1) != 0;
    if (!is_handling || turn != watched->turn) {
        *watched = (struct tri_watchdog_state){.turn = turn};
        return 0;
    }
    watched->stuck_ns += passed_ns < 2 * look_ns ? passed_ns : 2 * look_ns;
    return watched->stuck_ns;
}

/* The parent by the slot that the actor has: nothing is looked up or changed. */
static const struct tri_actor *parent_of(const struct tri_worker *worker,
                                         const struct tri_actor *actor)
{
    if (tr_key_is_none(actor->parent) || actor->parent_slot == 0) {
        return NULL;
    }
    const struct tri_actor *parent = tri_actor_at(worker, actor->parent_slot);
    return tr_key_equal(parent->key, actor->parent) ? parent : NULL;
}

static void print_address(struct tri_line *line, const struct tri_worker *worker,
                          const struct tri_actor *actor)
{
    const struct tri_actor *names[NAMES_MAX];
    size_t count = 0;
    while (actor != NULL && count < NAMES_MAX) {
        names[count++] = actor;
        actor = parent_of(worker, actor);
    }
    while (count > 0) {
        char buffer[TR_NAME_BYTES_MAX + 1];
        const struct tri_actor *named = names[--count];
        tri_line_string(line, (named->flags & TRI_ACTOR_ELEMENT) != 0 ? "" : "/");
        tri_line_text(line, tri_actor_name(named, buffer, sizeof buffer));
    }
}

/* Certain facts first, in a line of their own; then data from the worker's memory. */
static void tell_stuck(const struct tri_watchdog *watchdog, const struct tri_worker *worker)
{
    struct tri_line line;
    tri_line_init(&line, STDERR_FILENO);
    tri_line_number(&line, "troupe: a handler has not returned for ", watchdog->stuck_ms);
    tri_line_string(&line, " ms: ");
    tri_crash_print_message(&line, worker);
    tri_line_flush(&line);
    const struct tri_actor *actor = worker->context.actor;
    struct tr_key key = {worker->current_message->actor_group,
                         worker->current_message->actor_serial};
    if (actor != NULL && tr_key_equal(actor->key, key)) {
        tri_line_string(&line, "troupe: it is ");
        print_address(&line, worker, actor);
        tri_line_string(&line, ", behaviour ");
        tri_line_string(&line, tri_actor_behaviour(worker, actor)->name);
        tri_line_string(&line, "\n");
        tri_line_flush(&line);
    }
}

/*
 * Ends the process, on the stuck thread: a core file then shows its position. A handler that has
 * crashed does not return either: its process is ending already, and gets the time for a dump, a
 * core file and a sanitizer's report. The cause is recorded first: all that follows may fail.
 */
static _Noreturn void end_process(const struct tri_watchdog *watchdog, uint32_t worker)
{
    if (tri_crash_has_begun()) {
        poll(NULL, 0, CRASH_MS);
        _exit(CRASH_STATUS);
    }
    tri_current_message_end(watchdog->host->workers[worker].current_message, TRI_ENDED_STUCK);
    tell_stuck(watchdog, &watchdog->host->workers[worker]);
    pthread_kill(watchdog->host->threads[worker].thread, SIGABRT);
    poll(NULL, 0, END_MS);
    abort();
}

/* Checks every worker. */
static void look(struct tri_watchdog *watchdog, uint64_t passed_ns)
{
    uint64_t look_ns = watchdog->look_ms * NS_PER_MS;
    for (uint32_t i = 0; i < watchdog->host->shared.worker_count; i++) {
        struct tri_current_message *hand = watchdog->host->workers[i].current_message;
        uint64_t turn = atomic_load_explicit(&hand->turn, memory_order_acquire);
        uint64_t stuck_ns = tri_watchdog_check(&watchdog->turns[i], turn, passed_ns, look_ns);
        if (stuck_ns >= watchdog->stuck_ms * NS_PER_MS) {
            end_process(watchdog, i);
        }
    }
}

/* A thread of its own: a stuck worker cannot notice itself. */
static void *watchdog_main(void *argument)
{
    struct tri_watchdog *watchdog = argument;
    struct pollfd stop = {.fd = watchdog->stop_event, .events = POLLIN};
    uint64_t before_ns = tri_monotonic_ns(watchdog->host->env);
    while (poll(&stop, 1, (int)watchdog->look_ms) <= 0) {
        uint64_t now_ns = tri_monotonic_ns(watchdog->host->env);
        look(watchdog, now_ns - before_ns);
        before_ns = now_ns;
    }
    return NULL;
}

/* An eighth of the limit, so that a stuck handler is found at most an eighth too late. */
static uint32_t look_ms_of(uint32_t stuck_ms)
{
    uint32_t look_ms = stuck_ms / LOOKS;
    look_ms = look_ms < LOOK_MS_MIN ? LOOK_MS_MIN : look_ms;
    return look_ms > LOOK_MS_MAX ? LOOK_MS_MAX : look_ms;
}

int tri_watchdog_start(struct tr_host *host, struct tri_watchdog **out)
{
    struct tri_watchdog *watchdog = tr_alloc_zero(1, sizeof *watchdog);
    if (watchdog == NULL) {
        return TR_MEMORY;
    }
    watchdog->host = host;
    watchdog->stuck_ms = host->stuck_handler_ms != 0 ? host->stuck_handler_ms : TR_STUCK_HANDLER_MS;
    watchdog->look_ms = look_ms_of(watchdog->stuck_ms);
    watchdog->stop_event = eventfd(0, EFD_CLOEXEC);
    if (watchdog->stop_event < 0) {
        goto free_watchdog;
    }
    if (pthread_create(&watchdog->thread, NULL, watchdog_main, watchdog) != 0) {
        goto close_event;
    }
    *out = watchdog;
    return 0;

close_event:
    close(watchdog->stop_event);
free_watchdog:
    tr_free(watchdog);
    return TR_SYSTEM;
}

void tri_watchdog_stop(struct tri_watchdog *watchdog)
{
    if (watchdog == NULL) {
        return;
    }
    uint64_t one = 1;
    ssize_t written = write(watchdog->stop_event, &one, sizeof one);
    TR_ASSERT(written == (ssize_t)sizeof one);
    pthread_join(watchdog->thread, NULL);
    close(watchdog->stop_event);
    tr_free(watchdog);
}
