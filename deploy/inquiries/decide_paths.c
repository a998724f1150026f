/*
 * Looking through the literals of a decided graph: those of bindings, alone and in lists and maps,
 * and those of launch plans.
 */
#include "deploy/inquiries/decide_paths.h"

#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/value/slot.h"
#include "actors/values/path.h"
#include "runtime/store_blobs.h"

struct keeping {
    const struct tr_inquiry *inquiry;
    const struct tr_graph_make *make;
    struct tr_graph *graph;
    struct tri_blobs *blobs; /* NULL until the first path */
    bool is_changed;
    struct tr_text place; /* of the literal in hand: its node or launch plan */
    const char **code;
    char *words;
};

static int fail(struct keeping *keeping, struct tr_text uri, int error, const char *said)
{
    snprintf(keeping->words, TR_DECIDE_PATHS_BYTES, "'%.*s' names '%.*s': %s",
             TRI_TEXT(keeping->place), TRI_TEXT(uri), said);
    *keeping->code = tri_path_failure(error);
    return *keeping->code != NULL ? TR_INVALID : error;
}

static int open_blobs(struct keeping *keeping)
{
    if (keeping->blobs != NULL) {
        return 0;
    }
    int error = tri_store_blobs_open_beside(keeping->inquiry->store_folder, &keeping->blobs);
    if (error == 0) {
        tri_blobs_set_turn(keeping->blobs, keeping->inquiry->turn);
    }
    return error;
}

static int keep_path(void *self, const struct tr_type *type, struct tr_blob blob,
                     struct tr_buffer *buffer)
{
    struct keeping *keeping = self;
    const struct tr_graph_make *make = keeping->make;
    const struct tri_path path = {.uri = blob.uri, .type = type};
    const struct tr_fence fence = {make->folder, make->trusted_bytes};
    const struct tri_blob_put put = {.path = tri_path_local(blob.uri),
                                     .kind = tri_path_kind(type),
                                     .fence = make->folder.size > 0 ? &fence : NULL};
    struct tri_blob kept;
    if (!tri_path_is_own(&path, make->attempt)) {
        tr_write_blob(buffer, blob);
        return buffer->error;
    }
    int error = open_blobs(keeping);
    if (error != 0) {
        return fail(keeping, blob.uri, error, tr_error_text(error));
    }
    error = tri_blob_put(keeping->blobs, &put, &kept);
    if (error != 0 && !tri_path_may_stay(&path, error)) {
        return fail(keeping, blob.uri, error, tri_blobs_words(keeping->blobs));
    }
    keeping->is_changed = keeping->is_changed || error == 0;
    struct tr_text uri = error == 0 ? tr_text_of(kept.uri) : blob.uri;
    tr_write_blob(buffer, (struct tr_blob){.uri = uri, .format = blob.format});
    return buffer->error;
}

static int take_literal(struct keeping *keeping, const struct tr_type *type,
                        struct tr_bytes *literal)
{
    struct tr_buffer buffer;
    struct tr_offloaded where;
    if (!tr_type_may_hold_paths(type, TR_PATHS_ALL) || tr_slot_is_offloaded(*literal, &where)) {
        return 0;
    }
    tr_buffer_init(&buffer, 0);
    int error = tr_literal_map_paths(type, *literal, TR_PATHS_ALL, keep_path, keeping, &buffer);
    if (error == 0) {
        *literal = tr_arena_bytes(&keeping->graph->arena, tr_buffer_bytes(&buffer));
        error = keeping->graph->arena.error;
    }
    tr_buffer_fini(&buffer);
    return error;
}

static int take_binding(struct keeping *keeping, const struct tr_workflow *workflow, uint32_t index)
{
    struct tr_binding *binding = &workflow->bindings[index];
    bool has_parts = tr_binding_has_parts(binding);
    int error = binding->kind == TR_BINDING_LITERAL
                    ? take_literal(keeping, binding->type, &binding->literal)
                    : 0;
    for (uint32_t i = 0; error == 0 && has_parts && i < binding->count; i++) {
        error = take_binding(keeping, workflow, binding->first + i);
    }
    return error;
}

/* What inputs have when they are left out. */
static int take_defaults(struct keeping *keeping, struct tr_text place,
                         struct tr_variables *variables)
{
    struct tr_variable *items =
        tr_arena_array(&keeping->graph->arena, variables->count, sizeof *items);
    int error = items == NULL ? keeping->graph->arena.error : 0;
    keeping->place = place;
    for (uint32_t i = 0; error == 0 && i < variables->count; i++) {
        items[i] = variables->items[i];
        error = items[i].has_default ? take_literal(keeping, items[i].type, &items[i].default_value)
                                     : 0;
    }
    if (error == 0) {
        variables->items = items;
    }
    return error;
}

static int take_workflow(struct keeping *keeping, struct tr_workflow *workflow)
{
    int error = take_defaults(keeping, workflow->name, &workflow->interface.inputs);
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        keeping->place = node->name;
        for (uint32_t k = 0; error == 0 && k < node->input_count; k++) {
            error = take_binding(keeping, workflow, node->input_first + k);
        }
    }
    return error;
}

static int take_plan(struct keeping *keeping, struct tr_plan *plan)
{
    const struct tr_variables *inputs = &keeping->graph->workflows[plan->workflow].interface.inputs;
    struct tr_plan_value *values =
        tr_arena_array(&keeping->graph->arena, plan->value_count, sizeof *values);
    int error = values == NULL ? keeping->graph->arena.error : 0;
    keeping->place = plan->name;
    for (uint32_t i = 0; error == 0 && i < plan->value_count; i++) {
        values[i] = plan->values[i];
        error = take_literal(keeping, inputs->items[values[i].input].type, &values[i].value);
    }
    if (error == 0) {
        plan->values = values;
    }
    return error;
}

static int take_graph(struct keeping *keeping)
{
    struct tr_graph *graph = keeping->graph;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < graph->task_count; i++) {
        struct tr_task *task = &graph->tasks[i];
        error = take_defaults(keeping, task->name, &task->interface.inputs);
    }
    for (uint32_t i = 0; error == 0 && i < graph->workflow_count; i++) {
        error = take_workflow(keeping, &graph->workflows[i]);
    }
    for (uint32_t i = 0; error == 0 && i < graph->plan_count; i++) {
        error = take_plan(keeping, &graph->plans[i]);
    }
    return error == 0 && keeping->is_changed ? tr_graph_name(graph) : error;
}

int tr_decide_paths(const struct tr_inquiry *inquiry, const struct tr_graph_make *make,
                    struct tr_graph *graph, const char **code, char words[TR_DECIDE_PATHS_BYTES])
{
    struct keeping keeping = {
        .inquiry = inquiry, .make = make, .graph = graph, .code = code, .words = words};
    snprintf(words, TR_DECIDE_PATHS_BYTES, "its files cannot be kept");
    int error = make->attempt.size == 0 ? 0 : take_graph(&keeping);
    tri_blobs_close(keeping.blobs);
    return error;
}
