/*
 * Bytes of any origin into a graph: the fields are read as graph_pack.c names them, and then every
 * index is checked against what it counts in, so that walking the graph needs no check.
 *
 * Three kinds of walks have to end, and each has its own proof here. Values that bindings put
 * together: parts stand behind what holds them, each is held once, and the depth has a bound.
 * Conditions: children stand before their part, each is held once. Workflows in workflows:
 * `nesting` falls with each step down. The order of nodes is checked to be one, so an execution
 * cannot wait in a circle.
 *
 * What only people read (names, descriptions) is not checked beyond being UTF-8, and neither is
 * whether the language would allow such a graph.
 */
#include "actors/graph/compiled/transfer.h"
#include "actors/graph/document/labels.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/value/slot.h"
#include "runtime/memory.h"

#define NS_PER_SECOND 1000000000LL

/*
 * What is checked of one workflow, with marks for its bindings, its conditions and its nodes, all 0
 * at first. A mark costs 1 or 4 bytes for each, so that the check is linear in the graph.
 */
struct check {
    const struct tr_graph *graph;
    const struct tr_workflow *workflow;
    uint8_t *depths;     /* of bindings: how deep they are in lists and maps */
    uint8_t *used;       /* of conditions: whether a part holds them already */
    uint32_t *positions; /* of nodes: where they are in the order */
};

/* Whether `count` elements from `first` on are among `total`; written so that no sum can wrap. */
static bool in_range(uint32_t first, uint32_t count, uint32_t total)
{
    return first <= total && count <= total - first;
}

static bool is_index(uint32_t index, uint32_t count)
{
    return index == TR_GRAPH_NONE || index < count;
}

static bool check_variables(const struct tr_variables *variables, bool is_input)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct tr_variable *variable = &variables->items[i];
        if (variable->type == NULL ||
            (is_input && variable->has_default &&
             tr_literal_check(variable->type, variable->default_value) != 0)) {
            return false;
        }
    }
    return true;
}

/* A literal, or where a large one lies: deploy/inputs/offload.h puts it there before a launch. */
static bool check_slot(const struct tr_type *type, struct tr_bytes slot)
{
    struct tr_offloaded where;
    return tr_slot_is_offloaded(slot, &where) || tr_literal_check(type, slot) == 0;
}

static bool check_settings(const struct tr_graph *graph, const struct tr_settings *settings,
                           uint32_t input_count)
{
    for (uint32_t i = 0; i < settings->cache.ignored_count; i++) {
        if (settings->cache.ignored[i] >= input_count) {
            return false;
        }
    }
    bool is_config = settings->config.size == 0 || tr_literal_check(NULL, settings->config) == 0;
    const struct tr_software *software = &settings->software;
    bool is_software = (software->kind != TR_SOFTWARE_CONDA || software->file.size > 0) &&
                       (software->kind != TR_SOFTWARE_CONTAINER || software->image.size > 0);
    return is_config && is_software && is_index(settings->pool, graph->pool_count);
}

static bool check_extra(struct tr_bytes extra)
{
    return extra.size == 0 || tr_literal_check(NULL, extra) == 0;
}

static bool check_task(const struct tr_graph *graph, const struct tr_task *task)
{
    return check_extra(task->extra) && check_variables(&task->interface.inputs, true) &&
           check_variables(&task->interface.outputs, false) &&
           check_settings(graph, &task->settings, task->interface.inputs.count);
}

/* Whether some of the bits from `least` to `most` are set, and none beside them. */
static bool has_bits(uint64_t bits, unsigned least, unsigned most)
{
    return bits != 0 && bits >> least << least == bits && bits >> most <= 1;
}

static bool check_cron(const struct tr_cron *cron)
{
    return has_bits(cron->minutes, 0, 59) && has_bits(cron->hours, 0, 23) &&
           has_bits(cron->days, 1, 31) && has_bits(cron->months, 1, 12) &&
           has_bits(cron->weekdays, 0, 6);
}

/*
 * schedule_time.c divides by `every_ns` in whole seconds, and goes by the cron's bits where it is
 * 0; `offset_ns` is added in whole seconds. The scheduled time is written for the kickoff input as
 * it is, so that has to be a datetime.
 */
static bool check_schedule(const struct tr_schedule *schedule, const struct tr_variables *inputs)
{
    uint32_t kickoff = schedule->kickoff_input;
    if (!schedule->is_set) {
        return is_index(kickoff, inputs->count);
    }
    if (kickoff != TR_GRAPH_NONE) {
        const struct tr_type *type = kickoff < inputs->count ? inputs->items[kickoff].type : NULL;
        if (type == NULL || type->kind != TR_TYPE_DATETIME) {
            return false;
        }
    }
    if (schedule->offset_ns % NS_PER_SECOND != 0 ||
        schedule->offset_ns > TR_SCHEDULE_OFFSET_NS_MAX) {
        return false;
    }
    return schedule->every_ns == 0 ? check_cron(&schedule->cron)
                                   : schedule->every_ns % NS_PER_SECOND == 0;
}

/* What a notification is sent to is read where it is sent; a value it has to be. */
static bool check_notifications(const struct tr_notification *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].phases == 0 || items[i].phases >> TR_NOTIFY_PHASE_COUNT != 0 ||
            tr_literal_check(NULL, items[i].target) != 0) {
            return false;
        }
    }
    return count <= TR_NOTIFICATIONS_MAX;
}

/*
 * The name of a plan with a schedule becomes a part of addresses and causes, which have room for
 * one of the language; others may be Flyte's.
 */
static bool check_plan(const struct tr_graph *graph, const struct tr_plan *plan)
{
    size_t name_max = plan->schedule.is_set ? TR_GRAPH_NAME_BYTES_MAX : TR_FLYTE_NAME_BYTES_MAX;
    if (plan->workflow >= graph->workflow_count || plan->name.size > name_max ||
        !check_variables(&plan->inputs, true) || !tr_labels_are_good(plan->labels) ||
        !check_notifications(plan->notifications, plan->notification_count) ||
        !check_extra(plan->extra)) {
        return false;
    }
    const struct tr_variables *inputs = &graph->workflows[plan->workflow].interface.inputs;
    for (uint32_t i = 0; i < plan->value_count; i++) {
        if (plan->values[i].input >= inputs->count ||
            !check_slot(inputs->items[plan->values[i].input].type, plan->values[i].value)) {
            return false;
        }
    }
    return check_schedule(&plan->schedule, inputs);
}

/*
 * Lists, maps and texts hold parts behind them, each part once, so that a walk ends. Bindings are
 * checked in ascending order: when this one's turn comes, what holds it has set its depth already.
 * One without parts may name any place, as no part is looked at.
 */
static bool check_parts(struct check *check, uint32_t index)
{
    const struct tr_binding *binding = &check->workflow->bindings[index];
    if (binding->first <= index ||
        !in_range(binding->first, binding->count, check->workflow->binding_count) ||
        check->depths[index] >= TR_TREE_DEPTH_MAX) {
        return binding->count == 0;
    }
    for (uint32_t i = 0; i < binding->count; i++) {
        uint8_t *depth = &check->depths[binding->first + i];
        if (*depth != 0) {
            return false;
        }
        *depth = (uint8_t)(check->depths[index] + 1);
    }
    return true;
}

/* A text is a string of pieces and references: nothing in it has parts of its own. */
static bool check_text(struct check *check, uint32_t index)
{
    const struct tr_workflow *workflow = check->workflow;
    const struct tr_binding *binding = &workflow->bindings[index];
    bool is_fine = binding->source != NULL && binding->source->kind == TR_TYPE_STRING &&
                   check_parts(check, index);
    for (uint32_t i = 0; is_fine && i < binding->count; i++) {
        is_fine = !tr_binding_has_parts(&workflow->bindings[binding->first + i]);
    }
    return is_fine;
}

static bool check_binding(struct check *check, uint32_t index)
{
    const struct tr_workflow *workflow = check->workflow;
    const struct tr_binding *binding = &workflow->bindings[index];
    switch ((enum tr_binding_kind)binding->kind) {
    case TR_BINDING_LITERAL:
        return check_slot(binding->type, binding->literal);
    case TR_BINDING_REFERENCE:
        return binding->node < workflow->node_count &&
               binding->output < workflow->nodes[binding->node].outputs.count &&
               in_range(binding->first, binding->count, workflow->step_count);
    case TR_BINDING_ERROR:
        return in_range(binding->first, binding->count, workflow->step_count);
    case TR_BINDING_LIST:
    case TR_BINDING_MAP:
        return check_parts(check, index);
    case TR_BINDING_TEXT:
        return check_text(check, index);
    }
    return false;
}

/* Marks a part's child; a child belongs to one part and stands before it. */
static bool use_condition(struct check *check, uint32_t first, uint32_t index, uint32_t child)
{
    if (child >= index || child < first || check->used[child] != 0) {
        return false;
    }
    check->used[child] = 1;
    return true;
}

/*
 * One part of a condition whose parts begin at `first`. Both sides of a comparison are values, so
 * evaluating takes them without asking.
 */
static bool check_condition(struct check *check, const struct tr_node *branch, uint32_t first,
                            uint32_t index)
{
    const struct tr_condition *part = &check->workflow->conditions[index];
    switch ((enum tr_condition_kind)part->kind) {
    case TR_CONDITION_INPUT:
        return part->input < branch->input_count;
    case TR_CONDITION_LITERAL:
        return part->type != NULL && tr_literal_check(part->type, part->literal) == 0;
    case TR_CONDITION_NOT:
        return use_condition(check, first, index, part->left);
    case TR_CONDITION_AND:
    case TR_CONDITION_OR:
        return use_condition(check, first, index, part->left) &&
               use_condition(check, first, index, part->right);
    case TR_CONDITION_EQUAL:
    case TR_CONDITION_NOT_EQUAL:
    case TR_CONDITION_LESS:
    case TR_CONDITION_LESS_EQUAL:
    case TR_CONDITION_GREATER:
    case TR_CONDITION_GREATER_EQUAL:
        return use_condition(check, first, index, part->left) &&
               use_condition(check, first, index, part->right) &&
               check->workflow->conditions[part->left].kind >= TR_CONDITION_INPUT &&
               check->workflow->conditions[part->right].kind >= TR_CONDITION_INPUT;
    }
    return false;
}

static bool check_arm_outputs(const struct check *check, const struct tr_node *branch,
                              const struct tr_arm *arm)
{
    if (arm->kind != TR_ARM_NODE) {
        return true;
    }
    const struct tr_variables *outputs = &check->workflow->nodes[arm->node].outputs;
    for (uint32_t i = 0; i < arm->output_count; i++) {
        if (arm->outputs[i] >= outputs->count) {
            return false;
        }
    }
    return arm->output_count == branch->outputs.count;
}

/*
 * An arm's node lies behind the branch and names it as its parent, so that branches cannot hold
 * each other. The parts of a condition are all checked, also those that its root does not reach.
 */
static bool check_arm(struct check *check, uint32_t index, const struct tr_arm *arm)
{
    const struct tr_workflow *workflow = check->workflow;
    const struct tr_node *branch = &workflow->nodes[index];
    bool is_node = arm->kind == TR_ARM_NODE;
    if (is_node && (arm->node >= workflow->node_count || arm->node <= index ||
                    workflow->nodes[arm->node].parent != index)) {
        return false;
    }
    if (!is_index(arm->message_input, branch->input_count)) {
        return false;
    }
    if (arm->condition != TR_GRAPH_NONE) {
        uint32_t first = arm->condition_first;
        if (arm->condition >= workflow->condition_count || first > arm->condition ||
            arm->condition - first >= TR_CONDITION_PARTS_MAX) {
            return false;
        }
        for (uint32_t i = first; i <= arm->condition; i++) {
            if (!check_condition(check, branch, first, i)) {
                return false;
            }
        }
    }
    return check_arm_outputs(check, branch, arm);
}

static bool check_branch(struct check *check, uint32_t index)
{
    const struct tr_node *node = &check->workflow->nodes[index];
    if (!in_range(node->arm_first, node->arm_count, check->workflow->arm_count)) {
        return false;
    }
    for (uint32_t i = 0; i < node->arm_count; i++) {
        if (!check_arm(check, index, &check->workflow->arms[node->arm_first + i])) {
            return false;
        }
    }
    return true;
}

/* The inputs of what a node calls, or NULL where its target is none of the graph's. */
static const struct tr_variables *target_inputs(const struct check *check,
                                                const struct tr_node *node)
{
    const struct tr_graph *graph = check->graph;
    switch ((enum tr_target_kind)node->target_kind) {
    case TR_TARGET_TASK:
        return node->target < graph->task_count ? &graph->tasks[node->target].interface.inputs
                                                : NULL;
    case TR_TARGET_WORKFLOW:
        return node->target < graph->workflow_count
                   ? &graph->workflows[node->target].interface.inputs
                   : NULL;
    case TR_TARGET_PLAN:
        return node->target < graph->plan_count ? &graph->plans[node->target].inputs : NULL;
    case TR_TARGET_NONE:
        break;
    }
    return NULL;
}

/* Workflows inside workflows get fewer and fewer, so that they end. */
static bool check_nesting(const struct check *check, const struct tr_node *node)
{
    bool is_inside = node->target_kind == TR_TARGET_WORKFLOW && node->kind != TR_NODE_LAUNCH;
    return !is_inside || check->graph->workflows[node->target].nesting < check->workflow->nesting;
}

/*
 * What kinds of targets go with a kind of node is in the table; TR_TARGET_NONE (bit 0) goes with
 * none of them. Each input of the target has one binding. The order of the conditions matters: the
 * nesting is looked up only once the target is known to be there.
 */
static bool check_call(const struct check *check, const struct tr_node *node)
{
    static const uint8_t targets[] = {
        [TR_NODE_TASK] = 1 << TR_TARGET_TASK,
        [TR_NODE_DYNAMIC] = 1 << TR_TARGET_TASK,
        [TR_NODE_WORKFLOW] = 1 << TR_TARGET_WORKFLOW,
        [TR_NODE_LAUNCH] = 1 << TR_TARGET_WORKFLOW | 1 << TR_TARGET_PLAN,
        [TR_NODE_MAP] = 1 << TR_TARGET_TASK | 1 << TR_TARGET_WORKFLOW | 1 << TR_TARGET_PLAN,
    };
    const struct tr_variables *inputs = target_inputs(check, node);
    bool has_settings = node->target_kind != TR_TARGET_TASK || node->settings != NULL;
    return (targets[node->kind] >> node->target_kind & 1) != 0 && inputs != NULL && has_settings &&
           inputs->count == node->input_count && check_nesting(check, node) &&
           (node->settings == NULL || check_settings(check->graph, node->settings, inputs->count));
}

static bool check_kind(struct check *check, uint32_t index)
{
    const struct tr_node *node = &check->workflow->nodes[index];
    switch ((enum tr_node_kind)node->kind) {
    case TR_NODE_START:
        return index == 0 && node->outputs.count == check->workflow->interface.inputs.count;
    case TR_NODE_END:
        return index == check->workflow->end &&
               node->input_count == check->workflow->interface.outputs.count;
    case TR_NODE_TASK:
    case TR_NODE_WORKFLOW:
    case TR_NODE_LAUNCH:
    case TR_NODE_DYNAMIC:
    case TR_NODE_MAP:
        return check_call(check, node);
    case TR_NODE_BRANCH:
        return check_branch(check, index);
    case TR_NODE_APPROVE:
    case TR_NODE_SLEEP:
        return true;
    case TR_NODE_SIGNAL:
        return node->outputs.count == 1 && node->signal_type != NULL;
    }
    return false;
}

/* Only what calls something has a target. */
static bool check_target(const struct tr_node *node)
{
    bool is_call = node->kind >= TR_NODE_TASK && node->kind <= TR_NODE_MAP;
    return is_call || (node->target_kind == TR_TARGET_NONE && node->target == TR_GRAPH_NONE);
}

/*
 * Edges lead to nodes, and what a node waits for stands before it in the order. A handler has no
 * place in the order (position 0), so it cannot wait for anything.
 */
static bool check_edges(const struct check *check, uint32_t index)
{
    const struct tr_workflow *workflow = check->workflow;
    const struct tr_node *node = &workflow->nodes[index];
    if (!in_range(node->upstream_first, node->upstream_count, workflow->upstream_count) ||
        !in_range(node->downstream_first, node->downstream_count, workflow->downstream_count)) {
        return false;
    }
    for (uint32_t i = 0; i < node->upstream_count; i++) {
        uint32_t from = workflow->upstream[node->upstream_first + i];
        if (from >= workflow->node_count || check->positions[from] >= check->positions[index]) {
            return false;
        }
    }
    for (uint32_t i = 0; i < node->downstream_count; i++) {
        if (workflow->downstream[node->downstream_first + i] >= workflow->node_count) {
            return false;
        }
    }
    return true;
}

static bool check_node(struct check *check, uint32_t index)
{
    const struct tr_workflow *workflow = check->workflow;
    const struct tr_node *node = &workflow->nodes[index];
    bool is_parent = node->parent == TR_GRAPH_NONE ||
                     (node->parent < index && workflow->nodes[node->parent].kind == TR_NODE_BRANCH);
    return is_parent && check_extra(node->extra) && check_target(node) &&
           in_range(node->input_first, node->input_count, workflow->binding_count) &&
           is_index(node->errors_output, node->outputs.count) &&
           check_variables(&node->outputs, false) && check_kind(check, index) &&
           check_edges(check, index);
}

/*
 * Each node stands in the order once; those of the handlers do not. Positions count from 1, so that
 * 0 means not seen. Equal counts then mean that no node is left out.
 */
static bool check_order(struct check *check)
{
    const struct tr_workflow *workflow = check->workflow;
    for (uint32_t i = 0; i < workflow->order_count; i++) {
        uint32_t node = workflow->order[i];
        if (node >= workflow->node_count || workflow->nodes[node].role != TR_ROLE_GRAPH ||
            check->positions[node] != 0) {
            return false;
        }
        check->positions[node] = i + 1;
    }
    uint32_t graph_count = 0;
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        graph_count += workflow->nodes[i].role == TR_ROLE_GRAPH ? 1 : 0;
    }
    return graph_count == workflow->order_count;
}

static bool is_handler(const struct tr_workflow *workflow, uint32_t node, enum tr_node_role role)
{
    return node == TR_GRAPH_NONE ||
           (node < workflow->node_count && workflow->nodes[node].role == role);
}

static bool check_workflow(struct check *check)
{
    const struct tr_workflow *workflow = check->workflow;
    if (workflow->node_count < 2 || workflow->end >= workflow->node_count ||
        workflow->nodes[0].kind != TR_NODE_START ||
        workflow->nodes[workflow->end].kind != TR_NODE_END || workflow->nesting == 0 ||
        workflow->nesting > TR_WORKFLOW_NESTING_MAX ||
        !is_handler(workflow, workflow->on_failure, TR_ROLE_ON_FAILURE) ||
        !is_handler(workflow, workflow->finally, TR_ROLE_FINALLY) ||
        !check_variables(&workflow->interface.inputs, true) ||
        !check_variables(&workflow->interface.outputs, false) ||
        !tr_labels_are_good(workflow->labels) ||
        !check_notifications(workflow->notifications, workflow->notification_count) ||
        !check_extra(workflow->extra) || !check_order(check)) {
        return false;
    }
    for (uint32_t i = 0; i < workflow->binding_count; i++) {
        if (!check_binding(check, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        if (!check_node(check, i)) {
            return false;
        }
    }
    return true;
}

/* Checks a workflow with marks of its own, which end with it. 0, TR_MALFORMED or TR_MEMORY. */
static int validate_workflow(const struct tr_graph *graph, const struct tr_workflow *workflow)
{
    struct tr_arena marks;
    tr_arena_init(&marks);
    struct check check = {
        .graph = graph,
        .workflow = workflow,
        .depths = tr_arena_alloc(&marks, workflow->binding_count),
        .used = tr_arena_alloc(&marks, workflow->condition_count),
        .positions = tr_arena_array(&marks, workflow->node_count, sizeof(uint32_t)),
    };
    bool has_marks = check.depths != NULL && check.used != NULL && check.positions != NULL;
    int error = !has_marks ? marks.error : check_workflow(&check) ? 0 : TR_MALFORMED;
    tr_arena_fini(&marks);
    return error;
}

/*
 * Checks that all numbers of a graph that was read hold. Tasks and plans come before workflows,
 * whose nodes call them. 0, TR_MALFORMED, or an error of memory.
 */
static int validate_graph(struct tr_graph *graph)
{
    if (!is_index(graph->main_workflow, graph->workflow_count)) {
        return TR_MALFORMED;
    }
    for (uint32_t i = 0; i < graph->task_count; i++) {
        if (!check_task(graph, &graph->tasks[i])) {
            return TR_MALFORMED;
        }
    }
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        if (!check_plan(graph, &graph->plans[i])) {
            return TR_MALFORMED;
        }
    }
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < graph->workflow_count; i++) {
        error = validate_workflow(graph, &graph->workflows[i]);
    }
    return error;
}

int tr_graph_unpack(struct tr_bytes bytes, struct tr_graph **graph_out)
{
    struct tr_graph *graph = tr_alloc_zero(1, sizeof *graph);
    if (graph == NULL) {
        return TR_MEMORY;
    }
    tr_arena_init(&graph->arena);
    struct tri_transfer transfer = {.cursor = tr_cursor_of(bytes), .arena = &graph->arena};
    tr_types_init(&transfer.types, &graph->arena);
    tri_transfer_graph(&transfer, graph);
    int error = transfer.cursor.error != 0 ? transfer.cursor.error : graph->arena.error;
    if (error == 0 && tr_cursor_left(&transfer.cursor) > 0) {
        error = TR_MALFORMED;
    }
    if (error == 0) {
        error = validate_graph(graph);
    }
    if (error != 0) {
        tr_graph_free(graph);
        return error == TR_TRUNCATED ? TR_MALFORMED : error;
    }
    /*
     * The name of the bytes that were given, which the caller compares with the one it asked for.
     */
    tr_digest(bytes, graph->hash);
    *graph_out = graph;
    return 0;
}
