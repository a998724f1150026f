/*
 * Finding nodes by their paths: one sorted table of names for each workflow on the way, in the
 * graph of the execution and in those that dynamic nodes have decided.
 */
#include "deploy/graphs/route.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/codec/error.h"

/* The nodes of a workflow by their names, and where each stands in its order. */
struct tri_route_names {
    uint32_t *by_name;
    uint32_t *ranks; /* TR_GRAPH_NONE: it is not in the order, as on_failure */
};

/* A graph that a path has led into, and the names of its workflows. */
struct tri_route_graph {
    struct tri_route_graph *next;
    const struct tr_graph *graph;
    struct tri_route_names **names; /* of each workflow */
};

int tr_route_init(struct tr_route *route, const struct tr_graph *graph, struct tr_text workflow)
{
    *route = (struct tr_route){.graph = graph, .root = tr_graph_find_workflow(graph, workflow)};
    if (route->root == TR_GRAPH_NONE) {
        return TR_NOT_FOUND;
    }
    tr_arena_init(&route->arena);
    return 0;
}

void tr_route_fini(struct tr_route *route)
{
    if (route->graph != NULL) {
        tr_arena_fini(&route->arena);
    }
    *route = (struct tr_route){.graph = NULL};
}

static int by_name(const void *a, const void *b, void *self)
{
    const struct tr_workflow *workflow = self;
    return tr_text_order(workflow->nodes[*(const uint32_t *)a].id,
                         workflow->nodes[*(const uint32_t *)b].id);
}

/* What is known of a graph; NULL without memory. */
static struct tri_route_graph *graph_of(struct tr_route *route, const struct tr_graph *graph)
{
    for (struct tri_route_graph *known = route->graphs; known != NULL; known = known->next) {
        if (known->graph == graph) {
            return known;
        }
    }
    struct tri_route_graph *known = tr_arena_alloc(&route->arena, sizeof *known);
    struct tri_route_names **names =
        tr_arena_array(&route->arena, graph->workflow_count, sizeof *names);
    if (known == NULL || names == NULL) {
        return NULL;
    }
    *known = (struct tri_route_graph){.next = route->graphs, .graph = graph, .names = names};
    return route->graphs = known;
}

/* The names of a workflow; NULL without memory. */
static const struct tri_route_names *names_of(struct tr_route *route, struct tr_inside inside)
{
    const struct tr_workflow *workflow = inside.workflow;
    struct tri_route_graph *graph = graph_of(route, inside.graph);
    struct tri_route_names **place =
        graph == NULL ? NULL : &graph->names[workflow - inside.graph->workflows];
    if (place == NULL || *place != NULL) {
        return place == NULL ? NULL : *place;
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
static int find_node(struct tr_route *route, struct tr_inside inside, struct tr_text name,
                     struct tr_stop *stop)
{
    const struct tr_workflow *workflow = inside.workflow;
    const struct tri_route_names *names = names_of(route, inside);
    uint32_t low = 0;
    uint32_t high = workflow->node_count;
    if (names == NULL) {
        return TR_MEMORY;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t node = names->by_name[middle];
        int order = tr_text_order(name, workflow->nodes[node].id);
        if (order == 0) {
            *stop = (struct tr_stop){.graph = inside.graph,
                                     .workflow = workflow,
                                     .node = node,
                                     .rank = names->ranks[node]};
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

int tr_route_inside(struct tr_route *route, struct tr_text path, const struct tr_stop *stop,
                    struct tr_inside *inside)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    bool runs_inside = node->kind == TR_NODE_WORKFLOW || node->kind == TR_NODE_MAP;
    *inside = (struct tr_inside){.graph = NULL};
    if (runs_inside && node->target_kind == TR_TARGET_WORKFLOW) {
        inside->graph = stop->graph;
        inside->workflow = &stop->graph->workflows[node->target];
    }
    if (node->kind != TR_NODE_DYNAMIC || route->decided == NULL) {
        return 0;
    }
    int error = tr_decided_at(route->decided, path, &inside->graph);
    if (error == 0) {
        inside->workflow = &inside->graph->workflows[inside->graph->main_workflow];
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

int tr_route_find(struct tr_route *route, struct tr_text path, struct tr_stop *out)
{
    struct tr_stop stop = {.workflow = NULL};
    struct tr_inside inside = {route->graph, &route->graph->workflows[route->root]};
    struct tr_text rest = path;
    int error = path.size == 0 || path.data[path.size - 1] == '/' ? TR_NOT_FOUND : 0;
    while (error == 0 && rest.size > 0) {
        error = inside.workflow == NULL ? TR_NOT_FOUND
                                        : find_node(route, inside, take_name(&rest), &stop);
        /* The path so far, without the slash behind it: that of the node in the history. */
        size_t size = path.size - rest.size - (rest.size > 0 ? 1 : 0);
        struct tr_text so_far = {.data = path.data, .size = size};
        if (error == 0) {
            error = tr_route_inside(route, so_far, &stop, &inside);
        }
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

struct tr_text tr_stop_target(const struct tr_stop *stop)
{
    return tr_node_target_name(stop->graph, &stop->workflow->nodes[stop->node]);
}
