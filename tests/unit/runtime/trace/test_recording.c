/*
 * The file of a recording: what is written is read again, and every damage to it is seen.
 */
#include "tests/support/test.h"

#include <string.h>

#include "runtime/memory.h"
#include "runtime/trace/recording.h"
#include "schemas/runtime/recording.h"

#define ENTRIES 3

static uint8_t file[1024];
static size_t file_size;

/* A file of three entries. */
static void fill(void)
{
    memcpy(file, TR_RECORDING_MAGIC, TR_RECORDING_MAGIC_BYTES);
    file_size = TR_RECORDING_MAGIC_BYTES;
    for (uint64_t i = 0; i < ENTRIES; i++) {
        struct tr_recorded_end end = {.count = i, .message = tr_text_of("enough")};
        uint8_t *bytes;
        size_t size;
        assert_int_equal(tr_recording_entry_make(&tr_recorded_end_schema, &end, &bytes, &size), 0);
        memcpy(file + file_size, bytes, size);
        file_size += size;
        tr_free(bytes);
    }
}

/* Reads all entries, and gives how many there are and what comes after them. */
static int read_all(size_t size, size_t *count)
{
    struct tr_recording_reader reader;
    struct tr_recording_entry entry;
    *count = 0;
    int error = tr_recording_begin((struct tr_bytes){.data = file, .size = size}, &reader);
    while (error == 0 && (error = tr_recording_next(&reader, &entry)) == 0) {
        struct tr_recorded_end end;
        assert_int_equal(entry.type, tr_recorded_end_schema.id);
        assert_int_equal(tr_recorded_end_unpack(entry.body, entry.version, &end), 0);
        assert_int_equal(end.count, (*count)++);
    }
    return error;
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    size_t count;
    fill();
    assert_int_equal(read_all(file_size, &count), TR_NOT_FOUND);
    assert_int_equal(count, ENTRIES);
    assert_int_equal(read_all(TR_RECORDING_MAGIC_BYTES, &count), TR_NOT_FOUND);
    assert_int_equal(count, 0);
}

static void test_a_file_that_is_cut_off_is_good_up_to_there(void **state)
{
    (void)state;
    fill();
    size_t entry_size = (file_size - TR_RECORDING_MAGIC_BYTES) / ENTRIES;
    for (size_t size = 0; size < file_size; size++) {
        size_t count;
        int error = read_all(size, &count);
        if (size < TR_RECORDING_MAGIC_BYTES) {
            assert_int_equal(error, TR_MALFORMED);
            continue;
        }
        size_t whole = (size - TR_RECORDING_MAGIC_BYTES) / entry_size;
        bool is_between = (size - TR_RECORDING_MAGIC_BYTES) % entry_size == 0;
        assert_int_equal(count, whole);
        assert_int_equal(error, is_between ? TR_NOT_FOUND : TR_TRUNCATED);
    }
}

static void test_any_byte_that_is_changed_is_seen(void **state)
{
    (void)state;
    fill();
    for (size_t i = 0; i < file_size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            size_t count;
            file[i] ^= (uint8_t)(1U << bit);
            int error = read_all(file_size, &count);
            assert_true(error == TR_MALFORMED || error == TR_TRUNCATED);
            assert_true(count < ENTRIES);
            file[i] ^= (uint8_t)(1U << bit);
        }
    }
}

static void test_entries_have_a_bound(void **state)
{
    (void)state;
    struct tr_recorded_end end = {
        .message = {.data = (const char *)file, .size = TR_RECORDING_BODY_BYTES_MAX}};
    uint8_t *bytes;
    size_t size;
    assert_int_equal(tr_recording_entry_make(&tr_recorded_end_schema, &end, &bytes, &size),
                     TR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_a_file_that_is_cut_off_is_good_up_to_there),
        cmocka_unit_test(test_any_byte_that_is_changed_is_seen),
        cmocka_unit_test(test_entries_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
