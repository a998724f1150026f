/*
 * The simulator as a test: some hundred seeds without a finding, and that they are worth something:
 * a seed is a run, another seed is another run, and every kind of fault has happened.
 */
#include "tests/support/seeds.h"

static struct sim_counts total;
static uint64_t signatures[SEEDS];

static void add_counts(const struct sim_counts *counts)
{
#define ADD_COUNT(name) total.name += counts->name;
    SIM_COUNTS(ADD_COUNT)
#undef ADD_COUNT
}

static void finds_nothing_in_sound_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= seeds_wanted(); seed++) {
        struct sim_result result = seeds_run(&sim_workload, seed);
        add_counts(&result.counts);
        if (seed <= SEEDS) {
            signatures[seed - 1] = result.signature;
        }
    }
}

static void has_seen_every_fault(void **state)
{
    (void)state;
#define ASSERT_SEEN(name) assert_true(total.name > 0);
    SIM_COUNTS(ASSERT_SEEN)
#undef ASSERT_SEEN
}

static void takes_the_same_way_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 10; seed <= SEEDS; seed += 29) {
        assert_true(seeds_run(&sim_workload, seed).signature == signatures[seed - 1]);
    }
}

static void takes_another_way_with_each_seed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SEEDS; i++) {
        for (uint32_t j = i + 1; j < SEEDS; j++) {
            assert_true(signatures[i] != signatures[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nothing_in_sound_seeds),
        cmocka_unit_test(has_seen_every_fault),
        cmocka_unit_test(takes_the_same_way_twice),
        cmocka_unit_test(takes_another_way_with_each_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
