/*
 * A task as a workflow of its own: what the compiler would have made of one node, under a name that
 * no definition can give, whatever the task's inputs are called.
 */
#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "tests/unit/actors/graph/help.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  add:\n"
    "    {type: test, inputs: {err: int, more: {type: int, default: 2}}, outputs: {sum: int,\n"
    "     note: string}, retries: 3}\n"
    "  halve: {type: test, inputs: {n: int}, outputs: {n: int}}\n"
    "  alone: {type: test}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {n: int}\n"
    "    nodes: {h: {dynamic: halve, with: {n: $n}}}\n"
    "    outputs: {n: $h.n}\n";

static struct tr_graph *compile(const char *text)
{
    struct tr_definition_source request = {
        .path = tr_text_of("t.yaml"), .folder = tr_text_of("/t"), .text = tr_text_of(text)};
    struct help help;
    struct tr_graph *graph = NULL;
    help_init(&help);
    int error = tr_graph_compile(&request, &help.report, &graph);
    assert_string_equal(help_errors(&help), "");
    assert_int_equal(error, 0);
    help_fini(&help);
    return graph;
}

/* The graph with a task as a workflow, packed and read again, as an engine gets it. */
static struct tr_graph *with_single(const char *name, uint32_t *workflow)
{
    struct tr_graph *graph = compile(definition);
    struct tr_graph *copy = NULL;
    struct tr_buffer bytes;
    uint8_t before[TR_GRAPH_HASH_BYTES];
    memcpy(before, graph->hash, sizeof before);
    uint32_t task = tr_graph_find_task(graph, tr_text_of(name));
    assert_int_equal(tr_graph_add_single_task(graph, task, workflow), 0);
    assert_memory_not_equal(graph->hash, before, sizeof before);
    tr_buffer_init(&bytes, 0);
    assert_int_equal(tr_graph_pack(graph, &bytes), 0);
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&bytes), &copy), 0);
    assert_memory_equal(copy->hash, graph->hash, TR_GRAPH_HASH_BYTES);
    tr_buffer_fini(&bytes);
    tr_graph_free(graph);
    return copy;
}

static void test_inputs_and_outputs_are_the_tasks(void **state)
{
    (void)state;
    uint32_t position = TR_GRAPH_NONE;
    struct tr_graph *graph = with_single("add", &position);
    const struct tr_workflow *single = &graph->workflows[position];
    const struct tr_node *node = &single->nodes[1];
    assert_int_equal(tr_graph_find_workflow(graph, tr_text_of("add")), position);
    assert_int_equal(graph->main_workflow, 0);
    assert_int_equal(single->node_count, 3);
    assert_int_equal(node->kind, TR_NODE_TASK);
    assert_true(tr_text_equal(node->id, tr_text_of("add")));
    assert_int_equal(node->settings->retries, 3);
    assert_ptr_equal(node->settings, &graph->tasks[node->target].settings);
    assert_int_equal(node->input_count, 2);
    assert_int_equal(node->outputs.count, 2);
    assert_true(single->interface.inputs.items[1].has_default);
    const struct tr_binding *note = &single->bindings[single->nodes[single->end].input_first + 1];
    assert_int_equal(note->kind, TR_BINDING_REFERENCE);
    assert_int_equal(note->node, 1);
    assert_int_equal(note->output, 1);
    assert_true(tr_text_equal(note->key, tr_text_of("note")));
    tr_graph_free(graph);
}

static void test_a_task_without_anything(void **state)
{
    (void)state;
    uint32_t position = TR_GRAPH_NONE;
    struct tr_graph *graph = with_single("alone", &position);
    assert_int_equal(graph->workflows[position].binding_count, 0);
    tr_graph_free(graph);
}

/* It is what the compiler makes of the same workflow, but for the name. */
static void test_it_is_what_the_compiler_makes(void **state)
{
    (void)state;
    static const char tasks[] = "troupe: 1\ntasks: {t: {type: test, inputs: {a: int, b: '[int]'}, "
                                "outputs: {c: int}}}\n";
    char text[512];
    struct tr_buffer made;
    struct tr_buffer compiled;
    uint32_t position;
    (void)snprintf(text, sizeof text, "%s%s", tasks,
                   "workflows: {w: {inputs: {a: int, b: '[int]'}, nodes: {t: {task: t, with: "
                   "{a: $a, b: $b}}}, outputs: {c: $t.c}}}\n");
    struct tr_graph *one = compile(tasks);
    struct tr_graph *other = compile(text);
    assert_int_equal(tr_graph_add_single_task(one, 0, &position), 0);
    one->workflows[0].name = tr_text_of("w");
    one->main_workflow = 0;
    tr_buffer_init(&made, 0);
    tr_buffer_init(&compiled, 0);
    assert_int_equal(tr_graph_pack(one, &made), 0);
    assert_int_equal(tr_graph_pack(other, &compiled), 0);
    assert_int_equal(made.size, compiled.size);
    assert_memory_equal(made.data, compiled.data, made.size);
    tr_buffer_fini(&made);
    tr_buffer_fini(&compiled);
    tr_graph_free(one);
    tr_graph_free(other);
}

/* A dynamic task decides a graph, in which the workflow of the task alone is not. */
static void test_a_dynamic_task_may_decide(void **state)
{
    (void)state;
    uint32_t position = TR_GRAPH_NONE;
    struct help help;
    struct tr_graph *graph = with_single("halve", &position);
    assert_int_equal(graph->workflows[position].nodes[1].kind, TR_NODE_DYNAMIC);
    struct tr_decision decision = {
        .parent = graph,
        .task = tr_graph_find_task(graph, tr_text_of("halve")),
        .depth = 1,
        .path = tr_text_of("outputs"),
        .text = tr_text_of("{\"nodes\": {\"x\": {\"task\": \"halve\", \"with\": {\"n\": \"$n\"}}}, "
                           "\"outputs\": {\"n\": \"$x.n\"}}"),
    };
    help_init(&help);
    int error = tr_graph_decide(&decision, &help.report, &graph);
    assert_string_equal(help_errors(&help), "");
    assert_int_equal(error, 0);
    assert_int_equal(tr_graph_find_workflow(graph, tr_text_of("halve")), TR_GRAPH_NONE);
    assert_int_equal(graph->workflow_count, 2);
    help_fini(&help);
    tr_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs_and_outputs_are_the_tasks),
        cmocka_unit_test(test_a_task_without_anything),
        cmocka_unit_test(test_it_is_what_the_compiler_makes),
        cmocka_unit_test(test_a_dynamic_task_may_decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
