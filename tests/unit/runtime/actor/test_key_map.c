/*
 * The small map from keys to numbers against a plain array.
 */
#include "runtime/actor/parts.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

#define KEYS 500

static struct tr_key key_of(size_t i)
{
    return (struct tr_key){1 + i % 5, (i / 5 + 1) << 4 | i % 2};
}

static void test_the_map_agrees_with_an_array(void **state)
{
    (void)state;
    struct tri_key_map map;
    uint64_t values[KEYS] = {0};
    struct draw draw = {3};
    uint64_t before = tr_memory_used();
    assert_int_equal(tri_key_map_init(&map), 0);
    for (int step = 0; step < 20000; step++) {
        size_t at = draw_below(&draw, KEYS);
        if (draw_below(&draw, 3) == 0) {
            tri_key_map_remove(&map, key_of(at)); /* what is not there, too */
            values[at] = 0;
        } else {
            values[at] = 1 + draw_u64(&draw) / 2;
            assert_int_equal(tri_key_map_set(&map, key_of(at), values[at]), 0);
        }
        size_t other = draw_below(&draw, KEYS);
        assert_int_equal(tri_key_map_get(&map, key_of(other)), values[other]);
    }
    uint32_t count = 0;
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(tri_key_map_get(&map, key_of(i)), values[i]);
        count += values[i] != 0 ? 1 : 0;
    }
    assert_int_equal(map.count, count);
    tri_key_map_fini(&map);
    assert_int_equal(tr_memory_used(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_map_agrees_with_an_array),
    };
    return cmocka_run_group_tests_name("key_map", tests, NULL, NULL);
}
