/*
 * Messages in any pieces, times, and words in headers.
 */
#include "deploy/api_wire/grpc.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define MESSAGE_BYTES_MAX 1000

static void messages_come_in_any_pieces(void **state)
{
    static const uint8_t bytes[] = "\0\0\0\0\5hello\1\0\0\0\0\0\0\0\0\3abc";
    const size_t size = sizeof bytes - 1;
    static const struct {
        const char *text;
        bool is_compressed;
    } expected[] = {{"hello", false}, {"", true}, {"abc", false}};
    (void)state;
    for (size_t step = 1; step <= size; step++) {
        struct tr_grpc_reader reader = {.size = 0};
        size_t count = 0;
        for (size_t at = 0; at < size; at += step) {
            struct tr_bytes piece = {.data = bytes + at,
                                     .size = size - at < step ? size - at : step};
            while (piece.size > 0) {
                bool is_whole;
                assert_int_equal(tr_grpc_read(&reader, &piece, MESSAGE_BYTES_MAX, &is_whole), 0);
                if (!is_whole) {
                    assert_int_equal(piece.size, 0);
                    continue;
                }
                assert_true(count < TR_COUNT_OF(expected));
                struct tr_bytes message = tr_grpc_message(&reader);
                assert_int_equal(message.size, strlen(expected[count].text));
                assert_memory_equal(message.data, expected[count].text, message.size);
                assert_int_equal(reader.is_compressed, expected[count].is_compressed);
                count++;
                tr_grpc_reader_next(&reader);
                assert_true(tr_grpc_reader_is_empty(&reader));
            }
        }
        assert_int_equal(count, TR_COUNT_OF(expected));
        tr_grpc_reader_fini(&reader);
    }
    assert_int_equal(tr_memory_used(), 0);
}

static int read_one(const uint8_t *bytes, size_t size)
{
    struct tr_grpc_reader reader = {.size = 0};
    struct tr_bytes piece = {.data = bytes, .size = size};
    bool is_whole;
    int error = tr_grpc_read(&reader, &piece, MESSAGE_BYTES_MAX, &is_whole);
    tr_grpc_reader_fini(&reader);
    return error;
}

static void sizes_are_believed_within_bounds(void **state)
{
    (void)state;
    assert_int_equal(read_one((const uint8_t *)"\0\0\0\3\xe8", 5), 0);
    assert_int_equal(read_one((const uint8_t *)"\0\0\0\3\xe9", 5), TR_LIMIT);
    assert_int_equal(read_one((const uint8_t *)"\0\xff\xff\xff\xff", 5), TR_LIMIT);
    assert_int_equal(read_one((const uint8_t *)"\2\0\0\0\0", 5), TR_MALFORMED);
    assert_int_equal(read_one((const uint8_t *)"\xff\0\0", 3),
                     0); /* not judged before it is there */
}

static void prefixes_are_read_again(void **state)
{
    static const size_t sizes[] = {0, 1, 255, 256, 1 << 20, UINT32_MAX};
    uint8_t prefix[TR_GRPC_PREFIX_BYTES];
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(sizes); i++) {
        struct tr_grpc_reader reader = {.size = 0};
        struct tr_bytes piece = {.data = prefix, .size = sizeof prefix};
        bool is_whole;
        tr_grpc_prefix(sizes[i], prefix);
        assert_int_equal(tr_grpc_read(&reader, &piece, UINT32_MAX, &is_whole), 0);
        assert_int_equal(reader.size, sizes[i]);
        assert_int_equal(is_whole, sizes[i] == 0);
        tr_grpc_reader_fini(&reader);
    }
}

static void times_have_a_unit(void **state)
{
    static const struct {
        const char *text;
        uint64_t milliseconds;
    } good[] = {{"1H", 3600000}, {"2M", 120000},
                {"60S", 60000},  {"1m", 1},
                {"1u", 1},       {"1n", 1},
                {"1001u", 2},    {"1000001n", 2},
                {"0m", 0},       {"99999999H", 359999996400000}};
    static const char *const bad[] = {"",     "1",          "S",   "1s", "-1S",
                                      "1.5S", "123456789S", "1 S", "+1S"};
    uint64_t milliseconds;
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_true(tr_grpc_timeout(tr_text_of(good[i].text), &milliseconds));
        assert_int_equal(milliseconds, good[i].milliseconds);
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_false(tr_grpc_timeout(tr_text_of(bad[i]), &milliseconds));
    }
}

static void words_are_escaped(void **state)
{
    char room[64];
    char small[8];
    (void)state;
    assert_int_equal(tr_grpc_words(tr_text_of("a b~"), room, sizeof room), 4);
    assert_string_equal(room, "a b~");
    (void)tr_grpc_words(tr_text_of("50%\n\xc3\xa4\x7f"), room, sizeof room);
    assert_string_equal(room, "50%25%0A%C3%A4%7F");
    assert_int_equal(tr_grpc_words(tr_text_of("%%%"), small, sizeof small), 6);
    assert_string_equal(small, "%25%25");
    assert_int_equal(tr_grpc_words(tr_text_of(""), room, sizeof room), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_any_pieces),
        cmocka_unit_test(sizes_are_believed_within_bounds),
        cmocka_unit_test(prefixes_are_read_again),
        cmocka_unit_test(times_have_a_unit),
        cmocka_unit_test(words_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
