/*
 * A start from a store: after a crash at any point everything that was committed goes on, nothing
 * is done twice, and what cannot have survived is said.
 */
#include <signal.h>

#include "runtime/crashes/poison_message.h"
#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/scripted.h"
#include "tests/support/stage.h"

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static struct tri_poison_messages *poison;
static const struct tri_group_range *ranges; /* to be loaded; none: all groups at once */
static size_t range_count;
static const uint16_t *partitions; /* who has which; NULL: this host is alone */
static size_t partition_count;
static const struct tr_ref nobody;

#define SCRIPT(name)                                                        \
    static int name(struct tr_context *context, struct tr_fake_actor *fake, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static void open_store(void)
{
    static const struct tr_schema *const records[] = {&tr_ledger_schema};
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
}

static void open_host(uint32_t workers)
{
    if (store == NULL) {
        open_store();
    }
    static const struct tr_peer peer = {.number = 9};
    struct stage_options wanted = {.worker_count = workers,
                                   .store = store,
                                   .poison = poison,
                                   .number = partitions == NULL ? 0 : 3,
                                   .peers = &peer,
                                   .peer_count = partitions == NULL ? 0 : 1,
                                   .partitions = partitions,
                                   .partition_count = partition_count,
                                   .ranges = ranges,
                                   .range_count = range_count};
    stage_open(&stage, &wanted);
}

static void close_host(void)
{
    stage_close(&stage);
    tri_store_close(store);
    store = NULL;
}

/* The process ends between two steps and starts again. */
static void crash(uint32_t workers)
{
    tri_model_kill(model, 1);
    close_host();
    fake_actor_forget();
    open_host(workers);
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

SCRIPT(start_timer)
{
    UNUSED(fake, message);
    return tr_timer_start(context, 7, act->number);
}

SCRIPT(edit)
{
    UNUSED(message);
    void *bytes;
    int error = tr_page_edit(context, (uint32_t)act->number, 50, &bytes);
    if (error == 0) {
        memset(bytes, 'e', 50);
        fake->number = act->number;
        error = tr_record(context, &tr_ledger_schema, &(struct tr_ledger){.number = act->number});
    }
    return error;
}

SCRIPT(call_outside)
{
    UNUSED(message);
    return tr_call(context, TR_SERVICE_CONTROL, &tr_question_schema,
                   &(struct tr_question){act->number}, 0, &fake->ask);
}

SCRIPT(spawn_child)
{
    UNUSED(act, message);
    struct tr_spawn_options options = {.is_watched = true};
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

SCRIPT(monitor)
{
    UNUSED(message);
    return tr_monitor(context, act->peer, &fake->monitor);
}

SCRIPT(begin_group)
{
    UNUSED(act, message);
    struct tr_spawn_options options = {.is_group = true};
    return tr_spawn(context, &fake_actor_behaviour, &options, &fake->peer);
}

SCRIPT(stop)
{
    UNUSED(fake, act, message);
    return tr_stop(context);
}

SCRIPT(always_fail)
{
    UNUSED(context, fake, act, message);
    return TR_FAILED;
}

SCRIPT(tell_notes)
{
    UNUSED(fake, message);
    int error = 0;
    for (uint64_t i = 0; i < act->number && error == 0; i++) {
        error = tr_tell(context, act->peer, &tr_note_schema, &(struct tr_note){i});
    }
    return error;
}

static void test_state_pages_and_records_are_there_again(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, edit, 3, nobody);
    fake_actor_act(&stage, a, edit, 5, nobody);
    crash(2);
    assert_int_equal(fake_actor_state(&stage, a)->number, 5);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 3).size, 50);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 5).data[49], 'e');
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 2);
    crash(1); /* and with another number of workers */
    assert_int_equal(fake_actor_state(&stage, a)->number, 5);
    end();
}

static void test_a_message_that_was_not_handled_is_handled(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    tri_actor_quarantine(stage_home(&stage, b), stage_actor(&stage, b));
    tri_actor_touch(stage_home(&stage, b), stage_actor(&stage, b));
    fake_actor_act(&stage, a, tell_notes, 5, b);
    crash(2);
    assert_int_equal(stage_actor(&stage, b)->mailbox_count, 5);
    crash(2); /* again: they are still kept once */
    assert_int_equal(stage_actor(&stage, b)->mailbox_count, 5);
    assert_int_equal(tr_host_resume(&stage.host, b, false), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(b, &tr_note_schema), 5);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(fake_actor_heard[i].number, i);
    }
    crash(2);
    assert_int_equal(stage_actor(&stage, b)->mailbox_count, 0);
    assert_int_equal(fake_actor_state(&stage, b)->count, 5);
    end();
}

static void test_a_timer_goes_on_and_time_without_a_host_counts(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, start_timer, 1000, nobody);
    stage_advance(&stage, 400);
    crash(1); /* the stage's wall clock begins anew: 1000 ms are left */
    stage_advance(&stage, 999);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 0);
    stage_advance(&stage, 1);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 1);
    crash(1);
    stage_advance(&stage, 2000);
    assert_int_equal(fake_actor_heard_times(a, &tr_timer_schema), 0);
    end();
}

/* It has left or not: the actor is told to ask the outside (law 5 of runtime/ARCHITECTURE.md). */
static void test_a_call_that_was_under_way_is_answered(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, call_outside, 1, nobody);
    crash(2);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->reason, TR_NO_CONNECTION);
    assert_int_equal(fake_actor_heard_last(a, &tr_ask_failed_schema)->ask,
                     fake_actor_state(&stage, a)->ask);
    crash(2);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
    end();
}

/* The process has ended so often while this actor's handler ran. */
static void blame(const char *folder, struct tr_ref actor)
{
    for (int i = 0; i < TR_POISON_ENDS; i++) {
        struct tri_poison_messages *before;
        struct tri_poison_messages *next;
        assert_int_equal(tri_poison_message_open(folder, store, &before), 0);
        *tri_poison_message_slot(before, 0) =
            (struct tri_current_message){.turn = 1,
                                         .actor_group = actor.key.group,
                                         .actor_serial = actor.key.serial,
                                         .ended_by = SIGSEGV};
        assert_int_equal(tri_poison_message_open(folder, store, &next), 0);
        tri_poison_message_close(before);
        tri_poison_message_close(next);
    }
}

/* It stands still, although the answer of its call comes while it is loaded. */
static void test_who_ends_the_process_is_put_aside_before_it_runs(void **state)
{
    static struct tri_crashes crashes;
    (void)state;
    char folder[SCRIPTED_PATH_BYTES];
    begin(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, call_outside, 1, nobody);
    scripted_folder(folder);
    tri_model_kill(model, 1);
    close_host();
    fake_actor_forget();
    open_store();
    blame(folder, a);
    assert_int_equal(tri_poison_message_open(folder, store, &poison), 0);
    open_host(1);
    stage_run(&stage);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
    assert_int_equal(crashes.count, 0); /* with what came of it, or before */
    end();
    tri_poison_message_close(poison);
    poison = NULL;
    scripted_folder_remove(folder);
}

/* A service says something of a call while an actor does not run; then the process ends. */
static void crash_behind(struct tr_ref a, uint8_t kind)
{
    struct tri_heading heading = {
        .kind = kind, .to = a, .cause = a, .cause_sequence = fake_actor_state(&stage, a)->ask};
    tri_actor_quarantine(stage_home(&stage, a), stage_actor(&stage, a));
    tri_actor_touch(stage_home(&stage, a), stage_actor(&stage, a));
    stage_send(&stage, stage_home(&stage, a)->index, &heading, &tr_note_schema,
               &(struct tr_note){9});
    stage_run(&stage);
    crash(2);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1);
}

/* News of a call, such as that a process has started, wait in the mailbox: they are no answer. */
static void test_news_of_a_call_are_not_its_answer(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, call_outside, 1, nobody);
    crash_behind(a, TR_KIND_TELL);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 1);
    fake_actor_act(&stage, a, call_outside, 1, nobody);
    crash_behind(a, TR_KIND_REPLY);
    assert_int_equal(fake_actor_heard_times(a, &tr_ask_failed_schema), 0);
    end();
}

/* No call leaves before what led to it is committed. */
static void test_a_call_waits_for_its_commit(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    stage.journal_sleeps = true;
    size_t before = stage.inboxes[TRI_PLACE_CONTROL].count;
    fake_actor_act(&stage, a, call_outside, 1, nobody);
    stage_advance(&stage, 10);
    assert_int_equal(stage.inboxes[TRI_PLACE_CONTROL].count, before);
    stage.journal_sleeps = false;
    stage_run(&stage);
    assert_int_equal(stage.inboxes[TRI_PLACE_CONTROL].count, before + 1);
    end();
}

static void test_families_and_monitors_go_on(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        begin(2);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        fake_actor_act(&stage, a, spawn_child, 0, nobody);
        struct tr_ref child = fake_actor_state(&stage, a)->peer;
        fake_actor_act(&stage, b, monitor, 0, child);
        stage_move(&stage, child, 1);
        crash(workers);
        fake_actor_act(&stage, a, stop, 0, nobody);
        assert_null(stage_actor(&stage, child));
        assert_int_equal(fake_actor_heard_times(b, &tr_down_schema), 1);
        assert_int_equal(fake_actor_heard_last(b, &tr_down_schema)->reason, TR_KILLED);
        end();
    }
}

/* The process ends and starts again with some ranges of groups. */
static void crash_in_ranges(const struct tri_group_range *wanted, size_t count)
{
    ranges = wanted;
    range_count = count;
    crash(2);
    ranges = NULL;
    range_count = 0;
}

static void put_aside(struct tr_ref actor)
{
    tri_actor_quarantine(stage_home(&stage, actor), stage_actor(&stage, actor));
    tri_actor_touch(stage_home(&stage, actor), stage_actor(&stage, actor));
}

/*
 * Three rows of notes of a sender, each one longer than the one before, are heard in order; and
 * nothing of it behind its DOWN.
 */
static void expect_heard(struct tr_ref sender, uint64_t length)
{
    uint64_t expected = 0;
    size_t rows = 0;
    bool is_down = false;
    for (size_t i = 0; i < fake_actor_heard_count; i++) {
        const struct heard *heard = &fake_actor_heard[i];
        bool is_down_here = heard->type == tr_down_schema.id;
        is_down = is_down || (is_down_here && tr_key_equal(heard->about.key, sender.key));
        if (!is_down_here && tr_key_equal(heard->from.key, sender.key)) {
            assert_false(is_down);
            assert_int_equal(heard->number, expected);
            expected = expected + 1 == length + rows ? 0 : expected + 1;
            rows += expected == 0;
        }
    }
    assert_int_equal(rows, 3);
}

/*
 * Two actors of other groups tell a third one, which hears nothing yet, in turns, and one of them
 * ends. Then the store is loaded in ranges, the receiver's group first or last.
 */
static void expect_order(const struct tri_group_range *wanted, size_t count)
{
    begin(2);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    struct tr_ref c = fake();
    fake_actor_act(&stage, a, monitor, 0, b);
    put_aside(a);
    for (uint64_t i = 1; i <= 3; i++) {
        fake_actor_act(&stage, b, tell_notes, i, a);
        fake_actor_act(&stage, c, tell_notes, i + 4, a);
    }
    fake_actor_act(&stage, b, stop, 0, nobody);
    struct tri_group_range own = {a.key.group, a.key.group};
    struct tri_group_range moved[3];
    for (size_t i = 0; i < count; i++) {
        /* 1 stands for the receiver's group, 0 for all before, 2 for all behind it */
        moved[i] = wanted[i].first == 1   ? own
                   : wanted[i].first == 0 ? (struct tri_group_range){0, own.first - 1}
                                          : (struct tri_group_range){own.last + 1, UINT64_MAX};
    }
    crash_in_ranges(moved, count);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 1 + 2 + 3 + 5 + 6 + 7 + 1);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 24);
    assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 1);
    expect_heard(b, 1);
    expect_heard(c, 5);
    end();
}

/* What is in the partitions of others stays in the store, for whoever has them then. */
static void test_a_start_loads_its_own_partitions(void **state)
{
    (void)state;
    static const uint16_t both[] = {9, 3, 3};
    static const uint16_t first[] = {9, 3, 9};
    static const uint16_t none[] = {9, 9, 9};
    partitions = both;
    partition_count = TR_COUNT_OF(both);
    begin(1);
    const struct tr_ref fakes[] = {fake(), fake()};
    bool is_first = tri_group_partition(fakes[0].key.group) == 1;
    struct tr_ref one = fakes[is_first ? 0 : 1];
    struct tr_ref other = fakes[is_first ? 1 : 0];
    assert_int_equal(tri_group_partition(one.key.group), 1);
    assert_int_equal(tri_group_partition(other.key.group), 2);
    stage_run(&stage);
    partitions = first;
    crash(2);
    assert_non_null(stage_actor(&stage, one));
    assert_null(stage_actor(&stage, other));
    assert_int_equal(stage_actor_count(&stage), 1);
    partitions = none;
    crash(1);
    assert_int_equal(stage_actor_count(&stage), 0);
    partitions = both;
    crash(2);
    assert_int_equal(stage_actor_count(&stage), 2);
    assert_non_null(stage_actor(&stage, other));
    end();
    partitions = NULL;
}

static void test_ranges_of_groups_give_what_all_at_once_gives(void **state)
{
    (void)state;
    const struct tri_group_range before = {0, 0};
    const struct tri_group_range own = {1, 1};
    const struct tri_group_range behind = {2, 2};
    const struct tri_group_range orders[][3] = {
        {before, own, behind}, {behind, own, before}, {own, before, behind}, {behind, before, own}};
    expect_order(NULL, 0);
    for (size_t i = 0; i < TR_COUNT_OF(orders); i++) {
        expect_order(orders[i], 3);
    }
}

/* A monitor that was on its way to another group finds it, whichever is loaded first. */
static void test_controls_wait_for_all_groups(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        begin(2);
        struct tr_ref a = fake();
        struct tr_ref b = fake();
        uint32_t sleeper = stage_home(&stage, b)->index;
        stage.worker_sleeps[sleeper] = true;
        fake_actor_act(&stage, a, monitor, 0, b);
        stage.worker_sleeps[sleeper] = false;
        uint64_t cut = a.key.group > b.key.group ? a.key.group : b.key.group;
        struct tri_group_range parts[] = {{0, cut - 1}, {cut, UINT64_MAX}};
        struct tri_group_range turned[] = {parts[1], parts[0]};
        assert_int_not_equal(stage_home(&stage, a)->index, sleeper);
        crash_in_ranges(turn == 0 ? parts : turned, 2);
        fake_actor_act(&stage, b, stop, 0, nobody);
        assert_int_equal(fake_actor_heard_times(a, &tr_down_schema), 1);
        end();
    }
}

/* Whoever's parent may live elsewhere stays; one whose parent should have been loaded ends. */
static void test_a_parent_in_a_group_that_is_not_loaded_is_not_missed(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, begin_group, 0, nobody);
    struct tr_ref child = fake_actor_state(&stage, a)->peer;
    assert_int_not_equal(child.key.group, a.key.group);
    struct tri_group_range own = {child.key.group, child.key.group};
    crash_in_ranges(&own, 1);
    assert_non_null(stage_actor(&stage, child));
    assert_null(stage_actor(&stage, a));
    crash(2);
    assert_non_null(stage_actor(&stage, child));
    assert_non_null(stage_actor(&stage, a));
    /* The parent ends, and the process before its child has heard of it. */
    struct tri_op gone = {.kind = TRI_OP_DELETE_ACTOR, .key = a.key};
    struct tri_commit commit = {&gone, 1, store->last_number};
    assert_int_equal(tri_store_commit(store, &commit), 0);
    crash_in_ranges(&own, 1);
    assert_non_null(stage_actor(&stage, child));
    crash(2);
    assert_null(stage_actor(&stage, child));
    end();
}

/* Serials and groups go on where they were: nobody gets a name that somebody had. */
static void test_names_are_never_given_twice(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, spawn_child, 0, nobody);
    struct tr_ref child = fake_actor_state(&stage, a)->peer;
    fake_actor_act(&stage, child, stop, 0, nobody);
    crash(2);
    fake_actor_act(&stage, a, spawn_child, 0, nobody);
    assert_false(tr_key_equal(fake_actor_state(&stage, a)->peer.key, child.key));
    struct tr_ref other = fake();
    assert_int_not_equal(other.key.group, a.key.group);
    end();
}

/* Messages to a fake actor that the store has, by their senders' groups. */
struct stored {
    struct tr_ref to;
    uint64_t from_group;
    size_t count;
};

static int count_stored(void *self, const struct tri_op *op)
{
    struct stored *stored = self;
    stored->count += op->to_group == stored->to.key.group && op->key.group == stored->from_group;
    return 0;
}

static size_t count_messages(struct tr_ref to, uint64_t from_group)
{
    struct stored stored = {.to = to, .from_group = from_group};
    struct tri_store_visitor visitor = {.self = &stored, .message = count_stored};
    assert_int_equal(tri_store_load(store, &visitor), 0);
    return stored.count;
}

/* Puts a question of an earlier start into the store, as that has left it. */
static void put_question(struct tr_ref to, struct tr_ref from)
{
    uint8_t bytes[TR_ENVELOPE_BYTES + 64];
    struct tr_writer writer =
        tr_writer_of(bytes + TR_ENVELOPE_BYTES, sizeof bytes - TR_ENVELOPE_BYTES);
    assert_int_equal(tr_question_pack(&(struct tr_question){.number = 3}, &writer), 0);
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_ASK,
        .version = tr_question_schema.version,
        .type = tr_question_schema.id,
        .body_size = (uint32_t)tr_writer_size(&writer),
        .to_group = to.key.group,
        .to_serial = to.key.serial,
        .from_group = from.key.group,
        .from_serial = TR_SERVICE_CONTROL,
        .from_incarnation = from.incarnation,
        .sequence = 1,
    };
    tr_envelope_pack(&envelope, bytes);
    struct tri_op op = {
        .kind = TRI_OP_PUT_MESSAGE,
        .key = {from.key.group, TR_SERVICE_CONTROL},
        .incarnation = from.incarnation,
        .to_group = to.key.group,
        .number = 1,
        .data = {.data = bytes, .size = TR_ENVELOPE_BYTES + envelope.body_size},
    };
    struct tri_commit commit = {.ops = &op, .count = 1, .last_number = store->last_number};
    assert_int_equal(tri_store_commit(store, &commit), 0);
}

/*
 * A question of the program outlives the host that asked it, also that of a program which called
 * every host group 0. It is handled and leaves the store, and its answer is taken by nobody.
 */
static void expect_unanswered(bool is_older)
{
    begin(1);
    struct tr_ref a = fake();
    struct tr_ref asker = stage.host.shared.host;
    asker.key.group = is_older ? TR_GROUP_HERE : asker.key.group;
    put_question(a, asker);
    assert_int_equal(count_messages(a, asker.key.group), 1);
    crash(1);
    assert_int_equal(fake_actor_heard_times(a, &tr_question_schema), 1);
    assert_int_equal(stage_dead_letters(&stage, TR_STALE_INCARNATION), 1);
    assert_int_equal(count_messages(a, asker.key.group), 0);
    end();
}

static void test_no_start_gets_the_answer_of_an_earlier_one(void **state)
{
    (void)state;
    expect_unanswered(false);
    expect_unanswered(true);
}

static void test_a_quarantine_outlives_a_crash(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, always_fail, 0, nobody);
    crash(1); /* while it backs off */
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_BACKING_OFF);
    stage_advance(&stage, 50);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    crash(1);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    assert_int_equal(tr_host_resume(&stage.host, a, true), 0);
    fake_actor_note(&stage, a, 1);
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 1);
    end();
}

SCRIPT(owe_with_a_timer)
{
    UNUSED(fake, act, message);
    return tr_timer_start(context, UINT64_MAX, 1000000);
}

SCRIPT(ask_to_owe)
{
    UNUSED(message);
    struct tr_act wish = {.script = (uint64_t)(uintptr_t)owe_with_a_timer};
    return tr_ask(context, act->peer, &tr_act_schema, &wish, 0, &fake->ask);
}

static void add_edges(struct tr_ref of, uint32_t count)
{
    struct tri_worker *worker = stage_home(&stage, of);
    for (uint32_t i = 0; i < count; i++) {
        struct tri_actor *actor = stage_actor(&stage, of);
        assert_non_null(tri_edge_add(worker, actor, TRI_EDGE_MONITORED, of, i));
    }
}

/* An actor with so many edges defers an answer and starts a timer, then a handler of it fails. */
static void expect_readable(uint32_t edges, uint32_t failures)
{
    begin(1);
    struct tr_ref a = fake();
    struct tr_ref b = fake();
    add_edges(a, edges);
    fake_actor_act(&stage, b, ask_to_owe, 0, a);
    assert_int_equal(stage_metric(&stage, handler_failures), failures);
    fake_actor_act(&stage, a, always_fail, 0, nobody);
    stage_advance(&stage, 50);
    uint32_t edge_count = stage_actor(&stage, a)->edge_count;
    crash(1);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    assert_int_equal(stage_actor(&stage, a)->edge_count, edge_count);
    end();
}

static void test_an_actor_at_the_limit_of_edges_can_be_read(void **state)
{
    (void)state;
    expect_readable(TR_EDGES_MAX - 2, 0);
    expect_readable(TR_EDGES_MAX - 1, 1);
}

/* A full disk: nothing acknowledged is lost, nothing is said outside, and then it goes on. */
static void test_a_full_disk_is_waited_out(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    tri_model_faults(model)->full_commits = 3;
    fake_actor_act(&stage, a, edit, 3, nobody);
    fake_actor_act(&stage, a, call_outside, 1, nobody);
    size_t said = stage.inboxes[TRI_PLACE_CONTROL].count;
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WAITS);
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 0);
    struct tr_journal_figures figures;
    tr_host_journal_figures(&stage.host, &figures);
    assert_int_equal(figures.waits_for, TR_STORE_FULL);
    assert_int_equal(figures.shortages, 1);
    stage_advance(&stage, 1000);
    tr_host_journal_figures(&stage.host, &figures);
    assert_int_equal(figures.waits_for, 0);
    assert_int_equal(figures.shortages, 3);
    assert_int_equal(figures.current_ns, 0);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WELL);
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 1);
    assert_int_equal(stage.inboxes[TRI_PLACE_CONTROL].count, said + 1);
    end();
}

static void test_workers_stop_when_the_journal_is_far_behind(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    stage.journal_sleeps = true;
    for (int i = 0; i < 3 * TR_CUTS_OUTSTANDING_MAX; i++) {
        fake_actor_note(&stage, a, 1);
        stage_run(&stage);
    }
    assert_int_equal(stage_worker(&stage, 0)->cuts_outstanding, TR_CUTS_OUTSTANDING_MAX);
    assert_true(stage_actor(&stage, a)->mailbox_count > 0);
    stage.journal_sleeps = false;
    stage_run(&stage);
    assert_int_equal(fake_actor_heard_times(a, &tr_note_schema), 3 * TR_CUTS_OUTSTANDING_MAX);
    end();
}

/* A batch of half the bytes that may be on their way. */
SCRIPT(fill_pages)
{
    UNUSED(fake, message);
    for (uint32_t page = 0; page < TR_CUT_BYTES_OUTSTANDING_MAX / TR_PAGE_BYTES_MAX / 2; page++) {
        void *bytes;
        int error = tr_page_edit(context, page, TR_PAGE_BYTES_MAX, &bytes);
        if (error != 0) {
            return error;
        }
        memset(bytes, (int)act->number, TR_PAGE_BYTES_MAX);
    }
    return 0;
}

static void test_workers_stop_when_the_journal_has_many_bytes(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    const struct tri_worker *worker = stage_worker(&stage, 0);
    stage.journal_sleeps = true;
    for (uint64_t i = 1; i <= 3; i++) {
        fake_actor_act(&stage, a, fill_pages, i, nobody);
    }
    assert_true(worker->cuts_outstanding < TR_CUTS_OUTSTANDING_MAX);
    assert_true(worker->cut_bytes_outstanding >= TR_CUT_BYTES_OUTSTANDING_MAX);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 1);
    stage.journal_sleeps = false;
    stage_run(&stage);
    assert_int_equal(stage_actor(&stage, a)->mailbox_count, 0);
    assert_int_equal(worker->cut_bytes_outstanding, 0);
    end();
}

static void test_a_failed_store_ends_the_host(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = fake();
    fake_actor_act(&stage, a, edit, 3, nobody);
    tri_model_faults(model)->fail_next = true;
    fake_actor_act(&stage, a, edit, 4, nobody);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_FAILED);
    assert_int_equal(stage.host.journal.error, TR_STORE_FAILED);
    crash(1);
    assert_true(fake_actor_state(&stage, a)->number >= 3);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_pages_and_records_are_there_again),
        cmocka_unit_test(test_a_message_that_was_not_handled_is_handled),
        cmocka_unit_test(test_a_timer_goes_on_and_time_without_a_host_counts),
        cmocka_unit_test(test_a_call_that_was_under_way_is_answered),
        cmocka_unit_test(test_who_ends_the_process_is_put_aside_before_it_runs),
        cmocka_unit_test(test_news_of_a_call_are_not_its_answer),
        cmocka_unit_test(test_a_call_waits_for_its_commit),
        cmocka_unit_test(test_families_and_monitors_go_on),
        cmocka_unit_test(test_a_start_loads_its_own_partitions),
        cmocka_unit_test(test_ranges_of_groups_give_what_all_at_once_gives),
        cmocka_unit_test(test_controls_wait_for_all_groups),
        cmocka_unit_test(test_a_parent_in_a_group_that_is_not_loaded_is_not_missed),
        cmocka_unit_test(test_names_are_never_given_twice),
        cmocka_unit_test(test_no_start_gets_the_answer_of_an_earlier_one),
        cmocka_unit_test(test_a_quarantine_outlives_a_crash),
        cmocka_unit_test(test_an_actor_at_the_limit_of_edges_can_be_read),
        cmocka_unit_test(test_a_full_disk_is_waited_out),
        cmocka_unit_test(test_workers_stop_when_the_journal_is_far_behind),
        cmocka_unit_test(test_workers_stop_when_the_journal_has_many_bytes),
        cmocka_unit_test(test_a_failed_store_ends_the_host),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
