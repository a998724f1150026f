/*
 * Which node waits for which: edges from references and `after`, an order of the nodes, and the
 * circles that have none. A branch and the nodes of its arms count as one, since what comes behind
 * the branch waits for the arm that was taken.
 *
 * Needs the nodes laid out and the names in scope; types play no part, so this comes before any
 * node is bound. Leaves `upstream` and `downstream` of all nodes, without repetitions, and `order`:
 * Kahn's algorithm over the tops, each followed by its arms. Nodes on a circle or behind one are
 * missing from the order and marked as broken: they are told once, as the circle, and no further
 * errors of theirs follow.
 *
 * A node without upstreams waits for the start (node 0), and the end waits for each node without
 * downstreams, as Flyte's compiler adds them: so the end has settled only when all nodes have.
 */
#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/limits.h"

/* How many nodes of a circle a message names. */
#define CYCLE_SHOWN_MAX 8

static void add_edge(struct tri_builder *builder, uint32_t from, uint32_t to)
{
    struct tri_edge *edge =
        tri_vector_add(builder->compiler->scratch, &builder->edges, sizeof *edge);
    if (edge != NULL) {
        *edge = (struct tri_edge){.from = from, .to = to};
    }
}

/*
 * An edge that a name makes; a node that waits for itself is reported. `Itself` is the branch with
 * all its arms, so an arm that names its own switch counts, too. Inputs make no edge, nor do
 * unknown names, which are reported where they are bound or by connect_after.
 */
static void connect(struct tri_builder *builder, const struct tri_scope *scope, uint32_t to,
                    struct tri_place place)
{
    if (scope == NULL || scope->kind != TRI_SCOPE_NODE) {
        return;
    }
    if (builder->built[scope->index].top == builder->built[to].top) {
        struct tr_text before = tri_compile_begin_subject(builder, to);
        tri_report_add(builder->compiler->report, place, "CycleDetected",
                       "the node waits for itself\nremove the reference to '%.*s'",
                       TRI_SHOWN(scope->name.text));
        (void)tri_report_subject(builder->compiler->report, before);
        builder->built[to].is_broken = true;
        return;
    }
    add_edge(builder, scope->index, to);
}

static void connect_reference(struct tri_builder *builder, const struct tr_tree *tree, uint32_t to)
{
    struct tri_reference reference;
    struct tr_text problem;
    if (tri_compile_read_reference(builder, tree, &reference, &problem)) {
        connect(builder, tri_compile_scope_find(builder, reference.scope, reference.name), to,
                tree->place);
    }
}

static void connect_interpolation(struct tri_builder *builder,
                                  const struct tri_interpolation *interpolation, uint32_t to,
                                  struct tri_place place)
{
    for (uint32_t i = 0; i < interpolation->count; i++) {
        if (interpolation->pieces[i].is_reference) {
            const struct tri_reference *reference = &interpolation->pieces[i].reference;
            connect(builder, tri_compile_scope_find(builder, reference->scope, reference->name), to,
                    place);
        }
    }
}

/* The references inside a text; one that cannot be read is reported where it is bound. */
static void connect_text(struct tri_builder *builder, const struct tr_tree *tree, uint32_t to)
{
    struct tri_interpolation interpolation;
    struct tr_text problem;
    if (tri_interpolation_parse(builder->compiler->scratch, tree->text, true, &interpolation,
                                &problem)) {
        connect_interpolation(builder, &interpolation, to, tree->place);
    }
}

/* All references in a tree, whose depth is bounded by TR_TREE_DEPTH_MAX. */
static void connect_tree(struct tri_builder *builder, const struct tr_tree *tree, uint32_t to)
{
    if (tree == NULL || !tree->has_dollar) {
        return;
    }
    if (tri_compile_is_reference(tree)) {
        connect_reference(builder, tree, to);
    } else if (tr_tree_is_text(tree)) {
        connect_text(builder, tree, to);
    }
    for (uint32_t i = 0; i < tree->count; i++) {
        connect_tree(builder, tree->kind == TR_TREE_LIST ? tree->items[i] : tree->pairs[i].value,
                     to);
    }
}

/* A branch waits for what its conditions look at and its message holds, not for its arms. */
static void connect_conditions(struct tri_builder *builder, const struct tri_node *source,
                               uint32_t to)
{
    for (uint32_t i = 0; i < source->arm_count; i++) {
        const struct tri_arm *arm = &source->arms[i];
        for (uint32_t k = 0; k < arm->condition.count; k++) {
            const struct tri_part *part = &arm->condition.parts[k];
            if (part->interpolation != NULL) {
                connect_interpolation(builder, part->interpolation, to, arm->when_place);
            } else if (part->kind == TR_CONDITION_INPUT) {
                const struct tri_reference *reference = &part->reference;
                connect(builder, tri_compile_scope_find(builder, reference->scope, reference->name),
                        to, arm->when_place);
            }
        }
        if (arm->message != NULL && arm->message->has_dollar) {
            connect_text(builder, arm->message, to);
        }
    }
}

/* `after`: edges that carry no value. */
static void connect_after(struct tri_builder *builder, const struct tri_node *source, uint32_t to)
{
    struct tr_text before = tri_compile_begin_subject(builder, to);
    for (uint32_t i = 0; i < source->after_count; i++) {
        const struct tri_scope *scope =
            tri_compile_scope_find(builder, TRI_REFERENCE_NODE, source->after[i].text);
        if (scope == NULL || scope->kind != TRI_SCOPE_NODE) {
            struct tr_text nearest = tri_compile_scope_nearest(builder, source->after[i].text);
            tri_report_add(builder->compiler->report, source->after[i].place,
                           "NodeReferenceNotFound", "there is no node '%.*s'\n%s%.*s%s",
                           TRI_SHOWN(source->after[i].text),
                           nearest.size == 0 ? "name a node of this workflow" : "did you mean '",
                           TRI_SHOWN(nearest), nearest.size == 0 ? "" : "'?");
        }
        connect(builder, scope, to, source->after[i].place);
    }
    (void)tri_report_subject(builder->compiler->report, before);
}

/* All edges that are written; an arm waits for its branch, too. */
static void collect_edges(struct tri_builder *builder)
{
    const struct tr_workflow *workflow = builder->workflow;
    for (uint32_t i = 1; i < workflow->end; i++) {
        const struct tri_node *source = builder->built[i].source;
        if (workflow->nodes[i].parent != TR_GRAPH_NONE) {
            add_edge(builder, workflow->nodes[i].parent, i);
        }
        connect_tree(builder, source->with, i);
        connect_conditions(builder, source, i);
        connect_after(builder, source, i);
    }
    connect_tree(builder, builder->source->outputs, workflow->end);
}

/*
 * Nodes at the top that wait for none begin; those that no node waits for lead to the end. Without
 * nodes, as in a dynamic task's document, there is one edge from start to end. `edges` stays good
 * while the vector grows, since an arena frees nothing.
 */
static void add_outer_edges(struct tri_builder *builder)
{
    const struct tr_workflow *workflow = builder->workflow;
    uint8_t *has_upstream = tr_arena_alloc(builder->compiler->scratch, workflow->node_count);
    uint8_t *has_downstream = tr_arena_alloc(builder->compiler->scratch, workflow->node_count);
    const struct tri_edge *edges = builder->edges.items;
    uint32_t count = builder->edges.count;
    if (has_upstream == NULL || has_downstream == NULL) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = builder->built[edges[i].from].top;
        has_upstream[edges[i].to] = 1;
        has_downstream[from] |= builder->built[edges[i].to].top != from ? 1 : 0;
    }
    for (uint32_t i = 1; i < workflow->end; i++) {
        if (workflow->nodes[i].parent == TR_GRAPH_NONE && has_upstream[i] == 0) {
            add_edge(builder, 0, i);
        }
        if (workflow->nodes[i].parent == TR_GRAPH_NONE && has_downstream[i] == 0) {
            add_edge(builder, i, workflow->end);
        }
    }
    if (workflow->end == 1) {
        add_edge(builder, 0, workflow->end);
    }
}

/*
 * Sorts edges by one of their ends, keeping the order of the others; repeated ones are dropped. A
 * counting sort; `seen` holds the last node (plus one) for which an end was kept, so it need not be
 * cleared. NULL without memory.
 */
static uint32_t *sort_edges(struct tri_builder *builder, bool is_upstream, uint32_t *total)
{
    struct tr_workflow *workflow = builder->workflow;
    const struct tri_edge *edges = builder->edges.items;
    uint32_t count = builder->edges.count;
    size_t node_count = workflow->node_count;
    uint32_t *begins = tr_arena_array(builder->compiler->scratch, node_count + 1, sizeof *begins);
    uint32_t *sorted = tr_arena_array(builder->compiler->scratch, count, sizeof *sorted);
    uint32_t *seen = tr_arena_array(builder->compiler->scratch, node_count, sizeof *seen);
    uint32_t *kept = tr_arena_array(&builder->compiler->graph->arena, count, sizeof *kept);
    if (begins == NULL || sorted == NULL || seen == NULL || kept == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        begins[(is_upstream ? edges[i].to : edges[i].from) + 1]++;
    }
    for (size_t i = 0; i < node_count; i++) {
        begins[i + 1] += begins[i];
    }
    uint32_t *fill = tr_arena_array(builder->compiler->scratch, node_count, sizeof *fill);
    for (uint32_t i = 0; fill != NULL && i < count; i++) {
        uint32_t node = is_upstream ? edges[i].to : edges[i].from;
        sorted[begins[node] + fill[node]++] = is_upstream ? edges[i].from : edges[i].to;
    }
    *total = 0;
    for (uint32_t node = 0; node < node_count; node++) {
        uint32_t first = *total;
        for (uint32_t i = begins[node]; i < begins[node + 1]; i++) {
            if (seen[sorted[i]] != node + 1) {
                seen[sorted[i]] = node + 1;
                kept[(*total)++] = sorted[i];
            }
        }
        struct tr_node *compiled = &workflow->nodes[node];
        *(is_upstream ? &compiled->upstream_first : &compiled->downstream_first) = first;
        *(is_upstream ? &compiled->upstream_count : &compiled->downstream_count) = *total - first;
    }
    return kept;
}

/*
 * How many edges lead from other tops into each top and its arms. Edges from one top to several
 * arms count each, and `release` takes them away one by one.
 */
static uint32_t *count_waits(struct tri_builder *builder)
{
    const struct tr_workflow *workflow = builder->workflow;
    uint32_t *waits =
        tr_arena_array(builder->compiler->scratch, workflow->node_count, sizeof *waits);
    for (uint32_t i = 0; waits != NULL && i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        uint32_t top = builder->built[i].top;
        for (uint32_t k = 0; k < node->upstream_count; k++) {
            uint32_t from = workflow->upstream[node->upstream_first + k];
            waits[top] += builder->built[from].top != top ? 1 : 0;
        }
    }
    return waits;
}

/*
 * Lets go of what waits for this top and its arms. It meets the same edges as count_waits, from
 * their other ends: both lists come from one set, without repetitions. So a count falls to 0
 * exactly when the last upstream is done, and a top enters the queue once.
 */
static void release(struct tri_builder *builder, uint32_t top, uint32_t *waits, uint32_t *queue,
                    uint32_t *queued)
{
    const struct tr_workflow *workflow = builder->workflow;
    for (uint32_t i = top; i <= top + builder->built[top].arm_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        for (uint32_t k = 0; k < node->downstream_count; k++) {
            uint32_t to = builder->built[workflow->downstream[node->downstream_first + k]].top;
            if (to != top && --waits[to] == 0) {
                queue[(*queued)++] = to;
            }
        }
    }
}

/*
 * A top that an unfinished top waits for and that is unfinished itself, always the same one. There
 * is one for each: a top whose upstreams are all in the order would be in it, too. So going from
 * upstream to upstream never ends outside of a circle.
 */
static uint32_t unfinished_upstream(const struct tri_builder *builder, uint32_t top,
                                    const uint32_t *waits)
{
    const struct tr_workflow *workflow = builder->workflow;
    for (uint32_t i = top; i <= top + builder->built[top].arm_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        for (uint32_t k = 0; k < node->upstream_count; k++) {
            uint32_t from = builder->built[workflow->upstream[node->upstream_first + k]].top;
            if (from != top && waits[from] > 0) {
                return from;
            }
        }
    }
    return TR_GRAPH_NONE;
}

/*
 * "a waits for b waits for a", from a node of a circle on; long ones are shortened. Each step
 * depends on the node alone, so the walk comes back to `begin`, as that of find_cycles has.
 */
static void report_cycle(struct tri_builder *builder, uint32_t begin, const uint32_t *waits)
{
    struct tr_buffer text;
    uint32_t at = begin;
    uint32_t length = 0;
    tr_buffer_init(&text, 0);
    do {
        if (length < CYCLE_SHOWN_MAX) {
            tr_buffer_print(&text, "%.*s waits for ", TRI_SHOWN(builder->workflow->nodes[at].id));
        }
        length++;
        at = unfinished_upstream(builder, at, waits);
    } while (at != begin);
    if (length > CYCLE_SHOWN_MAX) {
        tr_buffer_print(&text, "%u more, and they for ", length - CYCLE_SHOWN_MAX);
    }
    struct tr_text before = tri_compile_begin_subject(builder, begin);
    tri_report_add(builder->compiler->report, builder->built[begin].source->id.place,
                   "CycleDetected",
                   "the nodes wait for each other in a circle: %.*s%.*s\n"
                   "remove one of these references or after",
                   TRI_TEXT(tr_buffer_text(&text)), TRI_SHOWN(builder->workflow->nodes[begin].id));
    (void)tri_report_subject(builder->compiler->report, before);
    tr_buffer_fini(&text);
}

/*
 * Follows unfinished nodes backwards until a way comes back to itself; each circle that is met is
 * told once. `visits` holds the node where a walk began. A walk that ends on its own mark has found
 * a circle; one that ends on an earlier mark has run into a way that was told. Each node is marked
 * once, so all walks together are linear.
 */
static void find_cycles(struct tri_builder *builder, const uint32_t *waits)
{
    const struct tr_workflow *workflow = builder->workflow;
    uint32_t *visits =
        tr_arena_array(builder->compiler->scratch, workflow->node_count, sizeof *visits);
    for (uint32_t i = 1; visits != NULL && i < workflow->end; i++) {
        uint32_t at = builder->built[i].top;
        while (at != TR_GRAPH_NONE && waits[at] > 0 && visits[at] == 0) {
            visits[at] = i;
            at = unfinished_upstream(builder, at, waits);
        }
        if (at != TR_GRAPH_NONE && waits[at] > 0 && visits[at] == i && i == builder->built[i].top) {
            report_cycle(builder, at, waits);
        }
    }
    for (uint32_t i = 1; i < workflow->node_count; i++) {
        bool is_stuck = waits[builder->built[i].top] > 0;
        builder->built[i].is_broken = builder->built[i].is_broken || is_stuck;
    }
}

/* The pass of this file; a lack of memory is in the arenas' errors and leaves the order open. */
void tri_compile_build_order(struct tri_builder *builder)
{
    struct tr_workflow *workflow = builder->workflow;
    struct tr_arena *scratch = builder->compiler->scratch;
    collect_edges(builder);
    add_outer_edges(builder);
    workflow->upstream = sort_edges(builder, true, &workflow->upstream_count);
    workflow->downstream = sort_edges(builder, false, &workflow->downstream_count);
    uint32_t *queue = tr_arena_array(scratch, workflow->node_count, sizeof *queue);
    uint32_t *order =
        tr_arena_array(&builder->compiler->graph->arena, workflow->node_count, sizeof *order);
    if (workflow->upstream == NULL || workflow->downstream == NULL || queue == NULL ||
        order == NULL) {
        return;
    }
    uint32_t *waits = count_waits(builder);
    uint32_t queued = 1;
    uint32_t count = 0;
    queue[0] = 0;
    for (uint32_t i = 0; waits != NULL && i < queued; i++) {
        for (uint32_t k = 0; k <= builder->built[queue[i]].arm_count; k++) {
            order[count++] = queue[i] + k;
        }
        release(builder, queue[i], waits, queue, &queued);
    }
    workflow->order = order;
    workflow->order_count = count;
    /* Positions 0 to `end` belong to the graph, so fewer than end + 1 means that some are stuck. */
    if (waits != NULL && count <= workflow->end) {
        find_cycles(builder, waits);
    }
}
