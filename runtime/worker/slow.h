/*
 * Detects slow handlers: counted in the metrics, and in the flight recorder with actor and time.
 *
 * There is no cost per message. A slice reads the clock at its end; if it took long and ran one
 * actor, that one was slow. If it ran several, the runs of the next slices are timed, so that an
 * actor that is slow again is found.
 */
#ifndef TR_RUNTIME_WORKER_SLOW_H
#define TR_RUNTIME_WORKER_SLOW_H

#include "runtime/actor/deliver.h"

/* Runs an actor and measures its time. */
void tri_slow_run(struct tri_worker *worker, struct tri_actor *actor);

/* The end of a slice: its duration and number of runs; the last actor, and its behaviour. */
void tri_slow_slice(struct tri_worker *worker, uint64_t took_ns, uint32_t run_count,
                    struct tr_key actor, uint8_t behaviour);

#endif
