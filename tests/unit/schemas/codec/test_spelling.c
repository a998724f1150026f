/*
 * Words that people type: which one it is, and which one may have been meant.
 */
#include "schemas/codec/spelling.h"

#include <string.h>

#include "tests/support/test.h"

static unsigned distance(const char *a, const char *b)
{
    return tr_spelling_distance(tr_text_of(a), tr_text_of(b));
}

static void test_distances(void **state)
{
    (void)state;
    assert_int_equal(distance("check", "check"), 0);
    assert_int_equal(distance("chekc", "check"), 1);
    assert_int_equal(distance("chck", "check"), 1);
    assert_int_equal(distance("", "check"), 5);
    assert_int_equal(distance("check", ""), 5);
    assert_int_equal(distance("workflows", "wrokflow"), 2);
    char longest[TR_WORD_BYTES_MAX + 2] = {0};
    memset(longest, 'a', TR_WORD_BYTES_MAX);
    assert_int_equal(distance(longest, "a"), TR_WORD_BYTES_MAX - 1);
    longest[TR_WORD_BYTES_MAX] = 'a';
    assert_int_equal(distance(longest, longest), UINT32_MAX);
}

static void test_what_is_near(void **state)
{
    (void)state;
    assert_true(tr_spelling_is_near(tr_text_of("chck"), 2));
    assert_false(tr_spelling_is_near(tr_text_of("chck"), 3));
    assert_false(tr_spelling_is_near(tr_text_of("x"), 1));
    assert_false(tr_spelling_is_near(tr_text_of(""), 0));
}

static struct tr_text word_at(const void *self, uint32_t position)
{
    return tr_text_of(((const char *const *)self)[position]);
}

static void test_the_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"inputs", "outputs", "output"};
    struct tr_text nearest = tr_spelling_nearest(tr_text_of("outptu"), word_at, words, 3);
    assert_true(tr_text_equal(nearest, tr_text_of("output")));
    assert_int_equal(tr_spelling_nearest(tr_text_of("nodes"), word_at, words, 3).size, 0);
    assert_int_equal(tr_spelling_nearest(tr_text_of("outptu"), word_at, words, 0).size, 0);
}

static void test_lists(void **state)
{
    (void)state;
    assert_int_equal(tr_spelling_find("use|refresh|off", "off"), 2);
    assert_int_equal(tr_spelling_find("use|refresh|off", "of"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_what_is_near),
        cmocka_unit_test(test_the_nearest),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
