/*
 * How workflows end: policies, on_failure, finally, aborts and bounds of time.
 */
#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  note: {inputs: {text: {type: string, default: hi}, err: error | none}, run: [x]}\n" \
    "  must: {inputs: {err: error}, outputs: {c: int}, run: [x]}\n"                        \
    "  code: {inputs: {code: string}, run: [x]}\n"                                         \
    "workflows:\n"

#define FAILS .phase = TR_NODE_PHASE_FAILED, .code = "Broken", .message = "it broke"
#define SLOW .delay_ms = 1000

static void expect_phase(struct flow *flow, const char *path, uint8_t phase)
{
    uint8_t found = flow_node_phase(flow, "e", path);
    if (found != phase) {
        print_message("%s: %s\n", path, tr_node_phase_word(found));
    }
    assert_int_equal(found, phase);
}

/* ---------------------------------------------------------------- policies */

/* `bad` fails at once, `slow` runs beside it, `other` may run or not, `next` is behind `bad`. */
#define FOUR                                         \
    "    nodes:\n"                                   \
    "      bad: {task: add, with: {a: 1}}\n"         \
    "      slow: {task: add, with: {a: 2}}\n"        \
    "      other: {task: add, with: {a: $slow.c}}\n" \
    "      next: {task: add, with: {a: $bad.c}}\n"   \
    "      both: {task: add, with: {a: $next.c, b: $other.c}}\n"

static const struct flow_rule four_rules[] = {
    {"bad", {FAILS}}, {"slow", {SLOW}}, {"worse", {FAILS}}, {NULL, {0}}};

static void test_a_failure_ends_what_runs_at_once(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n" FOUR);
    flow_obey(flow, four_rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (bad)");
    assert_string_equal(flow_history(flow, "e", ""), "queued, running, failing, failed");
    expect_phase(flow, "bad", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "slow", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "other", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "next", TR_NODE_PHASE_NOT_YET_STARTED);
    assert_int_equal(flow->aborted, 1);
    assert_string_equal(flow_outputs(flow, "e"), "none");
    flow_free(flow);
}

static void test_finish_runnable_does_what_can_be_done(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    policy: finish_runnable\n" FOUR);
    flow_obey(flow, four_rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (bad)");
    assert_string_equal(flow_history(flow, "e", ""), "queued, running, failing, failed");
    expect_phase(flow, "slow", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "other", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "next", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "both", TR_NODE_PHASE_SKIPPED);
    assert_int_equal(flow->aborted, 0);
    flow_free(flow);
}

static void test_the_first_failure_stays_and_others_are_counted(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    policy: finish_runnable\n"
                                       "    nodes:\n"
                                       "      bad: {task: add, with: {a: 1}}\n"
                                       "      late: {task: add, with: {a: 1}}\n"
                                       "      later: {task: add, with: {a: 1}}\n");
    static const struct flow_rule rules[] = {
        {"bad", {FAILS}}, {"late", {FAILS, .delay_ms = 5}}, {"later", {FAILS, .delay_ms = 9}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (and 2 more) (bad)");
    flow_free(flow);
}

static void test_an_inner_workflow_has_a_policy_of_its_own(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  inner:\n    policy: finish_runnable\n" FOUR
                                       "  main:\n    nodes:\n      w: {workflow: inner}\n"
                                       "      z: {task: add, with: {a: 1}, after: [w]}\n");
    static const struct flow_rule rules[] = {{"w/bad", {FAILS}}, {"w/slow", {SLOW}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (w/bad)");
    assert_string_equal(flow_history(flow, "e", "w"), "running, failing, failed");
    expect_phase(flow, "w/other", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "w/next", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "z", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_free(flow);
}

/* ------------------------------------------------------ on_failure, finally */

static const char *err_of(struct flow *flow, const char *path)
{
    uint32_t task = tr_graph_find_task(flow->graph, tr_text_of("note"));
    return flow_values(flow, "e", path, TR_VALUE_INPUTS,
                       &flow->graph->tasks[task].interface.inputs);
}

#define CLEANED                               \
    "  main:\n"                               \
    "    inputs: {x: int}\n"                  \
    "    nodes:\n"                            \
    "      bad: {task: add, with: {a: $x}}\n" \
    "    outputs: {c: $bad.c}\n"              \
    "    on_failure: {task: note}\n"          \
    "    finally: {task: note, with: {text: over}}\n"

static void test_a_failure_is_cleaned_up_with_its_error(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS CLEANED);
    static const struct flow_rule rules[] = {{"bad", {FAILS}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[1]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_FAILED);
    assert_string_equal(err_of(flow, "on_failure"),
                        "{\"text\":\"hi\",\"err\":"
                        "{\"node\": \"bad\", \"code\": \"Broken\", \"message\": \"it broke\", "
                        "\"element\": null}}");
    assert_string_equal(err_of(flow, "finally"),
                        "{\"text\":\"over\",\"err\":"
                        "{\"node\": \"bad\", \"code\": \"Broken\", \"message\": \"it broke\", "
                        "\"element\": null}}");
    flow_free(flow);
}

static void test_a_success_is_cleaned_up_without_an_error(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS CLEANED);
    flow_run(flow, "main", "[1]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":2}");
    expect_phase(flow, "on_failure", TR_NODE_PHASE_NOT_YET_STARTED);
    assert_string_equal(err_of(flow, "finally"), "{\"text\":\"over\",\"err\":null}");
    flow_free(flow);
}

static void test_cleaning_that_fails_leaves_the_first_error(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS CLEANED);
    static const struct flow_rule rules[] = {
        {"bad", {FAILS}},
        {"on_failure", {.phase = TR_NODE_PHASE_FAILED, .code = "Other"}},
        {"finally", {.phase = TR_NODE_PHASE_FAILED, .code = "Third"}},
        {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[1]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (bad)");
    expect_phase(flow, "on_failure", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "finally", TR_NODE_PHASE_FAILED);
    flow_free(flow);
}

static void test_a_failing_finally_fails_what_had_succeeded(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS CLEANED);
    static const struct flow_rule rules[] = {{"finally", {FAILS}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[1]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (finally)");
    assert_string_equal(flow_history(flow, "e", ""),
                        "queued, running, succeeding, failing, failed");
    expect_phase(flow, "on_failure", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_free(flow);
}

static void test_an_error_that_must_be_there_is_empty_after_a_success(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    nodes: {n: {task: add, with: {a: 1}}}\n"
                                       "    finally: {switch: [{when: $err.code == \"\", task: "
                                       "code, with: {code: $err.message}}, {fail: no}]}\n");
    flow_run(flow, "main", "[]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    expect_phase(flow, "finally", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "finally-n0", TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

/* ------------------------------------------------------------------ aborts */

#define THREE_SLOW                                \
    "    nodes:\n"                                \
    "      a: {task: add, with: {a: 1}}\n"        \
    "      w: {workflow: inner}\n"                \
    "      m: {map: add, with: {a: [1, 2, 3]}}\n" \
    "      z: {task: add, with: {a: $a.c}}\n"

#define INNER                                                  \
    "  inner:\n    nodes: {deep: {task: add, with: {a: 1}}}\n" \
    "    on_failure: {task: note}\n    finally: {task: note}\n"

static const struct flow_rule slow_rules[] = {
    {"a", {SLOW}}, {"w/deep", {SLOW}}, {"m", {SLOW}}, {0}};

static void test_an_abort_reaches_everybody_and_cleans_up(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS INNER "  main:\n" THREE_SLOW "    on_failure: {task: note}\n"
                                             "    finally: {task: note}\n");
    flow_obey(flow, slow_rules);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 10);
    assert_int_equal(flow->alive, 3);
    flow_abort(flow, flow->execution, "no need", false);
    flow_finish(flow);
    assert_int_equal(flow->aborted, 3);
    assert_int_equal(flow->hard, 0);
    assert_string_equal(flow_history(flow, "e", ""), "queued, running, aborting, aborted");
    assert_string_equal(flow_error(flow, "e"), "Aborted: no need ()");
    expect_phase(flow, "w", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "w/deep", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "z", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "on_failure", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "w/on_failure", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "w/finally", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "finally", TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(err_of(flow, "finally"),
                        "{\"text\":\"hi\",\"err\":"
                        "{\"node\": \"\", \"code\": \"Aborted\", \"message\": \"no need\", "
                        "\"element\": null}}");
    flow_free(flow);
}

static void test_a_hard_abort_gets_past_a_soft_one(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS INNER "  main:\n" THREE_SLOW);
    static const struct flow_rule rules[] = {{"a", {.delay_ms = 3600000, .is_deaf = true}},
                                             {"w/deep", {.delay_ms = 3600000, .is_deaf = true}},
                                             {"m", {SLOW}},
                                             {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 10);
    flow_abort(flow, flow->execution, "please", false);
    stage_advance(&flow->stage, 100);
    assert_int_equal(flow->alive, 2);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_ABORTING);
    flow_abort(flow, flow->execution, "please", false); /* saying it twice is saying it once */
    stage_advance(&flow->stage, 100);
    assert_int_equal(flow->aborted, 3);
    flow_abort(flow, flow->execution, "now", true);
    flow_finish(flow);
    assert_int_equal(flow->hard, 2);
    assert_string_equal(flow_history(flow, "e", ""), "queued, running, aborting, aborted");
    assert_string_equal(flow_error(flow, "e"), "Aborted: please ()");
    flow_free(flow);
}

static void test_an_abort_while_a_failure_is_cleaned_up(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS CLEANED);
    static const struct flow_rule rules[] = {{"bad", {FAILS}}, {"on_failure", {SLOW}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[1]", "e");
    stage_advance(&flow->stage, 10);
    expect_phase(flow, "on_failure", TR_NODE_PHASE_RUNNING);
    flow_abort(flow, flow->execution, "enough", false);
    flow_finish(flow);
    assert_string_equal(flow_history(flow, "e", ""), "queued, running, failing, aborting, aborted");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (bad)");
    expect_phase(flow, "on_failure", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "finally", TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

static void test_finally_is_spared_by_an_abort_unless_it_is_hard(void **state)
{
    (void)state;
    static const struct flow_rule rules[] = {{"finally", {SLOW}}, {0}};
    for (int is_hard = 0; is_hard < 2; is_hard++) {
        struct flow *flow = flow_new(TASKS CLEANED);
        flow_obey(flow, rules);
        flow_launch(flow, "main", "[1]", "e");
        stage_advance(&flow->stage, 10);
        expect_phase(flow, "finally", TR_NODE_PHASE_RUNNING);
        flow_abort(flow, flow->execution, "enough", is_hard != 0);
        flow_finish(flow);
        assert_string_equal(flow_history(flow, "e", ""),
                            "queued, running, succeeding, aborting, aborted");
        expect_phase(flow, "finally",
                     is_hard != 0 ? TR_NODE_PHASE_ABORTED : TR_NODE_PHASE_SUCCEEDED);
        flow_free(flow);
    }
}

static void be_slow(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    (void)self;
    (void)task;
    answer->delay_ms = 1000;
}

static void test_ten_thousand_children_are_aborted_in_shares(void **state)
{
    (void)state;
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, TASKS "  main:\n    nodes:\n");
    for (int i = 0; i < 10000; i++) {
        tr_buffer_print(&text, "      n%d: {task: add, with: {a: %d}}\n", i, i);
    }
    tr_buffer_add(&text, "", 1);
    struct flow *flow = flow_new_unrecorded((const char *)text.data);
    flow->script = be_slow;
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    assert_int_equal(flow->alive, 10000);
    flow_abort(flow, flow->execution, "at once", false);
    flow_finish(flow);
    assert_int_equal(flow->aborted, 10000);
    assert_int_equal(flow->ended, 10000);
    flow_free(flow);
    tr_buffer_fini(&text);
}

/* ----------------------------------------------------------- bounds of time */

static void test_a_timeout_ends_the_whole_and_is_cleaned_up(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS INNER "  main:\n    timeout: 100ms\n" THREE_SLOW
                                             "    on_failure: {task: note}\n"
                                             "    finally: {task: note}\n");
    flow_obey(flow, slow_rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_history(flow, "e", ""), "queued, running, timing out, timed out");
    assert_string_equal(flow_error(flow, "e"),
                        "TimeoutExpired: the workflow ran longer than its timeout ()");
    expect_phase(flow, "a", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "w", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "w/deep", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "w/on_failure", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "w/finally", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "on_failure", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "finally", TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

static void test_a_timeout_that_is_not_reached_is_no_news(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS INNER "  main:\n    timeout: 2s\n" THREE_SLOW);
    flow_obey(flow, slow_rules);
    flow_run(flow, "main", "[]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

static void test_a_timeout_bounds_finally_too(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    timeout: 100ms\n"
                                       "    nodes: {n: {task: add, with: {a: 1}}}\n"
                                       "    finally: {task: note}\n");
    static const struct flow_rule rules[] = {{"finally", {SLOW}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_history(flow, "e", ""),
                        "queued, running, succeeding, timing out, timed out");
    expect_phase(flow, "finally", TR_NODE_PHASE_TIMED_OUT);
    flow_free(flow);
}

static void test_a_deadline_ends_an_inner_workflow_and_fails_the_outer(void **state)
{
    (void)state;
    struct flow *flow =
        flow_new(TASKS INNER "  main:\n    nodes:\n      w: {workflow: inner, deadline: 50ms}\n"
                             "      z: {task: add, with: {a: 1}, after: [w]}\n");
    flow_obey(flow, slow_rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_history(flow, "e", "w"), "running, timing out, timed out");
    expect_phase(flow, "w/on_failure", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "w/finally", TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(flow_error(flow, "e"),
                        "TimeoutExpired: the node ran longer than its deadline (w)");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_FAILED);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_failure_ends_what_runs_at_once),
        cmocka_unit_test(test_finish_runnable_does_what_can_be_done),
        cmocka_unit_test(test_the_first_failure_stays_and_others_are_counted),
        cmocka_unit_test(test_an_inner_workflow_has_a_policy_of_its_own),
        cmocka_unit_test(test_a_failure_is_cleaned_up_with_its_error),
        cmocka_unit_test(test_a_success_is_cleaned_up_without_an_error),
        cmocka_unit_test(test_cleaning_that_fails_leaves_the_first_error),
        cmocka_unit_test(test_a_failing_finally_fails_what_had_succeeded),
        cmocka_unit_test(test_an_error_that_must_be_there_is_empty_after_a_success),
        cmocka_unit_test(test_an_abort_reaches_everybody_and_cleans_up),
        cmocka_unit_test(test_a_hard_abort_gets_past_a_soft_one),
        cmocka_unit_test(test_an_abort_while_a_failure_is_cleaned_up),
        cmocka_unit_test(test_finally_is_spared_by_an_abort_unless_it_is_hard),
        cmocka_unit_test(test_ten_thousand_children_are_aborted_in_shares),
        cmocka_unit_test(test_a_timeout_ends_the_whole_and_is_cleaned_up),
        cmocka_unit_test(test_a_timeout_that_is_not_reached_is_no_news),
        cmocka_unit_test(test_a_timeout_bounds_finally_too),
        cmocka_unit_test(test_a_deadline_ends_an_inner_workflow_and_fails_the_outer),
    };
    return cmocka_run_group_tests_name("actors/workflow_end", tests, NULL, NULL);
}
