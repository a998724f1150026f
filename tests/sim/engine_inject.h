/*
 * Faults injected in the engine: what a mistake in one of its actors would do.
 */
#ifndef TR_TESTS_SIM_ENGINE_INJECT_H
#define TR_TESTS_SIM_ENGINE_INJECT_H

#include "tests/sim/inject.h"

extern const struct sim_bug sim_engine_bugs[];
extern const size_t sim_engine_bug_count;

#endif
