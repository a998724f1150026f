/*
 * A file of rows: what is read is what was written, and nothing where it is another file.
 */
#include "runtime/host/row_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

enum { ROWS_MAX = 4 };

static const struct tri_row_file file = {
    .name = "rows", .mark = 7, .row_bytes = sizeof(uint64_t), .rows_max = ROWS_MAX};

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/troupe-rows-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return folder_remove(folder);
}

static void path_of(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

static void test_what_was_written_is_read(void **state)
{
    (void)state;
    const uint64_t written[ROWS_MAX] = {1, 2, 3, 4};
    char path[128];
    path_of(path, "rows.new");
    for (size_t count = 0; count <= ROWS_MAX; count++) {
        uint64_t rows[ROWS_MAX];
        assert_int_equal(tri_row_file_write(&file, folder, written, count), 0);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(tri_row_file_read(&file, folder, rows), count);
        assert_memory_equal(rows, written, count * sizeof rows[0]);
    }
}

/* One that is not there, is a folder, has another mark, or ends in the middle of a row or has too
 * many of them. */
static void test_other_files(void **state)
{
    (void)state;
    const uint64_t written[] = {8, 1, 2, 3, 4, 5};
    uint64_t rows[ROWS_MAX];
    char path[128];
    path_of(path, "rows");
    assert_int_equal(tri_row_file_read(&file, folder, rows), 0);
    const struct {
        uint64_t mark;
        size_t bytes;
        size_t count;
    } cases[] = {{8, 24, 0}, {7, 0, 0}, {7, 5, 0}, {7, 8, 0}, {7, 31, 2}, {7, 48, ROWS_MAX}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        uint64_t bytes[TR_COUNT_OF(written)];
        memcpy(bytes, written, sizeof bytes);
        bytes[0] = cases[i].mark;
        int opened = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(opened, bytes, cases[i].bytes), cases[i].bytes);
        close(opened);
        assert_int_equal(tri_row_file_read(&file, folder, rows), cases[i].count);
    }
    unlink(path);
}

static void test_where_nothing_can_be_written(void **state)
{
    (void)state;
    const uint64_t row = 1;
    uint64_t rows[ROWS_MAX];
    assert_int_equal(tri_row_file_write(&file, "/nowhere", &row, 1), TR_SYSTEM);
    assert_int_equal(tri_row_file_read(&file, "/nowhere", rows), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_what_was_written_is_read),
        cmocka_unit_test(test_where_nothing_can_be_written),
    };
    return cmocka_run_group_tests_name("row_file", tests, make_folder, remove_folder);
}
