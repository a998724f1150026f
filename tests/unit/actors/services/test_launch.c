/*
 * Launch nodes: executions of their own that a node begins and waits for, alone and over a map,
 * their failures, aborts and deadlines, and that they begin and end once whatever crashes.
 */
#include <stdio.h>

#include "actors/services/launch.h"
#include "tests/support/flow.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  add: {inputs: {a: int, b: int}, outputs: {c: int}, run: [x]}\n"
    "workflows:\n"
    "  part: {inputs: {x: int, y: {type: int, default: 2}},\n"
    "         nodes: {t: {task: add, with: {a: $x, b: $y}}}, outputs: {c: $t.c}}\n"
    "  short: {inputs: {x: int}, timeout: 20ms,\n"
    "          nodes: {t: {task: add, with: {a: $x, b: 1}}}, outputs: {c: $t.c}}\n"
    "  one: {inputs: {x: int}, nodes: {l: {launch: part, with: {x: $x}}}, outputs: {c: $l.c}}\n"
    "  plan: {inputs: {x: int}, nodes: {l: {launch: fixed, with: {x: $x}}}, outputs: {c: $l.c}}\n"
    "  defaults: {nodes: {l: {launch: given}}, outputs: {c: $l.c}}\n"
    "  late: {nodes: {l: {launch: short, with: {x: 1}}}}\n"
    "  bound: {nodes: {l: {launch: part, with: {x: 1}, deadline: 30ms}}}\n"
    "  maybe: {nodes: {l: {launch: part, with: {x: 1}, optional: true}}, outputs: {c: $l.c}}\n"
    "  two: {nodes: {l: {launch: part, with: {x: 1}},\n"
    "                m: {launch: part, with: {x: 2}, after: [l]}}}\n"
    "  deep: {nodes: {l: {launch: one, with: {x: 3}}}, outputs: {c: $l.c}}\n"
    "  many: {nodes: {l: {map: fixed, with: {x: [1, 2, 3, 4, 5]}, parallelism: 2}},\n"
    "         outputs: {c: $l.c}}\n"
    "  some: {nodes: {l: {map: fixed, with: {x: [1, 2]}, min_successes: 1, errors: e}},\n"
    "         outputs: {c: $l.c}}\n"
    "launch_plans:\n"
    "  fixed: {workflow: part, fixed: {y: 10}}\n"
    "  given: {workflow: part, inputs: {x: 7, y: 8}}\n";

/* The name of what a node of an execution has launched. */
static const char *launched_of(struct flow *flow, const char *name, const char *what,
                               const char *path, uint64_t element)
{
    static char launched[TR_LAUNCH_NAME_BYTES];
    char whole[128];
    struct tr_execution row;
    assert_true(flow_execution(flow, name, &row));
    snprintf(whole, sizeof whole, "default/development/%s", name);
    struct tr_node_start start = {.execution = tr_text_of(whole),
                                  .number = row.execution,
                                  .path = tr_text_of(path),
                                  .element = element};
    tr_launch_name(tr_text_of(what), &start, launched);
    return launched;
}

static const char *launched_by_l(struct flow *flow, const char *name, const char *what)
{
    return launched_of(flow, name, what, "l", TR_ELEMENT_NONE);
}

/* ------------------------------------------------------------------- success */

static void test_it_is_an_execution_of_its_own(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    flow_run(flow, "one", "[5]", "a");
    assert_string_equal(flow_outputs(flow, "a"), "{\"c\":7}");
    assert_string_equal(flow_history(flow, "a", "l"), "queued, running, succeeded");
    const char *name = launched_by_l(flow, "a", "part");
    struct tr_execution row;
    assert_true(flow_execution(flow, name, &row));
    assert_int_equal(row.phase, TR_EXECUTION_SUCCEEDED);
    assert_true(tr_text_equal(row.parent, tr_text_of("/default/development/a/l")));
    assert_true(tr_text_equal(row.cause, tr_text_of("launched by a/l")));
    assert_true(tr_text_equal(row.plan, tr_text_of("")));
    assert_string_equal(flow_outputs(flow, name), "{\"c\":7}");
    struct tr_node_status node;
    char address[128];
    snprintf(address, sizeof address, "/default/development/%s", name);
    assert_true(flow_node(flow, "a", "l", &node));
    assert_true(tr_text_equal(node.kind, tr_text_of("launch")));
    assert_true(tr_text_equal(node.target, tr_text_of(address)));
    flow_free(flow);
}

static void test_a_plan_gives_what_it_fixes_and_its_defaults(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    flow_run(flow, "plan", "[5]", "a");
    assert_string_equal(flow_outputs(flow, "a"), "{\"c\":15}");
    struct tr_execution row;
    assert_true(flow_execution(flow, launched_by_l(flow, "a", "fixed"), &row));
    assert_true(tr_text_equal(row.plan, tr_text_of("fixed")));
    flow_run(flow, "defaults", "[]", "b");
    assert_string_equal(flow_outputs(flow, "b"), "{\"c\":15}");
    flow_free(flow);
}

static void test_launches_nest(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    flow_run(flow, "deep", "[]", "a");
    assert_string_equal(flow_outputs(flow, "a"), "{\"c\":5}");
    flow_free(flow);
}

static void test_names_are_a_nodes_own(void **state)
{
    (void)state;
    char first[TR_LAUNCH_NAME_BYTES];
    char second[TR_LAUNCH_NAME_BYTES];
    struct tr_node_start start = {.execution = tr_text_of("p/d/e"),
                                  .number = 7,
                                  .path = tr_text_of("n"),
                                  .element = TR_ELEMENT_NONE};
    tr_launch_name(tr_text_of("Night_Run"), &start, first);
    assert_int_equal(strncmp(first, "night-run-", 10), 0);
    assert_int_equal(strlen(first), 22);
    tr_launch_name(tr_text_of("Night_Run"), &start, second);
    assert_string_equal(first, second);
    struct tr_node_start others[] = {start, start, start, start};
    others[0].execution = tr_text_of("p/d/f");
    others[1].number = 8;
    others[2].path = tr_text_of("m");
    others[3].element = 0;
    for (size_t i = 0; i < TR_COUNT_OF(others); i++) {
        tr_launch_name(tr_text_of("Night_Run"), &others[i], second);
        assert_string_not_equal(first, second);
    }
    static char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    tr_launch_name(tr_text_of(longest), &start, first);
    assert_int_equal(strlen(first), TR_LAUNCH_NAME_BYTES - 1);
}

/* ------------------------------------------------------------------- failure */

static void test_a_failure_keeps_its_code_and_words(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {
        {"t", {.phase = TR_NODE_PHASE_FAILED, .code = "Odd", .message = "it is odd"}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "one", "[5]", "a");
    char wanted[256];
    snprintf(wanted, sizeof wanted, "Odd: the launched execution %s failed at t: it is odd (l)",
             launched_by_l(flow, "a", "part"));
    assert_int_equal(flow_phase(flow, "a"), TR_EXECUTION_FAILED);
    assert_string_equal(flow_error(flow, "a"), wanted);
    assert_string_equal(flow_error(flow, launched_by_l(flow, "a", "part")), "Odd: it is odd (t)");
    /* Of several levels the words name the deepest one. */
    flow_run(flow, "deep", "[]", "d");
    const char *below = launched_by_l(flow, "d", "one");
    char middle[64];
    snprintf(middle, sizeof middle, "%s", below);
    snprintf(wanted, sizeof wanted, "Odd: the launched execution %s failed at t: it is odd (l)",
             launched_by_l(flow, middle, "part"));
    assert_string_equal(flow_error(flow, "d"), wanted);
    flow_run(flow, "maybe", "[]", "b");
    assert_int_equal(flow_phase(flow, "b"), TR_EXECUTION_SUCCEEDED);
    assert_string_equal(flow_outputs(flow, "b"), "{\"c\":null}");
    flow_free(flow);
}

static void test_an_optional_one_that_succeeds_gives_its_outputs(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    flow_run(flow, "maybe", "[]", "a");
    assert_string_equal(flow_outputs(flow, "a"), "{\"c\":3}");
    flow_free(flow);
}

static void test_a_launched_one_that_times_out(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 5000}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "late", "[]", "a");
    assert_int_equal(flow_node_phase(flow, "a", "l"), TR_NODE_PHASE_TIMED_OUT);
    assert_non_null(strstr(flow_error(flow, "a"), "timed out: the workflow ran longer than"));
    flow_free(flow);
}

static void test_a_launched_one_that_is_aborted_fails_its_node(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 5000}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "one", "[1]", "a");
    stage_run(&flow->stage);
    struct tr_execution row;
    assert_true(flow_execution(flow, launched_by_l(flow, "a", "part"), &row));
    flow_abort(flow, tr_group_root(row.execution), "nobody needs it", false);
    flow_finish(flow);
    char wanted[256];
    snprintf(wanted, sizeof wanted,
             "RemoteChildWorkflowExecutionFailed: the launched execution %s was aborted: nobody "
             "needs it (l)",
             launched_by_l(flow, "a", "part"));
    assert_int_equal(flow_node_phase(flow, "a", "l"), TR_NODE_PHASE_FAILED);
    assert_string_equal(flow_error(flow, "a"), wanted);
    flow_free(flow);
}

static void test_depth_has_a_bound(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const uint8_t five[] = {0x91, 0x05};
    struct tr_launch request = {
        .name = tr_text_of("a"),
        .graph = {.data = flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = tr_graph_find_workflow(flow->graph, tr_text_of("one")),
        .plan = TR_GRAPH_NONE,
        .inputs = {.data = five, .size = sizeof five},
        .depth = TR_LAUNCH_DEPTH_MAX - 1,
    };
    flow_ask(flow, &request);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "a"), TR_EXECUTION_SUCCEEDED);
    request.name = tr_text_of("b");
    request.depth = TR_LAUNCH_DEPTH_MAX;
    flow_ask(flow, &request);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "b"), TR_EXECUTION_FAILED);
    assert_non_null(strstr(flow_error(flow, "b"), "LaunchRefused"));
    assert_non_null(strstr(flow_error(flow, "b"), "TR_LAUNCH_DEPTH_MAX (32)"));
    flow_free(flow);
}

/* --------------------------------------------------------------------- aborts */

static void test_an_abort_goes_on_to_what_was_launched(void **state)
{
    (void)state;
    for (int is_hard = 0; is_hard < 2; is_hard++) {
        struct flow *flow = flow_new(definition);
        static const struct flow_rule rules[] = {{"t", {.delay_ms = 5000}}, {0}};
        flow_obey(flow, rules);
        flow_launch(flow, "deep", "[]", "a");
        stage_run(&flow->stage);
        assert_int_equal(flow->alive, 1);
        flow_abort(flow, flow->execution, "by hand", is_hard != 0);
        flow_finish(flow);
        assert_int_equal(flow->alive, 0);
        assert_int_equal(flow->aborted, 1);
        assert_int_equal(flow->hard, is_hard);
        assert_int_equal(flow_phase(flow, "a"), TR_EXECUTION_ABORTED);
        assert_int_equal(flow_node_phase(flow, "a", "l"), TR_NODE_PHASE_ABORTED);
        const char *name = launched_by_l(flow, "a", "one");
        assert_int_equal(flow_phase(flow, name), TR_EXECUTION_ABORTED);
        assert_non_null(strstr(flow_error(flow, name), "a/l, which launched it, was ended"));
        flow_free(flow);
    }
}

/* An abort that comes before it has begun: it begins, and is ended. */
static void test_an_abort_at_any_moment(void **state)
{
    (void)state;
    for (uint32_t steps = 0; steps < 12; steps++) {
        struct flow *flow = flow_new(definition);
        static const struct flow_rule rules[] = {{"t", {.delay_ms = 5000}}, {0}};
        flow_obey(flow, rules);
        flow_launch(flow, "one", "[1]", "a");
        for (uint32_t i = 0; i < steps; i++) {
            (void)stage_step(&flow->stage);
        }
        flow_abort(flow, flow->execution, "by hand", false);
        flow_finish(flow);
        assert_int_equal(flow->alive, 0);
        assert_int_equal(flow_phase(flow, "a"), TR_EXECUTION_ABORTED);
        flow_free(flow);
    }
}

static void test_a_deadline_ends_what_was_launched(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 5000}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "bound", "[]", "a");
    assert_int_equal(flow_node_phase(flow, "a", "l"), TR_NODE_PHASE_TIMED_OUT);
    assert_string_equal(flow_error(flow, "a"),
                        "TimeoutExpired: the node ran longer than its deadline (l)");
    const char *name = launched_by_l(flow, "a", "part");
    assert_int_equal(flow_phase(flow, name), TR_EXECUTION_ABORTED);
    assert_non_null(strstr(flow_error(flow, name), "longer than its deadline"));
    flow_free(flow);
}

/* --------------------------------------------------------------------- pauses */

static void pause(struct flow *flow, bool is_paused)
{
    struct tr_node_pause word = {.is_paused = is_paused};
    stage_tell(&flow->stage, flow->execution, &tr_node_pause_schema, &word);
    stage_advance(&flow->stage, 100);
}

static void test_what_is_launched_is_not_paused(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "two", "[]", "a");
    stage_run(&flow->stage);
    pause(flow, true);
    assert_int_equal(flow_node_phase(flow, "a", "l"), TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(flow_node_phase(flow, "a", "m"), TR_NODE_PHASE_NOT_YET_STARTED);
    pause(flow, false);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "a"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

/* ----------------------------------------------------------------------- maps */

static void test_a_map_launches_one_for_each_element(void **state)
{
    (void)state;
    struct flow *flow = flow_new_arrays(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 10}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "many", "[]", "a");
    assert_string_equal(flow_outputs(flow, "a"), "{\"c\":[11, 12, 13, 14, 15]}");
    assert_int_equal(flow->alive_max, 2);
    struct tr_execution row;
    assert_true(flow_execution(flow, launched_of(flow, "a", "fixed", "l", 3), &row));
    assert_true(tr_text_equal(row.parent, tr_text_of("/default/development/a/l[3]")));
    struct tr_node_status node;
    assert_true(flow_node(flow, "a", "l", &node));
    assert_true(tr_text_equal(node.target, tr_text_of("fixed")));
    flow_free(flow);
}

/* The first element's fake actor fails; its siblings are left alone. */
static void fail_the_first(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    (void)self;
    if (task->number == 11) {
        *answer = (struct flow_answer){
            .phase = TR_NODE_PHASE_FAILED, .code = "Odd", .message = "it is odd"};
    }
}

static void test_a_map_goes_on_without_some(void **state)
{
    (void)state;
    struct flow *flow = flow_new_arrays(definition);
    flow->script = fail_the_first;
    flow_run(flow, "some", "[]", "a");
    assert_string_equal(flow_outputs(flow, "a"), "{\"c\":[null, 12]}");
    flow_free(flow);
}

static void test_an_abort_of_a_map_ends_all(void **state)
{
    (void)state;
    struct flow *flow = flow_new_arrays(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 5000}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "many", "[]", "a");
    stage_run(&flow->stage);
    assert_int_equal(flow->alive, 2);
    flow_abort(flow, flow->execution, "by hand", false);
    flow_finish(flow);
    assert_int_equal(flow->aborted, 2);
    assert_int_equal(flow_phase(flow, "a"), TR_EXECUTION_ABORTED);
    assert_int_equal(flow_phase(flow, launched_of(flow, "a", "fixed", "l", 1)),
                     TR_EXECUTION_ABORTED);
    flow_free(flow);
}

/* -------------------------------------------------------------------- crashes */

static bool step(struct flow *flow)
{
    tri_sender_flush(&flow->stage.host.sender);
    if (!stage_step(&flow->stage)) {
        flow->stage.now_ns += 1000000;
        flow->stage.wall_ms++;
    }
    return !flow_is_idle(flow);
}

/* A plan launched alone, and a map of launches; each execution has gone its way once. */
static const struct crash_case {
    const char *workflow;
    const char *inputs;
    uint64_t element;
    const char *outputs;
} crash_cases[] = {
    {"plan", "[5]", TR_ELEMENT_NONE, "{\"c\":15}"},
    {"many", "[]", 3, "{\"c\":[11, 12, 13, 14, 15]}"},
};

/* Runs it and crashes after so many steps, or every so many; false when it had ended before. */
static bool crash_after(const struct crash_case *wanted, uint32_t steps, uint32_t every)
{
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 2}}, {0}};
    struct flow *flow = flow_new_arrays(definition);
    flow_obey(flow, rules);
    flow_launch(flow, wanted->workflow, wanted->inputs, "a");
    bool goes_on = true;
    for (uint32_t done = 0; goes_on && done < steps; done++) {
        goes_on = step(flow);
        if (every > 0 && done % every == 0) {
            flow_crash(flow);
        }
    }
    flow_crash(flow);
    /* An execution that was not committed is gone with all else. */
    struct tr_execution row;
    bool was_known = flow_execution(flow, "a", &row);
    flow_finish(flow);
    if (was_known) {
        assert_string_equal(flow_outputs(flow, "a"), wanted->outputs);
        const char *name = launched_of(flow, "a", "fixed", "l", wanted->element);
        assert_string_equal(flow_history(flow, name, ""), "queued, running, succeeding, succeeded");
    }
    flow_free(flow);
    return goes_on;
}

static void test_the_power_may_fail_after_each_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(crash_cases); i++) {
        uint32_t steps = 0;
        while (crash_after(&crash_cases[i], steps, 0)) {
            steps++;
        }
        assert_true(steps > 3);
        for (uint32_t every = 3; every < 8; every++) {
            (void)crash_after(&crash_cases[i], 1000, every);
        }
    }
}

/* ------------------------------------------------------------- strange messages */

static void test_what_nobody_may_say_is_a_dead_letter(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "one", "[1]", "a");
    stage_run(&flow->stage);
    struct tr_ref launch;
    assert_int_equal(
        tr_host_find(&flow->stage.host, tr_text_of("/default/development/a/l"), &launch), 0);
    struct tr_node_ended ended = {.phase = TR_NODE_PHASE_SUCCEEDED};
    struct tr_launch request = {.name = tr_text_of("b"), .launching = flow->client};
    struct tr_launched launched = {.error = TR_LIMIT};
    stage_tell(&flow->stage, flow->execution, &tr_launch_schema, &request);
    stage_tell(&flow->stage, launch, &tr_node_ended_schema, &ended);
    stage_tell(&flow->stage, launch, &tr_launched_schema, &launched);
    tri_sender_flush(&flow->stage.host.sender);
    stage_run(&flow->stage);
    assert_int_equal(stage_dead_letters(&flow->stage, TR_UNKNOWN_TYPE), 3);
    stage_advance(&flow->stage, 100);
    assert_true(flow_is_idle(flow));
    assert_int_equal(flow_phase(flow, "a"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_an_execution_of_its_own),
        cmocka_unit_test(test_a_plan_gives_what_it_fixes_and_its_defaults),
        cmocka_unit_test(test_launches_nest),
        cmocka_unit_test(test_names_are_a_nodes_own),
        cmocka_unit_test(test_a_failure_keeps_its_code_and_words),
        cmocka_unit_test(test_an_optional_one_that_succeeds_gives_its_outputs),
        cmocka_unit_test(test_a_launched_one_that_times_out),
        cmocka_unit_test(test_a_launched_one_that_is_aborted_fails_its_node),
        cmocka_unit_test(test_depth_has_a_bound),
        cmocka_unit_test(test_an_abort_goes_on_to_what_was_launched),
        cmocka_unit_test(test_an_abort_at_any_moment),
        cmocka_unit_test(test_a_deadline_ends_what_was_launched),
        cmocka_unit_test(test_what_is_launched_is_not_paused),
        cmocka_unit_test(test_a_map_launches_one_for_each_element),
        cmocka_unit_test(test_a_map_goes_on_without_some),
        cmocka_unit_test(test_an_abort_of_a_map_ends_all),
        cmocka_unit_test(test_the_power_may_fail_after_each_step),
        cmocka_unit_test(test_what_nobody_may_say_is_a_dead_letter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
