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

static bool is_of_group(struct tr_key key, void *self)
{
    return key.group == *(const uint64_t *)self;
}

static void test_all_keys_of_a_kind_are_removed(void **state)
{
    (void)state;
    struct tri_key_map map;
    uint64_t group = 2;
    assert_int_equal(tri_key_map_init(&map), 0);
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(tri_key_map_set(&map, key_of(i), 1 + i), 0);
    }
    tri_key_map_remove_if(&map, is_of_group, &group);
    assert_int_equal(map.count, KEYS / 5 * 4);
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(tri_key_map_get(&map, key_of(i)), key_of(i).group == group ? 0 : 1 + i);
    }
    tri_key_map_fini(&map);
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

/* Each of a group's keys is listed once, and none of another group. */
static void check_lists(struct tri_key_groups *groups, const bool *is_there)
{
    uint64_t listed = 0;
    uint64_t count = 0;
    for (uint64_t group = 1; group <= 5; group++) {
        for (uint64_t i = 0; i < tri_key_groups_count(groups, group); i++) {
            struct tr_key key = tri_key_groups_nth(groups, group, i);
            bool is_one = false;
            for (size_t at = 0; at < KEYS; at++) {
                is_one = is_one || (is_there[at] && tr_key_equal(key_of(at), key));
            }
            assert_true(is_one);
            listed++;
        }
    }
    for (size_t at = 0; at < KEYS; at++) {
        count += is_there[at] ? 1 : 0;
    }
    assert_int_equal(listed, count);
    assert_int_equal(groups->places.count, count);
}

static void test_keys_are_listed_by_their_group(void **state)
{
    (void)state;
    struct tri_key_groups groups;
    bool is_there[KEYS] = {false};
    struct draw draw = {5};
    uint64_t before = tr_memory_used();
    assert_int_equal(tri_key_groups_init(&groups), 0);
    for (int step = 0; step < 20000; step++) {
        size_t at = draw_below(&draw, KEYS);
        is_there[at] = draw_below(&draw, 2) == 0;
        if (is_there[at]) {
            assert_int_equal(tri_key_groups_add(&groups, key_of(at)), 0); /* one that is, too */
        } else {
            tri_key_groups_remove(&groups, key_of(at));
        }
        if (step % 1000 == 0) {
            check_lists(&groups, is_there);
        }
    }
    check_lists(&groups, is_there);
    for (size_t at = 0; at < KEYS; at++) {
        tri_key_groups_remove(&groups, key_of(at));
    }
    assert_int_equal(groups.lists.count, 0);
    tri_key_groups_fini(&groups);
    assert_int_equal(tr_memory_used(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_map_agrees_with_an_array),
        cmocka_unit_test(test_keys_are_listed_by_their_group),
        cmocka_unit_test(test_all_keys_of_a_kind_are_removed),
    };
    return cmocka_run_group_tests_name("key_map", tests, NULL, NULL);
}
