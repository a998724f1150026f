/*
 * History held against the model.
 */
#ifndef TR_TESTS_SIM_ENGINE_CHECK_H
#define TR_TESTS_SIM_ENGINE_CHECK_H

#include "tests/sim/world.h"

/* When nobody else lives: services hold nothing for anybody. */
void sim_engine_check_staying(struct sim_host *host, const struct tri_worker *worker,
                              struct tri_actor *actor);

/* When all is over: every execution of a host, every node and element of it. */
void sim_engine_check_end(struct sim_host *host);

/*
 * At any moment: where a pause has been passed on wholly and nothing is on its way, a workflow
 * inside one that is paused is paused, too.
 */
void sim_engine_check_pause(struct sim_host *host, const struct tri_worker *worker,
                            struct tri_actor *actor);

#endif
