/*
 * Work that waits for the disk, on threads of its own: whoever adds it goes on at once, and the
 * threads take it in the order in which it came.
 *
 *     struct job { struct tr_work work; ... };          what waits begins with a tr_work
 *     tr_work_queue_init(&queue, &(struct tr_work_options){.do_work = do_work});
 *     int error = tr_work_queue_begin(&queue, self);    a thread, which calls do_work(self, …)
 *     if (tr_work_queue_add(&queue, &job->work) ...)
 *     tr_work_queue_stop(&queue); tr_work_queue_fini(&queue);
 */
#ifndef TR_DEPLOY_COMMON_WORK_QUEUE_H
#define TR_DEPLOY_COMMON_WORK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/codec/base.h"

#define TR_WORK_THREADS_MAX 4

/* By so much threads that yield are nicer (nice(2)): a tenth of a processor that others want. */
#define TR_WORK_NICER 10

/* A piece of work, the first member of whatever it is. */
struct tr_work {
    struct tr_work *next;
};

/* Pieces in their order. All zero is none. */
struct tr_work_list {
    struct tr_work *first;
    struct tr_work *last;
    size_t count;
};

void tr_work_list_add(struct tr_work_list *list, struct tr_work *work);

/* Takes the first one off; NULL: there is none. */
struct tr_work *tr_work_list_take(struct tr_work_list *list);

struct tr_work_options {
    /* Does some work and leaves the list empty; from a stop on, with what still waited then. */
    void (*do_work)(void *self, struct tr_work_list *taken, bool is_stopping);
    void (*rest)(void *self); /* no work has come for rest_ms; NULL: nothing to do then */
    uint32_t rest_ms;
    size_t taken_max;   /* in one list; 0: one */
    size_t waiting_max; /* 0: as much as comes */
    bool yields;        /* its threads are TR_WORK_NICER than others, so as to delay nobody */
};

struct tr_work_queue {
    struct tr_work_options options;
    struct tr_work_thread {
        struct tr_work_queue *queue;
        void *self;
        pthread_t thread;
    } threads[TR_WORK_THREADS_MAX];
    size_t thread_count;
    pthread_cond_t changed;
    pthread_mutex_t mutex; /* of what follows */
    struct tr_work_list waiting;
    bool is_stopping;
};

/* Makes a queue without a thread; there, work waits. One of all zeros may be stopped and ended. */
void tr_work_queue_init(struct tr_work_queue *queue, const struct tr_work_options *options);

/* After tr_work_queue_stop. What was added to a queue without a thread is not freed. */
void tr_work_queue_fini(struct tr_work_queue *queue);

/* Begins one more thread. TR_SYSTEM (errno), TR_LIMIT. The thread of init, add and stop. */
TR_MUST_USE int tr_work_queue_begin(struct tr_work_queue *queue, void *self);

enum tr_work_taken { TR_WORK_TAKEN, TR_WORK_FULL, TR_WORK_STOPPING };

/* Adds a piece of work, which is the threads' from then on if it is taken. Any thread. */
TR_MUST_USE enum tr_work_taken tr_work_queue_add(struct tr_work_queue *queue, struct tr_work *work);

/* Takes no more, and returns when the threads have done what waited. Twice is fine. */
void tr_work_queue_stop(struct tr_work_queue *queue);

#endif
