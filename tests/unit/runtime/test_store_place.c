/*
 * The folder of a store: the first one gets it, another one is refused until it is given to it, and
 * a folder that was moved is the same.
 */
#include "runtime/store_place.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/scripted.h"
#include "tests/unit/runtime/stand.h"

static char explain[TRI_STORE_EXPLAIN_BYTES];

static int claim(struct stand *stand, const char *folder, bool takes_over)
{
    struct tri_store *store = stand_open(stand);
    explain[0] = '\0';
    int error = tri_store_place_claim(store, folder, takes_over, explain);
    tri_store_close(store);
    return error;
}

static void path_of(const char *folder, char path[128])
{
    (void)snprintf(path, 128, "%s/place", folder);
}

static void test_a_store_has_one_folder(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    char one[SCRIPTED_PATH_BYTES];
    char other[SCRIPTED_PATH_BYTES];
    char host[256] = "";
    scripted_folder(one);
    scripted_folder(other);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_int_equal(claim(stand, one, false), 0);
    assert_int_equal(claim(stand, one, false), 0);
    assert_int_equal(claim(stand, other, false), TR_STORE_FOREIGN);
    assert_non_null(strstr(explain, one));
    assert_non_null(strstr(explain, host));
    assert_non_null(strstr(explain, "type troupe store take-over --store /"));
    assert_non_null(strstr(explain, other));
    assert_int_equal(claim(stand, one, false), 0);
    assert_int_equal(claim(stand, other, true), 0);
    assert_int_equal(claim(stand, other, false), 0);
    assert_int_equal(claim(stand, one, false), TR_STORE_FOREIGN);
    assert_int_equal(claim(stand, one, true), 0); /* there and back */
    assert_int_equal(claim(stand, other, false), TR_STORE_FOREIGN);
    scripted_folder_remove(one);
    scripted_folder_remove(other);
    stand_free(stand);
}

static void test_a_folder_may_be_moved(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    char one[SCRIPTED_PATH_BYTES];
    char moved[SCRIPTED_PATH_BYTES + 8];
    scripted_folder(one);
    (void)snprintf(moved, sizeof moved, "%s-moved", one);
    assert_int_equal(claim(stand, one, false), 0);
    assert_int_equal(rename(one, moved), 0);
    assert_int_equal(claim(stand, moved, false), 0);
    assert_int_equal(mkdir(one, 0700), 0); /* a new one of the old name */
    assert_int_equal(claim(stand, one, false), TR_STORE_FOREIGN);
    scripted_folder_remove(one);
    scripted_folder_remove(moved);
    stand_free(stand);
}

static void test_a_file_of_other_bytes_is_another_folder(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    char one[SCRIPTED_PATH_BYTES];
    char path[128];
    scripted_folder(one);
    path_of(one, path);
    assert_int_equal(claim(stand, one, false), 0);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
    assert_int_equal(claim(stand, one, false), TR_STORE_FOREIGN);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(claim(stand, one, false), TR_STORE_FOREIGN);
    scripted_folder_remove(one);
    stand_free(stand);
}

static void test_a_claim_that_fails_changes_nothing(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    char one[SCRIPTED_PATH_BYTES];
    assert_int_equal(claim(stand, "/nowhere", false), TR_STORE_FAILED);
    assert_non_null(strstr(explain, "/nowhere/place cannot be written"));
    scripted_folder(one);
    if (stand->model != NULL) { /* the file is there, and the cell is not */
        tri_model_faults(stand->model)->full_commits = 1;
        assert_int_equal(claim(stand, one, false), TR_STORE_FULL);
    }
    assert_int_equal(claim(stand, one, false), 0);
    scripted_folder_remove(one);
    stand_free(stand);
}

int main(void)
{
    const struct stand_test tests[] = {
        STAND_TEST(test_a_store_has_one_folder),
        STAND_TEST(test_a_folder_may_be_moved),
        STAND_TEST(test_a_file_of_other_bytes_is_another_folder),
        STAND_TEST(test_a_claim_that_fails_changes_nothing),
    };
    return stand_run_suite("store_place", tests, TR_COUNT_OF(tests));
}
