/*
 * The small services of a compiled graph: its end, and finding things by name, which is for people
 * and for the edges of an execution, not for its steps.
 */
#include "actors/graph/compiled/graph.h"

#include <stdlib.h>

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
    /*
     * Halving over `by_name`: positions stay those of the declaration, which is how bindings and
     * messages name variables.
     */
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

/* Variables with their positions, to be sorted by name. */
struct named {
    struct tr_text name;
    uint32_t position;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left;
    const struct named *b = right;
    return tr_text_order(a->name, b->name);
}

const uint32_t *tri_variables_sort(struct tr_arena *arena, const struct tr_variable *items,
                                   uint32_t count)
{
    struct named *named = tr_arena_array(arena, count, sizeof *named);
    uint32_t *positions = tr_arena_array(arena, count, sizeof *positions);
    if (named == NULL || positions == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        named[i] = (struct named){.name = items[i].name, .position = i};
    }
    if (count > 1) {
        qsort(named, count, sizeof *named, compare_named);
    }
    for (uint32_t i = 0; i < count; i++) {
        positions[i] = named[i].position;
    }
    return positions;
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

struct tr_text tr_node_target_name(const struct tr_graph *graph, const struct tr_node *node)
{
    switch ((enum tr_target_kind)node->target_kind) {
    case TR_TARGET_TASK:
        return graph->tasks[node->target].name;
    case TR_TARGET_WORKFLOW:
        return graph->workflows[node->target].name;
    case TR_TARGET_PLAN:
        return graph->plans[node->target].name;
    case TR_TARGET_NONE:
        break;
    }
    return node->signal_id.size > 0 ? node->signal_id : tr_text_of("");
}
