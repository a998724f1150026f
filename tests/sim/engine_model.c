/*
 * The model: a workflow is worked out node by node, each after those that it waits for.
 */
#include "tests/sim/engine_model_inside.h"

struct sim_given sim_failed(const char *code)
{
    return (struct sim_given){.phase = TR_NODE_PHASE_FAILED, .code = code};
}

struct sim_expected *sim_expect(struct sim_model *model, struct tr_text path, uint64_t element,
                                const struct sim_given *result)
{
    struct sim_expected *expected =
        tri_vector_add(&model->arena, &model->expected, sizeof *expected);
    TR_ASSERT(expected != NULL);
    *expected = (struct sim_expected){
        .path = path,
        .element = element,
        .phase = result->is_kept ? TR_NODE_PHASE_RECOVERED : result->phase,
        .code = result->code,
    };
    return expected;
}

/* What was expected since then may have been ended before its time. */
void sim_cut_from(struct sim_model *model, uint32_t first)
{
    struct sim_expected *expected = model->expected.items;
    for (uint32_t i = first; i < model->expected.count; i++) {
        expected[i].is_cut = true;
    }
}

/* ---------------------------------------------------------------------------------- branches */

static const struct sim_node *run_node(struct sim_flow *flow, uint32_t index);

/* The first arm whose condition holds; NULL with the code of the failure. */
static const struct tr_arm *choose(struct sim_flow *flow, const struct tr_node *node,
                                   const char **code)
{
    struct tr_bytes inputs[64] = {0};
    TR_ASSERT(node->input_count <= TR_COUNT_OF(inputs));
    for (uint32_t i = 0; i < node->input_count; i++) {
        const struct tr_binding *binding = &flow->workflow->bindings[node->input_first + i];
        if (!sim_bind(flow, binding, &inputs[i])) {
            inputs[i] = (struct tr_bytes){0};
        }
    }
    for (uint32_t i = 0; i < node->arm_count; i++) {
        const struct tr_arm *arm = &flow->workflow->arms[node->arm_first + i];
        bool holds = arm->condition == TR_GRAPH_NONE;
        int error =
            holds ? 0 : tr_condition_evaluate(flow->workflow, node, arm->condition, inputs, &holds);
        if (error != 0) {
            *code = error == TR_NOT_FOUND ? "BindingResolutionError" : "MalformedBranchUserError";
            return NULL;
        }
        if (holds) {
            return arm;
        }
    }
    *code = "NoBranchTakenError";
    return NULL;
}

static struct sim_given run_arm(struct sim_flow *flow, const struct tr_node *node,
                                const struct tr_arm *arm)
{
    struct sim_model *model = flow->model;
    struct sim_given result = {.phase = TR_NODE_PHASE_SUCCEEDED,
                               .output_count = node->outputs.count};
    result.outputs = tr_arena_array(&model->arena, node->outputs.count, sizeof(struct tr_bytes));
    TR_ASSERT(result.outputs != NULL);
    flow->nodes[node - flow->workflow->nodes].arm =
        arm->kind == TR_ARM_NODE ? arm->node : TR_GRAPH_NONE;
    const struct sim_node *taken = arm->kind == TR_ARM_NODE ? run_node(flow, arm->node) : NULL;
    if (taken != NULL && taken->phase != TR_NODE_PHASE_SUCCEEDED) {
        return (struct sim_given){.phase = taken->phase, .code = taken->code};
    }
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        const struct tr_type *to = node->outputs.items[i].type;
        if (taken == NULL) {
            result.outputs[i] = sim_none(model, to);
            continue;
        }
        const struct tr_type *from =
            flow->workflow->nodes[arm->node].outputs.items[arm->outputs[i]].type;
        bool is_fine =
            sim_cast(model, from, to, taken->outputs[arm->outputs[i]], &result.outputs[i]);
        TR_ASSERT(is_fine);
    }
    return result;
}

static struct sim_given run_branch(struct sim_flow *flow, const struct tr_node *node)
{
    const char *code = NULL;
    const struct tr_arm *arm = choose(flow, node, &code);
    if (arm == NULL) {
        return sim_failed(code);
    }
    return arm->kind == TR_ARM_FAIL ? sim_failed("UserProvidedError") : run_arm(flow, node, arm);
}

/* ------------------------------------------------------------------------------------- nodes */

/* The inputs of a node, bound; false where one leads nowhere. */
static bool bind_inputs(struct sim_flow *flow, const struct tr_node *node, struct tr_bytes *inputs)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!sim_bind(flow, &flow->workflow->bindings[node->input_first + i], &inputs[i])) {
            return false;
        }
    }
    return true;
}

static struct sim_given run_target(struct sim_flow *flow, const struct tr_node *node,
                                   struct tr_text path, const struct tr_bytes *inputs)
{
    struct sim_model *model = flow->model;
    struct sim_given result = {.phase = TR_NODE_PHASE_SUCCEEDED, .output_count = node->input_count};
    switch ((enum tr_node_kind)node->kind) {
    case TR_NODE_TASK:
        return sim_run_task(model, &model->graph->tasks[node->target], node->settings, path,
                            TR_ELEMENT_NONE, sim_pack(model, inputs, node->input_count));
    case TR_NODE_DYNAMIC:
        return sim_run_dynamic(model, node, path, inputs);
    case TR_NODE_MAP:
        return sim_run_map(flow, node, path, inputs);
    case TR_NODE_LAUNCH:
        return sim_run_launch(model, node, path, TR_ELEMENT_NONE, inputs);
    case TR_NODE_APPROVE:
    case TR_NODE_SIGNAL:
        return sim_run_gate(flow, node, inputs);
    case TR_NODE_SLEEP:
        return (struct sim_given){.phase = TR_NODE_PHASE_SUCCEEDED};
    case TR_NODE_WORKFLOW:
        path = tr_arena_print(&model->arena, "%.*s/", (int)path.size, path.data);
        model->changed = sim_changed_inside(flow, node);
        return sim_run_workflow(model, &model->graph->workflows[node->target], path, inputs);
    default:
        TR_ASSERT(node->kind == TR_NODE_END);
        result.outputs =
            sim_unpack(model, sim_pack(model, inputs, node->input_count), &result.output_count);
        return result;
    }
}

/* The type in which a node gives an output, without what `optional` adds. */
static const struct tr_type *given_type(struct sim_flow *flow, const struct tr_node *node,
                                        uint32_t output)
{
    switch ((enum tr_node_kind)node->kind) {
    case TR_NODE_MAP:
        return sim_list_type(node, output);
    case TR_NODE_APPROVE:
        return flow->workflow->bindings[node->input_first + output].type;
    case TR_NODE_SIGNAL:
        return sim_plain_type(node->outputs.items[output].type);
    default:
        return sim_interface_of(flow->model->graph, node).outputs.items[output].type;
    }
}

/* What an optional node gives: what it gave, beside none. */
static void widen(struct sim_flow *flow, const struct tr_node *node, struct sim_given *result)
{
    struct tr_bytes *outputs =
        tr_arena_array(&flow->model->arena, node->outputs.count, sizeof *outputs);
    TR_ASSERT(outputs != NULL);
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        const struct tr_type *to = node->outputs.items[i].type;
        const struct tr_type *from = given_type(flow, node, i);
        bool is_fine = true;
        if (result->phase == TR_NODE_PHASE_SUCCEEDED) {
            is_fine = sim_cast(flow->model, from, to, result->outputs[i], &outputs[i]);
        } else {
            outputs[i] = sim_none(flow->model, to);
        }
        TR_ASSERT(is_fine);
    }
    result->outputs = outputs;
}

/* Whether everything that a node waits for has given what it gives. */
static bool may_run(struct sim_flow *flow, const struct tr_node *node)
{
    bool may = true;
    for (uint32_t i = 0; i < node->upstream_count; i++) {
        uint32_t upstream = flow->workflow->upstream[node->upstream_first + i];
        if (upstream != node->parent) {
            may = run_node(flow, upstream)->gives && may;
        }
    }
    return may;
}

static void note_values(struct sim_model *model, struct sim_expected *expected,
                        const struct tr_node *node, const struct tr_bytes *inputs,
                        const struct sim_given *result)
{
    if (node->kind != TR_NODE_TASK && node->kind != TR_NODE_DYNAMIC &&
        node->kind != TR_NODE_WORKFLOW) {
        return;
    }
    const struct tr_interface *target = node->kind == TR_NODE_WORKFLOW
                                            ? &model->graph->workflows[node->target].interface
                                            : &model->graph->tasks[node->target].interface;
    expected->has_values = true;
    expected->inputs_of = &target->inputs;
    expected->outputs_of = &target->outputs;
    expected->inputs =
        result->got.size > 0 ? result->got : sim_pack(model, inputs, node->input_count);
    if (result->phase == TR_NODE_PHASE_SUCCEEDED) {
        expected->outputs = sim_pack(model, result->outputs, result->output_count);
    }
}

static struct sim_given run_kind(struct sim_flow *flow, const struct tr_node *node,
                                 struct tr_text path)
{
    struct sim_model *model = flow->model;
    if (node->kind == TR_NODE_BRANCH) {
        struct sim_given result = run_branch(flow, node);
        (void)sim_expect(model, path, TR_ELEMENT_NONE, &result);
        return result;
    }
    struct tr_bytes *inputs =
        tr_arena_array(&model->arena, node->input_count, sizeof(struct tr_bytes));
    TR_ASSERT(inputs != NULL);
    bool is_bound = bind_inputs(flow, node, inputs);
    sim_edit(flow, node, path, inputs);
    struct sim_given result = {.phase = TR_NODE_PHASE_FAILED};
    bool is_kept = sim_keep(flow, node, path, &result);
    if (!is_bound) {
        result = sim_failed("BindingResolutionError");
    } else if (is_kept) {
        sim_check_kept(model, node, path, sim_pack(model, inputs, node->input_count),
                       sim_pack(model, result.outputs, result.output_count));
    } else {
        result = run_target(flow, node, path, inputs);
    }
    if (node->kind != TR_NODE_END || !is_bound) {
        struct sim_expected *expected = sim_expect(model, path, TR_ELEMENT_NONE, &result);
        if (is_bound) {
            note_values(model, expected, node, inputs, &result);
        }
    }
    return result;
}

static const struct sim_node *run_node(struct sim_flow *flow, uint32_t index)
{
    const struct tr_node *node = &flow->workflow->nodes[index];
    struct sim_node *own = &flow->nodes[index];
    struct sim_model *model = flow->model;
    if (own->phase != TR_NODE_PHASE_NOT_YET_STARTED) {
        return own;
    }
    struct tr_text path = tr_arena_print(&model->arena, "%.*s%.*s", (int)flow->path.size,
                                         flow->path.data, (int)node->id.size, node->id.data);
    struct sim_given result = {.phase = TR_NODE_PHASE_SKIPPED};
    bool may = may_run(flow, node);
    sim_note_again(flow, index, path);
    if (may) {
        result = run_kind(flow, node, path);
    } else {
        (void)sim_expect(model, path, TR_ELEMENT_NONE, &result);
    }
    own->phase = result.phase;
    own->code = result.code;
    own->is_kept = result.is_kept;
    own->gives = result.phase == TR_NODE_PHASE_SUCCEEDED ||
                 (node->is_optional && result.phase == TR_NODE_PHASE_FAILED);
    if (node->is_optional && own->gives && node->kind != TR_NODE_BRANCH) {
        widen(flow, node, &result);
    } else if (node->is_optional && own->gives && result.phase == TR_NODE_PHASE_FAILED) {
        result.outputs =
            tr_arena_array(&model->arena, node->outputs.count, sizeof(struct tr_bytes));
        for (uint32_t i = 0; i < node->outputs.count; i++) {
            result.outputs[i] = sim_none(model, node->outputs.items[i].type);
        }
    }
    own->outputs = result.outputs;
    bool is_own_failure =
        node->parent == TR_GRAPH_NONE && node->role == TR_ROLE_GRAPH && !node->is_optional;
    flow->has_failed = flow->has_failed || (is_own_failure && result.phase == TR_NODE_PHASE_FAILED);
    return own;
}

/* --------------------------------------------------------------------------------- workflows */

/* The nodes of arms that were not taken. */
static void skip_rest(struct sim_flow *flow)
{
    for (uint32_t i = 0; i < flow->workflow->node_count; i++) {
        const struct tr_node *node = &flow->workflow->nodes[i];
        struct sim_given result = {.phase = TR_NODE_PHASE_SKIPPED};
        if (node->parent != TR_GRAPH_NONE && node->role == TR_ROLE_GRAPH &&
            flow->nodes[i].phase == TR_NODE_PHASE_NOT_YET_STARTED) {
            (void)sim_expect(flow->model,
                             tr_arena_print(&flow->model->arena, "%.*s%.*s", (int)flow->path.size,
                                            flow->path.data, (int)node->id.size, node->id.data),
                             TR_ELEMENT_NONE, &result);
        }
    }
}

struct sim_given sim_run_workflow(struct sim_model *model, const struct tr_workflow *workflow,
                                  struct tr_text path, const struct tr_bytes *inputs)
{
    struct sim_flow flow = {.model = model, .workflow = workflow, .path = path};
    uint32_t first = model->expected.count;
    flow.recovers = model->recovers;
    flow.is_new = model->is_new;
    flow.changed = model->recovers ? model->changed : NULL;
    model->changed = NULL;
    flow.nodes = tr_arena_array(&model->arena, workflow->node_count, sizeof *flow.nodes);
    TR_ASSERT(flow.nodes != NULL);
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        flow.nodes[i].arm = TR_GRAPH_NONE;
    }
    flow.nodes[0] = (struct sim_node){.phase = TR_NODE_PHASE_SUCCEEDED, .gives = true};
    flow.nodes[0].outputs = sim_unpack(
        model, sim_pack(model, inputs, workflow->interface.inputs.count), &(uint32_t){0});
    for (uint32_t i = 0; i < workflow->order_count; i++) {
        if (workflow->nodes[workflow->order[i]].parent == TR_GRAPH_NONE) {
            (void)run_node(&flow, workflow->order[i]);
        }
    }
    skip_rest(&flow);
    if (flow.has_failed && workflow->policy == TR_POLICY_FAIL_IMMEDIATELY) {
        sim_cut_from(model, first);
    }
    bool has_failed = flow.has_failed;
    if (has_failed && workflow->on_failure != TR_GRAPH_NONE) {
        (void)run_node(&flow, workflow->on_failure);
    }
    if (workflow->finally != TR_GRAPH_NONE) {
        uint8_t phase = run_node(&flow, workflow->finally)->phase;
        has_failed = has_failed || phase != TR_NODE_PHASE_SUCCEEDED;
    }
    const struct sim_node *end = &flow.nodes[workflow->end];
    if (has_failed) {
        return sim_failed(NULL);
    }
    TR_ASSERT(end->phase == TR_NODE_PHASE_SUCCEEDED);
    return (struct sim_given){.phase = TR_NODE_PHASE_SUCCEEDED,
                              .outputs = end->outputs,
                              .output_count = workflow->interface.outputs.count};
}

void sim_model_init(struct sim_model *model, const struct sim_stage *stage,
                    const struct sim_execution *execution)
{
    *model = (struct sim_model){
        .stage = stage,
        .execution = execution,
        .graph = stage->graphs[execution->graph].graph,
        .is_cut = execution->is_aborted || stage->has_timing || stage->has_lost_answers,
        .recovers = execution->from != NULL,
    };
    tr_arena_init(&model->arena);
    model->changed = sim_changed_inputs(model);
    uint32_t count;
    const struct tr_bytes *inputs = sim_unpack(model, tr_buffer_bytes(&execution->inputs), &count);
    struct sim_given result = sim_run_workflow(
        model, &model->graph->workflows[model->graph->main_workflow], tr_text_of(""), inputs);
    bool has_succeeded = result.phase == TR_NODE_PHASE_SUCCEEDED;
    model->phase = has_succeeded ? TR_EXECUTION_SUCCEEDED : TR_EXECUTION_FAILED;
    if (has_succeeded) {
        model->outputs = sim_pack(model, result.outputs, result.output_count);
    }
    if (model->is_cut) {
        sim_cut_from(model, 0);
    }
}

void sim_model_fini(struct sim_model *model)
{
    struct tr_graph *const *graphs = model->decided.items;
    for (uint32_t i = 0; i < model->decided.count; i++) {
        tr_graph_free(graphs[i]);
    }
    tr_arena_fini(&model->arena);
}
