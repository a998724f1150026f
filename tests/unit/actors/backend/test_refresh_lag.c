/*
 * How long nobody knows: lags, outages, clocks that are set, and jobs that turn up late.
 */
#include <string.h>

#include "tests/unit/actors/refresh_stand.h"

/* What the settings say of the lag goes before the plugin's. */
static void test_the_settings_know_how_late_a_job_may_show(void **state)
{
    (void)state;
    static const uint32_t lags[] = {1000, 20000};
    for (size_t i = 0; i < TR_COUNT_OF(lags); i++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST);
        back.place.endpoint.lag_ms = lags[i];
        (void)refresh_stand_make("g");
        refresh_stand_pass(lags[i] - 100);
        assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_UNKNOWN);
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
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_FINE);
    back.place.endpoint.lost_ms = 200000;
    back.visible_ms = UINT32_MAX;
    (void)refresh_stand_make("g");
    refresh_stand_pass(199000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_pass(80000);
    const struct tr_holder *holder = refresh_stand_holder(0);
    assert_int_equal(holder->unknown_outcomes, 1);
    assert_int_equal(holder->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_true(tr_text_equal(tr_array_get(&holder->code), tr_text_of("OutcomeUnknown")));
    assert_int_equal(back.job_count, 1);
    refresh_stand_end();
}

/* A job shown later than the lag is one too many: it is ended, counted and said. */
static void test_a_job_that_turns_up_late_is_ended(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    refresh_stand_give_stream();
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

/* The last look for what may turn up late counts only where it was answered. */
static void test_a_look_without_an_answer_is_none(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_TAG, BACK_LOST_AFTER);
    back.fault = back_fault_while_away;
    back.visible_ms = 2 * back.webapi.lag_ms; /* it is found neither now nor by the next look */
    (void)refresh_stand_make("g");
    refresh_stand_pass(back.webapi.lag_ms + 1000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    refresh_stand_drop(0);
    back.is_away = true;
    refresh_stand_pass(4 * back.webapi.lag_ms);
    assert_int_equal(back_live(), 1);
    back.is_away = false;
    refresh_stand_pass(70000);
    assert_int_equal(back_live(), 0);
    assert_int_equal(refresh_stand_state()->jobs, 0);
    refresh_stand_end();
}

/* AT7: a back end that shows a job late, or not at all, is believed to have it. */
static void test_a_job_that_is_not_shown_is_not_made_again(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
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
    assert_int_equal(refresh_stand_holder(0)->unknown_outcomes, 1);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_true(refresh_stand_holder(0)->is_unknown);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 1);
    refresh_stand_end();
}

/* People set the clock forward while the engine is down: the lag is not over by that. */
static void test_a_clock_that_is_set_shortens_no_lag(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    back.visible_ms = 2000;
    back.clock_jump_ms = 3600000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(100);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_UNKNOWN);
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
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
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
    assert_int_equal(refresh_stand_holder(0)->unknown_outcomes, 0);
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
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
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
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
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

/* Half an hour in which nobody can tell: the outcome stays unknown, and the policy is not asked. */
static void test_an_outage_decides_nothing(void **state)
{
    (void)state;
    for (uint8_t policy = TR_WEBAPI_POLICY_FAIL; policy <= TR_WEBAPI_POLICY_REPEAT; policy++) {
        refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
        back.fault = back_fault_while_away;
        back.is_away = true;
        (void)refresh_stand_make_as(
            &(struct tr_holder_do){.act = HOLDER_MAKE, .group = tr_text_of("g"), .policy = policy});
        refresh_stand_pass(1800000);
        assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_UNKNOWN);
        back.is_away = false;
        refresh_stand_pass(130000);
        assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
        assert_int_equal(back.job_count, 1);
        refresh_stand_end();
    }
}

/* The safety net trips: with a lag that is shorter than the back end's, jobs are doubled. */
static void test_a_lag_that_lies_doubles_jobs(void **state)
{
    (void)state;
    refresh_stand_begin_with(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, BACK_LOST_AFTER);
    back.visible_ms = 8000;
    (void)refresh_stand_make("g");
    refresh_stand_pass(9000);
    assert_int_equal(back_made("job-0"), 2);
    refresh_stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_settings_know_how_late_a_job_may_show),
        cmocka_unit_test(test_a_job_that_is_not_shown_is_lost_after_a_time),
        cmocka_unit_test(test_a_job_that_turns_up_late_is_ended),
        cmocka_unit_test(test_a_look_without_an_answer_is_none),
        cmocka_unit_test(test_a_job_that_is_not_shown_is_not_made_again),
        cmocka_unit_test(test_a_clock_that_is_set_shortens_no_lag),
        cmocka_unit_test(test_a_clock_that_is_set_loses_no_job),
        cmocka_unit_test(test_patience_begins_when_there_are_answers),
        cmocka_unit_test(test_the_lag_begins_when_the_call_is_over),
        cmocka_unit_test(test_an_outage_decides_nothing),
        cmocka_unit_test(test_a_lag_that_lies_doubles_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
