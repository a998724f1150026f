/*
 * Bytes that grow: what is written is there in order, a failure sticks, and a cut goes back.
 */
#include "actors/graph/document/buffer.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static void test_what_is_written_is_there(void **state)
{
    (void)state;
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    for (int i = 0; i < 10000; i++) {
        tr_buffer_print(&buffer, "%04d", i);
    }
    assert_int_equal(buffer.error, 0);
    assert_int_equal(buffer.size, 40000);
    assert_memory_equal(buffer.data, "000000010002", 12);
    assert_memory_equal(buffer.data + 39996, "9999", 4);
    tr_buffer_cut(&buffer, 4);
    tr_buffer_add_string(&buffer, "x");
    tr_buffer_add_text(&buffer, tr_text_of("yz"));
    assert_true(tr_text_equal(tr_buffer_text(&buffer), tr_text_of("0000xyz")));
    tr_buffer_fini(&buffer);
}

static void test_the_bound_sticks(void **state)
{
    (void)state;
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 8);
    tr_buffer_add(&buffer, "12345678", 8);
    assert_int_equal(buffer.error, 0);
    tr_buffer_add(&buffer, "9", 1);
    assert_int_equal(buffer.error, TR_LIMIT);
    tr_buffer_cut(&buffer, 0);
    tr_buffer_add(&buffer, "1", 1);
    assert_int_equal(buffer.error, TR_LIMIT);
    assert_int_equal(buffer.size, 0);
    tr_buffer_fini(&buffer);
}

static void test_text_of_unknown_origin_stays_on_its_line(void **state)
{
    (void)state;
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_buffer_add_visible(&buffer, tr_text_of("a\tb\nc\033[2J"));
    assert_memory_equal(buffer.data, "a b c", 5);
    assert_null(memchr(buffer.data, '\033', buffer.size));
    assert_null(memchr(buffer.data, '\n', buffer.size));
    tr_buffer_fini(&buffer);
}

static void test_values_are_msgpack_in_its_shortest_form(void **state)
{
    (void)state;
    static const uint8_t wanted[] = {0x92, 0x7f, 0xcc, 0x80, 0xff, 0xc3,
                                     0xc0, 0xa1, 'x',  0xc4, 1,    'y'};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_buffer_array(&buffer, 2);
    tr_buffer_u64(&buffer, 127);
    tr_buffer_u64(&buffer, 128);
    tr_buffer_i64(&buffer, -1);
    tr_buffer_bool(&buffer, true);
    tr_buffer_nil(&buffer);
    tr_buffer_text_value(&buffer, tr_text_of("x"));
    tr_buffer_bytes_value(&buffer, (struct tr_bytes){.data = (const uint8_t *)"y", .size = 1});
    assert_int_equal(buffer.size, sizeof wanted);
    assert_memory_equal(buffer.data, wanted, sizeof wanted);
    tr_buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_there),
        cmocka_unit_test(test_the_bound_sticks),
        cmocka_unit_test(test_text_of_unknown_origin_stays_on_its_line),
        cmocka_unit_test(test_values_are_msgpack_in_its_shortest_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
