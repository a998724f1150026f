/*
 * Finding nodes by their paths: one sorted table of names for each workflow on the way.
 */
#include "deploy/route.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/error.h"

/* The nodes of a workflow by their names, and where each stands in its order. */
struct tri_route_names {
    uint32_t *by_name;
    uint32_t *ranks; /* TR_GRAPH_NONE: it is not in the order, as on_failure */
};

int tr_route_init(struct tr_route *route, const struct tr_graph *graph, struct tr_text workflow)
{
    *route = (struct tr_route){.graph = graph, .root = tr_graph_find_workflow(graph, workflow)};
    if (route->root == TR_GRAPH_NONE) {
        return TR_NOT_FOUND;
    }
    tr_arena_init(&route->arena);
    route->names =
        tr_arena_array(&route->arena, graph->workflow_count, sizeof(struct tri_route_names *));
    if (route->names == NULL) {
        tr_arena_fini(&route->arena);
        return TR_MEMORY;
    }
    return 0;
}

void tr_route_fini(struct tr_route *route)
{
    if (route->names != NULL) {
        tr_arena_fini(&route->arena);
    }
    *route = (struct tr_route){.graph = NULL};
}

static int compare(struct tr_text a, struct tr_text b)
{
    size_t least = a.size < b.size ? a.size : b.size;
    int order = least == 0 ? 0 : memcmp(a.data, b.data, least);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_name(const void *a, const void *b, void *self)
{
    const struct tr_workflow *workflow = self;
    return compare(workflow->nodes[*(const uint32_t *)a].id,
                   workflow->nodes[*(const uint32_t *)b].id);
}

/* The names of a workflow; NULL without memory. */
static const struct tri_route_names *names_of(struct tr_route *route,
                                              const struct tr_workflow *workflow)
{
    struct tri_route_names **place = &route->names[workflow - route->graph->workflows];
    if (*place != NULL) {
        return *place;
    }
    struct tri_route_names *names = tr_arena_alloc(&route->arena, sizeof *names);
    uint32_t *sorted = tr_arena_array(&route->arena, workflow->node_count, sizeof *sorted);
    uint32_t *ranks = tr_arena_array(&route->arena, workflow->node_count, sizeof *ranks);
    if (names == NULL || sorted == NULL || ranks == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        sorted[i] = i;
        ranks[i] = TR_GRAPH_NONE;
    }
    for (uint32_t i = 0; i < workflow->order_count; i++) {
        ranks[workflow->order[i]] = i;
    }
    void *self = (void *)(uintptr_t)workflow;
    qsort_r(sorted, workflow->node_count, sizeof *sorted, by_name, self);
    *names = (struct tri_route_names){.by_name = sorted, .ranks = ranks};
    return *place = names;
}

/* The node of a name in a workflow. */
static int find_node(struct tr_route *route, const struct tr_workflow *workflow,
                     struct tr_text name, struct tr_stop *stop)
{
    const struct tri_route_names *names = names_of(route, workflow);
    uint32_t low = 0;
    uint32_t high = workflow->node_count;
    if (names == NULL) {
        return TR_MEMORY;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t node = names->by_name[middle];
        int order = compare(name, workflow->nodes[node].id);
        if (order == 0) {
            *stop =
                (struct tr_stop){.workflow = workflow, .node = node, .rank = names->ranks[node]};
            return 0;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return TR_NOT_FOUND;
}

/* The first name of a path, without an element; the path goes on behind it. */
static struct tr_text take_name(struct tr_text *path)
{
    const char *slash = memchr(path->data, '/', path->size);
    size_t size = slash == NULL ? path->size : (size_t)(slash - path->data);
    struct tr_text name = {.data = path->data, .size = size};
    size_t used = slash == NULL ? size : size + 1;
    path->data += used;
    path->size -= used;
    const char *bracket = size == 0 ? NULL : memchr(name.data, '[', size);
    if (bracket != NULL) {
        name.size = (size_t)(bracket - name.data);
    }
    return name;
}

const struct tr_workflow *tr_stop_inside(const struct tr_graph *graph, const struct tr_stop *stop)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    bool runs_inside = node->kind == TR_NODE_WORKFLOW || node->kind == TR_NODE_MAP;
    return runs_inside && node->target_kind == TR_TARGET_WORKFLOW ? &graph->workflows[node->target]
                                                                  : NULL;
}

int tr_route_find(struct tr_route *route, struct tr_text path, struct tr_stop *out)
{
    struct tr_stop stop = {.workflow = NULL};
    const struct tr_workflow *workflow = &route->graph->workflows[route->root];
    int error = path.size == 0 || path.data[path.size - 1] == '/' ? TR_NOT_FOUND : 0;
    while (error == 0 && path.size > 0) {
        error =
            workflow == NULL ? TR_NOT_FOUND : find_node(route, workflow, take_name(&path), &stop);
        workflow = error == 0 ? tr_stop_inside(route->graph, &stop) : NULL;
    }
    if (error == 0) {
        *out = stop;
    }
    return error;
}

const char *tr_stop_kind(const struct tr_stop *stop)
{
    static const char *const words[] = {
        [TR_NODE_START] = "start",       [TR_NODE_END] = "end",       [TR_NODE_TASK] = "task",
        [TR_NODE_WORKFLOW] = "workflow", [TR_NODE_LAUNCH] = "launch", [TR_NODE_DYNAMIC] = "dynamic",
        [TR_NODE_MAP] = "map",           [TR_NODE_BRANCH] = "switch", [TR_NODE_APPROVE] = "approve",
        [TR_NODE_SIGNAL] = "signal",     [TR_NODE_SLEEP] = "sleep",
    };
    uint8_t kind = stop->workflow->nodes[stop->node].kind;
    return kind < TR_COUNT_OF(words) ? words[kind] : "?";
}

struct tr_text tr_stop_target(const struct tr_graph *graph, const struct tr_stop *stop)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
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
    return tr_text_of("");
}
