/*
 * Pauses of workflows: nothing new begins, what runs and waits goes on, and everything comes to its
 * end as if there had been none.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  note: {inputs: {err: error | none}, run: [x]}\n"                                    \
    "workflows:\n"

static void expect_phase(struct flow *flow, const char *path, uint8_t phase)
{
    uint8_t found = flow_node_phase(flow, "e", path);
    if (found != phase) {
        print_message("%s: %s\n", path, tr_node_phase_word(found));
    }
    assert_int_equal(found, phase);
}

static bool is_paused(struct flow *flow)
{
    struct tr_execution row;
    assert_true(flow_execution(flow, "e", &row));
    return row.is_paused;
}

static const struct flow_rule slow_rules[] = {
    {"slow", {.delay_ms = 50}}, {"w/slow", {.delay_ms = 50}}, {"w/w/slow", {.delay_ms = 50}}, {0}};

static struct flow *begin(const char *definition)
{
    struct flow *flow = flow_new_arrays(definition);
    flow_obey(flow, slow_rules);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    return flow;
}

static const char nested[] = TASKS "  low:\n    nodes:\n"
                                   "      slow: {task: add, with: {a: 1}}\n"
                                   "      next: {task: add, with: {a: $slow.c}}\n"
                                   "    outputs: {c: $next.c}\n"
                                   "  mid: {nodes: {w: {workflow: low}}, outputs: {c: $w.c}}\n"
                                   "  main:\n    nodes:\n"
                                   "      slow: {task: add, with: {a: 5}}\n"
                                   "      next: {task: add, with: {a: $slow.c}}\n"
                                   "      w: {workflow: mid}\n"
                                   "    outputs: {a: $next.c, b: $w.c}\n";

static void test_nothing_new_begins_until_it_goes_on(void **state)
{
    (void)state;
    struct flow *flow = begin(nested);
    flow_pause(flow, true);
    assert_true(is_paused(flow));
    stage_advance(&flow->stage, 1000);
    assert_int_equal(flow->paused, 2);
    assert_int_equal(flow->begun, 2);
    expect_phase(flow, "slow", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "w/w/slow", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "next", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "w/w/next", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_pause(flow, false);
    assert_false(is_paused(flow));
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"a\":7,\"b\":3}");
    assert_string_equal(flow_history(flow, "e", ""),
                        "queued, running, running, running, succeeding, succeeded");
    flow_free(flow);
}

static void test_a_pause_that_is_lifted_at_once_leaves_nothing_behind(void **state)
{
    (void)state;
    struct flow *flow = begin(nested);
    flow_pause(flow, true);
    flow_pause(flow, true);
    flow_pause(flow, false);
    flow_pause(flow, false);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"a\":7,\"b\":3}");
    flow_free(flow);
}

static void test_gates_are_answered_and_sleeps_run_out_meanwhile(void **state)
{
    (void)state;
    struct flow *flow = begin(TASKS "  main:\n    nodes:\n"
                                    "      ok: {approve: x, with: {n: 1}}\n"
                                    "      s: {sleep: 20ms}\n"
                                    "      t: {task: add, with: {a: $ok.n}, after: [s]}\n"
                                    "      late: {approve: y, after: [s]}\n"
                                    "    outputs: {c: $t.c}\n");
    flow_pause(flow, true);
    assert_int_equal(flow_send_bool(flow, "x", "", true), 1);
    assert_int_equal(flow_send_bool(flow, "y", "", true), 0);
    stage_advance(&flow->stage, 100);
    expect_phase(flow, "ok", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "s", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "t", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "late", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_crash(flow);
    assert_true(is_paused(flow));
    flow_pause(flow, false);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":2}");
    flow_free(flow);
}

static void test_elements_are_held_back(void **state)
{
    (void)state;
    struct flow *flow = begin(TASKS "  low:\n    inputs: {x: int}\n    nodes:\n"
                                    "      s: {sleep: 20ms}\n"
                                    "      t: {task: add, with: {a: $x}, after: [s]}\n"
                                    "    outputs: {c: $t.c}\n"
                                    "  main:\n    nodes:\n"
                                    "      m: {map: low, with: {x: [1, 2, 3, 4]}, parallelism: 2}\n"
                                    "    outputs: {c: $m.c}\n");
    flow_pause(flow, true);
    stage_advance(&flow->stage, 200);
    assert_int_equal(flow->begun, 0);
    expect_phase(flow, "m[1]/s", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "m[2]/s", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_crash(flow);
    flow_pause(flow, false);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":[2, 3, 4, 5]}");
    flow_free(flow);
}

static void test_an_abort_ends_what_is_paused(void **state)
{
    (void)state;
    struct flow *flow = begin(TASKS "  low:\n    nodes: {slow: {task: add, with: {a: 1}}}\n"
                                    "    finally: {task: note}\n"
                                    "  main:\n    nodes: {w: {workflow: low}}\n"
                                    "    finally: {task: note}\n");
    flow_pause(flow, true);
    flow_abort(flow, flow->execution, "enough", false);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_ABORTED);
    expect_phase(flow, "w/slow", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "w/finally", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "finally", TR_NODE_PHASE_SUCCEEDED);
    assert_false(is_paused(flow));
    flow_free(flow);
}

/* While it is being ended it is not paused any more, whoever looks. */
static void test_what_is_being_ended_is_not_paused(void **state)
{
    (void)state;
    static const struct flow_rule deaf[] = {{"slow", {.delay_ms = 50, .is_deaf = true}}, {0}};
    struct flow *flow = flow_new(nested);
    flow_obey(flow, deaf);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    flow_pause(flow, true);
    flow_abort(flow, flow->execution, "enough", false);
    stage_advance(&flow->stage, 5);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_ABORTING);
    assert_false(is_paused(flow));
    flow_finish(flow);
    flow_free(flow);
}

static void test_bounds_of_time_pass_and_cleaning_up_is_not_held_back(void **state)
{
    (void)state;
    struct flow *flow = begin(TASKS "  main:\n    timeout: 100ms\n    nodes:\n"
                                    "      slow: {task: add, with: {a: 1}}\n"
                                    "      next: {task: add, with: {a: $slow.c}}\n"
                                    "    on_failure: {task: note}\n");
    flow_pause(flow, true);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_TIMED_OUT);
    expect_phase(flow, "next", TR_NODE_PHASE_NOT_YET_STARTED);
    expect_phase(flow, "on_failure", TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

/* ------------------------------------------------------------------- crashes */

static bool step(struct flow *flow)
{
    tri_sender_flush(&flow->stage.host.sender);
    if (!stage_step(&flow->stage)) {
        flow->stage.now_ns += 1000000;
        flow->stage.wall_ms++;
    }
    return !flow_is_idle(flow) && flow->stage.wall_ms < STAGE_START_WALL_MS + 150;
}

/* Crashes so many steps after the pause, or after its end. */
static bool crash_after(uint32_t steps, bool is_lifted)
{
    struct flow *flow = begin(nested);
    flow_pause(flow, true);
    if (is_lifted) {
        flow_pause(flow, false);
    }
    bool goes_on = true;
    for (uint32_t done = 0; goes_on && done < steps; done++) {
        goes_on = step(flow);
    }
    flow_crash(flow);
    if (!is_lifted) {
        stage_advance(&flow->stage, 200);
        assert_true(is_paused(flow));
        expect_phase(flow, "slow", TR_NODE_PHASE_SUCCEEDED);
        expect_phase(flow, "next", TR_NODE_PHASE_NOT_YET_STARTED);
        expect_phase(flow, "w/w/next", TR_NODE_PHASE_NOT_YET_STARTED);
        flow_pause(flow, false);
    }
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"a\":7,\"b\":3}");
    flow_free(flow);
    return goes_on;
}

static void test_the_power_may_fail_after_each_step(void **state)
{
    (void)state;
    for (unsigned is_lifted = 0; is_lifted < 2; is_lifted++) {
        uint32_t steps = 0;
        while (crash_after(steps, is_lifted != 0)) {
            steps++;
        }
        assert_true(steps > 3);
    }
}

/* ------------------------------------------------------------------- shares */

#define WIDE 1000

static void be_slow(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    (void)self;
    (void)task;
    answer->delay_ms = 50;
}

/* More children than one handler tells: all hear of it, and of its end. */
static void test_many_children_are_told_in_shares(void **state)
{
    (void)state;
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, TASKS "  main:\n    nodes:\n");
    for (unsigned i = 0; i < WIDE; i++) {
        tr_buffer_print(&text, "      n%u: {task: add, with: {a: 1}}\n", i);
    }
    tr_buffer_add(&text, "", 1);
    struct flow *flow = flow_new_unrecorded((const char *)text.data);
    flow->script = be_slow;
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    flow_pause(flow, true);
    stage_advance(&flow->stage, 5);
    assert_int_equal(flow->paused, WIDE);
    flow_pause(flow, false);
    stage_advance(&flow->stage, 5);
    assert_int_equal(flow->resumed, WIDE);
    flow_finish(flow);
    flow_free(flow);
    tr_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_new_begins_until_it_goes_on),
        cmocka_unit_test(test_a_pause_that_is_lifted_at_once_leaves_nothing_behind),
        cmocka_unit_test(test_gates_are_answered_and_sleeps_run_out_meanwhile),
        cmocka_unit_test(test_elements_are_held_back),
        cmocka_unit_test(test_an_abort_ends_what_is_paused),
        cmocka_unit_test(test_what_is_being_ended_is_not_paused),
        cmocka_unit_test(test_bounds_of_time_pass_and_cleaning_up_is_not_held_back),
        cmocka_unit_test(test_the_power_may_fail_after_each_step),
        cmocka_unit_test(test_many_children_are_told_in_shares),
    };
    return cmocka_run_group_tests_name("actors/workflow_pause", tests, NULL, NULL);
}
