/*
 * The real world: clocks that go forward, randomness that does not repeat.
 */
#include <time.h>

#include "runtime/env/env.h"
#include "tests/support/test.h"

static void test_clocks_agree_with_the_system(void **state)
{
    (void)state;
    struct tr_env *env;
    assert_int_equal(tri_env_real_new(&env), 0);
    uint64_t first = tri_monotonic_ns(env);
    for (int i = 0; i < 1000; i++) {
        uint64_t next = tri_monotonic_ns(env);
        assert_true(next >= first);
        first = next;
    }
    uint64_t seconds = tri_wall_ms(env) / 1000;
    uint64_t system = (uint64_t)time(NULL);
    assert_true(seconds + 2 >= system && seconds <= system + 2);
    tri_env_real_free(env);
}

static void test_randomness_does_not_repeat(void **state)
{
    (void)state;
    struct tr_env *env;
    uint64_t drawn[64];
    assert_int_equal(tri_env_real_new(&env), 0);
    for (size_t i = 0; i < TR_COUNT_OF(drawn); i++) {
        drawn[i] = tri_entropy(env);
        for (size_t k = 0; k < i; k++) {
            assert_true(drawn[i] != drawn[k]);
        }
    }
    tri_env_real_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks_agree_with_the_system),
        cmocka_unit_test(test_randomness_does_not_repeat),
    };
    return cmocka_run_group_tests_name("real", tests, NULL, NULL);
}
