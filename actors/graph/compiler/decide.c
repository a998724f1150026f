/*
 * The graph that a dynamic task decides: the compiler goes on from the graph of its node.
 *
 * What was compiled stays as it is; its names are known to the document, and the document's own
 * tasks and workflows come behind. The workflow that is run comes last, under a name that nobody
 * can write: so whoever goes on from this graph takes it away again, and graphs do not grow with
 * each dynamic task inside another.
 */
#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/json.h"
#include "actors/graph/language/keys.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/document/yaml.h"

#define DECIDED_PREFIX "dynamic:"

/* ------------------------------------------------------------- what is there already */

static bool is_decided(const struct tr_workflow *workflow)
{
    struct tr_text prefix = tr_text_of(DECIDED_PREFIX);
    return workflow->name.size > prefix.size &&
           memcmp(workflow->name.data, prefix.data, prefix.size) == 0;
}

/* A task's packed configuration as a tree, for nodes that override parts of it. */
static const struct tr_tree *config_of(struct tri_compiler *compiler, const struct tr_task *task)
{
    struct tr_buffer json;
    struct tr_report ignored;
    const struct tr_tree *tree = NULL;
    tr_buffer_init(&json, 0);
    tr_report_init(&ignored);
    if (task->settings.config.size > 0 &&
        tr_literal_json(NULL, task->settings.config, &json) == 0) {
        struct tr_text text = tr_arena_text(compiler->scratch, tr_buffer_text(&json));
        tree = tr_json_read(compiler->scratch, &ignored, 0, text);
    }
    tr_report_fini(&ignored);
    tr_buffer_fini(&json);
    return tree;
}

static void inherit_tasks(struct tri_compiler *compiler, struct tri_place place)
{
    const struct tr_graph *graph = compiler->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        struct tri_task *task =
            tri_vector_add(compiler->scratch, &compiler->definition.tasks, sizeof *task);
        if (task == NULL) {
            return;
        }
        task->name = (struct tri_name){.text = graph->tasks[i].name, .place = place};
        task->task = graph->tasks[i];
        task->settings.settings = graph->tasks[i].settings;
        task->settings.config = config_of(compiler, &graph->tasks[i]);
    }
}

static void inherit_workflows(struct tri_compiler *compiler, struct tri_place place)
{
    struct tr_graph *graph = compiler->graph;
    if (graph->workflow_count > 0 && is_decided(&graph->workflows[graph->workflow_count - 1])) {
        graph->workflow_count--;
    }
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        struct tri_workflow *workflow =
            tri_vector_add(compiler->scratch, &compiler->definition.workflows, sizeof *workflow);
        if (workflow == NULL) {
            return;
        }
        workflow->name = (struct tri_name){.text = graph->workflows[i].name, .place = place};
        workflow->is_compiled = true;
    }
}

static void inherit_plans(struct tri_compiler *compiler, struct tri_place place)
{
    const struct tr_graph *graph = compiler->graph;
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        struct tri_plan *plan =
            tri_vector_add(compiler->scratch, &compiler->definition.plans, sizeof *plan);
        if (plan == NULL) {
            return;
        }
        plan->name = (struct tri_name){.text = graph->plans[i].name, .place = place};
    }
}

/* Nodes that have the settings of their task find them where the tasks are now. */
static void follow_tasks(struct tr_graph *graph, const struct tr_task *before)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        struct tr_workflow *workflow = &graph->workflows[i];
        for (uint32_t k = 0; k < workflow->node_count; k++) {
            struct tr_node *node = &workflow->nodes[k];
            bool is_tasks = node->target_kind == TR_TARGET_TASK &&
                            node->settings == &before[node->target].settings;
            if (is_tasks) {
                node->settings = &graph->tasks[node->target].settings;
            }
        }
    }
}

/* ----------------------------------------------------------------------- the document */

/* The number of four hexadecimal digits behind "\\u", or -1. */
static int32_t unit_at(struct tr_text text, size_t at)
{
    int32_t unit = 0;
    if (text.size < 6 || at > text.size - 6 || text.data[at] != '\\' || text.data[at + 1] != 'u') {
        return -1;
    }
    for (size_t i = at + 2; i < at + 6; i++) {
        char letter = text.data[i];
        int digit = letter >= '0' && letter <= '9'   ? letter - '0'
                    : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
                    : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                                     : -1;
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/*
 * JSON as the YAML that it is, so that errors have their places. There is one thing that YAML does
 * not know: a character that is written as two units, which becomes one of eight digits.
 */
static struct tr_text as_yaml(struct tr_arena *scratch, struct tr_text json)
{
    struct tr_buffer yaml;
    size_t done = 0;
    tr_buffer_init(&yaml, 0);
    for (size_t at = 0; at < json.size; at++) {
        if (json.data[at] != '\\') {
            continue;
        }
        int32_t high = unit_at(json, at);
        int32_t low = high >= 0xd800 && high < 0xdc00 ? unit_at(json, at + 6) : -1;
        if (low < 0xdc00 || low > 0xdfff) {
            at++; /* what is escaped begins nothing */
            continue;
        }
        tr_buffer_add(&yaml, json.data + done, at - done);
        tr_buffer_print(&yaml, "\\U%08x",
                        0x10000U + (((uint32_t)high - 0xd800U) << 10) + (uint32_t)low - 0xdc00U);
        at += 11;
        done = at + 1;
    }
    tr_buffer_add(&yaml, json.data + done, json.size - done);
    struct tr_text text = tr_arena_text(scratch, tr_buffer_text(&yaml));
    if (yaml.error != 0) {
        scratch->error = yaml.error;
    }
    tr_buffer_fini(&yaml);
    return text;
}

/* Where each input of the task stands in the document: nowhere. */
static const struct tri_place *no_places(struct tri_compiler *compiler, uint32_t count,
                                         struct tri_place place)
{
    struct tri_place *places = tr_arena_array(compiler->scratch, count, sizeof *places);
    for (uint32_t i = 0; places != NULL && i < count; i++) {
        places[i] = place;
    }
    return places;
}

/* Reads the document: what it defines goes into the definition, its nodes into `workflow`. */
static bool read_document(struct tri_compiler *compiler, const struct tr_decision *decision,
                          const struct tr_task *task, struct tri_workflow *workflow)
{
    struct tri_definition *definition = &compiler->definition;
    definition->source = tri_report_source(compiler->report, decision->path);
    definition->folder = task->folder;
    definition->path = tr_arena_text(definition->arena, decision->path);
    struct tri_place place = {.source = definition->source, .line = 1, .column = 1};
    *workflow = (struct tri_workflow){
        .name = {.text = task->name, .place = place},
        .source = definition->source,
        .folder = task->folder,
        .description = tr_text_of(""),
        .inputs = task->interface.inputs,
        .input_places = no_places(compiler, task->interface.inputs.count, place),
        .results = &task->interface.outputs,
    };
    struct tr_text before = tri_report_subject(compiler->report, task->name);
    const struct tr_tree *tree =
        tr_yaml_read(compiler->scratch, compiler->report, definition->source,
                     as_yaml(compiler->scratch, decision->text));
    bool is_fine = tree != NULL && workflow->input_places != NULL &&
                   tri_expect_map(definition, tree, "a dynamic task's document");
    if (is_fine) {
        tri_read_decision(definition, tree, workflow);
    }
    (void)tri_report_subject(compiler->report, before);
    return is_fine;
}

/* ------------------------------------------------------------------------- the graph */

/* Dynamic tasks may hold dynamic tasks: what no definition can count is counted here. */
static void check_nesting(struct tri_compiler *compiler, const struct tr_decision *decision,
                          struct tri_place place)
{
    const struct tr_graph *graph = compiler->graph;
    uint32_t nesting = graph->workflows[graph->main_workflow].nesting;
    if (decision->depth + nesting > TR_WORKFLOW_NESTING_MAX) {
        tri_report_add(compiler->report, place, "InvalidValue",
                       "workflows nest deeper than %u, counted through from the execution\n"
                       "let the dynamic task end with outputs, or launch a workflow",
                       TR_WORKFLOW_NESTING_MAX);
    }
}

static void decide(struct tri_compiler *compiler, const struct tr_decision *decision)
{
    struct tr_graph *graph = compiler->graph;
    const struct tr_task *before = graph->tasks;
    struct tri_place there = {
        .source = tri_report_source(compiler->report, tr_text_of("the definition"))};
    struct tri_workflow own;
    inherit_tasks(compiler, there);
    inherit_workflows(compiler, there);
    inherit_plans(compiler, there);
    uint32_t inherited = graph->workflow_count;
    bool is_read = read_document(compiler, decision, &before[decision->task], &own);
    tri_definition_collect(&compiler->definition);
    struct tri_workflow *last =
        tri_vector_add(compiler->scratch, &compiler->definition.workflows, sizeof *last);
    if (!is_read || last == NULL) {
        return;
    }
    *last = own;
    tri_place_tasks(compiler);
    tri_place_workflows(compiler);
    if (graph->arena.error != 0 || compiler->scratch->error != 0) {
        return;
    }
    graph->main_workflow = graph->workflow_count - 1;
    follow_tasks(graph, before);
    for (uint32_t i = inherited; i < graph->workflow_count; i++) {
        tri_compile_workflow(compiler, i, 0);
    }
    check_nesting(compiler, decision, own.name.place);
    graph->workflows[graph->main_workflow].name = tr_arena_print(
        &graph->arena, DECIDED_PREFIX "%.*s", TRI_TEXT(graph->tasks[decision->task].name));
}

int tr_graph_decide(const struct tr_decision *decision, struct tr_report *report,
                    struct tr_graph **graph_out)
{
    struct tr_graph *graph = decision->parent;
    struct tr_arena scratch;
    struct tr_types types;
    TR_ASSERT(decision->task < graph->task_count);
    tr_arena_init(&scratch);
    struct tri_compiler compiler = {
        .graph = graph,
        .scratch = &scratch,
        .report = report,
        .definition = {.arena = &graph->arena,
                       .scratch = &scratch,
                       .types = &types,
                       .report = report,
                       .nearest_left = TRI_NEAREST_COMPARISONS_MAX,
                       .project = graph->project,
                       .domain = graph->domain,
                       .key = tr_text_of("")},
    };
    if (tr_types_resume(&types, &graph->arena, graph->types, graph->type_count)) {
        decide(&compiler, decision);
        graph->types = types.items;
        graph->type_count = types.count;
    }
    int error = tri_compile_finish(&compiler);
    tr_arena_fini(&scratch);
    if (error != 0) {
        tr_graph_free(graph);
        return error;
    }
    *graph_out = graph;
    return 0;
}
