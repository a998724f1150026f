/*
 * Messages that were compressed: as they were, within a bound, and nothing but whole ones.
 */
#include "deploy/api_wire/gzip.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

/* `printf 'hello hello hello' | gzip -n`, and nothing at all. */
static const uint8_t hello[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0x00,
                                0x80, 0x88, 0xf9, 0xe5, 0x11, 0x00, 0x00, 0x00};
static const uint8_t nothing[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                  0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};

static int inflate(const uint8_t *bytes, size_t size, uint64_t bytes_max, char *text)
{
    struct tri_buffer message = {.capacity = 0};
    int error = tr_gzip_read((struct tr_bytes){.data = bytes, .size = size}, bytes_max, &message);
    memcpy(text, tri_buffer_front(&message), tri_buffer_size(&message));
    text[tri_buffer_size(&message)] = '\0';
    tri_buffer_fini(&message);
    assert_int_equal(tr_memory_used(), 0);
    return error;
}

static void whole_ones_are_as_they_were(void **state)
{
    char text[64];
    (void)state;
    assert_int_equal(inflate(hello, sizeof hello, 17, text), 0);
    assert_string_equal(text, "hello hello hello");
    assert_int_equal(inflate(hello, sizeof hello, 16, text), TR_LIMIT);
    assert_int_equal(inflate(nothing, sizeof nothing, 0, text), 0);
    assert_string_equal(text, "");
}

static void what_is_written_is_read_again(void **state)
{
    static uint8_t bytes[300000];
    struct tri_buffer packed = {.capacity = 0};
    struct tri_buffer again = {.capacity = 0};
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i % 251 + i / 1000);
    }
    struct tr_bytes whole = {.data = bytes, .size = sizeof bytes};
    assert_int_equal(tr_gzip_write(whole, sizeof bytes, &packed), 0);
    assert_true(tri_buffer_size(&packed) < sizeof bytes / 10);
    struct tr_bytes read = {.data = tri_buffer_front(&packed), .size = tri_buffer_size(&packed)};
    assert_int_equal(tr_gzip_read(read, sizeof bytes, &again), 0);
    assert_int_equal(tri_buffer_size(&again), sizeof bytes);
    assert_memory_equal(tri_buffer_front(&again), bytes, sizeof bytes);
    tri_buffer_fini(&packed);
    assert_int_equal(tr_gzip_write(whole, 100, &packed), TR_LIMIT);
    tri_buffer_fini(&packed);
    tri_buffer_fini(&again);
    assert_int_equal(tr_memory_used(), 0);
}

static void parts_and_others_are_refused(void **state)
{
    uint8_t changed[sizeof hello + 1];
    char text[64];
    (void)state;
    for (size_t size = 0; size < sizeof hello; size++) {
        assert_int_equal(inflate(hello, size, 100, text), TR_MALFORMED);
    }
    memcpy(changed, hello, sizeof hello);
    changed[sizeof hello] = 0;
    assert_int_equal(inflate(changed, sizeof changed, 100, text), TR_MALFORMED);
    changed[20] ^= 1; /* of the checksum */
    assert_int_equal(inflate(changed, sizeof hello, 100, text), TR_MALFORMED);
    assert_int_equal(inflate((const uint8_t *)"hello", 5, 100, text), TR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_ones_are_as_they_were),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(parts_and_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
