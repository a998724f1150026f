/*
 * Failures and ends: restart with back-off, quarantine, monitors, families.
 */
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static const struct tr_ref nobody;

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static void open_stage(uint32_t workers)
{
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = workers});
}

static struct tr_ref fake(void)
{
    return stage_spawn(&stage, &fake_actor_behaviour, NULL);
}

static uint8_t phase_of(struct tr_ref actor)
{
    return stage_actor(&stage, actor)->phase;
}

/* ------------------------------------------------------------- failures */

static int failures_left;
static uint64_t tried_ms[16];
static int tried;

SCRIPT(fail_some_times)
{
    UNUSED(message);
    fake->number = act->number;
    tried_ms[tried++ % 16] = tr_now_ms(context);
    return failures_left-- > 0 ? TR_FAILED : 0;
}

SCRIPT(always_fail)
{
    UNUSED(context, fake, act, message);
    return TR_FAILED;
}

SCRIPT(stop)
{
    UNUSED(fake, act, message);
    return tr_stop(context);
}

static void test_a_failed_message_is_tried_again_after_a_back_off(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    failures_left = 1;
    tried = 0;
    fake_actor_act(&stage, a, fail_some_times, 5, nobody);
    fake_actor_note(&stage, a, 6);
    stage_run(&stage);
    assert_int_equal(phase_of(a), TRI_BACKING_OFF);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 0); /* nothing overtakes it */
    stage_advance(&stage, 9);
    assert_int_equal(tried, 1);
    stage_advance(&stage, 1);
    assert_int_equal(tried, 2);
    assert_int_equal(tried_ms[1] - tried_ms[0], 10);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1);
    assert_int_equal(phase_of(a), TRI_IDLE);
    stage_close(&stage);
}

static void test_the_back_off_doubles_with_each_failure(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    for (uint64_t i = 0; i < 4; i++) {
        failures_left = 1;
        tried = 0;
        fake_actor_act(&stage, a, fail_some_times, i, nobody);
        stage_advance(&stage, 200);
        assert_int_equal(tried, 2);
        assert_int_equal(tried_ms[1] - tried_ms[0], 10U << i);
    }
    stage_close(&stage);
}

static void test_a_message_that_fails_twice_quarantines_its_actor(void **state)
{
    (void)state;
    for (int drop = 0; drop < 2; drop++) {
        open_stage(1);
        struct tr_ref a = fake();
        failures_left = 2;
        fake_actor_act(&stage, a, fail_some_times, 5, nobody);
        fake_actor_note(&stage, a, 6);
        stage_advance(&stage, 1000);
        assert_int_equal(phase_of(a), TRI_QUARANTINED);
        assert_int_equal(stage_metric(&stage, quarantines), 1);
        assert_int_equal(stage_actor(&stage, a)->mailbox_count, 2); /* all of it is there */
        assert_int_equal(tr_host_resume(&stage.host, a, drop == 1), 0);
        stage_run(&stage);
        assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1);
        assert_int_equal(stage_dead_letters(&stage, TR_POISON), drop);
        assert_int_equal(fake_actor_state(&stage, a)->number, 6);
        stage_close(&stage);
    }
}

SCRIPT(ask_to_fail)
{
    UNUSED(message);
    struct tr_act wish = {.script = (uint64_t)(uintptr_t)always_fail};
    (void)act;
    return tr_ask(context, act->peer, &tr_act_schema, &wish, 0, &fake->ask);
}

static void test_a_dropped_question_is_answered_so(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, ask_to_fail, 0, b);
    stage_advance(&stage, 50);
    assert_int_equal(phase_of(b), TRI_QUARANTINED);
    assert_int_equal(tr_host_resume(&stage.host, b, true), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_POISON);
    stage_close(&stage);
}

SCRIPT(spawn_child)
{
    UNUSED(act, message);
    struct tr_spawn_options options = {.is_watched = true};
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

static struct tr_ref child_of(struct tr_ref parent)
{
    fake_actor_act(&stage, parent, spawn_child, 0, nobody);
    return fake_actor_state(&stage, parent)->peer;
}

/* Fails once with each of so many messages, and succeeds when they are tried again. */
static void fail_once_each(struct tr_ref actor, uint32_t messages)
{
    for (uint32_t i = 0; i < messages; i++) {
        failures_left = 1;
        fake_actor_act(&stage, actor, fail_some_times, 1, nobody);
        stage_advance(&stage, 6000); /* more than the longest back-off that it gets to */
    }
}

static void test_too_many_failures_within_a_window_quarantine(void **state)
{
    (void)state;
    for (int is_late = 0; is_late < 2; is_late++) {
        open_stage(1);
        struct tr_ref a = fake();
        failures_left = 1;
        fake_actor_act(&stage, a, fail_some_times, 1, nobody);
        stage_advance(&stage, 50);
        stage.now_ns += is_late == 0 ? 0 : (TR_RESTART_WINDOW_MS + 1) * 1000000ULL;
        fail_once_each(a, TR_RESTARTS_MAX);
        assert_int_equal(phase_of(a), is_late ? TRI_IDLE : TRI_QUARANTINED);
        stage_close(&stage);
    }
}

/* ------------------------------------------------------------- monitors */

SCRIPT(monitor)
{
    UNUSED(message);
    return tr_monitor(context, act->peer, &fake->monitor);
}

SCRIPT(demonitor)
{
    UNUSED(act, message);
    return tr_demonitor(context, fake->monitor);
}

static void test_a_monitor_hears_an_end_once(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, a, monitor, 0, b);
        fake_actor_act(&stage, b, stop, 0, nobody);
        assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 1);
        const struct heard *heard = fake_actor_heard_last(a, &tr_down_schema);
        assert_int_equal(heard->reason, 0);
        assert_int_equal(heard->number, fake_actor_state(&stage, a)->monitor);
        assert_true(tr_key_equal(heard->about.key, b.key));
        assert_int_equal(stage_actor(&stage, a)->edge_count, 0);
        stage_close(&stage);
    }
}

static void test_monitors_stack(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, monitor, 0, b);
    fake_actor_act(&stage, a, monitor, 0, b);
    fake_actor_act(&stage, a, demonitor, 0, nobody); /* the second one */
    fake_actor_act(&stage, b, stop, 0, nobody);
    assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 1);
    stage_close(&stage);
}

static void test_a_monitor_of_a_dead_actor_hears_so_at_once(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, b, stop, 0, nobody);
        fake_actor_act(&stage, a, monitor, 0, b);
        assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 1);
        assert_int_equal(fake_actor_heard_last(a, &tr_down_schema)->reason, TR_NO_ACTOR);
        stage_close(&stage);
    }
}

/* DOWN lies in the mailbox when the monitor is taken back. */
static void test_after_demonitor_no_end_is_heard(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, monitor, 0, b);
    tri_actor_quarantine(stage_home(&stage, a), stage_actor(&stage, a));
    fake_actor_act(&stage, a, demonitor, 0, nobody);
    fake_actor_act(&stage, b, stop, 0, nobody);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 2);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 0);
    stage_close(&stage);
}

SCRIPT(tell_and_stop)
{
    UNUSED(fake, message);
    for (uint64_t i = 1; i <= act->number; i++) {
        int error = tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){i});
        if (error != 0) {
            return error;
        }
    }
    return tr_stop(context);
}

static void test_an_end_comes_after_the_last_message(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, a, monitor, 0, b);
        fake_actor_act(&stage, b, tell_and_stop, 300, a);
        assert_int_equal(fake_actor_heard_count, 301);
        assert_int_equal(fake_actor_heard[300].type, tr_down_schema.id);
        stage_close(&stage);
    }
}

static void test_whoever_ends_takes_its_monitors_back(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, monitor, 0, b);
    assert_int_equal(stage_actor(&stage, b)->edge_count, 1);
    fake_actor_act(&stage, a, stop, 0, nobody);
    assert_int_equal(stage_actor(&stage, b)->edge_count, 0);
    assert_int_equal(stage_metric(&stage, dead_letters), 0);
    stage_close(&stage);
}

static void test_a_monitor_that_finds_no_room_hears_so(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    stage_actor(&stage, b)->edge_count = TR_EDGES_MAX;
    fake_actor_act(&stage, a, monitor, 0, b);
    stage_actor(&stage, b)->edge_count = 0;
    assert_int_equal(fake_actor_heard_last(a, &tr_down_schema)->reason, TR_LIMIT);
    stage_close(&stage);
}

/* --------------------------------------------------------------- families */

static void test_children_end_with_their_parent_deepest_first(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref watcher = fake();
    struct tr_ref root = fake();
    struct tr_ref child = child_of(root);
    struct tr_ref grandchild = child_of(child);
    struct tr_ref family[] = {root, child, grandchild};
    for (size_t i = 0; i < TR_COUNT_OF(family); i++) {
        fake_actor_act(&stage, watcher, monitor, 0, family[i]);
    }
    fake_actor_act(&stage, root, stop, 0, nobody);
    assert_int_equal(fake_actor_heard_times(watcher, &tr_down_schema), 3);
    for (size_t i = 0; i < TR_COUNT_OF(family); i++) {
        const struct heard *heard = &fake_actor_heard[fake_actor_heard_count - 3 + i];
        assert_true(tr_key_equal(heard->about.key, family[2 - i].key));
        assert_int_equal(heard->reason, i == 2 ? 0 : TR_KILLED);
    }
    assert_int_equal(stage_actor_count(&stage), 1);
    stage_close(&stage);
}

static void test_children_on_other_workers_end_too(void **state)
{
    (void)state;
    for (uint32_t place = 0; place < 8; place++) {
        open_stage(2);
        struct tr_ref root = fake();
        struct tr_ref child = child_of(root);
        struct tr_ref grandchild = child_of(child);
        stage_move(&stage, root, place & 1);
        stage_move(&stage, child, place >> 1 & 1);
        stage_move(&stage, grandchild, place >> 2 & 1);
        fake_actor_act(&stage, root, stop, 0, nobody);
        assert_int_equal(stage_actor_count(&stage), 0);
        /* Nothing is left of the group anywhere, and of the ways to its actors. */
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(stage_worker(&stage, i)->groups.count, 0);
            assert_int_equal(stage_worker(&stage, i)->routes.count, 0);
            assert_int_equal(stage_worker(&stage, i)->families.count, 0);
        }
        stage_close(&stage);
    }
}

SCRIPT(tell_to_stop)
{
    UNUSED(fake, message);
    return tr_tell(context, act->peer, &tr_act_schema,
                   &(struct tr_act){.script = (uint64_t)(uintptr_t)stop});
}

/* The parent stops, and the child that told it to ends with it. */
static void test_an_actor_may_cause_its_own_end(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref child = child_of(a);
    fake_actor_act(&stage, child, tell_to_stop, 0, a);
    assert_int_equal(stage_actor_count(&stage), 0);
    stage_close(&stage);
}

static void test_supervision_goes_first_but_not_for_ever(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref ordinary = fake();
    enum { WATCHERS = TR_SUPERVISION_BURST * 3 };
    struct tr_ref watchers[WATCHERS];
    struct tr_ref ends[WATCHERS];
    for (int i = 0; i < WATCHERS; i++) {
        watchers[i] = fake();
        ends[i] = fake();
        fake_actor_act(&stage, watchers[i], monitor, 0, ends[i]);
    }
    fake_actor_note(&stage, ordinary, 1);
    tri_sender_flush(&stage.host.sender);
    for (int i = 0; i < WATCHERS; i++) {
        tri_actor_end(stage_worker(&stage, 0), stage_actor(&stage, ends[i]), 0);
    }
    stage_run(&stage);
    size_t place = 0;
    while (!tr_key_equal(fake_actor_heard[place].self.key, ordinary.key)) {
        place++;
    }
    assert_int_equal(place, TR_SUPERVISION_BURST);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failed_message_is_tried_again_after_a_back_off),
        cmocka_unit_test(test_the_back_off_doubles_with_each_failure),
        cmocka_unit_test(test_a_message_that_fails_twice_quarantines_its_actor),
        cmocka_unit_test(test_a_dropped_question_is_answered_so),
        cmocka_unit_test(test_too_many_failures_within_a_window_quarantine),
        cmocka_unit_test(test_a_monitor_hears_an_end_once),
        cmocka_unit_test(test_monitors_stack),
        cmocka_unit_test(test_a_monitor_of_a_dead_actor_hears_so_at_once),
        cmocka_unit_test(test_after_demonitor_no_end_is_heard),
        cmocka_unit_test(test_an_end_comes_after_the_last_message),
        cmocka_unit_test(test_whoever_ends_takes_its_monitors_back),
        cmocka_unit_test(test_a_monitor_that_finds_no_room_hears_so),
        cmocka_unit_test(test_children_end_with_their_parent_deepest_first),
        cmocka_unit_test(test_children_on_other_workers_end_too),
        cmocka_unit_test(test_an_actor_may_cause_its_own_end),
        cmocka_unit_test(test_supervision_goes_first_but_not_for_ever),
    };
    return cmocka_run_group_tests_name("supervise", tests, NULL, NULL);
}
