/*
 * A thread that removes folders, so that making new ones does not wait for the disk to take
 * back old ones. It is handed names through a socket and owns nothing else.
 *
 *     tri_sweep_start(store_folder, &sweep);
 *     if (!tri_sweep_take(sweep, path)) ... full: remove it yourself ...
 *     tri_sweep_stop(sweep);
 *
 * All functions are for the thread that started it.
 */
#ifndef TR_RUNTIME_KEEPER_SWEEP_H
#define TR_RUNTIME_KEEPER_SWEEP_H

#include "runtime/process/attempt_limits.h"
#include "runtime/process/shared.h"
#include "schemas/codec/base.h"

struct tri_sweep;

/* Starts the thread for folders below the store's. TR_MEMORY, TR_SYSTEM (errno). */
TR_MUST_USE int tri_sweep_start(const char *store_folder, struct tri_sweep **sweep);

/*
 * Hands over a folder by its absolute name; what tri_attempt_folder_remove would refuse is left
 * alone. False: too many wait (or the name is too long), and it was not taken. Never blocks.
 */
TR_MUST_USE bool tri_sweep_take(struct tri_sweep *sweep, struct tr_text path);

/*
 * Hands over a folder on a share; what tri_shared_remove would refuse is left alone. Nobody else
 * removes these, since a share may hang, so what finds no place waits in memory, and goes on with
 * tri_sweep_go_on. False: TR_SHARED_WAITING_MAX wait, or there is no memory; it stays.
 */
TR_MUST_USE bool tri_sweep_take_shared(struct tri_sweep *sweep, const struct tri_shared *shared);

/* Hands on what waits, as far as there is room now. Never blocks; NULL is fine. */
void tri_sweep_go_on(struct tri_sweep *sweep);

/*
 * Waits until all that was taken is gone, and ends; of folders on shares that wait, those for which
 * there is room within TR_SHARED_LAST_MS. NULL is fine.
 */
void tri_sweep_stop(struct tri_sweep *sweep);

#endif
