/*
 * The model: a workflow is worked out node by node, each after those that it waits for.
 */
#include "tests/sim/engine_model.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compile.h"
#include "actors/graph/pack.h"
#include "tests/sim/decisions.h"
#include "tests/sim/recall.h"
#include "tests/support/flow_value.h"

/* What became of a task, a map, a branch or a workflow. */
struct result {
    uint8_t phase;
    struct tr_bytes *outputs; /* one for each, when it succeeded */
    uint32_t output_count;
    bool is_kept; /* from an earlier execution */
    const char *code;
};

static struct result failed(const char *code)
{
    return (struct result){.phase = TR_NODE_PHASE_FAILED, .code = code};
}

static struct result run_workflow(struct sim_model *model, const struct tr_workflow *workflow,
                                  struct tr_text path, const struct tr_bytes *inputs);

static struct sim_expected *expect(struct sim_model *model, struct tr_text path, uint64_t element,
                                   const struct result *result)
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
static void cut_from(struct sim_model *model, uint32_t first)
{
    struct sim_expected *expected = model->expected.items;
    for (uint32_t i = first; i < model->expected.count; i++) {
        expected[i].is_cut = true;
    }
}

/* ---------------------------------------------------------------------------------------- tasks */

/* All attempts of a task: those that the system breaks have a budget of their own. */
static struct result run_task(struct sim_model *model, const struct tr_task *task,
                              const struct tr_settings *settings, struct tr_text path,
                              uint64_t element, struct tr_bytes inputs)
{
    struct result result = {.phase = TR_NODE_PHASE_SUCCEEDED};
    uint32_t retries = settings->retries;
    uint32_t system_retries = SIM_SYSTEM_RETRIES;
    for (uint32_t attempt = 0;; attempt++) {
        struct tr_buffer outputs;
        switch ((enum sim_job_status)sim_outcome(model->stage, model->execution, task, inputs, path,
                                                 element, attempt)) {
        case SIM_JOB_FAILED:
            if (retries-- == 0) {
                return failed("RetriesExhausted|JobFailed");
            }
            break;
        case SIM_JOB_BROKEN:
            if (system_retries-- == 0) {
                return failed("RetriesExhausted|JobBroken");
            }
            break;
        case SIM_JOB_FAILED_FOR_GOOD:
            return failed("JobFailedForGood");
        default:
            tr_buffer_init(&outputs, 0);
            flow_value_outputs(task, inputs, &outputs);
            struct tr_bytes packed = tr_arena_bytes(&model->arena, tr_buffer_bytes(&outputs));
            tr_buffer_fini(&outputs);
            result.outputs = sim_unpack(model, packed, &result.output_count);
            return result;
        }
    }
}

/* The graph that a dynamic task decides; NULL where its document is wrong. */
static const struct tr_graph *decide(struct sim_model *model, uint32_t task, struct tr_text json)
{
    struct tr_buffer packed;
    struct tr_report report;
    struct tr_decision decision = {
        .task = task, .depth = 1, .path = tr_text_of("outputs"), .text = json};
    struct tr_graph *graph = NULL;
    tr_buffer_init(&packed, 0);
    tr_report_init(&report);
    int error = tr_graph_pack(model->graph, &packed);
    error = error != 0 ? error : tr_graph_unpack(tr_buffer_bytes(&packed), &decision.parent);
    error = error != 0 ? error : tr_graph_decide(&decision, &report, &graph);
    TR_ASSERT(error == 0 || error == TR_INVALID);
    tr_report_fini(&report);
    tr_buffer_fini(&packed);
    if (error == 0) {
        struct tr_graph **place = tri_vector_add(&model->arena, &model->decided, sizeof *place);
        TR_ASSERT(place != NULL);
        *place = graph;
    }
    return graph;
}

/* Whether the graph is the one that was decided here in the earlier execution. */
static bool is_same_graph(const struct sim_model *model, struct tr_text path,
                          const struct tr_graph *graph)
{
    return sim_recall_is_same(model->stage, model->execution, path, graph->hash);
}

/* A task that may decide a graph, which then runs below its path, in its place. */
static struct result run_dynamic(struct sim_model *model, const struct tr_node *node,
                                 struct tr_text path, const struct tr_bytes *inputs)
{
    const struct tr_graph *outer = model->graph;
    bool recovers = model->recovers;
    const struct tr_task *task = &outer->tasks[node->target];
    struct tr_bytes packed = sim_pack(model, inputs, node->input_count);
    struct result result = run_task(model, task, node->settings, path, TR_ELEMENT_NONE, packed);
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    if (result.phase == TR_NODE_PHASE_SUCCEEDED &&
        sim_decides(model->stage, model->execution, task->name, packed, &json)) {
        const struct tr_graph *graph = decide(model, node->target, tr_buffer_text(&json));
        if (graph == NULL) {
            result = failed("DynamicWorkflowBuildFailed");
            sim_engine_seen.graphs_wrong++;
        } else {
            model->recovers = recovers && is_same_graph(model, path, graph);
            path = tr_arena_print(&model->arena, "%.*s/", (int)path.size, path.data);
            model->graph = graph;
            result = run_workflow(model, &graph->workflows[graph->main_workflow], path, inputs);
            model->graph = outer;
        }
    }
    tr_buffer_fini(&json);
    return result;
}

/* -------------------------------------------------------------------------- gates and launches */

/* A type as it is without `optional`. */
static const struct tr_type *plain_type(const struct tr_type *type)
{
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind != TR_TYPE_NONE) {
            return type->parts[i];
        }
    }
    return type;
}

/* An approval passes on what it was shown; a signal gives what people say. */
static struct result run_gate(struct sim_flow *flow, const struct tr_node *node,
                              const struct tr_bytes *inputs)
{
    struct sim_model *model = flow->model;
    struct result result = {.phase = TR_NODE_PHASE_SUCCEEDED, .output_count = node->outputs.count};
    if (node->kind == TR_NODE_APPROVE &&
        !sim_approves(model->stage, model->execution, node->signal_id)) {
        return failed("ReceivedRejectSignal");
    }
    result.outputs = tr_arena_array(&model->arena, node->outputs.count, sizeof(struct tr_bytes));
    TR_ASSERT(result.outputs != NULL);
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        struct tr_buffer value;
        if (node->kind == TR_NODE_APPROVE) {
            result.outputs[i] = inputs[i];
            continue;
        }
        tr_buffer_init(&value, 0);
        sim_signal_value(model->stage, model->execution, node->signal_id,
                         plain_type(node->outputs.items[i].type), &value);
        result.outputs[i] = tr_arena_bytes(&model->arena, tr_buffer_bytes(&value));
        tr_buffer_fini(&value);
    }
    return result;
}

/* What a launch plan gives for an input, or what the node gives. */
static struct tr_bytes plan_input(const struct tr_graph *graph, const struct tr_plan *plan,
                                  uint32_t input, const struct tr_bytes *inputs)
{
    const struct tr_workflow *workflow = &graph->workflows[plan->workflow];
    for (uint32_t i = 0; i < plan->value_count; i++) {
        if (plan->values[i].is_fixed && plan->values[i].input == input) {
            return plan->values[i].value;
        }
    }
    uint32_t place = tr_variables_find(&plan->inputs, workflow->interface.inputs.items[input].name);
    TR_ASSERT(place != TR_GRAPH_NONE);
    return inputs[place];
}

/* An execution of its own is worked out as if it were inside, at "NODE!". */
static struct result run_launch(struct sim_model *model, const struct tr_node *node,
                                struct tr_text path, uint64_t element,
                                const struct tr_bytes *inputs)
{
    const struct tr_graph *graph = model->graph;
    const struct tr_plan *plan =
        node->target_kind == TR_TARGET_PLAN ? &graph->plans[node->target] : NULL;
    const struct tr_workflow *workflow =
        &graph->workflows[plan != NULL ? plan->workflow : node->target];
    uint32_t count = workflow->interface.inputs.count;
    struct tr_bytes *all = tr_arena_array(&model->arena, count, sizeof *all);
    TR_ASSERT(all != NULL);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = plan != NULL ? plan_input(graph, plan, i, inputs) : inputs[i];
    }
    model->recovers = model->recovers && element == TR_ELEMENT_NONE &&
                      sim_recall_launched(model->stage, model->execution, path);
    if (element != TR_ELEMENT_NONE) {
        path = tr_arena_print(&model->arena, "%.*s[%llu]", (int)path.size, path.data,
                              (unsigned long long)element);
    }
    path = tr_arena_print(&model->arena, "%.*s!", (int)path.size, path.data);
    struct tr_text inside = tr_arena_print(&model->arena, "%.*s/", (int)path.size, path.data);
    struct result result = run_workflow(model, workflow, inside, all);
    struct sim_expected *expected = expect(model, path, TR_ELEMENT_NONE, &result);
    expected->has_values = true;
    expected->inputs_of = &workflow->interface.inputs;
    expected->outputs_of = &workflow->interface.outputs;
    expected->inputs = sim_pack(model, all, count);
    if (result.phase == TR_NODE_PHASE_SUCCEEDED) {
        expected->outputs = sim_pack(model, result.outputs, result.output_count);
    }
    return result;
}

/* ----------------------------------------------------------------------------------------- maps */

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
    struct result *elements;
};

static struct tr_interface interface_of(const struct tr_graph *graph, const struct tr_node *node)
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
static const struct tr_type *list_type(const struct tr_node *node, uint32_t output)
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
static bool keep_element(struct mapping *mapping, uint32_t index, struct result *result)
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
        *result = (struct result){.phase = TR_NODE_PHASE_SUCCEEDED, .is_kept = true};
    }
    if (is_kept && count > 0) { /* else it is written as nothing */
        result->outputs = sim_unpack(model, tr_arena_bytes(&model->arena, tr_buffer_bytes(&slots)),
                                     &result->output_count);
        TR_ASSERT(result->output_count == count);
    }
    for (uint32_t i = 0; is_kept && is_listed && i < count; i++) {
        bool is_fine = sim_cast(model, list_type(mapping->node, i)->parts[0],
                                mapping->target.outputs.items[i].type, result->outputs[i],
                                &result->outputs[i]);
        TR_ASSERT(is_fine);
    }
    tr_buffer_fini(&slots);
    return is_kept;
}

static struct result run_element(struct mapping *mapping, uint32_t index)
{
    struct sim_model *model = mapping->flow->model;
    const struct tr_node *node = mapping->node;
    struct tr_bytes inputs[16];
    struct result kept;
    TR_ASSERT(node->input_count <= TR_COUNT_OF(inputs));
    if (keep_element(mapping, index, &kept)) {
        return kept;
    }
    model->recovers = mapping->recovers;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t count;
        bool is_mapped = mapping->flow->workflow->bindings[node->input_first + i].is_mapped;
        inputs[i] =
            is_mapped ? sim_unpack(model, mapping->inputs[i], &count)[index] : mapping->inputs[i];
    }
    if (node->target_kind == TR_TARGET_TASK) {
        return run_task(model, &model->graph->tasks[node->target], node->settings, mapping->path,
                        index, sim_pack(model, inputs, node->input_count));
    }
    if (node->target_kind == TR_TARGET_PLAN) {
        return run_launch(model, node, mapping->path, index, inputs);
    }
    struct tr_text path = tr_arena_print(&model->arena, "%.*s[%u]/", (int)mapping->path.size,
                                         mapping->path.data, index);
    return run_workflow(model, &model->graph->workflows[node->target], path, inputs);
}

/* One output of all elements; the last one may be that of their errors. */
static struct tr_bytes gather(struct mapping *mapping, uint32_t output)
{
    static const struct tr_type error_type = {.kind = TR_TYPE_ERROR};
    struct sim_model *model = mapping->flow->model;
    const struct tr_type *to = list_type(mapping->node, output)->parts[0];
    bool is_errors = output == mapping->node->errors_output;
    struct tr_bytes *slots = tr_arena_array(&model->arena, mapping->count, sizeof *slots);
    TR_ASSERT(slots != NULL);
    for (uint32_t i = 0; i < mapping->count; i++) {
        const struct result *element = &mapping->elements[i];
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
    mapping->elements = tr_arena_array(&model->arena, mapping->count, sizeof(struct result));
    TR_ASSERT(mapping->elements != NULL);
    for (uint32_t i = 0; i < mapping->count; i++) {
        mapping->elements[i] = run_element(mapping, i);
        mapping->failures += mapping->elements[i].phase != TR_NODE_PHASE_SUCCEEDED ? 1 : 0;
        (void)expect(model, mapping->path, i, &mapping->elements[i]);
    }
    if (mapping->count - mapping->failures < mapping->needed) {
        cut_from(model, first);
    }
}

static struct result run_map(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
                             const struct tr_bytes *inputs)
{
    struct mapping mapping = {
        .flow = flow,
        .node = node,
        .path = path,
        .target = interface_of(flow->model->graph, node),
        .inputs = inputs,
        .recovers = flow->model->recovers,
    };
    if (!count_elements(&mapping)) {
        return failed("InvalidArrayLength");
    }
    mapping.needed = needed_of(node, mapping.count);
    if (mapping.count > 0 && mapping.needed > mapping.count) {
        return failed("InvalidArrayLength");
    }
    run_elements(&mapping);
    if (mapping.count > 0 && mapping.count - mapping.failures < mapping.needed) {
        return failed(NULL);
    }
    struct result result = {.phase = TR_NODE_PHASE_SUCCEEDED, .output_count = node->outputs.count};
    result.outputs =
        tr_arena_array(&flow->model->arena, node->outputs.count, sizeof(struct tr_bytes));
    TR_ASSERT(result.outputs != NULL);
    for (uint32_t i = 0; i < node->outputs.count; i++) {
        result.outputs[i] = gather(&mapping, i);
    }
    return result;
}

/* ------------------------------------------------------------------------------------- branches */

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

static struct result run_arm(struct sim_flow *flow, const struct tr_node *node,
                             const struct tr_arm *arm)
{
    struct sim_model *model = flow->model;
    struct result result = {.phase = TR_NODE_PHASE_SUCCEEDED, .output_count = node->outputs.count};
    result.outputs = tr_arena_array(&model->arena, node->outputs.count, sizeof(struct tr_bytes));
    TR_ASSERT(result.outputs != NULL);
    flow->nodes[node - flow->workflow->nodes].arm =
        arm->kind == TR_ARM_NODE ? arm->node : TR_GRAPH_NONE;
    const struct sim_node *taken = arm->kind == TR_ARM_NODE ? run_node(flow, arm->node) : NULL;
    if (taken != NULL && taken->phase != TR_NODE_PHASE_SUCCEEDED) {
        return (struct result){.phase = taken->phase, .code = taken->code};
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

static struct result run_branch(struct sim_flow *flow, const struct tr_node *node)
{
    const char *code = NULL;
    const struct tr_arm *arm = choose(flow, node, &code);
    if (arm == NULL) {
        return failed(code);
    }
    return arm->kind == TR_ARM_FAIL ? failed("UserProvidedError") : run_arm(flow, node, arm);
}

/* ---------------------------------------------------------------------------------------- nodes */

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

static struct result run_target(struct sim_flow *flow, const struct tr_node *node,
                                struct tr_text path, const struct tr_bytes *inputs)
{
    struct sim_model *model = flow->model;
    struct result result = {.phase = TR_NODE_PHASE_SUCCEEDED, .output_count = node->input_count};
    switch ((enum tr_node_kind)node->kind) {
    case TR_NODE_TASK:
        return run_task(model, &model->graph->tasks[node->target], node->settings, path,
                        TR_ELEMENT_NONE, sim_pack(model, inputs, node->input_count));
    case TR_NODE_DYNAMIC:
        return run_dynamic(model, node, path, inputs);
    case TR_NODE_MAP:
        return run_map(flow, node, path, inputs);
    case TR_NODE_LAUNCH:
        return run_launch(model, node, path, TR_ELEMENT_NONE, inputs);
    case TR_NODE_APPROVE:
    case TR_NODE_SIGNAL:
        return run_gate(flow, node, inputs);
    case TR_NODE_SLEEP:
        return (struct result){.phase = TR_NODE_PHASE_SUCCEEDED};
    case TR_NODE_WORKFLOW:
        path = tr_arena_print(&model->arena, "%.*s/", (int)path.size, path.data);
        return run_workflow(model, &model->graph->workflows[node->target], path, inputs);
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
        return list_type(node, output);
    case TR_NODE_APPROVE:
        return flow->workflow->bindings[node->input_first + output].type;
    case TR_NODE_SIGNAL:
        return plain_type(node->outputs.items[output].type);
    default:
        return interface_of(flow->model->graph, node).outputs.items[output].type;
    }
}

/* What an optional node gives: what it gave, beside none. */
static void widen(struct sim_flow *flow, const struct tr_node *node, struct result *result)
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

/* ------------------------------------------------------------------------------------- what is kept */

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
static void note_again(struct sim_flow *flow, uint32_t index)
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
static void check_kept(const struct sim_model *model, const struct tr_node *node,
                       struct tr_text path, struct tr_bytes inputs, struct tr_bytes outputs)
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
static bool keep(struct sim_flow *flow, const struct tr_node *node, struct tr_text path,
                 struct result *result)
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

static void note_values(struct sim_model *model, struct sim_expected *expected,
                        const struct tr_node *node, const struct tr_bytes *inputs,
                        const struct result *result)
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
    expected->inputs = sim_pack(model, inputs, node->input_count);
    if (result->phase == TR_NODE_PHASE_SUCCEEDED) {
        expected->outputs = sim_pack(model, result->outputs, result->output_count);
    }
}

static struct result run_kind(struct sim_flow *flow, const struct tr_node *node,
                              struct tr_text path)
{
    struct sim_model *model = flow->model;
    if (node->kind == TR_NODE_BRANCH) {
        struct result result = run_branch(flow, node);
        (void)expect(model, path, TR_ELEMENT_NONE, &result);
        return result;
    }
    struct tr_bytes *inputs =
        tr_arena_array(&model->arena, node->input_count, sizeof(struct tr_bytes));
    TR_ASSERT(inputs != NULL);
    bool is_bound = bind_inputs(flow, node, inputs);
    struct result result = {.phase = TR_NODE_PHASE_FAILED};
    bool is_kept = keep(flow, node, path, &result);
    if (!is_bound) {
        result = failed("BindingResolutionError");
    } else if (is_kept) {
        check_kept(model, node, path, sim_pack(model, inputs, node->input_count),
                   sim_pack(model, result.outputs, result.output_count));
    } else {
        result = run_target(flow, node, path, inputs);
    }
    if (node->kind != TR_NODE_END || !is_bound) {
        struct sim_expected *expected = expect(model, path, TR_ELEMENT_NONE, &result);
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
    struct result result = {.phase = TR_NODE_PHASE_SKIPPED};
    bool may = may_run(flow, node);
    note_again(flow, index);
    if (may) {
        result = run_kind(flow, node, path);
    } else {
        (void)expect(model, path, TR_ELEMENT_NONE, &result);
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

/* ------------------------------------------------------------------------------------ workflows */

/* The nodes of arms that were not taken. */
static void skip_rest(struct sim_flow *flow)
{
    for (uint32_t i = 0; i < flow->workflow->node_count; i++) {
        const struct tr_node *node = &flow->workflow->nodes[i];
        struct result result = {.phase = TR_NODE_PHASE_SKIPPED};
        if (node->parent != TR_GRAPH_NONE && node->role == TR_ROLE_GRAPH &&
            flow->nodes[i].phase == TR_NODE_PHASE_NOT_YET_STARTED) {
            (void)expect(flow->model,
                         tr_arena_print(&flow->model->arena, "%.*s%.*s", (int)flow->path.size,
                                        flow->path.data, (int)node->id.size, node->id.data),
                         TR_ELEMENT_NONE, &result);
        }
    }
}

static struct result run_workflow(struct sim_model *model, const struct tr_workflow *workflow,
                                  struct tr_text path, const struct tr_bytes *inputs)
{
    struct sim_flow flow = {.model = model, .workflow = workflow, .path = path};
    uint32_t first = model->expected.count;
    flow.recovers = model->recovers;
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
        cut_from(model, first);
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
        return failed(NULL);
    }
    TR_ASSERT(end->phase == TR_NODE_PHASE_SUCCEEDED);
    return (struct result){.phase = TR_NODE_PHASE_SUCCEEDED,
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
    uint32_t count;
    const struct tr_bytes *inputs = sim_unpack(model, tr_buffer_bytes(&execution->inputs), &count);
    struct result result = run_workflow(
        model, &model->graph->workflows[model->graph->main_workflow], tr_text_of(""), inputs);
    bool has_succeeded = result.phase == TR_NODE_PHASE_SUCCEEDED;
    model->phase = has_succeeded ? TR_EXECUTION_SUCCEEDED : TR_EXECUTION_FAILED;
    if (has_succeeded) {
        model->outputs = sim_pack(model, result.outputs, result.output_count);
    }
    if (model->is_cut) {
        cut_from(model, 0);
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
