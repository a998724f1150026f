/*
 * Calls of unknown end: by the grade of the plugin no job is doubled or lost, or the policy decides
 * and says so; wherever the engine dies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "tests/support/draw.h"
#include "tests/unit/actors/refresh_stand.h"

static enum back_fault first_create;

/* The first call that makes jobs has a fault. */
static enum back_fault fault_of_first(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth == 0 ? first_create : BACK_FINE;
}

/* The same, and for a while nobody is found. */
static bool is_away;

static enum back_fault fault_while_away(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_FIND && is_away ? BACK_BUSY : fault_of_first(verb, nth);
}

static void begin_with(uint8_t grade, enum back_fault fault)
{
    refresh_stand_begin(grade, true);
    first_create = fault;
    back.fault = fault_of_first;
}

static const enum back_fault unsure[] = {BACK_LOST, BACK_LOST_AFTER, BACK_BUSY, BACK_BUSY_AFTER,
                                         BACK_NONSENSE};

/* AT9: exact and reconcilable back ends make each job once, whatever became of the call. */
static void test_sure_grades_make_each_job_once(void **state)
{
    (void)state;
    for (uint8_t grade = TR_WEBAPI_GRADE_RECONCILABLE; grade <= TR_WEBAPI_GRADE_EXACT; grade++) {
        for (size_t f = 0; f < TR_COUNT_OF(unsure); f++) {
            begin_with(grade, unsure[f]);
            back.visible_ms = 2000;
            for (uint32_t i = 0; i < 250; i++) {
                (void)refresh_stand_make("g");
            }
            refresh_stand_pass(15000);
            assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 250);
            assert_int_equal(back.job_count, 250);
            assert_int_equal(refresh_stand_holder(0)->doubts, 1);
            assert_int_equal(refresh_stand_state()->duplicates, 0);
            refresh_stand_end();
        }
    }
}

static void test_what_was_certainly_not_made_is_no_doubt(void **state)
{
    (void)state;
    static const enum back_fault certain[] = {BACK_CONNECT, BACK_THROTTLE, BACK_DENY};
    for (uint8_t grade = TR_WEBAPI_GRADE_NONE; grade <= TR_WEBAPI_GRADE_EXACT; grade++) {
        for (size_t f = 0; f < TR_COUNT_OF(certain); f++) {
            begin_with(grade, certain[f]);
            (void)refresh_stand_make("g");
            refresh_stand_pass(3000);
            assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
            assert_int_equal(refresh_stand_holder(0)->doubts, 0);
            assert_int_equal(back.job_count, 1);
            refresh_stand_end();
        }
    }
}

/* By tag: found, or left to the policy. None: the policy, at once. */
static void test_other_grades_leave_it_to_the_policy(void **state)
{
    (void)state;
    static const struct {
        uint8_t grade;
        uint8_t policy;
        enum back_fault fault;
        uint8_t stage;
        uint32_t made;
    } cases[] = {
        {TR_WEBAPI_GRADE_TAG, TR_WEBAPI_POLICY_FAIL, BACK_LOST_AFTER, TR_WEBAPI_STAGE_SUBMITTED, 1},
        {TR_WEBAPI_GRADE_TAG, TR_WEBAPI_POLICY_FAIL, BACK_LOST, TR_WEBAPI_STAGE_TERMINAL, 0},
        {TR_WEBAPI_GRADE_TAG, TR_WEBAPI_POLICY_REPEAT, BACK_LOST, TR_WEBAPI_STAGE_SUBMITTED, 1},
        {TR_WEBAPI_GRADE_NONE, TR_WEBAPI_POLICY_FAIL, BACK_LOST_AFTER, TR_WEBAPI_STAGE_TERMINAL, 1},
        {TR_WEBAPI_GRADE_NONE, TR_WEBAPI_POLICY_REPEAT, BACK_LOST_AFTER, TR_WEBAPI_STAGE_SUBMITTED,
         2},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        begin_with(cases[i].grade, cases[i].fault);
        (void)refresh_stand_make_as(&(struct tr_holder_do){
            .act = HOLDER_MAKE, .group = tr_text_of("g"), .policy = cases[i].policy});
        refresh_stand_pass(12000);
        const struct tr_holder *holder = refresh_stand_holder(0);
        assert_int_equal(holder->stage, cases[i].stage);
        assert_int_equal(back.job_count, cases[i].made);
        bool has_failed = cases[i].stage == TR_WEBAPI_STAGE_TERMINAL;
        assert_int_equal(holder->is_unknown,
                         has_failed || cases[i].policy == TR_WEBAPI_POLICY_REPEAT);
        if (has_failed) {
            assert_true(tr_text_equal(tr_array_get(&holder->code), tr_text_of("OutcomeUnknown")));
            assert_int_equal(holder->phase, TR_TASK_PHASE_PERMANENT_FAILURE);
        }
        refresh_stand_end();
    }
}

static void give_stream(void)
{
    back.webapi.stream = (struct tr_webapi_stream){
        .write = back.standard_stream.write, .line = back.standard_stream.line, .gone = 404};
}

/* A stream names what was made, so nobody is asked; what it has not shown is asked for, once. */
static void test_a_stream_is_heard_before_anybody_is_asked(void **state)
{
    (void)state;
    for (int was_made = 0; was_made < 2; was_made++) {
        begin_with(TR_WEBAPI_GRADE_RECONCILABLE, was_made != 0 ? BACK_LOST_AFTER : BACK_LOST);
        give_stream();
        back.webapi.find.items_max = 1;
        back.event_ms = 1000;
        for (uint32_t i = 0; i < 40; i++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(back.webapi.lag_ms - 1000);
        refresh_stand_crash();
        assert_int_equal(back.calls[TR_WEBAPI_VERB_FIND], 0);
        refresh_stand_pass(10000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 40);
        assert_int_equal(back.job_count, 40);
        /* The restart has begun the lag anew, so those may be asked for once more. */
        assert_in_range(back.calls[TR_WEBAPI_VERB_FIND], was_made != 0 ? 0 : 40,
                        was_made != 0 ? 0 : 80);
        assert_in_range(back.calls[TR_WEBAPI_VERB_CREATE], 1, was_made != 0 ? 1 : 3);
        assert_int_equal(refresh_stand_holder(0)->doubts, 1);
        refresh_stand_end();
    }
}

static enum back_fault creates_in_trouble(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth < 5 ? first_create : BACK_FINE;
}

/*
 * AT10: a thousand doubts of one group are one question, for what its stream has shown so far; where
 * the answer is of no use each is asked for.
 */
static void test_doubts_of_a_group_are_asked_for_together(void **state)
{
    (void)state;
    static const struct {
        enum back_fault fault;
        bool is_useless;
        bool crashes;
    } cases[] = {{BACK_LOST, false, false},
                 {BACK_LOST, false, true},
                 {BACK_LOST_AFTER, false, false},
                 {BACK_LOST, true, false},
                 {BACK_LOST_AFTER, true, false}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        begin_with(TR_WEBAPI_GRADE_RECONCILABLE, cases[i].fault);
        back.webapi.stream = back.standard_stream;
        back.webapi.find.items_max = 1;
        back.fault = creates_in_trouble;
        back.is_so_far_useless = cases[i].is_useless;
        back.event_ms = 3900; /* of a lag of 4000 */
        back.hangs = true;    /* and the stream is dead */
        for (uint32_t k = 0; k < 1000; k++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(1000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_IN_DOUBT), 1000);
        if (cases[i].crashes) {
            refresh_stand_crash();
        }
        refresh_stand_pass(20000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 1000);
        assert_int_equal(back.job_count, 1000);
        assert_int_equal(refresh_stand_state()->duplicates, 0);
        assert_in_range(back.so_fars, 1, 3);
        assert_in_range(back.calls[TR_WEBAPI_VERB_FIND] - back.so_fars,
                        cases[i].is_useless ? 1000 : 0, cases[i].is_useless ? 1001 : 0);
        refresh_stand_end();
    }
}

/* What its task lost from sight may have been shown before: the stream's past decides nothing. */
static void test_one_that_was_not_known_here_is_asked_for_by_itself(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_FINE);
    back.webapi.stream = back.standard_stream;
    back.webapi.find.items_max = 1;
    for (int i = 0; i < 3; i++) {
        (void)refresh_stand_make_as(&(struct tr_holder_do){
            .act = HOLDER_MAKE, .group = tr_text_of("g"), .is_doubtful = true});
    }
    refresh_stand_pass(10000);
    assert_int_equal(back.so_fars, 0);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_FIND], 3);
    assert_int_equal(back.job_count, 3);
    refresh_stand_end();
}

/* Where streams alone could show it, and the settings want none, the policy decides. */
static void test_who_cannot_look_asks_the_policy(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
    give_stream();
    back.webapi.find.items_max = 0;
    back.place.endpoint.streams_max = TR_WEBAPI_NO_STREAMS;
    (void)refresh_stand_make("g");
    refresh_stand_pass(1000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_true(refresh_stand_holder(0)->is_unknown);
    refresh_stand_end();
}

static enum back_fault second_create_is_lost(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth == 1 ? BACK_LOST : BACK_FINE;
}

/* Where a stream has lost its place something may be missing in it: each is asked for. */
static void test_a_stream_that_lost_its_place_proves_nothing(void **state)
{
    (void)state;
    for (int is_trimmed = 0; is_trimmed < 2; is_trimmed++) {
        begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_FINE);
        back.webapi.stream = back.standard_stream;
        back.webapi.find.items_max = 1;
        back.fault = second_create_is_lost;
        (void)refresh_stand_make("g");
        refresh_stand_pass(2000);
        back.refuses_places = is_trimmed != 0 ? 404 : 0;
        refresh_stand_crash();
        refresh_stand_pass(9000);
        for (int i = 0; i < 3; i++) {
            (void)refresh_stand_make("g");
        }
        refresh_stand_pass(15000);
        assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 4);
        assert_int_equal(back.job_count, 4);
        assert_int_equal(back.so_fars, 1 - is_trimmed);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_FIND], is_trimmed != 0 ? 3 : 1);
        refresh_stand_end();
    }
}

/* While jobs wait to be made, looking for those in doubt takes its share of the rate only. */
static void test_doubts_leave_the_rate_to_others(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
    back.webapi.find.items_max = 1;
    back.place.endpoint.calls_per_second = 20;
    for (uint32_t i = 0; i < 150; i++) {
        (void)refresh_stand_make("doubtful");
    }
    refresh_stand_pass(300);
    for (uint32_t i = 0; i < 150; i++) {
        char group[16];
        (void)snprintf(group, sizeof group, "g%u", i);
        (void)refresh_stand_make(group);
    }
    refresh_stand_pass(250); /* they are ready */
    uint32_t creates = back.calls[TR_WEBAPI_VERB_CREATE];
    uint32_t finds = back.calls[TR_WEBAPI_VERB_FIND];
    refresh_stand_pass(4000);
    creates = back.calls[TR_WEBAPI_VERB_CREATE] - creates;
    finds = back.calls[TR_WEBAPI_VERB_FIND] - finds;
    assert_in_range(creates, 55, 80);
    assert_in_range(finds, 1, creates / (TR_REFRESH_FIND_SHARE - 1) + 1);
    refresh_stand_pass(60000); /* then it has all of it, and comes to an end */
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 300);
    assert_int_equal(back.job_count, 300);
    refresh_stand_end();
}

/* What the settings say of the lag goes before the plugin's. */
static void test_the_settings_know_how_late_a_job_may_show(void **state)
{
    (void)state;
    static const uint32_t lags[] = {1000, 20000};
    for (size_t i = 0; i < TR_COUNT_OF(lags); i++) {
        begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST);
        back.place.endpoint.lag_ms = lags[i];
        (void)refresh_stand_make("g");
        refresh_stand_pass(lags[i] - 100);
        assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_IN_DOUBT);
        refresh_stand_pass(lags[i] / 4 + TR_REFRESH_FIND_MS_MIN);
        assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
        assert_int_equal(back.job_count, 1);
        refresh_stand_end();
    }
}

/* One that was made and is shown no more is looked for after a time, and never made again. */
static void test_a_job_that_is_not_shown_is_lost_after_a_time(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_FINE);
    back.place.endpoint.lost_ms = 200000;
    back.visible_ms = UINT32_MAX;
    (void)refresh_stand_make("g");
    refresh_stand_pass(199000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_pass(80000);
    const struct tr_holder *holder = refresh_stand_holder(0);
    assert_int_equal(holder->doubts, 1);
    assert_int_equal(holder->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_true(tr_text_equal(tr_array_get(&holder->code), tr_text_of("OutcomeUnknown")));
    assert_int_equal(back.job_count, 1);
    refresh_stand_end();
}

/* A job shown later than the lag is one too many: it is ended, counted and said. */
static void test_a_job_that_turns_up_late_is_ended(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
    give_stream();
    back.visible_ms = 7000;
    back.event_ms = 9000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(30000);
    assert_int_equal(back.job_count, 2);
    assert_int_equal(back_live(), 1);
    assert_int_equal(refresh_stand_state()->duplicates, 1);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_end();
}

/* AT11: an abort while it is in doubt; what turns up is ended, before and after it was told. */
static void test_an_abort_in_doubt_leaves_nothing(void **state)
{
    (void)state;
    static const uint32_t visible[] = {500, 3000, 5500};
    for (size_t i = 0; i < TR_COUNT_OF(visible); i++) {
        for (int crashes = 0; crashes < 2; crashes++) {
            begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
            back.visible_ms = visible[i];
            (void)refresh_stand_make("g");
            refresh_stand_pass(100);
            assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_IN_DOUBT);
            refresh_stand_cancel(0, "g");
            if (crashes != 0) {
                refresh_stand_crash();
            }
            refresh_stand_pass(6000);
            refresh_stand_pass(6000);
            assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
            refresh_stand_drop(0);
            refresh_stand_pass(40000);
            assert_int_equal(back_live(), 0);
            assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
            assert_int_equal(refresh_stand_state()->jobs, 0);
            refresh_stand_end();
        }
    }
}

/* The last look for what may turn up late counts only where it was answered. */
static void test_a_look_without_an_answer_is_none(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_TAG, BACK_LOST_AFTER);
    back.fault = fault_while_away;
    back.visible_ms = 2 * back.webapi.lag_ms; /* it is found neither now nor by the next look */
    (void)refresh_stand_make("g");
    refresh_stand_pass(back.webapi.lag_ms + 1000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    refresh_stand_drop(0);
    is_away = true;
    refresh_stand_pass(4 * back.webapi.lag_ms);
    assert_int_equal(back_live(), 1);
    is_away = false;
    refresh_stand_pass(70000);
    assert_int_equal(back_live(), 0);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    refresh_stand_end();
}

/* AT7: a back end that shows a job late, or not at all, is believed to have it. */
static void test_a_job_that_is_not_shown_is_not_made_again(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_GRADE_RECONCILABLE, true);
    back.visible_ms = 60000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(59000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_pass(70000);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_QUEUED);
    back.visible_ms = 100000000; /* it is lost from here on */
    refresh_stand_pass(590000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_pass(200000);
    assert_int_equal(refresh_stand_holder(0)->doubts, 1);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_true(refresh_stand_holder(0)->is_unknown);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
    refresh_stand_end();
}

/* People set the clock forward while the engine is down: the lag is not over by that. */
static void test_a_clock_that_is_set_shortens_no_lag(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
    back.visible_ms = 2000;
    back.clock_jump_ms = 3600000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(100);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_IN_DOUBT);
    refresh_stand_crash();
    refresh_stand_pass(15000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_int_equal(back.job_count, 1);
    refresh_stand_end();
}

/* The same, between two looks at a job that is not shown: patience with it does not end by that. */
static void test_a_clock_that_is_set_loses_no_job(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_GRADE_EXACT, true);
    back.visible_ms = 60000;
    back.clock_jump_ms = 3600000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(10000);
    assert_in_range(back.calls[TR_WEBAPI_VERB_STATUS], 1, 2);
    refresh_stand_crash();
    refresh_stand_pass(10000);
    assert_in_range(back.calls[TR_WEBAPI_VERB_STATUS], 2, 4);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(120000);
    assert_int_equal(refresh_stand_holder(0)->phase, TR_TASK_PHASE_SUCCESS);
    assert_int_equal(refresh_stand_holder(0)->doubts, 0);
    refresh_stand_end();
}

static bool is_down;

static enum back_fault fault_while_down(uint8_t verb, uint32_t nth)
{
    (void)verb;
    (void)nth;
    return is_down ? BACK_BUSY : BACK_FINE;
}

/* Behind an outage a back end does not show its jobs for a moment: none is lost by that. */
static void test_patience_begins_when_there_are_answers(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_GRADE_EXACT, true);
    back.fault = fault_while_down;
    is_down = false;
    back.webapi.status.items_max = 1; /* so that the circuit tries one job at a time */
    for (uint32_t i = 0; i < 30; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(10000);
    is_down = true;
    refresh_stand_pass(1500000);
    is_down = false;
    back.visible_ms = 100000000;
    refresh_stand_pass(70000);
    back.visible_ms = 0;
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(130000);
    for (uint32_t i = 0; i < 30; i++) {
        assert_int_equal(refresh_stand_holder(i)->phase, TR_TASK_PHASE_SUCCESS);
    }
    refresh_stand_end();
}

/* A call leaves when it is committed, however long that takes: the lag begins behind it. */
static void test_the_lag_begins_when_the_call_is_over(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
    back.visible_ms = back.webapi.lag_ms - 1000;
    (void)refresh_stand_make("g");
    back.stage.journal_sleeps = true;
    refresh_stand_pass(2000);
    back.stage.journal_sleeps = false;
    refresh_stand_pass(30000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_int_equal(back.job_count, 1);
    refresh_stand_end();
}

/* Half an hour in which nobody can tell: the doubt lasts, and the policy is not asked. */
static void test_an_outage_decides_nothing(void **state)
{
    (void)state;
    for (uint8_t policy = TR_WEBAPI_POLICY_FAIL; policy <= TR_WEBAPI_POLICY_REPEAT; policy++) {
        begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
        back.fault = fault_while_away;
        is_away = true;
        (void)refresh_stand_make_as(
            &(struct tr_holder_do){.act = HOLDER_MAKE, .group = tr_text_of("g"), .policy = policy});
        refresh_stand_pass(1800000);
        assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_IN_DOUBT);
        is_away = false;
        refresh_stand_pass(130000);
        assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
        assert_int_equal(back.job_count, 1);
        refresh_stand_end();
    }
}

static void test_a_doubtful_wish_is_looked_for_first(void **state)
{
    (void)state;
    for (int is_there = 0; is_there < 2; is_there++) {
        begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_FINE);
        struct tr_holder_do act = {
            .act = HOLDER_MAKE, .group = tr_text_of("g"), .is_doubtful = is_there == 0};
        (void)refresh_stand_make_as(&act);
        if (is_there != 0) { /* what a state that was lost had begun */
            refresh_stand_pass(100);
            refresh_stand_drop(0);
            refresh_stand_pass(0);
        }
        refresh_stand_pass(3000);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], (uint32_t)is_there);
        refresh_stand_pass(3000);
        assert_int_equal(back.job_count, 1);
        refresh_stand_end();
    }
}

/* AT4 in small: the engine dies after so many turns, in each grade that is sure. */
static void test_a_crash_anywhere_makes_each_job_once(void **state)
{
    (void)state;
    for (uint8_t grade = TR_WEBAPI_GRADE_RECONCILABLE; grade <= TR_WEBAPI_GRADE_EXACT; grade++) {
        for (uint32_t turns = 0; turns < 90; turns++) {
            refresh_stand_begin(grade, true);
            back.visible_ms = 100;
            for (uint32_t i = 0; i < 3; i++) {
                (void)refresh_stand_make("g");
            }
            for (uint32_t i = 0; i < turns; i++) {
                if (!stage_step(&back.stage)) {
                    stage_advance(&back.stage, 1);
                }
                refresh_stand_serve();
            }
            refresh_stand_crash();
            refresh_stand_pass(8000);
            for (uint32_t i = 0; i < 3; i++) { /* a task asks again, as after any crash */
                refresh_stand_tell(
                    i, &(struct tr_holder_do){.act = HOLDER_MAKE, .group = tr_text_of("g")});
            }
            refresh_stand_pass(100);
            assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 3);
            assert_int_equal(back.job_count, 3);
            back_phase_all(TR_TASK_PHASE_SUCCESS);
            refresh_stand_pass(25000);
            assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 3);
            refresh_stand_end();
        }
    }
}

/* The safety net trips: with a lag that is shorter than the back end's, jobs are doubled. */
static void test_a_lag_that_lies_doubles_jobs(void **state)
{
    (void)state;
    begin_with(TR_WEBAPI_GRADE_RECONCILABLE, BACK_LOST_AFTER);
    back.visible_ms = 8000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(9000);
    assert_int_equal(back_made("job-0"), 2);
    refresh_stand_end();
}

/* Wherever its job stands, a task that goes on in another store leaves it alone, and ends here. */
static void test_a_job_that_has_left_is_let_be(void **state)
{
    (void)state;
    static const struct {
        enum back_fault fault;
        uint32_t latency_ms;
        uint64_t wait_ms;
    } cases[] = {
        {BACK_FINE, 0, 500}, {BACK_FINE, 2000, 500}, {BACK_LOST_AFTER, 0, 500}, {BACK_FINE, 0, 0}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        begin_with(TR_WEBAPI_GRADE_RECONCILABLE, cases[i].fault);
        back.latency_ms = cases[i].latency_ms;
        (void)refresh_stand_make("g");
        refresh_stand_pass(cases[i].wait_ms);
        refresh_stand_crash(); /* no engine lives while it leaves */
        refresh_stand_leave(0);
        refresh_stand_stop(0);
        refresh_stand_pass(60000);
        assert_int_equal(back_live(), cases[i].wait_ms > 0 ? 1 : 0);
        assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 0);
        assert_int_equal(refresh_stand_state()->jobs, 0);
        refresh_stand_end();
    }
}

static struct draw drawn;

static enum back_fault drawn_fault(uint8_t verb, uint32_t nth)
{
    (void)verb;
    (void)nth;
    static const enum back_fault all[] = {BACK_LOST,       BACK_LOST_AFTER, BACK_BUSY,
                                          BACK_BUSY_AFTER, BACK_NONSENSE,   BACK_CONNECT,
                                          BACK_THROTTLE,   BACK_SILENT};
    return draw_below(&drawn, 4) != 0 ? BACK_FINE : all[draw_below(&drawn, TR_COUNT_OF(all))];
}

/* Whatever fails and whenever the engine dies: once each, and nothing is left when all is over. */
static void play(uint64_t seed)
{
    drawn = (struct draw){.state = seed};
    uint8_t grade =
        draw_below(&drawn, 2) == 0 ? TR_WEBAPI_GRADE_EXACT : TR_WEBAPI_GRADE_RECONCILABLE;
    refresh_stand_begin(grade, true);
    back.fault = drawn_fault;
    back.visible_ms = (uint32_t)draw_below(&drawn, 3000);
    back.event_ms = (uint32_t)draw_below(&drawn, 3000);
    back.latency_ms = (uint32_t)draw_below(&drawn, 200);
    back.webapi.create.items_max = 1 + (uint32_t)draw_below(&drawn, 5);
    back.webapi.ends_groups = draw_below(&drawn, 2) == 0;
    back.webapi.stream.write = draw_below(&drawn, 2) == 0 ? back.standard_stream.write : NULL;
    back.webapi.find.items_max = draw_below(&drawn, 2) == 0 ? 1 : 100;
    back.place.endpoint.timeout_ms = 3000;
    static const char *const groups[] = {"a", "b", "c"};
    bool is_cancelled[40] = {0};
    uint32_t count = 0;
    for (int i = 0; i < 60; i++) {
        size_t what = draw_below(&drawn, 10);
        if (what < 5 && count < TR_COUNT_OF(is_cancelled)) {
            (void)refresh_stand_make(groups[count++ % 3]);
        } else if (what < 7 && count > 0) {
            uint32_t number = (uint32_t)draw_below(&drawn, count);
            refresh_stand_cancel(number, groups[number % 3]);
            is_cancelled[number] = true;
        } else if (what == 7) {
            refresh_stand_pass(draw_below(&drawn, 3000));
            refresh_stand_crash();
        } else {
            back.hangs = draw_below(&drawn, 4) == 0;
            refresh_stand_pass(draw_below(&drawn, 600));
        }
    }
    back.hangs = false;
    back.fault = NULL;
    refresh_stand_pass(150000);
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "job-%u", i);
        const struct tr_holder *holder = refresh_stand_holder(i);
        assert_int_equal(holder->stage,
                         is_cancelled[i] ? TR_WEBAPI_STAGE_TERMINAL : TR_WEBAPI_STAGE_SUBMITTED);
        assert_true(is_cancelled[i] ? back_made(name) <= 1 : back_made(name) == 1);
    }
    assert_int_equal(refresh_stand_state()->duplicates, 0);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(150000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(refresh_stand_holder(i)->ends, 1);
        refresh_stand_drop(i);
    }
    refresh_stand_pass(20000 + TR_REFRESH_REST_MS);
    assert_int_equal(back.repeated, 0);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->streams, 0);
    refresh_stand_end();
}

static void test_whatever_fails_each_job_is_made_once(void **state)
{
    (void)state;
    const char *wanted = getenv("TROUPE_TEST_SEED");
    uint64_t from = wanted == NULL ? 1 : strtoull(wanted, NULL, 10);
    uint64_t to = wanted == NULL ? getenv("TROUPE_TEST_LONG") != NULL ? 400 : 12 : from;
    for (uint64_t seed = from; seed <= to; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        play(seed);
    }
}

/* ------------------------------------------------------------ memory that ends */

/* One allocation of the actor's handlers fails, the one after so many others. */
static uint64_t allocations_left;
static bool has_failed;

static bool allow(void *self, size_t size)
{
    (void)self;
    (void)size;
    bool fails = !has_failed && allocations_left-- == 0;
    has_failed |= fails;
    return !fails;
}

static int handle_without_memory(struct tr_context *context, void *state,
                                 const struct tr_message *message)
{
    tr_memory_hook_set(allow, NULL);
    int error = tr_refresh_behaviour.handle(context, state, message);
    tr_memory_hook_set(NULL, NULL);
    return error;
}

static void run_without_memory(uint64_t count, bool is_durable)
{
    allocations_left = count;
    has_failed = false;
    refresh_stand_begin(TR_WEBAPI_GRADE_RECONCILABLE, is_durable);
    back.webapi.stream = back.standard_stream;
    back.webapi.create.items_max = 2;
    for (int i = 0; i < 5; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(250);
    refresh_stand_cancel(4, "g");
    refresh_stand_pass(50);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(250);
    assert_int_equal(back.job_count, 5);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(refresh_stand_holder(i)->ends, 1);
        refresh_stand_drop(i);
    }
    refresh_stand_pass(50);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    assert_int_equal(refresh_stand_state()->doubts, 0);
    refresh_stand_end();
}

/* The handler in hand is run again, and what was asked for is asked for once. */
static void test_memory_that_ends_for_a_moment_changes_nothing(void **state)
{
    (void)state;
    struct tr_behaviour wrapper = tr_refresh_behaviour;
    wrapper.handle = handle_without_memory;
    refresh_stand_behaviour = &wrapper;
    uint64_t count = 0;
    do {
        run_without_memory(count, count % 2 == 0);
        count++;
        assert_true(count < 10000);
    } while (has_failed);
    assert_true(count > 50);
    print_message("%llu allocations\n", (unsigned long long)count);
    refresh_stand_behaviour = &tr_refresh_behaviour;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sure_grades_make_each_job_once),
        cmocka_unit_test(test_what_was_certainly_not_made_is_no_doubt),
        cmocka_unit_test(test_other_grades_leave_it_to_the_policy),
        cmocka_unit_test(test_a_job_that_has_left_is_let_be),
        cmocka_unit_test(test_a_stream_is_heard_before_anybody_is_asked),
        cmocka_unit_test(test_doubts_of_a_group_are_asked_for_together),
        cmocka_unit_test(test_one_that_was_not_known_here_is_asked_for_by_itself),
        cmocka_unit_test(test_who_cannot_look_asks_the_policy),
        cmocka_unit_test(test_a_stream_that_lost_its_place_proves_nothing),
        cmocka_unit_test(test_doubts_leave_the_rate_to_others),
        cmocka_unit_test(test_the_settings_know_how_late_a_job_may_show),
        cmocka_unit_test(test_a_job_that_is_not_shown_is_lost_after_a_time),
        cmocka_unit_test(test_a_job_that_turns_up_late_is_ended),
        cmocka_unit_test(test_an_abort_in_doubt_leaves_nothing),
        cmocka_unit_test(test_a_look_without_an_answer_is_none),
        cmocka_unit_test(test_a_job_that_is_not_shown_is_not_made_again),
        cmocka_unit_test(test_a_clock_that_is_set_shortens_no_lag),
        cmocka_unit_test(test_a_clock_that_is_set_loses_no_job),
        cmocka_unit_test(test_patience_begins_when_there_are_answers),
        cmocka_unit_test(test_the_lag_begins_when_the_call_is_over),
        cmocka_unit_test(test_an_outage_decides_nothing),
        cmocka_unit_test(test_a_doubtful_wish_is_looked_for_first),
        cmocka_unit_test(test_a_crash_anywhere_makes_each_job_once),
        cmocka_unit_test(test_a_lag_that_lies_doubles_jobs),
        cmocka_unit_test(test_memory_that_ends_for_a_moment_changes_nothing),
        cmocka_unit_test(test_whatever_fails_each_job_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
