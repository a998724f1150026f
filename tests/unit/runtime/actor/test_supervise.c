/*
 * Failures and ends: restart with back-off, quarantine, policies, monitors, links, families.
 */
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;
static const struct tr_ref nobody;

#define SCRIPT(name)                                                      \
    static int name(struct tr_context *context, struct tr_puppet *puppet, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static void open_stage(uint32_t workers)
{
    puppet_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = workers});
}

static struct tr_ref puppet(void)
{
    return stage_spawn(&stage, &puppet_behaviour, NULL);
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
    puppet->number = act->number;
    tried_ms[tried++ % 16] = tr_now_ms(context);
    return failures_left-- > 0 ? TR_FAILED : 0;
}

SCRIPT(always_fail)
{
    UNUSED(context, puppet, act, message);
    return TR_FAILED;
}

SCRIPT(stop)
{
    UNUSED(puppet, act, message);
    return tr_stop(context);
}

static void test_a_failed_message_is_tried_again_after_a_back_off(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = puppet();
    failures_left = 1;
    tried = 0;
    puppet_act(&stage, a, fail_some_times, 5, nobody);
    puppet_note(&stage, a, 6);
    stage_run(&stage);
    assert_int_equal(phase_of(a), TRI_BACKING_OFF);
    assert_int_equal(puppet_heard_times(a, &tr_note_schema), 0); /* nothing overtakes it */
    stage_advance(&stage, 9);
    assert_int_equal(tried, 1);
    stage_advance(&stage, 1);
    assert_int_equal(tried, 2);
    assert_int_equal(tried_ms[1] - tried_ms[0], 10);
    assert_int_equal(puppet_heard_times(a, &tr_note_schema), 1);
    assert_int_equal(phase_of(a), TRI_IDLE);
    stage_close(&stage);
}

static void test_the_back_off_doubles_with_each_failure(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = puppet();
    for (uint64_t i = 0; i < 4; i++) {
        failures_left = 1;
        tried = 0;
        puppet_act(&stage, a, fail_some_times, i, nobody);
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
        struct tr_ref a = puppet();
        failures_left = 2;
        puppet_act(&stage, a, fail_some_times, 5, nobody);
        puppet_note(&stage, a, 6);
        stage_advance(&stage, 1000);
        assert_int_equal(phase_of(a), TRI_QUARANTINED);
        assert_int_equal(stage_metric(&stage, quarantines), 1);
        assert_int_equal(stage_actor(&stage, a)->mailbox_count, 2); /* all of it is there */
        assert_int_equal(tr_host_resume(&stage.host, a, drop == 1), 0);
        stage_run(&stage);
        assert_int_equal(puppet_heard_times(a, &tr_note_schema), 1);
        assert_int_equal(stage_dead_letters(&stage, TR_POISON), drop);
        assert_int_equal(puppet_state(&stage, a)->number, 6);
        stage_close(&stage);
    }
}

SCRIPT(ask_to_fail)
{
    UNUSED(message);
    struct tr_act wish = {.script = (uint64_t)(uintptr_t)always_fail};
    (void)act;
    return tr_ask(context, act->peer, &tr_act_schema, &wish, 0, &puppet->ask);
}

static void test_a_dropped_question_is_answered_so(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    puppet_act(&stage, a, ask_to_fail, 0, b);
    stage_advance(&stage, 50);
    assert_int_equal(phase_of(b), TRI_QUARANTINED);
    assert_int_equal(tr_host_resume(&stage.host, b, true), 0);
    stage_run(&stage);
    assert_int_equal(puppet_heard_last(a, &tr_ask_failed_schema)->reason, TR_POISON);
    stage_close(&stage);
}

SCRIPT(spawn_child)
{
    UNUSED(message);
    const struct tr_behaviour *behaviours[] = {&puppet_behaviour, &puppet_stopping_behaviour,
                                               &puppet_escalating_behaviour};
    struct tr_spawn_options options = {.is_watched = true};
    return tr_spawn(context, behaviours[act->number], &options, &puppet->peer);
}

static struct tr_ref child_of(struct tr_ref parent, uint64_t kind)
{
    puppet_act(&stage, parent, spawn_child, kind, nobody);
    return puppet_state(&stage, parent)->peer;
}

/* Fails once with each of two messages: one restart is allowed. */
static void exhaust(struct tr_ref actor)
{
    for (int i = 0; i < 2; i++) {
        failures_left = 1;
        puppet_act(&stage, actor, fail_some_times, 1, nobody);
        stage_advance(&stage, 50);
    }
}

static void test_a_behaviour_may_stop_when_it_is_exhausted(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref parent = puppet();
    struct tr_ref child = child_of(parent, 1);
    exhaust(child);
    assert_null(stage_actor(&stage, child));
    assert_non_null(stage_actor(&stage, parent));
    assert_int_equal(puppet_heard_times(parent, &tr_down_schema), 1);
    assert_int_equal(puppet_heard_last(parent, &tr_down_schema)->reason, TR_FAILED);
    stage_close(&stage);
}

static void test_a_behaviour_may_take_its_parent_along(void **state)
{
    (void)state;
    for (uint32_t far = 0; far < 2; far++) {
        open_stage(2);
        struct tr_ref root = puppet();
        struct tr_ref parent = child_of(root, 0);
        struct tr_ref child = child_of(parent, 2);
        struct tr_ref sibling = child_of(parent, 0);
        stage_move(&stage, child, far);
        exhaust(child);
        assert_null(stage_actor(&stage, child));
        assert_null(stage_actor(&stage, sibling));
        assert_null(stage_actor(&stage, parent));
        assert_int_equal(puppet_heard_last(root, &tr_down_schema)->reason, TR_FAILED);
        stage_close(&stage);
    }
}

static void test_restarts_are_counted_within_a_window(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = stage_spawn(&stage, &puppet_stopping_behaviour, NULL);
    failures_left = 1;
    puppet_act(&stage, a, fail_some_times, 1, nobody);
    stage_advance(&stage, 50);
    stage.now_ns += 61000000000ULL;
    failures_left = 1;
    puppet_act(&stage, a, fail_some_times, 1, nobody);
    stage_advance(&stage, 50);
    assert_non_null(stage_actor(&stage, a));
    stage_close(&stage);
}

/* ------------------------------------------------------------- monitors */

SCRIPT(monitor)
{
    UNUSED(message);
    return tr_monitor(context, act->peer, &puppet->monitor);
}

SCRIPT(demonitor)
{
    UNUSED(act, message);
    return tr_demonitor(context, puppet->monitor);
}

static void test_a_monitor_hears_an_end_once(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = puppet();
        struct tr_ref b = puppet();
        puppet_act(&stage, a, monitor, 0, b);
        puppet_act(&stage, b, stop, 0, nobody);
        assert_int_equal(puppet_heard_times(a, &tr_down_schema), 1);
        const struct heard *heard = puppet_heard_last(a, &tr_down_schema);
        assert_int_equal(heard->reason, 0);
        assert_int_equal(heard->number, puppet_state(&stage, a)->monitor);
        assert_true(tr_key_equal(heard->about.key, b.key));
        assert_int_equal(stage_actor(&stage, a)->edge_count, 0);
        stage_close(&stage);
    }
}

static void test_monitors_stack(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    puppet_act(&stage, a, monitor, 0, b);
    puppet_act(&stage, a, monitor, 0, b);
    puppet_act(&stage, a, demonitor, 0, nobody); /* the second one */
    puppet_act(&stage, b, stop, 0, nobody);
    assert_int_equal(puppet_heard_times(a, &tr_down_schema), 1);
    stage_close(&stage);
}

static void test_a_monitor_of_a_dead_actor_hears_so_at_once(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = puppet();
        struct tr_ref b = puppet();
        puppet_act(&stage, b, stop, 0, nobody);
        puppet_act(&stage, a, monitor, 0, b);
        assert_int_equal(puppet_heard_times(a, &tr_down_schema), 1);
        assert_int_equal(puppet_heard_last(a, &tr_down_schema)->reason, TR_NO_ACTOR);
        stage_close(&stage);
    }
}

/* DOWN lies in the mailbox when the monitor is taken back. */
static void test_after_demonitor_no_end_is_heard(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    puppet_act(&stage, a, monitor, 0, b);
    tri_quarantine(stage_home(&stage, a), stage_actor(&stage, a));
    puppet_act(&stage, a, demonitor, 0, nobody);
    puppet_act(&stage, b, stop, 0, nobody);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 2);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(puppet_heard_times(a, &tr_down_schema), 0);
    stage_close(&stage);
}

SCRIPT(tell_and_stop)
{
    UNUSED(puppet, message);
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
        struct tr_ref a = puppet();
        struct tr_ref b = puppet();
        puppet_act(&stage, a, monitor, 0, b);
        puppet_act(&stage, b, tell_and_stop, 300, a);
        assert_int_equal(puppet_heard_count, 301);
        assert_int_equal(puppet_heard[300].type, tr_down_schema.id);
        stage_close(&stage);
    }
}

static void test_whoever_ends_takes_its_monitors_back(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    puppet_act(&stage, a, monitor, 0, b);
    assert_int_equal(stage_actor(&stage, b)->edge_count, 1);
    puppet_act(&stage, a, stop, 0, nobody);
    assert_int_equal(stage_actor(&stage, b)->edge_count, 0);
    assert_int_equal(stage_metric(&stage, dead_letters), 0);
    stage_close(&stage);
}

static void test_a_monitor_that_finds_no_room_hears_so(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    stage_actor(&stage, b)->edge_count = TR_EDGES_MAX;
    puppet_act(&stage, a, monitor, 0, b);
    stage_actor(&stage, b)->edge_count = 0;
    assert_int_equal(puppet_heard_last(a, &tr_down_schema)->reason, TR_LIMIT);
    stage_close(&stage);
}

/* ---------------------------------------------------------------- links */

SCRIPT(make_link)
{
    UNUSED(puppet, message);
    return tr_link(context, act->peer);
}

SCRIPT(take_link_back)
{
    UNUSED(puppet, message);
    return tr_unlink(context, act->peer);
}

static void kill_with(struct tr_ref actor, int reason)
{
    tri_end(stage_home(&stage, actor), stage_actor(&stage, actor), reason);
    stage_run(&stage);
}

static void test_linked_actors_fail_together(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        for (int reason = TR_FAILED; reason <= 0; reason -= TR_FAILED) {
            open_stage(2);
            struct tr_ref a = puppet();
            struct tr_ref b = puppet();
            puppet_act(&stage, a, make_link, 0, b);
            kill_with(side == 0 ? a : b, reason);
            /* An end in order leaves the other one alone. */
            assert_int_equal(stage_actor_count(&stage), reason == 0 ? 1 : 0);
            stage_close(&stage);
        }
    }
}

static void test_linking_twice_is_one_link(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    puppet_act(&stage, a, make_link, 0, b);
    puppet_act(&stage, a, make_link, 0, b);
    puppet_act(&stage, b, make_link, 0, a);
    assert_int_equal(stage_actor(&stage, a)->edge_count, 1);
    assert_int_equal(stage_actor(&stage, b)->edge_count, 1);
    puppet_act(&stage, a, take_link_back, 0, b);
    assert_int_equal(stage_actor(&stage, a)->edge_count, 0);
    assert_int_equal(stage_actor(&stage, b)->edge_count, 0);
    kill_with(a, TR_FAILED);
    assert_non_null(stage_actor(&stage, b));
    stage_close(&stage);
}

static void test_a_link_to_a_dead_actor_is_a_failure(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    puppet_act(&stage, b, stop, 0, nobody);
    puppet_act(&stage, a, make_link, 0, b);
    assert_null(stage_actor(&stage, a));
    stage_close(&stage);
}

/* --------------------------------------------------------------- families */

static void test_children_end_with_their_parent_deepest_first(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref watcher = puppet();
    struct tr_ref root = puppet();
    struct tr_ref child = child_of(root, 0);
    struct tr_ref grandchild = child_of(child, 0);
    struct tr_ref family[] = {root, child, grandchild};
    for (size_t i = 0; i < TR_COUNT_OF(family); i++) {
        puppet_act(&stage, watcher, monitor, 0, family[i]);
    }
    puppet_act(&stage, root, stop, 0, nobody);
    assert_int_equal(puppet_heard_times(watcher, &tr_down_schema), 3);
    for (size_t i = 0; i < TR_COUNT_OF(family); i++) {
        const struct heard *heard = &puppet_heard[puppet_heard_count - 3 + i];
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
        struct tr_ref root = puppet();
        struct tr_ref child = child_of(root, 0);
        struct tr_ref grandchild = child_of(child, 0);
        stage_move(&stage, root, place & 1);
        stage_move(&stage, child, place >> 1 & 1);
        stage_move(&stage, grandchild, place >> 2 & 1);
        puppet_act(&stage, root, stop, 0, nobody);
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

SCRIPT(stop_child)
{
    UNUSED(puppet, message);
    return tr_stop_child(context, act->peer);
}

static void test_a_parent_may_stop_its_child_and_nobody_else(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    struct tr_ref child = child_of(a, 0);
    puppet_act(&stage, b, stop_child, 0, child);
    assert_int_equal(stage_metric(&stage, handler_failures), 1);
    assert_non_null(stage_actor(&stage, child));
    puppet_act(&stage, a, stop_child, 0, child);
    assert_null(stage_actor(&stage, child));
    assert_int_equal(puppet_heard_last(a, &tr_down_schema)->reason, TR_KILLED);
    stage_close(&stage);
}

SCRIPT(stop_grandparent)
{
    UNUSED(puppet, message);
    return tr_tell(context, act->peer, &tr_act_schema,
                   &(struct tr_act){.script = (uint64_t)(uintptr_t)stop});
}

/* A link whose failure comes back while the handler's effects still happen. */
static void test_an_actor_may_cause_its_own_end(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = puppet();
    struct tr_ref child = child_of(a, 0);
    puppet_act(&stage, a, make_link, 0, child);
    puppet_act(&stage, a, stop_child, 0, child);
    assert_int_equal(stage_actor_count(&stage), 0);
    struct tr_ref b = puppet();
    struct tr_ref other = child_of(b, 0);
    puppet_act(&stage, other, stop_grandparent, 0, b);
    assert_int_equal(stage_actor_count(&stage), 0);
    stage_close(&stage);
}

static void test_supervision_goes_first_but_not_for_ever(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref ordinary = puppet();
    enum { WATCHERS = TR_SUPERVISION_BURST * 3 };
    struct tr_ref watchers[WATCHERS];
    struct tr_ref ends[WATCHERS];
    for (int i = 0; i < WATCHERS; i++) {
        watchers[i] = puppet();
        ends[i] = puppet();
        puppet_act(&stage, watchers[i], monitor, 0, ends[i]);
    }
    puppet_note(&stage, ordinary, 1);
    tri_voice_flush(&stage.host.voice);
    for (int i = 0; i < WATCHERS; i++) {
        tri_end(stage_worker(&stage, 0), stage_actor(&stage, ends[i]), 0);
    }
    stage_run(&stage);
    size_t place = 0;
    while (!tr_key_equal(puppet_heard[place].self.key, ordinary.key)) {
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
        cmocka_unit_test(test_a_behaviour_may_stop_when_it_is_exhausted),
        cmocka_unit_test(test_a_behaviour_may_take_its_parent_along),
        cmocka_unit_test(test_restarts_are_counted_within_a_window),
        cmocka_unit_test(test_a_monitor_hears_an_end_once),
        cmocka_unit_test(test_monitors_stack),
        cmocka_unit_test(test_a_monitor_of_a_dead_actor_hears_so_at_once),
        cmocka_unit_test(test_after_demonitor_no_end_is_heard),
        cmocka_unit_test(test_an_end_comes_after_the_last_message),
        cmocka_unit_test(test_whoever_ends_takes_its_monitors_back),
        cmocka_unit_test(test_a_monitor_that_finds_no_room_hears_so),
        cmocka_unit_test(test_linked_actors_fail_together),
        cmocka_unit_test(test_linking_twice_is_one_link),
        cmocka_unit_test(test_a_link_to_a_dead_actor_is_a_failure),
        cmocka_unit_test(test_children_end_with_their_parent_deepest_first),
        cmocka_unit_test(test_children_on_other_workers_end_too),
        cmocka_unit_test(test_a_parent_may_stop_its_child_and_nobody_else),
        cmocka_unit_test(test_an_actor_may_cause_its_own_end),
        cmocka_unit_test(test_supervision_goes_first_but_not_for_ever),
    };
    return cmocka_run_group_tests_name("supervise", tests, NULL, NULL);
}
