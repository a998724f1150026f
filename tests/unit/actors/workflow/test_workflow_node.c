/*
 * Nodes: optional ones, skipped ones, inputs that cannot be bound, what cannot run yet, and
 * children that say what they should not.
 */
#include "actors/graph/value/slot.h"
#include "tests/support/flow.h"
#include "tests/support/flow_inside.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  maybe: {inputs: {a: int | none}, outputs: {c: int}, run: [x]}\n"                    \
    "  lists: {inputs: {l: \"[int] | none\"}, outputs: {c: int}, run: [x]}\n"              \
    "  text: {inputs: {s: string}, outputs: {s: string}, run: [x]}\n"                      \
    "  join: {inputs: {s: [string]}, outputs: {s: string}, run: [x]}\n"                    \
    "  make: {inputs: {n: int}, outputs: {v: struct, l: [int]}, run: [x]}\n"               \
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

/* ---------------------------------------------------------------- optional */

static const char optional[] =
    TASKS "  inner: {inputs: {x: int}, nodes: {t: {task: add, with: {a: $x}}}, "
          "outputs: {y: $t.c}}\n"
          "  main:\n    nodes:\n"
          "      t: {task: add, with: {a: 1}, optional: true}\n"
          "      w: {workflow: inner, with: {x: 1}, optional: true}\n"
          "      m: {map: add, with: {a: [1, 2]}, optional: true}\n"
          "      d: {dynamic: add, with: {a: 1}, optional: true}\n"
          "      zt: {task: maybe, with: {a: $t.c}}\n"
          "      zw: {task: maybe, with: {a: $w.y}}\n"
          "      zm: {task: lists, with: {l: $m.c}}\n"
          "    outputs: {t: $t.c, w: $w.y, m: $m.c, d: $d.c, zt: $zt.c}\n";

static void test_what_is_optional_may_succeed(void **state)
{
    (void)state;
    struct flow *flow = flow_new(optional);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"t\":2,\"w\":2,\"m\":[],\"d\":2,\"zt\":2}");
    flow_free(flow);
}

static void test_what_is_optional_may_fail(void **state)
{
    (void)state;
    struct flow *flow = flow_new(optional);
    static const struct flow_rule rules[] = {
        {"t", {FAILS}},
        {"w/t", {FAILS}},
        {"m", {.phase = TR_NODE_PHASE_TIMED_OUT, .code = "TimeoutExpired"}},
        {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_outputs(flow, "e"),
                        "{\"t\":null,\"w\":null,\"m\":null,\"d\":2,\"zt\":1}");
    expect_phase(flow, "t", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "w", TR_NODE_PHASE_FAILED);
    expect_phase(flow, "m", TR_NODE_PHASE_TIMED_OUT);
    expect_phase(flow, "zm", TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

/* The value that does not fit, its type and whose output it was stand in the node's error. */
static void test_outputs_of_optional_nodes_may_be_wrong(void **state)
{
    (void)state;
    static const uint8_t text[] = "\x91\xa4text";
    static const struct flow_rule rules[] = {{"t", {.outputs = {text, sizeof text - 1}}}, {0}};
    struct tr_node_status row;
    struct flow *flow = flow_new(optional);
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    expect_phase(flow, "t", TR_NODE_PHASE_FAILED);
    assert_true(flow_node(flow, "e", "t", &row));
    assert_true(tr_text_equal(row.message,
                              tr_text_of("the output 'c' of 'add' holds 'text', which does not fit "
                                         "the declared type int | none")));
    assert_string_equal(flow_outputs(flow, "e"), "{\"t\":null,\"w\":2,\"m\":[],\"d\":2,\"zt\":1}");
    flow_free(flow);
}

static void test_inputs_of_optional_nodes_may_be_wrong(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    inputs: {v: struct}\n    nodes:\n"
                                       "      t: {task: add, with: {a: $v.n}, optional: true}\n"
                                       "      z: {task: maybe, with: {a: $t.c}}\n"
                                       "    outputs: {z: $z.c}\n");
    flow_run(flow, "main", "[{}]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"z\":1}");
    expect_phase(flow, "t", TR_NODE_PHASE_FAILED);
    flow_free(flow);
}

/* ---------------------------------------------------------------- bindings */

static void test_references_that_lead_nowhere_fail_their_node(void **state)
{
    (void)state;
    static const struct {
        const char *inputs;
        const char *error;
    } cases[] = {
        {"[{}, [1]]", "BindingResolutionError: 'a' gets $v.n, which is not there: no such field or "
                      "element (t)"},
        {"[{\"n\": \"many\"}, [1, 2, 3]]", "BindingResolutionError: 'a' gets $v.n, which holds "
                                           "'many', which does not fit the declared type int (t)"},
        {"[{\"n\": 1}, [1]]", "BindingResolutionError: 'b' gets $l[2], which is not there: no such "
                              "field or element (t)"},
    };
    struct flow *flow = flow_new(TASKS "  main:\n    inputs: {v: struct, l: [int]}\n    nodes:\n"
                                       "      t: {task: add, with: {a: $v.n, b: \"$l[2]\"}}\n"
                                       "    outputs: {c: $t.c}\n");
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        flow_run(flow, "main", cases[i].inputs, "e");
        assert_string_equal(flow_error(flow, "e"), cases[i].error);
        expect_phase(flow, "t", TR_NODE_PHASE_FAILED);
    }
    flow_run(flow, "main", "[{\"n\": 4}, [1, 2, 3]]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":7}");
    flow_free(flow);
}

static void test_outputs_of_the_workflow_may_lead_nowhere(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    inputs: {l: [int]}\n    nodes:\n"
                                       "      t: {task: add, with: {a: 1}}\n"
                                       "    outputs: {c: \"$l[9]\"}\n");
    flow_run(flow, "main", "[[1]]", "e");
    assert_string_equal(flow_error(flow, "e"),
                        "BindingResolutionError: 'c' gets $l[9], which is not there: no such field "
                        "or element (end-node)");
    flow_free(flow);
}

static void test_inputs_that_are_too_large_together(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    inputs: {s: string}\n    nodes:\n"
                                       "      j: {task: join, with: {s: [$s, $s, $s, $s, $s]}}\n"
                                       "    outputs: {s: $j.s}\n");
    static char json[240000];
    memset(json, 'x', sizeof json);
    memcpy(json, "[\"", 2);
    memcpy(json + sizeof json - 3, "\"]", 3);
    flow_run(flow, "main", json, "e");
    assert_string_equal(flow_error(flow, "e"),
                        "InputSizeExceeded: the values together are larger than "
                        "TR_MESSAGE_BYTES_MAX (1 MiB) (j)");
    flow_free(flow);
}

/* A slot that says where its value lies. */
static void write_elsewhere(struct tr_buffer *buffer)
{
    struct tr_offloaded where = {.uri = tr_text_of("file:///b"), .size_bytes = 300000};
    tr_buffer_init(buffer, 0);
    tr_buffer_array(buffer, 2);
    tr_slot_write_offloaded(buffer, &where);
    tr_slot_write_offloaded(buffer, &where);
}

static void test_values_that_lie_elsewhere(void **state)
{
    (void)state;
    struct tr_buffer slots;
    write_elsewhere(&slots);
    struct flow *flow = flow_new(TASKS "  main:\n    inputs: {x: int}\n    nodes:\n"
                                       "      m: {task: make, with: {n: $x}}\n"
                                       "      l: {map: add, with: {a: $m.l}}\n"
                                       "    outputs: {l: $m.l, v: $m.v}\n"
                                       "  none:\n    nodes:\n"
                                       "      m: {task: make, with: {n: 1}, optional: true}\n"
                                       "      t: {task: lists, with: {l: $m.l}}\n"
                                       "  cast:\n    nodes:\n"
                                       "      m: {task: make, with: {n: 1}}\n"
                                       "      t: {task: lists, with: {l: $m.l}}\n");
    struct flow_rule rules[] = {{"m", {.outputs = tr_buffer_bytes(&slots)}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[1]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"l\":<file:///b>,\"v\":<file:///b>}");
    /* What may be none is passed on, too, and nobody is asked for that. */
    static const char *const others[] = {"none", "cast"};
    for (size_t i = 0; i < TR_COUNT_OF(others); i++) {
        flow_run(flow, others[i], "[]", "e");
        assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    }
    assert_int_equal(flow->asked, 0);
    flow_free(flow);
    tr_buffer_fini(&slots);
}

/* Elements of a list that lies elsewhere, and what is behind its end. */
static const char looking[] =
    TASKS "  main:\n    nodes:\n"
          "      m: {task: make, with: {n: 1}}\n"
          "      a: {task: add, with: {a: \"$m.l[1]\"}}\n"
          "      b: {task: lists, with: {l: [5, \"$m.l[2]\"]}}\n"
          "      s:\n        switch:\n"
          "          - {when: \"$m.l[0] == 10\", task: add, with: {a: \"$m.l[0]\"}}\n"
          "          - else: {task: add, with: {a: 0}}\n"
          "    outputs: {a: $a.c, s: $s.c, own: \"$m.l[2]\"}\n"
          "  lost:\n    nodes:\n"
          "      m: {task: make, with: {n: 1}}\n"
          "      a: {task: add, with: {a: \"$m.l[3]\"}}\n";

#define LOOKED "{\"a\":21,\"s\":11,\"own\":30}"

static struct flow *open_looking(struct flow_rule *rules)
{
    static const uint8_t list[] = {0x93, 10, 20, 30};
    struct flow *flow = flow_new(looking);
    flow->elsewhere = (struct tr_bytes){list, sizeof list};
    flow_obey(flow, rules);
    return flow;
}

static void test_nodes_look_into_values_that_lie_elsewhere(void **state)
{
    (void)state;
    struct tr_buffer slots;
    write_elsewhere(&slots);
    struct flow_rule rules[] = {{"m", {.outputs = tr_buffer_bytes(&slots)}}, {0}};
    struct flow *flow = open_looking(rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_outputs(flow, "e"), LOOKED);
    assert_int_equal(flow->asked, 5);
    flow_run(flow, "lost", "[]", "f");
    assert_string_equal(flow_error(flow, "f"),
                        "BindingResolutionError: 'a' gets $m.l[3], which is not there: no such "
                        "field or element (a)");
    flow_free(flow);
    tr_buffer_fini(&slots);
}

static void test_a_look_that_fails_is_tried_again_and_told(void **state)
{
    (void)state;
    struct tr_buffer slots;
    write_elsewhere(&slots);
    struct flow_rule rules[] = {{"m", {.outputs = tr_buffer_bytes(&slots)}}, {0}};
    struct flow *flow = open_looking(rules);
    flow->refusals = 4;
    flow->refusal = TR_BUSY;
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_outputs(flow, "e"), LOOKED);
    assert_int_equal(flow->asked, 9);
    flow->elsewhere = (struct tr_bytes){0};
    flow_run(flow, "main", "[]", "f");
    assert_string_equal(flow_error(flow, "f"),
                        "StorageError: its inputs are part of a large value, which cannot be read: "
                        "not found (a)");
    flow_free(flow);
    tr_buffer_fini(&slots);
}

/* Whatever happens while the answer is on its way: nothing begins twice, and nothing is stuck. */
static void test_aborts_pauses_and_crashes_while_a_node_looks(void **state)
{
    (void)state;
    struct tr_buffer slots;
    write_elsewhere(&slots);
    struct flow_rule rules[] = {{"m", {.outputs = tr_buffer_bytes(&slots)}}, {0}};
    for (int what = 0; what < 3; what++) {
        struct flow *flow = open_looking(rules);
        flow_launch(flow, "main", "[]", "e");
        stage_run(&flow->stage); /* the question lies there */
        assert_int_equal(flow_node_phase(flow, "e", "a"), TR_NODE_PHASE_NOT_YET_STARTED);
        if (what == 0) {
            flow_abort(flow, flow->execution, "enough", false);
        } else if (what == 1) {
            flow_pause(flow, true);
            (void)flow_recall_serve(flow);
            stage_run(&flow->stage);
            assert_int_equal(flow_node_phase(flow, "e", "a"), TR_NODE_PHASE_NOT_YET_STARTED);
            flow_pause(flow, false);
        } else {
            flow_crash(flow);
        }
        flow_finish(flow);
        if (what == 0) {
            assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_ABORTED);
        } else {
            assert_string_equal(flow_outputs(flow, "e"), LOOKED);
        }
        flow_free(flow);
    }
    tr_buffer_fini(&slots);
}

/* ---------------------------------------------------------------- children */

static void test_a_child_that_gives_too_little(void **state)
{
    (void)state;
    static const uint8_t nothing[] = {0x90};
    struct flow *flow = flow_new(TASKS "  main: {nodes: {n: {task: add, with: {a: 1}}}}\n");
    struct flow_rule rules[] = {{"n", {.outputs = {nothing, sizeof nothing}}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_error(flow, "e"), "OutputsNotFoundError: it succeeded without giving "
                                               "all of its declared outputs (n)");
    expect_phase(flow, "n", TR_NODE_PHASE_FAILED);
    flow_free(flow);
}

static void test_a_child_that_ends_without_being_asked(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main: {nodes: {n: {task: add, with: {a: 1}}}}\n");
    static const struct flow_rule rules[] = {{"n", {.phase = TR_NODE_PHASE_ABORTED}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_error(flow, "e"), "NodeAborted:  (n)");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_FAILED);
    flow_free(flow);
}

static void test_strangers_are_not_believed(void **state)
{
    (void)state;
    struct flow *flow = flow_new(TASKS "  main:\n    nodes:\n"
                                       "      n: {task: add, with: {a: 1}}\n"
                                       "      m: {task: add, with: {a: $n.c}}\n");
    static const struct flow_rule rules[] = {{"n", {.delay_ms = 20}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    static const uint32_t nodes[] = {0, 1, 2, 3, 4711};
    for (size_t i = 0; i < TR_COUNT_OF(nodes); i++) {
        struct tr_node_ended ended = {.node = nodes[i],
                                      .element = TR_ELEMENT_NONE,
                                      .phase = TR_NODE_PHASE_FAILED,
                                      .code = tr_text_of("Lie")};
        stage_tell(&flow->stage, flow->execution, &tr_node_ended_schema, &ended);
        stage_tell(&flow->stage, flow->execution, &tr_launched_schema, &(struct tr_launched){0});
        stage_run(&flow->stage);
        assert_int_equal(stage_dead_letters(&flow->stage, TR_UNKNOWN_TYPE), 2 * (i + 1));
    }
    struct tr_node_start again = {.graph = flow->graph_number};
    stage_tell(&flow->stage, flow->execution, &tr_node_start_schema, &again);
    stage_advance(&flow->stage, 50);
    assert_true(flow_is_idle(flow));
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_optional_may_succeed),
        cmocka_unit_test(test_what_is_optional_may_fail),
        cmocka_unit_test(test_outputs_of_optional_nodes_may_be_wrong),
        cmocka_unit_test(test_inputs_of_optional_nodes_may_be_wrong),
        cmocka_unit_test(test_references_that_lead_nowhere_fail_their_node),
        cmocka_unit_test(test_outputs_of_the_workflow_may_lead_nowhere),
        cmocka_unit_test(test_inputs_that_are_too_large_together),
        cmocka_unit_test(test_values_that_lie_elsewhere),
        cmocka_unit_test(test_nodes_look_into_values_that_lie_elsewhere),
        cmocka_unit_test(test_a_look_that_fails_is_tried_again_and_told),
        cmocka_unit_test(test_aborts_pauses_and_crashes_while_a_node_looks),
        cmocka_unit_test(test_a_child_that_gives_too_little),
        cmocka_unit_test(test_a_child_that_ends_without_being_asked),
        cmocka_unit_test(test_strangers_are_not_believed),
    };
    return cmocka_run_group_tests_name("actors/workflow_node", tests, NULL, NULL);
}
