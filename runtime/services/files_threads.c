/*
 * Passes the turn among threads: the thread that has it posts the semaphore of the next one and
 * waits for its own.
 *
 * Only the thread with the turn runs, so their shared state (the queue, the blob store, the
 * service) needs no lock: post and wait order the writes of one thread before the reads of the
 * next.
 *
 * A thread is in one of these states: it has the turn; it is parked within long work (its lane's
 * `parked`); it is away, as its work waits for something outside, such as a network (counted in
 * `away`); it is idle (in the list `idle`). Exactly one has the turn, from start to end. The
 * semaphore keeps a posted turn, so the next thread need not wait for it yet.
 *
 * A thread that is away touches nothing but its descriptor. When it wants the turn, it puts itself
 * on a list without a lock (`back`), and the thread with the turn parks it in its lane.
 *
 * Threads are made when long work meets other work, up to TR_FILES_THREADS_MAX, and are kept. At
 * the limit, long work keeps the turn and other work waits.
 */
#include "runtime/services/files_threads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/blob/blob_limits.h"
#include "runtime/env/env.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct files_thread {
    struct tri_files_threads *threads;
    pthread_t handle;
    sem_t turn;
    struct tri_files_lane *lane; /* the lane it serves; NULL: none */
    uint64_t since_ns;           /* start of its turn */
    struct files_thread *next_idle;
    struct files_thread *next_back;
};

/* How often a thread that is away checks whether the service is to stop. */
#define AWAY_MS 200

struct tri_files_threads {
    struct tri_files_threads_options options;
    struct tri_files_queue queue;
    struct tr_turn turn;
    struct files_thread *current; /* the thread with the turn */
    struct files_thread *idle;
    uint32_t away;
    _Atomic(struct files_thread *) back; /* those that were away and want the turn */
    int wake;                            /* an eventfd: there is one */
    struct files_thread all[TR_FILES_THREADS_MAX];
    uint32_t count;
    sem_t over; /* posted by the last thread that ends */
};

static bool is_stopping(const struct tri_files_threads *threads)
{
    return atomic_load_explicit(threads->options.is_stopping, memory_order_acquire);
}

static void wait_for_turn(struct files_thread *thread)
{
    while (sem_wait(&thread->turn) != 0 && errno == EINTR) {
    }
    thread->threads->current = thread;
    thread->since_ns = tri_monotonic_ns(thread->threads->options.env);
}

/*
 * Passes the turn and becomes idle until it gets the turn back.
 *
 * It enters the idle list before it posts: afterwards the list belongs to the other thread.
 */
static void pass_turn(struct files_thread *thread, struct files_thread *to)
{
    thread->next_idle = thread->threads->idle;
    thread->threads->idle = thread;
    sem_post(&to->turn);
    wait_for_turn(thread);
}

/*
 * Parks those that were away: their lanes get in line. The eventfd is read before the list, so one
 * that comes meanwhile is taken now or wakes the thread with the turn again.
 */
static void take_back(struct tri_files_threads *threads)
{
    eventfd_t rings;
    (void)!eventfd_read(threads->wake, &rings);
    struct files_thread *thread =
        atomic_exchange_explicit(&threads->back, NULL, memory_order_acquire);
    while (thread != NULL) {
        struct files_thread *next = thread->next_back;
        thread->lane->parked = thread;
        tri_files_queue_return(&threads->queue, thread->lane);
        threads->away--;
        thread = next;
    }
}

/* ---- The end. ------------------------------------------------------------------------------- */

/*
 * A parked or an idle thread; work that no thread has begun is dropped. At the end every thread
 * must run once more to stop: parked ones within their work, whose take_turn returns TR_CLOSED,
 * idle ones in `serve`.
 */
static struct files_thread *take_any(struct tri_files_threads *threads)
{
    struct tri_files_lane *lane;
    while ((lane = tri_files_queue_next(&threads->queue)) != NULL) {
        struct files_thread *parked = lane->parked;
        lane->parked = NULL;
        if (parked != NULL) {
            return parked;
        }
        tri_files_queue_drop(&threads->queue, lane);
    }
    struct files_thread *idle = threads->idle;
    threads->idle = idle == NULL ? NULL : idle->next_idle;
    return idle;
}

/*
 * The threads end one after the other, each with the turn, so nothing is ever shared. Those that
 * are away come back by themselves within AWAY_MS. The last one finds no other and wakes
 * tri_files_threads_stop.
 */
static void end(struct tri_files_threads *threads)
{
    struct files_thread *next;
    take_back(threads);
    while ((next = take_any(threads)) == NULL && threads->away > 0) {
        struct pollfd event = {.fd = threads->wake, .events = POLLIN};
        (void)poll(&event, 1, AWAY_MS);
        take_back(threads);
    }
    sem_post(next != NULL ? &next->turn : &threads->over);
}

/* ---- Work. ---------------------------------------------------------------------------------- */

/*
 * Does one piece of work of the lane's group. Within it this thread may be parked (take_turn) and
 * continue with a later turn.
 */
static void serve_lane(struct files_thread *thread, struct tri_files_lane *lane)
{
    struct tri_files_threads *threads = thread->threads;
    struct tri_files_work *work = tri_files_queue_take(&threads->queue, lane);
    thread->lane = lane;
    thread->since_ns = tri_monotonic_ns(threads->options.env);
    threads->options.work(threads->options.self, work);
    thread->lane = NULL;
    tr_free(work);
    tri_files_queue_return(&threads->queue, lane);
}

/*
 * The loop of the thread with the turn: queues received calls, and serves the next lane. A lane
 * whose work is parked gets its thread back.
 */
static void serve(struct files_thread *thread)
{
    struct tri_files_threads *threads = thread->threads;
    while (!is_stopping(threads)) {
        /*
         * New calls are queued before each piece of work, so a new group is served after the
         * waiting groups, not after all of their work.
         */
        threads->options.hear(threads->options.self, &threads->queue);
        take_back(threads);
        struct tri_files_lane *lane = tri_files_queue_next(&threads->queue);
        if (lane == NULL) {
            threads->options.wait(threads->options.self);
        } else if (lane->parked != NULL) {
            struct files_thread *parked = lane->parked;
            lane->parked = NULL;
            pass_turn(thread, parked);
        } else {
            serve_lane(thread, lane);
        }
    }
    end(threads);
}

static void *thread_main(void *argument)
{
    struct files_thread *thread = argument;
    wait_for_turn(thread);
    serve(thread);
    return NULL;
}

/* The first thread opens the blob store, so that starting the service does not wait for it. */
static void *first_main(void *argument)
{
    struct files_thread *thread = argument;
    struct tri_files_threads *threads = thread->threads;
    if (threads->options.open(threads->options.self) != 0) {
        sem_post(&threads->over);
        return NULL;
    }
    return thread_main(thread);
}

/* ---- Turns. --------------------------------------------------------------------------------- */

/* Starts one more thread; NULL at the limit, or on failure. */
static struct files_thread *new_thread(struct tri_files_threads *threads, void *(*begin)(void *))
{
    if (threads->count == TR_FILES_THREADS_MAX) {
        return NULL;
    }
    struct files_thread *thread = &threads->all[threads->count];
    *thread = (struct files_thread){.threads = threads};
    if (sem_init(&thread->turn, 0, 0) != 0 ||
        pthread_create(&thread->handle, NULL, begin, thread) != 0) {
        return NULL;
    }
    threads->count++;
    return thread;
}

static struct files_thread *take_idle(struct tri_files_threads *threads)
{
    struct files_thread *idle = threads->idle;
    if (idle == NULL) {
        return new_thread(threads, thread_main);
    }
    threads->idle = idle->next_idle;
    return idle;
}

/* Waits for the next turn, if another group has work and another thread is available. */
static void park(struct files_thread *thread)
{
    struct tri_files_threads *threads = thread->threads;
    struct files_thread *other = threads->queue.first == NULL ? NULL : take_idle(threads);
    if (other == NULL) {
        thread->since_ns = tri_monotonic_ns(threads->options.env);
        return;
    }
    /*
     * The lane goes to the end of the queue with its thread in it. The thread that reaches it there
     * passes the turn back, so calls of one group never run at once.
     */
    thread->lane->parked = thread;
    tri_files_queue_return(&threads->queue, thread->lane);
    sem_post(&other->turn);
    wait_for_turn(thread);
}

/*
 * Called from within long work, by the thread with the turn: after TR_FILES_TURN_MS it yields to
 * other groups. TR_CLOSED aborts the work.
 */
static int take_turn(void *self)
{
    struct tri_files_threads *threads = self;
    struct files_thread *thread = threads->current;
    uint64_t passed_ns = tri_monotonic_ns(threads->options.env) - thread->since_ns;
    if (thread->lane != NULL && passed_ns >= TR_FILES_TURN_MS * 1000000ULL &&
        !is_stopping(threads)) {
        threads->options.hear(threads->options.self, &threads->queue);
        take_back(threads);
        park(thread);
    }
    return is_stopping(threads) ? TR_CLOSED : 0;
}

/* Waits for a descriptor, for at most AWAY_MS at a time; not with the turn, if it can be passed. */
static void wait_outside(const struct tri_files_threads *threads, int descriptor, int timeout_ms)
{
    int left_ms = timeout_ms;
    int ready = 0;
    while (ready == 0 && left_ms > 0 && !is_stopping(threads)) {
        struct pollfd event = {.fd = descriptor, .events = POLLIN};
        int slice_ms = left_ms < AWAY_MS ? left_ms : AWAY_MS;
        ready = poll(&event, 1, slice_ms);
        left_ms -= slice_ms;
    }
}

/*
 * Called from within long work, by the thread with the turn: others have it until this one is back.
 * At the limit of threads it keeps the turn for one slice.
 */
static int wait_away(void *self, int descriptor, int timeout_ms)
{
    struct tri_files_threads *threads = self;
    struct files_thread *thread = threads->current;
    struct files_thread *other = thread->lane == NULL ? NULL : take_idle(threads);
    if (other == NULL) {
        wait_outside(threads, descriptor, timeout_ms < AWAY_MS ? timeout_ms : AWAY_MS);
        return is_stopping(threads) ? TR_CLOSED : 0;
    }
    threads->away++;
    sem_post(&other->turn);
    wait_outside(threads, descriptor, timeout_ms);
    thread->next_back = atomic_load_explicit(&threads->back, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&threads->back, &thread->next_back, thread,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    (void)!eventfd_write(threads->wake, 1);
    wait_for_turn(thread);
    return is_stopping(threads) ? TR_CLOSED : 0;
}

int tri_files_threads_fd(const struct tri_files_threads *threads)
{
    return threads->wake;
}

const struct tr_turn *tri_files_threads_turn(const struct tri_files_threads *threads)
{
    return &threads->turn;
}

size_t tri_files_threads_waiting(const struct tri_files_threads *threads)
{
    return atomic_load_explicit(&threads->queue.count, memory_order_relaxed);
}

/* ---- Start and stop. ------------------------------------------------------------------------ */

int tri_files_threads_start(const struct tri_files_threads_options *options,
                            struct tri_files_threads **out)
{
    struct tri_files_threads *threads = tr_alloc_zero(1, sizeof *threads);
    if (threads == NULL) {
        return TR_MEMORY;
    }
    threads->options = *options;
    threads->turn = (struct tr_turn){.take = take_turn, .wait = wait_away, .self = threads};
    threads->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *out = threads; /* before the first thread uses it */
    struct files_thread *first = threads->wake < 0 || sem_init(&threads->over, 0, 0) != 0
                                     ? NULL
                                     : new_thread(threads, first_main);
    if (first == NULL) {
        /* Freeing may change errno, which the caller reports. */
        int number = errno;
        if (threads->wake >= 0) {
            close(threads->wake);
        }
        tr_free(threads);
        *out = NULL;
        errno = number;
        return TR_SYSTEM;
    }
    sem_post(&first->turn);
    return 0;
}

void tri_files_threads_stop(struct tri_files_threads *threads)
{
    if (threads == NULL) {
        return;
    }
    while (sem_wait(&threads->over) != 0 && errno == EINTR) {
    }
    for (uint32_t i = 0; i < threads->count; i++) {
        pthread_join(threads->all[i].handle, NULL);
        sem_destroy(&threads->all[i].turn);
    }
    sem_destroy(&threads->over);
    tri_files_queue_fini(&threads->queue);
    close(threads->wake);
    tr_free(threads);
}
