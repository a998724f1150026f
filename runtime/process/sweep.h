/*
 * A thread that removes folders, so that making new ones does not wait for removals. It receives
 * names through a socket and owns nothing else.
 *
 *     tri_sweep_start(store_folder, &sweep);
 *     if (!tri_sweep_take(sweep, path)) ... full: the caller removes it ...
 *     tri_sweep_stop(sweep);
 *
 * All functions are for the thread that started it.
 */
#ifndef TR_RUNTIME_PROCESS_SWEEP_H
#define TR_RUNTIME_PROCESS_SWEEP_H

#include "runtime/process/attempt_limits.h"
#include "runtime/process/shared.h"
#include "schemas/codec/base.h"

struct tri_sweep;

/* Starts the thread for folders below the store's folder. TR_MEMORY, TR_SYSTEM (errno). */
TR_MUST_USE int tri_sweep_start(const char *store_folder, struct tri_sweep **sweep);

/*
 * Queues a folder by its absolute name; one that tri_attempt_folder_remove would refuse is left
 * alone. False: the queue is full or the name too long, and the folder was not queued. Never
 * blocks.
 */
TR_MUST_USE bool tri_sweep_take(struct tri_sweep *sweep, struct tr_text path);

/*
 * Queues a folder on a share; one that tri_shared_remove would refuse is left alone. Only this
 * thread removes these, since a share may hang: when the queue is full they wait in memory for
 * tri_sweep_go_on. False: TR_SHARED_WAITING_MAX wait, or there is no memory; the folder stays.
 */
TR_MUST_USE bool tri_sweep_take_shared(struct tri_sweep *sweep, const struct tri_shared *shared);

/* Moves waiting folders to the queue, as far as there is room. Never blocks; NULL is fine. */
void tri_sweep_go_on(struct tri_sweep *sweep);

/*
 * Removes all queued folders, then ends the thread; of the waiting folders on shares, those that
 * fit into the queue within TR_SHARED_LAST_MS. NULL is fine.
 */
void tri_sweep_stop(struct tri_sweep *sweep);

#endif
