/*
 * Slow handlers: counted in the metrics, and in the flight recorder with actor and time.
 *
 * Nobody pays for it per message. A slice reads the clock at its end; when it took long and ran one
 * actor, that one was slow. When it ran several, the next slices are timed run by run, so that one
 * that is slow again is found.
 */
#ifndef TR_RUNTIME_HOST_SLOW_H
#define TR_RUNTIME_HOST_SLOW_H

#include "runtime/actor/deliver.h"

/* Runs an actor and measures it. */
void tri_slow_run(struct tri_worker *worker, struct tri_actor *actor);

/* The end of a slice that ran so many actors for so long; the last one, and its behaviour. */
void tri_slow_slice(struct tri_worker *worker, uint64_t took_ns, uint32_t run_count,
                    struct tr_key actor, uint8_t behaviour);

#endif
