/*
 * Aborts, time limits and tokens of a task whose work is outside: in the end nothing runs there,
 * and nothing is held.
 */
#include "tests/unit/actors/task_jobs.h"

/* ------------------------------------------------------------------- abort */

static void test_an_abort_ends_what_runs_outside(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    assert_int_equal(task_jobs_live(), 1);
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    assert_int_equal(stand_state()->step, TR_STEP_ABORT);
    assert_int_equal(stand_state()->node_phase, TR_NODE_PHASE_ABORTING);
    assert_false(stand.last_is_hard);
    stand_abort(TR_NODE_PHASE_ABORTED, true); /* again, and without grace */
    assert_true(stand.last_is_hard);
    stand_run(task_jobs_serve);
    assert_ended(TR_NODE_PHASE_ABORTED);
    assert_text(stand.ended.code, "NodeAborted");
    assert_text(stand.ended.message, "the test says so");
    assert_int_equal(stand.finalized, 1);
    assert_int_equal(stand.finalized_phase, TR_TASK_PHASE_ABORTED);
    stand_end();
}

/* A crash at every turn of an abort: its job is gone in the end, always. */
static void test_an_abort_goes_on_wherever_the_engine_dies(void **state)
{
    (void)state;
    for (uint32_t turns = 0; turns < 40; turns++) {
        task_jobs_begin();
        stand_start(JOB_START("job"));
        stand_run(task_jobs_serve);
        struct tr_node_abort abort = {.phase = TR_NODE_PHASE_ABORTED};
        stage_tell(&stand.stage, stand.boss, &tr_node_abort_schema, &abort);
        tri_sender_flush(&stand.stage.host.sender);
        for (uint32_t i = 0; i < turns; i++) {
            (void)stage_step(&stand.stage);
            stand_serve(task_jobs_serve);
        }
        stand_crash();
        stand_run(task_jobs_serve);
        if (stand_ends() == 0) { /* the word itself may be what was lost */
            stand_abort(TR_NODE_PHASE_ABORTED, false);
            stand_run(task_jobs_serve);
        }
        assert_ended(TR_NODE_PHASE_ABORTED);
        stand_end();
    }
}

static void test_an_attempt_that_takes_too_long_is_ended_first(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("bounded"));
    stand_run(task_jobs_serve);
    stage_advance(&stand.stage, 500);
    assert_int_equal(stand_state()->step, TR_STEP_ABORT);
    assert_int_equal(stand_state()->attempt, 0);
    stand_run(task_jobs_serve);
    stage_advance(&stand.stage, 1);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->attempt, 1);
    assert_int_equal(task_jobs_live(), 1);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void test_an_abort_reaches_a_task_that_waits_to_retry(void **state)
{
    (void)state;
    task_jobs_begin();
    task_jobs.fails_first = true;
    stand_start(JOB_START("waits"));
    stand_run(task_jobs_serve);
    task_jobs_end(JOB_SUCCEEDED);
    assert_int_equal(stand_state()->step, TR_STEP_BACKOFF);
    stand_abort(TR_NODE_PHASE_TIMED_OUT, false);
    assert_ended(TR_NODE_PHASE_TIMED_OUT);
    assert_int_equal(stand.ended.attempts, 1);
    assert_int_equal(stand.finalized, 1);
    stand_end();
}

/* --------------------------------------------------------------- resources */

static const struct stand_start another = {
    .node = "job", .inputs = "{\"a\": 7}", .is_element = true, .element = 3};

static void test_a_token_is_waited_for_and_given_back(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_begin_resources(1);
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    struct tr_ref first = stand_child();
    stand_start(&another);
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    assert_int_equal(stand_state()->task_phase, TR_TASK_PHASE_WAITING_FOR_RESOURCES);
    stand_crash();
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    assert_int_equal(task_jobs_resources()->held, 1);
    assert_int_equal(task_jobs_resources()->waiting, 1);
    stand_abort_one(first);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    task_jobs_end(JOB_SUCCEEDED);
    assert_int_equal(task_jobs_resources()->held, 0);
    assert_int_equal(stand_ends(), 2);
    stand_end();
}

static void test_a_task_that_waits_for_a_token_can_be_aborted(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_begin_resources(1);
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    stand_start(&another);
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    assert_int_equal(stand_ends(), 1);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_ABORTED);
    assert_int_equal(task_jobs_resources()->waiting, 0);
    assert_int_equal(task_jobs_resources()->held, 1);
    stand_end();
}

static void test_what_a_machine_does_not_have_is_refused(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_begin_resources(4);
    struct tr_resource_quota machine = {.cpu_millis = 2000};
    stage_tell(&stand.stage, stand.engine->resources, &tr_resource_quota_schema, &machine);
    stand_start(JOB_START("large"));
    assert_ended(TR_NODE_PHASE_FAILED);
    assert_text(stand.ended.code, "ResourcesExceedLimits");
    assert_text(stand.ended.message,
                "it asks for 64000 thousandths of a CPU, and this machine has 2000");
    stand_end();
}

static void test_what_runs_elsewhere_books_nothing(void **state)
{
    (void)state;
    struct tr_plugin elsewhere = stand_fake_plugin;
    const struct tr_plugin *const plugins[] = {&elsewhere};
    elsewhere.is_local = false;
    task_jobs_begin();
    stand_begin_resources(4);
    stand.engine->plugins = plugins;
    stand.engine->plugin_count = 1;
    struct tr_resource_quota machine = {.cpu_millis = 2000};
    stage_tell(&stand.stage, stand.engine->resources, &tr_resource_quota_schema, &machine);
    stand_start(JOB_START("large"));
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    stand_end();
}

static void test_a_dead_holders_token_comes_back(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_begin_resources(1);
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    struct tr_ref first = stand_child();
    stand_start(&another);
    stand_kill(first);
    assert_int_equal(task_jobs_resources()->held, 1);
    assert_int_equal(task_jobs_resources()->waiting, 0);
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_abort_ends_what_runs_outside),
        cmocka_unit_test(test_an_abort_goes_on_wherever_the_engine_dies),
        cmocka_unit_test(test_an_attempt_that_takes_too_long_is_ended_first),
        cmocka_unit_test(test_an_abort_reaches_a_task_that_waits_to_retry),
        cmocka_unit_test(test_a_token_is_waited_for_and_given_back),
        cmocka_unit_test(test_a_task_that_waits_for_a_token_can_be_aborted),
        cmocka_unit_test(test_what_a_machine_does_not_have_is_refused),
        cmocka_unit_test(test_what_runs_elsewhere_books_nothing),
        cmocka_unit_test(test_a_dead_holders_token_comes_back),
    };
    return cmocka_run_group_tests_name("task abort", tests, NULL, NULL);
}
