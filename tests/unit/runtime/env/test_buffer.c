/*
 * Buffers: bytes come out as they went in, whatever is taken in between, and memory that is not
 * there changes nothing.
 */
#include "runtime/env/buffer.h"

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static void bytes_keep_their_order(void **state)
{
    (void)state;
    struct tri_buffer buffer = {0};
    uint8_t put = 0;
    uint8_t taken = 0;
    uint32_t mixed = 1;
    for (int i = 0; i < 20000; i++) {
        mixed = mixed * 1664525 + 1013904223;
        size_t size = mixed >> 24;
        uint8_t block[256];
        for (size_t k = 0; k < size; k++) {
            block[k] = put++;
        }
        assert_int_equal(tri_buffer_append(&buffer, block, size), 0);
        size_t out = (mixed >> 8 & 511) % (tri_buffer_size(&buffer) + 1);
        for (size_t k = 0; k < out; k++) {
            assert_int_equal(tri_buffer_front(&buffer)[k], taken++);
        }
        tri_buffer_consume(&buffer, out);
    }
    assert_true(buffer.capacity <= 65536); /* what was taken is used again */
    tri_buffer_fini(&buffer);
    assert_int_equal(tr_memory_used(), 0);
}

static void an_empty_one_is_nothing(void **state)
{
    (void)state;
    struct tri_buffer buffer = {0};
    assert_int_equal(tri_buffer_append(&buffer, NULL, 0), 0);
    assert_int_equal(tri_buffer_size(&buffer), 0);
    tri_buffer_consume(&buffer, 0);
    tri_buffer_clear(&buffer);
    tri_buffer_fini(&buffer);
}

static bool refuse(void *self, size_t size)
{
    (void)self;
    (void)size;
    return false;
}

static void no_memory_changes_nothing(void **state)
{
    (void)state;
    struct tri_buffer buffer = {0};
    assert_int_equal(tri_buffer_append(&buffer, "abc", 3), 0);
    tr_memory_hook_set(refuse, NULL);
    int error = tri_buffer_reserve(&buffer, 1 << 20);
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(error, TR_MEMORY);
    assert_int_equal(tri_buffer_reserve(&buffer, SIZE_MAX / 2), TR_MEMORY);
    assert_int_equal(tri_buffer_size(&buffer), 3);
    assert_memory_equal(tri_buffer_front(&buffer), "abc", 3);
    tri_buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_keep_their_order),
        cmocka_unit_test(an_empty_one_is_nothing),
        cmocka_unit_test(no_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
