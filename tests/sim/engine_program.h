/*
 * What the programs of the engine's play and of the idempotency play do alike: graphs from a seed
 * to the registry of a host, actors that are spawned one behind the other, and what these are told.
 */
#ifndef TR_TESTS_SIM_ENGINE_PROGRAM_H
#define TR_TESTS_SIM_ENGINE_PROGRAM_H

#include "tests/sim/engine.h"

/* Another graph of a stage, from the text of its definition. */
void sim_stage_add_graph(struct sim_stage *stage, struct tr_text text);

/* Another execution, as `drawn` has it, with inputs and a name of its own. */
void sim_stage_add_execution(struct sim_stage *stage, const struct sim_execution *drawn,
                             struct sim_random *random);

/* What every stage has: what keeps account of its jobs, decisions and history, from `begin` on. */
void sim_stage_begin(struct sim_stage *stage, struct sim_world *world);
void sim_stage_end(struct sim_stage *stage);

/*
 * As a program does at its start: settings, and graphs from the store's folder in the graph
 * registry.
 */
void sim_engine_open(const struct sim_host *host, struct tr_engine *engine);

/*
 * The first of `count` members that is wanted and is not there, by what it was spawned as; `count`:
 * all are.
 */
uint32_t sim_engine_next_member(const struct sim_host *host, const struct tr_ref *refs,
                                uint32_t count,
                                bool (*is_wanted)(const struct sim_host *host, uint32_t member));

/* Tells the resource manager the quota; false: it moves, and is to be told later. */
bool sim_engine_tell_quota(struct sim_host *host, struct tr_ref resources);

/* Tells an actor to begin, if it is a client that is new; whether it was. */
bool sim_engine_begin_client(struct sim_host *host, const struct tri_worker *worker,
                             struct tri_actor *actor, struct tr_ref client, struct tr_ref launcher);

#endif
