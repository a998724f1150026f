/*
 * Groups: numbers and serials are never given twice, and the map of groups agrees with a list.
 */
#include "tests/sim/model_store.h"
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
            assert_int_equal(tri_group_number_new(worker, 0, &number), 0);
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

/* Of several hosts: partitions 2 and 4 are this one's. */
static void test_groups_begin_in_partitions_of_this_host(void **state)
{
    (void)state;
    static const uint16_t partitions[] = {0, 9, 3, 9, 3};
    static const struct tr_peer peer = {.number = 9};
    struct tri_model *model = tri_model_new();
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    struct tri_store *store;
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.store = store,
                                               .number = 3,
                                               .peers = &peer,
                                               .peer_count = 1,
                                               .partitions = partitions,
                                               .partition_count = TR_COUNT_OF(partitions)});
    struct tri_worker *worker = stage_worker(&stage, 0);
    uint64_t counts[5] = {0};
    uint64_t number;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(tri_group_number_new(worker, 0, &number), 0);
        counts[tri_group_partition(number)]++;
    }
    assert_int_equal(counts[2], 5);
    assert_int_equal(counts[4], 5);
    for (uint64_t from = 2; from <= 4; from++) {
        uint64_t near = tri_partition_origin(from) | 16;
        assert_int_equal(tri_group_number_new(worker, near, &number), 0);
        assert_true(from == 3 || tri_group_partition(number) == from);
        assert_true(tri_owners_is_here(&worker->owners, number));
    }
    worker->owners.withheld[2] = true; /* nothing begins there but with what is there */
    for (int i = 0; i < 10; i++) {
        assert_int_equal(tri_group_number_new(worker, 0, &number), 0);
        assert_int_equal(tri_group_partition(number), 4);
        assert_int_equal(tri_group_number_new(worker, tri_partition_origin(2) | 16, &number), 0);
        assert_int_equal(tri_group_partition(number), 2);
    }
    memset(worker->owners.hosts, 0, sizeof worker->owners.hosts);
    assert_int_equal(tri_group_number_new(worker, 0, &number), TR_NO_CONNECTION);
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

/* Whatever is drawn: no two slots, and no store that is alone, begin where another may come to. */
static void test_slots_give_numbers_of_their_own(void **state)
{
    (void)state;
    static const uint64_t drawn[] = {0, UINT64_MAX / 3, UINT64_MAX};
    const uint64_t room = 1ULL << 35;
    struct tri_shared shared = {.slot = 0};
    uint64_t last = 0;
    for (size_t i = 0; i < TR_COUNT_OF(drawn); i++) {
        uint64_t first = tri_group_first_number(&shared, drawn[i]);
        assert_true(first + room < 1ULL << 43);
        last = first > last ? first : last;
    }
    shared.directory.number = 7;
    for (uint32_t slot = 0; slot < TR_HOSTS_MAX; slot++) {
        shared.slot = (uint8_t)slot;
        assert_true(tri_group_first_number(&shared, 0) > last);
        for (size_t i = 0; i < TR_COUNT_OF(drawn); i++) {
            uint64_t first = tri_group_first_number(&shared, drawn[i]);
            assert_int_equal(first >> 36, (first + room - 1) >> 36);
            last = first + room - 1 > last ? first + room - 1 : last;
        }
        assert_true(tri_group_cell(&shared, TR_WORKERS_MAX - 1) + 1 ==
                    TRI_META_NEXT_GROUP_OF_SLOT + (slot + 1ULL) * TR_WORKERS_MAX);
    }
    assert_true(last < 1ULL << 43); /* what is above is kept for numbers that nobody counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_map_agrees_with_a_list),
        cmocka_unit_test(test_numbers_and_serials_are_new),
        cmocka_unit_test(test_a_group_with_actors_is_not_undone),
        cmocka_unit_test(test_groups_begin_in_partitions_of_this_host),
        cmocka_unit_test(test_slots_give_numbers_of_their_own),
    };
    return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
