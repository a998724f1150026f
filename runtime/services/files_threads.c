/*
 * Passes the turn among threads: the thread that has it posts the semaphore of the next one and
 * waits for its own.
 *
 * Only the thread with the turn runs, so their shared state (the queue, the blob store, the
 * service) needs no lock: post and wait order the writes of one thread before the reads of the
 * next.
 *
 * A thread is in one of these states: it has the turn; it is parked within long work (its lane's
 * `parked`); it is idle (in the list `idle`). Exactly one has the turn, from start to end. The
 * semaphore keeps a posted turn, so the next thread need not wait for it yet.
 *
 * Threads are made when long work meets other work, up to TR_FILES_THREADS_MAX, and are kept. At
 * the limit, long work keeps the turn and other work waits.
 */
#include "runtime/services/files_threads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

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
};

struct tri_files_threads {
    struct tri_files_threads_options options;
    struct tri_files_queue queue;
    struct tr_turn turn;
    struct files_thread *current; /* the thread with the turn */
    struct files_thread *idle;
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
 * The threads end one after the other, each with the turn, so nothing is ever shared. The last one
 * finds no other and wakes tri_files_threads_stop.
 */
static void end(struct tri_files_threads *threads)
{
    struct files_thread *next = take_any(threads);
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
        park(thread);
    }
    return is_stopping(threads) ? TR_CLOSED : 0;
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
    threads->turn = (struct tr_turn){.take = take_turn, .self = threads};
    *out = threads; /* before the first thread uses it */
    struct files_thread *first =
        sem_init(&threads->over, 0, 0) != 0 ? NULL : new_thread(threads, first_main);
    if (first == NULL) {
        /* Freeing may change errno, which the caller reports. */
        int number = errno;
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
    tr_free(threads);
}
