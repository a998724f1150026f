/*
 * The grades in the simulator: some hundred seeds without a finding, in which everything was seen
 * that there is to see.
 */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/sim/grades.h"

#define SEEDS 300
#define SEEDS_LONG 20000

/* A run that failed leaves its memory behind: there is nothing to go on with. */
static struct sim_result run_sound(uint64_t seed)
{
    struct sim_result result = sim_run(&sim_grades_play, seed, NULL, false);
    if (result.has_failed) {
        fprintf(stderr, "seed %llu: %s\nreplay: %s/simulate --play grades --seed %llu\n",
                (unsigned long long)seed, result.failure, TROUPE_BUILD_DIR,
                (unsigned long long)seed);
        fflush(stderr);
        _exit(1);
    }
    return result;
}

static void finds_nothing_in_sound_seeds(void **state)
{
    (void)state;
    uint64_t count = getenv("TROUPE_TEST_LONG") != NULL ? SEEDS_LONG : SEEDS;
    for (uint64_t seed = 1; seed <= count; seed++) {
        (void)run_sound(seed);
    }
}

static void has_seen_everything(void **state)
{
    (void)state;
#define PRINT_SEEN(name) print_message(#name " %llu\n", (unsigned long long)sim_grades_seen.name);
    SIM_GRADES_SEEN(PRINT_SEEN)
#define ASSERT_SEEN(name) assert_true(sim_grades_seen.name > 0);
    SIM_GRADES_SEEN(ASSERT_SEEN)
#undef PRINT_SEEN
#undef ASSERT_SEEN
}

static void takes_the_same_way_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed <= SEEDS; seed += 29) {
        uint64_t first = run_sound(seed).signature;
        assert_true(first == run_sound(seed).signature);
        assert_true(first != run_sound(seed + 1).signature);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nothing_in_sound_seeds),
        cmocka_unit_test(has_seen_everything),
        cmocka_unit_test(takes_the_same_way_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
