/*
 * Which folders of a history lie on a share: those of attempts whose work was done elsewhere, by
 * the name that the attempt has outside.
 */
#include "deploy/history/shared_folder.h"

#include "tests/support/test.h"

static void test_only_what_was_done_elsewhere(void **state)
{
    static const struct {
        const char *plugin;
        bool is_elsewhere;
    } rows[] = {{"armada", true}, {"process", false}, {"http", false},
                {"echo", false},  {"mine", false},    {"", false}};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        assert_int_equal(tr_plugin_is_elsewhere(tr_text_of(rows[i].plugin)), rows[i].is_elsewhere);
    }
}

static void test_a_folder_is_known_by_the_attempts_name(void **state)
{
    static const struct {
        const char *folder;
        uint32_t trusted_bytes; /* 0: it is none */
    } rows[] = {{"/share/deep/set/it-0", 12},
                {"/share/set/it-0", 7},
                {"/set/it-0", 0},
                {"/share/set/it-1", 0},
                {"/share/set/", 0},
                {"it-0", 0},
                {"/it-0", 0},
                {"", 0}};
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_shared shared = {.trusted_bytes = 0};
        const struct tr_attempt row = {.plugin = tr_text_of("armada"),
                                       .generated_name = tr_text_of("it-0"),
                                       .folder = tr_text_of(rows[i].folder)};
        assert_int_equal(tr_shared_folder_of(&row, &shared), rows[i].trusted_bytes > 0);
        assert_int_equal(shared.trusted_bytes, rows[i].trusted_bytes);
    }
}

static void test_a_folder_of_a_process_is_none(void **state)
{
    struct tri_shared shared;
    const struct tr_attempt row = {.plugin = tr_text_of("process"),
                                   .generated_name = tr_text_of("it-0"),
                                   .folder = tr_text_of("/store/attempts/p/d/it/it-0")};
    (void)state;
    assert_false(tr_shared_folder_of(&row, &shared));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_was_done_elsewhere),
        cmocka_unit_test(test_a_folder_is_known_by_the_attempts_name),
        cmocka_unit_test(test_a_folder_of_a_process_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
