/*
 * One list under one lock. A thread holds it while it waits and while it takes, never at work.
 */
#include "deploy/common/work_queue.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "deploy/common/clock.h"
#include "schemas/codec/error.h"

void tr_work_list_add(struct tr_work_list *list, struct tr_work *work)
{
    work->next = NULL;
    if (list->first == NULL) {
        list->first = work;
    } else {
        list->last->next = work;
    }
    list->last = work;
    list->count++;
}

struct tr_work *tr_work_list_take(struct tr_work_list *list)
{
    struct tr_work *work = list->first;
    if (work != NULL) {
        list->first = work->next;
        list->count--;
    }
    return work;
}

/* ------------------------------------------------------------------ threads */

/* Waits for something to do; `may_rest`: no longer than rest_ms. False: nothing came within it. */
static bool wait_for_work(struct tr_work_queue *queue, bool may_rest)
{
    struct timespec until = {.tv_sec = 0};
    int error = 0;
    if (may_rest) {
        until = tr_clock_after(queue->options.rest_ms);
    }
    while (error == 0 && queue->waiting.count == 0 && !queue->is_stopping) {
        error = may_rest ? pthread_cond_clockwait(&queue->changed, &queue->mutex, CLOCK_MONOTONIC,
                                                  &until)
                         : pthread_cond_wait(&queue->changed, &queue->mutex);
    }
    return queue->waiting.count > 0 || queue->is_stopping;
}

/* With the lock: the next list; false: there will be none. */
static bool take(struct tr_work_thread *thread, struct tr_work_list *taken)
{
    struct tr_work_queue *queue = thread->queue;
    size_t taken_max = queue->options.taken_max == 0 ? 1 : queue->options.taken_max;
    if (!wait_for_work(queue, queue->options.rest != NULL)) {
        pthread_mutex_unlock(&queue->mutex);
        queue->options.rest(thread->self);
        pthread_mutex_lock(&queue->mutex);
        (void)wait_for_work(queue, false);
    }
    while (queue->waiting.count > 0 && taken->count < taken_max) {
        tr_work_list_add(taken, tr_work_list_take(&queue->waiting));
    }
    return taken->count > 0;
}

/* Of this thread alone, as Linux has it. Where it is not allowed it works as all do. */
static void yield(void)
{
    id_t thread = (id_t)syscall(SYS_gettid);
    int nice = getpriority(PRIO_PROCESS, thread) + TR_WORK_NICER;
    (void)setpriority(PRIO_PROCESS, thread, nice);
}

static void *run(void *argument)
{
    struct tr_work_thread *thread = argument;
    struct tr_work_queue *queue = thread->queue;
    struct tr_work_list taken = {.count = 0};
    if (queue->options.yields) {
        yield();
    }
    pthread_mutex_lock(&queue->mutex);
    while (take(thread, &taken)) {
        bool is_stopping = queue->is_stopping;
        pthread_mutex_unlock(&queue->mutex);
        queue->options.do_work(thread->self, &taken, is_stopping);
        pthread_mutex_lock(&queue->mutex);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

/* ------------------------------------------------------------------ a queue */

void tr_work_queue_init(struct tr_work_queue *queue, const struct tr_work_options *options)
{
    *queue = (struct tr_work_queue){.options = *options};
    (void)pthread_mutex_init(&queue->mutex, NULL);
    (void)pthread_cond_init(&queue->changed, NULL);
}

void tr_work_queue_fini(struct tr_work_queue *queue)
{
    TR_ASSERT(queue->thread_count == 0);
    (void)pthread_cond_destroy(&queue->changed);
    (void)pthread_mutex_destroy(&queue->mutex);
}

int tr_work_queue_begin(struct tr_work_queue *queue, void *self)
{
    if (queue->thread_count == TR_WORK_THREADS_MAX) {
        return TR_LIMIT;
    }
    struct tr_work_thread *thread = &queue->threads[queue->thread_count];
    *thread = (struct tr_work_thread){.queue = queue, .self = self};
    int number = pthread_create(&thread->thread, NULL, run, thread);
    if (number != 0) {
        errno = number;
        return TR_SYSTEM;
    }
    queue->thread_count++;
    return 0;
}

enum tr_work_taken tr_work_queue_add(struct tr_work_queue *queue, struct tr_work *work)
{
    size_t waiting_max = queue->options.waiting_max;
    pthread_mutex_lock(&queue->mutex);
    bool is_full = waiting_max > 0 && queue->waiting.count >= waiting_max;
    enum tr_work_taken taken = queue->is_stopping ? TR_WORK_STOPPING
                               : is_full          ? TR_WORK_FULL
                                                  : TR_WORK_TAKEN;
    if (taken == TR_WORK_TAKEN) {
        tr_work_list_add(&queue->waiting, work);
        (void)pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->mutex);
    return taken;
}

void tr_work_queue_stop(struct tr_work_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->is_stopping = true;
    (void)pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    while (queue->thread_count > 0) {
        queue->thread_count--;
        (void)pthread_join(queue->threads[queue->thread_count].thread, NULL);
    }
}
