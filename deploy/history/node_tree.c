/*
 * Making a tree: rows are taken in the order of their paths, what the graph has beside them is
 * added, parents are found by their paths, and all of it is sorted once more, level by level.
 */
#include "deploy/history/node_tree.h"

#include <stdlib.h>
#include <string.h>

#include "actors/store/graph_registry.h"
#include "deploy/common/schemas.h"
#include "deploy/graphs/graphs.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------------- taking in */

/* One more node at the end; NULL without memory. */
static struct tr_node_tree_node *add(struct tr_node_tree *tree)
{
    if (tree->count == tree->capacity) {
        uint32_t capacity = 2 * tree->capacity + 64;
        struct tr_node_tree_node *grown = tr_realloc(tree->nodes, capacity * sizeof *tree->nodes);
        if (grown == NULL) {
            return NULL;
        }
        tree->nodes = grown;
        tree->capacity = capacity;
    }
    struct tr_node_tree_node *node = &tree->nodes[tree->count++];
    *node = (struct tr_node_tree_node){.stop = {.workflow = NULL, .rank = TR_GRAPH_NONE},
                                       .parent = TR_NODE_TREE_NONE,
                                       .element = TR_ELEMENT_NONE};
    return node;
}

static int take_status(void *self, const void *value)
{
    struct tr_node_tree *tree = self;
    const struct tr_node_status *row = value;
    struct tr_node_tree_node *node = add(tree);
    if (node == NULL) {
        return TR_MEMORY;
    }
    node->row = *row;
    return tr_schemas_row_keep(&tree->arena, &tr_node_status_schema, &node->row);
}

/* The node of a path among the first `count`, which are sorted; or TR_NODE_TREE_NONE. */
static uint32_t find(const struct tr_node_tree *tree, uint32_t count, struct tr_text path)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = tr_text_order(path, tree->nodes[middle].row.path);
        if (order == 0) {
            return middle;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return TR_NODE_TREE_NONE;
}

static int take_progress(void *self, const void *value)
{
    struct tr_node_tree *tree = self;
    const struct tr_progress *row = value;
    uint32_t at = find(tree, tree->count, row->path);
    if (at != TR_NODE_TREE_NONE) {
        tree->nodes[at].progress = *row;
        tree->nodes[at].progress.path = tree->nodes[at].row.path;
    }
    return 0;
}

static int read_rows(struct tr_node_tree *tree, struct tr_reader *reader, uint64_t execution)
{
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = &filter, .filter_count = 1};
    int error = tr_reader_rows(reader, &query, take_status, tree);
    query.record = &tr_progress_schema;
    return error != 0 ? error : tr_reader_rows(reader, &query, take_progress, tree);
}

/* -------------------------------------------------------------- what was not begun */

/* Adds a node of a workflow that no row tells of. */
static int add_waiting(struct tr_node_tree *tree, struct tr_text path, const struct tr_stop *stop)
{
    struct tr_node_tree_node *node = add(tree);
    if (node == NULL) {
        return TR_MEMORY;
    }
    node->stop = *stop;
    node->row = (struct tr_node_status){
        .path = path,
        .kind = tr_text_of(tr_stop_kind(stop)),
        .target = tr_stop_target(stop),
        .name = stop->workflow->nodes[stop->node].name,
        .phase = TR_NODE_PHASE_NOT_YET_STARTED,
    };
    return tree->arena.error;
}

/* Adds those nodes of a workflow below `prefix` that the first `known` nodes do not have. */
static int add_rest(struct tr_node_tree *tree, uint32_t known, struct tr_inside inside,
                    struct tr_text prefix)
{
    const struct tr_workflow *workflow = inside.workflow;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < workflow->order_count; i++) {
        struct tr_stop stop = {
            .graph = inside.graph, .workflow = workflow, .node = workflow->order[i], .rank = i};
        const struct tr_node *node = &workflow->nodes[stop.node];
        if (node->kind == TR_NODE_START || node->kind == TR_NODE_END ||
            node->role != TR_ROLE_GRAPH) {
            continue;
        }
        struct tr_text path =
            tr_arena_print(&tree->arena, "%.*s%s%.*s", (int)prefix.size, prefix.data,
                           prefix.size > 0 ? "/" : "", (int)node->id.size, node->id.data);
        error = find(tree, known, path) != TR_NODE_TREE_NONE ? tree->arena.error
                                                             : add_waiting(tree, path, &stop);
    }
    return error;
}

/* Adds what a row's node runs once and no row tells of; what a map runs, nobody can say. */
static int add_inside(struct tr_node_tree *tree, uint32_t known, struct tr_text path,
                      const struct tr_stop *stop)
{
    struct tr_inside inside;
    if (stop->workflow->nodes[stop->node].kind == TR_NODE_MAP) {
        return 0;
    }
    int error = tr_route_inside(&tree->route, path, stop, &inside);
    return error != 0 || inside.workflow == NULL ? error : add_rest(tree, known, inside, path);
}

/* Finds each row's node in the graph, and what the graph has beside them. */
static int match_graph(struct tr_node_tree *tree)
{
    uint32_t known = tree->count;
    if (tree->graph == NULL) {
        return 0;
    }
    struct tr_inside all = {tree->graph, &tree->graph->workflows[tree->route.root]};
    int error = add_rest(tree, known, all, tr_text_of(""));
    for (uint32_t i = 0; error == 0 && i < known; i++) {
        struct tr_stop stop;
        struct tr_text path = tree->nodes[i].row.path;
        error = tr_route_find(&tree->route, path, &stop);
        if (error == 0) {
            tree->nodes[i].stop = stop;
            bool is_kept = tree->nodes[i].row.phase == TR_NODE_PHASE_RECOVERED;
            error = is_kept ? 0 : add_inside(tree, known, path, &stop);
        } else {
            error = error == TR_NOT_FOUND ? 0 : error;
        }
    }
    return error;
}

/* ---------------------------------------------------------------------------- a tree */

static int by_path(const void *a, const void *b)
{
    const struct tr_node_tree_node *one = a;
    const struct tr_node_tree_node *other = b;
    return tr_text_order(one->row.path, other->row.path);
}

/* Takes `[N]` off the end of a path; TR_ELEMENT_NONE if it does not end so. */
static uint64_t take_element(struct tr_text *path)
{
    size_t at = path->size;
    uint64_t element = 0;
    if (at == 0 || path->data[at - 1] != ']') {
        return TR_ELEMENT_NONE;
    }
    while (at > 0 && path->data[at - 1] != '[') {
        at--;
    }
    for (size_t i = at; i + 1 < path->size; i++) {
        element = 10 * element + (uint64_t)(path->data[i] - '0');
    }
    path->size = at == 0 ? 0 : at - 1;
    return element;
}

/* Finds a node's parent: what its path is below, or the switch that its arm belongs to. */
static void find_parent(struct tr_node_tree *tree, uint32_t at)
{
    struct tr_node_tree_node *node = &tree->nodes[at];
    struct tr_text path = node->row.path;
    const struct tr_stop *stop = &node->stop;
    while (path.size > 0 && path.data[path.size - 1] != '/') {
        path.size--;
    }
    node->label = (struct tr_text){.data = node->row.path.data + path.size,
                                   .size = node->row.path.size - path.size};
    uint32_t branch =
        stop->workflow == NULL ? TR_GRAPH_NONE : stop->workflow->nodes[stop->node].parent;
    if (branch != TR_GRAPH_NONE) {
        struct tr_text id = stop->workflow->nodes[branch].id;
        struct tr_text above = tr_arena_print(&tree->arena, "%.*s%.*s", (int)path.size, path.data,
                                              (int)id.size, id.data);
        node->parent = find(tree, tree->count, above);
        return;
    }
    path.size -= path.size > 0 ? 1 : 0;
    size_t whole = path.size;
    node->element = take_element(&path);
    if (node->element != TR_ELEMENT_NONE) {
        node->label = (struct tr_text){.data = node->row.path.data + path.size,
                                       .size = node->row.path.size - path.size};
    }
    node->parent = whole == 0 ? TR_NODE_TREE_NONE : find(tree, tree->count, path);
    if (node->parent == TR_NODE_TREE_NONE) {
        node->label = node->row.path;
    }
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Children of one parent stand together, in the order of elements, of the graph and of time. */
static int by_family(const void *a, const void *b, void *self)
{
    const struct tr_node_tree_node *nodes = self;
    const struct tr_node_tree_node *one = &nodes[*(const uint32_t *)a];
    const struct tr_node_tree_node *other = &nodes[*(const uint32_t *)b];
    int order = compare_numbers(one->parent, other->parent);
    order = order != 0 ? order : compare_numbers(one->element, other->element);
    order = order != 0 ? order : compare_numbers(one->stop.rank, other->stop.rank);
    order = order != 0 ? order : compare_numbers(one->row.created_ms, other->row.created_ms);
    return order != 0 ? order : tr_text_order(one->row.path, other->row.path);
}

/* What walking the tree needs: nodes by their families, and where each family begins. */
struct walk {
    uint32_t *family;  /* positions of nodes, sorted by_family */
    uint32_t *first;   /* of each node: where its children begin in `family` */
    uint32_t *renamed; /* of each node: its position in the tree */
    uint32_t *stack;   /* places in `family` to go on from */
};

static int walk_init(struct walk *walk, const struct tr_node_tree *tree)
{
    size_t count = tree->count + 1;
    walk->family = tr_alloc_zero(4 * count, sizeof *walk->family);
    if (walk->family == NULL) {
        return TR_MEMORY;
    }
    walk->first = walk->family + count;
    walk->renamed = walk->first + count;
    walk->stack = walk->renamed + count;
    for (uint32_t i = 0; i < tree->count; i++) {
        walk->family[i] = i;
        walk->first[i] = TR_NODE_TREE_NONE;
    }
    qsort_r(walk->family, tree->count, sizeof *walk->family, by_family, tree->nodes);
    for (uint32_t i = tree->count; i > 0; i--) {
        uint32_t parent = tree->nodes[walk->family[i - 1]].parent;
        if (parent != TR_NODE_TREE_NONE) {
            walk->first[parent] = i - 1;
        }
    }
    return 0;
}

/* Where the children of nobody begin: they sort behind all others. */
static uint32_t first_root(const struct walk *walk, const struct tr_node_tree *tree)
{
    uint32_t at = tree->count;
    while (at > 0 && tree->nodes[walk->family[at - 1]].parent == TR_NODE_TREE_NONE) {
        at--;
    }
    return at;
}

/* Copies the nodes into the order of the tree, each behind its parent. */
static uint32_t walk_tree(struct walk *walk, struct tr_node_tree *tree,
                          struct tr_node_tree_node *ordered)
{
    uint32_t depth = 0;
    uint32_t count = 0;
    walk->stack[0] = first_root(walk, tree);
    while (true) {
        uint32_t place = walk->stack[depth];
        uint32_t at = place < tree->count ? walk->family[place] : TR_NODE_TREE_NONE;
        uint32_t above = depth == 0 ? TR_NODE_TREE_NONE : walk->family[walk->stack[depth - 1] - 1];
        if (at == TR_NODE_TREE_NONE || tree->nodes[at].parent != above) {
            if (depth == 0) {
                return count;
            }
            depth--;
            continue;
        }
        walk->stack[depth]++;
        walk->renamed[at] = count;
        ordered[count] = tree->nodes[at];
        ordered[count].depth = depth;
        ordered[count].parent =
            above == TR_NODE_TREE_NONE ? TR_NODE_TREE_NONE : walk->renamed[above];
        count++;
        if (walk->first[at] != TR_NODE_TREE_NONE) {
            walk->stack[++depth] = walk->first[at];
        }
    }
}

static int make_tree(struct tr_node_tree *tree)
{
    struct walk walk;
    if (tree->count == 0) {
        return 0;
    }
    qsort(tree->nodes, tree->count, sizeof *tree->nodes, by_path);
    for (uint32_t i = 0; i < tree->count; i++) {
        find_parent(tree, i);
    }
    struct tr_node_tree_node *ordered = tr_alloc((tree->count + 1) * sizeof *ordered);
    int error = ordered == NULL ? TR_MEMORY : tree->arena.error;
    if (error == 0) {
        error = walk_init(&walk, tree);
    }
    if (error != 0) {
        tr_free(ordered);
        return error;
    }
    uint32_t count = walk_tree(&walk, tree, ordered);
    TR_ASSERT(count == tree->count);
    tr_free(walk.family);
    tr_free(tree->nodes);
    tree->nodes = ordered;
    tree->capacity = tree->count + 1;
    return 0;
}

/* --------------------------------------------------------------------------- its life */

int tr_node_tree_open(struct tr_reader *reader, const char *folder,
                      const struct tr_execution *execution, struct tr_node_tree *tree)
{
    *tree = (struct tr_node_tree){.graph = NULL};
    tr_arena_init(&tree->arena);
    tr_decided_init(&tree->decided, folder);
    tree->graph_error = tr_graphs_read(reader, execution->graph, &tree->graph);
    if (tree->graph_error == 0) {
        tree->graph_error = tr_route_init(&tree->route, tree->graph, execution->workflow);
        if (tree->graph_error != 0) {
            tr_graph_free(tree->graph);
            tree->graph = NULL;
        }
        tree->route.decided = &tree->decided;
    }
    if (tree->graph_error == TR_MEMORY) {
        return TR_MEMORY;
    }
    bool decides = tree->graph != NULL && tr_graph_decides(tree->graph);
    return decides ? tr_decided_read(&tree->decided, reader, execution->execution) : 0;
}

const struct tr_graph *tr_node_tree_graph(struct tr_node_tree *tree, uint64_t number)
{
    const struct tr_graph *graph = tree->graph;
    if (graph != NULL && tr_graph_number(graph->hash) == number) {
        return graph;
    }
    return tr_decided_numbered(&tree->decided, number, &graph) == 0 ? graph : NULL;
}

int tr_node_tree_read(struct tr_reader *reader, const char *folder,
                      const struct tr_execution *execution, struct tr_node_tree *tree)
{
    int error = tr_node_tree_open(reader, folder, execution, tree);
    if (error == 0) {
        error = read_rows(tree, reader, execution->execution);
    }
    if (error == 0) {
        error = match_graph(tree);
    }
    if (error == 0) {
        error = make_tree(tree);
    }
    if (error != 0) {
        tr_node_tree_fini(tree);
    }
    return error;
}

void tr_node_tree_fini(struct tr_node_tree *tree)
{
    tr_route_fini(&tree->route);
    tr_decided_fini(&tree->decided);
    tr_graph_free(tree->graph);
    tr_free(tree->nodes);
    tr_arena_fini(&tree->arena);
    *tree = (struct tr_node_tree){.graph = NULL};
}

bool tr_node_tree_is_in_element(const struct tr_node_tree *tree, uint32_t node)
{
    while (node != TR_NODE_TREE_NONE) {
        if (tree->nodes[node].element != TR_ELEMENT_NONE) {
            return true;
        }
        node = tree->nodes[node].parent;
    }
    return false;
}
