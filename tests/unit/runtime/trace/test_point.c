/*
 * The names of the tap points.
 */
#include "tests/support/test.h"

#include "runtime/trace/point.h"

static void test_every_point_is_found_by_its_name(void **state)
{
    (void)state;
    uint32_t all = 0;
    for (uint8_t point = 1; (TR_TAP_POINTS_ALL >> point & 1) != 0; point++) {
        assert_int_equal(tr_tap_point_find(tr_text_of(tr_tap_point_name(point))), point);
        all |= 1U << point;
    }
    assert_int_equal(all, TR_TAP_POINTS_ALL);
}

static void test_what_is_no_point_has_no_number(void **state)
{
    (void)state;
    assert_int_equal(tr_tap_point_find(tr_text_of("lost")), TR_TAP_LOST);
    assert_int_equal(tr_tap_point_find(tr_text_of("")), TR_TAP_LOST);
    assert_int_equal(tr_tap_point_find(tr_text_of("handle")), TR_TAP_LOST);
    assert_string_equal(tr_tap_point_name(TR_TAP_LOST), "lost");
    assert_string_equal(tr_tap_point_name(200), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_point_is_found_by_its_name),
        cmocka_unit_test(test_what_is_no_point_has_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
