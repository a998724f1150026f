/*
 * Graphs of Flyte's: what flytekit has compiled (tests/golden/flyte/NAME.futures.pb, made by
 * tests/support/flytekit_graphs.py) becomes the graph that is told beside it; and what is wrong
 * with one is told with the node's id. With TROUPE_WRITE_EXPECTED set the graphs are told anew.
 */
#include <flyteidl/dynamic_job.pb-c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/import/import.h"
#include "schemas/codec/error.h"
#include "tests/unit/actors/graph/help.h"

#define GOLDEN TROUPE_SOURCE_DIR "/tests/golden/flyte/"

static struct help help;
static struct tr_graph *graph;

static int set_up(void **state)
{
    (void)state;
    help_init(&help);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(graph);
    graph = NULL;
    help_fini(&help);
    return 0;
}

/* ------------------------------------------------------------------ deciding */

/* A definition whose task decides a graph. */
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
    struct tr_graph *made = NULL;
    assert_int_equal(tr_graph_compile(&request, &help.report, &made), 0);
    return made;
}

/* Into `graph`. */
static int decide(struct tr_bytes futures, const char *outputs)
{
    const struct tr_decision decision = {
        .parent = parent(outputs), .task = 0, .depth = 1, .path = tr_text_of("futures.pb")};
    tr_graph_free(graph);
    graph = NULL;
    const struct tr_import_futures given = {.bytes = futures};
    return tr_import_decide(&decision, &given, &help.report, &graph);
}

static int decide_spec(const Flyteidl__Core__DynamicJobSpec *spec, const char *outputs)
{
    static uint8_t bytes[8192];
    assert_true(protobuf_c_message_get_packed_size(&spec->base) <= sizeof bytes);
    struct tr_bytes futures = {.data = bytes, .size = protobuf_c_message_pack(&spec->base, bytes)};
    return decide(futures, outputs);
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

static void tell_task(const struct tr_task *task, struct tr_buffer *told)
{
    tr_buffer_print(told, "task %.*s, retries %u, CPU %llu\n", TRI_TEXT(task->name),
                    task->settings.retries,
                    (unsigned long long)task->settings.resources.cpu_millis);
    for (uint32_t i = 0; i < task->argc; i++) {
        tr_buffer_print(told, " %.*s", TRI_TEXT(task->argv[i]));
    }
    tr_buffer_add_string(told, "\n");
    for (uint32_t i = 0; i < task->settings.environment_count; i++) {
        const struct tr_environment *variable = &task->settings.environment[i];
        tr_buffer_print(told, "  %.*s%s%.*s\n", TRI_TEXT(variable->name),
                        variable->value.size > 0 ? "=" : "", TRI_TEXT(variable->value));
    }
}

static void tell_node(const struct tr_workflow *workflow, const struct tr_node *node,
                      struct tr_buffer *told)
{
    tr_buffer_print(told, "  %.*s (%.*s): kind %u of %u, target %d of %u, behind",
                    TRI_TEXT(node->id), TRI_TEXT(node->name), node->kind, node->role,
                    (int)node->target, node->target_kind);
    for (uint32_t i = 0; i < node->upstream_count; i++) {
        tr_buffer_print(told, " %u", workflow->upstream[node->upstream_first + i]);
    }
    tr_buffer_add_string(told, "\n");
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tr_binding *binding = &workflow->bindings[node->input_first + i];
        tr_buffer_print(told, "    %.*s%s: ", TRI_TEXT(binding->key),
                        binding->is_mapped ? " of each" : "");
        tr_binding_print(workflow, binding, told);
        tr_buffer_add_string(told, "\n");
    }
}

/* The graph's own golden file. */
static void compare(const char *name)
{
    char path[600];
    struct tr_buffer told;
    struct tr_buffer expected;
    tr_buffer_init(&told, 0);
    tr_buffer_init(&expected, 0);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        tell_task(&graph->tasks[i], &told);
    }
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        const struct tr_workflow *workflow = &graph->workflows[i];
        tr_buffer_print(&told, "workflow %.*s\n", TRI_TEXT(workflow->name));
        for (uint32_t k = 0; k < workflow->node_count; k++) {
            tell_node(workflow, &workflow->nodes[k], &told);
        }
    }
    snprintf(path, sizeof path, GOLDEN "%s.graph.txt", name);
    if (getenv("TROUPE_WRITE_EXPECTED") != NULL) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(told.data, 1, told.size, file), told.size);
        fclose(file);
    }
    snprintf(path, sizeof path, "%s.graph.txt", name);
    read_file(path, &expected);
    tr_buffer_add(&expected, "", 1);
    tr_buffer_add(&told, "", 1);
    assert_string_equal((const char *)told.data, (const char *)expected.data);
    tr_buffer_fini(&expected);
    tr_buffer_fini(&told);
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
        int error = decide(tr_buffer_bytes(&futures), cases[i].outputs);
        assert_string_equal(help_errors(&help), "");
        assert_int_equal(error, 0);
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
        int error = decide(cut, "{o0: int | none}");
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
    assert_int_equal(decide_spec(&spec, "{}"), 0);
    const struct tr_text *argv = graph->tasks[1].argv;
    assert_true(tr_text_equal(argv[1], tr_text_of("{{.input}} {{`{{`}}.Names}} {{`{{`}}x")));
    assert_true(tr_text_equal(argv[2], tr_text_of("{{{{`{{`}} y }}")));
}

/* ------------------------------------------------------------------ map tasks */

/* A task that maps `names` whole, with one input, a list of integers: what that becomes. */
static const char *map_task(char *names, char *input)
{
    static char execute[] = "pyflyte-map-execute";
    static char words[][16] = {"--resolver", "Mapper", "--", "vars", "resolver"};
    static char inner[] = ",,";
    static char name[] = "t";
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
    if (decide_spec(&spec, "{}") != 0) {
        return help_errors(&help);
    }
    struct tr_text type = tr_type_text(&help.arena, graph->tasks[1].interface.inputs.items[0].type);
    return tr_arena_print(&help.arena, "%.*s", TRI_TEXT(type)).data;
}

static void expect_input(char *names, char *input, const char *type)
{
    assert_string_equal(map_task(names, input), type);
}

/* An input without a name is none that is named, and refused. */
static void test_map_tasks_hand_on_whole_what_they_name(void **state)
{
    (void)state;
    static char names[][8] = {"x", "a,x,b", "xa,bx", "", "x,,", ","};
    static char x[] = "x";
    static char none[] = "";
    expect_input(names[0], x, "[int]");
    expect_input(names[1], x, "[int]");
    expect_input(names[2], x, "int");
    expect_input(names[3], x, "int");
    expect_input(names[5], x, "int");
    assert_non_null(strstr(map_task(names[3], none), "t.inputs.: '' does not belong here"));
}

/* ------------------------------------------------------------------ what is wrong */

static const char *refuse(const Flyteidl__Core__DynamicJobSpec *spec)
{
    assert_int_equal(decide_spec(spec, "{}"), TR_INVALID);
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

/* An output of a node whose id and output are odd names; the errors. */
static const char *refer(const char *id, const char *from, const char *var)
{
    Flyteidl__Core__DynamicJobSpec spec;
    Flyteidl__Core__Node node;
    Flyteidl__Core__Node *nodes[] = {&node};
    Flyteidl__Core__GateNode gate;
    Flyteidl__Core__ApproveCondition approve;
    Flyteidl__Core__Binding input;
    Flyteidl__Core__Binding *inputs[] = {&input};
    Flyteidl__Core__Binding output;
    Flyteidl__Core__Binding *outputs[] = {&output};
    Flyteidl__Core__BindingData value;
    Flyteidl__Core__BindingData data;
    Flyteidl__Core__OutputReference promise;
    Flyteidl__Core__Scalar scalar;
    Flyteidl__Core__Primitive primitive;
    static char name[] = "o0";
    flyteidl__core__dynamic_job_spec__init(&spec);
    flyteidl__core__node__init(&node);
    flyteidl__core__gate_node__init(&gate);
    flyteidl__core__approve_condition__init(&approve);
    flyteidl__core__binding__init(&input);
    flyteidl__core__binding__init(&output);
    flyteidl__core__binding_data__init(&value);
    flyteidl__core__binding_data__init(&data);
    flyteidl__core__output_reference__init(&promise);
    flyteidl__core__scalar__init(&scalar);
    flyteidl__core__primitive__init(&primitive);
    primitive.value_case = FLYTEIDL__CORE__PRIMITIVE__VALUE_INTEGER;
    primitive.integer = 7;
    scalar.value_case = FLYTEIDL__CORE__SCALAR__VALUE_PRIMITIVE;
    scalar.primitive = &primitive;
    value.value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_SCALAR;
    value.scalar = &scalar;
    input.var = (char *)(uintptr_t)var;
    input.binding = &value;
    approve.signal_id = node_id;
    gate.condition_case = FLYTEIDL__CORE__GATE_NODE__CONDITION_APPROVE;
    gate.approve = &approve;
    node.id = (char *)(uintptr_t)id;
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_GATE_NODE;
    node.gate_node = &gate;
    node.n_inputs = 1;
    node.inputs = inputs;
    promise.node_id = (char *)(uintptr_t)from;
    promise.var = (char *)(uintptr_t)var;
    data.value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE;
    data.promise = &promise;
    output.var = name;
    output.binding = &data;
    spec.n_nodes = spec.n_outputs = 1;
    spec.nodes = nodes;
    spec.outputs = outputs;
    (void)!decide_spec(&spec, "{o0: int}");
    return help_errors(&help);
}

/* Names of any characters stay names, whatever they would be in a text of the language. */
static void test_references_have_names_of_any_characters(void **state)
{
    (void)state;
    static const char *const names[] = {"n0",  "$x",  "a.b",    "{$x}", "x)or(y",
                                        "err", "\"]", "back\\", "size"};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        assert_string_equal(refer(names[i], names[i], "o.0"), "");
        const struct tr_workflow *workflow = &graph->workflows[graph->main_workflow];
        const struct tr_binding *binding =
            &workflow->bindings[workflow->nodes[workflow->end].input_first];
        assert_int_equal(binding->kind, TR_BINDING_REFERENCE);
        assert_int_equal(binding->node, 1);
        assert_string_equal(refer(names[i], "", "size"), "");
        workflow = &graph->workflows[graph->main_workflow];
        binding = &workflow->bindings[workflow->nodes[workflow->end].input_first];
        assert_int_equal(binding->node, 0);
    }
    assert_non_null(strstr(refer("n0", "n1", "o.0"), "'$[\"n1\"][\"o.0\"]': there is no such"));
    assert_non_null(strstr(refer("a b", "a b", "o.0"), "'a b' does not belong here"));
}

/* A task of version "v2", whatever is asked for. */
static int find_another(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    static char name[] = "t";
    static char version[] = "v2";
    static uint8_t bytes[64];
    Flyteidl__Core__TaskTemplate task;
    Flyteidl__Core__Identifier id;
    (void)self;
    flyteidl__core__task_template__init(&task);
    flyteidl__core__identifier__init(&id);
    id.name = name;
    id.version = version;
    task.id = &id;
    assert_true(protobuf_c_message_get_packed_size(&task.base) <= sizeof bytes);
    entity->message =
        (struct tr_bytes){.data = bytes, .size = protobuf_c_message_pack(&task.base, bytes)};
    return arena->error;
}

static void test_what_was_applied_has_the_id_that_is_asked_for(void **state)
{
    (void)state;
    static char name[] = "t";
    static char version[] = "v1";
    static uint8_t bytes[128];
    Flyteidl__Core__DynamicJobSpec spec;
    Flyteidl__Core__Node node;
    Flyteidl__Core__Node *nodes[] = {&node};
    Flyteidl__Core__TaskNode task;
    Flyteidl__Core__Identifier id;
    flyteidl__core__dynamic_job_spec__init(&spec);
    flyteidl__core__node__init(&node);
    flyteidl__core__task_node__init(&task);
    flyteidl__core__identifier__init(&id);
    id.name = name;
    id.version = version;
    task.reference_case = FLYTEIDL__CORE__TASK_NODE__REFERENCE_REFERENCE_ID;
    task.reference_id = &id;
    node.id = node_id;
    node.target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    node.task_node = &task;
    spec.n_nodes = 1;
    spec.nodes = nodes;
    const struct tr_decision decision = {
        .parent = parent("{}"), .task = 0, .depth = 1, .path = tr_text_of("futures.pb")};
    const struct tr_import_futures given = {
        .bytes = {.data = bytes, .size = protobuf_c_message_pack(&spec.base, bytes)},
        .find = find_another};
    assert_int_equal(tr_import_decide(&decision, &given, &help.report, &graph), TR_INVALID);
    assert_non_null(
        strstr(help_errors(&help), "the task 't' is damaged in the store; apply it again"));
}

static void test_bytes_that_are_no_graph(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xff};
    struct tr_bytes futures = {.data = bytes, .size = sizeof bytes};
    assert_int_equal(decide(futures, "{}"), TR_INVALID);
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
        TEST(test_what_was_applied_has_the_id_that_is_asked_for),
        TEST(test_bytes_that_are_no_graph),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
