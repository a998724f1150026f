/*
 * Where messages go, by name: mailboxes, dead letters with their reasons, senders held back.
 */
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct stage stage;

static void open_stage(uint32_t workers)
{
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.worker_count = workers});
}

static struct tr_ref fake(void)
{
    return stage_spawn(&stage, &fake_actor_behaviour, NULL);
}

static int tell_note(struct tr_context *context, struct tr_fake_actor *fake,
                     const struct tr_act *act, const struct tr_message *message)
{
    (void)fake;
    (void)message;
    return tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){act->number});
}

static int tell_notes(struct tr_context *context, struct tr_fake_actor *fake,
                      const struct tr_act *act, const struct tr_message *message)
{
    int error = 0;
    for (uint64_t i = 1; i <= act->number && error == 0; i++) {
        error = tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){i});
    }
    (void)fake;
    (void)message;
    return error;
}

static int stop(struct tr_context *context, struct tr_fake_actor *fake, const struct tr_act *act,
                const struct tr_message *message)
{
    (void)fake;
    (void)act;
    (void)message;
    return tr_stop(context);
}

static int ask(struct tr_context *context, struct tr_fake_actor *fake, const struct tr_act *act,
               const struct tr_message *message)
{
    (void)message;
    return tr_ask(context, act->peer, &tr_question_schema, &(struct tr_question){act->number}, 0,
                  &fake->ask);
}

static void test_notes_keep_their_order_between_workers(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    fake_actor_act(&stage, a, tell_notes, 1000, b);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 1000);
    uint64_t expected = 1;
    for (size_t i = 0; i < fake_actor_heard_count; i++) {
        assert_int_equal(fake_actor_heard[i].number, expected++);
    }
    assert_int_equal(fake_actor_state(&stage, b)->count, 1000);
    stage_close(&stage);
}

static void test_a_dead_actor_makes_a_dead_letter(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, b, stop, 0, a);
        assert_null(stage_actor(&stage, b));
        fake_actor_act(&stage, a, tell_note, 1, b);
        assert_int_equal(stage_dead_letters(&stage, TR_NO_ACTOR), 1);
        assert_int_equal(stage_metric(&stage, dead_letters), 1);
        stage_close(&stage);
    }
}

static void test_an_incarnation_that_is_gone_is_named(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_spawn_options options = {.incarnation = 3};
    struct tr_ref b = stage_spawn(&stage, &fake_actor_behaviour, &options);
    assert_int_equal(b.incarnation, 3);
    b.incarnation = 2;
    fake_actor_act(&stage, a, tell_note, 1, b);
    assert_int_equal(stage_dead_letters(&stage, TR_STALE_INCARNATION), 1);
    b.incarnation = 0; /* whichever lives */
    fake_actor_act(&stage, a, tell_note, 2, b);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 1);
    stage_close(&stage);
}

static int spawn_child(struct tr_context *context, struct tr_fake_actor *fake,
                       const struct tr_act *act, const struct tr_message *message)
{
    (void)act;
    (void)message;
    return tr_spawn(context, &fake_actor_behaviour, NULL, &fake->peer);
}

static void test_a_serial_not_spawned_yet_waits_for_its_spawn(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref parent = fake();
    const struct tri_group *group = tri_group_find(stage_worker(&stage, 0), parent.key.group);
    struct tr_ref child = {{parent.key.group, group->next_spawn << 4}, 0};
    fake_actor_act(&stage, a, tell_note, 9, child);
    assert_int_equal(stage_worker(&stage, 0)->unspawned_count, 1);
    assert_int_equal(stage_metric(&stage, dead_letters), 0);
    fake_actor_act(&stage, parent, spawn_child, 0, a);
    assert_true(tr_key_equal(fake_actor_state(&stage, parent)->peer.key, child.key));
    assert_int_equal(fake_actor_heard_times(child, &tr_note_schema), 1);
    assert_int_equal(stage_worker(&stage, 0)->unspawned_count, 0);
    stage_close(&stage);
}

static void test_messages_to_actors_not_spawned_have_a_limit(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref unspawned = {{a.key.group, 1000 << 4}, 0};
    fake_actor_act(&stage, a, tell_notes, TR_UNSPAWNED_MESSAGES_MAX + 5, unspawned);
    assert_int_equal(stage_worker(&stage, 0)->unspawned_count, TR_UNSPAWNED_MESSAGES_MAX);
    assert_int_equal(stage_dead_letters(&stage, TR_NO_ACTOR), 5);
    stage_close(&stage);
}

/* ------------------------------------------------------- full mailboxes */

/* Puts an actor aside, so that its mailbox only fills. */
static void put_aside(struct tr_ref actor)
{
    tri_actor_quarantine(stage_home(&stage, actor), stage_actor(&stage, actor));
}

static void let_go_on(struct tr_ref actor)
{
    assert_int_equal(tr_host_resume(&stage.host, actor, false), 0);
    stage_run(&stage);
}

static void test_a_full_mailbox_mutes_its_sender_until_it_is_half_empty(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        open_stage(workers);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        put_aside(b);
        fake_actor_act(&stage, a, tell_notes, TR_MAILBOX_SOFT_MAX, b);
        assert_int_equal(stage_actor(&stage, a)->muted_by, 0);
        fake_actor_act(&stage, a, tell_notes, 10, b); /* what a handler has said is delivered */
        assert_int_equal(stage_actor(&stage, a)->muted_by, 1);
        assert_int_equal(stage_actor(&stage, b)->mailbox_count, TR_MAILBOX_SOFT_MAX + 10);
        fake_actor_act(&stage, a, tell_note, 11, b);
        assert_int_equal(stage_actor(&stage, a)->mailbox_count, 1); /* it does not run */
        let_go_on(b);
        assert_int_equal(stage_actor(&stage, a)->muted_by, 0);
        assert_int_equal(stage_actor(&stage, a)->mailbox_count, 0);
        assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), TR_MAILBOX_SOFT_MAX + 11);
        assert_int_equal(stage_metric(&stage, dead_letters), 0);
        stage_close(&stage);
    }
}

static void test_an_overloaded_actor_is_never_muted_itself(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    put_aside(a);
    put_aside(b);
    struct tri_worker *worker = stage_worker(&stage, 0);
    /* Each mailbox is full of notes from the other: a ring that must not lock. */
    for (uint32_t i = 0; i <= TR_MAILBOX_SOFT_MAX; i++) {
        for (int side = 0; side < 2; side++) {
            struct tri_heading heading = {
                .kind = TR_KIND_TELL, .from = side ? a : b, .to = side ? b : a, .sequence = i + 1};
            stage_send(&stage, 0, &heading, &tr_note_schema, &(struct tr_note){i});
        }
    }
    stage_run(&stage);
    assert_int_equal(stage_actor(&stage, a)->muted_by, 1);
    assert_int_equal(stage_actor(&stage, b)->muted_by, 1);
    assert_int_equal(worker->metrics.messages_handled, 0);
    let_go_on(a);
    let_go_on(b);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), TR_MAILBOX_SOFT_MAX + 1);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), TR_MAILBOX_SOFT_MAX + 1);
    assert_int_equal(stage_actor(&stage, a)->muted_by, 0);
    assert_int_equal(stage_actor(&stage, b)->muted_by, 0);
    stage_close(&stage);
}

static void test_a_sender_is_let_go_when_the_full_mailbox_ends(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    put_aside(b);
    fake_actor_act(&stage, a, tell_notes, TR_MAILBOX_SOFT_MAX + 1, b);
    assert_int_equal(stage_actor(&stage, a)->muted_by, 1);
    tri_actor_end(stage_home(&stage, b), stage_actor(&stage, b), TR_KILLED);
    stage_run(&stage);
    assert_int_equal(stage_actor(&stage, a)->muted_by, 0);
    stage_close(&stage);
}

static void test_a_mailbox_at_its_hard_limit_refuses_all_but_answers(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    /* b has asked something, so a reply to it has its room reserved. */
    fake_actor_act(&stage, b, ask, 20, a);
    assert_int_equal(fake_actor_heard_times(b, &tr_answer_schema), 1);
    put_aside(a);
    fake_actor_act(&stage, b, ask, 30, a);
    put_aside(b);
    uint32_t count = stage_actor(&stage, b)->mailbox_count;
    stage_actor(&stage, b)->mailbox_count = TR_MAILBOX_HARD_MAX;
    struct tri_heading heading = {.kind = TR_KIND_TELL, .from = a, .to = b, .sequence = 100};
    stage_send(&stage, 0, &heading, &tr_note_schema, &(struct tr_note){1});
    stage_run(&stage);
    assert_int_equal(stage_dead_letters(&stage, TR_OVERFLOW), 1);
    let_go_on(a); /* it answers now */
    assert_int_equal(stage_actor(&stage, b)->mailbox_count, TR_MAILBOX_HARD_MAX + 1);
    stage_actor(&stage, b)->mailbox_count = count + 1;
    let_go_on(b);
    assert_int_equal(fake_actor_heard_times(b, &tr_answer_schema), 2);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 0);
    stage_close(&stage);
}

/* A question that does not fit is answered, so that nobody waits for ever. */
static void test_a_question_that_overflows_is_answered_so(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    put_aside(b);
    stage_actor(&stage, b)->mailbox_count = TR_MAILBOX_HARD_MAX;
    fake_actor_act(&stage, a, ask, 1, b);
    stage_actor(&stage, b)->mailbox_count = 0;
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_OVERFLOW);
    stage_close(&stage);
}

/* ----------------------------------------------------------- full pipes */

static void test_a_full_pipe_keeps_what_was_said_in_order(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    stage.inboxes[1].capacity = 0;
    for (uint64_t i = 0; i < TR_PIPE_BACKLOG_MAX + 10; i++) {
        fake_actor_act(&stage, a, tell_note, i, b);
    }
    assert_true(tri_is_congested(stage_worker(&stage, 0)));
    assert_true(stage_actor(&stage, a)->mailbox_count > 0); /* no more is said meanwhile */
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 0);
    stage.inboxes[1].capacity = 1;
    while (fake_actor_heard_count < TR_PIPE_BACKLOG_MAX + 10) {
        stage_run(&stage); /* a pipe wakes nobody when it has room again */
    }
    for (size_t i = 0; i < fake_actor_heard_count; i++) {
        assert_int_equal(fake_actor_heard[i].number, i);
    }
    assert_false(tri_is_congested(stage_worker(&stage, 0)));
    assert_int_equal(stage_metric(&stage, dead_letters), 0);
    stage_close(&stage);
}

/* ------------------------------------------------------------- the rest */

static void test_a_message_that_went_round_too_often_is_named(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    /* Two workers that each believe it is with the other. */
    struct tr_key lost = {a.key.group, 5 << 4};
    assert_int_equal(tri_key_map_set(&stage_worker(&stage, 0)->routes, lost, 2), 0);
    assert_int_equal(tri_key_map_set(&stage_worker(&stage, 1)->routes, lost, 1), 0);
    fake_actor_act(&stage, a, tell_note, 1, (struct tr_ref){lost, 0});
    assert_int_equal(stage_dead_letters(&stage, TR_HOPS), 1);
    stage_close(&stage);
}

static void test_a_service_that_is_none_is_named(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, tell_note, 1, (struct tr_ref){{0, TR_SERVICE_COUNT + 1}, 0});
    fake_actor_act(&stage, a, ask, 1, (struct tr_ref){{0, 0}, 0});
    assert_int_equal(stage_dead_letters(&stage, TR_NO_ACTOR), 2);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_NO_ACTOR);
    stage_close(&stage);
}

/* Tells a receiver something; how many messages were refused for being for another start. */
static size_t stale_after(struct tr_ref a, uint64_t group, uint32_t incarnation)
{
    size_t before = stage_dead_letters(&stage, TR_STALE_INCARNATION);
    struct tr_ref program = {{group, TR_SERVICE_CONTROL}, incarnation};
    fake_actor_act(&stage, a, tell_note, 1, program);
    return stage_dead_letters(&stage, TR_STALE_INCARNATION) - before;
}

static void test_what_is_for_another_start_of_a_host_is_refused(void **state)
{
    (void)state;
    open_stage(1);
    struct tr_ref a = fake();
    struct tr_ref host = stage.host.shared.host;
    assert_true(tr_group_is_host(host.key.group));
    assert_int_equal(stale_after(a, host.key.group, host.incarnation), 0);
    assert_int_equal(stale_after(a, host.key.group, 0), 0);
    assert_int_equal(stale_after(a, TR_GROUP_HERE, 0), 0);
    assert_int_equal(stale_after(a, TR_GROUP_HERE, host.incarnation), 0);
    assert_int_equal(stale_after(a, host.key.group, host.incarnation + 1), 1);
    assert_int_equal(stale_after(a, host.key.group ^ 1, host.incarnation), 1);
    assert_int_equal(stale_after(a, host.key.group ^ 1, 0), 1);
    assert_int_equal(stale_after(a, TR_GROUP_HOST_BIT, host.incarnation), 1);
    assert_int_equal(stale_after(a, TR_GROUP_HERE, host.incarnation + 1), 1);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes_keep_their_order_between_workers),
        cmocka_unit_test(test_a_dead_actor_makes_a_dead_letter),
        cmocka_unit_test(test_an_incarnation_that_is_gone_is_named),
        cmocka_unit_test(test_a_serial_not_spawned_yet_waits_for_its_spawn),
        cmocka_unit_test(test_messages_to_actors_not_spawned_have_a_limit),
        cmocka_unit_test(test_a_full_mailbox_mutes_its_sender_until_it_is_half_empty),
        cmocka_unit_test(test_an_overloaded_actor_is_never_muted_itself),
        cmocka_unit_test(test_a_sender_is_let_go_when_the_full_mailbox_ends),
        cmocka_unit_test(test_a_mailbox_at_its_hard_limit_refuses_all_but_answers),
        cmocka_unit_test(test_a_question_that_overflows_is_answered_so),
        cmocka_unit_test(test_a_full_pipe_keeps_what_was_said_in_order),
        cmocka_unit_test(test_a_message_that_went_round_too_often_is_named),
        cmocka_unit_test(test_a_service_that_is_none_is_named),
        cmocka_unit_test(test_what_is_for_another_start_of_a_host_is_refused),
    };
    return cmocka_run_group_tests_name("deliver", tests, NULL, NULL);
}
