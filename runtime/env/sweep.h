/*
 * A thread that removes folders, so that whoever makes new ones does not wait for the disk to take
 * back old ones. It is handed names through a socket and owns nothing else.
 *
 *     tri_sweep_start(store_folder, &sweep);
 *     if (!tri_sweep_take(sweep, path)) ... full: remove it yourself ...
 *     tri_sweep_stop(sweep);
 *
 * All functions are for the thread that started it.
 */
#ifndef TR_RUNTIME_ENV_SWEEP_H
#define TR_RUNTIME_ENV_SWEEP_H

#include "runtime/env/attempt_limits.h"
#include "runtime/env/shared.h"
#include "schemas/base.h"

struct tri_sweep;

/* Starts the thread for folders below the store's. TR_MEMORY, TR_SYSTEM (errno). */
TR_MUST_USE int tri_sweep_start(const char *store_folder, struct tri_sweep **sweep);

/*
 * Hands over a folder by its absolute name; what tri_attempt_folder_remove would refuse is left
 * alone. False: too many wait (or the name is too long), and it was not taken. Never blocks.
 */
TR_MUST_USE bool tri_sweep_take(struct tri_sweep *sweep, struct tr_text path);

/* The same of a folder on a share; what tri_shared_remove would refuse is left alone. */
TR_MUST_USE bool tri_sweep_take_shared(struct tri_sweep *sweep, const struct tri_shared *shared);

/* Waits until all that was taken is gone, and ends. NULL is fine. */
void tri_sweep_stop(struct tri_sweep *sweep);

#endif
