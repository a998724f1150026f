/*
 * The text format: what a family, a sample and a histogram look like, and that no text of anybody's
 * can end a label or a line.
 */
#include "deploy/metrics/exposition.h"

#include "tests/support/test.h"

static struct tr_buffer text;

static int begin(void **state)
{
    (void)state;
    tr_buffer_init(&text, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tr_buffer_fini(&text);
    return 0;
}

static void expect(const char *expected)
{
    tr_buffer_add(&text, "", 1);
    assert_int_equal(text.error, 0);
    assert_string_equal((const char *)text.data, expected);
}

static void test_a_family_has_help_and_type(void **state)
{
    (void)state;
    tr_exposition_single(&text, &(struct tr_metric_family){"a_total", TR_METRIC_COUNTER, "What."},
                         3);
    tr_exposition_single(&text, &(struct tr_metric_family){"b", TR_METRIC_GAUGE, "A \\ and\nB."},
                         -1);
    expect("# HELP a_total What.\n# TYPE a_total counter\na_total 3\n"
           "# HELP b A \\\\ and\\nB.\n# TYPE b gauge\nb -1\n");
}

static void test_labels_are_escaped(void **state)
{
    (void)state;
    const struct tr_metric_label labels[] = {
        {"workflow", tr_text_of("a \"b\" \\ \n} 1\n")},
        {"project", tr_text_of("\xc3\xa4")},
    };
    tr_exposition_sample(&text, "it", labels, 2, 1);
    expect("it{workflow=\"a \\\"b\\\" \\\\ \\n} 1\\n\",project=\"\xc3\xa4\"} 1\n");
}

static void test_numbers_are_as_short_as_they_can_be(void **state)
{
    (void)state;
    static const double values[] = {0, 0.1, 1795643940.123, 9007199254740991.0, 1e300, 1.0 / 3};
    for (size_t i = 0; i < TR_COUNT_OF(values); i++) {
        tr_exposition_sample(&text, "x", NULL, 0, values[i]);
    }
    expect("x 0\nx 0.1\nx 1795643940.123\nx 9007199254740991\nx 1e+300\nx 0.3333333333333333\n");
}

static void test_a_histogram_is_cumulative(void **state)
{
    (void)state;
    static const uint64_t bounds[] = {10, 2500, UINT64_MAX};
    static const uint64_t counts[] = {1, 0, 2};
    const struct tr_metric_label label = {"w", tr_text_of("x")};
    const struct tr_metric_buckets buckets = {
        .bounds = bounds, .counts = counts, .size = 3, .sum = 9005, .unit = 0.001};
    tr_exposition_histogram(&text, "t", &label, 1, &buckets);
    expect("t_bucket{w=\"x\",le=\"0.01\"} 1\nt_bucket{w=\"x\",le=\"2.5\"} 1\n"
           "t_bucket{w=\"x\",le=\"+Inf\"} 3\nt_sum{w=\"x\"} 9.005\nt_count{w=\"x\"} 3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_family_has_help_and_type, begin, end),
        cmocka_unit_test_setup_teardown(test_labels_are_escaped, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers_are_as_short_as_they_can_be, begin, end),
        cmocka_unit_test_setup_teardown(test_a_histogram_is_cumulative, begin, end),
    };
    return cmocka_run_group_tests_name("exposition", tests, NULL, NULL);
}
