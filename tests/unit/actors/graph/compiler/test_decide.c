/*
 * The document of a dynamic task: it becomes a graph of its own that knows what the definition
 * knows, and whatever is wrong with it is told with its place.
 */
#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "tests/support/graph_find.h"
#include "tests/unit/actors/graph/help.h"

static const char definition[] =
    "troupe: 1\n"
    "pools: {crm: {at_once: 2}}\n"
    "tasks:\n"
    "  plan: {type: test, inputs: {size: int}, outputs: {sum: int, note: string | none,"
    " any: struct | none}}\n"
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
    struct tr_definition_source request = {
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
    assert_int_equal(own->interface.outputs.count, 3);
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

static void test_texts_with_references(void **state)
{
    (void)state;
    struct tr_graph *graph =
        decided(again(parent()),
                "{\"tasks\": {\"w\": {\"type\": \"test\", \"inputs\": {\"s\": \"string\"}}},"
                " \"nodes\": {\"n\": {\"task\": \"w\", \"with\": {\"s\": \"{$size}!\"}}},"
                " \"outputs\": {\"sum\": \"$size\"}}");
    const struct tr_workflow *own = &graph->workflows[graph->main_workflow];
    const struct tr_binding *text =
        &own->bindings[own->nodes[graph_find_node(own, tr_text_of("n"))].input_first];
    assert_int_equal(text->kind, TR_BINDING_TEXT);
    assert_int_equal(text->count, 2);
    tr_graph_free(graph);
    refused("{\"nodes\": {}, \"outputs\": {\"sum\": \"{$size}\"}}",
            "outputs:1:34: plan: '{$size}' is string, and int is expected here; use a value of "
            "that type, or a task that makes one [MismatchingTypes]");
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

/* ------------------------------------------------------------------------- JSON as YAML */

static uint64_t draw(uint64_t *seed, uint64_t count)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (*seed >> 33) % count;
}

#define DRAW(seed, words) (words)[draw((seed), TR_COUNT_OF(words))]

static void write_blanks(uint64_t *seed, struct tr_buffer *json)
{
    static const char *const blanks[] = {"", "", " ", "\t", "\n", "\r\n", " \t\n\t "};
    tr_buffer_add_string(json, DRAW(seed, blanks));
}

/* Raw and escaped, what YAML 1.1 takes for more than a character. */
static void write_string(uint64_t *seed, uint32_t key, struct tr_buffer *json)
{
    /* clang-format off */
    static const char *const parts[] = {
        "a", " ", "\x7f", "\xc2\x80", "\xc2\x85", "\xc2\x9f", "\u00a0", "\u2028", "\u2029",
        "\ufeff", "\ufffd", "\ufffe", "\uffff", "\U0001f600", "\U0001ffff", "\\/", "\\\\",
        "\\\"", "\\b\\f\\n\\r\\t", "\\u0085", "\\u2028", "\\u007f", "\\ufeff", "\\ud83d\\ude00",
        "#", ": ", "- ", ", ", "'", "{[]}", "<<", "%", "---", "&a *a", "\\u0000", "1E5", "null",
        "\\\\ud83d", "~", "?", "!x", "@`|>"};
    /* clang-format on */
    tr_buffer_add_string(json, "\"");
    if (key > 0) {
        tr_buffer_print(json, "%u", key); /* different from others, and without a zero byte */
    }
    for (uint64_t left = draw(seed, 6); left > 0; left--) {
        const char *part = DRAW(seed, parts);
        tr_buffer_add_string(json, key > 0 && strcmp(part, "\\u0000") == 0 ? "" : part);
    }
    for (uint64_t left = draw(seed, 30) == 0 ? draw(seed, 3000) : 0; left > 0; left--) {
        tr_buffer_add_string(json, left % 7 == 0 ? "\u2028" : "k");
    }
    tr_buffer_add_string(json, "\"");
}

static void write_value(uint64_t *seed, uint32_t depth, struct tr_buffer *json)
{
    static const char *const scalars[] = {"0",     "-1",    "9223372036854775807",
                                          "-0.0",  "1.5",   "1E5",
                                          "1e-7",  "2E+30", "0.10",
                                          "false", "true",  "null"};
    uint64_t kind = draw(seed, depth < 3 ? 4 : 2);
    write_blanks(seed, json);
    if (kind == 0) {
        tr_buffer_add_string(json, DRAW(seed, scalars));
    } else if (kind == 1) {
        write_string(seed, 0, json);
    } else {
        bool is_map = kind == 2;
        uint32_t count = (uint32_t)draw(seed, 5);
        tr_buffer_add_string(json, is_map ? "{" : "[");
        for (uint32_t i = 0; i < count; i++) {
            tr_buffer_add_string(json, i == 0 ? "" : ",");
            if (is_map) {
                write_blanks(seed, json);
                write_string(seed, i + 1, json);
                write_blanks(seed, json);
                tr_buffer_add_string(json, ":");
            }
            write_value(seed, depth + 1, json);
        }
        write_blanks(seed, json);
        tr_buffer_add_string(json, is_map ? "}" : "]");
    }
    write_blanks(seed, json);
}

/* The value of the output `any` in what a document decides. */
static struct tr_bytes decided_value(const struct tr_graph *graph)
{
    const struct tr_workflow *own = &graph->workflows[graph->main_workflow];
    const struct tr_binding *binding = &own->bindings[own->nodes[own->end].input_first + 2];
    assert_int_equal(binding->kind, TR_BINDING_LITERAL);
    return binding->literal;
}

/* What the JSON parser makes of a value that `document` has within a document. */
static void check_json(const char *document, const char *json)
{
    struct help help;
    struct tr_buffer value;
    help_init(&help);
    tr_buffer_init(&value, 0);
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    const struct tr_tree *tree = help_json(&help, json);
    if (tree == NULL ||
        !tr_literal_read(&reader, help_type(&help, "struct | none"), tree, &value)) {
        fail_msg("%s: %s", json, help_errors(&help));
    }
    struct tr_graph *graph = decided(parent(), document);
    if (!tr_literal_equal(decided_value(graph), tr_buffer_bytes(&value))) {
        fail_msg("%s became another value", json);
    }
    tr_graph_free(graph);
    tr_buffer_fini(&value);
    help_fini(&help);
}

static void test_json_is_read_as_json(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 1000; i++) {
        struct tr_buffer json;
        struct tr_buffer document;
        tr_buffer_init(&json, 0);
        tr_buffer_init(&document, 0);
        tr_buffer_add_string(&json, "{\"v\":");
        write_value(&seed, 0, &json);
        tr_buffer_add(&json, "}", 2);
        tr_buffer_add_string(&document, i % 2 == 0 ? "\t" : "\ufeff\t\n\t");
        tr_buffer_print(&document, "{\"nodes\": {}, \"outputs\"\n:\t{\"sum\": 1, \"any\": %s}}",
                        (const char *)json.data);
        tr_buffer_add(&document, "\n\t", 3);
        check_json((const char *)document.data, (const char *)json.data);
        tr_buffer_fini(&document);
        tr_buffer_fini(&json);
    }
}

/* A number that is none here must not become text. */
static void test_numbers_of_json(void **state)
{
    (void)state;
    char threes[1001];
    char digits[1200];
    char document[2000];
    memset(threes, '3', sizeof threes - 1);
    threes[sizeof threes - 1] = '\0';
    (void)snprintf(digits, sizeof digits, "{\"v\": 0.%s}", threes);
    (void)snprintf(document, sizeof document,
                   "{\"nodes\": {}, \"outputs\": {\"sum\": 1, \"any\": %s}}", digits);
    check_json(document, digits);
    refused("{\"nodes\": {},\n \"outputs\": {\"sum\": 1, \"any\": {\"v\": [-1E400]}}}",
            "outputs:2:38: plan: the number '-1E400' is too large; write it as text "
            "[InvalidValue]");
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
        cmocka_unit_test(test_texts_with_references),
        cmocka_unit_test(test_each_error_has_its_place),
        cmocka_unit_test(test_json_is_read_as_json),
        cmocka_unit_test(test_numbers_of_json),
        cmocka_unit_test(test_nesting_is_counted_through),
    };
    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
