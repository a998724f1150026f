/*
 * Groups: numbers and serials are never given twice, and the map of groups agrees with a list.
 */
#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define GROUPS 400

static struct stage stage;

static void test_the_map_agrees_with_a_list(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){0});
    struct tri_worker *worker = stage_worker(&stage, 0);
    bool is_there[GROUPS] = {false};
    struct draw draw = {9};
    for (int step = 0; step < 20000; step++) {
        size_t at = draw_below(&draw, GROUPS);
        uint64_t number = 1000 + at * 16; /* as real ones: the lowest bits are the worker's */
        if (draw_below(&draw, 2) == 0) {
            struct tri_group *group = tri_group_get(worker, number);
            assert_non_null(group);
            assert_int_equal(group->number, number);
            is_there[at] = true;
        } else {
            tri_group_remove(worker, number);
            is_there[at] = false;
        }
        size_t other = draw_below(&draw, GROUPS);
        struct tri_group *found = tri_group_find(worker, 1000 + other * 16);
        assert_int_equal(found != NULL, is_there[other]);
    }
    for (size_t i = 0; i < GROUPS; i++) {
        tri_group_remove(worker, 1000 + i * 16);
    }
    stage_close(&stage);
}

static void test_numbers_and_serials_are_new(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    uint64_t last[2] = {0};
    for (int i = 0; i < 100; i++) {
        for (uint32_t index = 0; index < 2; index++) {
            struct tri_worker *worker = stage_worker(&stage, index);
            uint64_t number;
            assert_int_equal(tri_group_number_new(worker, &number), 0);
            assert_int_equal(number & 15, index);
            assert_true(number > last[index]);
            last[index] = number;
        }
    }
    struct tri_worker *worker = stage_worker(&stage, 1);
    struct tri_group *group = tri_group_get(worker, 77 << 4);
    uint64_t before = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t serial;
        assert_int_equal(tri_group_next_serial(worker, group, &serial), 0);
        assert_int_equal(serial & 15, 1);
        assert_true(serial > before);
        before = serial;
    }
    tri_group_undo(worker, 77 << 4);
    assert_null(tri_group_find(worker, 77 << 4));
    stage_close(&stage);
}

static void test_a_group_with_actors_is_not_undone(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){0});
    struct tr_ref actor = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    stage_run(&stage);
    struct tri_worker *worker = stage_home(&stage, actor);
    tri_group_undo(worker, actor.key.group);
    assert_non_null(tri_group_find(worker, actor.key.group));
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_map_agrees_with_a_list),
        cmocka_unit_test(test_numbers_and_serials_are_new),
        cmocka_unit_test(test_a_group_with_actors_is_not_undone),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
