/*
 * What the tests of the simulator's plays have in common: seeds that must be sound, and that a seed
 * is a run.
 */
#ifndef TR_TESTS_SUPPORT_SEEDS_H
#define TR_TESTS_SUPPORT_SEEDS_H

#include "tests/sim/world.h"
#include "tests/support/test.h"

/* How many seeds a test runs of its play; and how many now: TROUPE_TEST_LONG wants more. */
#define SEEDS 300
uint64_t seeds_wanted(void);

/* Runs a seed. A finding ends the process, with the command that replays it. */
struct sim_result seeds_run(const struct sim_play *play, uint64_t seed);

/* None of the seeds that are wanted has a finding. */
void seeds_find_nothing(const struct sim_play *play);

/* Some seeds go the same way twice, and each another one than the next. */
void seeds_go_their_ways(const struct sim_play *play);

/* Something that runs are to see has been seen so often, and not never. */
void seeds_have_seen(const char *name, uint64_t count);

#endif
