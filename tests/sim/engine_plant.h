/*
 * Faults planted in the engine: what a mistake in one of its actors would do.
 */
#ifndef TR_TESTS_SIM_ENGINE_PLANT_H
#define TR_TESTS_SIM_ENGINE_PLANT_H

#include "tests/sim/inject.h"

extern const struct sim_plant sim_engine_plants[];
extern const size_t sim_engine_plant_count;

#endif
