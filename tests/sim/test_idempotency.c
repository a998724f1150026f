/*
 * The play `idempotency`: some hundred seeds without a finding, in which everything was seen
 * that there is to see.
 */
#include "tests/sim/idempotency.h"
#include "tests/support/seeds.h"

static void finds_nothing_in_sound_seeds(void **state)
{
    (void)state;
    seeds_find_nothing(&sim_idempotency_play);
}

static void has_seen_everything(void **state)
{
    (void)state;
#define SEEN(name) seeds_have_seen(#name, sim_idempotency_seen.name);
    SIM_IDEMPOTENCY_SEEN(SEEN)
#undef SEEN
}

static void takes_the_same_way_twice(void **state)
{
    (void)state;
    seeds_go_their_ways(&sim_idempotency_play);
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
