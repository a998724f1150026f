/*
 * What becomes of definitions: the shape of graphs, errors with their places, and the sizes that
 * are promised. (The language key by key is in test_reference.c.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "runtime/memory.h"
#include "tests/support/graph_find.h"
#include "tests/unit/actors/graph/help.h"

static const char *const tasks = "troupe: 1\n"
                                 "tasks:\n"
                                 "  one: {inputs: {a: int}, outputs: {b: int}, run: [one]}\n"
                                 "  sum: {inputs: {items: [int]}, outputs: {s: int}, run: [sum],\n"
                                 "        retries: 2, env: {A: 1, B: 2}, config: {p: 1, q: 2}}\n"
                                 "  maybe: {inputs: {v: int | none, w: {type: int, default: 7}}, "
                                 "run: [maybe]}\n";

/* Which of the workflows in a chain launches the next one. */
#define NONE UINT32_MAX
#define ALL (UINT32_MAX - 1)

/* Compiles tasks above and a text; the errors are in the help. */
static struct tr_graph *compile(struct help *help, const char *text)
{
    struct tr_graph *graph = NULL;
    size_t size = strlen(tasks) + strlen(text) + 1;
    char *whole = malloc(size);
    assert_non_null(whole);
    (void)snprintf(whole, size, "%s%s", tasks, text);
    struct tr_definition_source request = {
        .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_text_of(whole)};
    int error = tr_graph_compile(&request, &help->report, &graph);
    assert_int_equal(error, graph != NULL ? 0 : TR_INVALID);
    free(whole);
    return graph;
}

/* The same where it has to compile. */
static struct tr_graph *compile_fine(struct help *help, const char *text)
{
    struct tr_graph *graph = compile(help, text);
    if (graph == NULL) {
        fail_msg("%s", help_errors(help));
    }
    return graph;
}

static uint32_t find(const struct tr_workflow *workflow, const char *id)
{
    uint32_t index = graph_find_node(workflow, tr_text_of(id));
    assert_int_not_equal(index, TR_GRAPH_NONE);
    return index;
}

static bool waits_for(const struct tr_workflow *workflow, uint32_t node, uint32_t other)
{
    for (uint32_t i = 0; i < workflow->nodes[node].upstream_count; i++) {
        if (workflow->upstream[workflow->nodes[node].upstream_first + i] == other) {
            return true;
        }
    }
    return false;
}

static const struct tr_binding *input_of(const struct tr_workflow *workflow, uint32_t node,
                                         uint32_t input)
{
    return &workflow->bindings[workflow->nodes[node].input_first + input];
}

static void expect_output(struct help *help, const struct tr_workflow *workflow, const char *id,
                          uint32_t output, const char *name, const char *type)
{
    const struct tr_node *node = &workflow->nodes[find(workflow, id)];
    assert_true(output < node->outputs.count);
    assert_true(tr_text_equal(node->outputs.items[output].name, tr_text_of(name)));
    struct tr_text text = tr_type_text(&help->arena, node->outputs.items[output].type);
    assert_true(tr_text_equal(text, tr_text_of(type)));
}

static void test_edges_and_order(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    struct tr_graph *graph =
        compile_fine(&help, "workflows:\n"
                            "  w:\n"
                            "    inputs: {n: int}\n"
                            "    nodes:\n"
                            "      last: {task: sum, with: {items: [$b.b, 5, $a.b]}}\n"
                            "      b: {task: one, with: {a: $a.b}, after: [c]}\n"
                            "      a: {task: one, with: {a: $n}}\n"
                            "      c: {task: one, with: {a: 1}}\n"
                            "    outputs: {s: $last.s}\n");
    const struct tr_workflow *workflow = &graph->workflows[0];
    uint32_t a = find(workflow, "a");
    uint32_t b = find(workflow, "b");
    uint32_t c = find(workflow, "c");
    uint32_t last = find(workflow, "last");
    assert_true(waits_for(workflow, b, a) && waits_for(workflow, b, c));
    assert_true(waits_for(workflow, last, a) && waits_for(workflow, last, b));
    assert_true(waits_for(workflow, a, 0) && waits_for(workflow, c, 0));
    assert_true(waits_for(workflow, workflow->end, last));
    assert_false(waits_for(workflow, workflow->end, a));
    const uint32_t order[] = {0, a, c, b, last, workflow->end};
    assert_int_equal(workflow->order_count, TR_COUNT_OF(order));
    assert_memory_equal(workflow->order, order, sizeof order);
    const struct tr_binding *items = input_of(workflow, last, 0);
    assert_int_equal(items->kind, TR_BINDING_LIST);
    assert_int_equal(items->count, 3);
    const struct tr_binding *first = &workflow->bindings[items->first];
    assert_int_equal(first[0].kind, TR_BINDING_REFERENCE);
    assert_int_equal(first[0].node, b);
    assert_int_equal(first[1].kind, TR_BINDING_LITERAL);
    assert_int_equal(first[1].literal.data[0], 5);
    tr_graph_free(graph);
    help_fini(&help);
}

static void test_defaults_and_casts(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    struct tr_graph *graph =
        compile_fine(&help, "workflows:\n"
                            "  w:\n"
                            "    inputs: {n: int}\n"
                            "    nodes:\n"
                            "      bare: {task: maybe}\n"
                            "      cast: {task: maybe, with: {v: $n, w: $n}}\n");
    const struct tr_workflow *workflow = &graph->workflows[0];
    uint32_t bare = find(workflow, "bare");
    uint32_t cast = find(workflow, "cast");
    assert_int_equal(input_of(workflow, bare, 0)->kind, TR_BINDING_LITERAL);
    assert_int_equal(
        tr_literal_check(input_of(workflow, bare, 0)->type, input_of(workflow, bare, 0)->literal),
        0);
    assert_int_equal(input_of(workflow, bare, 1)->literal.data[0], 7);
    assert_ptr_not_equal(input_of(workflow, cast, 0)->type, input_of(workflow, cast, 0)->source);
    assert_ptr_equal(input_of(workflow, cast, 1)->type, input_of(workflow, cast, 1)->source);
    tr_graph_free(graph);
    help_fini(&help);
}

static void test_maps(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    struct tr_graph *graph = compile_fine(
        &help, "workflows:\n"
               "  w:\n"
               "    inputs: {n: [int], m: [[int]]}\n"
               "    nodes:\n"
               "      all: {map: one, with: {a: $n}, parallelism: 5}\n"
               "      some: {map: one, with: {a: [1, 2]}, min_success_ratio: 0.5, errors: why}\n"
               "      lists: {map: sum, with: {items: $m}}\n"
               "      mixed: {map: maybe, with: {v: $n, w: 3}}\n"
               "      gone: {map: one, with: {a: $n}, optional: true}\n");
    const struct tr_workflow *workflow = &graph->workflows[0];
    expect_output(&help, workflow, "all", 0, "b", "[int]");
    expect_output(&help, workflow, "some", 0, "b", "[int | none]");
    expect_output(&help, workflow, "some", 1, "why", "[error | none]");
    expect_output(&help, workflow, "lists", 0, "s", "[int]");
    expect_output(&help, workflow, "gone", 0, "b", "[int] | none");
    assert_int_equal(workflow->nodes[find(workflow, "some")].errors_output, 1);
    assert_int_equal(workflow->nodes[find(workflow, "all")].parallelism, 5);
    uint32_t mixed = find(workflow, "mixed");
    assert_true(input_of(workflow, mixed, 0)->is_mapped);
    assert_false(input_of(workflow, mixed, 1)->is_mapped);
    tr_graph_free(graph);
    help_fini(&help);
}

static void test_branches(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    struct tr_graph *graph =
        compile_fine(&help, "workflows:\n"
                            "  w:\n"
                            "    inputs: {n: int}\n"
                            "    nodes:\n"
                            "      up: {task: one, with: {a: $n}}\n"
                            "      pick:\n"
                            "        switch:\n"
                            "          - {when: $up.b > 1, task: one, with: {a: $other.b}}\n"
                            "          - when: $n > 2\n"
                            "            switch:\n"
                            "              - {when: $n == 5, task: one, with: {a: 5}}\n"
                            "              - else: {task: one, with: {a: 6}}\n"
                            "          - else: skip\n"
                            "      other: {task: one, with: {a: $n}}\n"
                            "      after: {task: maybe, with: {v: $pick.b}}\n");
    const struct tr_workflow *workflow = &graph->workflows[0];
    uint32_t pick = find(workflow, "pick");
    const struct tr_node *branch = &workflow->nodes[pick];
    expect_output(&help, workflow, "pick", 0, "b", "int | none");
    assert_int_equal(branch->arm_count, 3);
    const struct tr_arm *arms = &workflow->arms[branch->arm_first];
    assert_int_equal(arms[0].node, pick + 1);
    assert_int_equal(arms[1].node, pick + 2);
    assert_int_equal(arms[2].kind, TR_ARM_SKIP);
    assert_int_equal(arms[2].condition, TR_GRAPH_NONE);
    assert_true(tr_text_equal(workflow->nodes[pick + 1].id, tr_text_of("pick-n0")));
    assert_true(tr_text_equal(workflow->nodes[pick + 3].id, tr_text_of("pick-n1-n0")));
    assert_int_equal(workflow->nodes[pick + 3].parent, pick + 2);
    assert_true(waits_for(workflow, pick, find(workflow, "up")));
    assert_false(waits_for(workflow, pick, find(workflow, "other")));
    assert_true(waits_for(workflow, pick + 1, pick));
    assert_true(waits_for(workflow, pick + 1, find(workflow, "other")));
    assert_true(waits_for(workflow, find(workflow, "after"), pick));
    tr_graph_free(graph);
    help_fini(&help);
}

static void test_overrides_are_merged(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    struct tr_graph *graph = compile_fine(
        &help, "workflows:\n"
               "  w:\n"
               "    nodes:\n"
               "      plain: {task: sum, with: {items: []}}\n"
               "      over: {task: sum, with: {items: []}, timeout: 1s, env: {B: 3, C: 4},\n"
               "             config: {q: 5}}\n");
    const struct tr_workflow *workflow = &graph->workflows[0];
    const struct tr_settings *own = &graph->tasks[1].settings;
    const struct tr_settings *over = workflow->nodes[find(workflow, "over")].settings;
    assert_ptr_equal(workflow->nodes[find(workflow, "plain")].settings, own);
    assert_int_equal(over->retries, 2);
    assert_int_equal(over->timeout_ns, 1000000000);
    assert_int_equal(own->timeout_ns, 0);
    assert_int_equal(over->environment_count, 3);
    assert_true(tr_text_equal(over->environment[0].name, tr_text_of("A")));
    assert_true(tr_text_equal(over->environment[1].value, tr_text_of("3")));
    assert_int_equal(tr_literal_json(NULL, over->config, &help.text), 0);
    tr_buffer_add(&help.text, "", 1);
    assert_string_equal((const char *)help.text.data, "{\"p\": 1, \"q\": 5}");
    tr_graph_free(graph);
    help_fini(&help);
}

/* The same keys of a task and a node that overrides each of them but the first. */
static void print_overrides(struct tr_buffer *text, const char *setting, uint32_t first,
                            uint32_t last)
{
    tr_buffer_print(text, "%s: {", setting);
    for (uint32_t i = first; i < last; i++) {
        tr_buffer_print(text, "K%u: g/k, ", i);
    }
    tr_buffer_add_string(text, "}");
}

/* Milliseconds as they are; a walk over all names for each of them took a minute. */
static void test_many_overrides(void **state)
{
    (void)state;
    const uint32_t count = 50000;
    static const char *const settings[] = {"env", "secrets", "config"};
    for (size_t i = 0; i < TR_COUNT_OF(settings); i++) {
        struct help help;
        struct tr_buffer text;
        bool is_config = i == 2;
        help_init(&help);
        tr_buffer_init(&text, 0);
        tr_buffer_add_string(&text, "  t: {run: [t], ");
        print_overrides(&text, settings[i], 0, count);
        tr_buffer_add_string(&text, "}\nworkflows: {w: {nodes: {n: {task: t, ");
        print_overrides(&text, settings[i], 1, count + 1);
        tr_buffer_add_string(&text, "}}}}\n");
        tr_buffer_add(&text, "", 1);
        int64_t begin = help_clock_ns();
        struct tr_graph *graph = compile_fine(&help, (const char *)text.data);
        assert_true(help_clock_ns() - begin < 2000000000LL * TEST_SLOWNESS);
        const struct tr_settings *over = graph->workflows[0].nodes[1].settings;
        assert_int_equal(over->environment_count + over->secret_count, is_config ? 0 : count + 1);
        tr_graph_free(graph);
        tr_buffer_fini(&text);
        help_fini(&help);
    }
}

static void test_handlers_get_the_error(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    struct tr_graph *graph =
        compile_fine(&help, "  tidy: {inputs: {err: error | none, code: string}, run: [tidy]}\n"
                            "workflows:\n"
                            "  w:\n"
                            "    nodes: {n: {task: maybe}}\n"
                            "    on_failure: {task: tidy, with: {code: $err.code}}\n");
    const struct tr_workflow *workflow = &graph->workflows[0];
    assert_int_not_equal(workflow->on_failure, TR_GRAPH_NONE);
    assert_int_equal(input_of(workflow, workflow->on_failure, 0)->kind, TR_BINDING_ERROR);
    const struct tr_binding *code = input_of(workflow, workflow->on_failure, 1);
    assert_int_equal(code->kind, TR_BINDING_ERROR);
    assert_int_equal(code->count, 1);
    assert_true(tr_text_equal(workflow->steps[code->first].field, tr_text_of("code")));
    assert_int_equal(workflow->nodes[workflow->on_failure].upstream_count, 0);
    tr_graph_free(graph);
    help_fini(&help);
}

/* All errors of a file at once, sorted by their places. */
static void test_all_errors_with_places(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    assert_null(compile(&help, "workflows:\n"
                               "  w:\n"
                               "    nodes:\n"
                               "      a: {task: nine, with: {a: 1}}\n"
                               "      b: {task: one, with: {a: $a.anything}}\n"
                               "      c: {task: one, with: {a: x}, retry: 1}\n"
                               "    outputs:\n"
                               "      d: $c.e\n"
                               "tusks: 3\n"));
    assert_string_equal(
        help_errors(&help),
        "t:10:17: w.a: there is no task 'nine'; did you mean 'one'? [TaskReferenceNotFound]\n"
        "t:12:32: w.c: 'x' is no value of type int; write a whole number of at most 64 bits "
        "[MismatchingTypes]\n"
        "t:12:36: w.c: 'retry' is no key of a node; the nearest one is 'retries' [InvalidValue]\n"
        "t:14:10: w: '$c.e': the node has no such output; name one of its outputs "
        "[VariableNameNotFound]\n"
        "t:15:1: 'tusks' is no key of a definition; the nearest one is 'tasks' [InvalidValue]");
    help_fini(&help);
}

/* A reference to a broken node tells nothing of the values that come behind it. */
static void test_broken_nodes_hide_no_errors(void **state)
{
    (void)state;
    static const char missing[] = "t:11:17: w.a: there is no task 'missing'; define it, or include "
                                  "its file [TaskReferenceNotFound]\n";
    static const char *const before[] = {
        "      g: {approve: x, with: {v: $a.o}}\n",
        "      g: {switch: [{when: $a.o, task: one, with: {a: 1}}, {else: skip}]}\n",
        "      g: {task: one, with: {a: $a.o}}\n",
        "      g: {map: one, with: {a: $a.o}}\n",
    };
    for (size_t i = 0; i < TR_COUNT_OF(before); i++) {
        struct help help;
        char text[512];
        char expected[512];
        help_init(&help);
        (void)snprintf(text, sizeof text,
                       "workflows:\n  w:\n    inputs: {extra: struct}\n    nodes:\n"
                       "      a: {task: missing}\n%s"
                       "      z: {approve: y, with: {u: $a.o, v: $extra.field}, after: [g]}\n",
                       before[i]);
        (void)snprintf(expected, sizeof expected,
                       "%st:13:42: w.z: '$extra.field' is a field of a struct, whose type is not "
                       "known here; write {value: $extra.field, type: T} [MismatchingTypes]",
                       missing);
        assert_null(compile(&help, text));
        assert_string_equal(help_errors(&help), expected);
        help_fini(&help);
    }
}

/* What a broken node would give has no type in the workflows around, and is told once. */
static void test_what_is_broken_inside_is_told_inside(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    assert_null(compile(&help, "workflows:\n"
                               "  inner: {nodes: {n: {task: missing}}, outputs: {o: $n.b}}\n"
                               "  outer: {nodes: {n: {workflow: inner}}, outputs: {o: $n.o}}\n"));
    assert_string_equal(help_errors(&help),
                        "t:8:29: inner.n: there is no task 'missing'; define it, or include its "
                        "file [TaskReferenceNotFound]");
    help_fini(&help);
}

/* A misspelt body is told by its nearest name; where there is none at all, what there could be. */
static void test_nodes_without_a_body(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    assert_null(compile(&help, "workflows:\n"
                               "  w:\n"
                               "    nodes:\n"
                               "      a: {taks: one}\n"
                               "      b: {deadline: 1s}\n"));
    assert_string_equal(
        help_errors(&help),
        "t:10:11: w.a: 'taks' is no key of a node; the nearest one is 'task' [InvalidValue]\n"
        "t:11:10: w.b: the node does not say what it is; add task, map, workflow, launch, dynamic, "
        "switch, approve, signal or sleep [ValueRequired]");
    help_fini(&help);
}

/* Writes a workflow of many nodes and gives the processor time that compiling it took. */
static int64_t compile_many(uint32_t count, const char *form, struct tr_graph **graph)
{
    struct help help;
    struct tr_buffer text;
    help_init(&help);
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "workflows:\n  w:\n    inputs: {a: int}\n    nodes:\n");
    for (uint32_t i = 0; i < count; i++) {
        bool is_chain = strcmp(form, "chain") == 0;
        bool is_circle = strcmp(form, "circle") == 0;
        uint32_t other = is_circle ? (i + 1) % count : i - 1;
        if ((is_chain && i > 0) || is_circle) {
            tr_buffer_print(&text, "      n%u: {task: one, with: {a: $n%u.b}}\n", i, other);
        } else {
            tr_buffer_print(&text, "      n%u: {task: one, with: {a: $a}}\n", i);
        }
    }
    if (strcmp(form, "fan") == 0) {
        tr_buffer_add_string(&text, "      s: {task: sum, with: {items: [");
        for (uint32_t i = 0; i < count; i++) {
            tr_buffer_print(&text, "%s$n%u.b", i == 0 ? "" : ", ", i);
        }
        tr_buffer_add_string(&text, "]}}\n");
    }
    tr_buffer_add(&text, "", 1);
    int64_t begin = help_clock_ns();
    *graph = compile(&help, (const char *)text.data);
    int64_t spent = help_clock_ns() - begin;
    if (strcmp(form, "circle") == 0) {
        assert_non_null(strstr(help_errors(&help), "99992 more"));
    }
    tr_buffer_fini(&text);
    help_fini(&help);
    return spent;
}

/* The bounds leave room for sanitizers and busy machines; it takes about half a second. */
static void test_hundred_thousand_nodes(void **state)
{
    (void)state;
    const char *const forms[] = {"chain", "fan", "circle"};
    for (size_t i = 0; i < TR_COUNT_OF(forms); i++) {
        struct tr_graph *graph = NULL;
        int64_t spent = compile_many(100000, forms[i], &graph);
        assert_true(spent < 5000000000LL * TEST_SLOWNESS);
        assert_true((graph == NULL) == (strcmp(forms[i], "circle") == 0));
        if (graph != NULL) {
            assert_int_equal(graph->workflows[0].order_count, graph->workflows[0].node_count);
        }
        tr_graph_free(graph);
    }
}

/*
 * `count` workflows of which each calls the next one, but number `launching`, which launches it;
 * written from the first on or from the last.
 */
static struct tr_graph *compile_chain(struct help *help, uint32_t count, uint32_t launching,
                                      bool is_backwards)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "workflows:\n");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = is_backwards ? count - 1 - i : i;
        if (own == count - 1) {
            tr_buffer_print(&text, "  w%u: {nodes: {n: {task: maybe}}}\n", own);
        } else {
            tr_buffer_print(&text, "  w%u: {nodes: {n: {%s: w%u}}}\n", own,
                            own == launching || launching == ALL ? "launch" : "workflow", own + 1);
        }
    }
    tr_buffer_add(&text, "", 1);
    struct tr_graph *graph = compile(help, (const char *)text.data);
    tr_buffer_fini(&text);
    return graph;
}

static uint32_t nesting_of(const struct tr_graph *graph, const char *name)
{
    return graph->workflows[tr_graph_find_workflow(graph, tr_text_of(name))].nesting;
}

/* The bound is for `workflow:` alone, and no order of definitions changes it. */
static void test_nesting(void **state)
{
    (void)state;
    for (int is_backwards = 0; is_backwards < 2; is_backwards++) {
        struct help help;
        help_init(&help);
        struct tr_graph *graph =
            compile_chain(&help, TR_WORKFLOW_NESTING_MAX, NONE, is_backwards != 0);
        assert_non_null(graph);
        assert_int_equal(nesting_of(graph, "w0"), TR_WORKFLOW_NESTING_MAX);
        tr_graph_free(graph);
        const uint32_t too_many[] = {TR_WORKFLOW_NESTING_MAX + 1, 1000};
        for (size_t i = 0; i < TR_COUNT_OF(too_many); i++) {
            assert_null(compile_chain(&help, too_many[i], NONE, is_backwards != 0));
            char expected[160];
            uint32_t place = too_many[i] - TR_WORKFLOW_NESTING_MAX - 1;
            (void)snprintf(expected, sizeof expected,
                           "w%u.n: workflows nest deeper than 64; launch one of them instead "
                           "[InvalidValue]",
                           place);
            const char *errors = help_errors(&help);
            const char *found = strstr(errors, expected);
            assert_true(found != NULL && strchr(errors, '\n') == NULL);
        }
        graph = compile_chain(&help, 80, 39, is_backwards != 0);
        assert_non_null(graph);
        assert_int_equal(nesting_of(graph, "w0"), 40);
        assert_int_equal(nesting_of(graph, "w39"), 1);
        assert_int_equal(nesting_of(graph, "w40"), 40);
        tr_graph_free(graph);
        help_fini(&help);
    }
}

/* Nearly as many launches in a row as one file has room for: no stack holds a frame for each. */
static void test_long_chains_of_launches(void **state)
{
    (void)state;
    for (int is_backwards = 0; is_backwards < 2; is_backwards++) {
        struct help help;
        help_init(&help);
        struct tr_graph *graph = compile_chain(&help, 150000, ALL, is_backwards != 0);
        assert_non_null(graph);
        assert_int_equal(nesting_of(graph, "w0"), 1);
        tr_graph_free(graph);
        help_fini(&help);
    }
}

/* Workflows that call the one before in two nodes, or in the arms of a switch. */
static struct tr_graph *compile_tower(struct help *help, uint32_t height, bool in_arms)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "workflows:\n  w0: {nodes: {n: {task: maybe}}}\n");
    for (uint32_t i = 1; i < height; i++) {
        const uint32_t inner = i - 1;
        tr_buffer_print(&text, "  w%u: {inputs: {k: {type: int, default: 1}}, nodes: {", i);
        if (in_arms) {
            tr_buffer_print(&text,
                            "n: {switch: [{when: $k > 1, workflow: w%u}, {else: {workflow: w%u}}]}",
                            inner, inner);
        } else {
            tr_buffer_print(&text, "n: {workflow: w%u}, m: {workflow: w%u}", inner, inner);
        }
        tr_buffer_add_string(&text, "}}\n");
    }
    tr_buffer_add(&text, "", 1);
    struct tr_graph *graph = compile(help, (const char *)text.data);
    tr_buffer_fini(&text);
    return graph;
}

static void test_expanded_nodes(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    tr_graph_free(compile_tower(&help, 20, false));
    assert_string_equal(help_errors(&help), "");
    assert_null(compile_tower(&help, 60, false));
    assert_non_null(strstr(help_errors(&help), "w21: the workflow comes to more than 10000000"));
    assert_null(strstr(help_errors(&help), "w22"));
    struct tr_graph *graph = compile_tower(&help, 60, true); /* one arm is taken */
    assert_non_null(graph);
    tr_graph_free(graph);
    help_fini(&help);
}

/* Fails the n-th allocation, for each n until the compilation needs no more. */
static bool allow(void *self, size_t size)
{
    int *left = self;
    (void)size;
    return (*left)-- > 0;
}

static void test_memory_may_end_anywhere(void **state)
{
    (void)state;
    const char *text = "troupe: 1\n"
                       "tasks: {t: {inputs: {a: {type: int | none, default: 3}, s: {type: string, "
                       "default: x}}, run: [t], retries: 1, retry_on: [X], never_retry_on: [Y]}}\n"
                       "launch_plans: {p: {workflow: v}}\n"
                       "workflows:\n"
                       "  w: {nodes: {n: {map: t, with: {a: [1]}}, p: {launch: p}}}\n"
                       "  v: {nodes: {s: {switch: [{when: true, workflow: u}, {else: skip}]}}}\n"
                       "  u: {inputs: {i: {type: int, default: 1}}, nodes: {n: {task: t, with: "
                       "{s: 'a{$i}{$$'}}, m: {switch: [{when: '\"{$i}\" == \"1\"', task: t}, "
                       "{fail: '{$i}!'}]}}}\n";
    uint64_t before = tr_memory_used();
    int error = TR_MEMORY;
    for (int n = 0; error == TR_MEMORY; n++) {
        struct tr_report report;
        struct tr_graph *graph = NULL;
        struct tr_definition_source request = {
            .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
        int left = n;
        tr_report_init(&report);
        tr_memory_hook_set(allow, &left);
        error = tr_graph_compile(&request, &report, &graph);
        tr_memory_hook_set(NULL, NULL);
        tr_graph_free(graph);
        tr_report_fini(&report);
        assert_int_equal(tr_memory_used(), before);
        assert_true(n < 1000);
    }
    assert_int_equal(error, 0);
}

/* The errors of a task that lists so many codes of so many bytes. */
static const char *codes_of(struct help *help, uint32_t count, int size)
{
    struct tr_buffer text;
    struct tr_graph *graph = NULL;
    tr_buffer_init(&text, 0);
    tr_buffer_add_string(&text, "troupe: 1\ntasks: {t: {run: [t], retries: 1, retry_on: [");
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_print(&text, "%s%0*u", i > 0 ? ", c" : "c", size - 1, i);
    }
    tr_buffer_add_string(&text, "]}}\n");
    struct tr_definition_source request = {
        .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_buffer_text(&text)};
    int error = tr_graph_compile(&request, &help->report, &graph);
    assert_int_equal(error, graph != NULL ? 0 : TR_INVALID);
    tr_graph_free(graph);
    tr_buffer_fini(&text);
    return help_errors(help);
}

static void test_codes_have_limits(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    assert_string_equal(codes_of(&help, TR_RETRY_CODES_MAX, 3), "");
    assert_string_equal(codes_of(&help, TR_RETRY_CODES_MAX + 1, 3),
                        "t:2:45: t: retry_on names 65 codes, more than 64; write one with a * for "
                        "several [InvalidValue]");
    assert_string_equal(codes_of(&help, 1, TR_RETRY_CODE_BYTES_MAX), "");
    assert_non_null(strstr(codes_of(&help, 1, TR_RETRY_CODE_BYTES_MAX + 1),
                           "' is longer than a code, which has at most 255 bytes; write the "
                           "beginning of it and a * [InvalidValue]"));
    help_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codes_have_limits),
        cmocka_unit_test(test_edges_and_order),
        cmocka_unit_test(test_defaults_and_casts),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_overrides_are_merged),
        cmocka_unit_test(test_many_overrides),
        cmocka_unit_test(test_handlers_get_the_error),
        cmocka_unit_test(test_all_errors_with_places),
        cmocka_unit_test(test_broken_nodes_hide_no_errors),
        cmocka_unit_test(test_what_is_broken_inside_is_told_inside),
        cmocka_unit_test(test_nodes_without_a_body),
        cmocka_unit_test(test_hundred_thousand_nodes),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_long_chains_of_launches),
        cmocka_unit_test(test_expanded_nodes),
        cmocka_unit_test(test_memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
