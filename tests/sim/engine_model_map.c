/*
 * The model of maps: element after element, kept or run, and lists of what they gave.
 */
#include "tests/sim/engine_model_inside.h"
#include "tests/sim/recall.h"

/* A map on its way. */
struct mapping {
    struct sim_flow *flow;
    const struct tr_node *node;
    struct tr_text path;
    struct tr_interface target;
    const struct tr_bytes *inputs;
    uint32_t count;
    uint32_t needed;
    uint32_t failures;
    bool recovers; /* its elements may be kept */
    bool is_new;   /* they run anew, and only ask for what is edited */
    struct sim_given *elements;
};

struct tr_interface sim_interface_of(const struct tr_graph *graph, const struct tr_node *node)
{
    if (node->target_kind == TR_TARGET_TASK) {
        return graph->tasks[node->target].interface;
    }
    if (node->target_kind == TR_TARGET_WORKFLOW) {
        return graph->workflows[node->target].interface;
    }
    const struct tr_plan *plan = &graph->plans[node->target];
    return (struct tr_interface){
        .inputs = plan->inputs,
        .outputs = graph->workflows[plan->workflow].interface.outputs,
    };
}

/* How many elements there are; false where lists have other lengths. */
static bool count_elements(struct mapping *mapping)
{
    bool is_known = false;
    for (uint32_t i = 0; i < mapping->node->input_count; i++) {
        const struct tr_binding *binding =
            &mapping->flow->workflow->bindings[mapping->node->input_first + i];
        uint32_t count;
        if (!binding->is_mapped) {
            continue;
        }
        (void)sim_unpack(mapping->flow->model, mapping->inputs[i], &count);
        if (is_known && count != mapping->count) {
            return false;
        }
        mapping->count = count;
        is_known = true;
    }
    return true;
}

static uint32_t needed_of(const struct tr_node *node, uint32_t count)
{
    uint32_t needed = node->min_successes;
    while (node->min_successes == 0 && needed < count &&
           (double)needed + 1e-6 < node->min_success_ratio * count) {
        needed++;
    }
    return needed;
}

/* The type of a map's output as it is without `optional`. */
const struct tr_type *sim_list_type(const struct tr_node *node, uint32_t output)
{
    const struct tr_type *type = node->outputs.items[output].type;
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind == TR_TYPE_LIST) {
            return type->parts[i];
        }
    }
    return type;
}

/* Whether an element gives what it gave in the earlier execution. */
static bool keep_element(struct mapping *mapping, uint32_t index, struct sim_given *result)
{
    struct sim_model *model = mapping->flow->model;
    struct tr_buffer slots;
    bool is_listed;
    uint32_t count = mapping->target.outputs.count;
    tr_buffer_init(&slots, 0);
    bool is_kept =
        mapping->recovers && sim_recall_element(model->stage, model->execution, mapping->path,
                                                index, count, &is_listed, &slots);
    if (is_kept) {
        *result = (struct sim_given){.phase = TR_NODE_PHASE_SUCCEEDED, .is_kept = true};
    }
    if (is_kept && count > 0) { /* else it is written as nothing */
        result->outputs = sim_unpack(model, tr_arena_bytes(&model->arena, tr_buffer_bytes(&slots)),
                                     &result->output_count);
        TR_ASSERT(result->output_count == count);
    }
    for (uint32_t i = 0; is_kept && is_listed && i < count; i++) {
        bool is_fine = sim_cast(model, sim_list_type(mapping->node, i)->parts[0],
                                mapping->target.outputs.items[i].type, result->outputs[i],
                                &result->outputs[i]);
        TR_ASSERT(is_fine);
    }
    tr_buffer_fini(&slots);
    return is_kept;
}

static struct sim_given run_element(struct mapping *mapping, uint32_t index)
{
    struct sim_model *model = mapping->flow->model;
    const struct tr_node *node = mapping->node;
    struct tr_bytes inputs[16];
    struct sim_given kept;
    TR_ASSERT(node->input_count <= TR_COUNT_OF(inputs));
    if (keep_element(mapping, index, &kept)) {
        return kept;
    }
    model->recovers = mapping->recovers;
    model->is_new = mapping->is_new;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t count;
        bool is_mapped = mapping->flow->workflow->bindings[node->input_first + i].is_mapped;
        inputs[i] =
            is_mapped ? sim_unpack(model, mapping->inputs[i], &count)[index] : mapping->inputs[i];
    }
    if (node->target_kind == TR_TARGET_TASK) {
        return sim_run_task(model, &model->graph->tasks[node->target], node->settings,
                            mapping->path, index, sim_pack(model, inputs, node->input_count));
    }
    if (node->target_kind == TR_TARGET_PLAN) {
        return sim_run_launch(model, node, mapping->path, index, inputs);
    }
    struct tr_text path = tr_arena_print(&model->arena, "%.*s[%u]/", (int)mapping->path.size,
                                         mapping->path.data, index);
    return sim_run_workflow(model, &model->graph->workflows[node->target], path, inputs);
}

/* One output of all elements; the last one may be that of their errors. */
static struct tr_bytes gather(struct mapping *mapping, uint32_t output)
{
    static const struct tr_type error_type = {.kind = TR_TYPE_ERROR};
    struct sim_model *model = mapping->flow->model;
    const struct tr_type *to = sim_list_type(mapping->node, output)->parts[0];
    bool is_errors = output == mapping->node->errors_output;
    struct tr_bytes *slots = tr_arena_array(&model->arena, mapping->count, sizeof *slots);
    TR_ASSERT(slots != NULL);
    for (uint32_t i = 0; i < mapping->count; i++) {
        const struct sim_given *element = &mapping->elements[i];
        bool has_failed = element->phase != TR_NODE_PHASE_SUCCEEDED;
        bool is_fine = true;
        if (is_errors && has_failed) {
            const struct tr_type *from = &error_type;
            for (uint32_t k = 0; k < to->count; k++) {
                from = to->parts[k]->kind == TR_TYPE_ERROR ? to->parts[k] : from;
            }
            is_fine = sim_cast(model, from, to, sim_error_value(model), &slots[i]);
        } else if (is_errors || has_failed) {
            slots[i] = sim_none(model, to);
        } else {
            is_fine = sim_cast(model, mapping->target.outputs.items[output].type, to,
                               element->outputs[output], &slots[i]);
        }
        TR_ASSERT(is_fine);
    }
    return sim_pack(model, slots, mapping->count);
}

static void run_elements(struct mapping *mapping)
{
    struct sim_model *model = mapping->flow->model;
    uint32_t first = model->expected.count;
    mapping->elements = tr_arena_array(&model->arena, mapping->count, sizeof(struct sim_given));
    TR_ASSERT(mapping->elements != NULL);
    for (uint32_t i = 0; i < mapping->count; i++) {
        mapping->elements[i] = run_element(mapping, i);
        mapping->failures += mapping->elements[i].phase != TR_NODE_PHASE_SUCCEEDED ? 1 : 0;
        (void)sim_expect(model, mapping->path, i, &mapping->elements[i]);
    }
    /* Which elements run before it fails is chance, unless all do. */
    bool has_failed = mapping->count - mapping->failures < mapping->needed;
    if (has_failed && !mapping->node->runs_all) {
        sim_cut_from(model, first);
    }
    sim_engine_seen.maps_run_to_failure += has_failed && mapping->node->runs_all ? 1 : 0;
}

struct sim_given sim_run_map(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
                             const struct tr_bytes *inputs)
{
    struct mapping mapping = {
        .flow = flow,
        .node = node,
        .path = path,
        .target = sim_interface_of(flow->model->graph, node),
        .inputs = inputs,
        .recovers = flow->model->recovers,
        .is_new = flow->model->is_new,
    };
    if (!count_elements(&mapping)) {
        return sim_failed("InvalidArrayLength");
    }
    mapping.needed = needed_of(node, mapping.count);
    if (mapping.count > 0 && mapping.needed > mapping.count) {
        return sim_failed("InvalidArrayLength");
    }
    run_elements(&mapping);
    if (mapping.count > 0 && mapping.count - mapping.failures < mapping.needed) {
        return sim_failed(NULL);
    }
    struct sim_given result = {.phase = TR_NODE_PHASE_SUCCEEDED,
                               .output_count = node->outputs.count};
    result.outputs =
        tr_arena_array(&flow->model->arena, node->outputs.count, sizeof(struct tr_bytes));
    TR_ASSERT(result.outputs != NULL);
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        result.outputs[i] = gather(&mapping, i);
    }
    return result;
}
