/*
 * Folders on a share: what an attempt has left goes, its logs stay, and nothing outside is touched,
 * whatever others have put in its way.
 */
#include "runtime/process/shared.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

/* TOP/share/set/attempt/{work/file, tmp, outputs.json}, and TOP/other/file beside the share. */
/* Of an attempt, below the test's folder: its own, and where it worked. */
#define ATTEMPT "share/set/attempt"
#define WORK ATTEMPT "/work"

static char top[64];
static char folder[128];
static struct tri_shared shared;

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", top, name);
    return path;
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(path_of(name), 0755), 0);
}

static void make_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool is_there(const char *name)
{
    struct stat status;
    return lstat(path_of(name), &status) == 0;
}

static int setup(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "/tmp/troupe-shared-XXXXXX");
    assert_non_null(mkdtemp(top));
    make_folder("share");
    make_folder("share/set");
    make_folder(ATTEMPT);
    make_folder(WORK);
    make_folder(ATTEMPT "/tmp");
    make_file(WORK "/file", "12345");
    make_file(ATTEMPT "/outputs.json", "{}");
    make_folder("other");
    make_file("other/file", "other");
    snprintf(folder, sizeof folder, "%s/share/set/attempt", top);
    shared =
        (struct tri_shared){.path = tr_text_of(folder), .trusted_bytes = (uint32_t)strlen(top) + 6};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(tri_below_empty(fd), 0);
    close(fd);
    return rmdir(top);
}

static void a_folder_is_counted_and_goes(void **state)
{
    uint64_t bytes = 0;
    (void)state;
    assert_true(tri_shared_exists(&shared, &bytes));
    assert_int_equal(bytes, 7);
    assert_int_equal(tri_shared_remove(&shared), 0);
    assert_false(tri_shared_exists(&shared, &bytes));
    assert_int_equal(tri_shared_remove(&shared), 0); /* none is fine */
    assert_true(is_there("share/set"));
    tri_shared_remove_parent(&shared);
    assert_false(is_there("share/set"));
    assert_true(is_there("share"));
    assert_int_equal(tri_shared_remove(&shared), 0);
}

static void a_set_that_others_are_in_stays(void **state)
{
    (void)state;
    make_folder("share/set/another");
    assert_int_equal(tri_shared_remove(&shared), 0);
    tri_shared_remove_parent(&shared);
    assert_true(is_there("share/set/another"));
}

static void logs_are_kept(void **state)
{
    (void)state;
    shared.keeps_logs = true;
    make_file(ATTEMPT "/stdout", "");
    make_file(ATTEMPT "/stderr", "words");
    assert_int_equal(tri_shared_remove(&shared), 0);
    assert_true(is_there(ATTEMPT "/stderr"));
    assert_false(is_there(WORK));
    assert_false(is_there(ATTEMPT "/tmp"));
    make_file(ATTEMPT "/stderr", ""); /* nothing is worth keeping now */
    assert_int_equal(tri_shared_remove(&shared), 0);
    assert_false(is_there(ATTEMPT));
}

static void links_are_removed_and_not_followed(void **state)
{
    (void)state;
    shared.keeps_logs = true;
    assert_int_equal(symlink(path_of("other"), path_of(WORK "/door")), 0);
    assert_int_equal(symlink(path_of("other/file"), path_of(ATTEMPT "/stdout")), 0);
    assert_int_equal(tri_shared_remove(&shared), 0);
    assert_false(is_there(ATTEMPT)); /* a link is no log */
    assert_true(is_there("other/file"));
}

static void a_link_on_the_way_leads_nowhere(void **state)
{
    (void)state;
    make_folder("other/attempt");
    make_folder("other/attempt/work");
    assert_int_equal(rename(path_of("share/set"), path_of("share/moved")), 0);
    assert_int_equal(symlink(path_of("other"), path_of("share/set")), 0);
    for (int keeps_logs = 0; keeps_logs < 2; keeps_logs++) {
        shared.keeps_logs = keeps_logs == 1;
        assert_int_equal(tri_shared_remove(&shared), 0);
        tri_shared_remove_parent(&shared);
    }
    assert_true(is_there("other/attempt/work"));
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    char path[256];
    (void)state;
    snprintf(path, sizeof path, "%s/share/../other", top);
    shared.path = tr_text_of(path);
    assert_int_equal(tri_shared_remove(&shared), TR_INVALID);
    shared.path = (struct tr_text){.data = path, .size = shared.trusted_bytes};
    assert_int_equal(tri_shared_remove(&shared), TR_INVALID); /* the share itself */
    shared = (struct tri_shared){.path = tr_text_of(folder)};
    assert_int_equal(tri_shared_remove(&shared), TR_INVALID); /* nothing is trusted */
    assert_true(is_there("other/file"));
    assert_true(is_there(WORK "/file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_folder_is_counted_and_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_set_that_others_are_in_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(logs_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_removed_and_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_on_the_way_leads_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_lead_elsewhere_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
