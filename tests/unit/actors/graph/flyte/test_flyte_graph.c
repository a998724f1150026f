/*
 * Flyte's graphs: what flytekit has compiled (tests/golden/flyte/NAME.futures.pb, made by
 * tests/support/flytekit_graphs.py) becomes the document beside it, which compiles; and what is
 * wrong with a graph is told with the node's id. With TROUPE_WRITE_EXPECTED set the documents are
 * written anew.
 */
#include <flyteidl/dynamic_job.pb-c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/flyte/flyte.h"
#include "actors/graph/flyte/flyte_graph.h"
#include "actors/graph/language/expression.h"
#include "schemas/codec/error.h"
#include "tests/unit/actors/graph/help.h"

#define GOLDEN TROUPE_SOURCE_DIR "/tests/golden/flyte/"

static struct help help;
static struct tr_buffer document;

static int set_up(void **state)
{
    (void)state;
    help_init(&help);
    tr_buffer_init(&document, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_buffer_fini(&document);
    help_fini(&help);
    return 0;
}

/* ------------------------------------------------------------------ flytekit's */

static void read_file(const char *name, struct tr_buffer *buffer)
{
    char path[512];
    uint8_t bytes[65536];
    snprintf(path, sizeof path, GOLDEN "%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    tr_buffer_add(buffer, bytes, size);
}

/* The documents' own golden files. */
static void compare(const char *name)
{
    char path[512];
    struct tr_buffer expected;
    snprintf(path, sizeof path, "%s.document.yaml", name);
    if (getenv("TROUPE_WRITE_EXPECTED") != NULL) {
        char whole[600];
        snprintf(whole, sizeof whole, GOLDEN "%s", path);
        FILE *file = fopen(whole, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(document.data, 1, document.size, file), document.size);
        fclose(file);
    }
    tr_buffer_init(&expected, 0);
    read_file(path, &expected);
    tr_buffer_add(&expected, "", 1);
    tr_buffer_add(&document, "", 1);
    assert_string_equal((const char *)document.data, (const char *)expected.data);
    tr_buffer_fini(&expected);
}

/* A definition whose task decides the document. */
static struct tr_graph *parent(const char *outputs)
{
    char text[512];
    snprintf(text, sizeof text,
             "troupe: 1\n"
             "tasks: {plan: {type: test, inputs: {size: int}, outputs: %s}}\n"
             "workflows: {main: {inputs: {size: int},\n"
             "    nodes: {d: {dynamic: plan, with: {size: $size}}}}}\n",
             outputs);
    struct tr_definition_source request = {
        .path = tr_text_of("t.yaml"), .folder = tr_text_of("/t"), .text = tr_text_of(text)};
    struct tr_graph *graph = NULL;
    assert_int_equal(tr_graph_compile(&request, &help.report, &graph), 0);
    return graph;
}

static void compile(const char *outputs)
{
    struct tr_graph *graph = NULL;
    const struct tr_decision decision = {.parent = parent(outputs),
                                         .task = 0,
                                         .depth = 1,
                                         .path = tr_text_of("futures.pb"),
                                         .text = tr_buffer_text(&document)};
    int error = tr_graph_decide(&decision, &help.report, &graph);
    assert_string_equal(help_errors(&help), "");
    assert_int_equal(error, 0);
    tr_graph_free(graph);
}

static void test_what_flytekit_compiles_is_a_graph(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *outputs;
    } cases[] = {
        {"fan", "{o0: int}"},
        {"mixed", "{o0: int, o1: string, o2: '[int]'}"},
        {"outer", "{o0: int}"},
        {"gates", "{o0: int}"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_buffer futures;
        char name[64];
        snprintf(name, sizeof name, "%s.futures.pb", cases[i].name);
        tr_buffer_init(&futures, 0);
        read_file(name, &futures);
        tr_buffer_cut(&document, 0);
        assert_int_equal(
            tr_flyte_graph(tr_buffer_bytes(&futures), 1, &help.report, NULL, &document), 0);
        compile(cases[i].outputs);
        compare(cases[i].name);
        tr_buffer_fini(&futures);
    }
}

static void test_futures_may_be_cut_off(void **state)
{
    (void)state;
    struct tr_buffer futures;
    tr_buffer_init(&futures, 0);
    read_file("mixed.futures.pb", &futures);
    for (size_t size = 0; size < futures.size; size += 7) {
        struct tr_bytes cut = {.data = futures.data, .size = size};
        int error = tr_flyte_graph(cut, 1, &help.report, NULL, &document);
        assert_true(error == 0 || error == TR_INVALID);
        assert_true(error == 0 || help_errors(&help)[0] != '\0');
    }
    tr_buffer_fini(&futures);
}

/* ------------------------------------------------------------------ templates */

/* What Flyte's templates do not know goes out as it stands, in Flyte and here. */
static void test_unknown_templates_of_containers_stay(void **state)
{
    (void)state;
    static char words[][40] = {"sh", "{{.input}} {{.Names}} {{x", "{{{{ y }}"};
    static char name[] = "t";
    static uint8_t bytes[4096];
    char *args[] = {words[0], words[1], words[2]};
    Flyteidl__Core__DynamicJobSpec spec;
    Flyteidl__Core__TaskTemplate task;
    Flyteidl__Core__TaskTemplate *tasks[] = {&task};
    Flyteidl__Core__Identifier id;
    Flyteidl__Core__Container container;
    flyteidl__core__dynamic_job_spec__init(&spec);
    flyteidl__core__task_template__init(&task);
    flyteidl__core__identifier__init(&id);
    flyteidl__core__container__init(&container);
    id.name = name;
    container.n_args = TR_COUNT_OF(args);
    container.args = args;
    task.id = &id;
    task.target_case = FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    task.container = &container;
    spec.n_tasks = 1;
    spec.tasks = tasks;
    struct tr_bytes futures = {.data = bytes, .size = protobuf_c_message_pack(&spec.base, bytes)};
    assert_int_equal(tr_flyte_graph(futures, 1, &help.report, NULL, &document), 0);
    tr_buffer_add(&document, "", 1);
    assert_non_null(strstr((const char *)document.data,
                           "[\"sh\", \"{{.input}} {{`{{`}}.Names}} {{`{{`}}x\", "
                           "\"{{{{`{{`}} y }}\"]"));
}

/* ------------------------------------------------------------------ map tasks */

/* A task that maps `names` whole, with one input, a list of integers, and its document. */
static const char *map_task(char *names, char *input)
{
    static char execute[] = "pyflyte-map-execute";
    static char words[][16] = {"--resolver", "Mapper", "--", "vars", "resolver"};
    static char inner[] = ",,";
    static char name[] = "t";
    static uint8_t bytes[4096];
    char *args[] = {execute, words[0], words[1], words[2], words[3], names, words[4], inner};
    Flyteidl__Core__DynamicJobSpec spec;
    flyteidl__core__dynamic_job_spec__init(&spec);
    Flyteidl__Core__TaskTemplate task;
    flyteidl__core__task_template__init(&task);
    Flyteidl__Core__TaskTemplate *tasks[] = {&task};
    Flyteidl__Core__Identifier id;
    flyteidl__core__identifier__init(&id);
    Flyteidl__Core__Container container;
    flyteidl__core__container__init(&container);
    Flyteidl__Core__TypedInterface interface;
    flyteidl__core__typed_interface__init(&interface);
    Flyteidl__Core__VariableMap inputs;
    flyteidl__core__variable_map__init(&inputs);
    Flyteidl__Core__VariableMap__VariablesEntry entry;
    flyteidl__core__variable_map__variables_entry__init(&entry);
    Flyteidl__Core__VariableMap__VariablesEntry *entries[] = {&entry};
    Flyteidl__Core__Variable variable;
    flyteidl__core__variable__init(&variable);
    Flyteidl__Core__LiteralType list;
    flyteidl__core__literal_type__init(&list);
    Flyteidl__Core__LiteralType element;
    flyteidl__core__literal_type__init(&element);
    element.type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_SIMPLE;
    element.simple = FLYTEIDL__CORE__SIMPLE_TYPE__INTEGER;
    list.type_case = FLYTEIDL__CORE__LITERAL_TYPE__TYPE_COLLECTION_TYPE;
    list.collection_type = &element;
    variable.type = &list;
    entry.key = input;
    entry.value = &variable;
    inputs.n_variables = 1;
    inputs.variables = entries;
    interface.inputs = &inputs;
    id.name = name;
    container.n_args = TR_COUNT_OF(args);
    container.args = args;
    task.id = &id;
    task.interface = &interface;
    task.target_case = FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    task.container = &container;
    spec.n_tasks = 1;
    spec.tasks = tasks;
    struct tr_bytes futures = {.data = bytes, .size = protobuf_c_message_pack(&spec.base, bytes)};
    tr_buffer_cut(&document, 0);
    assert_int_equal(tr_flyte_graph(futures, 1, &help.report, NULL, &document), 0);
    tr_buffer_add(&document, "", 1);
    return (const char *)document.data;
}

static void expect_input(char *names, char *input, const char *line)
{
    const char *found = map_task(names, input);
    if (strstr(found, line) == NULL) {
        fail_msg("'%s' has no '%s'", found, line);
    }
}

/* An input without a name is refused by the compiler later; here it is the name of no input. */
static void test_map_tasks_hand_on_whole_what_they_name(void **state)
{
    (void)state;
    static char names[][8] = {"x", "a,x,b", "xa,bx", "", "x,,", ","};
    static char x[] = "x";
    static char none[] = "";
    expect_input(names[0], x, "\"x\": \"[int]\"");
    expect_input(names[1], x, "\"x\": \"[int]\"");
    expect_input(names[2], x, "\"x\": \"int\"");
    expect_input(names[3], x, "\"x\": \"int\"");
    expect_input(names[5], x, "\"x\": \"int\"");
    for (size_t i = 0; i < 4; i++) {
        expect_input(names[i], none, "\"\": \"int\"");
    }
    expect_input(names[4], none, "\"\": \"[int]\"");
}

/* ------------------------------------------------------------------ what is wrong */

static const char *refuse(const Flyteidl__Core__DynamicJobSpec *spec)
{
    static uint8_t bytes[4096];
    size_t size = protobuf_c_message_pack(&spec->base, bytes);
    struct tr_bytes futures = {.data = bytes, .size = size};
    assert_int_equal(tr_flyte_graph(futures, 1, &help.report, NULL, &document), TR_INVALID);
    assert_int_equal(document.size, 0);
    return help_errors(&help);
}

static void expect(const Flyteidl__Core__Node *node, const char *words, const char *code)
{
    Flyteidl__Core__DynamicJobSpec spec;
    Flyteidl__Core__Node copy = *node;
    Flyteidl__Core__Node *nodes[] = {&copy};
    flyteidl__core__dynamic_job_spec__init(&spec);
    spec.n_nodes = 1;
    spec.nodes = nodes;
    const char *found = refuse(&spec);
    if (strstr(found, words) == NULL || strstr(found, code) == NULL) {
        fail_msg("'%s' and not '%s ... %s'", found, words, code);
    }
}

static char node_id[] = "n0";

static void test_nodes_that_are_none_are_named(void **state)
{
    (void)state;
    Flyteidl__Core__Node node;
    Flyteidl__Core__TaskNode task;
    Flyteidl__Core__GateNode gate;
    Flyteidl__Core__ArrayNode array;
    Flyteidl__Core__BranchNode branch;
    Flyteidl__Core__IfElseBlock block;
    flyteidl__core__node__init(&node);
    flyteidl__core__task_node__init(&task);
    flyteidl__core__gate_node__init(&gate);
    flyteidl__core__array_node__init(&array);
    flyteidl__core__branch_node__init(&branch);
    flyteidl__core__if_else_block__init(&block);
    node.id = node_id;
    expect(&node, "n0: the node is of a kind that is not known", "[ValueRequired]");
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    node.task_node = &task;
    expect(&node, "n0: a node does not say what it runs", "[ValueRequired]");
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_GATE_NODE;
    node.gate_node = &gate;
    expect(&node, "n0: a gate does not say what it waits for", "[NoConditionFound]");
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
    node.array_node = &array;
    expect(&node, "n0: a map runs neither a task nor a workflow", "[ValueRequired]");
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE;
    node.branch_node = &branch;
    expect(&node, "n0: a branch has no arms", "[BranchNodeIdNotFound]");
    branch.if_else = &block;
    expect(&node, "n0: an arm of a branch has no node", "[BranchNodeIdNotFound]");
}

static void test_bindings_and_conditions_that_are_none_are_named(void **state)
{
    (void)state;
    static char var[] = "x";
    Flyteidl__Core__Node node;
    Flyteidl__Core__Node arm;
    Flyteidl__Core__GateNode gate;
    Flyteidl__Core__SleepCondition sleep;
    Google__Protobuf__Duration duration;
    Flyteidl__Core__Binding binding;
    Flyteidl__Core__Binding *bindings[] = {&binding};
    Flyteidl__Core__BranchNode branch;
    Flyteidl__Core__IfElseBlock block;
    Flyteidl__Core__IfBlock first;
    Flyteidl__Core__BooleanExpression condition;
    Flyteidl__Core__ComparisonExpression comparison;
    Flyteidl__Core__Operand operand;
    flyteidl__core__node__init(&node);
    flyteidl__core__node__init(&arm);
    flyteidl__core__gate_node__init(&gate);
    flyteidl__core__sleep_condition__init(&sleep);
    google__protobuf__duration__init(&duration);
    flyteidl__core__binding__init(&binding);
    flyteidl__core__branch_node__init(&branch);
    flyteidl__core__if_else_block__init(&block);
    flyteidl__core__if_block__init(&first);
    flyteidl__core__boolean_expression__init(&condition);
    flyteidl__core__comparison_expression__init(&comparison);
    flyteidl__core__operand__init(&operand);
    duration.seconds = 1;
    sleep.duration = &duration;
    gate.condition_case = FLYTEIDL__CORE__GATE_NODE__CONDITION_SLEEP;
    gate.sleep = &sleep;
    arm.target_case = node.target_case = FLYTEIDL__CORE__NODE__TARGET_GATE_NODE;
    arm.gate_node = node.gate_node = &gate;
    node.id = node_id;
    binding.var = var;
    node.n_inputs = 1;
    node.inputs = bindings;
    expect(&node, "n0.inputs.x: a binding is empty", "[ValueRequired]");
    node.n_inputs = 0;
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE;
    node.branch_node = &branch;
    branch.if_else = &block;
    block.case_ = &first;
    first.then_node = &arm;
    expect(&node, "n0: an arm of a branch has no condition", "[BranchNodeHasNoCondition]");
    first.condition = &condition;
    condition.expr_case = FLYTEIDL__CORE__BOOLEAN_EXPRESSION__EXPR_COMPARISON;
    condition.comparison = &comparison;
    expect(&node, "n0: a comparison has no operand", "[ValueRequired]");
    comparison.left_value = comparison.right_value = &operand;
    expect(&node, "n0: an operand of a comparison is empty", "[ValueRequired]");
    operand.val_case = FLYTEIDL__CORE__OPERAND__VAL_VAR;
    operand.var = var;
    expect(&node, "n0.inputs.x: a condition names this, which the branch has not bound",
           "[VariableNameNotFound]");
}

/* The reference that stands in the document for an output of a node. */
static void expect_reference(const char *from, const char *var, struct tri_reference *reference)
{
    Flyteidl__Core__DynamicJobSpec spec;
    Flyteidl__Core__Binding output;
    Flyteidl__Core__Binding *outputs[] = {&output};
    Flyteidl__Core__BindingData data;
    Flyteidl__Core__OutputReference promise;
    static char name[] = "o0";
    static uint8_t bytes[4096];
    struct tr_text problem;
    flyteidl__core__dynamic_job_spec__init(&spec);
    flyteidl__core__binding__init(&output);
    flyteidl__core__binding_data__init(&data);
    flyteidl__core__output_reference__init(&promise);
    spec.n_outputs = 1;
    spec.outputs = outputs;
    output.var = name;
    output.binding = &data;
    data.value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE;
    data.promise = &promise;
    promise.node_id = (char *)(uintptr_t)from;
    promise.var = (char *)(uintptr_t)var;
    struct tr_bytes futures = {.data = bytes, .size = protobuf_c_message_pack(&spec.base, bytes)};
    tr_buffer_cut(&document, 0);
    assert_int_equal(tr_flyte_graph(futures, 1, &help.report, NULL, &document), 0);
    const struct tr_tree *tree =
        tr_yaml_read(&help.arena, &help.report, 0, tr_buffer_text(&document));
    assert_non_null(tree);
    const struct tr_tree *text = tr_tree_find(tr_tree_find(tree, "outputs"), "o0");
    assert_non_null(text);
    assert_true(tri_reference_parse(&help.arena, text->text, reference, &problem));
}

/* Names of any characters stay names, whatever they would be in a text of the language. */
static void test_references_have_names_of_any_characters(void **state)
{
    (void)state;
    static const char *const names[] = {"n0",  "$x",  "a.b",    "a b",       "x) or (y",
                                        "err", "\"]", "back\\", "start-node"};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        struct tri_reference reference;
        bool is_start = strcmp(names[i], "start-node") == 0;
        expect_reference(names[i], "o.0", &reference);
        assert_int_equal(reference.scope, is_start ? TRI_REFERENCE_INPUT : TRI_REFERENCE_NODE);
        assert_true(tr_text_equal(reference.name, tr_text_of(is_start ? "o.0" : names[i])));
        assert_int_equal(reference.step_count, is_start ? 0 : 1);
        expect_reference("", names[i], &reference);
        assert_int_equal(reference.scope, TRI_REFERENCE_INPUT);
        assert_true(tr_text_equal(reference.name, tr_text_of(names[i])));
    }
}

/* What is written so is read as it was: nothing in a string of Flyte's is a reference. */
static void test_strings_are_escaped(void **state)
{
    (void)state;
    static const char *const texts[] = {"$", "$$x", "{$x}", "a{$$b{$", "{{$x}}", "plain", ""};
    struct tri_interpolation interpolation;
    struct tr_text problem;
    struct tr_text literal;
    for (size_t i = 0; i < 2 * TR_COUNT_OF(texts); i++) {
        struct tr_text text = tr_text_of(texts[i / 2]);
        bool has_lead = i % 2 == 0;
        struct tr_text escaped = tri_flyte_escape(&help.arena, text, has_lead);
        assert_true(
            tri_interpolation_parse(&help.arena, escaped, has_lead, &interpolation, &problem));
        assert_true(tri_interpolation_is_literal(&interpolation, &literal));
        assert_true(tr_text_equal(literal, text));
    }
}

static void test_bytes_that_are_no_graph(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xff};
    struct tr_bytes futures = {.data = bytes, .size = sizeof bytes};
    assert_int_equal(tr_flyte_graph(futures, 1, &help.report, NULL, &document), TR_INVALID);
    assert_non_null(strstr(help_errors(&help), "futures.pb is no DynamicJobSpec of Flyte's"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_what_flytekit_compiles_is_a_graph),
        TEST(test_futures_may_be_cut_off),
        TEST(test_unknown_templates_of_containers_stay),
        TEST(test_map_tasks_hand_on_whole_what_they_name),
        TEST(test_nodes_that_are_none_are_named),
        TEST(test_bindings_and_conditions_that_are_none_are_named),
        TEST(test_references_have_names_of_any_characters),
        TEST(test_strings_are_escaped),
        TEST(test_bytes_that_are_no_graph),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
