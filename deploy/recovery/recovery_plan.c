/*
 * A walk over the graph in the order in which nodes run: each is kept, or runs again for a cause of
 * its own, or since it is behind one that does. Workflows that run inside are walked only where
 * something in them is meant.
 */
#include "deploy/recovery/recovery_plan.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/recovery/recovery_same.h"
#include "schemas/codec/error.h"
#include "schemas/engine/history.h"
#include "schemas/engine/phase.h"

/* ------------------------------------------------------------------------ the past */

struct past_reading {
    struct tr_arena *arena;
    struct tri_vector paths;
    struct tri_vector phases;
};

static int take_node(void *self, const void *value)
{
    struct past_reading *reading = self;
    const struct tr_node_status *row = value;
    if (memchr(row->path.data, '[', row->path.size) != NULL) {
        return 0;
    }
    struct tr_text *path = tri_vector_add(reading->arena, &reading->paths, sizeof *path);
    uint8_t *phase = tri_vector_add(reading->arena, &reading->phases, sizeof *phase);
    if (path == NULL || phase == NULL) {
        return reading->arena->error;
    }
    *path = tr_arena_text(reading->arena, row->path);
    *phase = row->phase;
    return reading->arena->error;
}

int tr_recovery_past_read(struct tr_reader *reader, uint64_t execution, struct tr_arena *arena,
                          struct tr_recovery_past *past)
{
    struct past_reading reading = {.arena = arena};
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, execution);
    struct tr_reader_query query = {.record = &tr_node_status_schema,
                                    .filters = &filter,
                                    .filter_count = 1,
                                    .order = {{.field = "path"}}};
    int error = tr_reader_rows(reader, &query, take_node, &reading);
    if (error == 0) {
        *past = (struct tr_recovery_past){.paths = reading.paths.items,
                                          .phases = reading.phases.items,
                                          .count = reading.paths.count};
    }
    return error;
}

static uint8_t past_phase(const struct tr_recovery_past *past, struct tr_text path)
{
    uint32_t low = 0;
    uint32_t high = past->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = tr_recovery_compare(path, past->paths[middle]);
        if (order == 0) {
            return past->phases[middle];
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return TR_NODE_PHASE_NOT_YET_STARTED;
}

/* ------------------------------------------------------------------------ the walk */

struct walk {
    const struct tr_recovery_request *request;
    struct tr_arena *arena;
    struct tri_vector again;
    struct tri_vector open;
    struct tri_vector notes;
};

/* What was found of a node. */
enum state { NOT_SEEN, KEPT, DIFFERS };

/* One workflow on the way: that of the execution, or one inside it. */
struct scope {
    struct walk *walk;
    struct tr_text path; /* of the workflow, empty or "w" or "sq[3]" */
    const struct tr_workflow *workflow;
    const struct tr_workflow *before; /* NULL: there was none */
    const bool *changed;              /* of its inputs; NULL: none */
    uint8_t *states;                  /* of each node: enum state */
    struct tr_text *roots;            /* of each that differs: the first cause, as a path */
};

/* Why a node runs again. `reason` is empty where that needs no words. */
struct cause {
    bool is_there;
    bool is_open;          /* what is inside it may be kept */
    struct tr_text root;   /* the node that began it */
    struct tr_text reason; /* in words */
};

static bool walk_scope(struct scope *scope);

static struct tr_text path_of(const struct scope *scope, uint32_t node)
{
    struct tr_text id = scope->workflow->nodes[node].id;
    return scope->path.size == 0
               ? id
               : tr_arena_print(scope->walk->arena, "%.*s/%.*s", (int)scope->path.size,
                                scope->path.data, (int)id.size, id.data);
}

static void add_path(struct walk *walk, struct tri_vector *paths, struct tr_text path)
{
    struct tr_text *added = tri_vector_add(walk->arena, paths, sizeof *added);
    if (added != NULL) {
        *added = tr_arena_text(walk->arena, path);
    }
}

static void add_note(struct walk *walk, struct tr_text path, struct tr_text reason)
{
    struct tr_recovery_note *note = tri_vector_add(walk->arena, &walk->notes, sizeof *note);
    if (note != NULL) {
        *note = (struct tr_recovery_note){.path = path, .reason = reason};
    }
}

/* Whether a path lies in another one. */
static bool is_inside(struct tr_text path, struct tr_text other)
{
    return path.size > other.size && memcmp(path.data, other.data, other.size) == 0 &&
           (path.data[other.size] == '/' || path.data[other.size] == '[');
}

/* ---- Causes. -------------------------------------------------------------------------------- */

/* The node is named. */
static struct cause find_named(const struct scope *scope, struct tr_text path)
{
    const struct tr_recovery_request *request = scope->walk->request;
    struct cause cause = {.root = path};
    for (uint32_t i = 0; i < request->target_count; i++) {
        const struct tr_recovery_target *target = &request->targets[i];
        if (!tr_text_equal(target->path, path)) {
            continue;
        }
        cause.is_open = target->is_failed_only && (!cause.is_there || cause.is_open);
        cause.is_there = true;
        cause.reason = target->input.size > 0
                           ? tr_arena_print(scope->walk->arena, "its input %.*s is edited",
                                            (int)target->input.size, target->input.data)
                       : target->is_failed_only ? tr_text_of("its elements that failed")
                                                : tr_text_of("as asked for");
    }
    return cause;
}

/* Something before it runs again. */
static struct cause find_behind(const struct scope *scope, uint32_t node)
{
    const struct tr_node *compiled = &scope->workflow->nodes[node];
    struct cause cause = {.is_there = false};
    for (uint32_t i = 0; !cause.is_there && i < compiled->upstream_count; i++) {
        uint32_t upstream = scope->workflow->upstream[compiled->upstream_first + i];
        if (scope->states[upstream] == DIFFERS) {
            cause.is_there = true;
            cause.root = scope->roots[upstream];
            cause.reason = tr_arena_print(scope->walk->arena, "behind %.*s", (int)cause.root.size,
                                          cause.root.data);
        }
    }
    return cause;
}

/* The first input of the workflow that is edited and that a binding uses, or TR_GRAPH_NONE. */
static uint32_t edited_input(const struct scope *scope, const struct tr_binding *binding)
{
    if (binding->kind == TR_BINDING_REFERENCE) {
        return binding->node == 0 && scope->changed[binding->output] ? binding->output
                                                                     : TR_GRAPH_NONE;
    }
    uint32_t found = TR_GRAPH_NONE;
    bool has_parts = tr_binding_has_parts(binding);
    for (uint32_t i = 0; has_parts && found == TR_GRAPH_NONE && i < binding->count; i++) {
        found = edited_input(scope, &scope->workflow->bindings[binding->first + i]);
    }
    return found;
}

/* It uses an input that is edited; `inside` has room for each of its own: those that do. */
static struct cause find_edited(const struct scope *scope, uint32_t node, bool *inside)
{
    const struct tr_node *compiled = &scope->workflow->nodes[node];
    struct cause cause = {.root = path_of(scope, node)};
    for (uint32_t i = 0; scope->changed != NULL && i < compiled->input_count; i++) {
        uint32_t input = edited_input(scope, &scope->workflow->bindings[compiled->input_first + i]);
        inside[i] = input != TR_GRAPH_NONE;
        if (inside[i] && !cause.is_there) {
            struct tr_text name = scope->workflow->interface.inputs.items[input].name;
            cause.is_there = true;
            cause.is_open = compiled->kind == TR_NODE_WORKFLOW;
            cause.reason =
                tr_arena_print(scope->walk->arena, "uses the input %.*s, which is edited",
                               (int)name.size, name.data);
        }
    }
    return cause;
}

/* It is not what it was. */
static struct cause find_changed(const struct scope *scope, uint32_t node)
{
    const struct tr_recovery_request *request = scope->walk->request;
    struct cause cause = {.root = path_of(scope, node)};
    if (request->graph == request->before) {
        return cause;
    }
    struct tr_recovery_node now = {request->graph, scope->workflow, &scope->workflow->nodes[node]};
    struct tr_recovery_node then = {request->before, scope->before, NULL};
    if (scope->before != NULL) {
        then.node = tr_recovery_node_find(scope->before, now.node->id, node);
    }
    cause.is_there = then.node == NULL || !tr_recovery_node_is_same(&now, &then);
    cause.reason = tr_text_of("its definition has changed");
    return cause;
}

/* It did not give anything. */
static struct cause find_failed(const struct scope *scope, struct tr_text path)
{
    uint8_t phase = past_phase(scope->walk->request->past, path);
    bool has_failed = phase != TR_NODE_PHASE_NOT_YET_STARTED && phase != TR_NODE_PHASE_SUCCEEDED &&
                      phase != TR_NODE_PHASE_RECOVERED && phase != TR_NODE_PHASE_SKIPPED;
    return (struct cause){.is_there = has_failed, .is_open = true, .root = path};
}

/* ---- What is inside. ------------------------------------------------------------------------ */

static bool walk_inside(const struct scope *scope, const struct tr_workflow *workflow,
                        const struct tr_workflow *before, struct tr_text path, const bool *changed)
{
    struct scope inner = {.walk = scope->walk,
                          .path = path,
                          .workflow = workflow,
                          .before = before,
                          .changed = changed};
    return walk_scope(&inner);
}

/* The workflow that a node ran before, if it is one that ran inside. */
static const struct tr_workflow *inside_before(const struct scope *scope, uint32_t node)
{
    const struct tr_graph *before = scope->walk->request->before;
    if (scope->before == NULL) {
        return NULL;
    }
    const struct tr_node *found =
        tr_recovery_node_find(scope->before, scope->workflow->nodes[node].id, node);
    bool runs_inside = found != NULL && found->target_kind == TR_TARGET_WORKFLOW;
    return runs_inside ? &before->workflows[found->target] : NULL;
}

/* The front of a target's path up to the element of the map `path`: "sq[3]". */
static struct tr_text element_of(struct tr_text target, struct tr_text path)
{
    const char *end = memchr(target.data + path.size, ']', target.size - path.size);
    size_t size = end == NULL ? target.size : (size_t)(end - target.data) + 1;
    return (struct tr_text){.data = target.data, .size = size};
}

/* Elements of a map that are named, or have something in them that is; each once. */
static bool walk_elements(const struct scope *scope, uint32_t node, struct tr_text path)
{
    const struct tr_recovery_request *request = scope->walk->request;
    const struct tr_node *compiled = &scope->workflow->nodes[node];
    bool has_any = false;
    for (uint32_t i = 0; i < request->target_count; i++) {
        struct tr_text target = request->targets[i].path;
        if (!is_inside(target, path)) {
            continue;
        }
        has_any = true;
        struct tr_text element = element_of(target, path);
        bool is_seen = false;
        for (uint32_t k = 0; k < i && !is_seen; k++) {
            is_seen = is_inside(request->targets[k].path, path) &&
                      tr_text_equal(element_of(request->targets[k].path, path), element);
        }
        if (element.size == target.size) {
            add_path(scope->walk, &scope->walk->again, target);
            add_note(scope->walk, target, tr_text_of("as asked for"));
        } else if (!is_seen && compiled->target_kind == TR_TARGET_WORKFLOW) {
            (void)walk_inside(scope, &request->graph->workflows[compiled->target],
                              inside_before(scope, node), element, NULL);
        }
    }
    return has_any;
}

/* Whether something inside a node runs again, so that it gives something else. */
static bool is_new_inside(const struct scope *scope, uint32_t node, struct tr_text path,
                          const bool *changed)
{
    const struct tr_recovery_request *request = scope->walk->request;
    const struct tr_node *compiled = &scope->workflow->nodes[node];
    bool is_meant = changed != NULL || request->graph != request->before;
    if (compiled->kind == TR_NODE_MAP) {
        return walk_elements(scope, node, path);
    }
    for (uint32_t i = 0; !is_meant && i < request->target_count; i++) {
        is_meant = is_inside(request->targets[i].path, path);
    }
    return is_meant && compiled->kind == TR_NODE_WORKFLOW &&
           walk_inside(scope, &request->graph->workflows[compiled->target],
                       inside_before(scope, node), path, changed);
}

/* ---- One node. ------------------------------------------------------------------------------ */

/* Something that gives nothing of its own, and is looked at again in any case. */
static bool is_evaluated(const struct tr_node *node)
{
    return node->kind == TR_NODE_BRANCH || node->kind == TR_NODE_END;
}

/* The first cause there is. */
static struct cause find_cause(const struct scope *scope, uint32_t node, struct tr_text path)
{
    uint32_t count = scope->workflow->nodes[node].input_count;
    bool *inside = tr_arena_array(scope->walk->arena, count, sizeof *inside);
    struct cause cause = find_named(scope, path);
    if (inside == NULL) {
        return cause;
    }
    if (cause.is_there && cause.is_open) { /* some of it is kept: others in it may be named, too */
        (void)is_new_inside(scope, node, path, NULL);
    }
    if (!cause.is_there) {
        cause = find_behind(scope, node);
    }
    if (!cause.is_there) {
        cause = find_changed(scope, node);
    }
    if (!cause.is_there) {
        cause = find_edited(scope, node, inside);
        bool is_new = is_new_inside(scope, node, path, cause.is_there ? inside : NULL);
        if (is_new && !cause.is_there) {
            cause = (struct cause){.is_there = true, .is_open = true, .root = path};
        }
    }
    bool may_fail = !is_evaluated(&scope->workflow->nodes[node]); /* otherwise than it did */
    return cause.is_there || !may_fail ? cause : find_failed(scope, path);
}

static void record(const struct scope *scope, const struct tr_node *node, struct tr_text path,
                   const struct cause *cause)
{
    struct walk *walk = scope->walk;
    uint8_t phase = past_phase(walk->request->past, path);
    if (phase == TR_NODE_PHASE_NOT_YET_STARTED && scope->path.size > 0) {
        phase = past_phase(walk->request->past, scope->path); /* kept with all that is in it */
        phase = phase == TR_NODE_PHASE_RECOVERED ? phase : TR_NODE_PHASE_NOT_YET_STARTED;
    }
    bool has_given = phase == TR_NODE_PHASE_SUCCEEDED || phase == TR_NODE_PHASE_RECOVERED;
    if (is_evaluated(node)) {
        return;
    }
    add_path(walk, cause->is_open ? &walk->open : &walk->again, path);
    if (cause->reason.size > 0 && has_given && (!cause->is_open || node->kind == TR_NODE_MAP)) {
        add_note(walk, path, cause->reason);
    }
}

static void visit(struct scope *scope, uint32_t node);

/* A branch gives what its arm gives; what it skipped then, it skips again. */
static void visit_arms(struct scope *scope, uint32_t node)
{
    const struct tr_node *compiled = &scope->workflow->nodes[node];
    for (uint32_t i = 0; i < compiled->arm_count; i++) {
        const struct tr_arm *arm = &scope->workflow->arms[compiled->arm_first + i];
        if (arm->kind != TR_ARM_NODE) {
            continue;
        }
        visit(scope, arm->node);
        uint8_t phase = past_phase(scope->walk->request->past, path_of(scope, arm->node));
        if (scope->states[arm->node] == DIFFERS && scope->states[node] != DIFFERS &&
            phase != TR_NODE_PHASE_NOT_YET_STARTED && phase != TR_NODE_PHASE_SKIPPED) {
            scope->states[node] = DIFFERS;
            scope->roots[node] = scope->roots[arm->node];
        }
    }
}

static void visit(struct scope *scope, uint32_t node)
{
    const struct tr_node *compiled = &scope->workflow->nodes[node];
    if (scope->states[node] != NOT_SEEN || compiled->kind == TR_NODE_START) {
        return;
    }
    scope->states[node] = KEPT;
    struct tr_text path = path_of(scope, node);
    struct cause cause = find_cause(scope, node, path);
    if (cause.is_there) {
        scope->states[node] = DIFFERS;
        scope->roots[node] = cause.root;
        record(scope, compiled, path, &cause);
    }
    visit_arms(scope, node);
}

/* Whether any node of a workflow runs again, or it gives something else. */
static bool walk_scope(struct scope *scope)
{
    const struct tr_workflow *workflow = scope->workflow;
    struct tr_arena *arena = scope->walk->arena;
    bool has_any = false;
    scope->states = tr_arena_array(arena, workflow->node_count, sizeof *scope->states);
    scope->roots = tr_arena_array(arena, workflow->node_count, sizeof *scope->roots);
    for (uint32_t i = 0; arena->error == 0 && i < workflow->order_count; i++) {
        uint32_t node = workflow->order[i];
        visit(scope, node);
        has_any = has_any || scope->states[node] == DIFFERS;
    }
    return has_any;
}

/* ----------------------------------------------------------------------- the whole */

static int by_path(const void *a, const void *b)
{
    return tr_recovery_compare(*(const struct tr_text *)a, *(const struct tr_text *)b);
}

static int edits_by_path(const void *a, const void *b)
{
    const struct tr_recovery_edit *x = a;
    const struct tr_recovery_edit *y = b;
    return tr_recovery_compare(x->path, y->path);
}

static void sort(struct tri_vector *paths, const struct tr_text **out, uint32_t *count)
{
    if (paths->count > 0) {
        qsort(paths->items, paths->count, sizeof(struct tr_text), by_path);
    }
    *out = paths->items;
    *count = paths->count;
}

static void add_edit(struct tr_recovery_edit *edits, uint32_t *count,
                     const struct tr_recovery_edit *edit)
{
    bool is_there = false;
    for (uint32_t i = 0; i < *count && !is_there; i++) {
        is_there =
            tr_text_equal(edits[i].path, edit->path) && tr_text_equal(edits[i].input, edit->input);
    }
    if (!is_there) {
        edits[(*count)++] = *edit;
    }
}

/* The last word on an input counts: the last one of this request, else that of then. */
static void collect_edits(const struct walk *walk, struct tr_recovery *recovery)
{
    const struct tr_recovery_request *request = walk->request;
    struct tr_recovery_edit *edits =
        tr_arena_array(walk->arena, request->target_count + request->earlier_count, sizeof *edits);
    for (uint32_t i = request->target_count; edits != NULL && i-- > 0;) {
        const struct tr_recovery_target *target = &request->targets[i];
        const struct tr_recovery_edit edit = {
            .path = target->path, .input = target->input, .slot = target->slot};
        if (edit.input.size > 0) {
            add_edit(edits, &recovery->edit_count, &edit);
        }
    }
    for (uint32_t i = 0; edits != NULL && i < request->earlier_count; i++) {
        add_edit(edits, &recovery->edit_count, &request->earlier[i]);
    }
    if (recovery->edit_count > 0) {
        qsort(edits, recovery->edit_count, sizeof *edits, edits_by_path);
    }
    recovery->edits = edits;
}

int tr_recovery_make(const struct tr_recovery_request *request, struct tr_arena *arena,
                     struct tr_recovery_made *out)
{
    struct walk walk = {.request = request, .arena = arena};
    struct tr_recovery_made made = {.note_count = 0};
    struct scope scope = {.walk = &walk,
                          .workflow = &request->graph->workflows[request->workflow],
                          .before = &request->before->workflows[request->workflow_before],
                          .changed = request->changed};
    (void)walk_scope(&scope);
    sort(&walk.again, &made.recovery.again, &made.recovery.again_count);
    sort(&walk.open, &made.recovery.open, &made.recovery.open_count);
    collect_edits(&walk, &made.recovery);
    made.notes = walk.notes.items;
    made.note_count = walk.notes.count;
    if (arena->error == 0) {
        *out = made;
    }
    return arena->error;
}
