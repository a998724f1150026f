/*
 * The names of attempts: different for whatever is different, and made of what every outside takes.
 */
#include "actors/store/task_name.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static const struct tr_task_name base = {.execution = {"demo/development/Nightly_1", 26},
                                         .number = 7,
                                         .path = {"w/squares", 9},
                                         .element = 17,
                                         .attempt = 2};

static void name_of(const struct tr_task_name *of, char *name)
{
    tr_task_name(of, name);
    size_t size = strlen(name);
    assert_in_range(size, 3, TR_TASK_NAME_BYTES_MAX);
    assert_true(name[0] >= 'a' && name[0] <= 'z');
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), size);
}

static void test_names_differ_where_anything_does(void **state)
{
    (void)state;
    struct tr_task_name others[] = {base, base, base, base, base, base, base, base};
    others[1].execution = tr_text_of("demo/development/Nightly-1");
    others[2].execution = tr_text_of("demo/production/Nightly_1");
    others[3].number = 8;
    others[4].path = tr_text_of("w-squares");
    others[5].element = TR_ELEMENT_NONE;
    others[6].element = 1;
    others[7].attempt = 3;
    char names[TR_COUNT_OF(others)][TR_TASK_NAME_BYTES_MAX + 1];
    for (size_t i = 0; i < TR_COUNT_OF(others); i++) {
        name_of(&others[i], names[i]);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(names[i], names[k]);
        }
    }
    char again[TR_TASK_NAME_BYTES_MAX + 1];
    name_of(&base, again);
    assert_string_equal(again, names[0]);
    assert_memory_equal(names[0], "nightly-1-w-squares-17-", 23);
    assert_string_equal(names[0] + strlen(names[0]) - 2, "-2");
}

/* A part of one may not become a part of the other. */
static void test_names_do_not_run_together(void **state)
{
    (void)state;
    struct tr_task_name a = {.execution = tr_text_of("p/d/ab"), .path = tr_text_of("c")};
    struct tr_task_name b = {.execution = tr_text_of("p/d/a"), .path = tr_text_of("bc")};
    struct tr_task_name c = {.execution = tr_text_of(""),
                             .path = tr_text_of("9"),
                             .element = UINT64_MAX - 1,
                             .attempt = UINT32_MAX};
    char names[3][TR_TASK_NAME_BYTES_MAX + 1];
    name_of(&a, names[0]);
    name_of(&b, names[1]);
    name_of(&c, names[2]);
    assert_string_not_equal(strchr(names[0], '-'), strchr(names[1], '-'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_differ_where_anything_does),
        cmocka_unit_test(test_names_do_not_run_together),
    };
    return cmocka_run_group_tests_name("task_name", tests, NULL, NULL);
}
