/*
 * The workflow actor: graphs of each shape end as their rules say.
 */
#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  total: {inputs: {b: [int]}, outputs: {sum: int}, run: [x]}\n"                       \
    "  note: {inputs: {err: error | none}, run: [x]}\n"                                    \
    "  maybe: {inputs: {a: int | none}, outputs: {c: int}, run: [x]}\n"                    \
    "workflows:\n"

static const char plain[] = TASKS "  main:\n"
                                  "    inputs: {x: int}\n"
                                  "    nodes:\n"
                                  "      one: {task: add, with: {a: $x}}\n"
                                  "      two: {task: add, with: {a: $one.c}}\n"
                                  "      three: {task: add, with: {a: $one.c, b: $two.c}}\n"
                                  "    outputs: {sum: $three.c}\n";

static void test_a_graph_of_tasks(void **state)
{
    (void)state;
    struct flow *flow = flow_new(plain);
    flow_run(flow, "main", "[5]", "first");
    assert_int_equal(flow_phase(flow, "first"), TR_EXECUTION_SUCCEEDED);
    assert_string_equal(flow_outputs(flow, "first"), "{\"sum\":13}");
    assert_string_equal(flow_history(flow, "first", ""), "queued, running, succeeding, succeeded");
    assert_string_equal(flow_history(flow, "first", "two"), "running, succeeded");
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_graph_of_tasks),
    };
    return cmocka_run_group_tests_name("actors/workflow", tests, NULL, NULL);
}
