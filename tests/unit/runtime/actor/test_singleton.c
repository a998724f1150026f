/*
 * Singletons: an actor of a name is there once, is found again after a start, and lies in one of
 * the partitions of all hosts; another name does not get it.
 */
#include <stdio.h>

#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define NAMES 64

static struct stage stage;

static const struct tr_behaviour unknown_behaviour = {.name = "unknown", .id = 61999};

static int ask(const struct tr_behaviour *behaviour, struct tr_text name, struct tr_ref *singleton)
{
    return tr_host_singleton(&stage.host, behaviour, name, 0, singleton);
}

static struct tr_ref get(const char *name, uint32_t shard)
{
    struct tr_ref singleton = {.incarnation = 0};
    assert_int_equal(
        tr_host_singleton(&stage.host, &fake_actor_behaviour, tr_text_of(name), shard, &singleton),
        0);
    return singleton;
}

static void assert_same(struct tr_ref one, struct tr_ref other)
{
    assert_true(tr_key_equal(one.key, other.key));
    assert_int_equal(one.incarnation, other.incarnation);
}

static void an_actor_of_a_name_is_there_once(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref first = get("orders", 0);
    assert_same(get("orders", 0), first);
    assert_int_equal(stage_actor_count(&stage), 1);
    struct tr_ref shard = get("orders", 1);
    struct tr_ref other = get("bills", 0);
    assert_false(tr_key_equal(shard.key, first.key));
    assert_false(tr_key_equal(other.key, first.key));
    assert_int_equal(stage_actor_count(&stage), 3);
    struct tr_ref found;
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("bills"), &found), 0);
    assert_same(found, other);
    fake_actor_note(&stage, first, 7);
    stage_run(&stage);
    assert_int_equal(fake_actor_state(&stage, first)->number, 7);
    stage_close(&stage);
}

/* Wherever it lives, and whatever it has spawned. */
static void it_is_found_where_it_has_moved_to(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    struct tr_ref first = get("orders", 0);
    stage_move(&stage, first, 1);
    assert_same(get("orders", 0), first);
    assert_int_equal(stage_actor_count(&stage), 1);
    stage_close(&stage);
}

static void it_is_found_again_after_a_start(void **state)
{
    (void)state;
    struct tri_model *model = tri_model_new();
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    struct tri_store *store;
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.store = store, .worker_count = 3});
    struct tr_ref first = get("orders", 5);
    stage_close(&stage);
    tri_store_close(store);
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    stage_open(&stage, &(struct stage_options){.store = store, .worker_count = 1});
    assert_same(get("orders", 5), first);
    assert_int_equal(stage_actor_count(&stage), 1);
    stage_close(&stage);
    tri_store_close(store);
    tri_model_free(model);
}

static void another_name_or_behaviour_does_not_get_it(void **state)
{
    (void)state;
    struct tr_ref singleton = {.incarnation = 9};
    struct tri_actor *actor;
    struct tr_ref taken;
    stage_open(&stage, &(struct stage_options){0});
    (void)get("orders", 0);
    assert_int_equal(ask(&unknown_behaviour, tr_text_of("orders"), &singleton), TR_EXISTS);
    assert_int_equal(tri_singleton_ref(&stage.host.shared, tr_text_of("bills"), 0, &taken), 0);
    struct tri_actor_spec spec = {.key = taken.key, .name = tr_text_of("another")};
    assert_int_equal(tri_actor_new(stage_worker(&stage, 0), &spec, &actor), 0);
    actor->phase = TRI_IDLE;
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of("bills"), &singleton), TR_EXISTS);
    assert_int_equal(singleton.incarnation, 9);
    stage_close(&stage);
}

static void what_cannot_begin_is_refused(void **state)
{
    (void)state;
    char name[TR_NAME_BYTES_MAX + 2];
    struct tr_ref singleton;
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    stage_open(&stage, &(struct stage_options){0});
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of(""), &singleton), TR_INVALID);
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of(name), &singleton), TR_INVALID);
    name[sizeof name - 2] = '\0';
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of(name), &singleton), 0);
    assert_int_equal(ask(&unknown_behaviour, tr_text_of("orders"), &singleton), TR_UNKNOWN_TYPE);
    stage_worker(&stage, 0)->shared->bounds.host_bytes = 1;
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of("orders"), &singleton), TR_BUSY);
    stage_worker(&stage, 0)->shared->bounds.host_bytes = TR_WORKER_BYTES_MAX;
    stage_worker(&stage, 0)->owners.withheld[0] = true; /* it may be given to another host */
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of("orders"), &singleton), TR_BUSY);
    stage_worker(&stage, 0)->owners.withheld[0] = false;
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of("orders"), &singleton), 0);
    stage_close(&stage);
}

/* Of several hosts each finds the same partition, without having it. */
static void names_lie_in_all_partitions(void **state)
{
    (void)state;
    uint64_t counts[4] = {0};
    struct tri_shared one = {.partition_count = TR_COUNT_OF(counts), .directory = {.number = 1}};
    struct tri_shared two = {.partition_count = TR_COUNT_OF(counts), .directory = {.number = 2}};
    const struct tri_shared untold = {.directory = {.number = 3}};
    struct tr_ref refs[2];
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "name%d", i);
        assert_int_equal(tri_singleton_ref(&one, tr_text_of(name), 0, &refs[0]), 0);
        assert_int_equal(tri_singleton_ref(&two, tr_text_of(name), 0, &refs[1]), 0);
        assert_same(refs[0], refs[1]);
        assert_true((refs[0].key.group >> 46 & 3) == 3); /* no number that a worker counts */
        assert_false(tr_group_is_host(refs[0].key.group));
        counts[tri_group_partition(refs[0].key.group)]++;
    }
    for (size_t i = 0; i < TR_COUNT_OF(counts); i++) {
        assert_true(counts[i] > NAMES / 16);
    }
    assert_int_equal(tri_singleton_ref(&untold, tr_text_of("a"), 0, &refs[0]), TR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_actor_of_a_name_is_there_once),
        cmocka_unit_test(it_is_found_where_it_has_moved_to),
        cmocka_unit_test(it_is_found_again_after_a_start),
        cmocka_unit_test(another_name_or_behaviour_does_not_get_it),
        cmocka_unit_test(what_cannot_begin_is_refused),
        cmocka_unit_test(names_lie_in_all_partitions),
    };
    return cmocka_run_group_tests_name("singleton", tests, NULL, NULL);
}
