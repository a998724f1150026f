/*
 * A start from a store: after a crash at any point everything that was committed goes on, nothing
 * is done twice, and what cannot have survived is said.
 */
#include <signal.h>

#include "runtime/host/poison_message.h"
#include "tests/sim/model_store.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"
#include "tests/support/town.h"

static struct stage stage;
static struct tri_model *model;
static struct tri_store *store;
static struct tri_poison *poison;
static const struct tr_ref nobody;

#define SCRIPT(name)                                                      \
    static int name(struct tr_context *context, struct tr_puppet *puppet, \
                    const struct tr_act *act, const struct tr_message *message)
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static void open_host(uint32_t workers)
{
    static const struct tr_schema *const records[] = {&tr_ledger_schema};
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    struct stage_options wanted = {.worker_count = workers, .store = store, .poison = poison};
    stage_open(&stage, &wanted);
}

static void close_host(void)
{
    stage_close(&stage);
    tri_store_close(store);
}

/* The process ends between two steps and starts again. */
static void crash(uint32_t workers)
{
    tri_model_kill(model, 1);
    close_host();
    puppet_forget();
    open_host(workers);
    stage_run(&stage);
}

static void begin(uint32_t workers)
{
    model = tri_model_new();
    puppet_forget();
    open_host(workers);
}

static void end(void)
{
    close_host();
    tri_model_free(model);
}

static struct tr_ref puppet(void)
{
    return stage_spawn(&stage, &puppet_behaviour, NULL);
}

SCRIPT(start_timer)
{
    UNUSED(puppet, message);
    return tr_timer_start(context, 7, act->number);
}

SCRIPT(edit)
{
    UNUSED(message);
    void *bytes;
    int error = tr_page_edit(context, (uint32_t)act->number, 50, &bytes);
    if (error == 0) {
        memset(bytes, 'e', 50);
        puppet->number = act->number;
        error = tr_record(context, &tr_ledger_schema, &(struct tr_ledger){.number = act->number});
    }
    return error;
}

SCRIPT(call_outside)
{
    UNUSED(message);
    return tr_call(context, TR_SERVICE_CONTROL, &tr_question_schema,
                   &(struct tr_question){act->number}, 0, &puppet->ask);
}

SCRIPT(spawn_child)
{
    UNUSED(act, message);
    struct tr_spawn_options options = {.is_watched = true};
    return tr_spawn(context, &puppet_behaviour, &options, &puppet->peer);
}

SCRIPT(monitor)
{
    UNUSED(message);
    return tr_monitor(context, act->peer, &puppet->monitor);
}

SCRIPT(stop)
{
    UNUSED(puppet, act, message);
    return tr_stop(context);
}

SCRIPT(always_fail)
{
    UNUSED(context, puppet, act, message);
    return TR_FAILED;
}

SCRIPT(tell_notes)
{
    UNUSED(puppet, message);
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
    struct tr_ref a = puppet();
    puppet_act(&stage, a, edit, 3, nobody);
    puppet_act(&stage, a, edit, 5, nobody);
    crash(2);
    assert_int_equal(puppet_state(&stage, a)->number, 5);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 3).size, 50);
    assert_int_equal(tri_page_bytes(stage_actor(&stage, a), 5).data[49], 'e');
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 2);
    crash(1); /* and with another number of workers */
    assert_int_equal(puppet_state(&stage, a)->number, 5);
    end();
}

static void test_a_message_that_was_not_handled_is_handled(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = puppet();
    struct tr_ref b = puppet();
    tri_quarantine(stage_home(&stage, b), stage_actor(&stage, b));
    tri_actor_touch(stage_home(&stage, b), stage_actor(&stage, b));
    puppet_act(&stage, a, tell_notes, 5, b);
    crash(2);
    assert_int_equal(stage_actor(&stage, b)->mailbox_count, 5);
    crash(2); /* again: they are still kept once */
    assert_int_equal(stage_actor(&stage, b)->mailbox_count, 5);
    assert_int_equal(tr_host_resume(&stage.host, b, false), 0);
    stage_run(&stage);
    assert_int_equal(puppet_heard_times(b, &tr_note_schema), 5);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(puppet_heard[i].number, i);
    }
    crash(2);
    assert_int_equal(stage_actor(&stage, b)->mailbox_count, 0);
    assert_int_equal(puppet_state(&stage, b)->count, 5);
    end();
}

static void test_a_timer_goes_on_and_time_without_a_host_counts(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = puppet();
    puppet_act(&stage, a, start_timer, 1000, nobody);
    stage_advance(&stage, 400);
    crash(1); /* the stage's wall clock begins anew: 1000 ms are left */
    stage_advance(&stage, 999);
    assert_int_equal(puppet_heard_times(a, &tr_timer_schema), 0);
    stage_advance(&stage, 1);
    assert_int_equal(puppet_heard_times(a, &tr_timer_schema), 1);
    crash(1);
    stage_advance(&stage, 2000);
    assert_int_equal(puppet_heard_times(a, &tr_timer_schema), 0);
    end();
}

/* It has left or not: the actor is told to ask the outside (law 5). */
static void test_a_call_that_was_under_way_is_answered(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = puppet();
    puppet_act(&stage, a, call_outside, 1, nobody);
    crash(2);
    assert_int_equal(puppet_heard_times(a, &tr_ask_failed_schema), 1);
    assert_int_equal(puppet_heard_last(a, &tr_ask_failed_schema)->reason, TR_NO_CONNECTION);
    assert_int_equal(puppet_heard_last(a, &tr_ask_failed_schema)->ask,
                     puppet_state(&stage, a)->ask);
    crash(2);
    assert_int_equal(puppet_heard_times(a, &tr_ask_failed_schema), 0);
    end();
}

/* The process has ended so often while this actor's handler ran. */
static void blame(const char *folder, struct tr_ref actor)
{
    for (int i = 0; i < TR_POISON_ENDS; i++) {
        struct tri_poison *before;
        struct tri_poison *next;
        assert_int_equal(tri_poison_open(folder, &before), 0);
        *tri_poison_hand(before, 0) = (struct tri_in_hand){.turn = 1,
                                                           .actor_group = actor.key.group,
                                                           .actor_serial = actor.key.serial,
                                                           .ended_by = SIGSEGV};
        assert_int_equal(tri_poison_open(folder, &next), 0);
        tri_poison_close(before);
        tri_poison_close(next);
    }
}

/* It stands still, although the answer of its call comes while it is loaded. */
static void test_who_ends_the_process_is_put_aside_before_it_runs(void **state)
{
    (void)state;
    char folder[TOWN_PATH_BYTES];
    begin(1);
    struct tr_ref a = puppet();
    puppet_act(&stage, a, call_outside, 1, nobody);
    town_folder(folder);
    blame(folder, a);
    tri_model_kill(model, 1);
    close_host();
    puppet_forget();
    assert_int_equal(tri_poison_open(folder, &poison), 0);
    open_host(1);
    stage_run(&stage);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    assert_int_equal(puppet_heard_times(a, &tr_ask_failed_schema), 0);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(puppet_heard_times(a, &tr_ask_failed_schema), 1);
    end();
    tri_poison_close(poison);
    poison = NULL;
    town_folder_remove(folder);
}

/* A service says something of a call while an actor does not run; then the process ends. */
static void crash_behind(struct tr_ref a, uint8_t kind)
{
    struct tri_heading heading = {
        .kind = kind, .to = a, .cause = a, .cause_sequence = puppet_state(&stage, a)->ask};
    tri_quarantine(stage_home(&stage, a), stage_actor(&stage, a));
    tri_actor_touch(stage_home(&stage, a), stage_actor(&stage, a));
    stage_send(&stage, stage_home(&stage, a)->index, &heading, &tr_note_schema,
               &(struct tr_note){9});
    stage_run(&stage);
    crash(2);
    assert_int_equal(tr_host_resume(&stage.host, a, false), 0);
    stage_run(&stage);
    assert_int_equal(puppet_heard_times(a, &tr_note_schema), 1);
}

/* News of a call, such as that a process has started, wait in the mailbox: they are no answer. */
static void test_news_of_a_call_are_not_its_answer(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = puppet();
    puppet_act(&stage, a, call_outside, 1, nobody);
    crash_behind(a, TR_KIND_TELL);
    assert_int_equal(puppet_heard_times(a, &tr_ask_failed_schema), 1);
    puppet_act(&stage, a, call_outside, 1, nobody);
    crash_behind(a, TR_KIND_REPLY);
    assert_int_equal(puppet_heard_times(a, &tr_ask_failed_schema), 0);
    end();
}

/* No call leaves before what led to it is committed. */
static void test_a_call_waits_for_its_commit(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = puppet();
    stage.journal_sleeps = true;
    size_t before = stage.inboxes[TRI_PLACE_CONTROL].count;
    puppet_act(&stage, a, call_outside, 1, nobody);
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
        struct tr_ref a = puppet();
        struct tr_ref b = puppet();
        puppet_act(&stage, a, spawn_child, 0, nobody);
        struct tr_ref child = puppet_state(&stage, a)->peer;
        puppet_act(&stage, b, monitor, 0, child);
        stage_move(&stage, child, 1);
        crash(workers);
        puppet_act(&stage, a, stop, 0, nobody);
        assert_null(stage_actor(&stage, child));
        assert_int_equal(puppet_heard_times(b, &tr_down_schema), 1);
        assert_int_equal(puppet_heard_last(b, &tr_down_schema)->reason, TR_KILLED);
        end();
    }
}

/* Serials and groups go on where they were: nobody gets a name that somebody had. */
static void test_names_are_never_given_twice(void **state)
{
    (void)state;
    begin(2);
    struct tr_ref a = puppet();
    puppet_act(&stage, a, spawn_child, 0, nobody);
    struct tr_ref child = puppet_state(&stage, a)->peer;
    puppet_act(&stage, child, stop, 0, nobody);
    crash(2);
    puppet_act(&stage, a, spawn_child, 0, nobody);
    assert_false(tr_key_equal(puppet_state(&stage, a)->peer.key, child.key));
    struct tr_ref other = puppet();
    assert_int_not_equal(other.key.group, a.key.group);
    end();
}

static void test_a_quarantine_outlives_a_crash(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = puppet();
    puppet_act(&stage, a, always_fail, 0, nobody);
    crash(1); /* while it backs off */
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_BACKING_OFF);
    stage_advance(&stage, 50);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    crash(1);
    assert_int_equal(stage_actor(&stage, a)->phase, TRI_QUARANTINED);
    assert_int_equal(tr_host_resume(&stage.host, a, true), 0);
    puppet_note(&stage, a, 1);
    stage_run(&stage);
    assert_int_equal(puppet_heard_times(a, &tr_note_schema), 1);
    end();
}

/* A full disk: nothing acknowledged is lost, nothing is said outside, and then it goes on. */
static void test_a_full_disk_is_waited_out(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = puppet();
    tri_model_faults(model)->full_commits = 3;
    puppet_act(&stage, a, edit, 3, nobody);
    puppet_act(&stage, a, call_outside, 1, nobody);
    size_t said = stage.inboxes[TRI_PLACE_CONTROL].count;
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WAITS);
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 0);
    stage_advance(&stage, 1000);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_WELL);
    assert_int_equal(tri_model_record_count(model, tr_ledger_schema.id), 1);
    assert_int_equal(stage.inboxes[TRI_PLACE_CONTROL].count, said + 1);
    end();
}

static void test_workers_stop_when_the_journal_is_far_behind(void **state)
{
    (void)state;
    begin(1);
    struct tr_ref a = puppet();
    stage.journal_sleeps = true;
    for (int i = 0; i < 3 * TR_CUTS_OUTSTANDING_MAX; i++) {
        puppet_note(&stage, a, 1);
        stage_run(&stage);
    }
    assert_int_equal(stage_worker(&stage, 0)->cuts_outstanding, TR_CUTS_OUTSTANDING_MAX);
    assert_true(stage_actor(&stage, a)->mailbox_count > 0);
    stage.journal_sleeps = false;
    stage_run(&stage);
    assert_int_equal(puppet_heard_times(a, &tr_note_schema), 3 * TR_CUTS_OUTSTANDING_MAX);
    end();
}

/* A batch of half the bytes that may be on their way. */
SCRIPT(fill_pages)
{
    UNUSED(puppet, message);
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
    struct tr_ref a = puppet();
    const struct tri_worker *worker = stage_worker(&stage, 0);
    stage.journal_sleeps = true;
    for (uint64_t i = 1; i <= 3; i++) {
        puppet_act(&stage, a, fill_pages, i, nobody);
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
    struct tr_ref a = puppet();
    puppet_act(&stage, a, edit, 3, nobody);
    tri_model_faults(model)->fail_next = true;
    puppet_act(&stage, a, edit, 4, nobody);
    assert_int_equal(stage.host.journal.state, TRI_JOURNAL_FAILED);
    assert_int_equal(stage.host.journal.error, TR_STORE_FAILED);
    crash(1);
    assert_true(puppet_state(&stage, a)->number >= 3);
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
        cmocka_unit_test(test_names_are_never_given_twice),
        cmocka_unit_test(test_a_quarantine_outlives_a_crash),
        cmocka_unit_test(test_a_full_disk_is_waited_out),
        cmocka_unit_test(test_workers_stop_when_the_journal_is_far_behind),
        cmocka_unit_test(test_workers_stop_when_the_journal_has_many_bytes),
        cmocka_unit_test(test_a_failed_store_ends_the_host),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
