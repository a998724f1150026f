/*
 * A task that is paused: the attempt that runs goes on, no other begins, and none keeps a token.
 */
#include "tests/unit/actors/task_jobs.h"

static const struct stand_start another = {
    .node = "job", .inputs = "{\"a\": 7}", .is_element = true, .element = 3};

static void test_what_runs_goes_on(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    stand_pause(true);
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

/* The first try has failed, and its wait runs out while the task is paused. */
static void hold_back_a_retry(void)
{
    task_jobs_begin();
    task_jobs.fails_first = true;
    stand_start(JOB_START("waits"));
    stand_run(task_jobs_serve);
    task_jobs_end(JOB_SUCCEEDED);
    assert_int_equal(stand_state()->step, TR_STEP_BACKOFF);
    stand_pause(true);
    stage_advance(&stand.stage, 100000);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    assert_true(stand_state()->is_held);
    assert_int_equal(task_jobs_live(), 0);
}

static void test_no_other_attempt_begins(void **state)
{
    (void)state;
    hold_back_a_retry();
    stand_crash();
    stage_advance(&stand.stage, 100);
    stand_run(task_jobs_serve);
    assert_true(stand_state()->is_held);
    stand_pause(false);
    stand_run(task_jobs_serve);
    assert_int_equal(task_jobs_live(), 1);
    assert_int_equal(stand_state()->attempt, 1);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void test_what_is_held_back_can_be_aborted(void **state)
{
    (void)state;
    hold_back_a_retry();
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    assert_ended(TR_NODE_PHASE_ABORTED);
    stand_end();
}

static void test_a_pause_that_ends_before_the_wait_changes_nothing(void **state)
{
    (void)state;
    task_jobs_begin();
    task_jobs.fails_first = true;
    stand_start(JOB_START("waits"));
    stand_run(task_jobs_serve);
    task_jobs_end(JOB_SUCCEEDED);
    stand_pause(true);
    stand_pause(false);
    assert_int_equal(stand_state()->step, TR_STEP_BACKOFF);
    stage_advance(&stand.stage, 100000);
    stand_run(task_jobs_serve);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

/* What is granted meanwhile is given back at once, and asked for again. */
static void test_a_paused_task_keeps_no_token(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_begin_resources(1);
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    struct tr_ref first = stand_child();
    stand_start(&another);
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    stand_pause(true);
    assert_int_equal(task_jobs_resources()->waiting, 1);
    stand_abort_one(first);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    assert_true(stand_state()->is_held);
    assert_int_equal(task_jobs_resources()->held, 0);
    assert_int_equal(task_jobs_resources()->waiting, 0);
    stand_pause(false);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    task_jobs_end(JOB_SUCCEEDED);
    assert_int_equal(task_jobs_resources()->held, 0);
    stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_runs_goes_on),
        cmocka_unit_test(test_no_other_attempt_begins),
        cmocka_unit_test(test_what_is_held_back_can_be_aborted),
        cmocka_unit_test(test_a_pause_that_ends_before_the_wait_changes_nothing),
        cmocka_unit_test(test_a_paused_task_keeps_no_token),
    };
    return cmocka_run_group_tests_name("task pause", tests, NULL, NULL);
}
