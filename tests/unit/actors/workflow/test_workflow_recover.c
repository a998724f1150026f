/*
 * Recoveries: what an earlier execution gave is kept, what runs anew makes what is behind it run,
 * and an answer that does not come costs nothing but time.
 */
#include <stdio.h>
#include <string.h>

#include "actors/workflow/workflow.h"
#include "runtime/memory.h"
#include "schemas/engine/recovery.h"
#include "tests/support/flow.h"

#define TASKS                                                                              \
    "troupe: 1\n"                                                                          \
    "tasks:\n"                                                                             \
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n" \
    "  maybe: {inputs: {a: int | none}, outputs: {c: int}, run: [x]}\n"                    \
    "  note: {run: [x]}\n"                                                                 \
    "workflows:\n"

static const char line[] = TASKS "  main:\n"
                                 "    inputs: {x: int}\n"
                                 "    nodes:\n"
                                 "      one: {task: add, with: {a: $x}}\n"
                                 "      two: {task: add, with: {a: $one.c}}\n"
                                 "      three: {task: add, with: {a: $two.c}}\n"
                                 "      apart: {task: add, with: {a: 7}}\n"
                                 "    finally: {task: note}\n"
                                 "    outputs: {sum: $three.c, apart: $apart.c}\n";

/* A row for each node that is not kept with 100. */
struct known {
    const char *path;
    uint8_t way;
    const char *input; /* that is edited, to 1000 */
};

/* The script of fake actors is the table, too, and they take no time. */
static uint8_t recall(void *self, struct tr_text path, bool is_again, struct tr_buffer *slots)
{
    uint8_t way = TR_RECOVERY_KEPT;
    for (const struct known *row = self; row->path != NULL; row++) {
        if (!tr_text_equal(path, tr_text_of(row->path))) {
            continue;
        }
        way = row->way;
        if (row->input != NULL) {
            tr_buffer_array(slots, 1);
            tr_buffer_array(slots, 2);
            tr_buffer_text_value(slots, tr_text_of(row->input));
            tr_buffer_i64(slots, 1000);
        }
    }
    if (is_again && way == TR_RECOVERY_KEPT) {
        return TR_RECOVERY_ANEW;
    }
    if (way == TR_RECOVERY_KEPT) {
        tr_buffer_array(slots, 1);
        tr_buffer_i64(slots, 100);
    }
    return way;
}

static void plain(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    (void)self;
    (void)task;
    (void)answer;
}

static struct flow *open_recovering(const char *definition, const struct known *known)
{
    struct flow *flow = flow_new(definition);
    flow->script = plain;
    flow->recall = recall;
    flow->self = (void *)(uintptr_t)known;
    return flow;
}

static void test_what_is_kept_does_not_run(void **state)
{
    (void)state;
    static const struct known known[] = {{0}};
    struct flow *flow = open_recovering(line, known);
    flow_run(flow, "main", "[5]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"sum\":100,\"apart\":100}");
    assert_string_equal(flow_history(flow, "e", "two"), "recovered");
    assert_int_equal(flow->begun, 1); /* finally */
    struct tr_execution row;
    assert_true(flow_execution(flow, "e", &row));
    assert_true(tr_text_equal(row.recovery, tr_text_of("plan")));
    flow_free(flow);
}

static void test_what_is_behind_something_new_runs(void **state)
{
    (void)state;
    static const struct known known[] = {{"two", TR_RECOVERY_OPEN, NULL}, {0}};
    struct flow *flow = open_recovering(line, known);
    flow_run(flow, "main", "[5]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"sum\":102,\"apart\":100}");
    assert_int_equal(flow_node_phase(flow, "e", "one"), TR_NODE_PHASE_RECOVERED);
    assert_string_equal(flow_history(flow, "e", "three"), "running, succeeded");
    assert_int_equal(flow->begun, 3);
    flow_free(flow);
}

static void test_an_edited_input_takes_the_place_of_its_binding(void **state)
{
    (void)state;
    static const struct known known[] = {{"two", TR_RECOVERY_ANEW, "a"}, {0}};
    struct flow *flow = open_recovering(line, known);
    flow_run(flow, "main", "[5]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"sum\":1002,\"apart\":100}");
    flow_free(flow);
}

static void test_inside_a_workflow(void **state)
{
    (void)state;
    static const char nested[] =
        TASKS "  inner: {inputs: {x: int}, nodes: {t: {task: add, with: {a: $x}}, "
              "u: {task: add, with: {a: $t.c}}}, outputs: {y: $u.c}}\n"
              "  main: {inputs: {x: int}, nodes: {w: {workflow: inner, with: {x: $x}}, "
              "v: {workflow: inner, with: {x: $x}}}, outputs: {w: $w.y, v: $v.y}}\n";
    /* Inside what is open nodes are kept, inside what runs anew nobody is asked about. */
    static const struct known known[] = {{"w", TR_RECOVERY_OPEN, NULL},
                                         {"w/u", TR_RECOVERY_OPEN, NULL},
                                         {"v", TR_RECOVERY_ANEW, NULL},
                                         {0}};
    struct flow *flow = open_recovering(nested, known);
    flow_run(flow, "main", "[5]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"w\":101,\"v\":7}");
    assert_int_equal(flow_node_phase(flow, "e", "w/t"), TR_NODE_PHASE_RECOVERED);
    assert_int_equal(flow_node_phase(flow, "e", "v/t"), TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(flow->asked_nodes, 4);
    flow_free(flow);
}

static void test_a_branch_decides_anew(void **state)
{
    (void)state;
    static const char branch[] =
        TASKS "  main:\n"
              "    nodes:\n"
              "      one: {task: add, with: {a: 1}}\n"
              "      way: {switch: [{when: \"$one.c > 50\", task: add, with: {a: 2}}, "
              "{else: {task: add, with: {a: 3}}}]}\n"
              "      end: {task: add, with: {a: $way.c}}\n"
              "    outputs: {c: $end.c}\n";
    static const struct known kept[] = {{0}};
    static const struct known other[] = {{"one", TR_RECOVERY_OPEN, NULL}, {0}};
    struct flow *flow = open_recovering(branch, kept);
    flow_run(flow, "main", "[]", "e");
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":100}");
    assert_string_equal(flow_history(flow, "e", "way"), "running, succeeded");
    assert_int_equal(flow_node_phase(flow, "e", "way-n0"), TR_NODE_PHASE_RECOVERED);
    assert_int_equal(flow->begun, 0);
    flow_free(flow);
    flow = open_recovering(branch, other);
    flow_run(flow, "main", "[]", "e");
    assert_int_equal(flow_node_phase(flow, "e", "way-n1"), TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":5}");
    flow_free(flow);
}

static void test_what_does_not_suit_runs(void **state)
{
    (void)state;
    static const char two[] = TASKS "  main: {nodes: {n: {task: note}, o: {task: add, with: "
                                    "{a: 1}, after: [n]}}, outputs: {c: $o.c}}\n";
    static const struct known known[] = {{0}};
    struct flow *flow = open_recovering(two, known);
    flow_run(flow, "main", "[]", "e"); /* a note gives nothing, and is said to have given 100 */
    assert_int_equal(flow_node_phase(flow, "e", "n"), TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(flow_outputs(flow, "e"), "{\"c\":2}");
    flow_free(flow);
}

/* ---------------------------------------------------------------- many, and questions */

/* A fan of `count` nodes, the text is the caller's to free. */
static char *fan_of(uint32_t count)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, TASKS "  main:\n    max_parallelism: 2\n    nodes:\n");
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_print(&text, "      n%u: {task: add, with: {a: 1}}\n", i);
    }
    tr_buffer_add(&text, "", 1);
    assert_int_equal(text.error, 0);
    return (char *)text.data;
}

static void test_many_are_asked_about_at_once(void **state)
{
    (void)state;
    static const struct known known[] = {{"n7", TR_RECOVERY_OPEN, NULL},
                                         {"n500", TR_RECOVERY_ANEW, NULL},
                                         {"n501", TR_RECOVERY_ANEW, NULL},
                                         {"n502", TR_RECOVERY_ANEW, NULL},
                                         {0}};
    char *definition = fan_of(1000);
    for (uint32_t answered_max = 0; answered_max <= 7; answered_max += 7) {
        struct flow *flow = open_recovering(definition, known);
        flow->answered_max = answered_max;
        flow_run(flow, "main", "[]", "e");
        assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
        assert_int_equal(flow->begun, 4);
        assert_true(flow->alive_max <= 2);
        uint32_t in_one = answered_max > 0 ? answered_max : TR_RECOVER_NODES_MAX;
        assert_true(flow->asked <= 1000 / in_one + 8);
        flow_free(flow);
    }
    tr_free(definition);
}

static void test_a_question_that_fails_is_put_again(void **state)
{
    (void)state;
    static const struct known known[] = {{0}};
    static const int reasons[] = {TR_BUSY, TR_NO_CONNECTION, TR_TIMEOUT};
    for (size_t i = 0; i < TR_COUNT_OF(reasons); i++) {
        struct flow *flow = open_recovering(line, known);
        flow->refusals = 4;
        flow->refusal = reasons[i];
        flow_run(flow, "main", "[5]", "e");
        assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_SUCCEEDED);
        assert_int_equal(flow->begun, 1);
        flow_free(flow);
    }
}

static void test_a_question_without_an_answer_fails_the_node(void **state)
{
    (void)state;
    static const struct known known[] = {{0}};
    struct flow *flow = open_recovering(line, known);
    flow->refusals = 1;
    flow->refusal = TR_NOT_FOUND;
    flow_run(flow, "main", "[5]", "e");
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_FAILED);
    assert_string_equal(flow_error(flow, "e"),
                        "RecoveryError: what it gave in the earlier execution cannot be read: not "
                        "found (one)");
    flow_free(flow);
}

static void test_an_abort_while_the_answer_is_awaited(void **state)
{
    (void)state;
    static const struct known known[] = {{0}};
    struct flow *flow = open_recovering(line, known);
    flow_launch(flow, "main", "[5]", "e");
    stage_run(&flow->stage); /* the question lies there */
    flow_abort(flow, flow->execution, "enough", false);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "e"), TR_EXECUTION_ABORTED);
    assert_int_equal(flow_node_phase(flow, "e", "one"), TR_NODE_PHASE_NOT_YET_STARTED);
    flow_free(flow);
}

static void test_a_crash_after_any_step(void **state)
{
    (void)state;
    static const struct known known[] = {{"two", TR_RECOVERY_OPEN, NULL}, {0}};
    bool is_over = false;
    for (uint32_t after = 0; !is_over && after < 500; after++) {
        struct flow *flow = open_recovering(line, known);
        flow_launch(flow, "main", "[5]", "e");
        for (uint32_t i = 0; i < after; i++) {
            (void)stage_step(&flow->stage);
        }
        is_over = flow_is_idle(flow);
        flow_crash(flow);
        flow_finish(flow);
        assert_string_equal(flow_outputs(flow, "e"), "{\"sum\":102,\"apart\":100}");
        assert_int_equal(flow_node_phase(flow, "e", "one"), TR_NODE_PHASE_RECOVERED);
        flow_free(flow);
        is_over = is_over || after > 60; /* a question that nobody answers waits for ever */
    }
    assert_true(is_over);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_kept_does_not_run),
        cmocka_unit_test(test_what_is_behind_something_new_runs),
        cmocka_unit_test(test_an_edited_input_takes_the_place_of_its_binding),
        cmocka_unit_test(test_inside_a_workflow),
        cmocka_unit_test(test_a_branch_decides_anew),
        cmocka_unit_test(test_what_does_not_suit_runs),
        cmocka_unit_test(test_many_are_asked_about_at_once),
        cmocka_unit_test(test_a_question_that_fails_is_put_again),
        cmocka_unit_test(test_a_question_without_an_answer_fails_the_node),
        cmocka_unit_test(test_an_abort_while_the_answer_is_awaited),
        cmocka_unit_test(test_a_crash_after_any_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
