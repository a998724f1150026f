/*
 * What goes from a group on one host to a group on another: each message once and in order,
 * whatever becomes of what carries it and whichever side crashes; and what actors hear of links
 * that are down.
 */
#include "tests/unit/runtime/cluster/crossing.h"

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

/* Tells the peer as many notes as wanted, numbered on from those before. */
SCRIPT(tell_notes)
{
    UNUSED(message);
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < act->number; i++) {
        struct tr_note note = {.number = ++fake->number};
        error = tr_tell(context, act->peer, &tr_note_schema, &note);
    }
    return error;
}

SCRIPT(tell_hint)
{
    UNUSED(message, fake);
    return tr_tell(context, act->peer, &tr_hinted_schema, &(struct tr_hinted){act->number});
}

SCRIPT(tell_parcel)
{
    UNUSED(message, fake);
    uint8_t *content = tr_alloc_zero(1, act->number);
    struct tr_parcel parcel = {.content = {.data = content, .size = act->number}};
    int error = tr_tell(context, act->peer, &tr_parcel_schema, &parcel);
    tr_free(content);
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

SCRIPT(watch_often)
{
    UNUSED(message, fake);
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < act->number; i++) {
        error = tr_monitor(context, act->peer, NULL);
    }
    return error;
}

SCRIPT(stop)
{
    UNUSED(message, fake, act);
    return tr_stop(context);
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

static uint32_t carry_twice(uint32_t from, struct tr_bytes message)
{
    UNUSED(&from, &message);
    return 2;
}

static uint32_t carry_nothing(uint32_t from, struct tr_bytes message)
{
    UNUSED(&from, &message);
    return 0;
}

/* What the second host says is lost: acknowledgements, above all. */
static uint32_t carry_one_way(uint32_t from, struct tr_bytes message)
{
    UNUSED(&message);
    return from == 0 ? 1 : 0;
}

static struct tr_ref one;
static struct tr_ref other;

static void begin(uint32_t workers)
{
    crossing_open(workers);
    one = crossing_fake(0);
    other = crossing_fake(1);
}

#define here (&crossing.hosts[0].stage)
#define there (&crossing.hosts[1].stage)

static void keeps_the_order(void **state)
{
    (void)state;
    begin(3);
    crossing_act(one, tell_notes, 20, other);
    assert_heard_notes(other, 20);
    crossing_act(one, tell_parcel, 300000, other);
    crossing_act(one, tell_notes, 1, other);
    assert_heard_notes(other, 21);
    assert_int_equal(stage_dead_letters(there, TR_UNKNOWN_TYPE), 1); /* the parcel, whole */
    assert_int_equal(stage_metric(here, interhost_again), 0);
    crossing_close();
}

static void applies_what_comes_twice_once(void **state)
{
    (void)state;
    begin(2);
    crossing.copies = carry_twice;
    crossing_act(one, tell_notes, 5, other);
    assert_heard_notes(other, 5);
    assert_int_equal(stage_metric(there, interhost_duplicates), 5);
    crossing_close();
}

static void waits_for_the_number_before(void **state)
{
    (void)state;
    begin(1);
    crossing.copies = crossing_keep;
    crossing_act(one, tell_notes, 3, other);
    assert_int_equal(crossing_kept_count, 3);
    crossing.copies = carry_nothing;
    crossing_bring_kept(2);
    crossing_bring_kept(1);
    crossing_run();
    assert_heard_notes(other, 0);
    crossing_bring_kept(0);
    crossing_bring_kept(2);
    crossing_run();
    assert_heard_notes(other, 1);
    crossing_bring_kept(1);
    crossing_bring_kept(2);
    crossing_run();
    assert_heard_notes(other, 3);
    crossing_close();
}

static void sends_again_until_it_is_acknowledged(void **state)
{
    (void)state;
    begin(1);
    crossing.copies = carry_nothing;
    crossing_act(one, tell_notes, 2, other);
    crossing_advance(TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS);
    assert_heard_notes(other, 0);
    crossing.copies = carry_one_way;
    crossing_advance(2 * TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS); /* it doubles */
    assert_heard_notes(other, 2);
    uint64_t sent = stage_metric(here, interhost_again);
    crossing.copies = NULL;
    crossing_advance(4 * TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS);
    assert_true(stage_metric(here, interhost_again) > sent);
    sent = stage_metric(here, interhost_again);
    crossing_advance(TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS);
    assert_int_equal(stage_metric(here, interhost_again), sent);
    assert_heard_notes(other, 2);
    crossing_close();
}

static void sends_again_when_the_link_comes_up(void **state)
{
    (void)state;
    begin(2);
    crossing_link(0, false);
    crossing_act(one, tell_notes, 3, other);
    assert_heard_notes(other, 0);
    crossing_link(0, true);
    crossing_run();
    assert_heard_notes(other, 3);
    crossing_close();
}

static void leaves_and_acknowledges_only_what_is_committed(void **state)
{
    (void)state;
    begin(1);
    here->journal_sleeps = true;
    crossing_act(one, tell_notes, 1, other);
    assert_heard_notes(other, 0);
    here->journal_sleeps = false;
    there->journal_sleeps = true;
    crossing_run();
    assert_heard_notes(other, 1);
    size_t size;
    assert_null(stage_receive(there, TRI_PLACE_INTERHOST, &size));
    there->journal_sleeps = false;
    crossing.copies = crossing_keep;
    crossing_run();
    assert_int_equal(crossing_kept_count, 1);
    assert_int_equal(tr_envelope_get(crossing_kept[0].data, 16, type), tr_interhost_ack_schema.id);
    crossing_close();
}

static void goes_on_after_a_crash_of_the_sender(void **state)
{
    (void)state;
    begin(2);
    crossing.copies = carry_nothing;
    crossing_act(one, tell_notes, 3, other);
    crossing_crash(0);
    crossing.copies = NULL;
    crossing_link(0, true);
    crossing_run();
    assert_heard_notes(other, 3);
    crossing_act(one, tell_notes, 2, other);
    assert_heard_notes(other, 5);
    crossing_close();
}

static void goes_on_after_a_crash_of_the_receiver(void **state)
{
    (void)state;
    begin(2);
    crossing.copies = carry_one_way; /* applied and committed, and nobody hears of it */
    crossing_act(one, tell_notes, 3, other);
    crossing_crash(1);
    crossing.copies = NULL;
    crossing_link(1, true);
    crossing_link(0, false);
    crossing_link(0, true);
    crossing_run();
    assert_heard_notes(other, 3);
    assert_true(stage_metric(there, interhost_duplicates) > 0);
    there->journal_sleeps = true; /* applied, and forgotten by the crash */
    crossing_act(one, tell_notes, 1, other);
    crossing_crash(1);
    fake_actor_forget();
    crossing_link(1, true);
    crossing_advance(TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS);
    assert_int_equal(fake_actor_heard_last(other, &tr_note_schema)->number, 4);
    assert_int_equal(fake_actor_heard_times(other, &tr_note_schema), 1);
    crossing_close();
}

static uint32_t carry_often(uint32_t from, struct tr_bytes message)
{
    UNUSED(&message);
    return from == 0 ? TR_MAILBOX_SOFT_MAX + 10 : 1;
}

/* The one that sends is muted by nobody: it would not hear that it may go on. */
static void goes_on_though_more_comes_than_a_mailbox_holds(void **state)
{
    (void)state;
    begin(1);
    crossing_act(one, tell_notes, 1, other);
    struct tri_actor *interhost = crossing_interhost(other);
    interhost->muted_by = 1; /* as by an actor that it gives more than it takes */
    crossing.copies = carry_often;
    crossing_act(one, tell_notes, 1, other);
    assert_true(interhost->mailbox_count > TR_MAILBOX_SOFT_MAX);
    crossing.copies = NULL;
    crossing_act(one, tell_notes, 1, other);
    interhost->muted_by = 0;
    tri_queue_push(stage_worker(there, 0), interhost);
    crossing_run();
    assert_int_equal(stage_metric(there, mutes), 0);
    crossing_act(one, tell_notes, 1, other);
    assert_heard_notes(other, 4);
    crossing_close();
}

static void holds_senders_back_when_the_window_is_full(void **state)
{
    (void)state;
    begin(2);
    crossing.copies = crossing_keep;
    crossing_act(one, tell_notes, TR_INTERHOST_WINDOW + 40, other);
    assert_int_equal(crossing_kept_count, TR_INTERHOST_WINDOW);
    assert_int_equal(stage_actor(here, one)->muted_by, 1);
    assert_int_equal(stage_metric(here, mutes), 1);
    fake_actor_act(here, one, tell_notes, 1, other);
    assert_int_equal(stage_actor(here, one)->mailbox_count, 1); /* it does not run */
    crossing.copies = NULL;
    for (size_t i = 0; i < TR_INTERHOST_WINDOW; i++) {
        crossing_bring_kept(i);
    }
    crossing_run();
    assert_int_equal(stage_actor(here, one)->muted_by, 0);
    assert_heard_notes(other, TR_INTERHOST_WINDOW + 41);
    crossing_close();
}

static void refuses_what_it_cannot_keep(void **state)
{
    (void)state;
    begin(1);
    crossing_link(0, false);
    crossing_act(one, tell_notes, TR_INTERHOST_KEPT_MAX + 7, other);
    assert_int_equal(stage_dead_letters(here, TR_OVERFLOW), 7);
    crossing_link(0, true);
    crossing_run();
    assert_heard_notes(other, TR_INTERHOST_KEPT_MAX);
    crossing_close();
}

static void loses_hints_only_with_the_link(void **state)
{
    (void)state;
    begin(1);
    crossing_act(one, tell_hint, 1, other);
    assert_int_equal(fake_actor_heard_times(other, &tr_hinted_schema), 1);
    assert_null(crossing_interhost(one)); /* nothing of it was kept */
    crossing_link(0, false);
    crossing_act(one, tell_hint, 2, other);
    assert_int_equal(stage_dead_letters(here, TR_NO_CONNECTION), 1);
    crossing_link(0, true);
    crossing.copies = carry_nothing;
    crossing_act(one, tell_notes, TR_INTERHOST_WINDOW + 1, other);
    crossing_act(one, tell_hint, 3, other); /* behind what waits it keeps its place */
    crossing.copies = NULL;
    crossing_advance(TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS);
    assert_heard_notes(other, TR_INTERHOST_WINDOW + 1);
    assert_int_equal(fake_actor_heard_last(other, &tr_hinted_schema)->number, 3);
    assert_int_equal(fake_actor_heard[fake_actor_heard_count - 1].type, tr_hinted_schema.id);
    crossing_close();
}

static const struct tr_interhost_ack *last_ack(void)
{
    static struct tr_interhost_ack ack;
    const struct crossing_kept *kept = &crossing_kept[crossing_kept_count - 1];
    assert_int_equal(tr_envelope_get(kept->data, 16, type), tr_interhost_ack_schema.id);
    assert_int_equal(tr_interhost_ack_unpack(tr_envelope_body(kept->data), 1, &ack), 0);
    return &ack;
}

static void answers_an_old_epoch(void **state)
{
    (void)state;
    begin(1);
    crossing.copies = crossing_keep;
    crossing_act(one, tell_notes, 2, other);
    crossing_set_epoch(stage_worker(here, 0), one.key.group, 2); /* it has moved in, say */
    crossing.copies = NULL;
    crossing_advance(TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS);
    assert_heard_notes(other, 2);
    crossing.copies = crossing_keep;
    crossing_bring_kept(1); /* said in epoch 1 */
    crossing_run();
    assert_int_equal(-(int)last_ack()->reason, TR_STALE_EPOCH);
    assert_int_equal(last_ack()->epoch, 2);
    assert_int_equal(last_ack()->refused_epoch, 1);
    assert_int_equal(stage_metric(there, interhost_stale), 1);
    assert_heard_notes(other, 2);
    crossing_close();
}

static void gives_up_a_group_that_it_has_lost(void **state)
{
    (void)state;
    begin(1);
    crossing_set_epoch(stage_worker(here, 0), one.key.group, 2);
    crossing_act(one, tell_notes, 1, other);
    crossing_set_epoch(stage_worker(here, 0), one.key.group, 1); /* the host that lost it */
    crossing_act(one, tell_notes, 1, other);
    assert_heard_notes(other, 1);
    assert_int_equal(stage_dead_letters(here, TR_STALE_EPOCH), 1);
    crossing_close();
}

/* Also what waited for the window and had not left: those who say more are not held back by it. */
static void gives_up_what_waited_for_the_window(void **state)
{
    (void)state;
    uint64_t count = TR_INTERHOST_WINDOW + 1;
    begin(1);
    crossing_set_epoch(stage_worker(here, 0), one.key.group, 2);
    crossing_act(one, tell_notes, 1, other);
    crossing_set_epoch(stage_worker(here, 0), one.key.group, 1);
    crossing_act(one, tell_notes, count, other);
    assert_int_equal(stage_dead_letters(here, TR_STALE_EPOCH), count);
    crossing_act(one, tell_notes, 1, other); /* and no time passes */
    assert_int_equal(stage_dead_letters(here, TR_STALE_EPOCH), count + 1);
    crossing_close();
}

static void answers_an_old_start_of_a_host(void **state)
{
    (void)state;
    begin(1);
    crossing.copies = crossing_keep;
    crossing_act(one, tell_notes, 1, other);
    crossing_crash(0);
    crossing.copies = NULL;
    crossing_link(0, true);
    crossing_run();
    assert_heard_notes(other, 1);
    crossing.copies = crossing_keep;
    crossing_bring_kept(0);
    crossing_run();
    assert_int_equal(-(int)last_ack()->reason, TR_STALE_EPOCH);
    assert_int_equal(last_ack()->incarnation, 1);
    crossing.copies = NULL;
    crossing_bring_kept(crossing_kept_count - 1); /* what that start is told is no matter of this */
    crossing_act(one, tell_notes, 1, other);
    assert_heard_notes(other, 2);
    crossing_close();
}

static void keeps_the_epoch_as_long_as_the_group(void **state)
{
    (void)state;
    begin(2);
    struct tri_worker *home = stage_home(here, one);
    assert_int_equal(tri_group_epoch(home, one.key.group), 1);
    crossing_set_epoch(home, one.key.group, 7);
    crossing_act(one, tell_notes, 1, other);
    crossing_crash(0);
    assert_int_equal(tri_group_epoch(stage_home(here, one), one.key.group), 7);
    crossing_link(0, true);
    crossing_act(one, stop, 0, one);
    crossing_advance(2 * TR_INTERHOST_IDLE_MS);
    assert_int_equal(stage_actor_count(here), 0);
    crossing_crash(0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(stage_worker(here, i)->groups.count, 0);
    }
    crossing_close();
}

static void tells_who_waits_that_the_link_is_down(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, watch, 0, other);
    crossing.copies = carry_nothing;
    crossing_act(one, ask, 4, other);
    crossing_link(0, false);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 1);
    assert_int_equal(fake_actor_heard_last(one, &tr_down_schema)->reason, TR_NO_CONNECTION);
    assert_true(tr_key_equal(fake_actor_heard_last(one, &tr_down_schema)->about.key, other.key));
    assert_int_equal(fake_actor_heard_last(one, &tr_ask_failed_schema)->reason, TR_NO_CONNECTION);
    crossing.copies = NULL;
    crossing_link(0, true);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(other, &tr_question_schema), 1); /* it was kept */
    assert_int_equal(fake_actor_heard_times(one, &tr_answer_schema), 0);
    assert_int_equal(stage_dead_letters(here, TR_LATE_REPLY), 1);
    crossing_act(other, stop, 0, other);
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema),
                     1); /* nobody monitors any more */
    crossing_close();
}

static uint32_t count_edges(struct tr_ref fake, enum tri_edge_kind kind)
{
    struct tri_worker *worker = stage_home(crossing_stage(fake), fake);
    const struct tri_actor *actor = stage_actor(crossing_stage(fake), fake);
    uint32_t count = 0;
    const struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        count += edge->kind == kind;
    }
    return count;
}

/* Whoever monitors again after each of many links that were down is one, and not many. */
static void leaves_no_monitor_behind_a_link(void **state)
{
    (void)state;
    begin(2);
    for (uint32_t i = 0; i < 5; i++) {
        crossing_act(one, watch, 0, other);
        assert_int_equal(count_edges(other, TRI_EDGE_MONITORED), 1);
        crossing_link(0, false);
        crossing_run();
        assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), i + 1);
        crossing_link(0, true);
        crossing_run();
        assert_int_equal(count_edges(other, TRI_EDGE_MONITORED), 0);
    }
    crossing_crash(0);
    crossing_link(0, true);
    crossing_act(one, watch, 0, other);
    crossing_act(other, stop, 0, other);
    assert_int_equal(fake_actor_heard_last(one, &tr_down_schema)->reason, 0);
    crossing_close();
}

/* Each of thousands is told once, though what one is told is looked for among what waits. */
static void tells_thousands_of_monitors_once(void **state)
{
    (void)state;
    begin(1);
    for (uint32_t i = 0; i < 100; i++) {
        crossing_act(one, watch_often, 50, other);
    }
    assert_int_equal(count_edges(other, TRI_EDGE_MONITORED), 5000);
    crossing_link(0, false);
    crossing_run();
    crossing_link(0, false);
    crossing_run(); /* what it says of them waits for the link, and so does it */
    crossing_link(0, true);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 5000);
    assert_int_equal(count_edges(other, TRI_EDGE_MONITORED), 0);
    crossing_close();
}

static struct tr_interhost *interhost_state(struct tr_ref fake)
{
    return tri_actor_state(crossing_interhost(fake));
}

/* As if there were pairs with so many groups as there may be. */
static void waits_for_room_for_a_pair(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref third = crossing_fake(1);
    struct tr_ref fourth = crossing_fake(1);
    crossing_act(one, tell_notes, 1, other);
    interhost_state(one)->pairs += TR_INTERHOST_PEERS_MAX - 1;
    crossing_act(one, tell_notes, 2, third);
    crossing_act(one, tell_notes, 1, fourth); /* it is muted, and says this later */
    assert_int_equal(fake_actor_heard_times(third, &tr_note_schema), 0);
    assert_int_equal(stage_metric(here, interhost_waited), 2);
    assert_int_equal(stage_metric(here, mutes), 1);
    assert_int_equal(stage_dead_letters(here, TR_OVERFLOW), 0);
    crossing_crash(0);
    crossing_link(0, true);
    crossing_link(1, true);
    crossing_run(); /* it was muted by what had its mailbox, which now says the next one */
    assert_int_equal(fake_actor_heard_times(third, &tr_note_schema), 0);
    assert_int_equal(fake_actor_heard_times(fourth, &tr_note_schema), 0);
    interhost_state(one)->pairs -= TR_INTERHOST_PEERS_MAX - 1;
    crossing_advance(2 * TR_INTERHOST_IDLE_MS);
    assert_int_equal(fake_actor_heard_times(third, &tr_note_schema), 2);
    assert_int_equal(fake_actor_heard_last(third, &tr_note_schema)->number, 3);
    assert_int_equal(fake_actor_heard_times(fourth, &tr_note_schema), 1);
    crossing_advance(2 * TR_INTERHOST_IDLE_MS);
    assert_null(crossing_interhost(one));
    crossing_close();
}

/* The other store goes on with another host; what was sent to the one before is lost. */
static void goes_on_with_the_host_that_has_the_group_now(void **state)
{
    (void)state;
    begin(2);
    crossing.copies = carry_nothing;
    crossing_act(one, tell_notes, 2, other);
    crossing.copies = NULL;
    crossing_take_over(1);
    crossing_link(0, true);
    crossing_link(1, true);
    crossing_run();
    assert_heard_notes(other, 0); /* nobody here knows where it is */
    crossing_tell(0);
    crossing_run();
    assert_heard_notes(other, 2);
    uint64_t again = stage_metric(here, interhost_again);
    crossing_tell(0); /* no later view */
    crossing_act(one, tell_notes, 1, other);
    assert_heard_notes(other, 3);
    assert_int_equal(stage_metric(here, interhost_again), again);
    crossing_act(other, tell_notes, 1, one);
    assert_int_equal(fake_actor_heard_times(one, &tr_note_schema), 1);
    crossing_close();
}

/* Nobody says of the host before that its link is down. */
static void tells_who_waits_that_a_group_has_another_host(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, watch, 0, other);
    crossing.copies = carry_nothing;
    crossing_act(one, ask, 4, other);
    crossing.copies = NULL;
    crossing_take_over(1);
    crossing_tell(0);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 1);
    assert_int_equal(fake_actor_heard_last(one, &tr_down_schema)->reason, TR_NO_CONNECTION);
    assert_int_equal(fake_actor_heard_last(one, &tr_ask_failed_schema)->reason, TR_NO_CONNECTION);
    crossing_close();
}

static void tells_those_who_wait_for_other_groups_nothing(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, watch, 0, other);
    crossing_take_over(1);
    crossing.numbers[1] = 2; /* as if another partition were meant */
    crossing_tell(0);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 0);
    crossing_close();
}

/* The interhost actor of its group is on another worker, which has heard of the view before. */
static void waits_for_the_view_of_which_it_was_told(void **state)
{
    (void)state;
    begin(2);
    uint32_t away = 1 - stage_home(here, one)->index;
    crossing_act(one, watch, 0, other);
    stage_move(here, one, away);
    crossing_run();
    crossing_take_over(1);
    struct tr_interhost_view early = {.view = crossing.view, .group = one.key.group};
    struct tri_heading heading = {.kind = TR_KIND_CONTROL,
                                  .to = {{0, TR_SERVICE_WORKERS + away}, 0}};
    stage_send(here, away, &heading, &tr_interhost_view_schema, &early);
    stage_run(here);
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 0);
    assert_int_equal(stage_worker(here, away)->early_views.count, 1);
    crossing_tell(0);
    crossing_run();
    assert_int_equal(fake_actor_heard_times(one, &tr_down_schema), 1);
    assert_int_equal(fake_actor_heard_last(one, &tr_down_schema)->reason, TR_NO_CONNECTION);
    assert_int_equal(stage_worker(here, away)->early_views.count, 0);
    crossing_close();
}

static void tells_who_waits_at_a_start(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, watch, 0, other);
    crossing_crash(0);
    crossing_run();
    assert_int_equal(fake_actor_heard_last(one, &tr_down_schema)->reason, TR_NO_CONNECTION);
    crossing_close();
}

static void tells_of_an_end_behind_the_last_message(void **state)
{
    (void)state;
    begin(2);
    crossing_act(other, watch, 0, one);
    crossing.copies = carry_nothing;
    crossing_act(one, tell_notes, 2, other);
    crossing_act(one, stop, 0, one);
    crossing.copies = NULL;
    crossing_advance(TR_INTERHOST_AGAIN_MS + TR_INTERHOST_TOGETHER_MS);
    assert_heard_notes(other, 2);
    assert_int_equal(fake_actor_heard_last(other, &tr_down_schema)->reason, 0);
    assert_int_equal(fake_actor_heard[fake_actor_heard_count - 1].type, tr_down_schema.id);
    crossing_act(other, watch, 0, one);
    assert_int_equal(fake_actor_heard_last(other, &tr_down_schema)->reason, TR_NO_ACTOR);
    crossing_act(other, ask, 1, one);
    assert_int_equal(fake_actor_heard_last(other, &tr_ask_failed_schema)->reason, TR_NO_ACTOR);
    crossing_close();
}

static void answers_across_hosts(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, ask, 6, other);
    assert_int_equal(fake_actor_heard_last(one, &tr_answer_schema)->number, 7);
    struct tr_ref nowhere = {{tri_partition_origin(9) | 16, 16}, 1};
    crossing_act(one, ask, 1, nowhere);
    assert_int_equal(fake_actor_heard_last(one, &tr_ask_failed_schema)->reason, TR_NO_CONNECTION);
    stage_tell(here, other, &tr_question_schema, &(struct tr_question){1}); /* by the program */
    crossing_run();
    assert_int_equal(fake_actor_heard_times(other, &tr_question_schema), 2);
    crossing_close();
}

static void ends_interhost_actors_with_nothing_to_do(void **state)
{
    (void)state;
    begin(2);
    crossing_act(one, tell_notes, 3, other);
    assert_non_null(crossing_interhost(one));
    assert_non_null(crossing_interhost(other));
    assert_int_equal(tr_host_move(&here->host, (struct tr_ref){crossing_interhost(one)->key, 0}, 1),
                     TR_INVALID);
    crossing_advance(2 * TR_INTERHOST_IDLE_MS);
    assert_null(crossing_interhost(one));
    assert_null(crossing_interhost(other));
    crossing_act(one, tell_notes, 2, other); /* a new stream */
    assert_heard_notes(other, 5);
    crossing_close();
}

static void begins_a_stream_anew_while_one_ends(void **state)
{
    (void)state;
    begin(1);
    crossing_act(one, tell_notes, 1, other);
    crossing.copies = carry_nothing;
    crossing_advance(TR_INTERHOST_IDLE_MS + TR_INTERHOST_TOGETHER_MS); /* its end is lost */
    crossing_act(one, tell_notes, 2, other);
    assert_heard_notes(other, 1);
    crossing.copies = NULL;
    crossing_advance(4 * TR_INTERHOST_AGAIN_MS);
    assert_heard_notes(other, 3);
    crossing_close();
}

static void goes_on_where_the_other_side_has_forgotten(void **state)
{
    (void)state;
    begin(1);
    crossing_act(one, tell_notes, 2, other);
    /* As if an older copy of the other host's store had been put back. */
    struct tri_actor *interhost = crossing_interhost(other);
    assert_non_null(interhost);
    tri_actor_end(stage_worker(there, 0), interhost, 0);
    crossing_act(one, tell_notes, 1, other);
    crossing_run();
    assert_heard_notes(other, 3);
    crossing_close();
}

static void quarantines_nobody_for_what_makes_no_sense(void **state)
{
    (void)state;
    begin(1);
    static const uint8_t junk[] = {1, 2, 3};
    struct tr_interhost_send send = {.stream = 1, .number = 1, .epoch = 1, .message = {junk, 3}};
    struct tri_heading heading = {.kind = TR_KIND_TELL,
                                  .from = {tri_interhost_key(one.key.group), 1},
                                  .to = {tri_interhost_key(other.key.group), 0},
                                  .sequence = 1};
    stage_send(there, 0, &heading, &tr_interhost_send_schema, &send);
    crossing.copies = crossing_keep;
    crossing_run();
    assert_int_equal(stage_metric(there, undecodable), 1);
    assert_int_equal(last_ack()->number, 1); /* it is done with, or it would come for ever */
    assert_int_equal(stage_metric(there, handler_failures), 0);
    crossing_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(applies_what_comes_twice_once),
        cmocka_unit_test(waits_for_the_number_before),
        cmocka_unit_test(sends_again_until_it_is_acknowledged),
        cmocka_unit_test(sends_again_when_the_link_comes_up),
        cmocka_unit_test(leaves_and_acknowledges_only_what_is_committed),
        cmocka_unit_test(goes_on_after_a_crash_of_the_sender),
        cmocka_unit_test(goes_on_after_a_crash_of_the_receiver),
        cmocka_unit_test(holds_senders_back_when_the_window_is_full),
        cmocka_unit_test(goes_on_though_more_comes_than_a_mailbox_holds),
        cmocka_unit_test(refuses_what_it_cannot_keep),
        cmocka_unit_test(loses_hints_only_with_the_link),
        cmocka_unit_test(answers_an_old_epoch),
        cmocka_unit_test(gives_up_a_group_that_it_has_lost),
        cmocka_unit_test(gives_up_what_waited_for_the_window),
        cmocka_unit_test(answers_an_old_start_of_a_host),
        cmocka_unit_test(keeps_the_epoch_as_long_as_the_group),
        cmocka_unit_test(tells_who_waits_that_the_link_is_down),
        cmocka_unit_test(leaves_no_monitor_behind_a_link),
        cmocka_unit_test(tells_thousands_of_monitors_once),
        cmocka_unit_test(waits_for_room_for_a_pair),
        cmocka_unit_test(goes_on_with_the_host_that_has_the_group_now),
        cmocka_unit_test(tells_who_waits_that_a_group_has_another_host),
        cmocka_unit_test(tells_those_who_wait_for_other_groups_nothing),
        cmocka_unit_test(waits_for_the_view_of_which_it_was_told),
        cmocka_unit_test(tells_who_waits_at_a_start),
        cmocka_unit_test(tells_of_an_end_behind_the_last_message),
        cmocka_unit_test(answers_across_hosts),
        cmocka_unit_test(ends_interhost_actors_with_nothing_to_do),
        cmocka_unit_test(begins_a_stream_anew_while_one_ends),
        cmocka_unit_test(goes_on_where_the_other_side_has_forgotten),
        cmocka_unit_test(quarantines_nobody_for_what_makes_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
