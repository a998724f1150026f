/*
 * Filters as flytectl and flytekit write them, what is none, and tokens there and back.
 */
#include "deploy/entities/list_match.h"

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

static bool holds(const char *text, struct tr_list_value value)
{
    assert_int_equal(read_filters(text), 0);
    assert_int_equal(filters.count, 1);
    assert_int_equal(tr_list_match_check(&filters.items[0], &value, problem), 0);
    return tr_list_match_holds(&filters.items[0], &value);
}

static struct tr_list_value text(const char *value)
{
    return (struct tr_list_value){.text = tr_text_of(value)};
}

static struct tr_list_value number(uint64_t value)
{
    return (struct tr_list_value){.is_number = true, .number = value};
}

static void entities_stand_in_front_of_fields(void **state)
{
    static const char *const rows[][2] = {{"task.name", "name"}, {"launch_plan.state", "state"},
                                          {"name", "name"},      {"x.y", "x.y"},
                                          {"task", "task"},      {"", ""}};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_text field = tr_list_match_field(tr_text_of(rows[i][0]));
        assert_true(tr_text_equal(field, tr_text_of(rows[i][1])));
    }
}

static void each_comparison_holds_and_does_not(void **state)
{
    static const struct {
        const char *filter;
        const char *is;
        const char *is_not;
    } rows[] = {
        {"contains(f,bc)", "abcd", "acbd"},
        {"not_like(f,bc)", "acbd", "abcd"},
        {"gt(f,b)", "c", "b"},
        {"gte(f,b)", "b", "a"},
        {"lt(f,b)", "a", "b"},
        {"lte(f,b)", "b", "c"},
        {"eq(f,b)", "b", "bb"},
        {"ne(f,b)", "bb", "b"},
        {"value_in(f,a; b;c)", "b", "d"},
        {"value_not_in(f,a;b)", "c", "b"},
        {"contains(f,)", "", "\xff"},
    };
    (void)state;
    for (size_t i = 0; i + 1 < TR_COUNT_OF(rows); i++) {
        assert_true(holds(rows[i].filter, text(rows[i].is)));
        assert_false(holds(rows[i].filter, text(rows[i].is_not)));
    }
    assert_true(holds("contains(f,)", text("")));
    assert_true(holds("gt(f,9)", number(10)));
    assert_false(holds("gt(f,10)", number(10)));
    assert_true(holds("value_in(f,1;2)", number(2)));
    assert_false(holds("value_in(f,1;2)", number(3)));
}

static void times_are_read(void **state)
{
    struct tr_list_value time = {.is_number = true, .is_time = true, .number = 1767268800000};
    (void)state;
    assert_true(holds("gte(created_at,2026-01-01T12:00:00Z)", time));
    assert_true(holds("eq(created_at,2026-01-01T12:00:00.000000000Z)", time));
    assert_false(holds("gt(created_at,2026-01-01T12:00:00.5Z)", time));
    assert_int_equal(read_filters("gt(created_at,now)"), 0);
    assert_int_equal(tr_list_match_check(&filters.items[0], &time, problem), TR_INVALID);
    assert_string_equal(problem, "the filter of created_at: 'now' is no time such as "
                                 "2026-01-31T12:00:00Z");
    struct tr_list_value state_value = number(1);
    assert_int_equal(read_filters("value_in(state,1;x)"), 0);
    assert_int_equal(tr_list_match_check(&filters.items[0], &state_value, problem), TR_INVALID);
    assert_string_equal(problem, "the filter of state: 'x' is no number");
    assert_int_equal(read_filters("contains(state,1)"), 0);
    assert_int_equal(tr_list_match_check(&filters.items[0], &state_value, problem), TR_INVALID);
}

static void tokens_come_back(void **state)
{
    struct tr_list_token token = {.value = tr_text_of("17"),
                                  .name = tr_text_of("flows.\xc3\xa4"),
                                  .version = tr_text_of("v 1")};
    struct tr_list_token read;
    struct tr_buffer printed;
    char room[128];
    (void)state;
    tr_buffer_init(&printed, 0);
    tr_list_token_print(&token, &printed);
    assert_int_equal(tr_list_token_read(tr_buffer_text(&printed), room, &read), 0);
    assert_true(read.is_behind);
    assert_true(tr_text_equal(read.value, token.value));
    assert_true(tr_text_equal(read.name, token.name));
    assert_true(tr_text_equal(read.version, token.version));
    tr_buffer_fini(&printed);
}

static void tokens_that_count_are_flytectls(void **state)
{
    struct tr_list_token read;
    char room[128];
    (void)state;
    assert_int_equal(tr_list_token_read(tr_text_of(""), room, &read), 0);
    assert_int_equal(read.skip, 0);
    assert_int_equal(tr_list_token_read(tr_text_of("200"), room, &read), 0);
    assert_int_equal(read.skip, 200);
    assert_false(read.is_behind);
    static const char *const none[] = {"x",   "-1",  "b0", "bzz",
                                       "b00", "bff", "1x", "9999999999999999999999"};
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        assert_int_equal(tr_list_token_read(tr_text_of(none[i]), room, &read), TR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_stand_in_front_of_fields),
        cmocka_unit_test(each_comparison_holds_and_does_not),
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(tokens_come_back),
        cmocka_unit_test(tokens_that_count_are_flytectls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
