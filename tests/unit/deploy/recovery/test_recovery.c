/*
 * Plans of recoveries: what they say of paths, and that they outlive the disk; bytes that are none
 * are refused in words.
 */
#include "deploy/recovery/recovery.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "deploy/common/file.h"
#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"

#define TEXT(literal)                                   \
    {                                                   \
        .data = "" literal, .size = sizeof(literal) - 1 \
    }

static const struct tr_text again[] = {TEXT("a"),          TEXT("a-b"),     TEXT("sq[3]"),
                                       TEXT("sq\xc3\xa9"), TEXT("w/inner"), TEXT("z")};
static const struct tr_text open[] = {TEXT("map")};
static const uint8_t seven[] = {7};
static const struct tr_recovery_edit edits[] = {
    {.path = TEXT("a"), .input = TEXT("x"), .slot = {.data = seven, .size = 1}},
    {.path = TEXT("w/inner"), .input = TEXT("y"), .slot = {.data = seven, .size = 1}},
    {.path = TEXT("z/x[2]/y"), .input = TEXT("y"), .slot = {.data = seven, .size = 1}},
};
static const struct tr_recovery plan = {
    .from = {48, 16},
    .from_count = 2,
    .again = again,
    .again_count = TR_COUNT_OF(again),
    .open = open,
    .open_count = TR_COUNT_OF(open),
    .edits = edits,
    .edit_count = TR_COUNT_OF(edits),
};

static void test_what_a_plan_says_of_a_path(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        enum tr_recovery_way way;
    } cases[] = {
        {"a", TR_RECOVERY_ANEW},           {"a/deep/er", TR_RECOVERY_ANEW},
        {"a[17]", TR_RECOVERY_ANEW},       {"ab", TR_RECOVERY_KEPT},
        {"a-b", TR_RECOVERY_ANEW},         {"a-", TR_RECOVERY_KEPT},
        {"sq", TR_RECOVERY_OPEN},          {"sq[3]", TR_RECOVERY_ANEW},
        {"sq[3]/x", TR_RECOVERY_ANEW},     {"sq[33]", TR_RECOVERY_KEPT},
        {"sq[30]", TR_RECOVERY_KEPT},      {"w", TR_RECOVERY_OPEN},
        {"w/inner", TR_RECOVERY_ANEW},     {"w/inne", TR_RECOVERY_KEPT},
        {"w/innermost", TR_RECOVERY_KEPT}, {"map", TR_RECOVERY_OPEN},
        {"z", TR_RECOVERY_OPEN},           {"z/x", TR_RECOVERY_OPEN},
        {"z/x[2]", TR_RECOVERY_OPEN},      {"z/x[2]/y", TR_RECOVERY_ANEW},
        {"z/x[1]", TR_RECOVERY_ANEW},      {"z/w", TR_RECOVERY_ANEW},
        {"map[1]", TR_RECOVERY_KEPT},      {"other", TR_RECOVERY_KEPT},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        enum tr_recovery_way way = tr_recovery_way(&plan, tr_text_of(cases[i].path));
        if (way != cases[i].way) {
            fail_msg("%s is %d, not %d", cases[i].path, (int)way, (int)cases[i].way);
        }
    }
    assert_ptr_equal(tr_recovery_edits(&plan, tr_text_of("w/inner")), &edits[1]);
    assert_null(tr_recovery_edits(&plan, tr_text_of("w")));
}

static const char *folder;

static int set_up(void **state)
{
    (void)state;
    folder = help_folder_enter();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    help_folder_leave();
    return 0;
}

static void test_a_plan_is_read_as_it_was_written(void **state)
{
    (void)state;
    char explain[TR_RECOVERY_EXPLAIN_BYTES];
    struct tr_arena arena;
    struct tr_recovery back;
    struct tr_text uri;
    struct tr_text same;
    tr_arena_init(&arena);
    assert_int_equal(tr_recovery_write(&plan, folder, &arena, &uri, explain), 0);
    assert_int_equal(tr_recovery_write(&plan, folder, &arena, &same, explain), 0);
    assert_true(tr_text_equal(uri, same)); /* it lies under its content */
    assert_int_equal(tr_recovery_read(folder, uri, &arena, &back, explain), 0);
    assert_int_equal(back.from_count, 2);
    assert_int_equal(back.from[1], 16);
    assert_int_equal(back.again_count, TR_COUNT_OF(again));
    assert_true(tr_text_equal(back.again[3], again[3]));
    assert_int_equal(back.open_count, 1);
    assert_int_equal(back.edit_count, TR_COUNT_OF(edits));
    assert_true(tr_text_equal(back.edits[1].input, edits[1].input));
    assert_int_equal(back.edits[0].slot.data[0], 7);
    tr_arena_fini(&arena);
}

static void test_what_is_no_plan_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int error;
    } cases[] = {
        {"", 0, TR_MALFORMED},
        {"\x95", 1, TR_MALFORMED},
        {"\x95\x02\x90\x90\x90\x90", 6, TR_VERSION},
        {"\x94\x01\x90\x90\x90", 5, TR_MALFORMED},
        {"\x95\x01\xdd\xff\xff\xff\xff\x90\x90\x90", 10, TR_MALFORMED}, /* a count that lies */
        {"\x95\x01\x90\x91\x01\x90\x90", 7, TR_MALFORMED},              /* a path that is none */
        {"\x95\x01\x90\x92\xa1z\xa1y\x90\x90", 10, TR_MALFORMED},       /* not in order */
        {"\x95\x01\x90\x91\xa0\x90\x90", 7, TR_MALFORMED},              /* a path of nothing */
        {"\x95\x01\x90\x90\x90\x90\xc0", 7, TR_MALFORMED},              /* more behind it */
    };
    char path[128];
    char explain[TR_RECOVERY_EXPLAIN_BYTES];
    snprintf(path, sizeof path, "%s/plan", folder);
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_arena arena;
        struct tr_recovery back = {.from_count = 77};
        struct tr_bytes bytes = {(const uint8_t *)cases[i].bytes, cases[i].size};
        tr_arena_init(&arena);
        explain[0] = '\0';
        assert_int_equal(tr_file_write(path, bytes, false), 0);
        assert_int_equal(tr_recovery_read(folder, tr_text_of(path), &arena, &back, explain),
                         cases[i].error);
        assert_int_equal(back.from_count, 77);
        assert_non_null(strstr(explain, "the plan of the recovery at"));
        tr_arena_fini(&arena);
    }
    unlink(path);
    struct tr_arena arena;
    struct tr_recovery back;
    tr_arena_init(&arena);
    assert_int_equal(tr_recovery_read(folder, tr_text_of(path), &arena, &back, explain),
                     TR_NOT_FOUND);
    tr_arena_fini(&arena);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_plan_says_of_a_path),
        cmocka_unit_test_setup_teardown(test_a_plan_is_read_as_it_was_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_plan_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
