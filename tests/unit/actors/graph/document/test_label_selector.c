/*
 * Label selectors: what kubectl takes is taken, holds where it holds there, and mistakes are told.
 */
#include "actors/graph/document/label_selector.h"

#include <stdio.h>

#include "actors/graph/document/labels.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static bool holds(const char *words, const char *labels)
{
    char problem[TR_LABEL_PROBLEM_BYTES];
    struct tr_arena arena;
    struct tr_label_selector selector = {0};
    tr_arena_init(&arena);
    assert_true(tr_labels_are_good(tr_text_of(labels)));
    assert_int_equal(tr_label_selector_read(&arena, tr_text_of(words), &selector, problem), 0);
    bool does_hold = tr_label_selector_holds(&selector, tr_text_of(labels));
    tr_arena_fini(&arena);
    return does_hold;
}

static void test_equality(void **state)
{
    (void)state;
    assert_true(holds("team=data", "a=b,team=data"));
    assert_true(holds("team==data", "team=data"));
    assert_true(holds(" team = data ", "team=data"));
    assert_false(holds("team=data", "team=dat"));
    assert_false(holds("team=data", "tea=data"));
    assert_false(holds("team=data", ""));
    assert_true(holds("team=", "team="));
    assert_false(holds("team=", "team=data"));
    assert_true(holds("x.io/team=data", "x.io/team=data"));
}

static void test_presence(void **state)
{
    (void)state;
    assert_true(holds("team", "team="));
    assert_true(holds("in", "in=1"));
    assert_false(holds("team", "other=1"));
    assert_true(holds("!team", "other=1"));
    assert_true(holds("! team", ""));
    assert_false(holds("!team", "team="));
}

/* As in Kubernetes what is not there differs from every value. */
static void test_what_is_not_there_differs(void **state)
{
    (void)state;
    assert_true(holds("team!=data", "team=web"));
    assert_true(holds("team!=data", ""));
    assert_false(holds("team!=data", "team=data"));
    assert_true(holds("team notin (data, web)", "team=ops"));
    assert_true(holds("team notin (data,web)", "a=b"));
    assert_false(holds("team notin (data, web)", "team=web"));
}

static void test_lists(void **state)
{
    (void)state;
    assert_true(holds("team in (data, web)", "team=web"));
    assert_true(holds("team in(data)", "team=data"));
    assert_true(holds("team in (,data)", "team="));
    assert_false(holds("team in (data, web)", "team=we"));
    assert_false(holds("team in (data, web)", ""));
}

static void test_all_have_to_hold(void **state)
{
    (void)state;
    assert_true(holds("team=data,tier!=gold,!scratch", "team=data,tier=silver"));
    assert_false(holds("team=data,tier!=gold,!scratch", "team=data,tier=gold"));
    assert_false(holds("team=data,tier!=gold,!scratch", "scratch=,team=data"));
    assert_true(holds("a in (x, y), b", "a=y,b=1"));
}

static void test_one_is_read_behind_the_other(void **state)
{
    (void)state;
    char problem[TR_LABEL_PROBLEM_BYTES];
    struct tr_arena arena;
    struct tr_label_selector selector = {0};
    tr_arena_init(&arena);
    assert_true(tr_label_selector_holds(&selector, tr_text_of("")));
    assert_int_equal(tr_label_selector_read(&arena, tr_text_of("a=1"), &selector, problem), 0);
    assert_int_equal(tr_label_selector_read(&arena, tr_text_of("b=2"), &selector, problem), 0);
    assert_true(tr_label_selector_holds(&selector, tr_text_of("a=1,b=2")));
    assert_false(tr_label_selector_holds(&selector, tr_text_of("a=1")));
    assert_false(tr_label_selector_holds(&selector, tr_text_of("b=2")));
    assert_int_equal(
        tr_label_selector_read(&arena, tr_text_of("a,b,c,d,e,f,g"), &selector, problem),
        TR_INVALID);
    assert_string_equal(problem, "there are more than 8 conditions (TR_LABEL_TERMS_MAX)");
    assert_int_equal(selector.terms.count, 2);
    tr_arena_fini(&arena);
}

static void test_mistakes(void **state)
{
    (void)state;
#define NO_KEY "a condition has no key; write KEY=VALUE, KEY!=VALUE, KEY or !KEY"
    static const struct {
        const char *words;
        const char *problem;
    } cases[] = {
        {"", NO_KEY},
        {"a=1,", NO_KEY},
        {"=1", NO_KEY},
        {"!!a", NO_KEY},
        {"-a", "'-a' is no key of a label; " TR_LABEL_KEY_REMEDY},
        {"a>1", "'a>1' is no key of a label; " TR_LABEL_KEY_REMEDY},
        {"a=1 b=2", "'a' goes on with 'b=2'; write a comma between conditions"},
        {"a b", "'a' goes on with 'b'; write a comma between conditions"},
        {"!a=1", "'a' goes on with '=1'; write a comma between conditions"},
        {"a=-1", "'-1' is no value of a label; " TR_LABEL_VALUE_REMEDY},
        {"a in b", "behind 'in' and 'notin' stands a list; write a in (a, b)"},
        {"a in (b", "a list of values ends with ')'"},
        {"a notin (b c)", "a list of values ends with ')'"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        char problem[TR_LABEL_PROBLEM_BYTES] = "";
        struct tr_arena arena;
        struct tr_label_selector selector = {0};
        tr_arena_init(&arena);
        assert_int_equal(
            tr_label_selector_read(&arena, tr_text_of(cases[i].words), &selector, problem),
            TR_INVALID);
        assert_string_equal(problem, cases[i].problem);
        assert_int_equal(selector.terms.count, 0);
        tr_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equality),
        cmocka_unit_test(test_presence),
        cmocka_unit_test(test_what_is_not_there_differs),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_all_have_to_hold),
        cmocka_unit_test(test_one_is_read_behind_the_other),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
