/*
 * The worker's loop, and what enters and leaves it.
 *
 * tri_worker_step is one turn: read what came, let timers fire, run actors, send what was said. A
 * thread calls it in production (host.c), the simulator calls it for many workers in one thread.
 */
#ifndef TR_RUNTIME_HOST_WORKER_H
#define TR_RUNTIME_HOST_WORKER_H

#include "runtime/actor/deliver.h"

/* Makes a worker without a link. TR_MEMORY. */
TR_MUST_USE int tri_worker_init(struct tri_worker *worker, struct tri_shared *shared,
                                uint32_t index);
void tri_worker_fini(struct tri_worker *worker);

/* Sets the time of the slice: once before anything else, then in each step. */
void tri_worker_tell_time(struct tri_worker *worker);

/* One turn of the loop; whether there was anything to do. */
bool tri_worker_step(struct tri_worker *worker);

/* How long a worker with nothing to do may sleep. */
uint64_t tri_worker_idle_ns(const struct tri_worker *worker);

/* ------------------------------------------------------------- receive.c */

/* Takes in one frame: messages for actors, and what other places tell this worker. */
void tri_receive(struct tri_worker *worker, const struct tri_frame *frame);

#endif
