/*
 * Nodes of a resource. Kubernetes' own types, such as durations and amounts, are taken apart here;
 * what Flyte keeps as a message of its own, such as bindings and conditions, is protobuf's JSON.
 */
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/document/moment.h"
#include "actors/graph/flyteworkflow/flyteworkflow_inside.h"

#define NANOS_PER_S 1000000000

/* ------------------------------------------------------------------ parts of nodes */

static Flyteidl__Core__NodeMetadata *metadata_of(struct tri_flyteworkflow *resource,
                                                 flyte_node *node)
{
    if (node->metadata == NULL) {
        node->metadata = tri_flyte_new(resource->arena, &flyteidl__core__node_metadata__descriptor);
    }
    return node->metadata;
}

static bool read_id(struct tri_flyteworkflow *resource, flyte_node *node,
                    const struct tr_tree *tree)
{
    return tri_flyteworkflow_text(resource, tree, &node->id);
}

static bool read_name(struct tri_flyteworkflow *resource, flyte_node *node,
                      const struct tr_tree *tree)
{
    Flyteidl__Core__NodeMetadata *metadata = metadata_of(resource, node);
    return metadata != NULL && tri_flyteworkflow_text(resource, tree, &metadata->name);
}

/* Attempts count the first one, too; that at least one is made needs no word. */
static bool read_retry(struct tri_flyteworkflow *resource, flyte_node *node,
                       const struct tr_tree *tree)
{
    double attempts = 1;
    const struct tr_tree *least =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "minAttempts") : NULL;
    Flyteidl__Core__NodeMetadata *metadata = metadata_of(resource, node);
    if (metadata == NULL || (tri_flyteworkflow_has_value(least) &&
                             !tri_flyteworkflow_number(resource, least, 1e9, &attempts))) {
        return false;
    }
    metadata->retries = tri_flyte_new(resource->arena, &flyteidl__core__retry_strategy__descriptor);
    if (metadata->retries != NULL) {
        metadata->retries->retries = attempts < 1 ? 0 : (uint32_t)attempts - 1;
    }
    return metadata->retries != NULL;
}

static bool read_deadline(struct tri_flyteworkflow *resource, flyte_node *node,
                          const struct tr_tree *tree)
{
    int64_t nanoseconds = 0;
    Flyteidl__Core__NodeMetadata *metadata = metadata_of(resource, node);
    if (!tr_tree_is_text(tree) || !tr_duration_parse(tree->text, &nanoseconds)) {
        return tri_flyteworkflow_refuse(resource, tree, "SyntaxError",
                                        "this is no duration\nwrite one such as 1m30s");
    }
    if (metadata != NULL) {
        metadata->timeout = tri_flyte_new(resource->arena, &google__protobuf__duration__descriptor);
    }
    if (metadata == NULL || metadata->timeout == NULL) {
        return false;
    }
    metadata->timeout->seconds = nanoseconds / NANOS_PER_S;
    metadata->timeout->nanos = (int32_t)(nanoseconds % NANOS_PER_S);
    return true;
}

static bool read_interruptible(struct tri_flyteworkflow *resource, flyte_node *node,
                               const struct tr_tree *tree)
{
    Flyteidl__Core__NodeMetadata *metadata = metadata_of(resource, node);
    if (metadata == NULL) {
        return false;
    }
    metadata->interruptible_value_case =
        FLYTEIDL__CORE__NODE_METADATA__INTERRUPTIBLE_VALUE_INTERRUPTIBLE;
    return tri_flyteworkflow_bool(resource, tree, &metadata->interruptible);
}

static bool read_bindings(struct tri_flyteworkflow *resource, flyte_node *node,
                          const struct tr_tree *tree)
{
    node->inputs = (Flyteidl__Core__Binding **)tri_flyteworkflow_messages(
        resource, &flyteidl__core__binding__descriptor, tree, &node->n_inputs);
    return node->inputs != NULL;
}

static bool read_aliases(struct tri_flyteworkflow *resource, flyte_node *node,
                         const struct tr_tree *tree)
{
    node->output_aliases = (Flyteidl__Core__Alias **)tri_flyteworkflow_messages(
        resource, &flyteidl__core__alias__descriptor, tree, &node->n_output_aliases);
    return node->output_aliases != NULL;
}

/* ------------------------------------------------------------------ what nodes run */

static bool read_task(struct tri_flyteworkflow *resource, flyte_node *node,
                      const struct tr_tree *tree)
{
    uint32_t at =
        tr_tree_is_text(tree) ? tri_flyteworkflow_find(&resource->tasks, tree->text) : UINT32_MAX;
    if (at == UINT32_MAX) {
        return tri_flyteworkflow_refuse(resource, tree, "TaskReferenceNotFound",
                                        "the resource has no task of this key\nput it under tasks");
    }
    const Flyteidl__Core__TaskTemplate *task = resource->task_messages[at]->template_;
    Flyteidl__Core__TaskNode *run =
        tri_flyte_new(resource->arena, &flyteidl__core__task_node__descriptor);
    if (run == NULL || task == NULL) {
        return false; /* what is wrong with the task is told */
    }
    run->reference_case = FLYTEIDL__CORE__TASK_NODE__REFERENCE_REFERENCE_ID;
    run->reference_id = task->id;
    node->target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    node->task_node = run;
    return true;
}

static bool read_workflow(struct tri_flyteworkflow *resource, flyte_node *node,
                          const struct tr_tree *tree)
{
    const struct tr_tree *below =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "subWorkflowRef") : NULL;
    const struct tr_tree *plan =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "launchPlanRefId") : NULL;
    Flyteidl__Core__WorkflowNode *run =
        tri_flyte_new(resource->arena, &flyteidl__core__workflow_node__descriptor);
    if (run == NULL) {
        return false;
    }
    node->target_case = FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE;
    node->workflow_node = run;
    if (tri_flyteworkflow_has_value(plan)) {
        run->reference_case = FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_LAUNCHPLAN_REF;
        run->launchplan_ref =
            tri_flyteworkflow_message(resource, &flyteidl__core__identifier__descriptor, plan);
        return run->launchplan_ref != NULL;
    }
    uint32_t at = below != NULL && tr_tree_is_text(below)
                      ? tri_flyteworkflow_find(&resource->workflows, below->text)
                      : UINT32_MAX;
    if (at == UINT32_MAX) {
        return tri_flyteworkflow_refuse(
            resource, tree, "WorkflowReferenceNotFound",
            "the resource has no workflow of this key\nput it under subWorkflows");
    }
    run->reference_case = FLYTEIDL__CORE__WORKFLOW_NODE__REFERENCE_SUB_WORKFLOW_REF;
    run->sub_workflow_ref = resource->workflow_messages[at]->template_->id;
    return true;
}

static bool read_gate(struct tri_flyteworkflow *resource, flyte_node *node,
                      const struct tr_tree *tree)
{
    node->target_case = FLYTEIDL__CORE__NODE__TARGET_GATE_NODE;
    /* The key of its condition is the field's name in Flyte's message; `kind` repeats it. */
    struct tr_tree condition = *tree;
    struct tr_pair *pairs = tree->kind == TR_TREE_MAP
                                ? tr_arena_array(resource->arena, tree->count, sizeof *pairs)
                                : NULL;
    condition.count = 0;
    for (uint32_t i = 0; pairs != NULL && i < tree->count; i++) {
        if (!tr_text_equal(tree->pairs[i].key->text, tr_text_of("kind"))) {
            pairs[condition.count++] = tree->pairs[i];
        }
    }
    condition.pairs = pairs;
    node->gate_node = tri_flyteworkflow_message(resource, &flyteidl__core__gate_node__descriptor,
                                                pairs == NULL ? tree : &condition);
    return node->gate_node != NULL;
}

/* The node of an id as an arm, which it may be once: so that arms are a tree. */
static flyte_node *read_arm(struct tri_flyteworkflow *resource, const struct tr_tree *id,
                            uint32_t depth)
{
    uint32_t at = id != NULL && tr_tree_is_text(id)
                      ? tri_flyteworkflow_find(&resource->nodes, id->text)
                      : UINT32_MAX;
    if (at == UINT32_MAX) {
        (void)tri_flyteworkflow_refuse(resource, id, "BranchNodeIdNotFound",
                                       "the workflow has no node of this id\nput it under nodes");
        return NULL;
    }
    if (depth >= TR_SWITCH_NESTING_MAX) {
        (void)tri_flyteworkflow_refuse(
            resource, id, "InvalidValue",
            "branches nest deeper than TR_SWITCH_NESTING_MAX\nput some into a workflow");
        return NULL;
    }
    if (resource->rows[at].is_read) {
        (void)tri_flyteworkflow_refuse(
            resource, id, "DuplicateId",
            "the node is an arm already\ngive each arm a node of its own");
        return NULL;
    }
    resource->rows[at].is_read = true;
    struct tr_text before = tri_report_subject(
        resource->report, tr_arena_print(resource->arena, "nodes.%.*s", TRI_TEXT(id->text)));
    flyte_node *arm = tri_flyteworkflow_node(resource, resource->nodes.pairs[at]->value, depth + 1);
    (void)tri_report_subject(resource->report, before);
    return arm;
}

static Flyteidl__Core__IfBlock *read_case(struct tri_flyteworkflow *resource,
                                          const struct tr_tree *tree, uint32_t depth)
{
    const struct tr_tree *condition =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "condition") : NULL;
    const struct tr_tree *then = tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "then") : NULL;
    Flyteidl__Core__IfBlock *block =
        tri_flyte_new(resource->arena, &flyteidl__core__if_block__descriptor);
    if (block == NULL) {
        return NULL;
    }
    if (!tri_flyteworkflow_has_value(condition) || !tri_flyteworkflow_has_value(then)) {
        (void)tri_flyteworkflow_refuse(
            resource, tree, "BranchNodeHasNoCondition",
            "an arm needs a condition and what is done then\nwrite both");
        return NULL;
    }
    block->condition = tri_flyteworkflow_message(
        resource, &flyteidl__core__boolean_expression__descriptor, condition);
    block->then_node = read_arm(resource, then, depth);
    return block->condition == NULL || block->then_node == NULL ? NULL : block;
}

static bool read_others(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                        uint32_t depth, Flyteidl__Core__IfElseBlock *block)
{
    if (tree->kind != TR_TREE_LIST) {
        return tri_flyteworkflow_refuse(resource, tree, "InvalidValue",
                                        "this is no list\nwrite it as Flyte does");
    }
    block->other = tr_arena_array(resource->arena, tree->count, sizeof(void *));
    for (uint32_t i = 0; block->other != NULL && i < tree->count; i++) {
        block->other[block->n_other] = read_case(resource, tree->items[i], depth);
        block->n_other += block->other[block->n_other] != NULL ? 1 : 0;
    }
    return block->other != NULL && block->n_other == tree->count;
}

static bool read_branch(struct tri_flyteworkflow *resource, flyte_node *node,
                        const struct tr_tree *tree, uint32_t depth)
{
    static const ProtobufCMessageDescriptor *const descriptor =
        &flyteidl__core__if_else_block__descriptor;
    const bool is_map = tree->kind == TR_TREE_MAP;
    const struct tr_tree *first = is_map ? tr_tree_find(tree, "if") : NULL;
    const struct tr_tree *others = is_map ? tr_tree_find(tree, "elseIf") : NULL;
    const struct tr_tree *last = is_map ? tr_tree_find(tree, "else") : NULL;
    const struct tr_tree *failure = is_map ? tr_tree_find(tree, "elseFail") : NULL;
    Flyteidl__Core__IfElseBlock *block = tri_flyte_new(resource->arena, descriptor);
    node->target_case = FLYTEIDL__CORE__NODE__TARGET_BRANCH_NODE;
    node->branch_node = tri_flyte_new(resource->arena, &flyteidl__core__branch_node__descriptor);
    if (block == NULL || node->branch_node == NULL) {
        return false;
    }
    node->branch_node->if_else = block;
    if (!tri_flyteworkflow_has_value(first)) {
        return tri_flyteworkflow_refuse(resource, tree, "BranchNodeHasNoCondition",
                                        "the branch has no first arm\nwrite it under if");
    }
    block->case_ = read_case(resource, first, depth);
    bool is_fine = block->case_ != NULL;
    is_fine =
        (!tri_flyteworkflow_has_value(others) || read_others(resource, others, depth, block)) &&
        is_fine;
    if (tri_flyteworkflow_has_value(last)) {
        block->default_case = FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ELSE_NODE;
        block->else_node = read_arm(resource, last, depth);
        is_fine = block->else_node != NULL && is_fine;
    } else if (tri_flyteworkflow_has_value(failure)) {
        block->default_case = FLYTEIDL__CORE__IF_ELSE_BLOCK__DEFAULT_ERROR;
        block->error =
            tri_flyteworkflow_message(resource, &flyteidl__core__error__descriptor, failure);
        is_fine = block->error != NULL && is_fine;
    }
    return is_fine;
}

/* ------------------------------------------------------------------ arrays */

static bool read_bound(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                       Flyteidl__Core__ArrayNode *array)
{
    if (tree->kind != TR_TREE_LIST) {
        return tri_flyteworkflow_refuse(resource, tree, "InvalidValue",
                                        "this is no list\nwrite it as Flyte does");
    }
    array->bound_inputs = tr_arena_array(resource->arena, tree->count, sizeof(char *));
    for (uint32_t i = 0; array->bound_inputs != NULL && i < tree->count; i++) {
        if (!tri_flyteworkflow_text(resource, tree->items[i], &array->bound_inputs[i])) {
            return false;
        }
        array->n_bound_inputs++;
    }
    return array->bound_inputs != NULL;
}

/* Flyte's compiler writes no names for JSON here. */
static bool read_array_counts(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                              Flyteidl__Core__ArrayNode *array)
{
    const struct tr_tree *parallelism = tr_tree_find(tree, "Parallelism");
    const struct tr_tree *least = tr_tree_find(tree, "MinSuccesses");
    const struct tr_tree *ratio = tr_tree_find(tree, "MinSuccessRatio");
    const struct tr_tree *bound = tr_tree_find(tree, "BoundInputs");
    double number = 0;
    bool is_fine = true;
    if (tri_flyteworkflow_has_value(parallelism)) {
        is_fine = tri_flyteworkflow_number(resource, parallelism, UINT32_MAX, &number);
        array->parallelism_option_case = FLYTEIDL__CORE__ARRAY_NODE__PARALLELISM_OPTION_PARALLELISM;
        array->parallelism = (uint32_t)number;
    }
    if (is_fine && tri_flyteworkflow_has_value(least)) {
        is_fine = tri_flyteworkflow_number(resource, least, UINT32_MAX, &number);
        array->success_criteria_case = FLYTEIDL__CORE__ARRAY_NODE__SUCCESS_CRITERIA_MIN_SUCCESSES;
        array->min_successes = (uint32_t)number;
    } else if (is_fine && tri_flyteworkflow_has_value(ratio)) {
        is_fine = tri_flyteworkflow_number(resource, ratio, 1, &number);
        array->success_criteria_case =
            FLYTEIDL__CORE__ARRAY_NODE__SUCCESS_CRITERIA_MIN_SUCCESS_RATIO;
        array->min_success_ratio = (float)number;
    }
    return is_fine && (!tri_flyteworkflow_has_value(bound) || read_bound(resource, bound, array));
}

static bool read_array(struct tri_flyteworkflow *resource, flyte_node *node,
                       const struct tr_tree *tree, uint32_t depth)
{
    const struct tr_tree *element =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "SubNodeSpec") : NULL;
    Flyteidl__Core__ArrayNode *array =
        tri_flyte_new(resource->arena, &flyteidl__core__array_node__descriptor);
    node->target_case = FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
    node->array_node = array;
    if (array == NULL) {
        return false;
    }
    if (!tri_flyteworkflow_has_value(element) || depth >= TR_SWITCH_NESTING_MAX) {
        return tri_flyteworkflow_refuse(
            resource, tree, "ValueRequired",
            "the array has no node for its elements, or nests too deeply\n"
            "write it under SubNodeSpec");
    }
    struct tr_text before = tri_flyteworkflow_enter(resource, tr_text_of("SubNodeSpec"));
    array->node = tri_flyteworkflow_node(resource, element, depth + 1);
    (void)tri_report_subject(resource->report, before);
    /* Elements of launch plans have their interface; those of tasks have lists of it. */
    if (array->node != NULL &&
        array->node->target_case == FLYTEIDL__CORE__NODE__TARGET_WORKFLOW_NODE) {
        array->is_original_sub_node_interface =
            tri_flyte_new(resource->arena, &google__protobuf__bool_value__descriptor);
        if (array->is_original_sub_node_interface != NULL) {
            array->is_original_sub_node_interface->value = true;
        }
    }
    return array->node != NULL && read_array_counts(resource, tree, array);
}

/* ------------------------------------------------------------------ overrides */

/* Kubernetes' names of what Flyte's numbers name. */
static const struct {
    const char *name;
    Flyteidl__Core__Resources__ResourceName kind;
} resource_kinds[] = {
    {"cpu", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__CPU},
    {"memory", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__MEMORY},
    {"storage", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__STORAGE},
    {"ephemeral-storage", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__EPHEMERAL_STORAGE},
    {"nvidia.com/gpu", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__GPU},
    {"amd.com/gpu", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__GPU},
    {"gpu", FLYTEIDL__CORE__RESOURCES__RESOURCE_NAME__GPU},
};

static bool read_amount(struct tri_flyteworkflow *resource, const struct tr_pair *pair,
                        Flyteidl__Core__Resources__ResourceEntry *entry)
{
    for (size_t i = 0; i < TR_COUNT_OF(resource_kinds); i++) {
        if (tr_text_equal(pair->key->text, tr_text_of(resource_kinds[i].name))) {
            struct tr_tree value = tr_tree_resolve(pair->value);
            struct tr_text amount =
                value.kind == TR_TREE_INT
                    ? tr_arena_print(resource->arena, "%lld", (long long)value.integer)
                    : pair->value->text;
            const struct tr_tree text = {.kind = value.kind == TR_TREE_INT ? TR_TREE_STRING
                                                                           : pair->value->kind,
                                         .place = pair->value->place,
                                         .text = amount};
            entry->name = resource_kinds[i].kind;
            return tri_flyteworkflow_text(resource, &text, &entry->value);
        }
    }
    return tri_flyteworkflow_refuse(
        resource, pair->key, "UnrecognizedValue",
        "this resource is not known\nname cpu, memory, storage, ephemeral-storage or "
        "nvidia.com/gpu");
}

static bool read_amounts(struct tri_flyteworkflow *resource, const struct tr_tree *map,
                         size_t *count, Flyteidl__Core__Resources__ResourceEntry ***entries)
{
    if (map == NULL) {
        return true;
    }
    *entries = tr_arena_array(resource->arena, map->count, sizeof(void *));
    for (uint32_t i = 0; *entries != NULL && i < map->count; i++) {
        Flyteidl__Core__Resources__ResourceEntry *entry =
            tri_flyte_new(resource->arena, &flyteidl__core__resources__resource_entry__descriptor);
        if (entry == NULL || !read_amount(resource, &map->pairs[i], entry)) {
            return false;
        }
        (*entries)[(*count)++] = entry;
    }
    return *entries != NULL;
}

/* Nodes that run no task may have an empty one. */
static Flyteidl__Core__TaskNodeOverrides *overrides_of(struct tri_flyteworkflow *resource,
                                                       flyte_node *node)
{
    if (node->target_case != FLYTEIDL__CORE__NODE__TARGET_TASK_NODE) {
        return NULL;
    }
    if (node->task_node->overrides == NULL) {
        node->task_node->overrides =
            tri_flyte_new(resource->arena, &flyteidl__core__task_node_overrides__descriptor);
    }
    return node->task_node->overrides;
}

static bool read_resources(struct tri_flyteworkflow *resource, flyte_node *node,
                           const struct tr_tree *tree)
{
    const struct tr_tree *requests =
        tree->kind == TR_TREE_MAP ? tri_flyteworkflow_find_map(resource, tree, "requests") : NULL;
    const struct tr_tree *limits =
        tree->kind == TR_TREE_MAP ? tri_flyteworkflow_find_map(resource, tree, "limits") : NULL;
    if (requests == NULL && limits == NULL) {
        return true;
    }
    Flyteidl__Core__TaskNodeOverrides *overrides = overrides_of(resource, node);
    Flyteidl__Core__Resources *resources =
        tri_flyte_new(resource->arena, &flyteidl__core__resources__descriptor);
    if (overrides == NULL || resources == NULL) {
        return resource->arena->error == 0;
    }
    overrides->resources = resources;
    bool is_fine = read_amounts(resource, requests, &resources->n_requests, &resources->requests);
    return read_amounts(resource, limits, &resources->n_limits, &resources->limits) && is_fine;
}

static bool read_extended(struct tri_flyteworkflow *resource, flyte_node *node,
                          const struct tr_tree *tree)
{
    Flyteidl__Core__TaskNodeOverrides *overrides = overrides_of(resource, node);
    void *message =
        tri_flyteworkflow_message(resource, &flyteidl__core__extended_resources__descriptor, tree);
    if (overrides != NULL) {
        overrides->extended_resources = message;
    }
    return message != NULL;
}

static bool read_image(struct tri_flyteworkflow *resource, flyte_node *node,
                       const struct tr_tree *tree)
{
    Flyteidl__Core__TaskNodeOverrides *overrides = overrides_of(resource, node);
    return overrides == NULL || tri_flyteworkflow_text(resource, tree, &overrides->container_image);
}

/* It is not protobuf's JSON there, and nothing of it acts here; that there is one is told. */
static bool read_pod(struct tri_flyteworkflow *resource, flyte_node *node,
                     const struct tr_tree *tree)
{
    Flyteidl__Core__TaskNodeOverrides *overrides = overrides_of(resource, node);
    const struct tr_tree *name =
        tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "primary_container_name") : NULL;
    Flyteidl__Core__K8sPod *pod =
        tri_flyte_new(resource->arena, &flyteidl__core__k8s_pod__descriptor);
    if (overrides != NULL) {
        overrides->pod_template = pod;
    }
    return pod != NULL && (!tri_flyteworkflow_has_value(name) ||
                           tri_flyteworkflow_text(resource, name, &pod->primary_container_name));
}

/* ------------------------------------------------------------------ nodes */

/* In the order in which they are read: what a node runs comes before what it overrides. */
static const struct {
    const char *key;
    bool (*read)(struct tri_flyteworkflow *resource, flyte_node *node, const struct tr_tree *tree);
    bool (*read_nested)(struct tri_flyteworkflow *resource, flyte_node *node,
                        const struct tr_tree *tree, uint32_t depth);
} node_keys[] = {
    {"id", read_id, NULL},
    {"name", read_name, NULL},
    {"task", read_task, NULL},
    {"workflow", read_workflow, NULL},
    {"gate", read_gate, NULL},
    {"branch", NULL, read_branch},
    {"array", NULL, read_array},
    {"inputBindings", read_bindings, NULL},
    {"outputAlias", read_aliases, NULL},
    {"retry", read_retry, NULL},
    {"executionDeadline", read_deadline, NULL},
    {"interruptible", read_interruptible, NULL},
    {"resources", read_resources, NULL},
    {"extendedResources", read_extended, NULL},
    {"containerImage", read_image, NULL},
    {"podTemplate", read_pod, NULL},
};

/* NULL: it is told, or memory ended. */
flyte_node *tri_flyteworkflow_node(struct tri_flyteworkflow *resource, const struct tr_tree *tree,
                                   uint32_t depth)
{
    flyte_node *node = tri_flyte_new(resource->arena, &flyteidl__core__node__descriptor);
    bool is_fine = node != NULL;
    if (tree->kind != TR_TREE_MAP) {
        (void)tri_flyteworkflow_refuse(resource, tree, "ValueRequired",
                                       "this is no node\nwrite a mapping");
        return NULL;
    }
    for (size_t i = 0; node != NULL && i < TR_COUNT_OF(node_keys); i++) {
        const struct tr_tree *value = tr_tree_find(tree, node_keys[i].key);
        if (tri_flyteworkflow_has_value(value)) {
            struct tr_text before = tri_flyteworkflow_enter(resource, tr_text_of(node_keys[i].key));
            is_fine = (node_keys[i].read != NULL
                           ? node_keys[i].read(resource, node, value)
                           : node_keys[i].read_nested(resource, node, value, depth)) &&
                      is_fine;
            (void)tri_report_subject(resource->report, before);
        }
    }
    return is_fine ? node : NULL;
}
