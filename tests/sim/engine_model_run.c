/*
 * The model of what a node runs that is not a map: tasks, also those that decide graphs, gates, and
 * executions of their own.
 */
#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "tests/sim/decisions.h"
#include "tests/sim/engine_model_inside.h"
#include "tests/sim/recall.h"
#include "tests/support/flow_value.h"

/* ---------------------------------------------------------------------------------------- tasks */

/* Whether a pattern names a code: a star stands for anything. */
static bool names(struct tr_text pattern, struct tr_text code)
{
    if (pattern.size == 0) {
        return code.size == 0;
    }
    struct tr_text rest = {.data = pattern.data + 1, .size = pattern.size - 1};
    struct tr_text next = {.data = code.data + 1, .size = code.size - 1};
    if (pattern.data[0] == '*') {
        return names(rest, code) || (code.size > 0 && names(pattern, next));
    }
    return code.size > 0 && pattern.data[0] == code.data[0] && names(rest, next);
}

static bool is_named(const struct tr_text *patterns, uint32_t count, const char *code)
{
    bool is_named = false;
    for (uint32_t i = 0; i < count; i++) {
        is_named = is_named || names(patterns[i], tr_text_of(code));
    }
    return is_named;
}

/* Whether a failure of the task itself is one that its lists let be tried again. */
static bool may_try_again(const struct tr_settings *settings, const char *code)
{
    bool is_wanted = settings->retry_on_count == 0 ||
                     is_named(settings->retry_on, settings->retry_on_count, code);
    bool may =
        is_wanted && !is_named(settings->never_retry_on, settings->never_retry_on_count, code);
    sim_engine_seen.retries_left_out += may ? 0 : 1;
    return may;
}

/* All attempts of a task: those that the system breaks have a budget of their own. */
struct sim_given sim_run_task(struct sim_model *model, const struct tr_task *task,
                              const struct tr_settings *settings, struct tr_text path,
                              uint64_t element, struct tr_bytes inputs)
{
    struct sim_given result = {.phase = TR_NODE_PHASE_SUCCEEDED};
    uint32_t retries = settings->retries;
    uint32_t system_retries = SIM_SYSTEM_RETRIES;
    for (uint32_t attempt = 0;; attempt++) {
        struct tr_buffer outputs;
        switch ((enum sim_job_status)sim_outcome(model->stage, model->execution, task, inputs, path,
                                                 element, attempt)) {
        case SIM_JOB_FAILED:
            if (!may_try_again(settings, "JobFailed")) {
                return sim_failed("JobFailed");
            }
            if (retries-- == 0) {
                return sim_failed("RetriesExhausted|JobFailed");
            }
            break;
        case SIM_JOB_BROKEN:
            if (system_retries-- == 0) {
                return sim_failed("RetriesExhausted|JobBroken");
            }
            break;
        case SIM_JOB_FAILED_FOR_GOOD:
            return sim_failed("JobFailedForGood");
        case SIM_JOB_CANCELLED:
            return sim_failed("Cancelled");
        case SIM_JOB_REFUSED:
            return sim_failed("BackendRefused");
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
struct sim_given sim_run_dynamic(struct sim_model *model, const struct tr_node *node,
                                 struct tr_text path, const struct tr_bytes *inputs)
{
    const struct tr_graph *outer = model->graph;
    bool recovers = model->recovers;
    const struct tr_task *task = &outer->tasks[node->target];
    struct tr_bytes packed = sim_pack(model, inputs, node->input_count);
    struct sim_given result =
        sim_run_task(model, task, node->settings, path, TR_ELEMENT_NONE, packed);
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    if (result.phase == TR_NODE_PHASE_SUCCEEDED &&
        sim_decides(model->stage, model->execution, task->name, packed, &json)) {
        const struct tr_graph *graph = decide(model, node->target, tr_buffer_text(&json));
        if (graph == NULL) {
            result = sim_failed("DynamicWorkflowBuildFailed");
            sim_engine_seen.graphs_wrong++;
        } else {
            model->recovers = recovers && is_same_graph(model, path, graph);
            path = tr_arena_print(&model->arena, "%.*s/", (int)path.size, path.data);
            model->graph = graph;
            result = sim_run_workflow(model, &graph->workflows[graph->main_workflow], path, inputs);
            model->graph = outer;
        }
    }
    tr_buffer_fini(&json);
    return result;
}

/* -------------------------------------------------------------------------- gates and launches */

/* A type as it is without `optional`. */
const struct tr_type *sim_plain_type(const struct tr_type *type)
{
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind != TR_TYPE_NONE) {
            return type->parts[i];
        }
    }
    return type;
}

/* An approval passes on what it was shown; a signal gives what people say. */
struct sim_given sim_run_gate(struct sim_flow *flow, const struct tr_node *node,
                              const struct tr_bytes *inputs)
{
    struct sim_model *model = flow->model;
    struct sim_given result = {.phase = TR_NODE_PHASE_SUCCEEDED,
                               .output_count = node->outputs.count};
    if (node->kind == TR_NODE_APPROVE &&
        !sim_approves(model->stage, model->execution, node->signal_id)) {
        return sim_failed("ReceivedRejectSignal");
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
                         sim_plain_type(node->outputs.items[i].type), &value);
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
struct sim_given sim_run_launch(struct sim_model *model, const struct tr_node *node,
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
    model->recovers =
        model->recovers && sim_recall_launched(model->stage, model->execution, path, element);
    model->is_new = false;
    if (element != TR_ELEMENT_NONE) {
        path = tr_arena_print(&model->arena, "%.*s[%llu]", (int)path.size, path.data,
                              (unsigned long long)element);
    }
    path = tr_arena_print(&model->arena, "%.*s!", (int)path.size, path.data);
    struct tr_text inside = tr_arena_print(&model->arena, "%.*s/", (int)path.size, path.data);
    struct sim_given result = sim_run_workflow(model, workflow, inside, all);
    struct sim_expected *expected = sim_expect(model, path, TR_ELEMENT_NONE, &result);
    expected->has_values = true;
    expected->inputs_of = &workflow->interface.inputs;
    expected->outputs_of = &workflow->interface.outputs;
    expected->inputs = sim_pack(model, all, count);
    if (result.phase == TR_NODE_PHASE_SUCCEEDED) {
        expected->outputs = sim_pack(model, result.outputs, result.output_count);
    }
    return result;
}
