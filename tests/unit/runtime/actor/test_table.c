/*
 * The table of actors against a plain list: spawns in a row, in several groups, taken out in any
 * order; and what is found, what is not, and what going through all of them shows.
 */
#include "runtime/actor/table.h"
#include "runtime/memory.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#include <string.h>

#define KEYS 4000

static struct tri_chunk_directory directory;
static struct tri_table table;
static uint64_t memory_before;

static int open_table(void **state)
{
    (void)state;
    memory_before = tr_memory_used();
    return tri_chunk_directory_init(&directory) != 0 || tri_table_init(&table, &directory) != 0;
}

static int close_table(void **state)
{
    (void)state;
    tri_table_fini(&table);
    tri_chunk_directory_fini(&directory);
    return tr_memory_used() != memory_before;
}

/* The i-th key: groups and workers in turn, so that blocks are shared and not. */
static struct tr_key key_of(size_t i)
{
    return (struct tr_key){1 + i % 7, (i / 7 + 1) << 4 | i % 3};
}

static void expect_all(const uint32_t *slots)
{
    size_t expected = 0;
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(tri_table_find(&table, key_of(i)), slots[i]);
        expected += slots[i] != 0 ? 1 : 0;
    }
    static bool seen[KEYS + 1];
    memset(seen, 0, sizeof seen);
    uint64_t cursor = 0;
    uint32_t slot;
    size_t count = 0;
    while ((slot = tri_table_next(&table, &cursor)) != 0) {
        assert_true(slot <= KEYS && !seen[slot] && slots[slot - 1] == slot);
        seen[slot] = true;
        count++;
    }
    assert_int_equal(count, expected);
}

static void test_the_table_agrees_with_a_list(void **state)
{
    (void)state;
    static uint32_t slots[KEYS];
    struct draw draw = {7};
    memset(slots, 0, sizeof slots);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 500; i++) {
            size_t at = draw_below(&draw, KEYS);
            if (slots[at] == 0) {
                slots[at] = (uint32_t)at + 1;
                assert_int_equal(tri_table_insert(&table, key_of(at), slots[at]), 0);
            } else {
                tri_table_remove(&table, key_of(at));
                slots[at] = 0;
            }
        }
        expect_all(slots);
    }
    for (size_t i = 0; i < KEYS; i++) {
        if (slots[i] != 0) {
            tri_table_remove(&table, key_of(i));
            slots[i] = 0;
        }
    }
    expect_all(slots);
    assert_int_equal(table.block_count, 0);
}

static void test_a_key_that_was_never_there_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(tri_table_find(&table, (struct tr_key){1, 16}), 0);
    assert_int_equal(tri_table_insert(&table, (struct tr_key){1, 16}, 5), 0);
    assert_int_equal(tri_table_find(&table, (struct tr_key){1, 16}), 5);
    assert_int_equal(tri_table_find(&table, (struct tr_key){1, 17}), 0); /* another worker */
    assert_int_equal(tri_table_find(&table, (struct tr_key){2, 16}), 0); /* another group */
    assert_int_equal(tri_table_find(&table, (struct tr_key){1, 32}), 0); /* its neighbour */
}

static bool refuse(void *self, size_t size)
{
    (void)self;
    (void)size;
    return false;
}

static void test_an_insertion_without_memory_changes_nothing(void **state)
{
    (void)state;
    tr_memory_hook_set(refuse, NULL);
    int error = tri_table_insert(&table, (struct tr_key){1, 16}, 5);
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(error, TR_MEMORY);
    assert_int_equal(tri_table_find(&table, (struct tr_key){1, 16}), 0);
    assert_int_equal(tri_table_insert(&table, (struct tr_key){1, 16}, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_table_agrees_with_a_list, open_table, close_table),
        cmocka_unit_test_setup_teardown(test_a_key_that_was_never_there_is_not_found, open_table,
                                        close_table),
        cmocka_unit_test_setup_teardown(test_an_insertion_without_memory_changes_nothing,
                                        open_table, close_table),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
