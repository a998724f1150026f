/*
 * Moves of live actors: nothing is lost, doubled or reordered, whatever happens meanwhile; and the
 * wishes that cannot be granted are answered.
 */
#include "runtime/move/move.h"
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

SCRIPT(stop)
{
    UNUSED(fake, act, message);
    return tr_stop(context);
}

SCRIPT(spawn_child)
{
    UNUSED(act, message);
    struct tr_spawn_options options = {.is_watched = true};
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

SCRIPT(tell_notes)
{
    UNUSED(message);
    for (int i = 0; i < 10; i++) {
        int error = tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){fake->number++});
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* Everything that an actor has, of each kind. */
SCRIPT(gather_things)
{
    UNUSED(message);
    void *bytes;
    int error = tr_page_edit(context, 2, 300, &bytes);
    if (error == 0) {
        memset(bytes, 'p', 300);
        fake->number = 77;
        error = tr_timer_start(context, 3, 40);
    }
    if (error == 0) {
        error = tr_monitor(context, act->peer, &fake->monitor);
    }
    if (error == 0) {
        error = tr_ask(context, act->peer, &tr_act_schema, &(struct tr_act){0}, 60, &fake->ask);
    }
    return error;
}

static void test_an_actor_takes_all_it_has_along(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_spawn_options options = {.name = tr_text_of("traveller")};
    struct tr_ref a = stage_spawn(&stage, &fake_actor_behaviour, &options);
    struct tr_ref b = fake();
    tri_actor_quarantine(stage_home(&stage, b), stage_actor(&stage, b)); /* it will not answer */
    fake_actor_act(&stage, a, gather_things, 0, b);
    stage_move(&stage, a, 1);
    assert_ptr_equal(stage_home(&stage, a), stage_worker(&stage, 1));
    assert_int_equal(fake_actor_state(&stage, a)->number, 77);
    assert_int_equal(stage_gauge(&stage, 0), 2);
    assert_int_equal(stage_gauge(&stage, 1), 77);
    assert_int_equal(stage_worker(&stage, 0)->gauges[1], 0);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 2).size, 300);
    struct tr_ref found = nobody;
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/traveller"), &found), 0);
    assert_true(tr_key_equal(found.key, a.key));
    stage_advance(&stage, 100);
    assert_int_equal(fake_actor_heard_last(a, &tr_timer_schema)->number, 3);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_TIMEOUT);
    tri_actor_end(stage_home(&stage, b), stage_actor(&stage, b), TR_KILLED);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 1);
    assert_int_equal(stage_gauge(&stage, 0), 1); /* who has ended counts no more */
    assert_int_equal(stage_metric(&stage, actors_moved_out), 1);
    assert_int_equal(stage_metric(&stage, actors_moved_in), 1);
    stage_close(&stage);
}

/* Senders on all workers, moves at any moment: every pair keeps its order. */
static void test_order_is_kept_while_an_actor_moves(void **state)
{
    (void)state;
    enum { SENDERS = 3, ROUNDS = 200 };
    open_stage(3);
    struct tr_ref senders[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = fake();
    }
    struct tr_ref a = fake();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct tr_act act = {.script = (uint64_t)(uintptr_t)tell_notes, .peer = a};
        stage_tell(&stage, senders[round % SENDERS], &tr_act_schema, &act);
        struct tr_move_ask ask = {.actor = a.key, .to_worker = round % 3};
        struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = {{0, TR_SERVICE_WORKERS}, 0}};
        stage_send(&stage, 0, &heading, &tr_move_ask_schema, &ask);
        stage.worker_sleeps[round % 2] = round % 5 < 2;
        (void)stage_step(&stage);
    }
    memset(stage.worker_sleeps, 0, sizeof stage.worker_sleeps);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), ROUNDS * 10);
    uint64_t next[SENDERS] = {0};
    for (size_t i = 0; i < fake_actor_heard_count; i++) {
        int sender = 0;
        while (!tr_key_equal(senders[sender].key, fake_actor_heard[i].from.key)) {
            sender++;
        }
        assert_int_equal(fake_actor_heard[i].number, next[sender]++);
    }
    assert_true(stage_metric(&stage, actors_moved_in) > ROUNDS / 2);
    assert_int_equal(stage_metric(&stage, dead_letters), 0);
    stage_close(&stage);
}

/* Whatever steps of a move have been made when the search begins, and between its questions. */
static void test_an_actor_is_found_while_it_moves(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    open_stage(3);
    struct tr_spawn_options options = {.name = tr_text_of("traveller")};
    struct tr_ref a = stage_spawn(&stage, &fake_actor_behaviour, &options);
    for (uint32_t round = 0; round < 6 * STEPS; round++) {
        struct tr_move_ask ask = {.actor = a.key, .to_worker = round * 2 % 3};
        struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = {{0, TR_SERVICE_WORKERS}, 0}};
        struct tr_ref found = nobody;
        stage_send(&stage, 0, &heading, &tr_move_ask_schema, &ask);
        for (uint32_t step = 0; step < round / 6; step++) {
            (void)stage_step(&stage);
        }
        assert_int_equal(tr_host_find(&stage.host, tr_text_of("/traveller"), &found), 0);
        assert_true(tr_key_equal(found.key, a.key));
        stage_run(&stage);
        assert_ptr_equal(stage_home(&stage, a), stage_worker(&stage, round * 2 % 3));
    }
    struct tr_ref other = nobody;
    assert_int_equal(tr_host_find(&stage.host, tr_text_of("/other"), &other), TR_NOT_FOUND);
    stage_close(&stage);
}

static void test_wishes_that_cannot_be_granted_are_answered(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_host *host = &stage.host;
    assert_int_equal(tr_host_move(host, a, 2), TR_INVALID);
    assert_int_equal(tr_host_move(host, (struct tr_ref){{0, 1}, 0}, 1), TR_INVALID);
    assert_int_equal(tr_host_move(host, tr_host_self(host), 1), TR_INVALID);
    assert_int_equal(tr_host_move(host, a, 0), 0); /* it is there */
    fake_actor_act(&stage, a, stop, 0, nobody);
    assert_int_equal(tr_host_move(host, a, 1), TR_NO_ACTOR);
    stage_close(&stage);
}

static void test_moves_that_wait_have_a_limit(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    stage.worker_sleeps[1] = true; /* the first move hangs */
    struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = {{0, TR_SERVICE_WORKERS}, 0}};
    for (int i = 0; i < TR_MOVES_WAITING_MAX; i++) {
        struct tr_move_ask ask = {.actor = a.key, .to_worker = 1};
        stage_send(&stage, 0, &heading, &tr_move_ask_schema, &ask);
    }
    stage_run(&stage);
    assert_int_equal(tr_host_move(&stage.host, a, 1), TR_BUSY);
    stage.worker_sleeps[1] = false;
    stage_run(&stage);
    assert_int_equal(stage_metric(&stage, actors_moved_in), 1);
    stage_close(&stage);
}

/* A quarantined, a backing-off and an overloaded actor stay what they are. */
static void test_an_actor_stays_what_it_is(void **state)
{
    (void)state;
    open_stage(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    tri_actor_quarantine(stage_home(&stage, a), stage_actor(&stage, a));
    for (int i = 0; i < TR_MAILBOX_SOFT_MAX / 10 + 1; i++) {
        fake_actor_act(&stage, b, tell_notes, 0, a);
    }
    assert_int_equal(stage_actor(&stage, b)->muted_by, 1);
    stage_move(&stage, a, 1);
    stage_move(&stage, b, 0);
    struct tri_actor *moved = stage_actor(&stage, a);
    assert_int_equal(moved->phase, TRI_QUARANTINED);
    assert_true((moved->flags & TRI_ACTOR_OVERLOADED) != 0);
    assert_int_equal(stage_actor(&stage, b)->muted_by, 1); /* it goes on waiting */
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(stage_actor(&stage, b)->muted_by, 0);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema),
                     (TR_MAILBOX_SOFT_MAX / 10 + 1) * 10);
    stage_close(&stage);
}

/* The news of its parent's end overtakes a child that is on its way. */
static void test_a_child_on_its_way_ends_with_its_parent(void **state)
{
    (void)state;
    open_stage(3);
    struct tr_ref parent = fake();
    fake_actor_act(&stage, parent, spawn_child, 0, nobody);
    struct tr_ref child = fake_actor_state(&stage, parent)->peer;
    stage_move(&stage, child, 1);
    struct tr_move_ask ask = {.actor = child.key, .to_worker = 2};
    struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = {{0, TR_SERVICE_WORKERS}, 0}};
    stage.worker_sleeps[1] = true;
    stage_send(&stage, 0, &heading, &tr_move_ask_schema, &ask);
    stage_run(&stage); /* worker 1 is told to freeze the child, and sleeps */
    fake_actor_act(&stage, parent, stop, 0, nobody);
    stage.worker_sleeps[1] = false;
    stage_run(&stage);
    assert_int_equal(stage_actor_count(&stage), 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(stage_worker(&stage, i)->routes.count, 0);
    }
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_actor_takes_all_it_has_along),
        cmocka_unit_test(test_order_is_kept_while_an_actor_moves),
        cmocka_unit_test(test_an_actor_is_found_while_it_moves),
        cmocka_unit_test(test_wishes_that_cannot_be_granted_are_answered),
        cmocka_unit_test(test_moves_that_wait_have_a_limit),
        cmocka_unit_test(test_an_actor_stays_what_it_is),
        cmocka_unit_test(test_a_child_on_its_way_ends_with_its_parent),
    };
    return cmocka_run_group_tests_name("move", tests, NULL, NULL);
}
