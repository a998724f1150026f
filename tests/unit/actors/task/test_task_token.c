/*
 * Tasks that wait for the machine of a host, one of several, and what becomes of that when the host
 * is lost.
 */
#include "tests/unit/actors/task_jobs.h"

#define CORES 64000

/* Two that want all of a machine. */
static const struct stand_start first = {.node = "large", .inputs = "{\"a\": 7}"};
static const struct stand_start second = {
    .node = "large", .inputs = "{\"a\": 1}", .is_element = true, .element = 4};

static void tell_machine(uint16_t host)
{
    struct tr_resource_quota machine = {.cpu_millis = CORES, .host = host};
    stage_tell(&stand.stage, stand.engine->resources, &tr_resource_quota_schema, &machine);
}

static void tell_gone(uint16_t host)
{
    struct tr_resource_machine_gone gone = {.host = host};
    stage_tell(&stand.stage, stand.engine->resources, &tr_resource_machine_gone_schema, &gone);
}

/* Both are on host 1, whose machine the first one has. */
static void begin_on_host_1(void)
{
    task_jobs_begin();
    stand_begin_resources(4);
    stand.engine->host = 1;
    tell_machine(1);
    stand_start(&first);
    stand_run(task_jobs_serve);
    stand_start(&second);
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    assert_int_equal(task_jobs_resources()->waiting, 1);
}

static void test_a_task_books_of_the_host_it_is_on(void **state)
{
    (void)state;
    task_jobs_begin();
    stand_begin_resources(4);
    for (uint16_t host = 1; host <= 2; host++) {
        stand.engine->host = host;
        tell_machine(host);
        stand_start(host == 1 ? &first : &second);
        stand_run(task_jobs_serve);
        assert_int_equal(stand_state()->step, TR_STEP_RUN);
    }
    stand_end();
}

/*
 * The host is lost after any number of turns of its engine, and another host goes on with the task,
 * wherever the news of an earlier loss was meanwhile: on its way, heard, or answered.
 */
static void test_a_task_that_waits_goes_on_on_another_host(void **state)
{
    (void)state;
    for (uint32_t turns = 0; turns < 12; turns++) {
        begin_on_host_1();
        tell_gone(1);
        for (uint32_t i = 0; i < turns; i++) {
            (void)stage_step(&stand.stage);
        }
        stand.engine->host = 2;
        stand_crash();
        tell_machine(2);
        tell_gone(1);
        stand_run(task_jobs_serve);
        assert_int_equal(stand_state()->step, TR_STEP_RUN);
        assert_int_equal(task_jobs_resources()->waiting, 0);
        assert_int_equal(task_jobs_resources()->held, 2);
        stand_end();
    }
}

static void keep_asleep(void)
{
    uint64_t group = stand_child().key.group;
    assert_int_equal(tr_host_set_dormant(&stand.stage.host, &group, 1), 0);
}

/* News of a loss while nobody has the task yet: the message waits for it. */
static void test_a_task_that_is_on_its_way_hears_of_it(void **state)
{
    (void)state;
    begin_on_host_1();
    stand.engine->host = 2;
    stand.reopened = keep_asleep;
    stand_crash();
    tell_machine(2);
    tell_gone(1);
    stage_run(&stand.stage);
    assert_int_equal(task_jobs_resources()->waiting, 0); /* it was told, and has not heard it */
    assert_int_equal(stand_state()->step, TR_STEP_TOKEN);
    stand.reopened = NULL;
    assert_int_equal(tr_host_wake(&stand.stage.host, stand_child().key.group), 0);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    stand_end();
}

/* One that has ended meanwhile asks for nothing. */
static void test_a_task_that_was_aborted_does_not_ask_again(void **state)
{
    (void)state;
    begin_on_host_1();
    tell_machine(2);
    stand.engine->host = 2;
    stand_abort(TR_NODE_PHASE_ABORTED, false);
    tell_gone(1);
    stand_run(task_jobs_serve);
    assert_int_equal(stand_ends(), 1);
    assert_int_equal(task_jobs_resources()->waiting, 0);
    assert_int_equal(task_jobs_resources()->held, 1);
    stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_books_of_the_host_it_is_on),
        cmocka_unit_test(test_a_task_that_waits_goes_on_on_another_host),
        cmocka_unit_test(test_a_task_that_is_on_its_way_hears_of_it),
        cmocka_unit_test(test_a_task_that_was_aborted_does_not_ask_again),
    };
    return cmocka_run_group_tests_name("task_token", tests, NULL, NULL);
}
