/*
 * The messages of the keeper: words and limits inside a process_start, and the names of numbers.
 * (tests of all schemas alike are elsewhere.)
 */
#include "schemas/runtime/process.h"

#include <string.h>

#include "tests/support/test.h"

static uint8_t buffer[4096];

static struct tr_bytes written(const struct tr_writer *writer)
{
    return (struct tr_bytes){.data = writer->begin, .size = tr_writer_size(writer)};
}

static void words_come_back(void **state)
{
    (void)state;
    static const char *const words[] = {"python3", "", "ä", "\xff\xfe not utf-8", NULL};
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_process_strings_pack(words, &writer), 0);
    struct tr_cursor cursor;
    assert_int_equal(tr_process_array_begin(written(&writer), &cursor), 4);
    for (size_t i = 0; i < 4; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        assert_int_equal(word.size, strlen(words[i]));
        assert_memory_equal(word.data, words[i], word.size);
    }
    assert_int_equal(cursor.error, 0);
    assert_ptr_equal(cursor.at, cursor.end);
}

static void no_words_are_none(void **state)
{
    (void)state;
    struct tr_cursor cursor;
    assert_int_equal(tr_process_array_begin((struct tr_bytes){0}, &cursor), 0);
    assert_int_equal(cursor.error, 0);
    uint8_t nil = 0xc0;
    assert_int_equal(tr_process_array_begin((struct tr_bytes){&nil, 1}, &cursor), 0);
    assert_int_equal(cursor.error, 0);
}

static void a_buffer_too_small_is_told(void **state)
{
    (void)state;
    static const char *const words[] = {"python3", "script", NULL};
    struct tr_writer writer = tr_writer_of(buffer, 10);
    assert_int_equal(tr_process_strings_pack(words, &writer), TR_LIMIT);
}

static void rows_of_a_run_come_back(void **state)
{
    (void)state;
    const struct tr_process_secret secret = {tr_text_of("TOKEN"), tr_text_of("crm"),
                                             tr_text_of("token"), tr_text_of("3"), true};
    const struct tr_process_file file = {tr_text_of("a/b"), {(const uint8_t *)"{}", 2}, 0600};
    const struct tr_process_result result = {
        .name = tr_text_of("outputs.json"), .size_max = 1U << 20, .is_tail = true};
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    struct tr_cursor cursor;
    assert_int_equal(tr_process_secrets_pack(&secret, 1, &writer), 0);
    assert_int_equal(tr_process_array_begin(written(&writer), &cursor), 1);
    struct tr_process_secret secret_back = tr_process_secret_next(&cursor);
    assert_true(tr_text_equal(secret_back.group, secret.group) && secret_back.is_file);
    assert_true(tr_text_equal(secret_back.version, secret.version));
    writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_process_files_pack(&file, 1, &writer), 0);
    assert_int_equal(tr_process_array_begin(written(&writer), &cursor), 1);
    struct tr_process_file file_back = tr_process_file_next(&cursor);
    assert_true(tr_text_equal(file_back.name, file.name));
    assert_memory_equal(file_back.bytes.data, "{}", 2);
    assert_int_equal(file_back.mode, 0600);
    writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_process_results_pack(&result, 1, &writer), 0);
    assert_int_equal(tr_process_array_begin(written(&writer), &cursor), 1);
    assert_int_equal(tr_process_result_next(&cursor).size_max, 1U << 20);
    assert_int_equal(cursor.error, 0);
}

static void documents_are_told_apart(void **state)
{
    (void)state;
    struct tr_cursor cursor;
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    tr_write_array(&writer, 3);
    tr_write_nil(&writer);
    tr_write_bytes(&writer, (struct tr_bytes){(const uint8_t *)"{}", 2});
    tr_write_u64(&writer, 7000000);
    assert_int_equal(tr_process_array_begin(written(&writer), &cursor), 3);
    assert_true(tr_process_document_next(&cursor).is_absent);
    struct tr_process_document whole = tr_process_document_next(&cursor);
    assert_false(whole.is_absent || whole.is_too_large);
    assert_int_equal(whole.size, 2);
    struct tr_process_document large = tr_process_document_next(&cursor);
    assert_true(large.is_too_large);
    assert_int_equal(large.size, 7000000);
    assert_int_equal(cursor.error, 0);
}

static void rows_of_other_shapes_are_refused(void **state)
{
    (void)state;
    static const uint8_t pair[] = {0x91, 0x92, 0xa1, 'a', 0xa1, 'b'};
    struct tr_cursor cursor;
    tr_process_array_begin((struct tr_bytes){pair, sizeof pair}, &cursor);
    (void)tr_process_secret_next(&cursor);
    assert_int_equal(cursor.error, TR_MALFORMED);
    tr_process_array_begin((struct tr_bytes){pair, sizeof pair}, &cursor);
    (void)tr_process_file_next(&cursor);
    assert_int_equal(cursor.error, TR_MALFORMED);
    tr_process_array_begin((struct tr_bytes){pair, sizeof pair}, &cursor);
    (void)tr_process_result_next(&cursor);
    assert_int_equal(cursor.error, TR_MALFORMED);
}

static void bad_words_are_told(void **state)
{
    (void)state;
    static const struct {
        struct tr_bytes array;
        int error;
    } rows[] = {
        {{(const uint8_t *)"\x91\xa3"
                           "a\0b",
          5},
         TR_MALFORMED},                                   /* a zero inside */
        {{(const uint8_t *)"\x91\x07", 2}, TR_MALFORMED}, /* a number */
        {{(const uint8_t *)"\x91\xa3"
                           "ab",
          4},
         TR_TRUNCATED},
        {{(const uint8_t *)"\x91\xa1\xff", 3}, TR_MALFORMED}, /* text that is no UTF-8 */
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_cursor cursor;
        assert_int_equal(tr_process_array_begin(rows[i].array, &cursor), 1);
        assert_int_equal(tr_process_string_next(&cursor).size, 0);
        assert_int_equal(cursor.error, rows[i].error);
    }
    struct tr_cursor cursor;
    (void)tr_process_array_begin((struct tr_bytes){(const uint8_t *)"\xa1x", 2}, &cursor);
    assert_int_equal(cursor.error, TR_MALFORMED);
}

static void limits_come_back(void **state)
{
    (void)state;
    const struct tr_process_limit limits[] = {
        {.name = tr_text_of("open_files"), .soft = 10, .hard = UINT64_MAX},
        {.name = tr_text_of("core"), .soft = 0, .hard = 0},
    };
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_process_limits_pack(limits, TR_COUNT_OF(limits), &writer), 0);
    struct tr_cursor cursor;
    assert_int_equal(tr_process_array_begin(written(&writer), &cursor), TR_COUNT_OF(limits));
    for (size_t i = 0; i < TR_COUNT_OF(limits); i++) {
        struct tr_process_limit limit = tr_process_limit_next(&cursor);
        assert_true(tr_text_equal(limit.name, limits[i].name));
        assert_true(limit.soft == limits[i].soft && limit.hard == limits[i].hard);
    }
    assert_int_equal(cursor.error, 0);
    uint8_t pair[] = {0x91, 0x92, 0xa1, 'x', 0x01};
    (void)tr_process_array_begin((struct tr_bytes){pair, sizeof pair}, &cursor);
    (void)tr_process_limit_next(&cursor);
    assert_int_equal(cursor.error, TR_MALFORMED);
}

static void a_start_comes_back(void **state)
{
    (void)state;
    static uint8_t words[64];
    static const char *const argv[] = {"true", NULL};
    struct tr_writer writer = tr_writer_of(words, sizeof words);
    assert_int_equal(tr_process_strings_pack(argv, &writer), 0);
    struct tr_process_start start = {.key = tr_text_of("a7x/list[3]@0"),
                                     .argv = written(&writer),
                                     .folder = tr_text_of("/tmp"),
                                     .timeout_ms = UINT64_MAX,
                                     .umask = 0077};
    struct tr_writer body = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_process_start_pack(&start, &body), 0);
    struct tr_process_start found;
    assert_int_equal(
        tr_process_start_unpack(written(&body), tr_process_start_schema.version, &found), 0);
    assert_true(tr_text_equal(found.key, start.key));
    assert_int_equal(found.argv.size, start.argv.size);
    assert_memory_equal(found.argv.data, start.argv.data, start.argv.size);
    assert_int_equal(found.environment.size, 1); /* nothing is packed as nil */
    assert_int_equal(found.umask, 0077);
    assert_true(found.timeout_ms == UINT64_MAX);
}

static void secrets_are_marked(void **state)
{
    (void)state;
    const struct tr_field *fields = tr_process_start_schema.fields();
    bool is_found = false;
    for (uint16_t i = 0; i < tr_process_start_schema.field_count; i++) {
        bool is_environment = strcmp(fields[i].name, "environment") == 0;
        assert_int_equal((fields[i].marks & TR_REDACTED) != 0, is_environment);
        is_found = is_found || is_environment;
    }
    assert_true(is_found);
}

static void ids_are_in_the_range(void **state)
{
    (void)state;
    static const struct tr_schema *const schemas[] = {TR_PROCESS_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
    for (size_t i = 0; i < TR_COUNT_OF(schemas); i++) {
        assert_in_range(schemas[i]->id, 300, 339);
        assert_true(i == 0 || schemas[i]->id > schemas[i - 1]->id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_back),
        cmocka_unit_test(no_words_are_none),
        cmocka_unit_test(a_buffer_too_small_is_told),
        cmocka_unit_test(rows_of_a_run_come_back),
        cmocka_unit_test(documents_are_told_apart),
        cmocka_unit_test(rows_of_other_shapes_are_refused),
        cmocka_unit_test(bad_words_are_told),
        cmocka_unit_test(limits_come_back),
        cmocka_unit_test(a_start_comes_back),
        cmocka_unit_test(secrets_are_marked),
        cmocka_unit_test(ids_are_in_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
