/*
 * Which store is meant, in the order of what is looked at; and what a store's folder keeps.
 */
#include "deploy/cli/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/cli/commands.h"
#include "deploy/common/file.h"
#include "runtime/journal/store_folder.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"

static char *here; /* the folder without links */

static int set_up(void **state)
{
    (void)state;
    help_folder_enter();
    here = realpath(".", NULL);
    assert_int_equal(unsetenv("TROUPE_STORE"), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(here);
    help_folder_leave();
    return 0;
}

static struct tr_store_place place;
static struct tr_invocation invocation; /* of the last call of find */
static bool was_missing;                /* the store that it has made */

static enum tr_exit_status find(const char *named, bool makes)
{
    static const struct tr_option option = {.name = "store", .value = "STORE"};
    static struct tr_given given;
    given = (struct tr_given){&option, named};
    invocation = (struct tr_invocation){
        .command = &tr_command_version,
        .arguments = {.given = &given, .given_count = named != NULL ? 1 : 0},
        .is_quiet = true,
    };
    was_missing = tr_store_choose(&invocation, makes, &place) == TR_EXIT_DONE && place.is_missing;
    assert_true(!was_missing || access(place.folder, F_OK) != 0); /* choosing makes nothing */
    return tr_store_find(&invocation, makes, &place);
}

static bool is_below(const char *rest)
{
    char expected[PATH_MAX];
    snprintf(expected, sizeof expected, "%s/%s", here, rest);
    return strcmp(place.folder, expected) == 0;
}

static void test_the_nearest_store_upwards(void **state)
{
    (void)state;
    assert_int_equal(find(NULL, false), TR_EXIT_USAGE);
    assert_int_equal(mkdir("a", 0755), 0);
    assert_int_equal(mkdir("a/b", 0755), 0);
    assert_int_equal(mkdir(".troupe", 0700), 0);
    assert_int_equal(chdir("a/b"), 0);
    assert_int_equal(find(NULL, true), TR_EXIT_DONE);
    assert_true(is_below(".troupe"));
    assert_false(was_missing);
    assert_int_equal(mkdir("../.troupe", 0700), 0);
    assert_int_equal(find(NULL, false), TR_EXIT_DONE);
    assert_true(is_below("a/.troupe"));
    help_write(".troupe", "a file is no store");
    assert_int_equal(find(NULL, false), TR_EXIT_DONE);
    assert_true(is_below("a/.troupe"));
    assert_int_equal(chdir(here), 0);
}

static void test_a_new_store_is_its_owners(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(find(NULL, true), TR_EXIT_DONE);
    assert_true(was_missing && is_below(".troupe"));
    assert_int_equal(stat(place.folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(find(NULL, true), TR_EXIT_DONE);
    assert_false(was_missing);
}

static void test_named_stores_win(void **state)
{
    (void)state;
    assert_int_equal(mkdir(".troupe", 0700), 0);
    assert_int_equal(setenv("TROUPE_STORE", "standard", 1), 0);
    assert_int_equal(find(NULL, false), TR_EXIT_USAGE);
    assert_int_equal(find(NULL, true), TR_EXIT_DONE);
    assert_true(was_missing && is_below("standard"));
    assert_int_equal(find("named", false), TR_EXIT_USAGE);
    assert_int_equal(find("named", true), TR_EXIT_DONE);
    assert_true(is_below("named"));
    assert_int_equal(find("", true), TR_EXIT_USAGE);
    assert_int_equal(find("/nonexistent/store", true), TR_EXIT_ENGINE);
    help_write("file", "x");
    assert_int_equal(find("file", true), TR_EXIT_USAGE);
    assert_int_equal(setenv("TROUPE_STORE", "", 1), 0);
    assert_int_equal(find(NULL, false), TR_EXIT_DONE);
    assert_true(is_below(".troupe"));
}

static void test_a_database_has_a_folder_of_this_machine(void **state)
{
    (void)state;
    char word[PATH_MAX];
    char first[PATH_MAX];
    char data[PATH_MAX];
    char bound[TRI_STORE_LOCATOR_BYTES];
    snprintf(data, sizeof data, "%s/data", here);
    assert_int_equal(setenv("XDG_DATA_HOME", data, 1), 0);
    assert_int_equal(find("postgresql://a:one@h/d", false), TR_EXIT_DONE);
    assert_true(strncmp(place.folder, data, strlen(data)) == 0);
    snprintf(first, sizeof first, "%s", place.folder);
    assert_int_equal(find("postgresql://a:two@h/d", true), TR_EXIT_DONE);
    assert_string_equal(place.folder, first); /* a password does not count */
    assert_int_equal(tri_store_folder_locator(first, NULL, bound), 0);
    assert_string_equal(bound, "postgresql://a:two@h/d");
    assert_string_equal(tr_store_word(&invocation, word), first); /* and is not shown */
    assert_int_equal(find("postgresql://a@h/other", false), TR_EXIT_DONE);
    assert_string_not_equal(place.folder, first);
    assert_string_equal(tr_store_word(&invocation, word), "postgresql://a@h/other");
    assert_int_equal(setenv("XDG_DATA_HOME", "/proc/none", 1), 0);
    assert_int_equal(find("postgresql://h/d", false), TR_EXIT_ENGINE);
    assert_int_equal(setenv("XDG_DATA_HOME", "", 1), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(find("postgresql://h/d", false), TR_EXIT_ENGINE);
}

static void test_settings_name_a_store(void **state)
{
    (void)state;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/settings.yaml", here);
    assert_int_equal(setenv("TROUPE_SETTINGS", path, 1), 0);
    help_write("settings.yaml", "store: named\njobs: many\n"); /* other keys are not looked at */
    assert_int_equal(find(NULL, false), TR_EXIT_USAGE);
    assert_int_equal(find(NULL, true), TR_EXIT_DONE);
    assert_true(was_missing && is_below("named"));
    assert_int_equal(find("other", true), TR_EXIT_DONE);
    assert_true(is_below("other"));
    help_write("settings.yaml", "store: [named]\n");
    assert_int_equal(find(NULL, true), TR_EXIT_USAGE);
    help_write("settings.yaml", "store: named\n");
    assert_int_equal(mkdir(".troupe", 0700), 0);
    assert_int_equal(find(NULL, true), TR_EXIT_DONE);
    assert_true(is_below(".troupe")); /* what is nearer wins */
    assert_int_equal(unsetenv("TROUPE_SETTINGS"), 0);
}

static void test_files_are_read_and_written_as_a_whole(void **state)
{
    (void)state;
    char *data;
    size_t size;
    struct tr_bytes bytes = {.data = (const uint8_t *)"abc", .size = 3};
    assert_int_equal(tr_file_write("x", bytes, false), 0);
    assert_int_equal(tr_file_read("x", 3, &data, &size), 0);
    assert_int_equal(size, 3);
    assert_string_equal(data, "abc");
    tr_free(data);
    assert_int_equal(tr_file_read("x", 2, &data, &size), TR_LIMIT);
    assert_int_equal(tr_file_read("y", 2, &data, &size), TR_NOT_FOUND);
    assert_int_equal(tr_file_read(".", 2, &data, &size), TR_SYSTEM);
    assert_int_equal(tr_file_write("no/x", bytes, false), TR_SYSTEM);
    assert_int_equal(tr_file_write("/dev/full/x", bytes, false), TR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_nearest_store_upwards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_new_store_is_its_owners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_named_stores_win, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_database_has_a_folder_of_this_machine, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_settings_name_a_store, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_read_and_written_as_a_whole, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
