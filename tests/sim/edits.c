/*
 * A recovery's plan from what history says, as `recover` and `rerun` make it: words that name a
 * node of the graph become targets, and the planner finds what depends on them.
 */
#include "tests/sim/edits.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/graphs/route.h"
#include "deploy/recovery/recovery_plan.h"
#include "runtime/memory.h"
#include "tests/support/flow_value.h"

/* Targets of one recovery, at most. */
#define TARGETS_MOST 3

struct sim_edits {
    struct tr_arena arena;
    struct tr_recovery_target targets[TARGETS_MOST];
    uint32_t target_count;
    bool *changed; /* for each input of the workflow */
    struct tr_recovery_past past;
    struct tr_recovery_made made;
};

/* A draw on its way. */
struct drawing {
    const struct sim_stage *stage;
    const struct sim_execution *execution;
    const struct tr_graph *graph;
    struct tr_route route;
    struct sim_random random;
    struct sim_edits *edits;
};

/* ------------------------------------------------------------------------------- what there was */

static const struct sim_observation_of *next_entry(const struct drawing *drawing, uint32_t *cursor)
{
    const struct sim_execution *from = drawing->execution->from;
    const struct sim_observation_of *entry;
    do {
        entry = sim_history_next(drawing->stage->history, cursor);
    } while (entry != NULL && (entry->host != from->host || entry->number != from->number ||
                               entry->path[0] == '\0' || strchr(entry->path, '!') != NULL));
    return entry;
}

struct past_node {
    struct tr_text path;
    uint8_t phase;
};

static int by_path(const void *a, const void *b)
{
    return tr_recovery_compare(((const struct past_node *)a)->path,
                               ((const struct past_node *)b)->path);
}

/* How the nodes stood, those of elements left out. */
static void read_past(struct drawing *drawing)
{
    struct tr_arena *arena = &drawing->edits->arena;
    struct tri_vector found = {0};
    const struct sim_observation_of *entry;
    uint32_t cursor = 0;
    while ((entry = next_entry(drawing, &cursor)) != NULL) {
        if (entry->element == TR_ELEMENT_NONE && strchr(entry->path, '[') == NULL) {
            struct past_node *node = sim_must(tri_vector_add(arena, &found, sizeof *node));
            *node = (struct past_node){tr_arena_text(arena, tr_text_of(entry->path)), entry->phase};
        }
    }
    const struct past_node *nodes = found.items;
    struct tr_text *paths = sim_must(tr_arena_array(arena, found.count + 1, sizeof *paths));
    uint8_t *phases = sim_must(tr_arena_array(arena, found.count + 1, sizeof *phases));
    if (found.count > 0) {
        qsort(found.items, found.count, sizeof *nodes, by_path);
    }
    for (uint32_t i = 0; i < found.count; i++) {
        paths[i] = nodes[i].path;
        phases[i] = nodes[i].phase;
    }
    drawing->edits->past =
        (struct tr_recovery_past){.paths = paths, .phases = phases, .count = found.count};
}

/* ---------------------------------------------------------------------------- what is different */

static void compare_inputs(struct drawing *drawing)
{
    const struct sim_execution *execution = drawing->execution;
    const struct tr_workflow *workflow = &drawing->graph->workflows[drawing->graph->main_workflow];
    struct tr_cursor now = tr_cursor_of(tr_buffer_bytes(&execution->inputs));
    struct tr_cursor then = tr_cursor_of(tr_buffer_bytes(&execution->from->inputs));
    uint32_t count = workflow->interface.inputs.count;
    bool *changed = sim_must(tr_arena_array(&drawing->edits->arena, count + 1, sizeof *changed));
    (void)tr_read_array(&now);
    (void)tr_read_array(&then);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes a = tr_read_any(&now);
        struct tr_bytes b = tr_read_any(&then);
        changed[i] = a.size != b.size || memcmp(a.data, b.data, a.size) != 0;
        if (changed[i]) {
            sim_engine_seen.inputs_edited++;
            sim_say("%s has another input %u", execution->name, i);
        }
    }
    drawing->edits->changed = changed;
}

/* Whether a value of the type can be made of a number. */
static bool can_be_drawn(const struct tr_type *type)
{
    bool has_parts = type->kind == TR_TYPE_LIST || type->kind == TR_TYPE_MAP;
    uint32_t count = type->kind == TR_TYPE_UNION ? type->count : has_parts ? 1 : 0;
    bool can = has_parts || type->kind == TR_TYPE_UNION || type->kind == TR_TYPE_INT ||
               type->kind == TR_TYPE_FLOAT || type->kind == TR_TYPE_BOOL ||
               type->kind == TR_TYPE_STRING || type->kind == TR_TYPE_STRUCT ||
               type->kind == TR_TYPE_NONE;
    for (uint32_t i = 0; can && i < count; i++) {
        can = can_be_drawn(type->parts[i]);
    }
    return can;
}

/* Edits an input of a node, if it has one that can be. */
static void edit_input(struct drawing *drawing, const struct tr_stop *stop,
                       struct tr_recovery_target *target)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    if (node->kind == TR_NODE_BRANCH || node->input_count == 0) {
        return;
    }
    uint32_t input = (uint32_t)sim_below(&drawing->random, node->input_count);
    const struct tr_binding *binding = &stop->workflow->bindings[node->input_first + input];
    struct tr_buffer slot;
    if (!can_be_drawn(binding->type)) {
        return;
    }
    tr_buffer_init(&slot, 0);
    flow_value_write(binding->type, sim_draw(&drawing->random), &slot);
    target->input = binding->key;
    target->slot = tr_arena_bytes(&drawing->edits->arena, tr_buffer_bytes(&slot));
    tr_buffer_fini(&slot);
    sim_engine_seen.node_inputs_edited++;
}

/* Names what an entry was, if the graph has it, as a node that a person may name. */
static void name_entry(struct drawing *drawing, const struct sim_observation_of *entry)
{
    struct sim_edits *edits = drawing->edits;
    struct tr_recovery_target *target = &edits->targets[edits->target_count];
    bool is_node = entry->element == TR_ELEMENT_NONE;
    struct tr_stop stop;
    struct tr_text path =
        is_node ? tr_arena_text(&edits->arena, tr_text_of(entry->path))
                : tr_arena_print(&edits->arena, "%s[%u]", entry->path, (unsigned)entry->element);
    bool is_found = tr_route_find(&drawing->route, path, &stop) == 0;
    const struct tr_node *node = is_found ? &stop.workflow->nodes[stop.node] : NULL;
    if (!is_found || node->role != TR_ROLE_GRAPH || node->kind == TR_NODE_END) {
        return;
    }
    *target = (struct tr_recovery_target){.path = path};
    uint64_t kind = sim_below(&drawing->random, 4);
    if (is_node && kind == 0 && entry->total > entry->succeeded) {
        target->is_failed_only = true;
    } else if (is_node && kind < 3) {
        edit_input(drawing, &stop, target);
    }
    edits->target_count++;
    sim_say("%s runs %.*s again%s%.*s", drawing->execution->name, (int)path.size, path.data,
            target->is_failed_only   ? ", its failed elements"
            : target->input.size > 0 ? ", with another "
                                     : "",
            (int)target->input.size, target->input.data);
}

static void draw_targets(struct drawing *drawing)
{
    const struct sim_observation_of *entry;
    uint32_t cursor = 0;
    uint32_t count = 0;
    while (next_entry(drawing, &cursor) != NULL) {
        count++;
    }
    cursor = 0;
    while (count > 0 && drawing->edits->target_count < TARGETS_MOST &&
           (entry = next_entry(drawing, &cursor)) != NULL) {
        if (sim_below(&drawing->random, count) == 0) {
            name_entry(drawing, entry);
        }
    }
}

void sim_edits_draw(const struct sim_stage *stage, struct sim_execution *execution)
{
    if (execution->edits != NULL) {
        return;
    }
    struct drawing drawing = {
        .stage = stage,
        .execution = execution,
        .graph = stage->graphs[execution->graph].graph,
        .random =
            sim_random_of(stage->world->plan.seed, 90 + (uint64_t)(execution - stage->executions)),
        .edits = sim_must(calloc(1, sizeof *drawing.edits)),
    };
    struct sim_edits *edits = drawing.edits;
    const struct tr_graph *graph = drawing.graph;
    int64_t before = (int64_t)tr_memory_used();
    execution->edits = edits;
    tr_arena_init(&edits->arena);
    int error = tr_route_init(&drawing.route, graph, graph->workflows[graph->main_workflow].name);
    TR_ASSERT(error == 0);
    read_past(&drawing);
    compare_inputs(&drawing);
    draw_targets(&drawing);
    struct tr_recovery_request request = {
        .graph = graph,
        .workflow = graph->main_workflow,
        .before = graph,
        .workflow_before = graph->main_workflow,
        .past = &edits->past,
        .targets = edits->targets,
        .target_count = edits->target_count,
        .changed = edits->changed,
    };
    const struct tr_recovery *earlier = sim_edits_plan(execution->from);
    if (earlier != NULL) { /* their slots stay as long as the world */
        request.earlier = earlier->edits;
        request.earlier_count = earlier->edit_count;
    }
    error = tr_recovery_make(&request, &edits->arena, &edits->made);
    TR_ASSERT(error == 0);
    tr_route_fini(&drawing.route);
    /* It is the world's, not the host's that asked. */
    stage->world->hosts[execution->host].memory_bytes -= (int64_t)tr_memory_used() - before;
}

void sim_edits_free(struct sim_edits *edits)
{
    if (edits != NULL) {
        tr_arena_fini(&edits->arena);
        free(edits);
    }
}

/* -------------------------------------------------------------------------------- what is asked */

const struct tr_recovery *sim_edits_plan(const struct sim_execution *execution)
{
    return execution->edits == NULL ? NULL : &execution->edits->made.recovery;
}

bool sim_edits_has_changed(const struct sim_execution *execution, uint32_t input)
{
    return execution->edits != NULL && execution->edits->changed[input];
}

bool sim_edits_has_named(const struct sim_execution *execution, struct tr_text path, bool *is_whole)
{
    const struct sim_edits *edits = execution->edits;
    bool has = false;
    *is_whole = false;
    for (uint32_t i = 0; edits != NULL && i < edits->target_count; i++) {
        const struct tr_recovery_target *target = &edits->targets[i];
        struct tr_text named = target->path;
        bool is_inside = path.size > named.size && !target->is_failed_only &&
                         memcmp(path.data, named.data, named.size) == 0 &&
                         strchr("/[", path.data[named.size]) != NULL;
        bool is_it = is_inside || tr_text_equal(named, path);
        has = has || is_it;
        *is_whole = *is_whole || (is_it && !target->is_failed_only);
    }
    return has;
}

bool sim_edits_find(const struct sim_execution *execution, struct tr_text path,
                    struct tr_text input, struct tr_bytes *slot)
{
    const struct tr_recovery *plan = sim_edits_plan(execution);
    for (uint32_t i = 0; plan != NULL && i < plan->edit_count; i++) {
        const struct tr_recovery_edit *edit = &plan->edits[i];
        if (tr_text_equal(edit->path, path) && tr_text_equal(edit->input, input)) {
            *slot = edit->slot;
            return true;
        }
    }
    return false;
}
