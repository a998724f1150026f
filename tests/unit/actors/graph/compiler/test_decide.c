/*
 * The document of a dynamic task: it becomes a graph of its own that knows what the definition
 * knows, and whatever is wrong with it is told with its place.
 */
#include <stdio.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/compiled/pack.h"
#include "tests/unit/actors/graph/help.h"

static const char definition[] =
    "troupe: 1\n"
    "pools: {crm: {at_once: 2}}\n"
    "tasks:\n"
    "  plan: {type: test, inputs: {size: int}, outputs: {sum: int, note: string | none}}\n"
    "  square: {type: test, inputs: {a: int}, outputs: {b: int}, retries: 2,\n"
    "           config: {queue: x, depth: 3, share: 1.0}}\n"
    "  total: {type: test, inputs: {b: '[int]'}, outputs: {sum: int}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {size: int}\n"
    "    nodes: {d: {dynamic: plan, with: {size: $size}}}\n"
    "    outputs: {sum: $d.sum}\n"
    "  one:\n"
    "    inputs: {a: int}\n"
    "    nodes: {s: {task: square, with: {a: $a}}}\n"
    "    outputs: {b: $s.b}\n"
    "launch_plans: {nightly: {workflow: one, inputs: {a: 3}}}\n";

static struct tr_graph *parent(void)
{
    struct tr_compile_request request = {
        .path = tr_text_of("t.yaml"), .folder = tr_text_of("/t"), .text = tr_text_of(definition)};
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    assert_int_equal(tr_graph_compile(&request, &report, &graph), 0);
    tr_report_fini(&report);
    return graph;
}

/* What is stored and read again, as the program does it. */
static struct tr_graph *again(struct tr_graph *graph)
{
    struct tr_buffer bytes;
    struct tr_graph *copy = NULL;
    tr_buffer_init(&bytes, 0);
    assert_int_equal(tr_graph_pack(graph, &bytes), 0);
    tr_graph_free(graph);
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&bytes), &copy), 0);
    tr_buffer_fini(&bytes);
    return copy;
}

static struct tr_decision decision_of(struct tr_graph *graph, const char *text)
{
    return (struct tr_decision){
        .parent = graph,
        .task = tr_graph_find_task(graph, tr_text_of("plan")),
        .depth = 1,
        .path = tr_text_of("outputs"),
        .text = tr_text_of(text),
    };
}

static struct tr_graph *decided(struct tr_graph *graph, const char *text)
{
    struct help help;
    struct tr_graph *made = NULL;
    struct tr_decision decision = decision_of(graph, text);
    help_init(&help);
    int error = tr_graph_decide(&decision, &help.report, &made);
    assert_string_equal(help_errors(&help), "");
    assert_int_equal(error, 0);
    help_fini(&help);
    return again(made);
}

static void refused(const char *text, const char *errors)
{
    struct help help;
    struct tr_graph *made = NULL;
    struct tr_decision decision = decision_of(again(parent()), text);
    help_init(&help);
    assert_int_equal(tr_graph_decide(&decision, &help.report, &made), TR_INVALID);
    assert_null(made);
    assert_string_equal(help_errors(&help), errors);
    help_fini(&help);
}

static const char two_squares[] =
    "{\"nodes\": {\n"
    "  \"x\": {\"task\": \"square\", \"with\": {\"a\": \"$size\"}},\n"
    "  \"y\": {\"workflow\": \"one\", \"with\": {\"a\": \"$x.b\"}},\n"
    "  \"z\": {\"task\": \"total\", \"with\": {\"b\": [\"$x.b\", \"$y.b\", 7]}}},\n"
    " \"outputs\": {\"sum\": \"$z.sum\"}}";

static void test_the_definition_is_known(void **state)
{
    (void)state;
    struct tr_graph *graph = decided(again(parent()), two_squares);
    const struct tr_workflow *own = &graph->workflows[graph->main_workflow];
    const struct tr_task *plan = &graph->tasks[tr_graph_find_task(graph, tr_text_of("plan"))];
    assert_int_equal(own->node_count, 5);
    assert_int_equal(own->nesting, 2);
    assert_int_equal(own->interface.inputs.count, 1);
    assert_int_equal(own->interface.outputs.count, 2);
    assert_ptr_equal(own->interface.outputs.items[0].type, plan->interface.outputs.items[0].type);
    assert_int_equal(own->bindings[own->nodes[own->end].input_first].kind, TR_BINDING_REFERENCE);
    assert_int_equal(own->bindings[own->nodes[own->end].input_first + 1].kind, TR_BINDING_LITERAL);
    assert_int_equal(own->nodes[1].settings->retries, 2);
    assert_ptr_equal(own->nodes[1].settings, &graph->tasks[own->nodes[1].target].settings);
    assert_int_not_equal(tr_graph_find_plan(graph, tr_text_of("nightly")), TR_GRAPH_NONE);
    assert_int_not_equal(tr_graph_find_workflow(graph, tr_text_of("main")), TR_GRAPH_NONE);
    tr_graph_free(graph);
}

static void test_the_same_document_gives_the_same_graph(void **state)
{
    (void)state;
    struct tr_graph *one = decided(parent(), two_squares);
    struct tr_graph *two = decided(again(parent()), two_squares);
    assert_memory_equal(one->hash, two->hash, TR_GRAPH_HASH_BYTES);
    tr_graph_free(one);
    tr_graph_free(two);
}

/* A graph that a task inside has decided: nothing of the outer document's nodes is in it. */
static void test_graphs_do_not_grow_with_depth(void **state)
{
    (void)state;
    static const char inner[] = "{\"nodes\": {\"d\": {\"dynamic\": \"plan\", \"with\": "
                                "{\"size\": 1}}}, \"outputs\": {\"sum\": \"$d.sum\"}}";
    struct tr_graph *graph = decided(parent(), inner);
    uint32_t count = graph->workflow_count;
    struct tr_graph *deeper = decided(graph, inner);
    assert_int_equal(deeper->workflow_count, count);
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    memcpy(hash, deeper->hash, sizeof hash);
    deeper = decided(deeper, inner);
    assert_memory_equal(deeper->hash, hash, sizeof hash);
    tr_graph_free(deeper);
}

static void test_own_tasks_and_workflows(void **state)
{
    (void)state;
    struct tr_graph *graph =
        decided(again(parent()),
                "{\"troupe\": 1, \"tasks\": {\"cube\": {\"run\": [\"./cube\"], \"pool\": \"crm\","
                " \"inputs\": {\"a\": \"int\"}, \"outputs\": {\"b\": \"int\"}}},"
                " \"workflows\": {\"both\": {\"inputs\": {\"a\": \"int\"}, \"nodes\": {"
                "   \"c\": {\"task\": \"cube\", \"with\": {\"a\": \"$a\"}},"
                "   \"o\": {\"workflow\": \"one\", \"with\": {\"a\": \"$c.b\"}}},"
                "   \"outputs\": {\"b\": \"$o.b\"}}},"
                " \"nodes\": {\"w\": {\"workflow\": \"both\", \"with\": {\"a\": 2}}},"
                " \"outputs\": {\"sum\": \"$w.b\", \"note\": \"caf\\u00e9 \\ud83d\\ude00 \\/\"}}");
    const struct tr_task *cube = &graph->tasks[tr_graph_find_task(graph, tr_text_of("cube"))];
    const struct tr_workflow *own = &graph->workflows[graph->main_workflow];
    assert_int_equal(cube->settings.pool, 0);
    assert_true(tr_text_equal(cube->folder, tr_text_of("/t")));
    assert_int_equal(own->nesting, 3);
    const struct tr_binding *note = &own->bindings[own->nodes[own->end].input_first + 1];
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    assert_int_equal(tr_literal_json(note->type, note->literal, &json), 0);
    tr_buffer_add(&json, "", 1);
    assert_string_equal((const char *)json.data, "\"caf\xc3\xa9 \xf0\x9f\x98\x80 /\"");
    tr_buffer_fini(&json);
    tr_graph_free(graph);
}

/* A node overrides a part of a configuration that is there only as a packed value. */
static void test_overrides_of_what_is_compiled(void **state)
{
    (void)state;
    struct tr_graph *graph =
        decided(again(parent()),
                "{\"nodes\": {\"x\": {\"task\": \"square\", \"with\": {\"a\": 1}, \"retries\": 5,"
                " \"config\": {\"queue\": \"y\"}}}, \"outputs\": {\"sum\": \"$x.b\"}}");
    const struct tr_workflow *own = &graph->workflows[graph->main_workflow];
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    assert_int_equal(own->nodes[1].settings->retries, 5);
    assert_int_equal(tr_literal_json(NULL, own->nodes[1].settings->config, &json), 0);
    tr_buffer_add(&json, "", 1);
    assert_string_equal((const char *)json.data,
                        "{\"depth\": 3, \"queue\": \"y\", \"share\": 1.0}");
    tr_buffer_fini(&json);
    tr_graph_free(graph);
}

static void test_no_nodes_are_outputs_alone(void **state)
{
    (void)state;
    struct tr_graph *graph =
        decided(again(parent()), "{\"nodes\": {}, \"outputs\": {\"sum\": \"$size\"}}");
    assert_int_equal(graph->workflows[graph->main_workflow].node_count, 2);
    tr_graph_free(graph);
}

static void test_each_error_has_its_place(void **state)
{
    (void)state;
    refused("{\"nodes\": {\n  \"x\": {\"task\": \"sqare\"},\n  \"y\": {\"task\": \"square\"}},\n"
            " \"outputs\": {\"total\": \"$y.b\"}, \"node\": 1}",
            "outputs:1:1: plan: the task declares the output 'sum', and the document does not "
            "give it; give it under outputs: {sum: a int} [ParameterNotBound]\n"
            "outputs:2:17: plan.x: there is no task 'sqare'; did you mean 'square'? "
            "[TaskReferenceNotFound]\n"
            "outputs:3:8: plan.y: the input 'a' gets no value; give it under with: {a: a int} "
            "[ParameterNotBound]\n"
            "outputs:4:14: plan: the task declares no output 'total'; remove it, or "
            "declare it there [VariableNameNotFound]\n"
            "outputs:4:32: plan: 'node' is no key of a dynamic task's document; the nearest one is "
            "'nodes' [InvalidValue]");
    refused("{\"nodes\": {}, \"tasks\": {\"square\": {\"run\": [\"x\"]}}, "
            "\"outputs\": {\"sum\": 1}}",
            "outputs:1:25: the name 'square' is taken by the definition of the dynamic task; all "
            "of it is known here: choose another, or use what is there [DuplicateId]");
    refused("{\"nodes\": {}, \"outputs\": {\"sum\": \"many\"}}",
            "outputs:1:34: plan: 'many' is no value of type int; write a whole number of at most "
            "64 bits [MismatchingTypes]");
    refused("{\"nodes\": {\"size\": {\"sleep\": \"1s\"}}, \"outputs\": {\"sum\": 1}}",
            "outputs:1:12: plan: the name 'size' is taken by an input of the workflow; choose "
            "another [DuplicateId]");
    refused("[]", "outputs:1:1: plan: a dynamic task's document is a mapping, and this is a list; "
                  "write {key: value} [InvalidValue]");
}

/* What no definition can count: dynamic tasks in dynamic tasks. */
static void test_nesting_is_counted_through(void **state)
{
    (void)state;
    for (uint32_t depth = TR_WORKFLOW_NESTING_MAX - 2; depth <= TR_WORKFLOW_NESTING_MAX; depth++) {
        struct help help;
        struct tr_graph *made = NULL;
        struct tr_decision decision = decision_of(again(parent()), two_squares);
        decision.depth = depth;
        help_init(&help);
        int error = tr_graph_decide(&decision, &help.report, &made);
        bool fits = depth + 2 <= TR_WORKFLOW_NESTING_MAX;
        assert_int_equal(error, fits ? 0 : TR_INVALID);
        assert_string_equal(help_errors(&help),
                            fits ? ""
                                 : "outputs:1:1: workflows nest deeper than 64, counted through "
                                   "from the execution; let the dynamic task end with outputs, "
                                   "or launch a workflow [InvalidValue]");
        help_fini(&help);
        tr_graph_free(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_definition_is_known),
        cmocka_unit_test(test_the_same_document_gives_the_same_graph),
        cmocka_unit_test(test_graphs_do_not_grow_with_depth),
        cmocka_unit_test(test_own_tasks_and_workflows),
        cmocka_unit_test(test_overrides_of_what_is_compiled),
        cmocka_unit_test(test_no_nodes_are_outputs_alone),
        cmocka_unit_test(test_each_error_has_its_place),
        cmocka_unit_test(test_nesting_is_counted_through),
    };
    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
