/*
 * Patterns for addresses: what stars stand for, and that no pattern takes long.
 */
#include "tests/support/test.h"

#include <string.h>

#include "runtime/limits.h"
#include "runtime/trace/glob.h"

static bool matches(const char *pattern, const char *text)
{
    return tri_glob_match(tr_text_of(pattern), tr_text_of(text));
}

static void test_letters_stand_for_themselves(void **state)
{
    (void)state;
    assert_true(matches("/orders", "/orders"));
    assert_true(matches("/orders/worker[3]", "/orders/worker[3]"));
    assert_false(matches("/orders", "/order"));
    assert_false(matches("/orders", "/orders/worker"));
    assert_false(matches("/orders", "x/orders"));
    assert_true(matches("", ""));
    assert_false(matches("", "/"));
    assert_true(matches("/what?", "/what?"));
    assert_false(matches("/what?", "/whatx"));
}

static void test_one_star_stays_within_a_name(void **state)
{
    (void)state;
    assert_true(matches("/orders/*", "/orders/worker"));
    assert_true(matches("/orders/*", "/orders/worker[3]"));
    assert_true(matches("/orders/*", "/orders/"));
    assert_false(matches("/orders/*", "/orders"));
    assert_false(matches("/orders/*", "/orders/worker/part"));
    assert_true(matches("/*/worker", "/orders/worker"));
    assert_false(matches("/*/worker", "/orders/of/worker"));
    assert_true(matches("/w*[*]", "/worker[17]"));
    assert_false(matches("/w*[*]", "/worker"));
}

static void test_two_stars_go_all_the_way_down(void **state)
{
    (void)state;
    assert_true(matches("**", ""));
    assert_true(matches("**", "/any/thing[1]"));
    assert_true(matches("/orders/**", "/orders/worker/part[3]"));
    assert_true(matches("/**/part", "/orders/worker/part"));
    assert_true(matches("/**/*[3]", "/orders/worker/part[3]"));
    assert_false(matches("/**/*[3]", "/orders/worker/part[4]"));
    assert_true(matches("/a**b*c", "/a/x/b/y/bzc"));
    assert_false(matches("/a**b*c", "/a/x/b/c/"));
    assert_true(matches("/a***", "/a/b/c"));
}

static void test_deep_pattern_takes_the_actor_itself_too(void **state)
{
    (void)state;
    assert_true(matches("/orders/**", "/orders"));
    assert_false(matches("/orders/**", "/order"));
    assert_false(matches("/orders/**", "/orders2"));
    assert_false(matches("/orders/x**", "/orders"));
}

static void test_one_of_several_patterns_is_enough(void **state)
{
    (void)state;
    struct tr_text patterns = tr_text_of("/a/sq/**,/a/sq[*]/**");
    assert_true(tri_glob_match_any(patterns, tr_text_of("/a/sq")));
    assert_true(tri_glob_match_any(patterns, tr_text_of("/a/sq/inner")));
    assert_true(tri_glob_match_any(patterns, tr_text_of("/a/sq[3]/inner")));
    assert_false(tri_glob_match_any(patterns, tr_text_of("/a/sq2")));
    assert_false(tri_glob_match_any(patterns, tr_text_of("/a")));
    assert_true(tri_glob_match_any(tr_text_of("/a"), tr_text_of("/a")));
    assert_false(tri_glob_match_any(tr_text_of("/b,"), tr_text_of("/a")));
}

static void test_pattern_that_is_too_long_matches_nothing(void **state)
{
    (void)state;
    char pattern[TR_TAP_GLOB_BYTES_MAX + 1];
    memset(pattern, '*', sizeof pattern);
    assert_false(tri_glob_match((struct tr_text){pattern, sizeof pattern}, tr_text_of("a")));
    assert_true(tri_glob_match((struct tr_text){pattern, sizeof pattern - 1}, tr_text_of("a")));
}

/* Where a matcher that tries all ways would still be at it tomorrow. */
static void test_no_pattern_takes_long(void **state)
{
    (void)state;
    char pattern[TR_TAP_GLOB_BYTES_MAX];
    char text[TR_ADDRESS_BYTES_MAX];
    for (size_t i = 0; i + 3 <= sizeof pattern; i += 3) {
        memcpy(pattern + i, "**a", 3);
    }
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 'b';
    for (int i = 0; i < 20; i++) {
        assert_false(tri_glob_match((struct tr_text){pattern, sizeof pattern},
                                    (struct tr_text){text, sizeof text}));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters_stand_for_themselves),
        cmocka_unit_test(test_one_star_stays_within_a_name),
        cmocka_unit_test(test_two_stars_go_all_the_way_down),
        cmocka_unit_test(test_deep_pattern_takes_the_actor_itself_too),
        cmocka_unit_test(test_one_of_several_patterns_is_enough),
        cmocka_unit_test(test_pattern_that_is_too_long_matches_nothing),
        cmocka_unit_test(test_no_pattern_takes_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
