/*
 * The workflow actor: graphs of each shape end as their rules say, however large they are, and
 * whenever the power fails.
 */
#include "actors/workflow/workflow.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/memory.h"
#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  total: {inputs: {b: [int]}, outputs: {sum: int}, run: [x]}\n"                       \
    "  note: {inputs: {err: error | none}, run: [x]}\n"                                    \
    "  maybe: {inputs: {a: int | none}, outputs: {c: int}, run: [x]}\n"                    \
    "  list: {inputs: {n: int}, outputs: {items: [int]}, run: [x]}\n"                      \
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
    struct tr_execution row;
    assert_true(flow_execution(flow, "first", &row));
    assert_true(tr_text_equal(row.project, tr_text_of("default")));
    assert_true(tr_text_equal(row.workflow, tr_text_of("main")));
    assert_true(tr_text_equal(row.cause, tr_text_of("by the test")));
    assert_int_equal(row.graph.size, TR_GRAPH_HASH_BYTES);
    assert_true(row.created_ms > 0 && row.started_ms >= row.created_ms &&
                row.ended_ms >= row.started_ms);
    flow_free(flow);
}

static void test_workflows_in_workflows(void **state)
{
    (void)state;
    struct flow *flow =
        flow_new(TASKS "  low: {inputs: {x: int}, nodes: {t: {task: add, with: {a: $x}}}, "
                       "outputs: {y: $t.c}}\n"
                       "  mid: {inputs: {x: int}, nodes: {w: {workflow: low, with: {x: $x}}}, "
                       "outputs: {y: $w.y}}\n"
                       "  main: {inputs: {x: int}, nodes: {w: {workflow: mid, with: {x: $x}}}, "
                       "outputs: {y: $w.y}}\n");
    flow_run(flow, "main", "[3]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"y\":4}");
    assert_string_equal(flow_history(flow, "e", "w/w"), "running, succeeding, succeeded");
    assert_int_equal(flow_node_phase(flow, "e", "w/w/t"), TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

static void test_order_alone(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    nodes:\n"
                                       "      late: {task: add, with: {a: 1}, after: [early]}\n"
                                       "      early: {task: add, with: {a: 1}}\n");
    static const struct flow_rule rules[] = {{"early", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 10);
    assert_int_equal(flow_node_phase(flow, "e", "late"), TR_NODE_PHASE_NOT_YET_STARTED);
    flow_finish(flow);
    assert_int_equal(flow_node_phase(flow, "e", "late"), TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

static void be_slow(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    (void)self;
    answer->delay_ms = 1 + task->start->node % 5;
}

static void test_the_width_is_bounded(void **state)
{
    (void)state;
    struct flow *flow =
        flow_new(TASKS "  main:\n    max_parallelism: 3\n    nodes:\n"
                       "      a: {task: add, with: {a: 1}}\n      b: {task: add, with: {a: 1}}\n"
                       "      c: {task: add, with: {a: 1}}\n      d: {task: add, with: {a: 1}}\n"
                       "      e: {task: add, with: {a: 1}}\n      f: {map: add, with: {a: [1]}}\n"
                       "      g: {task: add, with: {a: \"$f.c[0]\"}}\n");
    flow->script = be_slow;
    flow_run(flow, "main", "[]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    assert_int_equal(flow->alive_max, 3);
    assert_int_equal(flow->begun, 7);
    flow_free(flow);
}

static void test_values_of_many_pages(void **state)
{
    (void)state;
    struct flow *flow =
        flow_new(TASKS "  main:\n    inputs: {big: string, many: [int]}\n"
                       "    nodes:\n"
                       "      t: {task: total, with: {b: $many}}\n"
                       "    outputs: {big: $big, sum: $t.sum, last: \"$many[2]\"}\n");
    static char json[70000];
    memset(json, 'x', sizeof json);
    memcpy(json, "[\"", 2);
    memcpy(json + 60000, "\", [1, 20, 300]]", sizeof "\", [1, 20, 300]]");
    flow_run(flow, "main", json, "e");
    const char *outputs = flow_outputs(flow, "e");
    assert_non_null(strstr(outputs, "xxx\",\"sum\":321,\"last\":300}"));
    assert_true(strlen(outputs) > 59000);
    flow_free(flow);
}

/* Elements of a map over a workflow: their history is the array's, news of them go there once. */
static void test_workflows_as_elements(void **state)
{
    (void)state;
    struct flow *flow = flow_new_arrays(TASKS "  inner:\n    inputs: {x: int}\n    nodes:\n"
                                              "      t: {task: add, with: {a: $x}}\n"
                                              "      u: {task: add, with: {a: $t.c}}\n"
                                              "    outputs: {y: $u.c}\n"
                                              "  main:\n    nodes:\n"
                                              "      m: {map: inner, with: {x: [1, 2, 3]}}\n"
                                              "    outputs: {y: $m.y}\n");
    flow->script = be_slow;
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"y\":[3, 4, 5]}");
    assert_int_equal(flow_node_phase(flow, "e", "m[1]/t"), TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(flow_history(flow, "e", "m"), "queued, running, succeeding, succeeded");
    assert_string_equal(flow_history(flow, "e", "m[1]"), "");
    assert_string_equal(flow_elements(flow, "e", "m"), "[[0,0,0,1,2],[1,0,0,1,2],[2,0,0,1,2],"
                                                       "[0,0,5,4,5],[1,0,5,4,5],[2,0,5,4,5]]");
    flow_free(flow);
}

/* -------------------------------------------------------------------- scale */

static struct flow *make_large(uint32_t count, const char *format, struct tr_buffer *text,
                               const char *tail)
{
    tr_buffer_init(text, 0);
    tr_buffer_add_string(text, TASKS "  main:\n    inputs: {x: int}\n    nodes:\n"
                                     "      n0: {task: add, with: {a: $x}}\n");
    for (uint32_t i = 1; i < count; i++) {
        bool is_chain = strcmp(format, "chain") == 0;
        tr_buffer_print(text, "      n%u: {task: add, with: {a: $n%u.c}}\n", i,
                        is_chain ? i - 1 : 0);
    }
    tr_buffer_add_string(text, tail);
    tr_buffer_add(text, "", 1);
    return flow_new_unrecorded((const char *)text->data);
}

/* 100,000 nodes are what is designed for. */
static uint32_t large(void)
{
    return getenv("TROUPE_TEST_LONG") != NULL ? 100000 : 10000;
}

static void test_a_long_chain(void **state)
{
    (void)state;
    struct tr_buffer text;
    struct flow *flow = make_large(large(), "chain", &text, "");
    flow_run(flow, "main", "[1]", "e");
    assert_int_equal(flow->ended, large());
    assert_int_equal(flow->alive_max, 1);
    flow_free(flow);
    tr_buffer_fini(&text);
}

static void test_a_wide_fan(void **state)
{
    (void)state;
    struct tr_buffer text;
    struct flow *flow = make_large(large(), "fan", &text, "");
    flow->script = be_slow;
    flow_run(flow, "main", "[1]", "e");
    assert_int_equal(flow->ended, large());
    assert_int_equal(flow->alive_max, large() - 1);
    flow_free(flow);
    tr_buffer_fini(&text);
}

#define EXECUTIONS 10000

static void test_an_idle_execution_is_small(void **state)
{
    (void)state;
    struct flow *flow = flow_new_unrecorded(plain);
    flow->script = be_slow;
    assert_true(sizeof(struct tr_workflow_state) <= 168);
    flow_launch(flow, "main", "[1]", "warm");
    uint64_t before = tr_memory_used();
    char name[16];
    for (int i = 0; i < EXECUTIONS; i++) {
        snprintf(name, sizeof name, "e%d", i);
        flow_launch(flow, "main", "[1]", name);
    }
    uint64_t each = (tr_memory_used() - before) / EXECUTIONS;
    assert_true(each <= 2048);
    flow_finish(flow);
    flow_free(flow);
}

/* ------------------------------------------------------------------- crashes */

/* All kinds of nodes, and failures that others go on after. */
static const char reference[] =
    TASKS "  inner:\n"
          "    inputs: {x: int}\n"
          "    nodes:\n"
          "      t: {task: add, with: {a: $x}}\n"
          "      u: {task: add, with: {a: $t.c}, optional: true}\n"
          "    outputs: {y: $t.c}\n"
          "    finally: {task: note}\n"
          "  main:\n"
          "    inputs: {x: int}\n"
          "    nodes:\n"
          "      a: {task: add, with: {a: $x}}\n"
          "      l: {task: list, with: {n: $a.c}}\n"
          "      m: {map: add, with: {a: $l.items}}\n"
          "      w: {workflow: inner, with: {x: $a.c}}\n"
          "      s:\n"
          "        switch:\n"
          "          - {when: $a.c > 100, task: add, with: {a: 1}}\n"
          "          - {when: $w.y > 3, switch: [{when: $a.c == 4, task: add, with: {a: $w.y}},"
          " {else: {task: add, with: {a: 7}}}]}\n"
          "          - else: {task: add, with: {a: 2}}\n"
          "      o: {task: add, with: {a: $s.c}, optional: true}\n"
          "      z: {task: maybe, with: {a: $o.c}}\n"
          "      t: {task: total, with: {b: $m.c}}\n"
          "    outputs: {z: $z.c, s: $s.c, t: $t.sum}\n"
          "    on_failure: {task: note}\n"
          "    finally: {task: note}\n";

static void act(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    (void)self;
    struct tr_text path = task->start->path;
    answer->delay_ms = 1 + path.size % 3;
    if (tr_text_equal(path, tr_text_of("o")) || tr_text_equal(path, tr_text_of("w/u"))) {
        answer->phase = TR_NODE_PHASE_FAILED;
        answer->code = "Broken";
    }
}

static bool step(struct flow *flow)
{
    tri_sender_flush(&flow->stage.host.sender);
    if (!stage_step(&flow->stage)) {
        flow->stage.now_ns += 1000000;
        flow->stage.wall_ms++;
    }
    return !flow_is_idle(flow);
}

/* What the store says at the end, of all that must not depend on crashes. */
static void expect_reference(struct flow *flow)
{
    static const struct {
        const char *path;
        uint8_t phase;
    } ends[] = {
        {"a", TR_NODE_PHASE_SUCCEEDED},       {"w/u", TR_NODE_PHASE_FAILED},
        {"w", TR_NODE_PHASE_SUCCEEDED},       {"w/finally", TR_NODE_PHASE_SUCCEEDED},
        {"s", TR_NODE_PHASE_SUCCEEDED},       {"s-n0", TR_NODE_PHASE_SKIPPED},
        {"s-n1", TR_NODE_PHASE_SUCCEEDED},    {"s-n1-n0", TR_NODE_PHASE_SUCCEEDED},
        {"s-n1-n1", TR_NODE_PHASE_SKIPPED},   {"s-n2", TR_NODE_PHASE_SKIPPED},
        {"o", TR_NODE_PHASE_FAILED},          {"z", TR_NODE_PHASE_SUCCEEDED},
        {"finally", TR_NODE_PHASE_SUCCEEDED}, {"on_failure", TR_NODE_PHASE_NOT_YET_STARTED},
    };
    assert_string_equal(flow_outputs(flow, "e"), "{\"z\":1,\"s\":6,\"t\":1}");
    assert_string_equal(flow_history(flow, "e", ""), "queued, running, succeeding, succeeded");
    for (size_t i = 0; i < TR_COUNT_OF(ends); i++) {
        uint8_t phase = flow_node_phase(flow, "e", ends[i].path);
        if (phase != ends[i].phase) {
            print_message("%s is %s\n", ends[i].path, tr_node_phase_word(phase));
        }
        assert_int_equal(phase, ends[i].phase);
    }
}

/* Runs the reference and crashes after so many steps; false when it had ended before. */
static bool crash_after(uint32_t steps, uint32_t every)
{
    struct flow *flow = flow_new(reference);
    flow->script = act;
    flow_launch(flow, "main", "[3]", "e");
    bool goes_on = true;
    uint32_t done = 0;
    while (goes_on && done < steps) {
        goes_on = step(flow);
        done++;
        if (every > 0 && done % every == 0) {
            flow_crash(flow);
        }
    }
    flow_crash(flow);
    /* An execution that was not committed is gone with all else. */
    struct tr_execution row;
    bool was_known = flow_execution(flow, "e", &row);
    flow_finish(flow);
    if (was_known) {
        expect_reference(flow);
    }
    flow_free(flow);
    return goes_on;
}

static void test_the_power_may_fail_after_each_step(void **state)
{
    (void)state;
    uint32_t steps = 0;
    while (crash_after(steps, 0)) {
        steps++;
    }
    assert_true(steps > 20);
}

static void test_the_power_may_fail_again_and_again(void **state)
{
    (void)state;
    for (uint32_t every = 3; every < 8; every++) {
        (void)crash_after(1000, every);
    }
}

/* Runs the reference with one allocation that fails; false when there are not so many. */
static bool fail_allocation(uint64_t at)
{
    struct flow *flow = flow_new(reference);
    flow->script = act;
    flow->fail_at = at;
    flow_launch(flow, "main", "[3]", "e");
    flow_finish(flow);
    expect_reference(flow);
    bool was_there = flow->allocations >= at;
    flow_free(flow);
    return was_there;
}

static void test_memory_may_end_at_each_allocation(void **state)
{
    (void)state;
    uint64_t at = 1;
    while (fail_allocation(at)) {
        at++;
    }
    assert_true(at > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_graph_of_tasks),
        cmocka_unit_test(test_workflows_in_workflows),
        cmocka_unit_test(test_order_alone),
        cmocka_unit_test(test_the_width_is_bounded),
        cmocka_unit_test(test_values_of_many_pages),
        cmocka_unit_test(test_workflows_as_elements),
        cmocka_unit_test(test_a_long_chain),
        cmocka_unit_test(test_a_wide_fan),
        cmocka_unit_test(test_an_idle_execution_is_small),
        cmocka_unit_test(test_the_power_may_fail_after_each_step),
        cmocka_unit_test(test_the_power_may_fail_again_and_again),
        cmocka_unit_test(test_memory_may_end_at_each_allocation),
    };
    return cmocka_run_group_tests_name("actors/workflow", tests, NULL, NULL);
}
