/*
 * The model of recoveries: which nodes are kept, by what was before them and by what history says.
 */
#include "tests/sim/edits.h"
#include "tests/sim/engine_model_inside.h"
#include "tests/sim/recall.h"
#include "tests/support/flow_value.h"

/* Whether a node gives something that is not from an earlier execution. */
static bool is_anew(const struct sim_flow *flow, uint32_t index)
{
    const struct tr_node *node = &flow->workflow->nodes[index];
    const struct sim_node *own = &flow->nodes[index];
    if (node->kind == TR_NODE_START || node->kind == TR_NODE_END || node->role != TR_ROLE_GRAPH ||
        own->is_again) {
        return own->is_again;
    }
    if (node->kind == TR_NODE_BRANCH) {
        return own->arm != TR_GRAPH_NONE && is_anew(flow, own->arm);
    }
    return !own->is_kept;
}

/* A task that was kept gave what it would give now. */
void sim_check_kept(const struct sim_model *model, const struct tr_node *node, struct tr_text path,
                    struct tr_bytes inputs, struct tr_bytes outputs)
{
    struct tr_buffer wanted;
    if (node->kind != TR_NODE_TASK || model->is_cut) {
        return;
    }
    const struct tr_task *task = &model->graph->tasks[node->target];
    const struct tr_variables *variables = &task->interface.outputs;
    tr_buffer_init(&wanted, 0);
    flow_value_outputs(task, inputs, &wanted);
    if (flow_value_digest_slots(variables, outputs) !=
        flow_value_digest_slots(variables, tr_buffer_bytes(&wanted))) {
        sim_fail("%s: %.*s is kept, and would give something else", model->execution->name,
                 (int)path.size, path.data);
    }
    tr_buffer_fini(&wanted);
}

/* -------------------------------------------------------------------------------- edited inputs */

const bool *sim_changed_inputs(struct sim_model *model)
{
    const struct tr_workflow *workflow = &model->graph->workflows[model->graph->main_workflow];
    uint32_t count = workflow->interface.inputs.count;
    bool *changed = tr_arena_array(&model->arena, count, sizeof *changed);
    TR_ASSERT(changed != NULL);
    for (uint32_t i = 0; i < count; i++) {
        changed[i] = sim_edits_has_changed(model->execution, i);
    }
    return changed;
}

/* Whether a binding looks, anywhere in it, at an input that is not what it was. */
static bool looks_at_changed(const struct sim_flow *flow, const struct tr_binding *binding)
{
    bool has_parts = tr_binding_has_parts(binding);
    bool looks = binding->kind == TR_BINDING_REFERENCE && binding->node == 0 &&
                 flow->changed != NULL && flow->changed[binding->output];
    for (uint32_t i = 0; has_parts && i < binding->count; i++) {
        looks = looks || looks_at_changed(flow, &flow->workflow->bindings[binding->first + i]);
    }
    return looks;
}

const bool *sim_changed_inside(struct sim_flow *flow, const struct tr_node *node)
{
    struct sim_model *model = flow->model;
    bool *changed = tr_arena_array(&model->arena, node->input_count, sizeof *changed);
    TR_ASSERT(changed != NULL);
    for (uint32_t i = 0; i < node->input_count; i++) {
        changed[i] = looks_at_changed(flow, &flow->workflow->bindings[node->input_first + i]);
    }
    return changed;
}

void sim_edit(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
              struct tr_bytes *inputs)
{
    for (uint32_t i = 0; flow->recovers && i < node->input_count; i++) {
        struct tr_text key = flow->workflow->bindings[node->input_first + i].key;
        (void)sim_edits_find(flow->model->execution, path, key, &inputs[i]);
    }
}

/* Whether an input looks at something that is not what it was. */
static bool uses_changed(struct sim_flow *flow, const struct tr_node *node)
{
    const bool *changed = sim_changed_inside(flow, node);
    bool uses = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uses = uses || changed[i];
    }
    return uses;
}

/* Whether it is named, or uses what has changed. */
static bool is_meant(struct sim_flow *flow, const struct tr_node *node, struct tr_text path)
{
    bool is_whole;
    return sim_edits_has_named(flow->model->execution, path, &is_whole) || uses_changed(flow, node);
}

/* What is behind something new is new; an arm, too, whose branch is; a branch that is meant. */
void sim_note_again(struct sim_flow *flow, uint32_t index, struct tr_text path)
{
    const struct tr_node *node = &flow->workflow->nodes[index];
    flow->nodes[index].is_again =
        flow->recovers && node->kind == TR_NODE_BRANCH && is_meant(flow, node, path);
    for (uint32_t i = 0; i < node->upstream_count; i++) {
        uint32_t upstream = flow->workflow->upstream[node->upstream_first + i];
        bool is_new =
            upstream == node->parent ? flow->nodes[upstream].is_again : is_anew(flow, upstream);
        flow->nodes[index].is_again = flow->nodes[index].is_again || is_new;
    }
}

/* Whether it runs again by a rule, and whether all inside it does. */
static bool has_cause(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
                      bool *is_whole)
{
    bool is_behind = flow->is_new || flow->nodes[node - flow->workflow->nodes].is_again;
    (void)sim_edits_has_named(flow->model->execution, path, is_whole);
    bool is_new = uses_changed(flow, node) && node->kind != TR_NODE_WORKFLOW;
    *is_whole = *is_whole || is_behind || is_new;
    return *is_whole || is_meant(flow, node, path);
}

/* What the plan says is what the rules say: no node too many, and none too few. */
static void check_way(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
                      enum tr_recovery_way way)
{
    struct sim_model *model = flow->model;
    bool has = has_cause(flow, node, path, &model->is_new);
    if (sim_edits_plan(model->execution) != NULL && has && way == TR_RECOVERY_KEPT) {
        sim_fail("%s: %.*s is kept, and has to run again", model->execution->name, (int)path.size,
                 path.data);
    }
    if (!has && way == TR_RECOVERY_ANEW) {
        sim_fail("%s: %.*s runs again without a cause", model->execution->name, (int)path.size,
                 path.data);
    }
}

/* ---------------------------------------------------------------------------------------- nodes */

/* Whether a node is kept, and what it gives then; else whether what is inside it may be. */
bool sim_keep(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
              struct sim_given *result)
{
    struct sim_model *model = flow->model;
    const struct sim_observation_of *entry = NULL;
    bool is_again = flow->nodes[node - flow->workflow->nodes].is_again;
    model->recovers = false;
    if (!flow->recovers || node->kind == TR_NODE_END || node->role != TR_ROLE_GRAPH) {
        return false;
    }
    enum tr_recovery_way way =
        sim_recall_node(model->stage, model->execution, path, is_again, &entry);
    check_way(flow, node, path, way);
    model->recovers = way != TR_RECOVERY_ANEW;
    bool is_kept = way == TR_RECOVERY_KEPT;
    uint32_t count = 0;
    if (is_kept && entry->values[TR_VALUE_OUTPUTS].size > 0) {
        result->outputs = sim_unpack(model, sim_bytes_of(&entry->values[TR_VALUE_OUTPUTS]), &count);
    }
    if (!is_kept || count != node->outputs.count) {
        return false;
    }
    result->phase = TR_NODE_PHASE_SUCCEEDED;
    result->is_kept = true;
    result->got = sim_bytes_of(&entry->values[TR_VALUE_INPUTS]);
    result->output_count = count;
    return true;
}
