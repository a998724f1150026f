/*
 * The worker's loop. What it does with a frame is known above it (struct tri_worker, receive).
 *
 * tri_worker_step is one iteration: read frames, fire timers, run actors, send frames. A thread
 * calls it in production (host/host.c), the simulator calls it for many workers in one thread.
 */
#ifndef TR_RUNTIME_WORKER_WORKER_H
#define TR_RUNTIME_WORKER_WORKER_H

#include "runtime/actor/deliver.h"

/* Initializes a worker without a link. TR_MEMORY. */
TR_MUST_USE int tri_worker_init(struct tri_worker *worker, struct tri_shared *shared,
                                uint32_t index);
void tri_worker_fini(struct tri_worker *worker);

/* Sets the time of the slice: once before anything else, then in each step. */
void tri_worker_set_time(struct tri_worker *worker);

/* One iteration of the loop; returns whether there was anything to do. */
bool tri_worker_step(struct tri_worker *worker);

/* How long an idle worker may sleep. */
uint64_t tri_worker_idle_ns(const struct tri_worker *worker);

#endif
