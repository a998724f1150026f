/*
 * Failures of nodes that never had an actor: references that lead nowhere, branches in branches
 * without an arm, wherever in the workflow they stand.
 */
#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  list: {inputs: {a: [int]}, outputs: {c: int}, run: [x]}\n"                          \
    "workflows:\n"

/* What is kept of a failure moves what the workflow was started with: all others still begin. */
static void test_nodes_behind_a_failure_begin_with_their_own_names(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n"
                                       "    inputs: {x: [int]}\n"
                                       "    policy: finish_runnable\n"
                                       "    nodes:\n"
                                       "      one: {task: list, with: {a: $x}}\n"
                                       "      bad: {task: add, with: {a: \"$x[3]\"}}\n"
                                       "      two: {task: list, with: {a: $x}}\n"
                                       "      worse: {task: add, with: {a: \"$x[4]\"}}\n"
                                       "      three: {task: list, with: {a: $x}}\n");
    flow_run(flow, "main", "[[1, 2]]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_FAILED);
    assert_int_equal(flow_node_phase(flow, "e", "bad"), TR_NODE_PHASE_FAILED);
    assert_int_equal(flow_node_phase(flow, "e", "worse"), TR_NODE_PHASE_FAILED);
    assert_int_equal(flow_node_phase(flow, "e", "one"), TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(flow_node_phase(flow, "e", "two"), TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(flow_node_phase(flow, "e", "three"), TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

#define NESTED(extra)                                                 \
    TASKS "  main:\n"                                                 \
          "    inputs: {x: int}\n"                                    \
          "    policy: finish_runnable\n"                             \
          "    nodes:\n"                                              \
          "      pick:\n"                                             \
          "        switch:\n"                                         \
          "          - when: $x > 0\n"                                \
          "            switch:\n"                                     \
          "              - {when: $x > 5, task: add, with: {a: 1}}\n" \
          "              - fail: too small\n"                         \
          "          - else: {task: add, with: {a: 2}}\n" extra       \
          "      other: {task: add, with: {a: $x}}\n"

/* The arms of the inner branch are skipped, whatever becomes of the outer one. */
static void test_a_branch_in_a_branch_that_takes_no_arm(void **state)
{
    (void)state;
    static const char *const definitions[] = {NESTED(""), NESTED("        optional: true\n")};
    for (size_t i = 0; i < TR_COUNT_OF(definitions); i++) {
        struct flow *flow = flow_new(definitions[i]);
        flow_run(flow, "main", "[3]", "e");
        assert_int_equal(flow_phase(flow, "e"),
                         i == 0 ? TR_EXECUTION_FAILED : TR_EXECUTION_SUCCEEDED);
        assert_int_equal(flow_node_phase(flow, "e", "pick"), TR_NODE_PHASE_FAILED);
        assert_int_equal(flow_node_phase(flow, "e", "pick-n0"), TR_NODE_PHASE_FAILED);
        assert_int_equal(flow_node_phase(flow, "e", "pick-n0-n0"), TR_NODE_PHASE_SKIPPED);
        assert_int_equal(flow_node_phase(flow, "e", "other"), TR_NODE_PHASE_SUCCEEDED);
        flow_free(flow);
    }
}

/* The path of what failed is whole, also where nothing else was begun by the same message. */
static void test_the_path_of_a_failure_in_an_inner_workflow(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  inner:\n"
                                       "    inputs: {x: int}\n"
                                       "    nodes:\n"
                                       "      one: {task: add, with: {a: $x}}\n"
                                       "      pick:\n"
                                       "        switch: [{when: $one.c > 100, task: add, with: "
                                       "{a: 1}}, {fail: too small}]\n"
                                       "  main:\n"
                                       "    inputs: {x: int}\n"
                                       "    nodes:\n"
                                       "      w: {workflow: inner, with: {x: $x}}\n");
    flow_run(flow, "main", "[3]", "e");
    assert_string_equal(flow_error(flow, "e"), "UserProvidedError: too small (w/pick)");
    flow_free(flow);
}

/* A branch that waits for room among others runs out of time: those behind it still begin. */
static void test_a_deadline_among_nodes_that_wait_for_room(void **state)
{
    (void)state;
    static const struct flow_rule rules[] = {{"slow", {.delay_ms = 1000}}, {NULL, {0}}};
    struct flow *flow = flow_new(TASKS "  main:\n"
                                       "    inputs: {x: int}\n"
                                       "    max_parallelism: 1\n"
                                       "    nodes:\n"
                                       "      pick:\n"
                                       "        switch:\n"
                                       "          - when: $x > 0\n"
                                       "            switch:\n"
                                       "              - {when: $x > 5, task: add, with: {a: 1}}\n"
                                       "              - else: {task: add, with: {a: 2}}\n"
                                       "          - fail: too small\n"
                                       "        deadline: 100ms\n"
                                       "        optional: true\n"
                                       "      next:\n"
                                       "        switch:\n"
                                       "          - {when: $x > 0, task: add, with: {a: 3}}\n"
                                       "          - else: skip\n"
                                       "      slow: {task: add, with: {a: $x}}\n");
    flow_obey(flow, rules);
    flow_run(flow, "main", "[3]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    assert_int_equal(flow_node_phase(flow, "e", "pick"), TR_NODE_PHASE_TIMED_OUT);
    assert_int_equal(flow_node_phase(flow, "e", "pick-n0"), TR_NODE_PHASE_TIMED_OUT);
    assert_int_equal(flow_node_phase(flow, "e", "pick-n0-n0"), TR_NODE_PHASE_SKIPPED);
    assert_int_equal(flow_node_phase(flow, "e", "next-n0"), TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_behind_a_failure_begin_with_their_own_names),
        cmocka_unit_test(test_a_branch_in_a_branch_that_takes_no_arm),
        cmocka_unit_test(test_the_path_of_a_failure_in_an_inner_workflow),
        cmocka_unit_test(test_a_deadline_among_nodes_that_wait_for_room),
    };
    return cmocka_run_group_tests_name("actors/workflow_failures", tests, NULL, NULL);
}
