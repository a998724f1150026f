/*
 * The names of executions, nodes, elements and attempts, taken apart; and tables, put together.
 */
#include "deploy/history/target.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static char problem[TR_TARGET_PROBLEM_BYTES];

static void expect(const char *word, bool has_place, const char *execution, const char *path,
                   uint64_t element, int64_t attempt)
{
    struct tr_target target;
    int error = tr_target_read(word, has_place, problem, &target);
    if (error != 0) {
        fail_msg("%s", problem);
    }
    assert_string_equal(target.execution, execution);
    assert_true(tr_text_equal(target.path, tr_text_of(path)));
    assert_true(target.element == element);
    assert_int_equal(target.has_attempt, attempt >= 0);
    assert_int_equal(target.attempt, attempt >= 0 ? attempt : 0);
}

static void test_parts_of_a_name(void **state)
{
    (void)state;
    expect("@last", false, "@last", "", TR_ELEMENT_NONE, -1);
    expect("fan", false, "fan", "", TR_ELEMENT_NONE, -1);
    expect("fan/squares", false, "fan", "squares", TR_ELEMENT_NONE, -1);
    expect("@last/squares[17]", false, "@last", "squares", 17, -1);
    expect("fan/squares[17]@2", false, "fan", "squares", 17, 2);
    expect("fan/list@0", false, "fan", "list", TR_ELEMENT_NONE, 0);
    expect("fan/w/inner", false, "fan", "w/inner", TR_ELEMENT_NONE, -1);
    expect("fan/sq[3]/inner[4]@1", false, "fan", "sq[3]/inner", 4, 1);
    expect("/demo/development/fan", false, "demo/development/fan", "", TR_ELEMENT_NONE, -1);
    expect("/demo/development/fan/n[0]@0", false, "demo/development/fan", "n", 0, 0);
    expect("demo/development/fan/n", true, "demo/development/fan", "n", TR_ELEMENT_NONE, -1);
    expect("demo/development/fan", false, "demo", "development/fan", TR_ELEMENT_NONE, -1);
}

static void test_what_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool has_place;
    } bad[] = {
        {"", false},
        {"/", false},
        {"fan/", false},
        {"fan//n", false},
        {"fan/n/", false},
        {"/demo/fan", false},
        {"/demo//fan", false},
        {"demo/fan", true},
        {"fan/[17]", false},
        {"fan/@2", false},
        {"fan/n@2[17]", false},
        {"fan/n[1][2]", false},
        {"fan/n@1@2", false},
        {"fan/n@99999999999999", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        struct tr_target target = {.attempt = 4711};
        int error = tr_target_read(bad[i].word, bad[i].has_place, problem, &target);
        if (error != TR_INVALID) {
            fail_msg("'%s' was taken", bad[i].word);
        }
        assert_int_equal(target.attempt, 4711);
        assert_non_null(strstr(problem, bad[i].word));
    }
    struct tr_target target;
    char longest[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(tr_target_read(longest, false, problem, &target), TR_INVALID);
    assert_non_null(strstr(problem, "too long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_a_name),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
