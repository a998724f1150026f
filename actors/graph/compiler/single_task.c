/*
 * One task as a workflow, for people who try a task alone: start, the task, end. Inputs and outputs
 * are the task's own, and so is the name, which no definition can give to a workflow as well; by
 * that decide.c knows it and takes it away again.
 *
 * It is built as compile_workflow.c would build it, without the text of a definition: a task may
 * have inputs whose names no workflow can use in references, such as `err`.
 */
#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/builder.h"
#include "actors/graph/compiler/compile.h"

/* Where its nodes stand, and the order in which they run. */
enum { START, TASK, END, NODE_COUNT };

bool tri_compile_is_single_task(const struct tr_graph *graph, const struct tr_workflow *workflow)
{
    return tr_graph_find_task(graph, workflow->name) != TR_GRAPH_NONE;
}

/* Whether the definition runs it where a graph may be decided: then it may decide one here, too. */
static bool is_dynamic(const struct tr_graph *graph, uint32_t task)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        const struct tr_workflow *workflow = &graph->workflows[i];
        for (uint32_t k = 0; k < workflow->node_count; k++) {
            const struct tr_node *node = &workflow->nodes[k];
            if (node->kind == TR_NODE_DYNAMIC && node->target == task) {
                return true;
            }
        }
    }
    return false;
}

/* A node of the way from the start to the end. */
static struct tr_node node_at(uint32_t position, enum tr_node_kind kind, struct tr_text id)
{
    return (struct tr_node){
        .id = id,
        .name = id,
        .kind = (uint8_t)kind,
        .target = TR_GRAPH_NONE,
        .parent = TR_GRAPH_NONE,
        .errors_output = TR_GRAPH_NONE,
        .upstream_first = position > START ? position - 1 : 0,
        .upstream_count = position > START,
        .downstream_first = position,
        .downstream_count = position < END,
    };
}

static bool make_nodes(struct tr_graph *graph, uint32_t position, struct tr_workflow *workflow)
{
    const struct tr_task *task = &graph->tasks[position];
    struct tr_node *nodes = tr_arena_array(&graph->arena, NODE_COUNT, sizeof *nodes);
    uint32_t *all = tr_arena_array(&graph->arena, NODE_COUNT, sizeof *all);
    if (nodes == NULL || all == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < NODE_COUNT; i++) {
        all[i] = i;
    }
    nodes[START] = node_at(START, TR_NODE_START, tr_text_of("start-node"));
    nodes[START].outputs = task->interface.inputs;
    nodes[TASK] =
        node_at(TASK, is_dynamic(graph, position) ? TR_NODE_DYNAMIC : TR_NODE_TASK, task->name);
    nodes[TASK].target_kind = TR_TARGET_TASK;
    nodes[TASK].target = position;
    nodes[TASK].settings = &task->settings;
    nodes[TASK].outputs = task->interface.outputs;
    nodes[TASK].min_success_ratio = 1;
    nodes[END] = node_at(END, TR_NODE_END, tr_text_of("end-node"));
    workflow->nodes = nodes;
    workflow->node_count = NODE_COUNT;
    workflow->end = END;
    workflow->order = all;
    workflow->order_count = NODE_COUNT;
    workflow->upstream = all;
    workflow->upstream_count = NODE_COUNT - 1;
    workflow->downstream = all + 1;
    workflow->downstream_count = NODE_COUNT - 1;
    return true;
}

/* Hands on each of these values as it is. */
static void bind_all(const struct tr_variables *variables, uint32_t from,
                     struct tr_binding *bindings)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct tr_variable *variable = &variables->items[i];
        bindings[i] = (struct tr_binding){.kind = TR_BINDING_REFERENCE,
                                          .key = variable->name,
                                          .type = variable->type,
                                          .source = variable->type,
                                          .node = from,
                                          .output = i};
    }
}

static bool bind(struct tr_graph *graph, struct tr_workflow *workflow)
{
    const struct tr_variables *inputs = &workflow->interface.inputs;
    const struct tr_variables *outputs = &workflow->interface.outputs;
    uint32_t count = inputs->count + outputs->count;
    workflow->bindings = tr_arena_array(&graph->arena, count, sizeof *workflow->bindings);
    if (workflow->bindings == NULL) {
        return false;
    }
    workflow->binding_count = count;
    bind_all(inputs, START, workflow->bindings);
    bind_all(outputs, TASK, workflow->bindings + inputs->count);
    workflow->nodes[TASK].input_count = inputs->count;
    workflow->nodes[END].input_first = inputs->count;
    workflow->nodes[END].input_count = outputs->count;
    /* What it has none of has a place, too, so that no code computes with NULL. */
    workflow->steps = tr_arena_alloc(&graph->arena, 0);
    workflow->arms = tr_arena_alloc(&graph->arena, 0);
    workflow->conditions = tr_arena_alloc(&graph->arena, 0);
    return graph->arena.error == 0;
}

int tr_graph_add_single_task(struct tr_graph *graph, uint32_t task, uint32_t *workflow)
{
    const struct tr_task *own = &graph->tasks[task];
    uint32_t count = graph->workflow_count;
    struct tr_workflow *all = tr_arena_array(&graph->arena, count + 1ULL, sizeof *all);
    if (all == NULL) {
        return TR_MEMORY;
    }
    if (count > 0) {
        memcpy(all, graph->workflows, count * sizeof *all);
    }
    all[count] = (struct tr_workflow){
        .name = own->name,
        .description = own->description,
        .folder = own->folder,
        .interface = own->interface,
        .on_failure = TR_GRAPH_NONE,
        .finally = TR_GRAPH_NONE,
        .nesting = 1,
    };
    if (!make_nodes(graph, task, &all[count]) || !bind(graph, &all[count])) {
        return TR_MEMORY;
    }
    graph->workflows = all;
    graph->workflow_count++;
    int error = tr_graph_name(graph);
    if (error == 0) {
        *workflow = count;
    }
    return error;
}
