/*
 * Errors in both forms: each in a line of its own, and, of definitions of Flyte's, several below a
 * head as its compiler has them.
 */
#include "actors/graph/document/report.h"

#include "tests/support/test.h"

static const char *print_all(struct tr_report *report, struct tr_buffer *buffer)
{
    tr_report_finish(report);
    tr_report_print_head(report, buffer);
    for (uint32_t i = 0; i < report->count; i++) {
        tr_report_print_error(report, i, buffer);
        tr_buffer_add_string(buffer, "\n");
    }
    tr_buffer_add(buffer, "", 1);
    return (const char *)buffer->data;
}

static void expect(bool is_flytes, uint32_t count, const char *expected)
{
    struct tr_report report;
    struct tr_buffer buffer;
    tr_report_init(&report);
    tr_buffer_init(&buffer, 0);
    struct tri_place place = {.source = tri_report_source(&report, tr_text_of("f"))};
    report.is_flytes = is_flytes;
    (void)tri_report_subject(&report, tr_text_of("w.n0"));
    tri_report_add(&report, place, "CycleDetected", "a circle\nbreak it");
    if (count > 1) {
        tri_report_add(&report, place, NULL, "b");
    }
    assert_string_equal(print_all(&report, &buffer), expected);
    tr_buffer_fini(&buffer);
    tr_report_fini(&report);
}

static void test_each_error_is_a_line(void **state)
{
    (void)state;
    expect(false, 2, "f: w.n0: a circle; break it [CycleDetected]\nf: w.n0: b\n");
    expect(true, 1, "f: w.n0: a circle; break it [CycleDetected]\n");
}

static void test_several_of_flytes_have_a_head(void **state)
{
    (void)state;
    expect(true, 2,
           "f: Collected Errors: 2\n"
           "\tError 0: Code: CycleDetected, Node Id: w.n0, Description: a circle; break it\n"
           "\tError 1: Code: WorkflowBuildError, Node Id: w.n0, Description: b\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_error_is_a_line),
        cmocka_unit_test(test_several_of_flytes_have_a_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
