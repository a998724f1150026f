/*
 * A graph as a closure. Clients go through it to know what each node is and which interface it has;
 * ids are those of the graph.
 */
#include "deploy/api_nodes/view_closure.h"

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_nodes/view_binding.h"
#include "deploy/api_runs/node_ids.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Core__Node flyte_node;

struct closing {
    struct tr_desk_job *job;
    const struct tr_graph *graph;
    const struct tr_workflow *workflow; /* in hand */
};

static void *make(struct closing *closing, const ProtobufCMessageDescriptor *descriptor)
{
    return tr_flyte_message_new(&closing->job->arena, descriptor);
}

static Flyteidl__Core__Identifier *entity(struct closing *closing,
                                          Flyteidl__Core__ResourceType type, struct tr_text name)
{
    return tr_view_entity(closing->job, closing->graph, type, name);
}

/* ------------------------------------------------------------- interfaces */

static Flyteidl__Core__VariableMap *variables_of(struct closing *closing,
                                                 const struct tr_variables *variables)
{
    Flyteidl__Core__VariableMap *map = make(closing, &flyteidl__core__variable_map__descriptor);
    Flyteidl__Core__VariableMap__VariablesEntry **entries =
        tr_arena_array(&closing->job->arena, variables->count + 1, sizeof(void *));
    for (uint32_t i = 0; map != NULL && entries != NULL && i < variables->count; i++) {
        Flyteidl__Core__VariableMap__VariablesEntry *entry =
            make(closing, &flyteidl__core__variable_map__variables_entry__descriptor);
        Flyteidl__Core__Variable *variable = make(closing, &flyteidl__core__variable__descriptor);
        if (entry == NULL || variable == NULL) {
            return NULL;
        }
        entry->key = tr_view_text(closing->job, variables->items[i].name);
        entry->value = variable;
        variable->description = tr_view_text(closing->job, variables->items[i].description);
        variable->type = tr_flyte_message_of_type(&closing->job->arena, variables->items[i].type);
        entries[map->n_variables++] = entry;
    }
    if (map != NULL) {
        map->variables = entries;
    }
    return map;
}

static Flyteidl__Core__TypedInterface *interface_of(struct closing *closing,
                                                    const struct tr_interface *interface)
{
    Flyteidl__Core__TypedInterface *made =
        make(closing, &flyteidl__core__typed_interface__descriptor);
    if (made != NULL) {
        made->inputs = variables_of(closing, &interface->inputs);
        made->outputs = variables_of(closing, &interface->outputs);
    }
    return made;
}

/* ------------------------------------------------------------- nodes */

static void set_task(struct closing *closing, const struct tr_node *node, flyte_node *made)
{
    Flyteidl__Core__TaskNode *task = make(closing, &flyteidl__core__task_node__descriptor);
    if (task != NULL) {
        task->reference_id = entity(closing, FLYTEIDL__CORE__RESOURCE_TYPE__TASK,
                                    closing->graph->tasks[node->target].name);
        task->reference_case = FLYTEIDL__CORE__TASK_NODE__REFERENCE_REFERENCE_ID;
        made->task_node = task;
        made->target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    }
}

/* A workflow in this execution, or one of its own. */
static void set_workflow(struct closing *closing, const struct tr_node *node, flyte_node *made)
{
    bool is_inside = node->kind != TR_NODE_LAUNCH && node->target_kind == TR_TARGET_WORKFLOW;
    struct tr_text name = tr_node_target_name(closing->graph, node);
    Flyteidl__Core__WorkflowNode *workflow =
        make(closing, &flyteidl__core__workflow_node__descriptor);
    if (workflow == NULL) {
        return;
    }
    if (is_inside) {
        workflow->sub_workflow_ref = entity(closing, FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW, name);
        workflow->reference_case = FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_SUB_WORKFLOW_REF;
    } else {
        workflow->launchplan_ref =
            entity(closing, FLYTEIDL__CORE__RESOURCE_TYPE__LAUNCH_PLAN, name);
        workflow->reference_case = FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_LAUNCHPLAN_REF;
    }
    made->workflow_node = workflow;
    made->target_case = FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE;
}

static void set_array(struct closing *closing, const struct tr_node *node, flyte_node *made)
{
    Flyteidl__Core__ArrayNode *array = make(closing, &flyteidl__core__array_node__descriptor);
    flyte_node *inside = make(closing, &flyteidl__core__node__descriptor);
    if (array == NULL || inside == NULL) {
        return;
    }
    inside->id = made->id;
    if (node->target_kind == TR_TARGET_TASK) {
        set_task(closing, node, inside);
    } else {
        set_workflow(closing, node, inside);
    }
    array->node = inside;
    made->array_node = array;
    made->target_case = FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
}

static void set_gate(struct closing *closing, const struct tr_node *node, flyte_node *made)
{
    Flyteidl__Core__GateNode *gate = make(closing, &flyteidl__core__gate_node__descriptor);
    Flyteidl__Core__ApproveCondition *approve =
        make(closing, &flyteidl__core__approve_condition__descriptor);
    Flyteidl__Core__SignalCondition *signal =
        make(closing, &flyteidl__core__signal_condition__descriptor);
    Flyteidl__Core__SleepCondition *sleep =
        make(closing, &flyteidl__core__sleep_condition__descriptor);
    if (gate == NULL || approve == NULL || signal == NULL || sleep == NULL) {
        return;
    }
    char *id = tr_view_text(closing->job, node->signal_id);
    if (node->kind == TR_NODE_APPROVE) {
        approve->signal_id = id;
        gate->approve = approve;
        gate->condition_case = FLYTEIDL__CORE__GATE_NODE__CONDITION_APPROVE;
    } else if (node->kind == TR_NODE_SIGNAL) {
        signal->signal_id = id;
        signal->type = tr_flyte_message_of_type(&closing->job->arena, node->signal_type);
        gate->signal = signal;
        gate->condition_case = FLYTEIDL__CORE__GATE_NODE__CONDITION_SIGNAL;
    } else {
        sleep->duration = tr_view_duration(closing->job, 1, 1 + (uint64_t)node->sleep_ns / 1000000);
        gate->sleep = sleep;
        gate->condition_case = FLYTEIDL__CORE__GATE_NODE__CONDITION_SLEEP;
    }
    made->gate_node = gate;
    made->target_case = FLYTEIDL__CORE__NODE__TARGET_GATE_NODE;
}

static flyte_node *node_of(struct closing *closing, uint32_t at);

/* An arm that runs a node; others have none. */
static Flyteidl__Core__IfBlock *arm_of(struct closing *closing, const struct tr_node *branch,
                                       const struct tr_arm *arm)
{
    Flyteidl__Core__IfBlock *block = make(closing, &flyteidl__core__if_block__descriptor);
    if (block != NULL) {
        block->condition =
            arm->condition == TR_GRAPH_NONE
                ? make(closing, &flyteidl__core__boolean_expression__descriptor)
                : tr_view_condition(closing->job, closing->workflow, branch, arm->condition);
        block->then_node = arm->kind == TR_ARM_NODE ? node_of(closing, arm->node) : NULL;
    }
    return block;
}

static void set_branch(struct closing *closing, const struct tr_node *node, flyte_node *made)
{
    Flyteidl__Core__BranchNode *branch = make(closing, &flyteidl__core__branch_node__descriptor);
    Flyteidl__Core__IfElseBlock *block = make(closing, &flyteidl__core__if_else_block__descriptor);
    Flyteidl__Core__IfBlock **other =
        tr_arena_array(&closing->job->arena, node->arm_count + 1, sizeof(void *));
    if (branch == NULL || block == NULL || other == NULL) {
        return;
    }
    for (uint32_t i = 0; i < node->arm_count; i++) {
        const struct tr_arm *arm = &closing->workflow->arms[node->arm_first + i];
        if (i == 0) {
            block->case_ = arm_of(closing, node, arm);
        } else if (arm->condition != TR_GRAPH_NONE) {
            other[block->n_other++] = arm_of(closing, node, arm);
        } else if (arm->kind == TR_ARM_NODE) {
            block->else_node = node_of(closing, arm->node);
            block->default_case = FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE;
        }
    }
    block->other = other;
    branch->if_else = block;
    made->branch_node = branch;
    made->target_case = FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE;
}

static void set_target(struct closing *closing, const struct tr_node *node, flyte_node *made)
{
    switch (node->kind) {
    case TR_NODE_TASK:
    case TR_NODE_DYNAMIC:
        set_task(closing, node, made);
        break;
    case TR_NODE_WORKFLOW:
    case TR_NODE_LAUNCH:
        set_workflow(closing, node, made);
        break;
    case TR_NODE_MAP:
        set_array(closing, node, made);
        break;
    case TR_NODE_BRANCH:
        set_branch(closing, node, made);
        break;
    case TR_NODE_APPROVE:
    case TR_NODE_SIGNAL:
    case TR_NODE_SLEEP:
        set_gate(closing, node, made);
        break;
    default:
        break;
    }
}

/* What it waits for, but for the start. */
static void set_upstream(struct closing *closing, const struct tr_node *node, flyte_node *made)
{
    const struct tr_workflow *workflow = closing->workflow;
    char **ids = tr_arena_array(&closing->job->arena, node->upstream_count + 1, sizeof(char *));
    for (uint32_t i = 0; ids != NULL && i < node->upstream_count; i++) {
        uint32_t upstream = workflow->upstream[node->upstream_first + i];
        if (workflow->nodes[upstream].kind != TR_NODE_START) {
            ids[made->n_upstream_node_ids++] =
                tr_view_text(closing->job, workflow->nodes[upstream].id);
        }
    }
    made->upstream_node_ids = ids;
}

static flyte_node *node_of(struct closing *closing, uint32_t at)
{
    const struct tr_node *node = &closing->workflow->nodes[at];
    flyte_node *made = make(closing, &flyteidl__core__node__descriptor);
    Flyteidl__Core__NodeMetadata *metadata =
        make(closing, &flyteidl__core__node_metadata__descriptor);
    if (made == NULL || metadata == NULL) {
        return NULL;
    }
    made->id = tr_view_text(closing->job, node->id);
    metadata->name = tr_view_text(closing->job, node->name);
    made->metadata = metadata;
    made->inputs = tr_view_bindings(closing->job, closing->workflow, node, &made->n_inputs);
    set_upstream(closing, node, made);
    set_target(closing, node, made);
    return made;
}

static flyte_node *sentinel(struct closing *closing, bool is_end)
{
    static char start[] = TR_NODE_ID_START;
    static char end[] = TR_NODE_ID_END;
    flyte_node *made = make(closing, &flyteidl__core__node__descriptor);
    if (made != NULL) {
        made->id = is_end ? end : start;
    }
    if (made != NULL && is_end) {
        const struct tr_workflow *workflow = closing->workflow;
        made->inputs = tr_view_bindings(closing->job, workflow, &workflow->nodes[workflow->end],
                                        &made->n_inputs);
    }
    return made;
}

static Flyteidl__Core__CompiledWorkflow *workflow_of(struct closing *closing,
                                                     const struct tr_workflow *workflow)
{
    Flyteidl__Core__CompiledWorkflow *compiled =
        make(closing, &flyteidl__core__compiled_workflow__descriptor);
    Flyteidl__Core__WorkflowTemplate *template =
        make(closing, &flyteidl__core__workflow_template__descriptor);
    flyte_node **nodes =
        tr_arena_array(&closing->job->arena, workflow->node_count + 2, sizeof(void *));
    closing->workflow = workflow;
    if (compiled == NULL || template == NULL || nodes == NULL) {
        return NULL;
    }
    template->id = entity(closing, FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW, workflow->name);
    template->interface = interface_of(closing, &workflow->interface);
    template->metadata = make(closing, &flyteidl__core__workflow_metadata__descriptor);
    template->metadata_defaults =
        make(closing, &flyteidl__core__workflow_metadata_defaults__descriptor);
    nodes[template->n_nodes++] = sentinel(closing, false);
    nodes[template->n_nodes++] = sentinel(closing, true);
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        bool is_own =
            node->kind != TR_NODE_START && node->kind != TR_NODE_END && node->role == TR_ROLE_GRAPH;
        if (is_own) {
            nodes[template->n_nodes++] = node_of(closing, i);
        }
    }
    template->nodes = nodes;
    template->outputs = tr_view_bindings(closing->job, workflow, &workflow->nodes[workflow->end],
                                         &template->n_outputs);
    compiled->template_ = template;
    compiled->connections = make(closing, &flyteidl__core__connection_set__descriptor);
    return closing->job->arena.error == 0 ? compiled : NULL;
}

static Flyteidl__Core__CompiledTask *task_of(struct closing *closing, const struct tr_task *task)
{
    Flyteidl__Core__CompiledTask *compiled =
        make(closing, &flyteidl__core__compiled_task__descriptor);
    Flyteidl__Core__TaskTemplate *template =
        make(closing, &flyteidl__core__task_template__descriptor);
    Flyteidl__Core__TaskMetadata *metadata =
        make(closing, &flyteidl__core__task_metadata__descriptor);
    if (compiled == NULL || template == NULL || metadata == NULL) {
        return NULL;
    }
    template->id = entity(closing, FLYTEIDL__CORE__RESOURCE_TYPE__TASK, task->name);
    template->type = tr_view_text(closing->job, task->type);
    template->interface = interface_of(closing, &task->interface);
    template->metadata = metadata;
    metadata->discoverable = task->settings.cache.version.size > 0;
    metadata->discovery_version = tr_view_text(closing->job, task->settings.cache.version);
    compiled->template_ = template;
    return compiled;
}

Flyteidl__Core__CompiledWorkflowClosure *tr_view_closure(struct tr_desk_job *job,
                                                         const struct tr_graph *graph)
{
    struct closing closing = {.job = job, .graph = graph};
    Flyteidl__Core__CompiledWorkflowClosure *closure =
        make(&closing, &flyteidl__core__compiled_workflow_closure__descriptor);
    Flyteidl__Core__CompiledWorkflow **workflows =
        tr_arena_array(&job->arena, graph->workflow_count + 1, sizeof(void *));
    Flyteidl__Core__CompiledTask **tasks =
        tr_arena_array(&job->arena, graph->task_count + 1, sizeof(void *));
    if (closure == NULL || workflows == NULL || tasks == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; job->arena.error == 0 && i < graph->workflow_count; i++) {
        if (i == graph->main_workflow) {
            closure->primary = workflow_of(&closing, &graph->workflows[i]);
        } else {
            workflows[closure->n_sub_workflows++] = workflow_of(&closing, &graph->workflows[i]);
        }
    }
    for (uint32_t i = 0; job->arena.error == 0 && i < graph->task_count; i++) {
        tasks[closure->n_tasks++] = task_of(&closing, &graph->tasks[i]);
    }
    closure->sub_workflows = workflows;
    closure->tasks = tasks;
    return job->arena.error == 0 ? closure : NULL;
}
