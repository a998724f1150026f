/*
 * Gates and sleeps: who answers them and when, what they give, how they end, and what they cost.
 */
#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/value/slot.h"
#include "actors/workflow/workflow.h"
#include "runtime/memory.h"
#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  maybe: {inputs: {a: int | none}, outputs: {c: int}, run: [x]}\n"                    \
    "  total: {inputs: {b: [int]}, outputs: {sum: int}, run: [x]}\n"                       \
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

static struct flow *begin(const char *definition)
{
    struct flow *flow = flow_new_arrays(definition);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    return flow;
}

/* ---------------------------------------------------------------- approvals */

static const char approval[] = TASKS "  main:\n    nodes:\n"
                                     "      one: {task: add, with: {a: 1}}\n"
                                     "      ok: {approve: ship, with: {n: $one.c, why: hello}}\n"
                                     "      two: {task: add, with: {a: $ok.n}}\n"
                                     "    outputs: {sum: $two.c, why: $ok.why}\n"
                                     "    on_failure: {task: note}\n";

static void test_an_approval_passes_its_values_through(void **state)
{
    (void)state;
    struct flow *flow = begin(approval);
    const struct tr_node *node = &flow->graph->workflows[0].nodes[2];
    expect_phase(flow, "ok", TR_NODE_PHASE_RUNNING);
    assert_string_equal(flow_values(flow, "e", "ok", TR_VALUE_INPUTS, &node->outputs),
                        "{\"n\":2,\"why\":\"hello\"}");
    expect_phase(flow, "two", TR_NODE_PHASE_NOT_YET_STARTED);
    assert_int_equal(flow_send_bool(flow, "ship", "", true), 1);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"sum\":3,\"why\":\"hello\"}");
    assert_string_equal(flow_history(flow, "e", "ok"), "running, succeeded");
    assert_string_equal(flow_values(flow, "e", "ok", TR_VALUE_OUTPUTS, &node->outputs),
                        "{\"n\":2,\"why\":\"hello\"}");
    expect_phase(flow, "on_failure", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_free(flow);
}

static void test_a_rejection_is_a_failure(void **state)
{
    (void)state;
    struct flow *flow = begin(approval);
    assert_int_equal(flow_send_bool(flow, "ship", "", false), 1);
    flow_finish(flow);
    assert_string_equal(flow_error(flow, "e"),
                        "ReceivedRejectSignal: rejected by ann: so be it (ok)");
    assert_string_equal(flow_history(flow, "e", "ok"), "running, failed");
    expect_phase(flow, "on_failure", TR_NODE_PHASE_SUCCEEDED);
    expect_phase(flow, "two", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_free(flow);
}

/* ------------------------------------------------------------------ signals */

static const char waits[] = TASKS "  main:\n    nodes:\n"
                                  "      slow: {task: add, with: {a: 1}}\n"
                                  "      n: {signal: number, type: int, after: [slow]}\n"
                                  "    outputs: {n: $n.value}\n";

static const struct flow_rule slow_rules[] = {{"slow", {.delay_ms = 50}}, {0}};

static void test_a_value_may_come_before_its_gate_and_the_last_one_counts(void **state)
{
    (void)state;
    struct flow *flow = flow_new(waits);
    flow_obey(flow, slow_rules);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    assert_int_equal(flow_send_int(flow, "number", "", 3), 0);
    assert_int_equal(flow_send_int(flow, "number", "", 4), 0);
    assert_int_equal(flow_send_int(flow, "other", "", 5), 0);
    expect_phase(flow, "n", TR_NODE_PHASE_NOT_YET_STARTED);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"n\":4}");
    assert_int_equal(flow_send_int(flow, "number", "", 5), -1);
    flow_free(flow);
}

static void test_a_value_for_one_gate_counts_for_it_alone(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    nodes:\n"
                                       "      slow: {task: add, with: {a: 1}}\n"
                                       "      a: {signal: number, type: int}\n"
                                       "      b: {signal: number, type: int}\n"
                                       "      c: {signal: number, type: int, after: [slow]}\n"
                                       "    outputs: {a: $a.value, b: $b.value, c: $c.value}\n");
    flow_obey(flow, slow_rules);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    assert_int_equal(flow_send_int(flow, "number", "b", 2), 1);
    assert_int_equal(flow_send_int(flow, "number", "c", 3), 0);
    assert_int_equal(flow_send_int(flow, "number", "", 1), 1);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"a\":1,\"b\":2,\"c\":3}");
    flow_free(flow);
}

static void test_a_value_of_another_type_fails_the_gate(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *error;
    } cases[] = {{"{signal: id, type: string}",
                  "MismatchingTypes: the value of the signal 'id' is not of its type string: "
                  "7, sent by ann (n)"},
                 {"{approve: id}",
                  "MismatchingTypes: the value of the signal 'id' is not of its type bool: "
                  "7, sent by ann (n)"}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, TASKS "  main:\n    nodes: {n: %s}\n", cases[i].body);
        struct flow *flow = begin(text);
        assert_int_equal(flow_send_int(flow, "id", "", 7), 1);
        flow_finish(flow);
        assert_string_equal(flow_error(flow, "e"), cases[i].error);
        flow_free(flow);
    }
}

static int64_t send_untyped(struct flow *flow, const char *id, struct tr_bytes literal)
{
    struct tr_buffer slot;
    tr_buffer_init(&slot, 0);
    tr_slot_write_untyped(&slot, literal);
    int64_t gates = flow_send(flow, id, "", tr_buffer_bytes(&slot));
    tr_buffer_fini(&slot);
    return gates;
}

/* Nobody knew the gate when it was sent. */
static void test_a_value_of_no_type_is_cast_at_its_gate(void **state)
{
    (void)state;
    static const uint8_t five[] = {5};
    static const uint8_t list[] = {0x92, 1, 2};
    static const struct {
        const char *type;
        struct tr_bytes literal;
        const char *outcome;
    } cases[] = {
        {"int", {five, sizeof five}, "{\"n\":5}"},
        {"float", {five, sizeof five}, "{\"n\":5.0}"},
        {"\"[float]\"", {list, sizeof list}, "{\"n\":[1.0, 2.0]}"},
        {"\"int | none\"", {five, sizeof five}, "{\"n\":5}"},
        {"datetime", {five, sizeof five}, NULL},
        {"string", {five, sizeof five}, NULL},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 TASKS "  main:\n    nodes: {n: {signal: id, type: %s}}\n"
                       "    outputs: {n: $n.value}\n",
                 cases[i].type);
        struct flow *flow = begin(text);
        assert_int_equal(send_untyped(flow, "id", cases[i].literal), 1);
        flow_finish(flow);
        if (cases[i].outcome != NULL) {
            assert_string_equal(flow_outputs(flow, "e"), cases[i].outcome);
        } else {
            assert_non_null(strstr(flow_error(flow, "e"), "MismatchingTypes: the value of the "
                                                          "signal 'id' is not of its type"));
        }
        flow_free(flow);
    }
}

static void test_gates_in_workflows_and_elements_hear_of_it(void **state)
{
    (void)state;
    struct flow *flow = begin(TASKS "  low:\n    inputs: {x: int}\n    nodes:\n"
                                    "      g: {signal: number, type: int, with: {x: $x}}\n"
                                    "      t: {task: add, with: {a: $x, b: $g.value}}\n"
                                    "    outputs: {y: $t.c}\n"
                                    "  mid: {inputs: {x: int}, nodes: {w: {workflow: low, with: "
                                    "{x: $x}}}, outputs: {y: $w.y}}\n"
                                    "  main:\n    nodes:\n"
                                    "      w: {workflow: mid, with: {x: 1}}\n"
                                    "      m: {map: mid, with: {x: [10, 20, 30]}}\n"
                                    "    outputs: {w: $w.y, m: $m.y}\n");
    expect_phase(flow, "w/w/g", TR_NODE_PHASE_RUNNING);
    expect_phase(flow, "m[2]/w/g", TR_NODE_PHASE_RUNNING);
    assert_int_equal(flow_send_int(flow, "number", "m[1]/w/g", 1), 1);
    assert_int_equal(flow_send_int(flow, "number", "", 2), 3);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"w\":3,\"m\":[12, 21, 32]}");
    flow_free(flow);
}

/* --------------------------------------------------------- optional, bounds */

static void test_an_optional_gate_goes_on(void **state)
{
    (void)state;
    const char *text = TASKS "  main:\n    nodes:\n"
                             "      ok: {approve: ship, with: {n: 4}, optional: true}\n"
                             "      m: {task: maybe, with: {a: $ok.n}}\n"
                             "    outputs: {n: $ok.n}\n";
    struct flow *flow = begin(text);
    flow_send_bool(flow, "ship", "", false);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"n\":null}");
    expect_phase(flow, "ok", TR_NODE_PHASE_FAILED);
    flow_free(flow);
    flow = begin(text);
    flow_send_bool(flow, "ship", "", true);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"n\":4}");
    flow_free(flow);
}

static void test_deadlines(void **state)
{
    (void)state;
    struct flow *flow =
        flow_new(TASKS "  main:\n    policy: finish_runnable\n    nodes:\n"
                       "      a: {approve: x, deadline: 50ms}\n"
                       "      s: {sleep: 1h, deadline: 60ms}\n"
                       "      o: {signal: y, type: int, deadline: 70ms, optional: true}\n"
                       "      b: {deadline: 80ms, switch: [{when: 1 == 1, approve: z}, "
                       "{else: {approve: z}}]}\n"
                       "      fast: {sleep: 10ms, deadline: 1h}\n"
                       "    outputs: {o: $o.value}\n");
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_error(flow, "e"),
                        "TimeoutExpired: nobody answered before its deadline (and 2 more) (a)");
    expect_phase(flow, "a", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "s", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "o", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "b", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "b-n0", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "fast", TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

static void test_a_sleep_lasts_over_a_crash(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    nodes:\n"
                                       "      s: {sleep: 100ms}\n"
                                       "      t: {task: add, with: {a: 1}, after: [s]}\n"
                                       "    outputs: {c: $t.c}\n");
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 50);
    flow_crash(flow);
    stage_advance(&flow->stage, 40);
    expect_phase(flow, "s", TR_NODE_PHASE_RUNNING);
    stage_advance(&flow->stage, 20);
    flow_finish(flow);
    assert_string_equal(flow_history(flow, "e", "s"), "running, succeeded");
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":2}");
    flow_free(flow);
}

/* ------------------------------------------------------------ aborts, bounds */

static void test_an_abort_ends_what_waits(void **state)
{
    (void)state;
    struct flow *flow = begin(TASKS "  main:\n    nodes:\n"
                                    "      a: {approve: x}\n"
                                    "      s: {sleep: 1h}\n"
                                    "      b: {switch: [{when: 1 == 1, signal: y, type: int}, "
                                    "{else: {signal: z, type: int}}]}\n"
                                    "    finally: {approve: bye}\n");
    flow_abort(flow, flow->execution, "enough", false);
    stage_advance(&flow->stage, 5);
    expect_phase(flow, "a", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "s", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "b", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "b-n0", TR_NODE_PHASE_ABORTED);
    expect_phase(flow, "finally", TR_NODE_PHASE_RUNNING);
    assert_int_equal(flow_send_bool(flow, "x", "", true), 0);
    assert_int_equal(flow_send_bool(flow, "bye", "", true), 1);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_ABORTED);
    expect_phase(flow, "finally", TR_NODE_PHASE_SUCCEEDED);
    flow_free(flow);
}

static void test_waiting_does_not_count_for_the_width(void **state)
{
    (void)state;
    struct flow *flow = begin(TASKS "  main:\n    max_parallelism: 1\n    nodes:\n"
                                    "      a: {approve: x}\n"
                                    "      s: {sleep: 1h}\n"
                                    "      t: {task: add, with: {a: 1}}\n");
    expect_phase(flow, "t", TR_NODE_PHASE_SUCCEEDED);
    flow_send_bool(flow, "x", "", true);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

static void test_what_nobody_may_say_is_a_dead_letter(void **state)
{
    (void)state;
    struct flow *flow = begin(waits);
    uint8_t byte = 1;
    struct tr_signal_given given = {.node = 3, .value = {.data = &byte, .size = 1}};
    struct tr_signal_wait wait = {.gate = flow->execution, .id = tr_text_of("number")};
    struct tr_signal_stop stop = {.gate = flow->execution, .id = tr_text_of("number")};
    struct tr_signal_sent sent = {.gates = 1};
    stage_tell(&flow->stage, flow->execution, &tr_signal_given_schema, &given);
    stage_tell(&flow->stage, flow->execution, &tr_signal_wait_schema, &wait);
    stage_tell(&flow->stage, flow->execution, &tr_signal_stop_schema, &stop);
    stage_tell(&flow->stage, flow->execution, &tr_signal_sent_schema, &sent);
    tri_sender_flush(&flow->stage.host.sender);
    stage_run(&flow->stage);
    assert_int_equal(stage_dead_letters(&flow->stage, TR_UNKNOWN_TYPE), 4);
    expect_phase(flow, "n", TR_NODE_PHASE_RUNNING);
    flow_crash(flow); /* what it has counted goes with it */
    flow_send_int(flow, "number", "", 1);
    flow_finish(flow);
    flow_free(flow);
}

/* ------------------------------------------------------------------- scale */

#define EXECUTIONS 10000

static void test_an_execution_that_waits_at_a_gate_is_small(void **state)
{
    (void)state;
    struct flow *flow = flow_new_unrecorded(TASKS "  main:\n    nodes:\n"
                                                  "      a: {approve: x, with: {n: 5}}\n"
                                                  "      t: {task: add, with: {a: $a.n}}\n"
                                                  "    outputs: {c: $t.c}\n");
    struct tr_ref executions[EXECUTIONS];
    flow_launch(flow, "main", "[]", "warm");
    stage_run(&flow->stage);
    struct tr_ref warm = flow->execution;
    uint64_t before = tr_memory_used();
    for (int i = 0; i < EXECUTIONS; i++) {
        char name[16];
        snprintf(name, sizeof name, "e%d", i);
        flow_launch(flow, "main", "[]", name);
        executions[i] = flow->execution;
    }
    stage_run(&flow->stage);
    uint64_t each = (tr_memory_used() - before) / EXECUTIONS;
    print_message("%llu bytes each\n", (unsigned long long)each);
    assert_true(each <= 2048);
    assert_int_equal(flow_send_bool(flow, "x", "", true), 1);
    for (int i = 0; i + 1 < EXECUTIONS; i++) {
        flow->execution = executions[i];
        assert_int_equal(flow_send_bool(flow, "x", "", true), 1);
    }
    flow->execution = warm;
    assert_int_equal(flow_send_bool(flow, "x", "", true), 1);
    flow_finish(flow);
    flow_free(flow);
}

static void note_sum(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    (void)answer;
    *(uint64_t *)self = task->number;
}

/* 100,000 in the long form. */
static void test_many_gates_of_elements_are_told_in_shares(void **state)
{
    (void)state;
    unsigned count = getenv("TROUPE_TEST_LONG") != NULL ? 100000 : 10000;
    struct flow *flow = flow_new_arrays_unrecorded(
        TASKS "  low: {inputs: {x: int}, nodes: {g: {signal: n, type: int}}, "
              "outputs: {y: $g.value}}\n"
              "  main:\n    inputs: {x: [int]}\n    nodes:\n"
              "      m: {map: low, with: {x: $x}}\n"
              "      t: {task: total, with: {b: $m.y}}\n"
              "    outputs: {sum: $t.sum}\n");
    uint64_t sum = 0;
    struct tr_buffer text;
    flow->script = note_sum;
    flow->self = &sum;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "[[0");
    for (unsigned i = 1; i < count; i++) {
        tr_buffer_add_string(&text, ",0");
    }
    tr_buffer_add(&text, "]]", 3);
    flow_launch(flow, "main", (const char *)text.data, "e");
    tr_buffer_fini(&text);
    stage_advance(&flow->stage, 5);
    assert_int_equal(flow_send_int(flow, "n", "m[17]/g", 3), 1);
    assert_int_equal(flow_send_int(flow, "n", "", 2), count - 1);
    flow_finish(flow);
    assert_int_equal(sum, 2 * count + 1);
    flow_free(flow);
}

/* ------------------------------------------------------------------- crashes */

static const char reference[] =
    TASKS "  low: {inputs: {x: int}, nodes: {g: {signal: n, type: int, with: {x: $x}}}, outputs: "
          "{y: $g.value}}\n"
          "  main:\n    nodes:\n"
          "      a: {approve: x, with: {n: 7}}\n"
          "      s: {sleep: 3ms}\n"
          "      w: {workflow: low, with: {x: 1}, after: [s]}\n"
          "      o: {approve: no, with: {n: 1}, optional: true}\n"
          "      m: {task: maybe, with: {a: $o.n}}\n"
          "      t: {task: add, with: {a: $a.n, b: $w.y}}\n"
          "    outputs: {c: $t.c, n: $o.n}\n";

static bool step(struct flow *flow)
{
    tri_sender_flush(&flow->stage.host.sender);
    if (!stage_step(&flow->stage)) {
        flow->stage.now_ns += 1000000;
        flow->stage.wall_ms++;
    }
    return !flow_is_idle(flow);
}

static void send_all(struct flow *flow)
{
    flow_send_int(flow, "n", "", 5);
    flow_send_bool(flow, "x", "a", true);
    flow_send_bool(flow, "no", "", false);
}

static void expect_reference(struct flow *flow)
{
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":12,\"n\":null}");
    assert_string_equal(flow_history(flow, "e", "a"), "running, succeeded");
    assert_string_equal(flow_history(flow, "e", "s"), "running, succeeded");
    assert_string_equal(flow_history(flow, "e", "o"), "running, failed");
    assert_string_equal(flow_history(flow, "e", "w/g"), "running, succeeded");
}

/* Crashes after so many steps, before the answers come or while they do. */
static bool crash_after(uint32_t steps, bool is_answered)
{
    struct flow *flow = flow_new(reference);
    struct tr_execution row;
    flow_launch(flow, "main", "[]", "e");
    if (is_answered) {
        send_all(flow);
    }
    bool goes_on = true;
    for (uint32_t done = 0; goes_on && done < steps; done++) {
        goes_on = step(flow) && flow->stage.wall_ms < STAGE_START_WALL_MS + 20;
    }
    flow_crash(flow);
    bool was_known = flow_execution(flow, "e", &row);
    assert_true(was_known || !is_answered);
    if (was_known && !is_answered) {
        send_all(flow);
    }
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
    for (unsigned is_answered = 0; is_answered < 2; is_answered++) {
        uint32_t steps = 0;
        while (crash_after(steps, is_answered != 0)) {
            steps++;
        }
        assert_true(steps > 3);
    }
}

static bool fail_allocation(uint64_t at)
{
    struct flow *flow = flow_new(reference);
    flow->fail_at = at;
    flow_launch(flow, "main", "[]", "e");
    send_all(flow);
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
    assert_true(at > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_approval_passes_its_values_through),
        cmocka_unit_test(test_a_rejection_is_a_failure),
        cmocka_unit_test(test_a_value_may_come_before_its_gate_and_the_last_one_counts),
        cmocka_unit_test(test_a_value_for_one_gate_counts_for_it_alone),
        cmocka_unit_test(test_a_value_of_another_type_fails_the_gate),
        cmocka_unit_test(test_a_value_of_no_type_is_cast_at_its_gate),
        cmocka_unit_test(test_gates_in_workflows_and_elements_hear_of_it),
        cmocka_unit_test(test_an_optional_gate_goes_on),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_a_sleep_lasts_over_a_crash),
        cmocka_unit_test(test_an_abort_ends_what_waits),
        cmocka_unit_test(test_waiting_does_not_count_for_the_width),
        cmocka_unit_test(test_what_nobody_may_say_is_a_dead_letter),
        cmocka_unit_test(test_an_execution_that_waits_at_a_gate_is_small),
        cmocka_unit_test(test_many_gates_of_elements_are_told_in_shares),
        cmocka_unit_test(test_the_power_may_fail_after_each_step),
        cmocka_unit_test(test_memory_may_end_at_each_allocation),
    };
    return cmocka_run_group_tests_name("actors/gate", tests, NULL, NULL);
}
