/*
 * Seeds of the simulator's plays, run as a test does. A run that failed leaves its memory behind:
 * there is nothing to go on with.
 */
#include "tests/support/seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SEEDS_LONG 20000

uint64_t seeds_wanted(void)
{
    return getenv("TROUPE_TEST_LONG") != NULL ? SEEDS_LONG : SEEDS;
}

struct sim_result seeds_run(const struct sim_play *play, uint64_t seed)
{
    struct sim_result result = sim_run(play, seed, NULL, false);
    if (result.has_failed) {
        fprintf(stderr, "seed %llu: %s\nreplay: %s/simulate --play %s --seed %llu\n",
                (unsigned long long)seed, result.failure, TROUPE_BUILD_DIR, play->name,
                (unsigned long long)seed);
        fflush(stderr);
        _exit(1);
    }
    return result;
}

void seeds_find_nothing(const struct sim_play *play)
{
    for (uint64_t seed = 1; seed <= seeds_wanted(); seed++) {
        (void)seeds_run(play, seed);
    }
}

void seeds_go_their_ways(const struct sim_play *play)
{
    for (uint64_t seed = 10; seed <= SEEDS; seed += 29) {
        uint64_t first = seeds_run(play, seed).signature;
        assert_true(first == seeds_run(play, seed).signature);
        assert_true(first != seeds_run(play, seed + 1).signature);
    }
}

void seeds_have_seen(const char *name, uint64_t count)
{
    print_message("%s %llu\n", name, (unsigned long long)count);
    assert_true(count > 0);
}
