/*
 * The small services of a compiled graph: its end, and finding things by name, which is for people
 * and for the edges of an execution, not for its steps.
 */
#include "actors/graph/compiled/graph.h"

#include "runtime/memory.h"

void tr_graph_free(struct tr_graph *graph)
{
    if (graph != NULL) {
        tr_arena_fini(&graph->arena);
        tr_free(graph);
    }
}

uint32_t tr_variables_find(const struct tr_variables *variables, struct tr_text name)
{
    uint32_t low = 0;
    uint32_t high = variables->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        uint32_t position = variables->by_name[middle];
        int order = tr_text_order(variables->items[position].name, name);
        if (order == 0) {
            return position;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return TR_GRAPH_NONE;
}

uint32_t tr_graph_find_task(const struct tr_graph *graph, struct tr_text name)
{
    for (uint32_t i = 0; i < graph->task_count; i++) {
        if (tr_text_equal(graph->tasks[i].name, name)) {
            return i;
        }
    }
    return TR_GRAPH_NONE;
}

uint32_t tr_graph_find_workflow(const struct tr_graph *graph, struct tr_text name)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        if (tr_text_equal(graph->workflows[i].name, name)) {
            return i;
        }
    }
    return TR_GRAPH_NONE;
}

uint32_t tr_graph_find_plan(const struct tr_graph *graph, struct tr_text name)
{
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        if (tr_text_equal(graph->plans[i].name, name)) {
            return i;
        }
    }
    return TR_GRAPH_NONE;
}

uint32_t tr_workflow_find_node(const struct tr_workflow *workflow, struct tr_text id)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        if (workflow->nodes[i].parent == TR_GRAPH_NONE &&
            tr_text_equal(workflow->nodes[i].id, id)) {
            return i;
        }
    }
    return TR_GRAPH_NONE;
}
