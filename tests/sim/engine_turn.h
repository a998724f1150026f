/*
 * The engine's behaviours, wrapped for a world.
 */
#ifndef TR_TESTS_SIM_ENGINE_TURN_H
#define TR_TESTS_SIM_ENGINE_TURN_H

#include "tests/sim/engine.h"

extern const struct tr_behaviour *sim_engine_behaviours[];
extern const size_t sim_engine_behaviour_count;

extern const struct tr_schema *sim_engine_records[];
extern const size_t sim_engine_record_count;

/* Fills the tables above; once is enough. */
void sim_engine_wrap(void);

/* The handler of the actor whose turn it is, unspoilt. */
int sim_engine_handle(struct tr_context *context, void *state, const struct tr_message *message);

/* The same, with the clock that people set in place of the steady one. */
int sim_engine_handle_by_wall(struct tr_context *context, void *state,
                              const struct tr_message *message);

/* Whether such an actor is there at the end, too. */
bool sim_engine_stays(const struct tr_behaviour *behaviour);

#endif
