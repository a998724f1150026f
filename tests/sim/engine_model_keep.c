/*
 * The model of recoveries: which nodes are kept, by what was before them and by what history says.
 */
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

/* What is behind something new is new; an arm, too, whose branch is. */
void sim_note_again(struct sim_flow *flow, uint32_t index)
{
    const struct tr_node *node = &flow->workflow->nodes[index];
    for (uint32_t i = 0; i < node->upstream_count; i++) {
        uint32_t upstream = flow->workflow->upstream[node->upstream_first + i];
        bool is_new =
            upstream == node->parent ? flow->nodes[upstream].is_again : is_anew(flow, upstream);
        flow->nodes[index].is_again = flow->nodes[index].is_again || is_new;
    }
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

/* Whether a node is kept, and what it gives then; else whether what is inside it may be. */
bool sim_keep(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
              struct sim_given *result)
{
    struct sim_model *model = flow->model;
    const struct sim_entry_of *entry = NULL;
    bool is_again = flow->nodes[node - flow->workflow->nodes].is_again;
    model->recovers = false;
    if (!flow->recovers || node->kind == TR_NODE_END || node->role != TR_ROLE_GRAPH) {
        return false;
    }
    enum tr_recovery_way way =
        sim_recall_node(model->stage, model->execution, path, is_again, &entry);
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
    result->output_count = count;
    return true;
}
