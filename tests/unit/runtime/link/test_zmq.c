/*
 * Links over ZeroMQ: batches arrive in order and whole, a full pipe is an answer, and what nobody
 * has read is freed with its link.
 */
#include <string.h>

#include "runtime/env/env.h"
#include "runtime/link/link.h"
#include "runtime/memory.h"
#include "tests/support/test.h"

struct two_places {
    struct tr_env *env;
    struct tri_channel *a;
    struct tri_channel *b;
    uint64_t memory_before;
};

static void open_places(struct two_places *places)
{
    places->memory_before = tr_memory_used();
    assert_int_equal(tri_env_real_new(&places->env), 0);
    assert_int_equal(places->env->ops->link_open(places->env, 0, &places->a), 0);
    assert_int_equal(places->env->ops->link_open(places->env, 1, &places->b), 0);
}

static void close_places(struct two_places *places)
{
    tri_channel_close(places->a);
    tri_channel_close(places->b);
    tri_env_real_free(places->env);
    assert_int_equal(tr_memory_used(), places->memory_before);
}

static uint8_t *batch(uint32_t number)
{
    uint8_t *data = tr_alloc(100);
    assert_non_null(data);
    memset(data, 0, 100);
    memcpy(data, &number, sizeof number);
    return data;
}

static uint32_t receive(struct tri_channel *link)
{
    struct tri_frame frame;
    uint32_t number;
    while (tri_channel_receive(link, &frame) != 0) {
        tri_channel_wait(link, 1000000000);
    }
    assert_int_equal(frame.size, 100);
    memcpy(&number, frame.data, sizeof number);
    tri_channel_release(link, &frame);
    return number;
}

static void test_batches_keep_their_order(void **state)
{
    (void)state;
    struct two_places places;
    open_places(&places);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(tri_channel_send(places.a, 1, batch(i), 100), 0);
        assert_int_equal(tri_channel_send(places.b, 0, batch(i + 1000), 100), 0);
    }
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(receive(places.b), i);
        assert_int_equal(receive(places.a), i + 1000);
    }
    struct tri_frame frame;
    assert_int_equal(tri_channel_receive(places.a, &frame), TR_NOT_FOUND);
    close_places(&places);
}

static void test_a_full_pipe_is_an_answer(void **state)
{
    (void)state;
    struct two_places places;
    open_places(&places);
    uint32_t sent = 0;
    int error = 0;
    while (error == 0 && sent <= TR_PIPE_BATCHES_MAX * 2) {
        uint8_t *data = batch(sent);
        error = tri_channel_send(places.a, 1, data, 100);
        if (error == 0) {
            sent++;
        } else {
            tr_free(data); /* it stayed ours */
        }
    }
    assert_int_equal(error, TR_BUSY);
    assert_true(sent >= TR_PIPE_BATCHES_MAX / 2 && sent <= TR_PIPE_BATCHES_MAX);
    for (uint32_t i = 0; i < sent; i++) {
        assert_int_equal(receive(places.b), i);
    }
    close_places(&places);
}

/* Nobody reads these: their memory comes back all the same. */
static void test_unread_batches_are_freed(void **state)
{
    (void)state;
    struct two_places places;
    open_places(&places);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(tri_channel_send(places.a, 1, batch(i), 100), 0);
    }
    close_places(&places);
}

static void test_two_environments_do_not_meet(void **state)
{
    (void)state;
    struct two_places one;
    open_places(&one);
    struct tr_env *other;
    struct tri_channel *link;
    assert_int_equal(tri_env_real_new(&other), 0);
    assert_int_equal(other->ops->link_open(other, 0, &link), 0);
    assert_int_equal(tri_channel_send(one.b, 0, batch(1), 100), 0);
    struct tri_frame frame;
    assert_int_equal(tri_channel_receive(link, &frame), TR_NOT_FOUND);
    assert_int_equal(receive(one.a), 1);
    tri_channel_close(link);
    tri_env_real_free(other);
    close_places(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_keep_their_order),
        cmocka_unit_test(test_a_full_pipe_is_an_answer),
        cmocka_unit_test(test_unread_batches_are_freed),
        cmocka_unit_test(test_two_environments_do_not_meet),
    };
    return cmocka_run_group_tests_name("zmq", tests, NULL, NULL);
}
