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

/* ---- By an actor. ---------------------------------------------------------------------------- */

/* Has it begin, tells it the number and asks it. */
static int begin_and_say(struct tr_context *context, struct tr_fake_actor *fake,
                         const struct tr_act *act, const struct tr_message *message)
{
    struct tr_note note = {act->number};
    struct tr_question question = {act->number + 10};
    (void)message;
    int error = tr_singleton(context, &fake_actor_behaviour, tr_text_of("orders"), 3, &fake->peer);
    if (error == 0) {
        error = tr_tell(context, fake->peer, &tr_note_schema, &note);
    }
    return error != 0 ? error
                      : tr_ask(context, fake->peer, &tr_question_schema, &question, 0, &fake->ask);
}

static void let_say(struct tr_ref fake, uint64_t number)
{
    fake_actor_act(&stage, fake, begin_and_say, number, (struct tr_ref){0});
}

/* It has heard so much, the last of it a question of this number, which was answered. */
static void assert_heard(struct tr_ref fake, uint64_t times, uint64_t number)
{
    struct tr_ref singleton = get("orders", 3);
    assert_int_equal(fake_actor_state(&stage, singleton)->count, times);
    assert_int_equal(fake_actor_state(&stage, singleton)->number, number);
    assert_int_equal(fake_actor_heard_last(fake, &tr_answer_schema)->number, number + 1);
}

static void it_begins_before_it_gets_what_an_actor_says(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        fake_actor_forget();
        stage_open(&stage, &(struct stage_options){.worker_count = workers});
        struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
        let_say(fake, 1);
        let_say(fake, 2);
        assert_heard(fake, 4, 12);
        assert_int_equal(stage_actor_count(&stage), 2);
        assert_int_equal(fake_actor_heard_times(fake, &tr_ask_failed_schema), 0);
        assert_true(tr_key_equal(get("orders", 3).key, fake_actor_state(&stage, fake)->peer.key));
        stage_close(&stage);
    }
}

/* The program does not wait, either, and what it says comes behind the beginning. */
static void it_begins_before_it_gets_what_a_program_says(void **state)
{
    (void)state;
    struct tr_ref singleton = {.incarnation = 9};
    stage_open(&stage, &(struct stage_options){.worker_count = 2});
    for (uint64_t i = 1; i <= 2; i++) {
        assert_int_equal(tr_host_singleton_begin(&stage.host, &fake_actor_behaviour,
                                                 tr_text_of("orders"), 3, &singleton),
                         0);
        assert_int_equal(
            tr_host_tell(&stage.host, singleton, &tr_note_schema, &(struct tr_note){i}), 0);
    }
    assert_int_equal(stage_actor_count(&stage), 0);
    stage_run(&stage);
    assert_true(tr_key_equal(get("orders", 3).key, singleton.key));
    assert_int_equal(fake_actor_state(&stage, singleton)->number, 2);
    assert_int_equal(
        tr_host_singleton_begin(&stage.host, &fake_actor_behaviour, tr_text_of(""), 3, &singleton),
        TR_INVALID);
    stage_close(&stage);
}

/* What an actor says must not be lost for want of memory; a program is told to come later. */
static void little_memory_does_not_hinder_an_actor(void **state)
{
    (void)state;
    struct tr_ref singleton;
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){0});
    struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    stage_worker(&stage, 0)->shared->bounds.host_bytes = 1;
    assert_int_equal(ask(&fake_actor_behaviour, tr_text_of("orders"), &singleton), TR_BUSY);
    let_say(fake, 1);
    assert_heard(fake, 2, 11);
    stage_worker(&stage, 0)->shared->bounds.host_bytes = TR_WORKER_BYTES_MAX;
    stage_close(&stage);
}

static void release(void)
{
    stage_worker(&stage, 0)->owners.withheld[0] = false;
    tri_deliver_waiting(stage_worker(&stage, 0));
    stage_run(&stage);
}

/* Until it is known who has its partition what it was told waits, also over a start. */
static void what_an_actor_says_waits_for_a_withheld_partition(void **state)
{
    (void)state;
    struct tri_model *model = tri_model_new();
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    struct tri_store *store;
    for (int starts_again = 0; starts_again < 2; starts_again++) {
        fake_actor_forget();
        assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
        stage_open(&stage, &(struct stage_options){.store = store, .worker_count = 2});
        struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
        stage_worker(&stage, 0)->owners.withheld[0] = true;
        let_say(fake, 1);
        let_say(fake, 2);
        assert_int_equal(fake_actor_heard_times(fake, &tr_answer_schema), 0);
        tri_deliver_waiting(stage_worker(&stage, 0)); /* it is still withheld */
        assert_int_equal(stage_worker(&stage, 0)->unspawned_count, 6);
        if (starts_again) {
            stage_close(&stage);
            tri_store_close(store);
            assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
            stage_open(&stage, &(struct stage_options){.store = store, .worker_count = 2});
            stage_run(&stage);
        } else {
            release();
        }
        assert_heard(fake, 4, 12);
        stage_close(&stage);
        tri_store_close(store);
        tri_model_free(model);
        model = tri_model_new();
    }
    tri_model_free(model);
}

static int begin_nameless(struct tr_context *context, struct tr_fake_actor *fake,
                          const struct tr_act *act, const struct tr_message *message)
{
    char name[TR_NAME_BYTES_MAX + 1];
    struct tr_ref singleton = {.incarnation = 9};
    struct tr_text names[] = {tr_text_of(""), {.data = name, .size = sizeof name}};
    (void)act;
    (void)message;
    memset(name, 'a', sizeof name);
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        int error = tr_singleton(context, &fake_actor_behaviour, names[i], 0, &singleton);
        fake->count += error == TR_INVALID && singleton.incarnation == 9 ? 1 : 0;
    }
    return 0;
}

static void a_name_that_is_none_is_refused_to_an_actor_too(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){0});
    struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    fake_actor_act(&stage, fake, begin_nameless, 0, (struct tr_ref){0});
    assert_int_equal(fake_actor_state(&stage, fake)->count, 2);
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
        cmocka_unit_test(it_begins_before_it_gets_what_an_actor_says),
        cmocka_unit_test(it_begins_before_it_gets_what_a_program_says),
        cmocka_unit_test(little_memory_does_not_hinder_an_actor),
        cmocka_unit_test(what_an_actor_says_waits_for_a_withheld_partition),
        cmocka_unit_test(a_name_that_is_none_is_refused_to_an_actor_too),
        cmocka_unit_test(names_lie_in_all_partitions),
    };
    return cmocka_run_group_tests_name("singleton", tests, NULL, NULL);
}
