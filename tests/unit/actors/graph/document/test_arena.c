/*
 * Arenas: cleared and aligned memory, copies, vectors that keep what they hold, and a failure that
 * stays.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "actors/graph/document/arena.h"
#include "actors/graph/document/limits.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static void test_memory_is_cleared_and_aligned(void **state)
{
    (void)state;
    struct tr_arena arena;
    tr_arena_init(&arena);
    for (size_t size = 0; size < 3000; size += 7) {
        uint8_t *memory = tr_arena_alloc(&arena, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(memory[i], 0);
            memory[i] = 0xff; /* what comes next must not be this */
        }
    }
    tr_arena_fini(&arena);
}

static void test_copies_are_the_arenas(void **state)
{
    (void)state;
    struct tr_arena arena;
    tr_arena_init(&arena);
    char given[] = "text";
    struct tr_text copy = tr_arena_text(&arena, tr_text_of(given));
    given[0] = 'n';
    assert_true(tr_text_equal(copy, tr_text_of("text")));
    assert_true(tr_text_equal(tr_arena_print(&arena, "%s-%d", given, 7), tr_text_of("next-7")));
    tr_arena_fini(&arena);
}

/* Whatever stands behind it, and however long it is. */
static void test_a_copy_is_a_string(void **state)
{
    (void)state;
    struct tr_arena arena;
    tr_arena_init(&arena);
    char given[65];
    memset(given, 'x', sizeof given);
    for (size_t size = 1; size < sizeof given; size++) {
        struct tr_text copy = tr_arena_text(&arena, (struct tr_text){.data = given, .size = size});
        (void)tr_arena_text(&arena, tr_text_of("behind"));
        assert_int_equal(strlen(copy.data), size);
    }
    tr_arena_fini(&arena);
}

static void test_a_vector_keeps_what_it_holds(void **state)
{
    (void)state;
    struct tr_arena arena;
    struct tri_vector vector = {0};
    tr_arena_init(&arena);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t *item = tri_vector_add(&arena, &vector, sizeof *item);
        assert_non_null(item);
        assert_int_equal(*item, 0);
        *item = i;
    }
    assert_int_equal(vector.count, 5000);
    for (uint32_t i = 0; i < vector.count; i++) {
        assert_int_equal(((uint32_t *)vector.items)[i], i);
    }
    tr_arena_fini(&arena);
}

static void test_a_failure_stays(void **state)
{
    (void)state;
    struct tr_arena arena;
    tr_arena_init(&arena);
    assert_null(tr_arena_alloc(&arena, (size_t)TR_GRAPH_BYTES_MAX + 1));
    assert_int_equal(arena.error, TR_LIMIT);
    assert_null(tr_arena_array(&arena, SIZE_MAX, 16));
    assert_int_equal(arena.error, TR_LIMIT);
    tr_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_cleared_and_aligned),
        cmocka_unit_test(test_copies_are_the_arenas),
        cmocka_unit_test(test_a_copy_is_a_string),
        cmocka_unit_test(test_a_vector_keeps_what_it_holds),
        cmocka_unit_test(test_a_failure_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
