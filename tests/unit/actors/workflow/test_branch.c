/*
 * Branches: which arm is taken, what becomes of the others, what the branch gives and how it ends.
 */
#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  maybe: {inputs: {a: int | none}, outputs: {c: int}, run: [x]}\n"                    \
    "  make: {inputs: {n: int}, outputs: {s: struct, i: [int]}, run: [x]}\n"               \
    "workflows:\n"

#define FAILS .phase = TR_NODE_PHASE_FAILED, .code = "Broken", .message = "it broke"

static void expect_phase(struct flow *flow, const char *path, uint8_t phase)
{
    uint8_t found = flow_node_phase(flow, "e", path);
    if (found != phase) {
        print_message("%s: %s\n", path, tr_node_phase_word(found));
    }
    assert_int_equal(found, phase);
}

#define CHOICE                                                                       \
    "  main:\n"                                                                      \
    "    inputs: {x: int}\n"                                                         \
    "    nodes:\n"                                                                   \
    "      s:\n"                                                                     \
    "        switch:\n"                                                              \
    "          - {when: $x > 100, task: add, with: {a: $x}}\n"                       \
    "          - {when: $x > 10, task: add, with: {a: 1000, b: $x}}\n"               \
    "          - {when: $x < 0, switch: [{when: $x < -10, task: add, with: {a: 1}}," \
    " {else: {task: add, with: {a: 2}}}]}\n"

static void test_the_first_condition_that_holds_decides(void **state)
{
    (void)state;
    static const struct {
        const char *inputs;
        const char *outputs;
        const char *taken;
    } cases[] = {{"[500]", "{\"c\":501}", "s-n0"},
                 {"[50]", "{\"c\":1050}", "s-n1"},
                 {"[-50]", "{\"c\":2}", "s-n2-n0"},
                 {"[-5]", "{\"c\":3}", "s-n2-n1"},
                 {"[5]", "{\"c\":4}", "s-n3"}};
    static const char *const leaves[] = {"s-n0", "s-n1", "s-n2-n0", "s-n2-n1", "s-n3"};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct flow *flow = flow_new(TASKS CHOICE "          - else: {task: add, with: {a: 3}}\n"
                                                  "    outputs: {c: $s.c}\n");
        flow_run(flow, "main", cases[i].inputs, "e");
        assert_string_equal(flow_outputs(flow, "e"), cases[i].outputs);
        for (size_t k = 0; k < TR_COUNT_OF(leaves); k++) {
            bool is_taken = strcmp(leaves[k], cases[i].taken) == 0;
            expect_phase(flow, leaves[k],
                         is_taken ? TR_NODE_PHASE_SUCCEEDED : TR_NODE_PHASE_SKIPPED);
        }
        assert_string_equal(flow_history(flow, "e", "s"), "running, succeeded");
        flow_free(flow);
    }
}

/* A value that its arm should not have given is shown, with its type and who gave it. */
static void test_an_arm_may_give_what_does_not_fit(void **state)
{
    (void)state;
    static const uint8_t text[] = "\x91\xa4text";
    static const struct flow_rule rules[] = {{"s-n0", {.outputs = {text, sizeof text - 1}}}, {0}};
    struct flow *flow = flow_new(TASKS CHOICE "          - else: skip\n    outputs: {c: $s.c}\n");
    flow_obey(flow, rules);
    flow_run(flow, "main", "[500]", "e");
    assert_string_equal(flow_error(flow, "e"),
                        "MismatchingTypes: the output 'c' of 'add' holds 'text', which does not "
                        "fit the declared type int | none (s)");
    flow_free(flow);
}

static void test_a_branch_that_skips_gives_none(void **state)
{
    (void)state;
    const char *text = TASKS CHOICE "          - else: skip\n"
                                    "      m: {task: maybe, with: {a: $s.c}}\n"
                                    "    outputs: {c: $s.c, d: $m.c}\n";
    struct flow *flow = flow_new(text);
    flow_run(flow, "main", "[5]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":null,\"d\":1}");
    expect_phase(flow, "s", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "s-n0", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "s-n2-n1", TR_NODE_PHASE_SKIPPED);
    flow_free(flow);
    flow = flow_new(text);
    flow_run(flow, "main", "[500]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":501,\"d\":501}");
    flow_free(flow);
}

static void test_a_branch_fails_with_its_message(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS CHOICE "          - fail: \"x is in between\"\n"
                                              "    outputs: {c: $s.c}\n");
    flow_run(flow, "main", "[5]", "e");
    assert_string_equal(flow_error(flow, "e"), "UserProvidedError: x is in between (s)");
    expect_phase(flow, "s", TR_NODE_PHASE_FAILED);
    flow_free(flow);
}

static void test_the_failure_of_an_arm_is_its_branchs(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS CHOICE "          - else: skip\n"
                                              "      z: {task: maybe, with: {a: $s.c}}\n");
    static const struct flow_rule rules[] = {{"s-n2-n1", {FAILS}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[-5]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (s-n2-n1)");
    expect_phase(flow, "s-n2", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "s", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "z", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_free(flow);
}

static void test_an_optional_branch_goes_on_when_its_arm_fails(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    inputs: {x: int}\n    nodes:\n"
                                       "      s:\n        optional: true\n        switch:\n"
                                       "          - {when: $x > 1, task: add, with: {a: 1}}\n"
                                       "          - fail: \"too small\"\n"
                                       "      z: {task: maybe, with: {a: $s.c}}\n"
                                       "    outputs: {z: $z.c, s: $s.c}\n");
    static const struct flow_rule rules[] = {{"s-n0", {FAILS}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[5]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"z\":1,\"s\":null}");
    expect_phase(flow, "s", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "s-n0", TR_NODE_PHASE_FAILED);
    flow_run(flow, "main", "[0]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"z\":1,\"s\":null}");
    expect_phase(flow, "s", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "s-n0", TR_NODE_PHASE_SKIPPED);
    flow_free(flow);
}

static void test_an_arm_waits_for_what_it_refers_to(void **state)
{
    (void)state;
    const char *text = TASKS "  main:\n    inputs: {x: int}\n    policy: finish_runnable\n"
                             "    nodes:\n"
                             "      slow: {task: add, with: {a: 1}}\n"
                             "      s:\n        switch:\n"
                             "          - {when: $x > 1, task: add, with: {a: $slow.c}}\n"
                             "          - else: {task: add, with: {a: 5}}\n"
                             "      z: {task: add, with: {a: $s.c}}\n"
                             "    outputs: {z: $z.c}\n";
    static const struct flow_rule slow[] = {{"slow", {.delay_ms = 100}}, {0}};
    static const struct flow_rule bad[] = {{"slow", {FAILS, .delay_ms = 100}}, {0}};
    struct flow *flow = flow_new(text);
    flow_obey(flow, slow);
    flow_launch(flow, "main", "[2]", "e");
    stage_advance(&flow->stage, 50);
    expect_phase(flow, "s", TR_NODE_PHASE_RUNNING);
    expect_phase(flow, "s-n0", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"z\":4}");
    /* The arm that is not taken waits for nobody; but a node that fails has failed. */
    flow_obey(flow, bad);
    flow_launch(flow, "main", "[0]", "e");
    stage_advance(&flow->stage, 50);
    expect_phase(flow, "s-n0", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "z", TR_NODE_PHASE_SUCCEEDED);
    flow_finish(flow);
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (slow)");
    /* An arm that is taken and cannot run is skipped, and so is its branch. */
    flow_run(flow, "main", "[2]", "e");
    assert_string_equal(flow_error(flow, "e"), "Broken: it broke (slow)");
    expect_phase(flow, "s-n0", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "s-n1", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "s", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "z", TR_NODE_PHASE_SKIPPED);
    flow_free(flow);
}

static void test_a_skipped_branch_skips_all_its_arms(void **state)
{
    (void)state;
    struct flow *flow =
        flow_new(TASKS "  main:\n    policy: finish_runnable\n    nodes:\n"
                       "      bad: {task: add, with: {a: 1}}\n"
                       "      s:\n        switch:\n"
                       "          - {when: $bad.c > 1, switch: [{when: $bad.c > 2, task: add, "
                       "with: {a: 1}}, {else: skip}]}\n"
                       "          - else: {task: add, with: {a: 5}}\n");
    static const struct flow_rule rules[] = {{"bad", {FAILS}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    expect_phase(flow, "s", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "s-n0", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "s-n0-n0", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "s-n1", TR_NODE_PHASE_SKIPPED);
    flow_free(flow);
}

static void test_conditions_that_cannot_be_asked(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    inputs: {v: struct}\n    nodes:\n"
                                       "      s:\n        switch:\n"
                                       "          - {when: $v.a > 1, task: add, with: {a: 1}}\n"
                                       "          - {when: $v.b == 1, task: add, with: {a: 2}}\n"
                                       "          - else: {task: add, with: {a: 5}}\n"
                                       "    outputs: {c: $s.c}\n");
    flow_run(flow, "main", "[{\"a\": 5}]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":2}"); /* `b` is not asked for */
    flow_run(flow, "main", "[{\"a\": 0}]", "e");
    assert_string_equal(flow_error(flow, "e"),
                        "BindingResolutionError: 'v.b' gets $v.b, which is not there: no such "
                        "field or element (s)");
    flow_run(flow, "main", "[{\"a\": \"much\", \"b\": 1}]", "e");
    assert_string_equal(flow_error(flow, "e"),
                        "MalformedBranchUserError: a condition compares values of different kinds; "
                        "a duration or a datetime compares with text in its form, and a number "
                        "with numbers alone (s)");
    flow_free(flow);
}

static void test_many_arms_are_skipped_in_shares(void **state)
{
    (void)state;
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, TASKS "  main:\n    inputs: {x: int}\n    nodes:\n"
                                      "      s:\n        switch:\n");
    for (int i = 0; i < 1000; i++) {
        tr_buffer_print(&text, "          - {when: $x == %d, task: add, with: {a: %d}}\n", i, i);
    }
    tr_buffer_add_string(&text, "          - else: skip\n"
                                "      z: {task: maybe, with: {a: $s.c}}\n"
                                "    outputs: {z: $z.c}\n");
    tr_buffer_add(&text, "", 1);
    struct flow *flow = flow_new((const char *)text.data);
    flow_run(flow, "main", "[700]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"z\":701}");
    expect_phase(flow, "s-n699", TR_NODE_PHASE_SKIPPED);
    expect_phase(flow, "s-n999", TR_NODE_PHASE_SKIPPED);
    flow_run(flow, "main", "[-1]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"z\":1}");
    flow_free(flow);
    tr_buffer_fini(&text);
}

/* ------------------------------------------------------- deadlines, aborts */

static const char bounded[] =
    TASKS "  main:\n    inputs: {x: int}\n    nodes:\n"
          "      slow: {task: add, with: {a: 1}}\n"
          "      s:\n        deadline: 50ms\n        switch:\n"
          "          - {when: $x == 1, task: add, with: {a: $slow.c}}\n"
          "          - {when: $x == 2, switch: [{when: $x == 2, task: add, with: {a: 1}}, "
          "{else: {task: add, with: {a: 2}}}]}\n"
          "          - else: {task: add, with: {a: 5}}\n";

static void test_a_deadline_ends_the_arm_that_runs(void **state)
{
    (void)state;
    struct flow *flow = flow_new(bounded);
    static const struct flow_rule rules[] = {{"s-n1-n0", {.delay_ms = 1000}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[2]", "e");
    expect_phase(flow, "s-n1-n0", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "s-n1", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "s", TR_NODE_PHASE_TIMED_OUT);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_FAILED);
    flow_free(flow);
}

static void test_a_deadline_ends_an_arm_that_waits(void **state)
{
    (void)state;
    struct flow *flow = flow_new(bounded);
    static const struct flow_rule rules[] = {{"slow", {.delay_ms = 1000}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[1]", "e");
    assert_string_equal(flow_error(flow, "e"),
                        "TimeoutExpired: the switch ran longer than its deadline (s-n0)");
    expect_phase(flow, "s-n0", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "s", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "slow", TR_NODE_PHASE_ABORTED);
    flow_free(flow);
}

static void test_an_abort_ends_branches_that_wait(void **state)
{
    (void)state;
    struct flow *flow = flow_new(bounded);
    static const struct flow_rule rules[] = {
        {"slow", {.delay_ms = 1000}}, {"s-n1-n0", {.delay_ms = 1000}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[1]", "e");
    stage_advance(&flow->stage, 10);
    flow_abort(flow, flow->execution, "enough", false);
    flow_finish(flow);
    assert_string_equal(flow_history(flow, "e", "s"), "running, aborted");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_ABORTED);
    flow_launch(flow, "main", "[2]", "e");
    stage_advance(&flow->stage, 10);
    flow_abort(flow, flow->execution, "enough", false);
    flow_finish(flow);
    assert_string_equal(flow_history(flow, "e", "s"), "running, aborted");
    assert_string_equal(flow_history(flow, "e", "s-n1"), "running, aborted");
    expect_phase(flow, "s-n1-n0", TR_NODE_PHASE_ABORTED);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_condition_that_holds_decides),
        cmocka_unit_test(test_an_arm_may_give_what_does_not_fit),
        cmocka_unit_test(test_a_branch_that_skips_gives_none),
        cmocka_unit_test(test_a_branch_fails_with_its_message),
        cmocka_unit_test(test_the_failure_of_an_arm_is_its_branchs),
        cmocka_unit_test(test_an_optional_branch_goes_on_when_its_arm_fails),
        cmocka_unit_test(test_an_arm_waits_for_what_it_refers_to),
        cmocka_unit_test(test_a_skipped_branch_skips_all_its_arms),
        cmocka_unit_test(test_conditions_that_cannot_be_asked),
        cmocka_unit_test(test_many_arms_are_skipped_in_shares),
        cmocka_unit_test(test_a_deadline_ends_the_arm_that_runs),
        cmocka_unit_test(test_a_deadline_ends_an_arm_that_waits),
        cmocka_unit_test(test_an_abort_ends_branches_that_wait),
    };
    return cmocka_run_group_tests_name("actors/branch", tests, NULL, NULL);
}
