/*
 * The task actor from its first message to its last: what ends at once, what lasts, retries, time
 * limits, aborts, and what plugins do wrong.
 */
#include "schemas/engine/history.h"
#include "tests/unit/actors/task_stand.h"

static const char flow[] =
    "troupe: 1\n"
    "tasks:\n"
    "  copy: {type: echo, inputs: {a: int, s: string}, outputs: {s: string, b: int}}\n"
    "  places: {type: echo, inputs: {a: int, s: string}, outputs: {x: int, y: string, z: int}}\n"
    "  flaky: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 3,\n"
    "          backoff: {first: 100ms, factor: 2, max: 300ms}, config: {fail: 2}}\n"
    "  failing: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 2,\n"
    "            config: {fail: 99, code: Nope, message: not today}}\n"
    "  broken: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 2,\n"
    "           config: {fail: 99, permanent: true}}\n"
    "  crashing: {type: echo, inputs: {a: int}, outputs: {a: int},\n"
    "             config: {fail: 99, system: true}}\n"
    "  slow: {type: echo, inputs: {a: int}, outputs: {a: int}, config: {delay_ms: 1000}}\n"
    "  late: {type: echo, inputs: {a: int}, outputs: {a: int}, timeout: 500ms, retries: 1,\n"
    "         config: {delay_ms: 1000}}\n"
    "  odd: {type: echo, inputs: {a: int}, outputs: {a: int}, config: {speed: 3}}\n"
    "  wrong: {type: echo, inputs: {a: int}, outputs: {a: string}}\n"
    "  nobody: {type: nowhere, inputs: {a: int}, outputs: {a: int}}\n"
    "  nap: {type: core-sleep, inputs: {d: duration}}\n"
    "  doll: {type: fake, inputs: {a: int}, outputs: {b: int}, retries: 1, timeout: 10s}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: int, s: string, d: duration}\n"
    "    nodes:\n"
    "      copy: {task: copy, with: {a: $a, s: $s}}\n"
    "      places: {task: places, with: {a: $a, s: $s}}\n"
    "      flaky: {task: flaky, with: {a: $a}}\n"
    "      failing: {task: failing, with: {a: $a}}\n"
    "      broken: {task: broken, with: {a: $a}}\n"
    "      crashing: {task: crashing, with: {a: $a}}\n"
    "      slow: {task: slow, with: {a: $a}}\n"
    "      bounded: {task: slow, with: {a: $a}, deadline: 700ms}\n"
    "      late: {task: late, with: {a: $a}}\n"
    "      odd: {task: odd, with: {a: $a}}\n"
    "      wrong: {task: wrong, with: {a: $a}}\n"
    "      nobody: {task: nobody, with: {a: $a}}\n"
    "      nap: {task: nap, with: {d: $d}}\n"
    "      doll: {task: doll, with: {a: $a}}\n";

static void start(const char *node)
{
    stand_start(
        &(struct stand_start){.node = node, .inputs = "{\"a\": 7, \"s\": \"x\", \"d\": \"2s\"}"});
}

static void assert_text(struct tr_text text, const char *wanted)
{
    if (!tr_text_equal(text, tr_text_of(wanted))) {
        fail_msg("'%.*s' is not '%s'", TRI_TEXT(text), wanted);
    }
}

static void assert_ended(uint8_t phase)
{
    assert_int_equal(stand.ended_count, 1);
    if (stand.ended.phase != phase) {
        fail_msg("%s: %.*s %.*s", tr_node_phase_word(stand.ended.phase), TRI_TEXT(stand.ended.code),
                 TRI_TEXT(stand.ended.message));
    }
    assert_null(stand_task());
}

static void test_echo_ends_in_its_first_handler(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("copy");
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(stand_outputs(), "[\"x\", 7]");
    assert_int_equal(stand.ended.attempts, 1);
    assert_int_equal(stand.news_count, 0);
    assert_int_equal(stand.ended.phases, 1U << TR_NODE_PHASE_QUEUED | 1U << TR_NODE_PHASE_RUNNING |
                                             1U << TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

/* Names are other ones: by place, and then by type. */
static void test_echo_finds_an_input_for_each_output(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("places");
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(stand_outputs(), "[7, \"x\", 7]");
    stand_end();
}

/* What history has of a task that succeeds at once, and that an element leaves that to others. */
static void test_history_has_each_change(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("copy");
    assert_int_equal(tri_model_record_count(stand.model, tr_phase_schema.id), 4);
    assert_int_equal(tri_model_record_count(stand.model, tr_node_status_schema.id), 1);
    assert_int_equal(tri_model_record_count(stand.model, tr_node_value_schema.id), 2);
    assert_int_equal(tri_model_record_count(stand.model, tr_attempt_schema.id), 1);
    stand_end();
    stand_begin(flow, true);
    stand_start(&(struct stand_start){
        .node = "copy", .inputs = "{\"a\": 7, \"s\": \"x\"}", .is_element = true, .element = 3});
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(tri_model_record_count(stand.model, tr_phase_schema.id), 0);
    assert_int_equal(tri_model_record_count(stand.model, tr_attempt_schema.id), 0);
    stand_end();
    stand_begin(flow, true);
    stand_start(&(struct stand_start){
        .node = "slow", .inputs = "{\"a\": 7}", .is_element = true, .element = 3});
    assert_int_equal(tri_model_record_count(stand.model, tr_attempt_schema.id), 1);
    stage_advance(&stand.stage, 1000);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(tri_model_record_count(stand.model, tr_attempt_schema.id), 1);
    assert_int_equal(tri_model_record_count(stand.model, tr_phase_schema.id), 0);
    stand_end();
}

/* A map's deadline is the array's to keep. */
static void test_an_element_has_no_deadline_of_its_own(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand_start(&(struct stand_start){
        .node = "bounded", .inputs = "{\"a\": 7}", .is_element = true, .element = 0});
    stage_advance(&stand.stage, 1000);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void test_user_failures_are_tried_again_with_growing_waits(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("flaky");
    assert_int_equal(stand_state()->step, TR_STEP_BACKOFF);
    assert_int_equal(stand_state()->node_phase, TR_NODE_PHASE_RETRYABLE_FAILURE);
    uint64_t first = stand_state()->until_ms - STAGE_START_WALL_MS;
    assert_in_range(first, 50, 101);
    stage_advance(&stand.stage, 101);
    uint64_t second = stand_state()->until_ms - STAGE_START_WALL_MS - first;
    assert_in_range(second, 100, 202);
    assert_int_equal(stand_state()->attempt, 2);
    stage_advance(&stand.stage, 201);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(stand.ended.attempts, 3);
    stand_end();
}

static void test_a_used_up_budget_has_flytes_words(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("failing");
    stage_advance(&stand.stage, 5);
    assert_ended(TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.attempts, 3);
    assert_int_equal(stand.ended.failure, TR_FAILURE_USER);
    assert_text(stand.ended.code, "RetriesExhausted|Nope");
    assert_text(stand.ended.message, "not today (the last of 3 attempts)");
    assert_text(stand.ended.flyte_message,
                "[3/3] currentAttempt done. Last Error: USER::not today");
    assert_text(stand.ended.failed, "failing");
    stand_end();
}

static void test_what_is_permanent_is_not_tried_again(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("broken");
    assert_ended(TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.attempts, 1);
    assert_text(stand.ended.code, "EchoFailed");
    stand_end();
}

static void test_the_system_has_a_budget_of_its_own(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("crashing");
    /* 250 ms, 1 s and 4 s, of each at least the half. */
    stage_advance(&stand.stage, 120);
    assert_int_equal(stand_state()->attempt, 1);
    stage_advance(&stand.stage, 2480);
    assert_int_equal(stand_state()->step, TR_STEP_BACKOFF);
    stage_advance(&stand.stage, 2700);
    assert_ended(TR_NODE_PHASE_FAILED);
    assert_int_equal(stand.ended.attempts, 4);
    assert_int_equal(stand.ended.failure, TR_FAILURE_SYSTEM);
    assert_text(stand.ended.message, "it was told to fail (the last of 4 attempts)");
    assert_text(stand.ended.flyte_message,
                "[3/3] currentAttempt done. Last Error: SYSTEM::it was told to fail");
    stand_end();
}

static void test_what_lasts_goes_on_over_a_crash(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("slow");
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    assert_int_equal(stand.news_count, 1);
    assert_int_equal(stand.news[0].phase, TR_NODE_PHASE_RUNNING);
    stage_advance(&stand.stage, 600);
    stand_crash(); /* the clock of the stage begins anew */
    assert_int_equal(stand_state()->step, TR_STEP_RUN);
    stage_advance(&stand.stage, 1001);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(stand_outputs(), "[7]");
    stand_end();
}

static void test_sleep_sleeps(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("nap");
    stage_advance(&stand.stage, 1999);
    assert_int_equal(stand.ended_count, 0);
    stage_advance(&stand.stage, 1);
    assert_ended(TR_NODE_PHASE_SUCCEEDED);
    stand_end();
}

static void test_an_attempt_that_takes_too_long_is_tried_again(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("late");
    stage_advance(&stand.stage, 505);
    assert_int_equal(stand_state()->attempt, 1);
    stage_advance(&stand.stage, 505);
    assert_ended(TR_NODE_PHASE_FAILED);
    assert_text(stand.ended.code, "RetriesExhausted|TimeoutExpired");
    assert_text(stand.ended.message,
                "task execution timeout [500ms] expired (the last of 2 attempts)");
    assert_text(stand.ended.flyte_message,
                "[2/2] currentAttempt done. Last Error: USER::task execution "
                "timeout [500ms] expired");
    stand_end();
}

static void test_a_deadline_bounds_all_attempts(void **state)
{
    (void)state;
    stand_begin(flow, true);
    start("bounded");
    stage_advance(&stand.stage, 699);
    assert_int_equal(stand.ended_count, 0);
    stage_advance(&stand.stage, 1);
    assert_ended(TR_NODE_PHASE_TIMED_OUT);
    assert_text(stand.ended.code, "TimeoutExpired");
    assert_text(stand.ended.message, "task active timeout [700ms] expired");
    stand_end();
}

static void test_what_cannot_run_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        const char *code;
        const char *message;
    } cases[] = {
        {"odd", "BadTaskSpecification",
         "config has no key 'speed'\nits keys are fail, code, message, permanent, system, "
         "delay_ms"},
        {"wrong", "MismatchingTypes", "echo has no input of the type of the output 'a'"},
        {"nobody", "UnsupportedTaskType", "no plugin is there for tasks of type 'nowhere'"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        stand_begin(flow, true);
        start(cases[i].node);
        assert_ended(TR_NODE_PHASE_FAILED);
        assert_text(stand.ended.code, cases[i].code);
        assert_text(stand.ended.message, cases[i].message);
        stand_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_echo_ends_in_its_first_handler),
        cmocka_unit_test(test_echo_finds_an_input_for_each_output),
        cmocka_unit_test(test_history_has_each_change),
        cmocka_unit_test(test_an_element_has_no_deadline_of_its_own),
        cmocka_unit_test(test_user_failures_are_tried_again_with_growing_waits),
        cmocka_unit_test(test_a_used_up_budget_has_flytes_words),
        cmocka_unit_test(test_what_is_permanent_is_not_tried_again),
        cmocka_unit_test(test_the_system_has_a_budget_of_its_own),
        cmocka_unit_test(test_what_lasts_goes_on_over_a_crash),
        cmocka_unit_test(test_sleep_sleeps),
        cmocka_unit_test(test_an_attempt_that_takes_too_long_is_tried_again),
        cmocka_unit_test(test_a_deadline_bounds_all_attempts),
        cmocka_unit_test(test_what_cannot_run_says_why),
    };
    return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
