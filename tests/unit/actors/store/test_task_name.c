/*
 * Flyte's short ids, by its own conformance vectors, and the names of attempts: different for
 * whatever is different, and made of what every outside takes.
 */
#include "actors/store/task_name.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

/* Parts of a joined text, cut at its dashes. */
static size_t cut(const char *text, struct tr_text parts[16])
{
    size_t count = 0;
    while (true) {
        const char *dash = strchr(text, '-');
        parts[count++] = (struct tr_text){
            .data = text, .size = dash == NULL ? strlen(text) : (size_t)(dash - text)};
        if (dash == NULL) {
            return count;
        }
        text = dash + 1;
    }
}

static void test_short_ids_are_flytes(void **state)
{
    (void)state;
    static const struct {
        const char *parts;
        size_t size_max;
        enum tr_fnv width;
        int error;
        const char *id;
    } vectors[] = {
        {"xxxxxxxxxxxxxxxxxxxxxxxx", 20, TR_FNV_32, 0, "fuaa3aji"},
        {"x", 5, TR_FNV_32, 0, "x"},
        {"x-y", 5, TR_FNV_32, 0, "x-y"},
        {"x-y", 1, TR_FNV_32, TR_LIMIT, "fz2jizji"},
        {"x-y-z-m-n-y-z-m-n-y-z-m-n", 15, TR_FNV_32, 0, "fe63sz6y"},
        {"x-y-z-m-n-y-z-m-n-y-z-m-n", 15, TR_FNV_64, 0, "fwp4bky2kucex5"},
        {"u1-2-n1", 20, TR_FNV_32, 0, "u1-2-n1"},
        {"u1111111111323131231asdadasd-2-n1", 20, TR_FNV_32, 0, "fraibbty"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(vectors); i++) {
        struct tr_text parts[16];
        char id[64] = "";
        size_t count = cut(vectors[i].parts, parts);
        assert_int_equal(
            tr_unique_id(parts, count, vectors[i].size_max, vectors[i].width, id, sizeof id),
            vectors[i].error);
        assert_string_equal(id, vectors[i].id);
    }
    struct tr_text long_one = tr_text_of("this is longer than eight");
    char small[8];
    assert_int_equal(tr_unique_id(&long_one, 1, 50, TR_FNV_32, small, sizeof small), TR_LIMIT);
    char wide[64];
    assert_int_equal(tr_unique_id(&long_one, 1, 10, TR_FNV_128, wide, sizeof wide), TR_LIMIT);
    assert_int_equal(strlen(wide), 27);
}

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
        cmocka_unit_test(test_short_ids_are_flytes),
        cmocka_unit_test(test_names_differ_where_anything_does),
        cmocka_unit_test(test_names_do_not_run_together),
    };
    return cmocka_run_group_tests_name("task_name", tests, NULL, NULL);
}
