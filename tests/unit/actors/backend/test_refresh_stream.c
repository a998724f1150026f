/*
 * Streams of the refresh actor: one for each group, gone on with from where it was, in place of
 * polls; and what is asked about when one has left something out.
 */
#include <stdio.h>
#include <string.h>

#include "tests/unit/actors/refresh_stand.h"

static void begin(void)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    back.webapi.stream = back.standard_stream;
}

static uint32_t open_streams(void)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < back.stream_count; i++) {
        open += back.streams[i].is_open ? 1 : 0;
    }
    return open;
}

static void drop(uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        refresh_stand_drop(i);
    }
}

/* AT10, AT5: one stream for 5,000 jobs, no polls, and after a restart one stream again. */
static void test_a_stream_takes_the_place_of_polls(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < 5000; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(2000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], 1);
    back_phase_all(TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(1);
    assert_int_equal(refresh_stand_holder(4999)->phase, TR_TASK_PHASE_RUNNING); /* at once */
    refresh_stand_pass(TR_REFRESH_IDLE_MS - 1000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
    uint32_t creates = back.calls[TR_WEBAPI_VERB_CREATE];
    refresh_stand_crash();
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(3000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 5000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], 2);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], creates);
    assert_int_equal(refresh_stand_holder(17)->news, 4); /* submitted, queued, running, ended */
    drop(0, 5000);
    refresh_stand_pass(TR_REFRESH_REST_MS + 10);
    assert_int_equal(open_streams(), 0);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    refresh_stand_end();
}

/*
 * Beside a stream all jobs are looked at in full batches, however their beginnings were spread, and
 * also after hours: what one answer is late by spreads nothing.
 */
static void test_sweeps_stay_together(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < 5000; i++) {
        (void)refresh_stand_make("g");
        refresh_stand_pass(i % 10 == 0 ? 97 : 0);
    }
    back_phase_all(TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(2 * TR_REFRESH_SWEEP_MS);
    for (unsigned interval = 0; interval < 60; interval++) {
        uint32_t calls = back.calls[TR_WEBAPI_VERB_STATUS];
        refresh_stand_pass(TR_REFRESH_SWEEP_MS);
        assert_in_range(back.calls[TR_WEBAPI_VERB_STATUS] - calls, 1, 5000 / 500 + 1);
    }
    refresh_stand_end();
}

/* An array of little parallelism: its group is empty between its waves. */
static void run_waves(uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        (void)refresh_stand_make("g");
        refresh_stand_pass(1500);
        back_phase_all(TR_TASK_PHASE_SUCCESS);
        refresh_stand_pass(100);
        assert_int_equal(refresh_stand_holder(i)->stage, TR_WEBAPI_STAGE_TERMINAL);
        drop(i, i + 1);
        assert_int_equal(refresh_stand_state()->jobs, 0);
        refresh_stand_pass(20000);
    }
}

static void test_waves_have_one_stream(void **state)
{
    (void)state;
    begin();
    run_waves(0, 20);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], 1);
    assert_int_equal(back.told, 2 * 20); /* each event once */
    refresh_stand_crash();
    run_waves(20, 40);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], 2);
    assert_int_equal(back.told, 2 * 40);
    refresh_stand_pass(TR_REFRESH_REST_MS);
    assert_int_equal(open_streams(), 0);
    assert_int_equal(refresh_stand_state()->rows_count, 2); /* the queue and the clock of all */
    refresh_stand_end();
}

/* Groups that rest are bounded, and the oldest go first; a crash makes no difference to when. */
static void test_resting_groups_are_bounded(void **state)
{
    (void)state;
    begin();
    back.place.endpoint.streams_max = 8;
    char group[16];
    for (uint32_t i = 0; i < TR_REFRESH_RESTING_MAX + 20; i++) {
        (void)snprintf(group, sizeof group, "g%u", i);
        (void)refresh_stand_make(group);
        refresh_stand_pass(30);
        drop(i, i + 1);
        assert_true(open_streams() <= 8);
    }
    refresh_stand_pass(2000);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->expiring_count, TR_REFRESH_RESTING_MAX);
    refresh_stand_crash();
    refresh_stand_pass(TR_REFRESH_REST_MS);
    assert_int_equal(refresh_stand_state()->expiring_count, 0);
    assert_int_equal(refresh_stand_state()->expiring, 0);
    assert_int_equal(open_streams(), 0);
    refresh_stand_end();
}

/* AT5 without streams: after a restart all are asked about once, and nothing is made. */
static void test_a_restart_asks_once_about_all(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    for (uint32_t i = 0; i < 5000; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(300000);
    uint32_t creates = back.calls[TR_WEBAPI_VERB_CREATE];
    uint32_t polls = back.calls[TR_WEBAPI_VERB_STATUS];
    refresh_stand_crash();
    (void)refresh_stand_make("other"); /* a new life begins with whatever comes first */
    refresh_stand_pass(6000);
    assert_in_range(back.calls[TR_WEBAPI_VERB_STATUS] - polls, 10, 11);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], creates + 1);
    refresh_stand_end();
}

/* AT14: a stream that does not know its place begins anew, and a sweep asks for what is missing. */
static void test_a_gap_is_swept(void **state)
{
    (void)state;
    begin();
    for (uint32_t i = 0; i < 600; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(2000);
    refresh_stand_crash();
    back.refuses_places = 404;
    for (uint32_t i = 0; i < 300; i++) {
        back.jobs[i].phase = TR_TASK_PHASE_SUCCESS; /* and no event of it is left */
    }
    refresh_stand_pass(9000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 300);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 2);
    assert_int_equal(refresh_stand_state()->streams, 1);
    assert_int_equal(refresh_stand_state()->duplicates, 0);
    refresh_stand_end();
}

/* A place that is refused with another status is given up, too, and not insisted on for ever. */
static void test_a_refused_place_is_given_up(void **state)
{
    (void)state;
    begin();
    (void)refresh_stand_make("g");
    refresh_stand_pass(2000);
    refresh_stand_crash();
    back.refuses_places = 400;
    refresh_stand_pass(9000);
    assert_int_equal(refresh_stand_state()->streams, 1);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(100);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    refresh_stand_end();
}

/* What a stream never says is found by a sweep each minute, which all jobs share. */
static void test_an_idle_stream_is_swept(void **state)
{
    (void)state;
    begin();
    (void)refresh_stand_make("g");
    refresh_stand_pass(1000);
    back.jobs[0].phase = TR_TASK_PHASE_SUCCESS;
    refresh_stand_pass(TR_REFRESH_SWEEP_MS / 2);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_pass(TR_REFRESH_SWEEP_MS + TR_REFRESH_SWEEP_MS / 2);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    refresh_stand_end();
}

/* A back end that hangs takes streams and never says a word by them. */
static void test_a_dead_stream_is_opened_anew(void **state)
{
    (void)state;
    begin();
    back.hangs = true;
    (void)refresh_stand_make("g");
    refresh_stand_pass(1000);
    back.hangs = false; /* the one that is open stays dead */
    back_phase_all(TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(TR_REFRESH_IDLE_MS - 2000);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_UNDEFINED);
    refresh_stand_pass(2000);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_RUNNING);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], 2);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
    assert_int_equal(refresh_stand_state()->stream_timeouts, 1);
    assert_int_equal(refresh_stand_state()->streams, 1);
    refresh_stand_end();
}

/* Whose jobs just take their time is asked ever less often, and each event comes once. */
static void test_a_quiet_stream_is_opened_ever_less_often(void **state)
{
    (void)state;
    begin();
    (void)refresh_stand_make("g");
    refresh_stand_pass(3600000);
    assert_in_range(back.calls[TR_WEBAPI_VERB_STREAM], 20, 26);
    assert_int_equal(open_streams(), 1);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(1);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(back.told, 2);
    refresh_stand_drop(0);
    refresh_stand_pass(10);
    uint32_t calls = back.calls[TR_WEBAPI_VERB_STREAM];
    refresh_stand_pass(TR_REFRESH_REST_MS - 1000); /* nobody has anything to say */
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STREAM], calls);
    refresh_stand_end();
}

static enum back_fault no_create(uint8_t verb, uint32_t nth)
{
    (void)nth;
    return verb == TR_WEBAPI_VERB_CREATE ? BACK_BUSY : BACK_FINE;
}

/* What was silent while the back end did not answer is opened anew as soon as it does. */
static void test_streams_are_opened_anew_behind_an_outage(void **state)
{
    (void)state;
    begin();
    back.hangs = true;
    (void)refresh_stand_make("g");
    refresh_stand_pass(100);
    back.fault = no_create;
    (void)refresh_stand_make("other");
    refresh_stand_pass(2000);
    back.hangs = false;
    back.fault = NULL;
    back_phase_all(TR_TASK_PHASE_RUNNING);
    (void)refresh_stand_make("g");
    refresh_stand_pass(TR_REFRESH_IDLE_RECOVERED_MS + 1000);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_RUNNING);
    assert_int_equal(refresh_stand_holder(2)->phase, TR_TASK_PHASE_QUEUED);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_STATUS], 0);
    refresh_stand_end();
}

/* An endpoint may be asked only. */
static void test_streams_can_be_done_without(void **state)
{
    (void)state;
    begin();
    back.place.endpoint.streams_max = TR_WEBAPI_NO_STREAMS;
    (void)refresh_stand_make("g");
    refresh_stand_pass(2000);
    assert_int_equal(open_streams(), 0);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(12000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 1);
    refresh_stand_drop(0);
    refresh_stand_end();
}

/* Groups beyond the endpoint's streams are polled. */
static void test_streams_are_bounded(void **state)
{
    (void)state;
    begin();
    back.place.endpoint.streams_max = 2;
    char group[16];
    for (int i = 0; i < 5; i++) {
        (void)snprintf(group, sizeof group, "g%d", i);
        (void)refresh_stand_make(group);
    }
    refresh_stand_pass(2000);
    assert_int_equal(open_streams(), 2);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(12000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 5);
    drop(0, 5);
    refresh_stand_pass(TR_REFRESH_REST_MS + 100);
    assert_int_equal(open_streams(), 0);
    refresh_stand_end();
}

static bool has_stream(const char *group)
{
    bool has = false;
    for (uint32_t i = 0; i < back.stream_count; i++) {
        has |= back.streams[i].is_open && strcmp(back.streams[i].group, group) == 0;
    }
    return has;
}

/* A wide group that comes late gets the stream of a narrow one; among many that wait, too. */
static void test_a_wide_group_gets_the_stream_of_a_narrow_one(void **state)
{
    (void)state;
    begin();
    back.place.endpoint.streams_max = 2;
    char group[16];
    for (int i = 0; i < 200; i++) {
        (void)snprintf(group, sizeof group, "g%d", i);
        (void)refresh_stand_make(group);
    }
    refresh_stand_pass(2000);
    for (uint32_t i = 0; i < 12; i++) {
        (void)refresh_stand_make(i < 3 ? "close" : "wide");
    }
    refresh_stand_pass(TR_REFRESH_STREAM_HELD_MS + 5000);
    assert_int_equal(open_streams(), 2);
    assert_true(has_stream("wide"));
    assert_false(has_stream("close")); /* three times as wide is not enough */
    uint32_t calls = back.calls[TR_WEBAPI_VERB_STREAM];
    assert_int_equal(calls, 3);
    refresh_stand_pass(60000); /* it stays where it is, though both are silent */
    assert_true(has_stream("wide"));
    assert_in_range(back.calls[TR_WEBAPI_VERB_STREAM], calls, calls + 2 * 3);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(80000); /* who has lost it is polled */
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 212);
    refresh_stand_end();
}

static enum back_fault lost_create(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth == 1 ? BACK_LOST_AFTER : BACK_FINE;
}

/* However wide a group is, its stream goes to one whose unknown outcomes nothing else can end. */
static void test_an_unknown_outcome_gets_the_stream_that_ends_it(void **state)
{
    (void)state;
    begin();
    back.webapi.find.items_max = 0;
    back.place.endpoint.streams_max = 1;
    back.fault = lost_create;
    for (uint32_t i = 0; i < 40; i++) {
        (void)refresh_stand_make("wide");
    }
    refresh_stand_pass(2000);
    assert_true(has_stream("wide"));
    uint32_t unknown = refresh_stand_make("narrow");
    refresh_stand_pass(2000);
    assert_int_equal(refresh_stand_holder(unknown)->stage, TR_WEBAPI_STAGE_UNKNOWN);
    refresh_stand_pass(TR_REFRESH_STREAM_HELD_MS + 2000);
    assert_int_equal(refresh_stand_holder(unknown)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_pass(TR_REFRESH_STREAM_HELD_MS + 2000);
    assert_true(has_stream("wide")); /* and back, when that is over */
    assert_int_equal(back.job_count, 41);
    refresh_stand_end();
}

static enum back_fault no_streams(uint8_t verb, uint32_t nth)
{
    (void)nth;
    return verb == TR_WEBAPI_VERB_STREAM ? BACK_BUSY : BACK_FINE;
}

/* A stream that is refused is asked for ever less often, and polls go on. */
static void test_without_streams_jobs_are_polled(void **state)
{
    (void)state;
    begin();
    back.fault = no_streams;
    (void)refresh_stand_make("g");
    refresh_stand_pass(1000);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(7000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_in_range(back.calls[TR_WEBAPI_VERB_STREAM], 2, 5);
    refresh_stand_end();
}

/* So much time in few steps: what is due comes late by less than one of them. */
static void pass_minutes(uint32_t minutes)
{
    enum { STEP_MS = 1000 };
    for (uint32_t i = 0; i < minutes * 60000 / STEP_MS; i++) {
        back.stage.now_ns += STEP_MS * 1000000ULL;
        back.stage.wall_ms += STEP_MS;
        refresh_stand_run();
    }
}

/*
 * AT18: a day with an engine that dies every six hours, while the back end forgets what it has
 * kept: the identities and states of jobs that have ended, and in the end the events of all.
 */
static void test_a_day_makes_nothing_again(void **state)
{
    enum { JOBS = 500, ENDED = 250, DROPPED = 125 };
    (void)state;
    begin();
    for (uint32_t i = 0; i < JOBS; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(2000);
    uint32_t creates = back.calls[TR_WEBAPI_VERB_CREATE];
    for (uint32_t i = 0; i < ENDED; i++) {
        back_phase(i, TR_TASK_PHASE_SUCCESS);
    }
    refresh_stand_pass(2000);
    drop(0, DROPPED); /* the others' tasks have not said that they heard it */
    for (uint32_t i = 0; i < ENDED; i++) {
        back.jobs[i].identity[0] = '\0';
        back.jobs[i].handle[0] = '\0';
    }
    for (uint32_t hours = 0; hours < 24; hours += 6) {
        back.refuses_places = hours >= 12 ? 404 : 0;
        refresh_stand_crash();
        pass_minutes(6 * 60);
    }
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], creates);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), JOBS - ENDED);
    for (uint32_t i = ENDED; i < JOBS; i++) {
        back_phase(i, TR_TASK_PHASE_SUCCESS);
    }
    pass_minutes(2);
    assert_int_equal(back.job_count, JOBS);
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_int_equal(refresh_stand_holder(i)->ends, 1);
        assert_int_equal(refresh_stand_holder(i)->unknown_outcomes, 0);
        assert_int_equal(refresh_stand_holder(i)->phase, TR_TASK_PHASE_SUCCESS);
    }
    refresh_stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_takes_the_place_of_polls),
        cmocka_unit_test(test_sweeps_stay_together),
        cmocka_unit_test(test_waves_have_one_stream),
        cmocka_unit_test(test_resting_groups_are_bounded),
        cmocka_unit_test(test_a_restart_asks_once_about_all),
        cmocka_unit_test(test_a_gap_is_swept),
        cmocka_unit_test(test_a_day_makes_nothing_again),
        cmocka_unit_test(test_a_refused_place_is_given_up),
        cmocka_unit_test(test_an_idle_stream_is_swept),
        cmocka_unit_test(test_a_dead_stream_is_opened_anew),
        cmocka_unit_test(test_a_quiet_stream_is_opened_ever_less_often),
        cmocka_unit_test(test_streams_are_opened_anew_behind_an_outage),
        cmocka_unit_test(test_streams_can_be_done_without),
        cmocka_unit_test(test_streams_are_bounded),
        cmocka_unit_test(test_a_wide_group_gets_the_stream_of_a_narrow_one),
        cmocka_unit_test(test_an_unknown_outcome_gets_the_stream_that_ends_it),
        cmocka_unit_test(test_without_streams_jobs_are_polled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
