/*
 * Making an account: rows are taken in the order of their paths, what the graph has beside them is
 * added, parents are found by their paths, and all of it is sorted once more, level by level.
 */
#include "deploy/history/node_tree.h"

#include <stdlib.h>
#include <string.h>

#include "actors/shelf.h"
#include "deploy/history/graphs.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------------- taking in */

/* One more node at the end; NULL without memory. */
static struct tr_account_node *add(struct tr_account *account)
{
    if (account->count == account->capacity) {
        uint32_t capacity = 2 * account->capacity + 64;
        struct tr_account_node *grown =
            tr_realloc(account->nodes, capacity * sizeof *account->nodes);
        if (grown == NULL) {
            return NULL;
        }
        account->nodes = grown;
        account->capacity = capacity;
    }
    struct tr_account_node *node = &account->nodes[account->count++];
    *node = (struct tr_account_node){.stop = {.workflow = NULL, .rank = TR_GRAPH_NONE},
                                     .parent = TR_ACCOUNT_NONE,
                                     .element = TR_ELEMENT_NONE};
    return node;
}

static int take_status(void *self, const void *value)
{
    struct tr_account *account = self;
    const struct tr_node_status *row = value;
    struct tr_account_node *node = add(account);
    if (node == NULL) {
        return TR_MEMORY;
    }
    node->row = *row;
    node->row.path = tr_arena_text(&account->arena, row->path);
    node->row.kind = tr_arena_text(&account->arena, row->kind);
    node->row.target = tr_arena_text(&account->arena, row->target);
    node->row.name = tr_arena_text(&account->arena, row->name);
    node->row.code = tr_arena_text(&account->arena, row->code);
    node->row.message = tr_arena_text(&account->arena, row->message);
    return account->arena.error;
}

/* The node of a path among the first `count`, which are sorted; or TR_ACCOUNT_NONE. */
static uint32_t find(const struct tr_account *account, uint32_t count, struct tr_text path)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = tr_text_order(path, account->nodes[middle].row.path);
        if (order == 0) {
            return middle;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return TR_ACCOUNT_NONE;
}

static int take_progress(void *self, const void *value)
{
    struct tr_account *account = self;
    const struct tr_progress *row = value;
    uint32_t at = find(account, account->count, row->path);
    if (at != TR_ACCOUNT_NONE) {
        account->nodes[at].progress = *row;
        account->nodes[at].progress.path = account->nodes[at].row.path;
    }
    return 0;
}

static int read_rows(struct tr_account *account, struct tr_reader *reader, uint64_t execution)
{
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = &filter, .filter_count = 1};
    int error = tr_reader_rows(reader, &query, take_status, account);
    query.record = &tr_progress_schema;
    return error != 0 ? error : tr_reader_rows(reader, &query, take_progress, account);
}

/* -------------------------------------------------------------- what was not begun */

/* Adds a node of a workflow that no row tells of. */
static int add_waiting(struct tr_account *account, struct tr_text path, const struct tr_stop *stop)
{
    struct tr_account_node *node = add(account);
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
    return account->arena.error;
}

/* Adds those nodes of a workflow below `prefix` that the first `known` nodes do not have. */
static int add_rest(struct tr_account *account, uint32_t known, struct tr_inside inside,
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
            tr_arena_print(&account->arena, "%.*s%s%.*s", (int)prefix.size, prefix.data,
                           prefix.size > 0 ? "/" : "", (int)node->id.size, node->id.data);
        error = find(account, known, path) != TR_ACCOUNT_NONE ? account->arena.error
                                                              : add_waiting(account, path, &stop);
    }
    return error;
}

/* Adds what a row's node runs once and no row tells of; what a map runs, nobody can say. */
static int add_inside(struct tr_account *account, uint32_t known, struct tr_text path,
                      const struct tr_stop *stop)
{
    struct tr_inside inside;
    if (stop->workflow->nodes[stop->node].kind == TR_NODE_MAP) {
        return 0;
    }
    int error = tr_route_inside(&account->route, path, stop, &inside);
    return error != 0 || inside.workflow == NULL ? error : add_rest(account, known, inside, path);
}

/* Finds each row's node in the graph, and what the graph has beside them. */
static int match_graph(struct tr_account *account)
{
    uint32_t known = account->count;
    if (account->graph == NULL) {
        return 0;
    }
    struct tr_inside all = {account->graph, &account->graph->workflows[account->route.root]};
    int error = add_rest(account, known, all, tr_text_of(""));
    for (uint32_t i = 0; error == 0 && i < known; i++) {
        struct tr_stop stop;
        struct tr_text path = account->nodes[i].row.path;
        error = tr_route_find(&account->route, path, &stop);
        if (error == 0) {
            account->nodes[i].stop = stop;
            bool is_kept = account->nodes[i].row.phase == TR_NODE_PHASE_RECOVERED;
            error = is_kept ? 0 : add_inside(account, known, path, &stop);
        } else {
            error = error == TR_NOT_FOUND ? 0 : error;
        }
    }
    return error;
}

/* ---------------------------------------------------------------------------- a tree */

static int by_path(const void *a, const void *b)
{
    const struct tr_account_node *one = a;
    const struct tr_account_node *other = b;
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
static void find_parent(struct tr_account *account, uint32_t at)
{
    struct tr_account_node *node = &account->nodes[at];
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
        struct tr_text above = tr_arena_print(&account->arena, "%.*s%.*s", (int)path.size,
                                              path.data, (int)id.size, id.data);
        node->parent = find(account, account->count, above);
        return;
    }
    path.size -= path.size > 0 ? 1 : 0;
    size_t whole = path.size;
    node->element = take_element(&path);
    if (node->element != TR_ELEMENT_NONE) {
        node->label = (struct tr_text){.data = node->row.path.data + path.size,
                                       .size = node->row.path.size - path.size};
    }
    node->parent = whole == 0 ? TR_ACCOUNT_NONE : find(account, account->count, path);
    if (node->parent == TR_ACCOUNT_NONE) {
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
    const struct tr_account_node *nodes = self;
    const struct tr_account_node *one = &nodes[*(const uint32_t *)a];
    const struct tr_account_node *other = &nodes[*(const uint32_t *)b];
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

static int walk_init(struct walk *walk, const struct tr_account *account)
{
    size_t count = account->count + 1;
    walk->family = tr_alloc_zero(4 * count, sizeof *walk->family);
    if (walk->family == NULL) {
        return TR_MEMORY;
    }
    walk->first = walk->family + count;
    walk->renamed = walk->first + count;
    walk->stack = walk->renamed + count;
    for (uint32_t i = 0; i < account->count; i++) {
        walk->family[i] = i;
        walk->first[i] = TR_ACCOUNT_NONE;
    }
    qsort_r(walk->family, account->count, sizeof *walk->family, by_family, account->nodes);
    for (uint32_t i = account->count; i > 0; i--) {
        uint32_t parent = account->nodes[walk->family[i - 1]].parent;
        if (parent != TR_ACCOUNT_NONE) {
            walk->first[parent] = i - 1;
        }
    }
    return 0;
}

/* Where the children of nobody begin: they sort behind all others. */
static uint32_t first_root(const struct walk *walk, const struct tr_account *account)
{
    uint32_t at = account->count;
    while (at > 0 && account->nodes[walk->family[at - 1]].parent == TR_ACCOUNT_NONE) {
        at--;
    }
    return at;
}

/* Copies the nodes into the order of the tree, each behind its parent. */
static uint32_t walk_tree(struct walk *walk, struct tr_account *account,
                          struct tr_account_node *tree)
{
    uint32_t depth = 0;
    uint32_t count = 0;
    walk->stack[0] = first_root(walk, account);
    while (true) {
        uint32_t place = walk->stack[depth];
        uint32_t at = place < account->count ? walk->family[place] : TR_ACCOUNT_NONE;
        uint32_t above = depth == 0 ? TR_ACCOUNT_NONE : walk->family[walk->stack[depth - 1] - 1];
        if (at == TR_ACCOUNT_NONE || account->nodes[at].parent != above) {
            if (depth == 0) {
                return count;
            }
            depth--;
            continue;
        }
        walk->stack[depth]++;
        walk->renamed[at] = count;
        tree[count] = account->nodes[at];
        tree[count].depth = depth;
        tree[count].parent = above == TR_ACCOUNT_NONE ? TR_ACCOUNT_NONE : walk->renamed[above];
        count++;
        if (walk->first[at] != TR_ACCOUNT_NONE) {
            walk->stack[++depth] = walk->first[at];
        }
    }
}

static int make_tree(struct tr_account *account)
{
    struct walk walk;
    if (account->count == 0) {
        return 0;
    }
    qsort(account->nodes, account->count, sizeof *account->nodes, by_path);
    for (uint32_t i = 0; i < account->count; i++) {
        find_parent(account, i);
    }
    struct tr_account_node *tree = tr_alloc((account->count + 1) * sizeof *tree);
    int error = tree == NULL ? TR_MEMORY : account->arena.error;
    error = error != 0 ? error : walk_init(&walk, account);
    if (error != 0) {
        tr_free(tree);
        return error;
    }
    uint32_t count = walk_tree(&walk, account, tree);
    TR_ASSERT(count == account->count);
    tr_free(walk.family);
    tr_free(account->nodes);
    account->nodes = tree;
    account->capacity = account->count + 1;
    return 0;
}

/* --------------------------------------------------------------------------- its life */

int tr_account_open(struct tr_reader *reader, const char *folder,
                    const struct tr_execution *execution, struct tr_account *account)
{
    *account = (struct tr_account){.graph = NULL};
    tr_arena_init(&account->arena);
    tr_decided_init(&account->decided, folder);
    account->graph_error = tr_graphs_get(folder, execution->graph, &account->graph);
    if (account->graph_error == 0) {
        account->graph_error = tr_route_init(&account->route, account->graph, execution->workflow);
        if (account->graph_error != 0) {
            tr_graph_free(account->graph);
            account->graph = NULL;
        }
        account->route.decided = &account->decided;
    }
    if (account->graph_error == TR_MEMORY) {
        return TR_MEMORY;
    }
    bool decides = account->graph != NULL && tr_graph_decides(account->graph);
    return decides ? tr_decided_read(&account->decided, reader, execution->execution) : 0;
}

const struct tr_graph *tr_account_graph(struct tr_account *account, uint64_t number)
{
    const struct tr_graph *graph = account->graph;
    if (graph != NULL && tr_graph_number(graph->hash) == number) {
        return graph;
    }
    return tr_decided_numbered(&account->decided, number, &graph) == 0 ? graph : NULL;
}

int tr_account_read(struct tr_reader *reader, const char *folder,
                    const struct tr_execution *execution, struct tr_account *account)
{
    int error = tr_account_open(reader, folder, execution, account);
    error = error != 0 ? error : read_rows(account, reader, execution->execution);
    error = error != 0 ? error : match_graph(account);
    error = error != 0 ? error : make_tree(account);
    if (error != 0) {
        tr_account_fini(account);
    }
    return error;
}

void tr_account_fini(struct tr_account *account)
{
    tr_route_fini(&account->route);
    tr_decided_fini(&account->decided);
    tr_graph_free(account->graph);
    tr_free(account->nodes);
    tr_arena_fini(&account->arena);
    *account = (struct tr_account){.graph = NULL};
}

bool tr_account_is_in_element(const struct tr_account *account, uint32_t node)
{
    while (node != TR_ACCOUNT_NONE) {
        if (account->nodes[node].element != TR_ELEMENT_NONE) {
            return true;
        }
        node = account->nodes[node].parent;
    }
    return false;
}
