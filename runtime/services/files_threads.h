/*
 * The threads of the files service. Exactly one has the turn, and only it may touch the service's
 * state; the others are parked in long work until their next turn, away while their work waits for
 * something outside, or idle. The turn passes between the pieces of long work if other groups have
 * work: so no lock is needed, and a group waits for at most one piece of each other group.
 */
#ifndef TR_RUNTIME_SERVICES_FILES_THREADS_H
#define TR_RUNTIME_SERVICES_FILES_THREADS_H

#include "runtime/blob/turn.h"
#include "runtime/services/files_queue.h"

struct tri_files_threads;

/* Callbacks, called by the thread that has the turn. */
struct tri_files_threads_options {
    struct tr_env *env;
    void *self;
    const atomic_bool *is_stopping;
    int (*open)(void *self); /* called once, first, by the first thread */
    void (*hear)(void *self,
                 struct tri_files_queue *queue); /* queues received calls and ended downloads */
    void (*work)(void *self, const struct tri_files_work *work);
    void (*wait)(void *self); /* waits for calls, and for tri_files_threads_fd */
};

/* Starts the first thread. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_files_threads_start(const struct tri_files_threads_options *options,
                                        struct tri_files_threads **threads);

/* Readable when a thread that was away wants its turn. */
int tri_files_threads_fd(const struct tri_files_threads *threads);

/* The turn, for long work to yield. */
const struct tr_turn *tri_files_threads_turn(const struct tri_files_threads *threads);

/* Length of the queue; any thread. */
size_t tri_files_threads_waiting(const struct tri_files_threads *threads);

/* Ends the threads after is_stopping was set: unfinished work is aborted. NULL is fine. */
void tri_files_threads_stop(struct tri_files_threads *threads);

#endif
