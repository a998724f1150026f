/*
 * The state of a worker: its actors as they are in memory between two messages, to be held against
 * what its batch says of them.
 */
#ifndef TR_TESTS_SIM_WORKER_STATE_H
#define TR_TESTS_SIM_WORKER_STATE_H

#include "runtime/actor/worker.h"

struct sim_worker_state;
struct sim_shadow;

/* All actors of a worker, their images, pages and the durable messages in their mailboxes. */
struct sim_worker_state *sim_worker_state_take(struct tri_worker *worker);
void sim_worker_state_free(struct sim_worker_state *worker_state);

/* Each of them must be in the shadow, byte for byte. */
void sim_worker_state_compare(const struct sim_worker_state *worker_state,
                              const struct sim_shadow *shadow, uint64_t number);

#endif
