/*
 * A tar is read as it was written, and a change of any byte of it is found.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "deploy/backup/tar_check.h"
#include "deploy/backup/tar_write.h"
#include "tests/support/test.h"

/* Longer than what fits into the fields of a header. */
#define LONG_BYTES 300

static struct tr_tar_entry entry_of(enum tr_tar_kind kind, const char *path, const char *target,
                                    uint64_t size)
{
    struct tr_tar_entry entry = {
        .kind = kind, .mode = 0644, .size = size, .modified_s = 1700000000};
    (void)snprintf(entry.path, sizeof entry.path, "%s", path);
    (void)snprintf(entry.target, sizeof entry.target, "%s", target);
    return entry;
}

/* What a visitor has seen, as text. */
static int note(void *self, const struct tr_tar_entry *entry, struct tr_bytes bytes)
{
    char *seen = self;
    size_t used = strlen(seen);
    (void)snprintf(seen + used, 4096 - used, "%c %s %s %zu\n", entry->kind, entry->path,
                   entry->target, bytes.size);
    return 0;
}

/* A file in memory with the tar of some entries; the caller closes it. */
static int write_tar(void)
{
    struct tr_tar_writer writer;
    char path[LONG_BYTES + 1] = {0};
    int file = memfd_create("tar", MFD_CLOEXEC);
    int source = memfd_create("source", MFD_CLOEXEC);
    assert_true(file >= 0 && source >= 0);
    assert_int_equal(write(source, "some bytes", 10), 10);
    assert_int_equal(lseek(source, 0, SEEK_SET), 0);
    memset(path, 'p', LONG_BYTES);
    assert_int_equal(tr_tar_writer_init(&writer, file), 0);
    const struct tr_bytes head = {(const uint8_t *)"head", 4};
    assert_int_equal(tr_tar_add_bytes(&writer, "first", head, 1), 0);
    struct tr_tar_entry entry = entry_of(TR_TAR_FOLDER, "folder", "", 0);
    assert_int_equal(tr_tar_add(&writer, &entry, -1), 0);
    entry = entry_of(TR_TAR_FILE, path, "", 10);
    assert_int_equal(tr_tar_add(&writer, &entry, source), 0);
    entry = entry_of(TR_TAR_LINK, "link", path, 0);
    assert_int_equal(tr_tar_add(&writer, &entry, -1), 0);
    entry = entry_of(TR_TAR_HARD_LINK, "twin", "first", 0);
    assert_int_equal(tr_tar_add(&writer, &entry, -1), 0);
    entry = entry_of(TR_TAR_FILE, "shrunk", "", 700); /* of which nothing is left */
    assert_int_equal(tr_tar_add(&writer, &entry, source), 0);
    assert_int_equal(tr_tar_finish(&writer, 1), 0);
    tr_tar_writer_fini(&writer);
    close(source);
    return file;
}

static struct tr_bytes map(int file)
{
    off_t size = lseek(file, 0, SEEK_END);
    void *data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    assert_true(data != MAP_FAILED);
    return (struct tr_bytes){.data = data, .size = (size_t)size};
}

static int visit(struct tr_bytes bytes, char *problem)
{
    char seen[4096] = "";
    const struct tr_tar_visitor visitor = {.self = seen, .entry = note};
    return tr_tar_visit(bytes, true, &visitor, problem);
}

static void test_what_was_written_is_read(void **state)
{
    (void)state;
    char expected[4096];
    char path[LONG_BYTES + 1] = {0};
    char seen[4096] = "";
    char problem[TR_TAR_PROBLEM_BYTES];
    const struct tr_tar_visitor visitor = {.self = seen, .entry = note};
    int file = write_tar();
    struct tr_bytes bytes = map(file);
    memset(path, 'p', LONG_BYTES);
    (void)snprintf(expected, sizeof expected,
                   "0 first  4\n5 folder  0\n0 %s  10\n2 link %s 0\n1 twin first 0\n"
                   "0 shrunk  700\n",
                   path, path);
    assert_int_equal(tr_tar_visit(bytes, true, &visitor, problem), 0);
    assert_string_equal(seen, expected);
    assert_int_equal(bytes.size % TR_TAR_BLOCK_BYTES, 0);
    assert_int_equal(munmap((void *)(uintptr_t)bytes.data, bytes.size), 0);
    close(file);
}

/* Each of them, by one bit and by all. */
static void test_no_byte_may_change(void **state)
{
    (void)state;
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x20};
    char problem[TR_TAR_PROBLEM_BYTES];
    int file = write_tar();
    struct tr_bytes bytes = map(file);
    uint8_t *data = (uint8_t *)(uintptr_t)bytes.data;
    for (size_t at = 0; at < bytes.size; at++) {
        for (size_t i = 0; i < TR_COUNT_OF(changes); i++) {
            data[at] ^= changes[i];
            int error = visit(bytes, problem);
            assert_true(error == TR_MALFORMED || error == TR_TRUNCATED);
            assert_true(strlen(problem) > 0);
            data[at] ^= changes[i];
        }
    }
    assert_int_equal(visit(bytes, problem), 0);
    assert_int_equal(munmap(data, bytes.size), 0);
    close(file);
}

static void test_nothing_may_be_missing_or_follow(void **state)
{
    (void)state;
    char problem[TR_TAR_PROBLEM_BYTES];
    int file = write_tar();
    struct tr_bytes bytes = map(file);
    for (size_t size = 0; size < bytes.size; size++) {
        const struct tr_bytes cut = {.data = bytes.data, .size = size};
        assert_int_equal(visit(cut, problem), TR_TRUNCATED);
        assert_non_null(strstr(problem, "it ends at byte"));
    }
    uint8_t *longer = calloc(1, bytes.size + TR_TAR_BLOCK_BYTES);
    assert_non_null(longer);
    memcpy(longer, bytes.data, bytes.size);
    const struct tr_bytes more[] = {{.data = longer, .size = bytes.size + 1},
                                    {.data = longer, .size = bytes.size + TR_TAR_BLOCK_BYTES}};
    for (size_t i = 0; i < TR_COUNT_OF(more); i++) {
        assert_int_equal(visit(more[i], problem), TR_MALFORMED);
        assert_non_null(strstr(problem, "at its end"));
    }
    free(longer);
    assert_int_equal(munmap((void *)(uintptr_t)bytes.data, bytes.size), 0);
    close(file);
}

static void test_large_sizes_are_said(void **state)
{
    (void)state;
    struct tr_buffer blocks;
    size_t size;
    struct tr_tar_entry found;
    const struct tr_tar_entry entry = entry_of(TR_TAR_FILE, "large", "", 1ULL << 40);
    tr_buffer_init(&blocks, 0);
    assert_int_equal(tr_tar_header(&entry, &blocks), 0);
    assert_int_equal(tr_tar_read(tr_buffer_bytes(&blocks), &found, &size), 0);
    assert_int_equal(size, blocks.size);
    assert_true(found.size == 1ULL << 40);
    tr_buffer_fini(&blocks);
}

static int stop(void *self, uint64_t bytes)
{
    (void)self;
    (void)bytes;
    return TR_CLOSED;
}

static void test_the_first_error_stays(void **state)
{
    (void)state;
    struct tr_tar_writer writer;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    const struct tr_bytes bytes = {(const uint8_t *)"x", 1};
    assert_int_equal(tr_tar_writer_init(&writer, full), 0);
    assert_int_equal(tr_tar_add_bytes(&writer, "x", bytes, 1), TR_STORE_FULL);
    writer.step = stop;
    assert_int_equal(tr_tar_finish(&writer, 1), TR_STORE_FULL);
    tr_tar_writer_fini(&writer);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(tr_tar_writer_init(&writer, null), 0);
    writer.step = stop;
    assert_int_equal(tr_tar_add_bytes(&writer, "x", bytes, 1), TR_CLOSED);
    tr_tar_writer_fini(&writer);
    close(full);
    close(null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_written_is_read),
        cmocka_unit_test(test_no_byte_may_change),
        cmocka_unit_test(test_nothing_may_be_missing_or_follow),
        cmocka_unit_test(test_large_sizes_are_said),
        cmocka_unit_test(test_the_first_error_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
