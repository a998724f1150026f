/*
 * The file of an export: what was written is read; what was not sealed, is spent, cut off, changed
 * or out of order is refused in words.
 */
#include "deploy/transfer/archive.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/common/file.h"
#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"

struct heard {
    uint32_t heads;
    uint32_t ops;
    uint32_t files;
};

static char problem[TR_ARCHIVE_PROBLEM_BYTES];

static int enter(void **state)
{
    (void)state;
    (void)help_folder_enter();
    return 0;
}

static int leave(void **state)
{
    (void)state;
    help_folder_leave();
    return 0;
}

static void write_part(bool has_head, bool is_in_order)
{
    struct tr_archive_writer writer;
    struct tr_archive_head head = {.program = tr_text_of("0"), .execution = 16};
    struct tr_archive_op op = {.kind = 6, .data = {(const uint8_t *)"row", 3}};
    struct tr_archive_file file = {.path = tr_text_of("blobs/x"),
                                   .bytes = {(const uint8_t *)"bytes", 5}};
    assert_int_equal(tr_archive_create("it", &writer), 0);
    if (has_head) {
        tr_archive_add(&writer, &tr_archive_head_schema, &head);
    }
    tr_archive_add(&writer, is_in_order ? &tr_archive_op_schema : &tr_archive_file_schema,
                   is_in_order ? (void *)&op : (void *)&file);
    tr_archive_add(&writer, is_in_order ? &tr_archive_file_schema : &tr_archive_op_schema,
                   is_in_order ? (void *)&file : (void *)&op);
    assert_int_equal(tr_archive_finish(&writer), 0);
}

static int hear_head(void *self, const struct tr_archive_head *head)
{
    assert_int_equal(head->execution, 16);
    ((struct heard *)self)->heads++;
    return 0;
}

static int hear_op(void *self, const struct tr_archive_op *op)
{
    assert_int_equal(op->data.size, 3);
    ((struct heard *)self)->ops++;
    return 0;
}

static int hear_file(void *self, const struct tr_archive_file *file)
{
    assert_memory_equal(file->bytes.data, "bytes", 5);
    ((struct heard *)self)->files++;
    return 0;
}

static int read_bytes(struct tr_bytes bytes, struct heard *heard)
{
    struct tr_archive_visitor visitor = {
        .self = heard, .head = hear_head, .op = hear_op, .file = hear_file};
    *heard = (struct heard){.heads = 0};
    problem[0] = '\0';
    return tr_archive_read(bytes, &visitor, problem);
}

static int read_path(const char *path)
{
    struct tr_bytes bytes;
    struct heard heard;
    assert_int_equal(tr_file_map(path, &bytes), 0);
    int error = read_bytes(bytes, &heard);
    tr_file_unmap(bytes);
    return error;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct tr_bytes bytes;
    struct heard heard;
    struct stat status;
    write_part(true, true);
    assert_int_equal(tr_archive_seal("it"), 0);
    assert_int_equal(stat("it", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(tr_file_map("it", &bytes), 0);
    assert_int_equal(read_bytes(bytes, &heard), 0);
    assert_int_equal(heard.heads + 10 * heard.ops + 100 * heard.files, 111);
    uint8_t copy[1024];
    assert_true(bytes.size < sizeof copy);
    for (size_t at = 0; at < bytes.size; at++) {
        memcpy(copy, bytes.data, bytes.size);
        assert_true(read_bytes((struct tr_bytes){copy, at}, &heard) != 0);
        assert_true(problem[0] != '\0');
        copy[at] ^= 1;
        assert_true(read_bytes((struct tr_bytes){copy, bytes.size}, &heard) != 0);
        assert_true(problem[0] != '\0');
    }
    tr_file_unmap(bytes);
}

static void only_what_is_sealed_is_read(void **state)
{
    (void)state;
    write_part(true, true);
    assert_int_equal(read_path("it.part"), TR_BUSY);
    assert_non_null(strstr(problem, "the export was not finished"));
    assert_int_equal(tr_archive_seal("it"), 0);
    assert_int_equal(tr_archive_seal("it"), TR_EXISTS);
    assert_int_not_equal(access("it.part", F_OK), 0);
    assert_int_equal(read_path("it"), 0);
    assert_int_equal(tr_archive_spend("it"), 0);
    assert_int_equal(read_path("it"), TR_BUSY);
    assert_non_null(strstr(problem, "it was imported already"));
    assert_int_equal(tr_archive_seal("nothing"), TR_SYSTEM);
}

static void entries_have_an_order(void **state)
{
    (void)state;
    write_part(false, true);
    assert_int_equal(tr_archive_seal("it"), 0);
    assert_int_equal(read_path("it"), TR_MALFORMED);
    write_part(true, false);
    assert_int_equal(tr_archive_seal("it"), 0);
    assert_int_equal(read_path("it"), TR_MALFORMED);
    assert_non_null(strstr(problem, "belongs elsewhere"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        CASE(what_was_written_is_read),
        CASE(only_what_is_sealed_is_read),
        CASE(entries_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
