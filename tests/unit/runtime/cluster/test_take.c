/*
 * A host that runs takes the partition of a lost one over: everything that was said arrives once
 * and in order, before, across and behind that, between groups that are neighbours from then on,
 * too; and what the lost host has left in the middle comes to its end.
 */
#include "runtime/host/take.h"
#include "tests/support/draw.h"
#include "tests/unit/runtime/cluster/crossing.h"

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

SCRIPT(tell_note)
{
    UNUSED(message, fake);
    return tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){act->number});
}

SCRIPT(tell_three)
{
    UNUSED(message, fake);
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < 3; i++) {
        error = tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){act->number + i});
    }
    return error;
}

/* More than may be unacknowledged, so that some wait behind the window. */
#define MANY (2 * TR_INTERHOST_WINDOW)

SCRIPT(tell_many)
{
    UNUSED(message, fake);
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < MANY; i++) {
        error = tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){act->number + i});
    }
    return error;
}

SCRIPT(ask)
{
    UNUSED(message, fake);
    return tr_ask(context, act->peer, &tr_question_schema, &(struct tr_question){act->number}, 0,
                  NULL);
}

SCRIPT(watch)
{
    UNUSED(message, fake, act);
    return tr_monitor(context, act->peer, NULL);
}

SCRIPT(stop)
{
    UNUSED(message, fake, act);
    return tr_stop(context);
}

SCRIPT(spawn_child)
{
    UNUSED(message, act);
    return tr_spawn(context, &fake_actor_behaviour, NULL, &fake->peer);
}

SCRIPT(start_timer)
{
    UNUSED(message, fake);
    return tr_timer_start(context, 7, act->number);
}

SCRIPT(call_outside)
{
    UNUSED(message, fake, act);
    return tr_call(context, TR_SERVICE_CONTROL, &tr_question_schema,
                   &(struct tr_question){.number = 1}, 100000, &fake->ask);
}

static uint32_t carry_nothing(uint32_t from, struct tr_bytes message)
{
    UNUSED(&from, &message);
    return 0;
}

/* Host 0 stays and host 1 is lost; an actor of each. */
static struct tr_ref one;
static struct tr_ref other;
static struct stage *here;

static void begin(uint32_t workers)
{
    crossing_open(workers);
    one = crossing_fake(0);
    other = crossing_fake(1);
    here = &crossing.hosts[0].stage;
    crossing_run();
}

/* Whether a fake actor heard exactly the notes from 1 on, in order. */
static void assert_heard_notes(struct tr_ref fake, uint64_t count)
{
    uint64_t number = 0;
    for (size_t i = 0; i < fake_actor_heard_count; i++) {
        const struct heard *heard = &fake_actor_heard[i];
        if (heard->type == tr_note_schema.id && tr_key_equal(heard->self.key, fake.key)) {
            assert_int_equal(heard->number, ++number);
        }
    }
    assert_int_equal(number, count);
}

/* ---- What is said. --------------------------------------------------------------------------- */

static void what_was_kept_for_it_comes_first(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        begin(workers);
        crossing.copies = carry_nothing;
        crossing_act(one, tell_three, 1, other);
        crossing.copies = NULL;
        crossing_take(1);
        fake_actor_act(here, one, tell_three, 4, other); /* not carried yet, too */
        crossing_run();
        assert_heard_notes(other, 6);
        crossing_act(one, tell_three, 7, other);
        assert_heard_notes(other, 9);
        crossing_close();
    }
}

static void what_it_had_kept_comes_first(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        begin(workers);
        crossing.copies = carry_nothing;
        crossing_act(other, tell_three, 1, one);
        crossing.copies = NULL;
        crossing_take(1);
        fake_actor_act(here, other, tell_three, 4, one);
        crossing_run();
        assert_heard_notes(one, 6);
        crossing_close();
    }
}

/* Says it in the middle of all: nothing has happened yet when this returns. */
static void say_soon(struct tr_ref from, fake_actor_script script, uint64_t number,
                     struct tr_ref to)
{
    struct tr_act act = {.script = (uint64_t)(uintptr_t)script, .number = number, .peer = to};
    stage_tell(crossing_stage(from), from, &tr_act_schema, &act);
}

static void say_more(void)
{
    say_soon(one, tell_three, MANY + 1, other);
    say_soon(other, tell_three, MANY + 1, one); /* it is not opened yet */
}

static void what_waits_behind_the_window_comes_first(void **state)
{
    (void)state;
    begin(2);
    crossing.copies = carry_nothing;
    crossing_act(one, tell_many, 1, other);
    crossing_act(other, tell_many, 1, one);
    crossing.copies = NULL;
    crossing.at_change = say_more;
    crossing_take(1);
    crossing_advance(1000);
    assert_heard_notes(other, MANY + 3);
    assert_heard_notes(one, MANY + 3);
    crossing_close();
}

/* What the lost host had sent and not handled lies in the store. */
static void what_was_on_its_way_comes_first(void **state)
{
    (void)state;
    begin(2);
    struct stage *lost = &crossing.hosts[1].stage;
    struct tr_ref third = crossing_fake(1);
    stage_run(lost);
    uint32_t home = stage_home(lost, other)->index;
    assert_int_not_equal(stage_home(lost, third)->index, home);
    lost->worker_sleeps[home] = true;
    fake_actor_act(lost, third, tell_three, 1, other);
    assert_heard_notes(other, 0);
    crossing_take(1);
    fake_actor_act(here, third, tell_three, 4, other);
    assert_heard_notes(other, 6);
    crossing_close();
}

/* A copy of what the lost host has sent comes late. */
static void what_the_lost_host_has_sent_is_refused(void **state)
{
    (void)state;
    begin(2);
    crossing.copies = crossing_keep;
    crossing_act(other, tell_three, 1, one);
    crossing.copies = NULL;
    crossing_take(1);
    crossing_run();
    assert_heard_notes(one, 3);
    for (size_t i = 0; i < crossing_kept_count; i++) {
        crossing_bring(0, (struct tr_bytes){crossing_kept[i].data, crossing_kept[i].size});
    }
    crossing_run();
    assert_heard_notes(one, 3);
    crossing_act(other, tell_three, 4, one);
    assert_heard_notes(one, 6);
    crossing_close();
}

/* The next start of the host has both partitions, and what they kept for each other. */
static void a_start_knows_who_are_neighbours(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        begin(workers);
        crossing_take(1);
        crossing_run();
        crossing.copies = carry_nothing;
        crossing_act(one, tell_three, 1, other);
        crossing_act(other, tell_three, 1, one);
        crossing_crash(0);
        fake_actor_act(here, one, tell_three, 4, other);
        fake_actor_act(here, other, tell_three, 4, one);
        assert_heard_notes(other, 0);
        assert_heard_notes(one, 0);
        crossing.copies = NULL;
        crossing_advance(5000);
        assert_heard_notes(other, 6);
        assert_heard_notes(one, 6);
        crossing_close();
    }
}

/* When all streams have ended, and the host has started again, they speak directly. */
static void neighbours_without_a_stream_speak_directly(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, tell_note, 1, other);
    crossing_take(1);
    crossing_run();
    assert_true(stage_worker(here, 0)->has_neighbours);
    crossing_advance(3 * TR_INTERHOST_IDLE_MS);
    crossing_crash(0);
    assert_false(stage_worker(here, 0)->has_neighbours);
    crossing.copies = carry_nothing;
    crossing_act(one, tell_note, 2, other);
    assert_heard_notes(other, 2);
    crossing_close();
}

/* ---- What others wait for. ------------------------------------------------------------------- */

static void who_waits_for_it_is_told_that_it_was_lost(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, watch, 0, other);
    crossing.copies = carry_nothing;
    crossing_act(one, ask, 4, other);
    crossing_act(other, ask, 5, one);
    crossing.copies = NULL;
    crossing_take(1);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 1);
    assert_int_equal(fake_actor_heard_last(one, &tr_down_schema)->reason, TR_NO_CONNECTION);
    assert_int_equal(fake_actor_heard_times(one, &tr_ask_failed_schema), 1);
    assert_int_equal(fake_actor_heard_last(one, &tr_ask_failed_schema)->reason, TR_NO_CONNECTION);
    assert_int_equal(fake_actor_heard_times(other, &tr_ask_failed_schema), 1);
    assert_int_equal(fake_actor_heard_times(other, &tr_question_schema), 1);
    crossing_act(one, watch, 0, other);
    crossing_act(other, tell_note, 1, one);
    crossing_act(other, stop, 0, one);
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 2);
    assert_int_equal(fake_actor_heard_last(one, &tr_down_schema)->reason, 0);
    crossing_close();
}

static void what_the_lost_host_has_begun_comes_to_its_end(void **state)
{
    (void)state;
    begin(2);
    struct stage *lost = &crossing.hosts[1].stage;
    crossing_act(other, start_timer, 500, one);
    crossing_act(other, call_outside, 0, one);
    crossing_act(other, spawn_child, 0, one);
    struct tr_ref child = fake_actor_state(lost, other)->peer;
    crossing_take(1);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(other, &tr_ask_failed_schema), 1);
    assert_int_equal(fake_actor_heard_last(other, &tr_ask_failed_schema)->reason, TR_NO_CONNECTION);
    assert_int_equal(fake_actor_heard_times(other, &tr_timer_schema), 0);
    crossing_advance(600);
    assert_int_equal(fake_actor_heard_times(other, &tr_timer_schema), 1);
    crossing_act(other, tell_note, 1, child);
    assert_heard_notes(child, 1);
    crossing_act(other, spawn_child, 0, one); /* with a number of its own */
    assert_false(tr_key_equal(fake_actor_state(here, other)->peer.key, child.key));
    crossing_act(other, stop, 0, one);
    assert_null(stage_actor(here, child));
    crossing_close();
}

/* What acts at once was not in a mailbox either: a monitor is there before its actor runs. */
static void a_monitor_on_its_way_is_there(void **state)
{
    (void)state;
    begin(2);
    struct stage *lost = &crossing.hosts[1].stage;
    struct tr_ref third = crossing_fake(1);
    stage_run(lost);
    lost->worker_sleeps[stage_home(lost, other)->index] = true;
    fake_actor_act(lost, third, watch, 0, other);
    crossing_take(1);
    crossing_act(other, stop, 0, one);
    assert_int_equal(fake_actor_heard_times(third, &tr_down_schema), 1);
    assert_int_equal(fake_actor_heard_last(third, &tr_down_schema)->reason, 0);
    crossing_close();
}

/* ---- What is left. --------------------------------------------------------------------------- */

static void spoil(const struct tri_op *op)
{
    struct crossing_host *lost = &crossing.hosts[1];
    const struct tri_commit commit = {
        .ops = op, .count = 1, .last_number = lost->store->last_number};
    assert_int_equal(tri_store_commit(lost->store, &commit), 0);
}

static void orphans_end_and_empty_groups_go(void **state)
{
    (void)state;
    begin(2);
    struct stage *lost = &crossing.hosts[1].stage;
    crossing_act(other, spawn_child, 0, one);
    struct tr_ref child = fake_actor_state(lost, other)->peer;
    const struct tri_op root = {.kind = TRI_OP_DELETE_ACTOR, .key = other.key};
    const uint64_t empty = tri_partition_origin(2) | 0x777770;
    const struct tri_op counter = {.kind = TRI_OP_PUT_COUNTER, .key = {empty, 1}, .number = 9};
    spoil(&root);
    spoil(&counter);
    crossing_take(1);
    crossing_run();
    assert_null(stage_actor(here, child));
    for (uint32_t i = 0; i < 2; i++) {
        assert_null(tri_group_find(stage_worker(here, i), empty));
        assert_null(tri_group_find(stage_worker(here, i), other.key.group));
    }
    crossing_act(one, ask, 1, other);
    assert_int_equal(fake_actor_heard_last(one, &tr_ask_failed_schema)->reason, TR_NO_ACTOR);
    crossing_close();
}

static int prepare(const struct tr_host_view *view)
{
    struct tri_take *take = NULL;
    int error = tri_take_prepare(&here->host, view, crossing.hosts[1].store, &take);
    assert_null(take);
    return error;
}

static void refuses_what_cannot_be_taken(void **state)
{
    (void)state;
    static const uint16_t gets[] = {0, 1, 1};
    static const uint16_t loses[] = {0, 2, 1};
    static const uint16_t unknown[] = {0, 1, 9};
    static const uint16_t same[] = {0, 1, 2};
    begin(2);
    assert_int_equal(prepare(&(struct tr_host_view){.view = 1, .hosts = loses, .count = 3}),
                     TR_INVALID);
    assert_int_equal(prepare(&(struct tr_host_view){.view = 1, .hosts = unknown, .count = 3}),
                     TR_NOT_FOUND);
    assert_int_equal(prepare(&(struct tr_host_view){.view = 0, .hosts = gets, .count = 3}),
                     TR_EXISTS);
    assert_int_equal(
        prepare(&(struct tr_host_view){.view = 1, .hosts = gets, .count = TR_PARTITIONS_MAX + 1}),
        TR_INVALID);
    assert_int_equal(prepare(&(struct tr_host_view){.view = 1, .hosts = same, .count = 3}), 0);
    const struct tri_op page = {.kind = TRI_OP_PUT_PAGE,
                                .key = other.key,
                                .number = TR_PAGES_MAX,
                                .data = {.data = (const uint8_t *)"x", .size = 1}};
    spoil(&page);
    assert_int_equal(prepare(&(struct tr_host_view){.view = 1, .hosts = gets, .count = 3}),
                     TR_STORE_DAMAGED);
    crossing_run();
    crossing_close();
}

/* ---- By chance. ------------------------------------------------------------------------------ */

#define ACTORS 6 /* the even ones are of host 0 */
#define ROUNDS 60
#define SEEDS 200

static struct tr_ref actors[ACTORS];
static uint64_t sent[ACTORS][ACTORS];
static struct draw chance;

/* Of three that leave a host one gets lost; sessions would say so, and their link is down. */
static uint32_t lose_some(uint32_t from, struct tr_bytes message)
{
    UNUSED(&from, &message);
    return draw_below(&chance, 3) == 0 ? 0 : 1;
}

static size_t index_of(struct tr_ref actor)
{
    size_t i = 0;
    while (i < ACTORS && !tr_key_equal(actors[i].key, actor.key)) {
        i++;
    }
    assert_true(i < ACTORS);
    return i;
}

/* Each has heard of each other one a first part of all, in order; all of it at the end. */
static void check_heard(bool is_all)
{
    uint64_t heard[ACTORS][ACTORS] = {{0}};
    for (size_t i = 0; i < fake_actor_heard_count; i++) {
        if (fake_actor_heard[i].type == tr_note_schema.id) {
            size_t from = index_of(fake_actor_heard[i].from);
            size_t to = index_of(fake_actor_heard[i].self);
            assert_int_equal(fake_actor_heard[i].number, ++heard[from][to]);
        }
    }
    for (size_t i = 0; is_all && i < ACTORS * ACTORS; i++) {
        assert_int_equal(heard[i / ACTORS][i % ACTORS], sent[i / ACTORS][i % ACTORS]);
    }
}

static void say_something(void)
{
    size_t from = (size_t)draw_below(&chance, ACTORS);
    size_t to = (size_t)draw_below(&chance, ACTORS);
    uint64_t first = sent[from][to] + 1;
    sent[from][to] += 3;
    fake_actor_act(crossing_stage(actors[from]), actors[from], tell_three, first, actors[to]);
}

static void say_some_soon(void)
{
    for (int i = 0; i < 4; i++) {
        size_t from = 2 * (size_t)draw_below(&chance, ACTORS / 2); /* who runs already */
        size_t to = (size_t)draw_below(&chance, ACTORS);
        say_soon(actors[from], tell_three, sent[from][to] + 1, actors[to]);
        sent[from][to] += 3;
    }
}

static void move_something(void)
{
    struct tr_ref actor = actors[draw_below(&chance, ACTORS)];
    struct stage *stage = crossing_stage(actor);
    stage_move(stage, actor, (uint32_t)draw_below(&chance, crossing.workers));
}

static void do_something(void)
{
    switch (draw_below(&chance, 8)) {
    case 0:
        crossing.copies = draw_below(&chance, 2) == 0 ? NULL : lose_some;
        break;
    case 1:
        move_something();
        break;
    case 2:
        crossing_run();
        break;
    case 3:
        if (draw_below(&chance, 4) == 0) {
            crossing_crash((uint32_t)draw_below(&chance, 2) & !crossing.hosts[1].is_gone);
            crossing_link(0, true);
            if (!crossing.hosts[1].is_gone) {
                crossing_link(1, true);
            }
        }
        break;
    default:
        say_something();
    }
}

static void play(uint64_t seed)
{
    chance = (struct draw){.state = seed};
    memset(sent, 0, sizeof sent);
    crossing_open(1 + (uint32_t)draw_below(&chance, 3));
    for (size_t i = 0; i < ACTORS; i++) {
        actors[i] = crossing_fake(i % 2);
    }
    crossing_run();
    crossing.at_change = say_some_soon;
    uint64_t taken_at = 10 + draw_below(&chance, ROUNDS / 2);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        do_something();
        if (round == taken_at) {
            crossing_take(1);
        }
    }
    check_heard(false);
    crossing.copies = NULL;
    crossing_advance(130000);
    check_heard(true);
    crossing_close();
}

static void says_each_thing_once_and_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_kept_for_it_comes_first),
        cmocka_unit_test(what_it_had_kept_comes_first),
        cmocka_unit_test(what_waits_behind_the_window_comes_first),
        cmocka_unit_test(what_was_on_its_way_comes_first),
        cmocka_unit_test(what_the_lost_host_has_sent_is_refused),
        cmocka_unit_test(a_start_knows_who_are_neighbours),
        cmocka_unit_test(neighbours_without_a_stream_speak_directly),
        cmocka_unit_test(who_waits_for_it_is_told_that_it_was_lost),
        cmocka_unit_test(what_the_lost_host_has_begun_comes_to_its_end),
        cmocka_unit_test(a_monitor_on_its_way_is_there),
        cmocka_unit_test(orphans_end_and_empty_groups_go),
        cmocka_unit_test(refuses_what_cannot_be_taken),
        cmocka_unit_test(says_each_thing_once_and_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
