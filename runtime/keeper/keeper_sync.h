/*
 * Getting the files of ended processes onto the disk before their ends are written down, in a
 * thread of its own: what one task has written may take long, and the keeper has others to see to.
 *
 *     tri_keeper_sync_give(&sync, &job);               a process has ended
 *     ... poll tri_keeper_sync_descriptor(&sync) ...
 *     while ((job = tri_keeper_sync_take(&sync)) != NULL) { its end can be written down }
 *
 * What has ended meanwhile is one batch. A few folders are synced file by file, so that a task does
 * not wait for what others write to the same file system; many at once by syncfs, which for small
 * files takes a fifth of that.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_SYNC_H
#define TR_RUNTIME_KEEPER_KEEPER_SYNC_H

#include <pthread.h>
#include <stdatomic.h>

#include "schemas/codec/base.h"

/* A folder to be synced. It belongs to the thread from give to take. */
struct tri_sync_job {
    struct tri_sync_job *next;
    const char *folder; /* absolute; with all below it, and the folders above it in the store */
    void *user;         /* the caller's own */
    const char *made;   /* names that were there before, each with its zero, and one more */
    int number;         /* afterwards: 0, or the errno of what could not be written */
};

struct tri_keeper_sync {
    int store; /* the store's folder, the caller's */
    int wake;  /* eventfds */
    int done;
    pthread_t thread;
    atomic_bool is_stopping;
    _Atomic(struct tri_sync_job *) given;    /* the latest first */
    _Atomic(struct tri_sync_job *) finished; /* the same */
    struct tri_sync_job *taken;              /* in order, for the caller's thread */
};

/* Starts the thread. TR_SYSTEM: there is nothing to end. */
TR_MUST_USE int tri_keeper_sync_init(struct tri_keeper_sync *sync, int store);

/* Waits for what is under way, and ends the thread. */
void tri_keeper_sync_fini(struct tri_keeper_sync *sync);

void tri_keeper_sync_give(struct tri_keeper_sync *sync, struct tri_sync_job *job);

/* The next job that is done, or NULL. */
struct tri_sync_job *tri_keeper_sync_take(struct tri_keeper_sync *sync);

/* Readable when there may be something to take. */
static inline int tri_keeper_sync_descriptor(const struct tri_keeper_sync *sync)
{
    return sync->done;
}

#endif
