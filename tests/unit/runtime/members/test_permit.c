/*
 * Until when calls may leave.
 */
#include "runtime/members/permit.h"

#include "tests/support/test.h"

static void test_without_a_beat_everything_may_leave(void **state)
{
    (void)state;
    struct tri_permit permit = {.end_ms = 0};
    assert_true(tri_permit_allows(&permit, 0));
    assert_true(tri_permit_allows(&permit, UINT64_MAX));
}

static void test_half_a_lease_behind_the_beginning_of_a_beat(void **state)
{
    (void)state;
    struct tri_permit permit = {.end_ms = 0};
    tri_permit_renew(&permit, 1000, 10000);
    assert_true(tri_permit_allows(&permit, 1000));
    assert_true(tri_permit_allows(&permit, 6000));
    assert_false(tri_permit_allows(&permit, 6001));
    tri_permit_renew(&permit, 7000, 10000);
    assert_true(tri_permit_allows(&permit, 12000));
    assert_false(tri_permit_allows(&permit, 12001));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_beat_everything_may_leave),
        cmocka_unit_test(test_half_a_lease_behind_the_beginning_of_a_beat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
