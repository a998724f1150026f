/*
 * Patterns of codes, and what two lists of them say together.
 */
#include "actors/graph/compiled/retry_codes.h"

#include <string.h>

#include "tests/support/draw.h"
#include "tests/support/test.h"

static void test_a_star_is_any_run_of_characters(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *code;
        bool matches;
    } cases[] = {
        {"KeyError", "KeyError", true},
        {"KeyError", "KeyErrors", false},
        {"KeyError", "keyerror", false},
        {"OOM*", "OOMKilled", true},
        {"OOM*", "OOM", true},
        {"OOM*", "XOOM", false},
        {"*Error", "KeyError", true},
        {"*Error", "KeyErrors", false},
        {"*", "", true},
        {"", "", true},
        {"", "x", false},
        {"**", "x", true},
        {"a*b*c", "aXbXbc", true},
        {"a*b*c", "aXbXbcX", false},
        {"*ab", "aab", true},
        {"*a*a", "aba", true},
        {"a?", "ab", false},
        {"[a]", "a", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(tr_code_matches(tr_text_of(cases[i].pattern), tr_text_of(cases[i].code)),
                         cases[i].matches);
    }
}

/* The same by what a star means: it takes nothing, or one character more. */
static bool matches_slowly(const char *pattern, const char *code)
{
    if (*pattern == '*') {
        return matches_slowly(pattern + 1, code) ||
               (*code != '\0' && matches_slowly(pattern, code + 1));
    }
    return *pattern == *code && (*code == '\0' || matches_slowly(pattern + 1, code + 1));
}

static void test_matching_is_what_a_star_means(void **state)
{
    (void)state;
    struct draw draw = {.state = 5};
    for (uint32_t i = 0; i < 200000; i++) {
        char pattern[8] = "";
        char code[10] = "";
        for (uint64_t k = 0, size = draw_below(&draw, 7); k < size; k++) {
            pattern[k] = "ab*"[draw_below(&draw, 3)];
        }
        for (uint64_t k = 0, size = draw_below(&draw, 9); k < size; k++) {
            code[k] = "ab"[draw_below(&draw, 2)];
        }
        assert_int_equal(tr_code_matches(tr_text_of(pattern), tr_text_of(code)),
                         matches_slowly(pattern, code));
    }
}

/* A pattern that a naive walk would take for ever for. */
static void test_matching_is_quick(void **state)
{
    (void)state;
    static char code[255];
    static char pattern[255];
    memset(code, 'a', sizeof code);
    for (size_t i = 0; i < sizeof pattern; i++) {
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    }
    pattern[sizeof pattern - 1] = 'b';
    assert_false(tr_code_matches((struct tr_text){.data = pattern, .size = sizeof pattern},
                                 (struct tr_text){.data = code, .size = sizeof code}));
}

static void test_two_lists(void **state)
{
    (void)state;
    static const struct tr_text *const none = NULL;
    const struct tr_text on[] = {tr_text_of("Http*"), tr_text_of("Timeout")};
    const struct tr_text never[] = {tr_text_of("HttpStatus"), tr_text_of("json.*")};
    static const struct {
        bool has_on;
        bool has_never;
        const char *code;
        const char *exception;
        bool allows;
        const char *pattern;
    } cases[] = {
        {false, false, "X", "", true, ""},
        {true, false, "X", "", false, ""},
        {true, false, "HttpStatus", "", true, ""},
        {true, false, "ProcessFailed", "requests.exceptions.Timeout", true, ""},
        {true, false, "ProcessFailed", "Timeouts", false, ""},
        {false, true, "X", "", true, ""},
        {false, true, "HttpStatus", "", false, "HttpStatus"},
        {false, true, "ProcessFailed", "json.decoder.JSONDecodeError", false, "json.*"},
        {false, true, "ProcessFailed", "JSONDecodeError", true, ""},
        {true, true, "HttpStatus", "", false, "HttpStatus"},
        {true, true, "HttpOther", "", true, ""},
        {true, true, "ProcessFailed", "json.Timeout", false, "json.*"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        const struct tr_settings settings = {
            .retry_on = cases[i].has_on ? on : none,
            .retry_on_count = cases[i].has_on ? TR_COUNT_OF(on) : 0,
            .never_retry_on = cases[i].has_never ? never : none,
            .never_retry_on_count = cases[i].has_never ? TR_COUNT_OF(never) : 0,
        };
        const struct tr_failure_names names = {.code = tr_text_of(cases[i].code),
                                               .exception = tr_text_of(cases[i].exception)};
        struct tr_text pattern = tr_text_of("");
        assert_int_equal(tr_retry_allows(&settings, &names, &pattern), cases[i].allows);
        assert_true(tr_text_equal(pattern, tr_text_of(cases[i].pattern)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_star_is_any_run_of_characters),
        cmocka_unit_test(test_matching_is_what_a_star_means),
        cmocka_unit_test(test_matching_is_quick),
        cmocka_unit_test(test_two_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
