/*
 * Groups that sleep: nothing of theirs runs, and nothing is lost, until they are woken; the others
 * go on as ever.
 */
#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static const struct tr_ref nobody;

#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static void open_host(uint32_t workers)
{
    struct tri_store_options options = {.folder = "model", .durability = TR_DURABILITY_FULL};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    struct stage_options wanted = {.worker_count = workers, .store = store};
    stage_open(&stage, &wanted);
}

static void close_host(void)
{
    stage_close(&stage);
    tri_store_close(store);
}

/* The process ends between two steps; the next one lets these groups sleep. */
static void crash_into_sleep(uint32_t workers, const uint64_t *groups, size_t count)
{
    tri_model_kill(model, 1);
    close_host();
    fake_actor_forget();
    open_host(workers);
    assert_int_equal(tr_host_set_dormant(&stage.host, groups, count), 0);
    stage_run(&stage);
}

static void begin(uint32_t workers)
{
    model = tri_model_new();
    fake_actor_forget();
    open_host(workers);
}

static void end(void)
{
    close_host();
    tri_model_free(model);
}

static struct tr_ref fake(void)
{
    return stage_spawn(&stage, &fake_actor_behaviour, NULL);
}

static int start_timer(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(fake, message);
    return tr_timer_start(context, 7, act->number);
}

static int call_outside(struct tr_context *context, struct tr_fake_actor *fake,
                        const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(message);
    return tr_call(context, TR_SERVICE_CONTROL, &tr_question_schema,
                   &(struct tr_question){act->number}, 0, &fake->ask);
}

static int spawn_child(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(act, message);
    struct tr_spawn_options options = {.is_watched = true};
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

static int monitor(struct tr_context *context, struct tr_fake_actor *fake, const struct tr_act *act,
                   const struct tr_message *message)
{
    UNUSED(message);
    return tr_monitor(context, act->peer, &fake->monitor);
}

static int stop(struct tr_context *context, struct tr_fake_actor *fake, const struct tr_act *act,
                const struct tr_message *message)
{
    UNUSED(fake, act, message);
    return tr_stop(context);
}

static void test_a_sleeper_keeps_what_comes_and_others_go_on(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, spawn_child, 0, nobody);
    struct tr_ref child = fake_actor_state(&stage, a)->peer;
    crash_into_sleep(2, &a.key.group, 1);
    fake_actor_note(&stage, a, 1);
    fake_actor_note(&stage, child, 2);
    fake_actor_note(&stage, b, 3);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_count, 1);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 1);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 1);

    crash_into_sleep(1, &a.key.group, 1); /* it sleeps on, and the notes are kept once */
    fake_actor_note(&stage, a, 4);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_count, 0);
    assert_int_equal(tr_host_wake(&stage.host, a.key.group), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 2);
    assert_int_equal(fake_actor_heard_times(child, &tr_note_schema), 1);
    assert_int_equal(fake_actor_heard_last(a, &tr_note_schema)->number, 4);

    crash_into_sleep(2, NULL, 0); /* sleeping is decided anew by each start */
    fake_actor_note(&stage, a, 5);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1);
    end();
}

static void test_only_the_group_that_is_woken_wakes(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref actors[3] = {fake(), fake(), fake()};
    uint64_t groups[] = {actors[2].key.group, actors[0].key.group, actors[1].key.group};
    crash_into_sleep(2, groups, 3);
    for (size_t i = 0; i < 3; i++) {
        fake_actor_note(&stage, actors[i], i);
    }
    assert_int_equal(tr_host_wake(&stage.host, actors[1].key.group), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_count, 1);
    assert_int_equal(fake_actor_heard_times(actors[1], &tr_note_schema), 1);
    assert_int_equal(tr_host_wake(&stage.host, actors[1].key.group), 0); /* it is awake */
    assert_int_equal(tr_host_wake(&stage.host, 0), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_count, 3);
    end();
}

static void test_timers_and_calls_are_answered_into_the_mailbox(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, start_timer, 1000, nobody);
    fake_actor_act(&stage, a, call_outside, 1, nobody);
    crash_into_sleep(1, &a.key.group, 1);
    stage_advance(&stage, 5000);
    assert_int_equal(fake_actor_heard_count, 0);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 2);
    crash_into_sleep(1, &a.key.group, 1);
    stage_advance(&stage, 5000);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 2);
    assert_int_equal(tr_host_wake(&stage.host, 0), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 1);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
    end();
}

static void test_a_sleeper_hears_of_ends_when_it_wakes(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, monitor, 0, b);
    crash_into_sleep(2, &a.key.group, 1);
    fake_actor_act(&stage, b, stop, 0, nobody);
    assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 0);
    assert_int_equal(tr_host_wake(&stage.host, a.key.group), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 1);
    end();
}

/* The ends of a sleeper's processes are kept for when it wakes. */
static void test_ends_are_kept_for_sleepers(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    crash_into_sleep(1, NULL, 0);
    assert_int_equal(stage.host.unclaimed_ms, 0);
    crash_into_sleep(1, &a.key.group, 1);
    assert_int_equal(stage.host.unclaimed_ms, UINT32_MAX);
    end();
}

static void test_a_sleeper_does_not_move(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    crash_into_sleep(2, &a.key.group, 1);
    uint32_t other = 1 - stage_home(&stage, a)->index;
    assert_int_equal(tr_host_move(&stage.host, a, other), TR_BUSY);
    assert_int_equal(tr_host_wake(&stage.host, a.key.group), 0);
    assert_int_equal(tr_host_move(&stage.host, a, other), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sleeper_keeps_what_comes_and_others_go_on),
        cmocka_unit_test(test_only_the_group_that_is_woken_wakes),
        cmocka_unit_test(test_timers_and_calls_are_answered_into_the_mailbox),
        cmocka_unit_test(test_a_sleeper_hears_of_ends_when_it_wakes),
        cmocka_unit_test(test_ends_are_kept_for_sleepers),
        cmocka_unit_test(test_a_sleeper_does_not_move),
    };
    return cmocka_run_group_tests_name("dormant", tests, NULL, NULL);
}
