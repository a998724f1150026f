/*
 * Syncs the files of ended processes before their ends are logged, in a thread of its own: one
 * task's output may take long, and must not delay the keeper.
 *
 *     tri_keeper_sync_give(&sync, &job);               a process has ended
 *     ... poll tri_keeper_sync_descriptor(&sync) ...
 *     while ((job = tri_keeper_sync_take(&sync)) != NULL) { its end can be logged }
 *
 * All folders that wait form one batch. A few are synced file by file, so that a task does not wait
 * for other writes to the same file system; many at once by syncfs, which for small files takes a
 * fifth of the time.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_SYNC_H
#define TR_RUNTIME_KEEPER_KEEPER_SYNC_H

#include <pthread.h>
#include <stdatomic.h>

#include "schemas/codec/base.h"

/* A folder to be synced. The job belongs to the thread from give to take. */
struct tri_sync_job {
    struct tri_sync_job *next;
    const char *folder; /* absolute; synced with all below it, and its parents up to the store */
    void *user;         /* the caller's own */
    const char *made;   /* names to ignore, each zero-terminated, and one more zero */
    int number;         /* result: 0, or an errno */
};

struct tri_keeper_sync {
    int store; /* the store's folder, the caller's */
    int wake;  /* eventfds */
    int done;
    pthread_t thread;
    atomic_bool is_stopping;
    _Atomic(struct tri_sync_job *) given;    /* newest first */
    _Atomic(struct tri_sync_job *) finished; /* the same */
    struct tri_sync_job *taken;              /* in order, for the caller's thread */
};

/* Starts the thread. TR_SYSTEM: nothing to fini. */
TR_MUST_USE int tri_keeper_sync_init(struct tri_keeper_sync *sync, int store);

/* Finishes the given jobs and joins the thread. */
void tri_keeper_sync_fini(struct tri_keeper_sync *sync);

void tri_keeper_sync_give(struct tri_keeper_sync *sync, struct tri_sync_job *job);

/* The next finished job, or NULL. */
struct tri_sync_job *tri_keeper_sync_take(struct tri_keeper_sync *sync);

/* Readable when a job may be finished. */
static inline int tri_keeper_sync_descriptor(const struct tri_keeper_sync *sync)
{
    return sync->done;
}

#endif
