/*
 * Conditions as flytectl and flytekit write them, and what is none.
 */
#include "deploy/api_wire/list_filter.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static struct tr_list_filters filters;
static char problem[TR_LIST_FILTER_PROBLEM_BYTES];

static int read_filters(const char *text)
{
    problem[0] = '\0';
    return tr_list_filters_read(tr_text_of(text), &filters, problem);
}

static void conditions_are_taken_apart(void **state)
{
    (void)state;
    assert_int_equal(read_filters(""), 0);
    assert_int_equal(filters.count, 0);
    assert_int_equal(read_filters("eq(task.name,a.b)+value_in( version , v1;v2 )+ne(x.y,a+b(c))"),
                     0);
    assert_int_equal(filters.count, 3);
    assert_true(tr_text_equal(filters.items[0].field, tr_text_of("task.name")));
    assert_true(tr_text_equal(filters.items[0].value, tr_text_of("a.b")));
    assert_int_equal(filters.items[1].op, TR_LIST_AMONG);
    assert_true(tr_text_equal(filters.items[1].field, tr_text_of("version")));
    assert_true(tr_text_equal(filters.items[1].value, tr_text_of("v1;v2")));
    assert_true(tr_text_equal(filters.items[2].field, tr_text_of("x.y")));
}

static void what_is_none_is_told(void **state)
{
    static const char *const rows[][2] = {
        {"name", "the filter 'name' is not written as eq(FIELD,VALUE)"},
        {"eq(name)", "the filter 'eq(name)' is not written as eq(FIELD,VALUE)"},
        {"eq(name,a", "the filter 'eq(name,a' is not written as eq(FIELD,VALUE)"},
        {"like(name,a)", "the filter 'like(name,a)' has no comparison that there is: contains, "
                         "not_like, gt, gte, lt, lte, eq, ne, value_in, value_not_in"},
        {"eq(a,1)+", NULL},
        {"eq(a,1)+x", "the filter 'x' is not written as eq(FIELD,VALUE)"},
        {"eq(a,1)+eq(a,1)+eq(a,1)+eq(a,1)+eq(a,1)+eq(a,1)+eq(a,1)+eq(a,1)+eq(a,1)+eq(a,1)+"
         "eq(a,1)+eq(a,1)+eq(b,2)",
         "the filter 'eq(b,2)' is one too many (TR_LIST_FILTERS_MAX)"},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        int error = read_filters(rows[i][0]);
        assert_int_equal(error, rows[i][1] == NULL ? 0 : TR_INVALID);
        assert_string_equal(problem, rows[i][1] == NULL ? "" : rows[i][1]);
    }
}

static void lists_are_taken_apart(void **state)
{
    struct tr_text rest = tr_text_of("a; b ;;c");
    struct tr_text value;
    bool is_last = false;
    static const char *const values[] = {"a", "b", "", "c"};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(values); i++) {
        assert_true(tr_list_filter_next(&rest, &is_last, &value));
        assert_true(tr_text_equal(value, tr_text_of(values[i])));
    }
    assert_false(tr_list_filter_next(&rest, &is_last, &value));
}

static void numbers_and_times_are_read(void **state)
{
    uint64_t number = 0;
    (void)state;
    assert_true(tr_list_filter_number(tr_text_of("17"), false, &number));
    assert_int_equal(number, 17);
    assert_true(tr_list_filter_number(tr_text_of("2026-01-01T12:00:00Z"), true, &number));
    assert_int_equal(number, 1767268800000);
    static const char *const none[] = {"", "-1", "1x", "99999999999999999999"};
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        assert_false(tr_list_filter_number(tr_text_of(none[i]), false, &number));
    }
    assert_false(tr_list_filter_number(tr_text_of("now"), true, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_taken_apart),
        cmocka_unit_test(what_is_none_is_told),
        cmocka_unit_test(lists_are_taken_apart),
        cmocka_unit_test(numbers_and_times_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
