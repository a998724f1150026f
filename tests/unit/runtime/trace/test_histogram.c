/*
 * Values count in the first bucket whose bound they do not exceed, and a hung commit can be seen.
 */
#include "runtime/trace/histogram.h"

#include "schemas/codec/base.h"

#include "tests/support/test.h"

static void test_a_value_counts_in_one_bucket(void **state)
{
    (void)state;
    static const uint64_t bounds[] = {10, 20, UINT64_MAX};
    static const uint64_t values[] = {0, 10, 11, 20, 21, UINT64_MAX / 2};
    struct tri_histogram histogram = {.bounds = bounds};
    uint64_t sum = 0;
    for (size_t i = 0; i < TR_COUNT_OF(values); i++) {
        tri_histogram_add(&histogram, values[i]);
        sum += values[i];
    }
    struct tr_histogram copy = tri_histogram_read(&histogram);
    assert_int_equal(copy.size, TR_COUNT_OF(bounds));
    assert_ptr_equal(copy.bounds, bounds);
    for (size_t i = 0; i < copy.size; i++) {
        assert_int_equal(copy.counts[i], 2);
    }
    assert_int_equal(copy.sum, sum);
}

static void test_a_figure_is_added_to_and_set(void **state)
{
    (void)state;
    tri_figure figure = 3;
    tri_figure_add(&figure, 4);
    assert_int_equal(tri_figure_get(&figure), 7);
    tri_figure_set(&figure, 1);
    assert_int_equal(tri_figure_get(&figure), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_counts_in_one_bucket),
        cmocka_unit_test(test_a_figure_is_added_to_and_set),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
