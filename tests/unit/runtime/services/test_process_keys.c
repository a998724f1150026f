/*
 * The line of those whose turn has not come: first in, first out, and whoever is taken out leaves
 * the others in their order.
 */
#include "runtime/services/process_keys.h"

#include "tests/support/test.h"

enum { COUNT = 4 };

static struct tri_process_keys keys;
static struct tri_process_queue line;
static struct tri_process_key *entries[COUNT];

static int setup(void **state)
{
    static const char *const names[COUNT] = {"a", "b", "c", "d"};
    (void)state;
    line = (struct tri_process_queue){0};
    assert_int_equal(tri_process_keys_init(&keys), 0);
    for (size_t i = 0; i < COUNT; i++) {
        entries[i] = tri_process_keys_ensure(&keys, tr_text_of(names[i]));
        assert_non_null(entries[i]);
        tri_process_queue_put(&line, entries[i]);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tri_process_keys_fini(&keys);
    return 0;
}

/* Takes all that stand in the line; their names are `order`. */
static void expect_line(const char *order)
{
    for (; *order != '\0'; order++) {
        assert_non_null(line.first);
        assert_int_equal(line.first->key[0], *order);
        tri_process_queue_remove(&line, line.first);
    }
    assert_null(line.first);
    assert_null(line.last);
}

static void who_came_first_is_first(void **state)
{
    (void)state;
    expect_line("abcd");
}

static void whoever_is_taken_out_leaves_the_order(void **state)
{
    (void)state;
    tri_process_queue_remove(&line, entries[1]);
    tri_process_queue_remove(&line, entries[3]);
    tri_process_queue_put(&line, entries[1]);
    expect_line("acb");
    tri_process_queue_put(&line, entries[2]);
    expect_line("c");
}

/* A body is kept as it came until it is let go. */
static void a_body_is_kept(void **state)
{
    (void)state;
    static const uint8_t body[] = {1, 2, 3};
    assert_int_equal(
        tri_process_key_hold(entries[0], (struct tr_bytes){.data = body, .size = sizeof body}, 7),
        0);
    assert_int_equal(entries[0]->held_size, sizeof body);
    assert_memory_equal(entries[0]->held, body, sizeof body);
    assert_int_equal(entries[0]->held_version, 7);
    tri_process_key_release(entries[0]);
    assert_null(entries[0]->held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_came_first_is_first, setup, teardown),
        cmocka_unit_test_setup_teardown(whoever_is_taken_out_leaves_the_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_body_is_kept, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
