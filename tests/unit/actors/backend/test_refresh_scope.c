/*
 * The watched shape: one list and one watch for the groups of a scope, who is missing in a list,
 * cursors that are not known any more, and unknown outcomes that the watch concludes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/actors/refresh_stand.h"

static void begin(void)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    refresh_stand_give_watch();
}

static void make(const char *group, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)refresh_stand_make(group);
    }
}

static enum back_fault back_fault_of_cancels(uint8_t verb, uint32_t nth)
{
    (void)nth;
    return verb == TR_WEBAPI_VERB_CANCEL ? BACK_BUSY : BACK_FINE;
}

static void require_calls(uint32_t lists, uint32_t watches)
{
    assert_int_equal(back.lists, lists);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], watches);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
}

/* The job that a holder has asked for, at the back end. */
static struct back_job *job_of(uint32_t holder)
{
    char identity[32];
    (void)snprintf(identity, sizeof identity, "job-%u", holder);
    for (uint32_t i = 0; i < back.job_count; i++) {
        if (strcmp(back.jobs[i].identity, identity) == 0) {
            return &back.jobs[i];
        }
    }
    fail();
    return NULL;
}

/* Nothing is on its way that would change it. */
static void let_things_settle(void)
{
    refresh_stand_pass(3000);
}

static void test_groups_of_a_scope_share_a_watch(void **state)
{
    (void)state;
    begin();
    char group[16];
    for (uint32_t i = 0; i < 500; i++) {
        (void)snprintf(group, sizeof group, "%s.%u", i % 2 == 0 ? "a" : "b", i);
        (void)refresh_stand_make(group);
    }
    let_things_settle();
    require_calls(2, 2);
    back_phase_all(TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(1);
    assert_int_equal(refresh_stand_holder(499)->phase, TR_TASK_PHASE_RUNNING); /* at once */
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(1);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 500);
    for (uint32_t i = 0; i < 500; i++) {
        refresh_stand_drop(i);
    }
    refresh_stand_pass(TR_REFRESH_REST_MS + 10000);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->streaming, 0);
    assert_int_equal(refresh_stand_state()->blobs_kept, 0); /* cursors, names: nothing is left */
    refresh_stand_end();
}

/* Hours of a watch that speaks: no polls, no further list; a restart goes on from the cursor. */
static void test_nobody_is_asked_about(void **state)
{
    (void)state;
    begin();
    make("a.1", 300);
    let_things_settle();
    for (uint32_t minute = 0; minute < 60; minute++) {
        back_phase(0, minute % 2 == 0 ? TR_TASK_PHASE_RUNNING : TR_TASK_PHASE_QUEUED);
        refresh_stand_pass(60000);
    }
    require_calls(1, 1);
    refresh_stand_crash();
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    let_things_settle();
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 300);
    require_calls(1, 2);
    refresh_stand_end();
}

/* Events while the engine is away, and a cursor that is unknown then: by a list of 40 pages. */
static void test_a_list_shows_what_was_missed(void **state)
{
    (void)state;
    begin();
    back.page_items = 25;
    make("a.1", 1000);
    let_things_settle();
    back.refuses_places = 404;
    refresh_stand_crash();
    for (uint32_t i = 0; i < 1000; i++) {
        back_phase(i, i % 2 == 0 ? TR_TASK_PHASE_SUCCESS : TR_TASK_PHASE_RUNNING);
    }
    refresh_stand_pass(1500); /* a reply to the watch, and the list begins at once */
    back.refuses_places = 0;
    refresh_stand_pass(30000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 500);
    assert_int_equal(refresh_stand_holder(1)->phase, TR_TASK_PHASE_RUNNING);
    assert_true(back.lists >= 2);
    assert_int_equal(refresh_stand_state()->failed, 1); /* the watch that the crash has ended */
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(2);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 1000);
    refresh_stand_end();
}

static void require_deleted(uint32_t holder)
{
    const struct tr_holder *heard = refresh_stand_holder(holder);
    assert_int_equal(heard->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(heard->phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_true(tr_text_equal(tr_array_get(&heard->code), tr_text_of("ResourceDeletedExternally")));
}

/* Who is in no page of a list was deleted; all others live, and those made meanwhile. */
static void test_who_is_missing_was_deleted(void **state)
{
    (void)state;
    begin();
    back.page_items = 10;
    make("a.1", 100);
    make("b.1", 10);
    let_things_settle();
    job_of(17)->is_removed = true;
    job_of(99)->is_removed = true;
    job_of(105)->is_removed = true; /* of another scope, which is not listed */
    back.says_anew = true;
    back_phase((uint32_t)(job_of(3) - back.jobs), TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(1);
    make("a.1", 5);
    let_things_settle();
    require_deleted(17);
    require_deleted(99);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 2);
    require_calls(3, 3);
    assert_int_equal(refresh_stand_state()->failed, 0);
    refresh_stand_end();
}

/*
 * One that is made and deleted while the first list is on its way is in no list, and no watch shows
 * it: it is asked about, and nobody else is.
 */
static void test_who_was_never_shown_is_asked_about(void **state)
{
    (void)state;
    begin();
    make("a.1", 3);
    for (int i = 0; back.job_count < 3 && i < 1000; i++) {
        refresh_stand_pass(1);
    }
    back.jobs[1].is_removed = true;
    refresh_stand_pass(2 * TR_WEBAPI_INTERVAL_MS);
    require_deleted((uint32_t)atoi(back.jobs[1].identity + strlen("job-")));
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 2);
    assert_int_equal(back.items[TR_WEBAPI_VERB_STATUS], 1);
    refresh_stand_end();
}

/* The walk that finds them is cut by a crash: it is done afterwards. */
static void test_a_crash_forgets_nobody_who_is_missing(void **state)
{
    (void)state;
    for (uint32_t at_ms = 1; at_ms < 30; at_ms += 2) {
        begin();
        back.page_items = 50;
        make("a.1", 600);
        let_things_settle();
        job_of(599)->is_removed = true;
        back.says_anew = true;
        back_phase(3, TR_TASK_PHASE_RUNNING);
        refresh_stand_pass(at_ms);
        refresh_stand_crash();
        refresh_stand_pass(5000);
        require_deleted(599);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 1);
        assert_int_equal(back.job_count, 600);
        refresh_stand_end();
    }
}

/* A page is not known any more in the midst of a list: that begins anew, and nobody is missing. */
static void test_a_list_that_breaks_off_begins_anew(void **state)
{
    (void)state;
    begin();
    back.page_items = 10;
    make("a.1", 100);
    let_things_settle();
    back.says_anew = true;
    back.forgets_pages = 1;
    back_phase(3, TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(5000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 0);
    assert_int_equal(back.lists, 3);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(2);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 100);
    refresh_stand_end();
}

/* A cluster that was restored does not know the cursor yet, and says nothing for ever. */
static void test_a_silent_watch_begins_anew(void **state)
{
    (void)state;
    begin();
    make("a.1", 10);
    let_things_settle();
    back.streams[back.stream_count - 1].is_dead = true;
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(90000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 10);
    require_calls(2, 2);
    refresh_stand_end();
}

/* Watches that end now and then, for so long. */
static void pass_with_ends(uint64_t ms, bool is_cut)
{
    for (uint64_t passed_ms = 0; passed_ms < ms; passed_ms += 60000) {
        refresh_stand_pass(60000);
        back_end_streams(is_cut);
        let_things_settle();
    }
}

/*
 * A cluster that was restored has passed the cursor before the watch was opened again, which does
 * not show what happened meanwhile: a list does, once the last one is old. Who is not in it was
 * deleted; nobody else is held as faulty.
 */
static void test_a_gap_in_the_watch_is_made_up_for(void **state)
{
    (void)state;
    begin();
    back.page_items = 4;
    make("a.1", 12);
    let_things_settle();
    back_phase_in_a_gap((uint32_t)(job_of(3) - back.jobs), TR_TASK_PHASE_SUCCESS);
    job_of(5)->is_removed = true;
    pass_with_ends(TR_REFRESH_LIST_MS / 2, false);
    assert_int_equal(back.lists, 1);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 0);
    pass_with_ends(TR_REFRESH_LIST_MS, false);
    assert_int_equal(back.lists, 2);
    assert_int_equal(refresh_stand_holder(3)->phase, TR_TASK_PHASE_SUCCESS);
    require_deleted(5);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 2);
    assert_int_equal(refresh_stand_state()->failed, 0);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
    refresh_stand_end();
}

/* Of who was deleted while a watch was cut it says how it ended, where a list does not. */
static void test_a_watch_that_is_cut_goes_on_from_its_cursor(void **state)
{
    (void)state;
    begin();
    make("a.1", 3);
    let_things_settle();
    pass_with_ends(2 * TR_REFRESH_LIST_MS, true);
    back_end_streams(true);
    refresh_stand_pass(1);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    for (uint32_t i = 0; i < 3; i++) {
        back.jobs[i].is_removed = true;
    }
    refresh_stand_pass(60000);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(refresh_stand_holder(i)->phase, TR_TASK_PHASE_SUCCESS);
    }
    assert_int_equal(back.lists, 1);
    refresh_stand_end();
}

/* Watches that have begun and end together list at times of their own. */
static void test_scopes_do_not_list_at_once(void **state)
{
    (void)state;
    enum { SCOPES = 24 };
    begin();
    for (uint32_t i = 0; i < SCOPES; i++) {
        char group[16];
        (void)snprintf(group, sizeof group, "%c.1", (char)('a' + (int)i));
        make(group, 1);
    }
    let_things_settle();
    assert_int_equal(back.lists, SCOPES);
    pass_with_ends(TR_REFRESH_LIST_MS * 9 / 10, false);
    assert_int_equal(back.lists, SCOPES);
    uint32_t most = 0;
    for (uint32_t step = 0; step < 16; step++) {
        uint32_t before = back.lists;
        refresh_stand_pass(TR_REFRESH_LIST_MS / 40);
        back_end_streams(false);
        let_things_settle();
        most = back.lists - before > most ? back.lists - before : most;
    }
    assert_int_equal(back.lists, 2 * SCOPES);
    assert_true(most <= SCOPES / 3);
    refresh_stand_end();
}

/* A line that cannot be read has left something out: a list shows what that was. */
static void test_a_line_that_cannot_be_read_is_made_up_for(void **state)
{
    (void)state;
    begin();
    make("a.1", 10);
    let_things_settle();
    back.mumbles = 1;
    back_phase(3, TR_TASK_PHASE_SUCCESS);
    let_things_settle();
    assert_int_equal(refresh_stand_holder(3)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(refresh_stand_state()->failed, 1);
    require_calls(2, 2);
    refresh_stand_end();
}

/*
 * What a job is in may last for ever: it ends when its grace is over, which runs from the first of
 * such reports on, and is removed at once. One that is well again in time goes on.
 */
static void test_a_grace_ends_what_would_stay_for_ever(void **state)
{
    (void)state;
    begin();
    make("a.1", 3);
    let_things_settle();
    back.graces_ms = 180000;
    for (uint32_t i = 0; i < 3; i++) {
        back_phase(i, TR_TASK_PHASE_INITIALIZING);
    }
    refresh_stand_pass(100000);
    back_phase(0, TR_TASK_PHASE_INITIALIZING); /* said again, which gives no more of it */
    back_phase(1, TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(75000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 0);
    refresh_stand_pass(60000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 2);
    assert_int_equal(refresh_stand_holder(1)->phase, TR_TASK_PHASE_RUNNING);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_true(tr_text_equal(tr_array_get(&refresh_stand_holder(0)->code), tr_text_of("Stuck")));
    assert_int_equal(back_live(), 3);
    refresh_stand_drop(0);
    refresh_stand_drop(2);
    refresh_stand_pass(1000);
    assert_int_equal(back_live(), 1);
    refresh_stand_end();
}

/* What lies behind the report of a plugin older than graces is not looked at. */
static void test_an_older_plugin_gives_no_graces(void **state)
{
    (void)state;
    begin();
    back.plugin.abi = 2;
    make("a.1", 1);
    let_things_settle();
    back.graces_ms = 1000;
    back_phase(0, TR_TASK_PHASE_INITIALIZING);
    refresh_stand_pass(60000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 0);
    refresh_stand_end();
}

/* A crash begins it anew: it is not known how long the engine was away. */
static void test_a_grace_outlives_a_crash(void **state)
{
    (void)state;
    begin();
    make("a.1", 1);
    let_things_settle();
    back.graces_ms = 180000;
    back_phase(0, TR_TASK_PHASE_INITIALIZING);
    refresh_stand_pass(100000);
    refresh_stand_crash();
    refresh_stand_pass(150000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 0);
    refresh_stand_pass(90000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 1);
    refresh_stand_end();
}

/*
 * A part that waits for what may never come ends the job when its grace is over, whatever others
 * and the job itself say; it ends nothing where it goes on in time.
 */
static void test_a_part_has_a_grace_of_its_own(void **state)
{
    (void)state;
    begin();
    make("a.1", 3);
    let_things_settle();
    back_phase_all(TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(1);
    back.graces_ms = 180000;
    back.part = "one";
    for (uint32_t i = 0; i < 2; i++) {
        back_phase(i, TR_TASK_PHASE_INITIALIZING);
    }
    refresh_stand_pass(1000);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_RUNNING);
    back.part = "two";
    back_phase_all(TR_TASK_PHASE_RUNNING); /* another part is well */
    refresh_stand_pass(1);
    back.part = NULL;
    back_phase_all(TR_TASK_PHASE_QUEUED); /* and so is the job, for all that it knows */
    refresh_stand_pass(100000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 0);
    back.part = "one";
    back_phase(1, TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(1);
    back.part = NULL;
    refresh_stand_pass(100000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 1);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_true(tr_text_equal(tr_array_get(&refresh_stand_holder(0)->code), tr_text_of("Stuck")));
    assert_int_equal(refresh_stand_holder(1)->phase, TR_TASK_PHASE_RUNNING);
    refresh_stand_end();
}

/* Parts are shown by a watch of their own, which a list of them ends nobody by, and which goes. */
static void test_parts_have_a_scope_beside(void **state)
{
    (void)state;
    begin();
    back.has_beside = true;
    make("a.1", 2);
    make("b.1", 2);
    let_things_settle();
    require_calls(3, 3);
    refresh_stand_crash();
    refresh_stand_pass(600000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 0);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(1000);
    for (uint32_t i = 0; i < 4; i++) {
        refresh_stand_drop(i);
    }
    refresh_stand_pass(TR_REFRESH_REST_MS + 10000);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->streaming, 0);
    assert_int_equal(refresh_stand_state()->blobs_kept, 0);
    refresh_stand_end();
}

/* Without streams each is asked about, as of any other plugin. */
static void test_without_streams_all_are_polled(void **state)
{
    (void)state;
    begin();
    back.place.endpoint.streams_max = TR_WEBAPI_NO_STREAMS;
    make("a.1", 10);
    let_things_settle();
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(12000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 10);
    assert_int_equal(back.lists, 0);
    refresh_stand_end();
}

/* An answer was lost: the watch says that it was made, or the request is made again. */
static void test_the_watch_concludes_unknown_outcomes(void **state)
{
    (void)state;
    static const enum back_fault faults[] = {BACK_LOST, BACK_LOST_AFTER, BACK_BUSY,
                                             BACK_BUSY_AFTER};
    for (size_t i = 0; i < TR_COUNT_OF(faults); i++) {
        begin();
        back.first_create = faults[i];
        back.fault = back_fault_of_first;
        make("a.1", 50);
        refresh_stand_pass(20000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 50);
        assert_int_equal(back.job_count, 50);
        refresh_stand_end();
    }
}

/*
 * The engine dies with requests under way. A watch that goes on from its cursor shows whether they
 * made something; where only a list can tell, what is not in it may have ended and been deleted.
 */
static void run_crash(bool is_made, bool is_forgotten)
{
    begin();
    make("a.1", 1);
    let_things_settle();
    back.first_create = is_made ? BACK_SILENT : BACK_LOST;
    back.calls[TR_WEBAPI_VERB_CREATE] = 0;
    back.fault = back_fault_of_first;
    back.latency_ms = 60000;
    (void)refresh_stand_make("a.1");
    refresh_stand_pass(200);
    back.latency_ms = 2;
    back.refuses_places = is_forgotten ? 404 : 0;
    for (uint32_t i = 1; is_made && i < back.job_count; i++) {
        back.jobs[i].is_removed = true; /* it has ended while the engine was away */
        if (!is_forgotten) {
            back_phase(i, TR_TASK_PHASE_SUCCESS);
        }
    }
    refresh_stand_crash();
    refresh_stand_pass(1500);
    back.refuses_places = 0;
    refresh_stand_pass(40000);
}

static void test_a_crash_makes_nothing_twice(void **state)
{
    (void)state;
    run_crash(true, false); /* the watch has shown its end */
    assert_int_equal(back_made("job-1"), 1);
    assert_int_equal(refresh_stand_holder(1)->phase, TR_TASK_PHASE_SUCCESS);
    refresh_stand_end();
    run_crash(true, true); /* nobody can know that it ran */
    assert_int_equal(back_made("job-1"), 1);
    require_deleted(1);
    refresh_stand_end();
    run_crash(false, false); /* the watch shows that it was not made */
    assert_int_equal(back_made("job-1"), 1);
    assert_int_equal(refresh_stand_holder(1)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_end();
}

/* Tasks that have lost their state do not know: one list for all of them. */
static void test_who_does_not_know_is_looked_for_in_a_list(void **state)
{
    (void)state;
    begin();
    make("a.1", 1);
    let_things_settle();
    for (uint32_t i = 0; i < 100; i++) {
        const struct tr_holder_do act = {
            .act = HOLDER_MAKE, .group = tr_text_of("a.1"), .bytes = 100, .is_doubtful = true};
        (void)refresh_stand_make_as(&act);
    }
    refresh_stand_pass(30000);
    assert_int_equal(back.lists, 2);
    require_deleted(100);
    assert_int_equal(back.job_count, 1);
    refresh_stand_end();
}

/* One that was made elsewhere, and moved here: its watch has told all that there was to tell. */
static void test_a_job_that_moves_here_is_asked_about_once(void **state)
{
    (void)state;
    begin();
    make("a.1", 2);
    let_things_settle();
    back_phase(1, TR_TASK_PHASE_SUCCESS);
    refresh_stand_leave(1);
    let_things_settle();
    const struct tr_holder_do act = {
        .act = HOLDER_MAKE, .group = tr_text_of("a.1"), .handle = tr_text_of(back.jobs[1].handle)};
    uint32_t holder = refresh_stand_make_as(&act);
    refresh_stand_pass(15000);
    assert_int_equal(refresh_stand_holder(holder)->phase, TR_TASK_PHASE_SUCCESS);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 1);
    refresh_stand_end();
}

/* What has ended is removed once its task is done with it: together, and again where that fails. */
static void test_what_has_ended_is_removed(void **state)
{
    (void)state;
    begin();
    make("a.1", 1000);
    let_things_settle();
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    let_things_settle();
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 0); /* its task may still read it */
    back.fault = back_fault_of_cancels;
    for (uint32_t i = 0; i < 1000; i++) {
        refresh_stand_drop(i);
    }
    refresh_stand_pass(500);
    back.fault = NULL;
    refresh_stand_crash();
    refresh_stand_pass(10000);
    assert_int_equal(back.items[TR_WEBAPI_VERB_CANCEL], 1000);
    assert_true(back.calls[TR_WEBAPI_VERB_CANCEL] <= 2 * 1000 / 200 + 4);
    assert_int_equal(back.whole_cancels, 0);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    refresh_stand_end();
}

static uint64_t keep_a_minute(const struct tr_webapi_endpoint *endpoint, uint8_t phase)
{
    (void)endpoint;
    return phase == TR_TASK_PHASE_SUCCESS ? 0 : 60000;
}

/* However long an array takes to end, the calls that remove what is left of it are full. */
static void test_removals_are_full_calls(void **state)
{
    (void)state;
    begin();
    make("a.1", 1000);
    let_things_settle();
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    let_things_settle();
    for (uint32_t i = 0; i < 1000; i++) {
        refresh_stand_drop(i);
        refresh_stand_pass(i % 50 == 49 ? 500 : 0);
    }
    refresh_stand_pass(TR_REFRESH_REMOVE_MS);
    assert_int_equal(back.items[TR_WEBAPI_VERB_CANCEL], 1000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 1000 / 200);
    refresh_stand_end();
}

/* What has failed stays for as long as the plugin says; what is to be ended waits for nothing. */
static void test_what_has_failed_is_kept(void **state)
{
    (void)state;
    begin();
    struct tr_webapi_watch watch = *back.webapi.watch;
    watch.keep_ms = keep_a_minute;
    back.webapi.watch = &watch;
    make("a.1", 3);
    let_things_settle();
    back_phase(0, TR_TASK_PHASE_RETRYABLE_FAILURE);
    back_phase(1, TR_TASK_PHASE_SUCCESS);
    let_things_settle();
    refresh_stand_drop(0);
    refresh_stand_drop(1);
    refresh_stand_pass(1000);
    refresh_stand_cancel(2, "a.1");
    refresh_stand_pass(200);
    assert_int_equal(back_live(), 0);
    refresh_stand_pass(50000);
    assert_int_equal(back.items[TR_WEBAPI_VERB_CANCEL], 2);
    refresh_stand_pass(20000);
    assert_int_equal(back.items[TR_WEBAPI_VERB_CANCEL], 3);
    refresh_stand_end();
}

/*
 * A quota: the first calls are refused, and then one at a time is tried, at once when one has
 * ended. So 300 jobs, 10 at a time, take few calls more than they are.
 */
static void test_who_finds_no_room_waits_at_a_gate(void **state)
{
    (void)state;
    begin();
    back.webapi.create.items_max = 1;
    back.room = 10;
    make("a.1", 150);
    make("a.2", 150);
    refresh_stand_pass(500);
    assert_int_equal(back.job_count, 10);
    uint32_t refused = back.calls[TR_WEBAPI_VERB_CREATE] - 10;
    assert_true(refused <= TR_WEBAPI_CALLS_AT_ONCE + 1);
    refresh_stand_pass(60000); /* nobody ends: the probe alone */
    assert_true(back.calls[TR_WEBAPI_VERB_CREATE] <= 10 + refused + 6);
    while (back.job_count < 300) {
        uint32_t before = back.job_count;
        back_phase_all(TR_TASK_PHASE_SUCCESS);
        refresh_stand_pass(1000);
        assert_true(back.job_count > before);
    }
    assert_true(back.calls[TR_WEBAPI_VERB_CREATE] <= 300 + refused + 10);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(200);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 300);
    refresh_stand_end();
}

/* Others have left room, of which nobody tells: the probe finds it, and the rest follow it. */
static void test_a_gate_opens_by_its_probe(void **state)
{
    (void)state;
    begin();
    back.webapi.create.items_max = 1;
    back.room = 1;
    make("a.1", 100);
    refresh_stand_pass(5000);
    assert_int_equal(back.job_count, 1);
    refresh_stand_cancel(1, "a.1"); /* perhaps the probe: another one takes its place */
    refresh_stand_crash();
    back.room = 1000;
    refresh_stand_pass(30000);
    assert_true(back.job_count >= 99);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_INTENT), 0);
    refresh_stand_end();
}

/* Whoever is ended, wherever it waits: the others are made in the end. */
static void test_a_gate_loses_nobody(void **state)
{
    (void)state;
    begin();
    back.webapi.create.items_max = 1;
    back.room = 2;
    make("a.1", 60);
    for (uint32_t i = 0; i < 60; i += 2) {
        refresh_stand_pass(i % 3 == 0 ? 700 : 50);
        refresh_stand_cancel(i, "a.1");
        if (i % 8 == 0) {
            refresh_stand_crash();
        }
    }
    for (uint32_t i = 0; i < 100; i++) {
        refresh_stand_pass(1000);
        back_phase_all(TR_TASK_PHASE_SUCCESS);
    }
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 60);
    refresh_stand_end();
}

/* What lies behind the table of a plugin older than the watched shape is not looked at. */
static void test_an_older_plugin_has_no_watch(void **state)
{
    (void)state;
    begin();
    back.plugin.abi = 1;
    back.webapi.stream = back.standard_stream;
    make("a.1", 10);
    let_things_settle();
    assert_int_equal(back.lists, 0);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], 1);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(2);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 10);
    refresh_stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_a_scope_share_a_watch),
        cmocka_unit_test(test_nobody_is_asked_about),
        cmocka_unit_test(test_a_list_shows_what_was_missed),
        cmocka_unit_test(test_who_is_missing_was_deleted),
        cmocka_unit_test(test_who_was_never_shown_is_asked_about),
        cmocka_unit_test(test_a_grace_ends_what_would_stay_for_ever),
        cmocka_unit_test(test_a_grace_outlives_a_crash),
        cmocka_unit_test(test_a_part_has_a_grace_of_its_own),
        cmocka_unit_test(test_parts_have_a_scope_beside),
        cmocka_unit_test(test_an_older_plugin_gives_no_graces),
        cmocka_unit_test(test_a_crash_forgets_nobody_who_is_missing),
        cmocka_unit_test(test_a_list_that_breaks_off_begins_anew),
        cmocka_unit_test(test_a_silent_watch_begins_anew),
        cmocka_unit_test(test_a_gap_in_the_watch_is_made_up_for),
        cmocka_unit_test(test_a_watch_that_is_cut_goes_on_from_its_cursor),
        cmocka_unit_test(test_scopes_do_not_list_at_once),
        cmocka_unit_test(test_a_line_that_cannot_be_read_is_made_up_for),
        cmocka_unit_test(test_without_streams_all_are_polled),
        cmocka_unit_test(test_the_watch_concludes_unknown_outcomes),
        cmocka_unit_test(test_a_crash_makes_nothing_twice),
        cmocka_unit_test(test_who_does_not_know_is_looked_for_in_a_list),
        cmocka_unit_test(test_a_job_that_moves_here_is_asked_about_once),
        cmocka_unit_test(test_what_has_ended_is_removed),
        cmocka_unit_test(test_removals_are_full_calls),
        cmocka_unit_test(test_what_has_failed_is_kept),
        cmocka_unit_test(test_who_finds_no_room_waits_at_a_gate),
        cmocka_unit_test(test_a_gate_opens_by_its_probe),
        cmocka_unit_test(test_a_gate_loses_nobody),
        cmocka_unit_test(test_an_older_plugin_has_no_watch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
