/*
 * Frames: what was put in comes out, in order, whatever its size; a frame that lies ends the
 * process, because both ends are ours.
 */
#include "runtime/link/frame.h"

#include <string.h>

#include "runtime/memory.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#define MESSAGES 300
#define BYTES_MAX 5000

static uint8_t content[BYTES_MAX];

static size_t size_of(size_t i)
{
    static const size_t sizes[] = {0, 1, 145, 300, 4096, BYTES_MAX};
    return sizes[i % TR_COUNT_OF(sizes)];
}

static void test_messages_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct tri_frame_builder builder = {0};
    uint64_t before = tr_memory_used();
    struct draw draw = {7};
    for (size_t i = 0; i < BYTES_MAX; i++) {
        content[i] = (uint8_t)draw_u64(&draw);
    }
    for (size_t i = 0; i < MESSAGES; i++) {
        struct tr_bytes message = {content + i % 7, size_of(i) > 7 ? size_of(i) - 7 : size_of(i)};
        assert_int_equal(tri_frame_add(&builder, message, i % 3 == 0), 0);
    }
    struct tri_frame frame = {0};
    uint8_t *data = tri_frame_take(&builder, 11, &frame.size);
    frame.data = data;
    assert_null(builder.data);
    assert_int_equal(tri_frame_place(&frame), 11);

    size_t offset = 0;
    struct tr_bytes message;
    bool is_stored;
    for (size_t i = 0; i < MESSAGES; i++) {
        assert_true(tri_frame_next(&frame, &offset, &message, &is_stored));
        assert_int_equal(message.size, size_of(i) > 7 ? size_of(i) - 7 : size_of(i));
        assert_memory_equal(message.data, content + i % 7, message.size);
        assert_int_equal(is_stored, i % 3 == 0);
    }
    assert_false(tri_frame_next(&frame, &offset, &message, &is_stored));
    assert_int_equal(offset, frame.size);
    tr_free(data);
    assert_int_equal(tr_memory_used(), before);
}

static bool has_memory;

static bool may_allocate(void *self, size_t size)
{
    (void)self, (void)size;
    return has_memory;
}

static void test_without_memory_a_frame_stays_as_it_was(void **state)
{
    (void)state;
    struct tri_frame_builder builder = {0};
    assert_int_equal(tri_frame_add(&builder, (struct tr_bytes){content, 10}, false), 0);
    size_t size = builder.size;
    has_memory = false;
    tr_memory_hook_set(may_allocate, NULL);
    assert_int_equal(tri_frame_add(&builder, (struct tr_bytes){content, 4500}, false), TR_MEMORY);
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(builder.size, size);
    assert_int_equal(builder.count, 1);
    tri_frame_builder_fini(&builder);
    assert_null(builder.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_come_out_as_they_went_in),
        cmocka_unit_test(test_without_memory_a_frame_stays_as_it_was),
    };
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
