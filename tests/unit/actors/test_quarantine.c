/*
 * What stands aside: the tasks and jobs of a plugin that has ended the engine too often, and a task
 * whose own handler has failed twice with one message. Nothing is asked for meanwhile, what is
 * outside is neither forgotten nor ended, and who is released goes on.
 */
#include "schemas/engine/history.h"
#include "tests/unit/actors/refresh_stand.h"
#include "tests/unit/actors/task_jobs.h"

static const char words[] = "the plugin is in quarantine";

/* ------------------------------------------------- a plugin: what becomes of its tasks */

static struct tr_engine_plugin known;

static void put_aside(struct tr_engine *engine, const struct tr_plugin *plugin)
{
    known = (struct tr_engine_plugin){.plugin = plugin, .blame = "it 1", .quarantine = words};
    engine->known = &known;
    engine->known_count = 1;
}

static void release(struct tr_engine *engine)
{
    engine->known_count = 0;
}

/* It ends for good, in the words of the quarantine, and has asked nobody for anything. */
static void assert_put_aside(bool is_unknown)
{
    assert_int_equal(stand_ends(), 1);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.failure, TR_FAILURE_SYSTEM);
    assert_int_equal(stand.ended.attempts, 1);
    assert_text(stand.ended.code, "PluginQuarantined");
    assert_text(stand.ended.message, words);
    assert_int_equal(stand.finalized, 0);
    size_t rows = tri_model_record_count(stand.model, tr_attempt_schema.id);
    assert_true(rows > 0);
    const struct tri_op *op = tri_model_record(stand.model, tr_attempt_schema.id, rows - 1);
    struct tr_attempt row;
    assert_int_equal(tr_attempt_unpack(op->data, (uint8_t)op->incarnation, &row), 0);
    assert_int_equal(row.is_unknown, is_unknown);
    assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders);
}

static void test_a_task_of_it_starts_nothing(void **state)
{
    (void)state;
    task_jobs_begin();
    put_aside(stand.engine, &stand_fake_plugin);
    stand_start(JOB_START("job"));
    assert_put_aside(false);
    assert_int_equal(stand_look_outside(), 0);
    stand_end();
}

/* What runs outside runs on: nobody can say how it ends, and nobody ends it. */
static void test_what_runs_for_it_is_unknown(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    uint32_t asked = stand_look_outside();
    put_aside(stand.engine, &stand_fake_plugin);
    stand_crash();
    assert_int_equal(stand_ends(), 0); /* nothing has happened that it would have to hear of */
    struct tr_outside_told told = {.number = JOB_RUNNING, .key = tr_text_of(task_jobs.jobs[0].key)};
    stand_say(TR_SERVICE_PROCESSES, &tr_outside_told_schema, &told);
    assert_put_aside(true);
    assert_int_equal(stand_look_outside(), asked);
    assert_int_equal(task_jobs_live(), 1);
    stand_end();
}

/*
 * The call was under way when the engine died; that it is of unknown outcome, nobody is asked
 * about.
 */
static void test_what_was_asked_for_it_is_unknown(void **state)
{
    (void)state;
    task_jobs_begin();
    task_jobs.is_silent = true;
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    uint32_t asked = stand_look_outside();
    put_aside(stand.engine, &stand_fake_plugin);
    stand_crash();
    assert_put_aside(true);
    assert_int_equal(stand_look_outside(), asked);
    stand_end();
}

static void test_an_abort_of_a_task_of_it_ends_at_once(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    put_aside(stand.engine, &stand_fake_plugin);
    stand_crash();
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    assert_int_equal(stand_ends(), 1);
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_ABORTED);
    assert_int_equal(stand.finalized, 0);
    stand_end();
}

/* Released before anything came for it, it goes on as if nothing had been; its job is the same. */
static void test_a_task_goes_on_after_a_release(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve);
    put_aside(stand.engine, &stand_fake_plugin);
    stand_crash();
    release(stand.engine);
    stand_crash();
    stand_run(task_jobs_serve);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(task_jobs.count, 1);
    stand_end();
}

/* -------------------------------------------- a plugin: what becomes of its jobs at a back end */

static uint32_t all_calls(void)
{
    uint32_t calls = 0;
    for (size_t i = 0; i < BACK_VERBS; i++) {
        calls += back.calls[i];
    }
    return calls;
}

/* The tasks hear what is known; the jobs stay, and those nobody wants any more are ended later. */
static void test_its_jobs_are_kept(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    for (uint32_t i = 0; i < 3; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(2000);
    assert_int_equal(back_live(), 3);
    put_aside(back.engine, &back.plugin);
    refresh_stand_crash();
    uint32_t calls = all_calls();
    refresh_stand_drop(0);
    uint32_t late = refresh_stand_make("g");
    refresh_stand_pass(20000);
    assert_int_equal(all_calls(), calls);
    assert_int_equal(back_live(), 3);
    assert_int_equal(refresh_stand_holder(1)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    release(back.engine);
    refresh_stand_crash();
    refresh_stand_pass(20000);
    assert_int_equal(back.job_count, 4);
    assert_true(back.jobs[0].was_cancelled);
    assert_int_equal(back_live(), 3);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(70000);
    for (uint32_t i = 1; i <= late; i++) {
        assert_int_equal(refresh_stand_holder(i)->phase, TR_TASK_PHASE_SUCCESS);
        assert_int_equal(refresh_stand_holder(i)->ends, 1);
    }
    refresh_stand_end();
}

/* ------------------------------------------------------------- a task that has failed twice */

static bool is_broken;
static uint32_t events;

/* Without memory it is the handler that fails: its message comes again, once. */
static int handle_or_fail(struct tr_task_context *task, struct tr_fake_actor_state *state,
                          const struct tr_task_event *event, struct tr_transition *transition)
{
    events++;
    return is_broken && event->kind != TR_TASK_START
               ? TR_MEMORY
               : task_jobs_handle(task, state, event, transition);
}

static void begin_broken(void)
{
    task_jobs_begin();
    stand.handle = handle_or_fail;
    is_broken = true;
    events = 0;
    stand_start(JOB_START("job"));
    stand_run(task_jobs_serve); /* its job is made, and the answer is what it fails with */
    stage_advance(&stand.stage, 5000);
    assert_int_equal(stand_task()->phase, TRI_QUARANTINED);
}

static void test_a_task_that_stands_still_keeps_its_job(void **state)
{
    (void)state;
    for (int drop = 0; drop < 2; drop++) {
        begin_broken();
        uint32_t asked = stand_look_outside();
        uint32_t heard = events;
        task_jobs_end(JOB_SUCCEEDED); /* it is not heard yet, and not lost */
        stage_advance(&stand.stage, 60000);
        assert_int_equal(stand_look_outside(), asked);
        assert_int_equal(events, heard);
        assert_int_equal(stand_ends(), 0);
        is_broken = false;
        assert_int_equal(tr_host_resume(&stand.stage.host, stand_child(), drop == 1), 0);
        stage_run(&stand.stage);
        assert_ended(TR_NODE_PHASE_SUCCEEDED);
        assert_int_equal(task_jobs.count, 1);
        stand_end();
    }
}

/* It stands still in the next engine, too, which asks for nothing in its place. */
static void test_it_stands_still_over_a_crash(void **state)
{
    (void)state;
    begin_broken();
    uint32_t asked = stand_look_outside();
    uint32_t heard = events;
    stand_crash();
    stage_advance(&stand.stage, 60000);
    assert_int_equal(stand_task()->phase, TRI_QUARANTINED);
    assert_int_equal(events, heard);
    assert_int_equal(stand_look_outside(), asked);
    is_broken = false;
    assert_int_equal(tr_host_resume(&stand.stage.host, stand_child(), false), 0);
    stand_run(task_jobs_serve);
    task_jobs_end(JOB_SUCCEEDED);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(task_jobs.count, 1);
    stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_of_it_starts_nothing),
        cmocka_unit_test(test_what_runs_for_it_is_unknown),
        cmocka_unit_test(test_what_was_asked_for_it_is_unknown),
        cmocka_unit_test(test_an_abort_of_a_task_of_it_ends_at_once),
        cmocka_unit_test(test_a_task_goes_on_after_a_release),
        cmocka_unit_test(test_its_jobs_are_kept),
        cmocka_unit_test(test_a_task_that_stands_still_keeps_its_job),
        cmocka_unit_test(test_it_stands_still_over_a_crash),
    };
    return cmocka_run_group_tests_name("quarantine", tests, NULL, NULL);
}
