/*
 * Nodes of all kinds. Whether it is a good graph the compiler says, as of every definition; here
 * only what is no node at all is refused.
 *
 * Each task of Flyte's may decide a graph itself, so nodes of tasks are those of dynamic tasks.
 */
#include <string.h>

#include "actors/graph/import/import_inside.h"

static bool fill_arms(struct tri_import *import, const flyte_node *message, uint32_t depth,
                      struct tri_node *node);

/* ------------------------------------------------------------------ tasks and workflows */

/* Sets what a node runs. */
static bool take_target(struct tri_import *import, enum tr_entity_kind kind,
                        const flyte_identifier *id, struct tri_node *node)
{
    if (id == NULL || id->name[0] == '\0') {
        return tri_import_tell(import, "ValueRequired",
                               "a node does not say what it runs\n"
                               "let it name a task, a workflow or a launch plan");
    }
    node->target = (struct tri_name){.text = tri_import_name_of(import, kind, id)};
    return tri_import_check_reference(import, kind, id);
}

/*
 * Whether a task may decide a graph: any may in Flyte. One of flytekit's that lies in a package
 * does it only where it was given what it needs to serialize one.
 */
static bool may_decide(const struct tri_import *import, const flyte_identifier *id)
{
    const flyte_task *task = import->package == NULL ? NULL : tri_import_find_task(import, id);
    bool is_flytekits = task != NULL && strcmp(task->type, "python-task") == 0;
    return !is_flytekits || tri_import_serializes(task);
}

static struct tri_import_settings settings_of(struct tri_node *node)
{
    return (struct tri_import_settings){.settings = &node->settings,
                                        .first = &node->first_override};
}

/* The image chooses the environment of a task that runs in a container. */
static bool take_image(struct tri_import *import, const Flyteidl__Core__TaskNode *task,
                       const struct tri_import_settings *given)
{
    const char *image = task->overrides->container_image;
    const flyte_task *run =
        image[0] == '\0' || import->package == NULL || task->reference_id == NULL
            ? NULL
            : tri_import_find_task(import, task->reference_id);
    bool has_container =
        run != NULL && run->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER;
    return !has_container ||
           tri_import_image(import, image, tri_import_image_path(import->package, image), given);
}

static bool fill_task(struct tri_import *import, const Flyteidl__Core__TaskNode *task,
                      enum tri_body body, struct tri_node *node)
{
    const struct tri_import_settings given = settings_of(node);
    node->body = body;
    bool is_fine = take_target(import, TR_ENTITY_TASK, task->reference_id, node);
    return (task->overrides == NULL ||
            (tri_import_resources(import, task->overrides->resources, &given) &&
             take_image(import, task, &given))) &&
           is_fine;
}

static bool fill_workflow(struct tri_import *import, const Flyteidl__Core__WorkflowNode *workflow,
                          bool is_map, struct tri_node *node)
{
    bool is_plan =
        workflow->reference_case == FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_LAUNCHPLAN_REF;
    node->body = is_map ? TRI_BODY_MAP : is_plan ? TRI_BODY_LAUNCH : TRI_BODY_WORKFLOW;
    return take_target(import, is_plan ? TR_ENTITY_PLAN : TR_ENTITY_WORKFLOW,
                       is_plan ? workflow->launchplan_ref : workflow->sub_workflow_ref, node);
}

/* ------------------------------------------------------------------ maps */

static bool is_bound(const Flyteidl__Core__ArrayNode *array, const char *name)
{
    for (size_t i = 0; i < array->n_bound_inputs; i++) {
        if (strcmp(array->bound_inputs[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* What a map takes apart: everything that is not handed on whole. */
static bool take_over(struct tri_import *import, const flyte_node *message, struct tri_node *node)
{
    const Flyteidl__Core__ArrayNode *array = message->array_node;
    bool has_task =
        array->node != NULL && array->node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    const flyte_task *element =
        has_task ? tri_import_find_task(import, array->node->task_node->reference_id) : NULL;
    struct tri_name *names = tr_arena_array(import->arena, message->n_inputs, sizeof *names);
    for (size_t i = 0; names != NULL && i < message->n_inputs; i++) {
        const char *name = message->inputs[i]->var;
        bool is_whole = element != NULL && tri_import_is_whole(import, element, name);
        if (!is_whole && !is_bound(array, name)) {
            names[node->over_count++].text = tr_text_of(name);
        }
    }
    node->over = names;
    node->has_over = true;
    return names != NULL;
}

static bool take_criterion(struct tri_import *import, const Flyteidl__Core__ArrayNode *array,
                           struct tri_node *node)
{
    double ratio = (double)array->min_success_ratio;
    if (array->success_criteria_case ==
        FLYTEIDL__CORE__ARRAY_NODE__SUCCESS_CRITERIA_MIN_SUCCESSES) {
        node->allows_failures = true;
        node->min_successes = array->min_successes;
        node->min_success_ratio = array->min_successes == 0 ? 0 : 1;
    }
    if (array->success_criteria_case !=
        FLYTEIDL__CORE__ARRAY_NODE__SUCCESS_CRITERIA_MIN_SUCCESS_RATIO) {
        return true;
    }
    if (!(ratio >= 0) || ratio > 1) {
        return tri_import_tell(import, "InvalidValue",
                               "its min_success_ratio is no ratio\ngive a number from 0 to 1");
    }
    node->min_success_ratio = ratio;
    node->allows_failures = ratio < 1;
    return true;
}

/*
 * An ArrayNode holds the node that runs for each element. Its inputs are bound at the outer node,
 * so of the inner one only its target and its metadata count.
 */
static bool fill_map(struct tri_import *import, const flyte_node *message, struct tri_node *node)
{
    const Flyteidl__Core__ArrayNode *array = message->array_node;
    const flyte_node *element = array->node;
    bool is_fine = true;
    if (element != NULL && element->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE) {
        is_fine = fill_task(import, element->task_node, TRI_BODY_MAP, node);
    } else if (element != NULL &&
               element->target_case == FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE) {
        is_fine = fill_workflow(import, element->workflow_node, true, node);
    } else {
        is_fine = tri_import_tell(import, "ValueRequired",
                                  "a map runs neither a task nor a workflow\n"
                                  "let the map run a task, a workflow or a launch plan");
    }
    node->parallelism = array->parallelism;
    node->runs_all = array->run_all_sub_nodes != 0;
    if (array->parallelism > TR_PARALLELISM_MAX) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "%u is no value for 'parallelism'\nwrite a whole number from 0 to %u",
                       array->parallelism, TR_PARALLELISM_MAX);
        is_fine = false;
    }
    is_fine = take_over(import, message, node) && is_fine;
    return take_criterion(import, array, node) && is_fine;
}

/* ------------------------------------------------------------------ gates */

static bool take_signal(struct tri_import *import, const char *id, struct tri_node *node)
{
    node->target = (struct tri_name){.text = tr_text_of(id)};
    return tri_keys_check_any_name(import->definition, node->target.text);
}

static bool fill_sleep(struct tri_import *import, const Google__Protobuf__Duration *duration,
                       struct tri_node *node)
{
    node->body = TRI_BODY_SLEEP;
    bool is_fine = tri_import_duration(import, "sleep", duration, &node->sleep_ns);
    return is_fine && (node->sleep_ns > 0 ||
                       tri_import_tell(import, "ValueRequired",
                                       "a sleep does not say how long\ngive it a duration"));
}

static bool fill_gate(struct tri_import *import, const Flyteidl__Core__GateNode *gate,
                      struct tri_node *node)
{
    bool is_fine;
    switch (gate->condition_case) {
    case FLYTEIDL__CORE__GATE_NODE__CONDITION_APPROVE:
        node->body = TRI_BODY_APPROVE;
        return take_signal(import, gate->approve->signal_id, node);
    case FLYTEIDL__CORE__GATE_NODE__CONDITION_SIGNAL:
        node->body = TRI_BODY_SIGNAL;
        is_fine = take_signal(import, gate->signal->signal_id, node);
        node->signal_type = tri_import_type(import, gate->signal->type);
        return node->signal_type != NULL && is_fine;
    case FLYTEIDL__CORE__GATE_NODE__CONDITION_SLEEP:
        return fill_sleep(import, gate->sleep->duration, node);
    default:
        return tri_import_tell(import, "NoConditionFound",
                               "a gate does not say what it waits for\n"
                               "let it approve, wait for a signal, or sleep");
    }
}

/* ------------------------------------------------------------------ branches */

/* Arms have no ids of their own in a definition; messages name them as Flyte does. */
static bool fill_arm_node(struct tri_import *import, const flyte_node *message, uint32_t depth,
                          struct tri_arm *arm)
{
    const struct tri_name no_id = {.text = tr_text_of("")};
    struct tr_text before = tri_import_begin(import, "", message->id);
    bool is_fine = tri_import_node(import, message, no_id, depth + 1, &arm->node);
    (void)tri_report_subject(import->report, before);
    return is_fine;
}

static bool fill_arm(struct tri_import *import, const flyte_node *branch, uint32_t depth,
                     const Flyteidl__Core__IfBlock *block, struct tri_arm *arm)
{
    if (block == NULL || block->then_node == NULL) {
        return tri_import_tell(import, "BranchNodeIdNotFound",
                               "an arm of a branch has no node\ngive each arm a node");
    }
    bool is_fine = fill_arm_node(import, block->then_node, depth, arm);
    return tri_import_condition(import, branch, block->condition, &arm->condition) && is_fine;
}

/* What happens where no condition holds. */
static bool fill_last_arm(struct tri_import *import, uint32_t depth,
                          const Flyteidl__Core__IfElseBlock *block, struct tri_arm *arm)
{
    arm->is_else = true;
    if (block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE) {
        return fill_arm_node(import, block->else_node, depth, arm);
    }
    arm->kind = TR_ARM_FAIL;
    arm->message = tri_flyte_text(import->arena, tr_text_of(block->error->message));
    return arm->message != NULL;
}

static bool fill_arms(struct tri_import *import, const flyte_node *message, uint32_t depth,
                      struct tri_node *node)
{
    const Flyteidl__Core__IfElseBlock *block = message->branch_node->if_else;
    node->body = TRI_BODY_SWITCH;
    if (block == NULL) {
        return tri_import_tell(import, "BranchNodeIdNotFound",
                               "a branch has no arms\ngive the branch an arm");
    }
    if (depth >= TR_SWITCH_NESTING_MAX) {
        tri_report_add(import->report, TRI_IMPORT_NOWHERE, "InvalidValue",
                       "branches nest deeper than %u\nuse a workflow for the inner ones",
                       TR_SWITCH_NESTING_MAX);
        return false;
    }
    bool has_last = block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE ||
                    block->default_case == FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ERROR;
    size_t count = 1 + block->n_other;
    struct tri_arm *arms = tr_arena_array(import->arena, count + 1, sizeof *arms);
    bool is_fine = arms != NULL;
    for (size_t i = 0; arms != NULL && i < count; i++) {
        is_fine = fill_arm(import, message, depth, i == 0 ? block->case_ : block->other[i - 1],
                           &arms[i]) &&
                  is_fine;
    }
    if (arms != NULL && has_last) {
        is_fine = fill_last_arm(import, depth, block, &arms[count]) && is_fine;
    }
    node->arms = arms;
    node->arm_count = arms == NULL ? 0 : (uint32_t)count + (has_last ? 1 : 0);
    return is_fine &&
           (has_last || tri_import_tell(import, "BranchNodeHasNoDefault",
                                        "the branch does not say what happens when no condition "
                                        "holds\nend it with an else_() or with fail(\"...\")"));
}

/* ------------------------------------------------------------------ what all nodes have */

static bool is_tasks(const flyte_node *message)
{
    return message->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE ||
           message->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
}

/* The task that a node runs; NULL: it runs none, or one that is not brought along. */
static const flyte_task *task_of(const struct tri_import *import, const flyte_node *message)
{
    return message->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE
               ? tri_import_find_task(import, message->task_node->reference_id)
               : NULL;
}

/*
 * A node's say over its task's cache: each part that it gives counts, the others are the task's.
 * Nothing is given where that comes to what the task says itself.
 */
static bool take_cache(struct tri_import *import, const Flyteidl__Core__NodeMetadata *node,
                       const flyte_task *given, const struct tri_import_settings *settings)
{
    Flyteidl__Core__TaskMetadata none;
    const Flyteidl__Core__TaskMetadata *task =
        given == NULL || given->metadata == NULL ? &none : given->metadata;
    flyteidl__core__task_metadata__init(&none);
    bool has_cacheable =
        node->cacheable_value_case == FLYTEIDL__CORE__NODE_METADATA__CACHEABLE_VALUE_CACHEABLE;
    bool has_version = node->cache_version_value_case ==
                           FLYTEIDL__CORE__NODE_METADATA__CACHE_VERSION_VALUE_CACHE_VERSION &&
                       node->cache_version[0] != '\0';
    bool has_serializable =
        node->cache_serializable_value_case ==
        FLYTEIDL__CORE__NODE_METADATA__CACHE_SERIALIZABLE_VALUE_CACHE_SERIALIZABLE;
    bool is_cached = has_cacheable ? node->cacheable : task->discoverable;
    bool is_serialized = has_serializable ? node->cache_serializable : task->cache_serializable;
    const char *version = has_version ? node->cache_version : task->discovery_version;
    bool is_same = is_cached == task->discoverable &&
                   (!is_cached || (is_serialized == task->cache_serializable &&
                                   strcmp(version, task->discovery_version) == 0));
    if (is_same || (is_cached && version[0] == '\0')) {
        return true;
    }
    return is_cached ? tri_import_cache(import, given, version, is_serialized, settings)
                     : tri_import_no_cache(settings);
}

/* By the node, else by its task, else, of a task, by the workflow. */
static void take_interruptible(struct tri_import *import, const flyte_node *one,
                               const struct tri_import_settings *settings)
{
    const Flyteidl__Core__NodeMetadata *node = one->metadata;
    const flyte_task *run = task_of(import, one);
    const Flyteidl__Core__TaskMetadata *task = run == NULL ? NULL : run->metadata;
    bool is_task = one->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    bool has_own =
        node != NULL && node->interruptible_value_case ==
                            FLYTEIDL__CORE__NODE_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE;
    bool has_tasks =
        task != NULL && task->interruptible_value_case ==
                            FLYTEIDL__CORE__TASK_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE;
    if (has_own) {
        tri_import_interruptible(node->interruptible != 0, settings);
    } else if (is_task && !has_tasks && import->is_interruptible) {
        tri_import_interruptible(true, settings);
    }
}

/*
 * Name and deadline are the node's own; of a map all else is that of its elements' node. A timeout
 * of a task bounds each attempt; a map and a node that runs no task have no attempts of their own,
 * and there it is a deadline.
 */
static bool take_metadata(struct tri_import *import, const flyte_node *message,
                          struct tri_node *node)
{
    const Flyteidl__Core__NodeMetadata *metadata = message->metadata;
    const struct tri_import_settings settings = settings_of(node);
    bool is_map = message->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
    bool is_fine = true;
    if (metadata != NULL) {
        node->name = tri_import_keep(import, tr_text_of(metadata->name));
    }
    if (metadata != NULL && (is_map || !is_tasks(message))) {
        is_fine = tri_import_duration(import, "timeout", metadata->timeout, &node->deadline_ns);
    }
    const flyte_node *one =
        is_map && message->array_node->node != NULL ? message->array_node->node : message;
    metadata = one->metadata;
    if (!is_tasks(message)) {
        return is_fine;
    }
    take_interruptible(import, one, &settings);
    if (metadata == NULL) {
        return is_fine;
    }
    is_fine = tri_import_timeout(import, metadata->timeout, &settings) && is_fine;
    is_fine = tri_import_retries(import, metadata->retries, &settings) && is_fine;
    return take_cache(import, metadata, task_of(import, one), &settings) && is_fine;
}

/*
 * Nodes that it waits for. Flyte lists those of its inputs as well, which does no harm: an order
 * that is given twice is the same order. The start node is left out.
 */
static bool take_after(struct tri_import *import, const flyte_node *message, struct tri_node *node)
{
    struct tri_name *names =
        tr_arena_array(import->arena, message->n_upstream_node_ids, sizeof *names);
    for (size_t i = 0; names != NULL && i < message->n_upstream_node_ids; i++) {
        const char *id = message->upstream_node_ids[i];
        if (id[0] != '\0' && strcmp(id, TRI_FLYTE_START_NODE) != 0) {
            names[node->after_count++].text = tr_text_of(id);
        }
    }
    node->after = names;
    return names != NULL;
}

static bool fill_body(struct tri_import *import, const flyte_node *message, uint32_t depth,
                      struct tri_node *node)
{
    switch (message->target_case) {
    case FLYTEIDL__CORE__NODE__TARGET_TASK_NODE:
        return fill_task(import, message->task_node,
                         may_decide(import, message->task_node->reference_id) ? TRI_BODY_DYNAMIC
                                                                              : TRI_BODY_TASK,
                         node);
    case FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE:
        return fill_workflow(import, message->workflow_node, false, node);
    case FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE:
        return fill_arms(import, message, depth, node);
    case FLYTEIDL__CORE__NODE__TARGET_GATE_NODE:
        return fill_gate(import, message->gate_node, node);
    case FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE:
        return fill_map(import, message, node);
    default:
        return tri_import_tell(import, "ValueRequired",
                               "the node is of a kind that is not known\n"
                               "let it be a task, a workflow, a branch, a gate or a map");
    }
}

/* Arms and handlers wait for their branch and for all nodes, and for nothing that they name. */
bool tri_import_node(struct tri_import *import, const flyte_node *message, struct tri_name id,
                     uint32_t depth, struct tri_node *node)
{
    bool has_inputs =
        message->n_inputs > 0 && message->target_case != FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE;
    tri_definition_begin_node(node, id, TRI_IMPORT_NOWHERE);
    tri_definition_begin_settings(&node->settings);
    bool is_fine = fill_body(import, message, depth, node);
    if (has_inputs) {
        is_fine = tri_import_bindings(import, message, &node->with) && is_fine;
    }
    is_fine = take_metadata(import, message, node) && is_fine;
    node->extra = tri_import_extra(import, message);
    if (depth == 0 && !import->is_handler) {
        is_fine = take_after(import, message, node) && is_fine;
    }
    return is_fine;
}
