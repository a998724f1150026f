/*
 * Outboxes and frames: what is said to a place arrives whole and in order, whatever its pipe
 * refuses meanwhile; and how far behind a pipe is can be asked.
 */
#include <string.h>

#include "runtime/link/outbox.h"
#include "runtime/memory.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#define SAID_MAX 20000

/* A link that takes frames when a draw says so, and reads them at once. */
struct fickle_link {
    struct tri_channel base;
    struct draw draw;
    size_t refuses; /* of ten */
    uint32_t heard[TRI_PLACE_COUNT];
};

static int fickle_send(struct tri_channel *base, uint32_t place, uint8_t *data, size_t size)
{
    struct fickle_link *link = (struct fickle_link *)base;
    if (draw_below(&link->draw, 10) < link->refuses) {
        return TR_BUSY;
    }
    struct tri_frame frame = {.data = data, .size = size};
    struct tr_bytes bytes;
    bool is_stored;
    size_t offset = 0;
    assert_int_equal(tri_frame_place(&frame), base->place);
    while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
        uint32_t number;
        assert_true(bytes.size >= sizeof number);
        memcpy(&number, bytes.data, sizeof number);
        assert_int_equal(number, link->heard[place]++);
        assert_int_equal(bytes.size, sizeof number + number % 50);
        assert_int_equal(is_stored, number % 3 == 0);
    }
    tr_free(data);
    return 0;
}

static const struct tri_channel_ops fickle_ops = {.send = fickle_send};

static void say(struct tri_outbox *outbox, uint32_t place, uint32_t number)
{
    uint8_t bytes[64] = {0};
    memcpy(bytes, &number, sizeof number);
    struct tr_bytes message = {bytes, sizeof number + number % 50};
    assert_int_equal(tri_outbox_add(outbox, place, message, number % 3 == 0), 0);
}

static void test_everything_arrives_in_order_through_fickle_pipes(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct fickle_link link = {.base = {.ops = &fickle_ops, .place = 3}, .draw = {1}, .refuses = 8};
    struct tri_outbox outbox = {0};
    struct draw draw = {2};
    uint32_t said[TRI_PLACE_COUNT] = {0};
    for (int i = 0; i < SAID_MAX; i++) {
        uint32_t place = (uint32_t)draw_below(&draw, 4);
        say(&outbox, place, said[place]++);
        if (draw_below(&draw, 20) == 0) {
            tri_outbox_flush(&outbox, &link.base);
        }
    }
    link.refuses = 0;
    tri_outbox_flush(&outbox, &link.base);
    assert_true(tri_outbox_is_empty(&outbox));
    assert_memory_equal(link.heard, said, sizeof said);
    tri_outbox_fini(&outbox);
    assert_int_equal(tr_memory_used(), before);
}

static void test_a_pipe_far_behind_is_congestion(void **state)
{
    (void)state;
    struct fickle_link link = {.base = {.ops = &fickle_ops}, .refuses = 10};
    struct tri_outbox outbox = {0};
    uint64_t before = tr_memory_used();
    for (uint32_t i = 0; i <= TR_PIPE_BACKLOG_MAX; i++) {
        assert_false(tri_outbox_is_congested(&outbox));
        say(&outbox, 1, i);
        tri_outbox_flush(&outbox, &link.base);
    }
    assert_true(tri_outbox_is_congested(&outbox));
    assert_false(tri_outbox_is_empty(&outbox));
    link.refuses = 0;
    tri_outbox_flush(&outbox, &link.base);
    assert_false(tri_outbox_is_congested(&outbox));
    assert_int_equal(link.heard[1], TR_PIPE_BACKLOG_MAX + 1);
    tri_outbox_fini(&outbox);
    assert_int_equal(tr_memory_used(), before);
}

static void test_a_frame_is_full_by_count_or_bytes(void **state)
{
    (void)state;
    struct tri_outbox outbox = {0};
    for (uint32_t i = 0; i < TR_BATCH_ENVELOPES_MAX; i++) {
        assert_false(tri_outbox_is_full(&outbox));
        say(&outbox, 1, i);
    }
    assert_true(tri_outbox_is_full(&outbox));
    tri_outbox_fini(&outbox);
    static uint8_t large[TR_BATCH_BYTES_MAX];
    assert_int_equal(tri_outbox_add(&outbox, 1, (struct tr_bytes){large, sizeof large}, false), 0);
    assert_true(tri_outbox_is_full(&outbox));
    tri_outbox_fini(&outbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_arrives_in_order_through_fickle_pipes),
        cmocka_unit_test(test_a_pipe_far_behind_is_congestion),
        cmocka_unit_test(test_a_frame_is_full_by_count_or_bytes),
    };
    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
