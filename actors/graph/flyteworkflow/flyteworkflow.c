/*
 * From a FlyteWorkflow resource back to the messages that Flyte's compiler had made it of.
 *
 * Kubernetes has the nodes of a workflow, those in branches too, in one map, and tasks and
 * workflows by keys that are their ids as text. What the resource says of how far its execution is
 * (status) is not looked at: it begins anew.
 */
#include "actors/graph/flyteworkflow/flyteworkflow.h"

#include <flyteidl/admin_launch_plan.pb-c.h>
#include <string.h>
#include <strings.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/yaml.h"
#include "actors/graph/flyteworkflow/flyteworkflow_inside.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------ workflows */

static void mark_arm(struct tri_flyteworkflow *resource, const struct tr_tree *id)
{
    uint32_t at = id != NULL && tr_tree_is_text(id)
                      ? tri_flyteworkflow_find(&resource->nodes, id->text)
                      : UINT32_MAX;
    if (at != UINT32_MAX) {
        resource->rows[at].is_arm = true;
    }
}

static void mark_case(struct tri_flyteworkflow *resource, const struct tr_tree *tree)
{
    mark_arm(resource,
             tree != NULL && tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "then") : NULL);
}

/* Notes which nodes stand in branches, as they are read with these. */
static void mark_arms(struct tri_flyteworkflow *resource)
{
    for (uint32_t i = 0; i < resource->nodes.count; i++) {
        const struct tr_tree *node = resource->nodes.pairs[i]->value;
        const struct tr_tree *branch =
            node->kind == TR_TREE_MAP ? tr_tree_find(node, "branch") : NULL;
        if (branch == NULL || branch->kind != TR_TREE_MAP) {
            continue;
        }
        const struct tr_tree *others = tr_tree_find(branch, "elseIf");
        mark_case(resource, tr_tree_find(branch, "if"));
        mark_arm(resource, tr_tree_find(branch, "else"));
        for (uint32_t j = 0; others != NULL && others->kind == TR_TREE_LIST && j < others->count;
             j++) {
            mark_case(resource, others->items[j]);
        }
    }
}

static bool is_named(const struct tri_flyteworkflow_table *table, uint32_t at, const char *name)
{
    return tr_text_equal(table->pairs[at]->key->text, tr_text_of(name));
}

/* Reads what stands in no branch, and with that what does. */
static void read_nodes(struct tri_flyteworkflow *resource)
{
    mark_arms(resource);
    for (uint32_t i = 0; i < resource->nodes.count; i++) {
        struct tr_text before = tri_report_subject(
            resource->report, tr_arena_print(resource->arena, "nodes.%.*s",
                                             TRI_TEXT(resource->nodes.pairs[i]->key->text)));
        if (!resource->rows[i].is_arm && !is_named(&resource->nodes, i, TRI_FLYTE_START_NODE) &&
            !is_named(&resource->nodes, i, TRI_FLYTE_END_NODE)) {
            resource->rows[i].message =
                tri_flyteworkflow_node(resource, resource->nodes.pairs[i]->value, 0);
        }
        (void)tri_report_subject(resource->report, before);
    }
    for (uint32_t i = 0; i < resource->nodes.count; i++) {
        if (resource->rows[i].is_arm && !resource->rows[i].is_read &&
            tr_report_total(resource->report) == 0) {
            (void)tri_flyteworkflow_refuse(
                resource, resource->nodes.pairs[i]->value, "CycleDetected",
                "a branch is an arm of itself\nlet its arms be other nodes");
        }
    }
}

/* Arms have none: what they wait for is bound to them. */
static bool add_edge(struct tri_flyteworkflow *resource, const struct tr_tree *from,
                     const struct tr_tree *to)
{
    char *id = NULL;
    uint32_t at =
        tr_tree_is_text(to) ? tri_flyteworkflow_find(&resource->nodes, to->text) : UINT32_MAX;
    if (at == UINT32_MAX) {
        return tri_flyteworkflow_refuse(
            resource, to, "NodeReferenceNotFound",
            "an edge leads to no node of the workflow\nput it under nodes");
    }
    if (!tri_flyteworkflow_text(resource, from, &id)) {
        return false;
    }
    if (resource->rows[at].message == NULL || strcmp(id, TRI_FLYTE_START_NODE) == 0) {
        return true;
    }
    char **added = tri_vector_add(resource->arena, &resource->rows[at].upstream, sizeof *added);
    if (added != NULL) {
        *added = id;
    }
    return added != NULL;
}

/* Edges by the nodes to which they lead, or else by those from which; a failure node has some. */
static bool read_edges(struct tri_flyteworkflow *resource, const struct tr_tree *map,
                       bool is_upstream)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct tr_tree *ids = map->pairs[i].value;
        bool is_other = is_upstream && tri_flyteworkflow_find(
                                           &resource->nodes, map->pairs[i].key->text) == UINT32_MAX;
        if (!tri_flyteworkflow_has_value(ids) || is_other) {
            continue;
        }
        if (ids->kind != TR_TREE_LIST) {
            return tri_flyteworkflow_refuse(resource, ids, "InvalidValue",
                                            "edges are no list\nwrite them as Flyte does");
        }
        for (uint32_t j = 0; j < ids->count; j++) {
            bool is_fine = is_upstream ? add_edge(resource, ids->items[j], map->pairs[i].key)
                                       : add_edge(resource, map->pairs[i].key, ids->items[j]);
            if (!is_fine) {
                return false;
            }
        }
    }
    return true;
}

/* Older resources have `connections` alone. */
static void read_all_edges(struct tri_flyteworkflow *resource, const struct tr_tree *spec)
{
    const struct tr_tree *edges = tri_flyteworkflow_find_map(resource, spec, "edges");
    const struct tr_tree *upstream =
        edges == NULL ? NULL : tri_flyteworkflow_find_map(resource, edges, "upstream");
    const struct tr_tree *connections = tri_flyteworkflow_find_map(resource, spec, "connections");
    const bool is_upstream = upstream != NULL && upstream->count > 0;
    const struct tr_tree *map = is_upstream ? upstream : connections;
    struct tr_text before =
        tri_flyteworkflow_enter(resource, tr_text_of(is_upstream ? "edges" : "connections"));
    if (map != NULL) {
        (void)!read_edges(resource, map, is_upstream);
    }
    (void)tri_report_subject(resource->report, before);
}

static void put_nodes(struct tri_flyteworkflow *resource, flyte_workflow *workflow)
{
    workflow->nodes = tr_arena_array(resource->arena, resource->nodes.count, sizeof(void *));
    for (uint32_t i = 0; workflow->nodes != NULL && i < resource->nodes.count; i++) {
        flyte_node *node = resource->rows[i].message;
        if (node != NULL) {
            node->upstream_node_ids = resource->rows[i].upstream.items;
            node->n_upstream_node_ids = resource->rows[i].upstream.count;
            workflow->nodes[workflow->n_nodes++] = node;
        }
    }
}

/* Outputs are bound by the end node, too, and there alone where a workflow's compiler was older. */
static void read_outputs(struct tri_flyteworkflow *resource, const struct tr_tree *spec,
                         flyte_workflow *workflow)
{
    const struct tr_tree *types = tr_tree_find(spec, "outputs");
    const struct tr_tree *bindings = tr_tree_find(spec, "outputBindings");
    struct tr_text before = tri_flyteworkflow_enter(resource, tr_text_of("outputs"));
    if (tri_flyteworkflow_has_value(types)) {
        workflow->interface->outputs =
            tri_flyteworkflow_message(resource, &flyteidl__core__variable_map__descriptor, types);
    }
    (void)tri_report_subject(resource->report, before);
    before = tri_flyteworkflow_enter(resource, tr_text_of("outputBindings"));
    if (tri_flyteworkflow_has_value(bindings)) {
        workflow->outputs = (Flyteidl__Core__Binding **)tri_flyteworkflow_messages(
            resource, &flyteidl__core__binding__descriptor, bindings, &workflow->n_outputs);
    }
    (void)tri_report_subject(resource->report, before);
}

/* FAIL_IMMEDIATELY is left out as often as not. */
static void read_policy(struct tri_flyteworkflow *resource, const struct tr_tree *spec,
                        flyte_workflow *workflow)
{
    const struct tr_tree *policy = tr_tree_find(spec, "onFailurePolicy");
    const ProtobufCEnumDescriptor *names =
        &flyteidl__core__workflow_metadata__on_failure_policy__descriptor;
    char *word = NULL;
    if (!tri_flyteworkflow_has_value(policy)) {
        return;
    }
    struct tr_text before = tri_flyteworkflow_enter(resource, tr_text_of("onFailurePolicy"));
    const ProtobufCEnumValue *value =
        tri_flyteworkflow_text(resource, policy, &word)
            ? protobuf_c_enum_descriptor_get_value_by_name(names, word)
            : NULL;
    if (value != NULL) {
        workflow->metadata->on_failure =
            (Flyteidl__Core__WorkflowMetadata__OnFailurePolicy)value->value;
    } else if (word != NULL) {
        (void)tri_flyteworkflow_refuse(resource, policy, "UnrecognizedValue",
                                       "this policy is not known\nwrite FAIL_IMMEDIATELY or "
                                       "FAIL_AFTER_EXECUTABLE_NODES_COMPLETE");
    }
    (void)tri_report_subject(resource->report, before);
}

/* The body of a workflow whose id is set. */
static void read_spec(struct tri_flyteworkflow *resource, const struct tr_tree *spec,
                      flyte_workflow *workflow)
{
    const struct tr_tree *failure = tr_tree_find(spec, "onFailure");
    resource->nodes =
        tri_flyteworkflow_table_of(resource, tri_flyteworkflow_find_map(resource, spec, "nodes"));
    resource->rows = tr_arena_array(resource->arena, resource->nodes.count, sizeof *resource->rows);
    if (resource->rows == NULL) {
        return;
    }
    read_nodes(resource);
    read_all_edges(resource, spec);
    put_nodes(resource, workflow);
    read_outputs(resource, spec, workflow);
    read_policy(resource, spec, workflow);
    if (tri_flyteworkflow_has_value(failure)) {
        struct tr_text before = tri_flyteworkflow_enter(resource, tr_text_of("onFailure"));
        workflow->failure_node = tri_flyteworkflow_node(resource, failure, 0);
        (void)tri_report_subject(resource->report, before);
    }
}

/* ------------------------------------------------------------------ entities */

static char *keep_string(struct tri_flyteworkflow *resource, struct tr_text text)
{
    return tri_flyte_string(resource->arena, text, &resource->arena->error);
}

/* PROJECT:DOMAIN:NAME; that of the version is nowhere said. */
static void read_workflow_id(struct tri_flyteworkflow *resource, const struct tr_tree *spec,
                             flyte_identifier *id)
{
    const struct tr_tree *found = tr_tree_find(spec, "id");
    struct tr_text parts[3] = {{0}};
    struct tr_text rest = found != NULL && tr_tree_is_text(found) ? found->text : tr_text_of("");
    for (size_t i = 0; i < 2; i++) {
        const char *colon = rest.size == 0 ? NULL : memchr(rest.data, ':', rest.size);
        size_t size = colon == NULL ? 0 : (size_t)(colon - rest.data);
        parts[i] = (struct tr_text){.data = rest.data, .size = size};
        rest = colon == NULL ? tr_text_of("")
                             : (struct tr_text){.data = colon + 1, .size = rest.size - size - 1};
    }
    parts[2] = rest;
    if (rest.size == 0 || memchr(found->text.data, '\0', found->text.size) != NULL) {
        (void)tri_flyteworkflow_refuse(resource, found == NULL ? spec : found, "ValueRequired",
                                       "the workflow has no id\nwrite one as PROJECT:DOMAIN:NAME");
        return;
    }
    id->project = keep_string(resource, parts[0]);
    id->domain = keep_string(resource, parts[1]);
    id->name = keep_string(resource, parts[2]);
}

/* A workflow with an id and nothing else yet, since others refer to it. NULL without memory. */
static Flyteidl__Core__CompiledWorkflow *begin_workflow(struct tri_flyteworkflow *resource,
                                                        const struct tr_tree *spec)
{
    struct tr_arena *arena = resource->arena;
    Flyteidl__Core__CompiledWorkflow *made =
        tri_flyte_new(arena, &flyteidl__core__compiled_workflow__descriptor);
    flyte_workflow *workflow = tri_flyte_new(arena, &flyteidl__core__workflow_template__descriptor);
    if (made == NULL || workflow == NULL) {
        return NULL;
    }
    made->template_ = workflow;
    workflow->id = tri_flyte_new(arena, &flyteidl__core__identifier__descriptor);
    workflow->interface = tri_flyte_new(arena, &flyteidl__core__typed_interface__descriptor);
    workflow->metadata = tri_flyte_new(arena, &flyteidl__core__workflow_metadata__descriptor);
    workflow->metadata_defaults =
        tri_flyte_new(arena, &flyteidl__core__workflow_metadata_defaults__descriptor);
    if (arena->error != 0) {
        return NULL;
    }
    workflow->id->resource_type = FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW;
    if (spec->kind == TR_TREE_MAP) {
        read_workflow_id(resource, spec, workflow->id);
    } else {
        (void)tri_flyteworkflow_refuse(resource, spec, "ValueRequired",
                                       "this is no workflow\nwrite a mapping");
    }
    return made;
}

static bool read_tasks(struct tri_flyteworkflow *resource, const struct tr_tree *root,
                       flyte_closure *closure)
{
    resource->tasks =
        tri_flyteworkflow_table_of(resource, tri_flyteworkflow_find_map(resource, root, "tasks"));
    closure->tasks = tr_arena_array(resource->arena, resource->tasks.count, sizeof(void *));
    resource->task_messages = closure->tasks;
    for (uint32_t i = 0; closure->tasks != NULL && i < resource->tasks.count; i++) {
        struct tr_text before = tri_report_subject(
            resource->report, tr_arena_print(resource->arena, "tasks.%.*s",
                                             TRI_TEXT(resource->tasks.pairs[i]->key->text)));
        Flyteidl__Core__CompiledTask *task =
            tri_flyte_new(resource->arena, &flyteidl__core__compiled_task__descriptor);
        if (task == NULL) {
            return false;
        }
        task->template_ = tri_flyteworkflow_message(
            resource, &flyteidl__core__task_template__descriptor, resource->tasks.pairs[i]->value);
        closure->tasks[closure->n_tasks++] = task;
        (void)tri_report_subject(resource->report, before);
    }
    return closure->tasks != NULL;
}

static bool begin_workflows(struct tri_flyteworkflow *resource, const struct tr_tree *root,
                            flyte_closure *closure)
{
    resource->workflows = tri_flyteworkflow_table_of(
        resource, tri_flyteworkflow_find_map(resource, root, "subWorkflows"));
    closure->sub_workflows =
        tr_arena_array(resource->arena, resource->workflows.count, sizeof(void *));
    resource->workflow_messages = closure->sub_workflows;
    for (uint32_t i = 0; closure->sub_workflows != NULL && i < resource->workflows.count; i++) {
        closure->sub_workflows[i] = begin_workflow(resource, resource->workflows.pairs[i]->value);
        if (closure->sub_workflows[i] == NULL) {
            return false;
        }
        closure->n_sub_workflows++;
    }
    return closure->sub_workflows != NULL;
}

static void read_workflows(struct tri_flyteworkflow *resource, const struct tr_tree *spec,
                           const flyte_closure *closure)
{
    read_spec(resource, spec, closure->primary->template_);
    for (uint32_t i = 0; i < closure->n_sub_workflows; i++) {
        const struct tr_tree *below = resource->workflows.pairs[i]->value;
        if (below->kind == TR_TREE_MAP) {
            read_spec(resource, below, closure->sub_workflows[i]->template_);
        }
    }
}

/* The default of nodes is one for all workflows. */
static void read_defaults(struct tri_flyteworkflow *resource, const struct tr_tree *root,
                          const flyte_closure *closure)
{
    const struct tr_tree *defaults = tri_flyteworkflow_find_map(resource, root, "node-defaults");
    const struct tr_tree *interruptible =
        defaults == NULL ? NULL : tr_tree_find(defaults, "interruptible");
    protobuf_c_boolean value = false;
    if (tri_flyteworkflow_has_value(interruptible) &&
        tri_flyteworkflow_bool(resource, interruptible, &value)) {
        closure->primary->template_->metadata_defaults->interruptible = value;
        for (uint32_t i = 0; i < closure->n_sub_workflows; i++) {
            closure->sub_workflows[i]->template_->metadata_defaults->interruptible = value;
        }
    }
}

/* ------------------------------------------------------------------ the execution */

static void read_variables(struct tri_flyteworkflow *resource, const struct tr_tree *map,
                           Flyteidl__Admin__LaunchPlanSpec *spec)
{
    Flyteidl__Admin__Envs *envs =
        tri_flyte_new(resource->arena, &flyteidl__admin__envs__descriptor);
    if (map == NULL || envs == NULL) {
        return;
    }
    envs->values = tr_arena_array(resource->arena, map->count, sizeof(void *));
    for (uint32_t i = 0; envs->values != NULL && i < map->count; i++) {
        Flyteidl__Core__KeyValuePair *pair =
            tri_flyte_new(resource->arena, &flyteidl__core__key_value_pair__descriptor);
        if (pair != NULL && tri_flyteworkflow_text(resource, map->pairs[i].key, &pair->key) &&
            tri_flyteworkflow_text(resource, map->pairs[i].value, &pair->value)) {
            envs->values[envs->n_values++] = pair;
        }
    }
    spec->envs = envs;
}

/* How the execution runs; Flyte's compiler writes no names for JSON here. */
static void read_config(struct tri_flyteworkflow *resource, const struct tr_tree *root,
                        Flyteidl__Admin__LaunchPlanSpec *spec)
{
    const struct tr_tree *config = tri_flyteworkflow_find_map(resource, root, "executionConfig");
    const struct tr_tree *raw = tri_flyteworkflow_find_map(resource, root, "rawOutputDataConfig");
    const struct tr_tree *parallelism =
        config == NULL ? NULL : tr_tree_find(config, "MaxParallelism");
    const struct tr_tree *interruptible =
        config == NULL ? NULL : tr_tree_find(config, "Interruptible");
    const struct tr_tree *overwrite =
        config == NULL ? NULL : tr_tree_find(config, "OverwriteCache");
    double number = 0;
    if (tri_flyteworkflow_has_value(parallelism) &&
        tri_flyteworkflow_number(resource, parallelism, INT32_MAX, &number)) {
        spec->max_parallelism = (int32_t)number;
    }
    if (tri_flyteworkflow_has_value(interruptible)) {
        spec->interruptible =
            tri_flyte_new(resource->arena, &google__protobuf__bool_value__descriptor);
        if (spec->interruptible != NULL) {
            (void)!tri_flyteworkflow_bool(resource, interruptible, &spec->interruptible->value);
        }
    }
    if (tri_flyteworkflow_has_value(overwrite)) {
        (void)!tri_flyteworkflow_bool(resource, overwrite, &spec->overwrite_cache);
    }
    if (config != NULL) {
        read_variables(resource,
                       tri_flyteworkflow_find_map(resource, config, "EnvironmentVariables"), spec);
    }
    if (raw != NULL && raw->count > 0) {
        spec->raw_output_data_config = tri_flyteworkflow_message(
            resource, &flyteidl__admin__raw_output_data_config__descriptor, raw);
    }
}

/* The inputs as defaults of the workflow's own launch plan. */
static void put_inputs(struct tri_flyteworkflow *resource, const flyte_workflow *workflow,
                       const Flyteidl__Core__LiteralMap *given,
                       Flyteidl__Core__ParameterMap *defaults)
{
    const Flyteidl__Core__VariableMap *inputs = workflow->interface->inputs;
    defaults->parameters = tr_arena_array(resource->arena, inputs->n_variables, sizeof(void *));
    for (size_t i = 0; defaults->parameters != NULL && i < inputs->n_variables; i++) {
        Flyteidl__Core__ParameterMap__ParametersEntry *entry = tri_flyte_new(
            resource->arena, &flyteidl__core__parameter_map__parameters_entry__descriptor);
        Flyteidl__Core__Parameter *parameter =
            tri_flyte_new(resource->arena, &flyteidl__core__parameter__descriptor);
        if (entry == NULL || parameter == NULL) {
            return;
        }
        entry->key = inputs->variables[i]->key;
        entry->value = parameter;
        parameter->var = inputs->variables[i]->value;
        parameter->behavior_case = FLYTEIDL__CORE__PARAMETER__BEHAVIOR_REQUIRED;
        parameter->required = true;
        for (size_t j = 0; given != NULL && j < given->n_literals; j++) {
            if (strcmp(given->literals[j]->key, entry->key) == 0) {
                parameter->behavior_case = FLYTEIDL__CORE__PARAMETER__BEHAVIOR_DEFAULT;
                parameter->default_ = given->literals[j]->value;
            }
        }
        defaults->parameters[defaults->n_parameters++] = entry;
    }
}

static Flyteidl__Admin__LaunchPlan *plan_of(struct tri_flyteworkflow *resource,
                                            const struct tr_tree *root,
                                            const flyte_workflow *workflow,
                                            const Flyteidl__Core__LiteralMap *given)
{
    struct tr_arena *arena = resource->arena;
    Flyteidl__Admin__LaunchPlan *plan =
        tri_flyte_new(arena, &flyteidl__admin__launch_plan__descriptor);
    Flyteidl__Admin__LaunchPlanSpec *spec =
        tri_flyte_new(arena, &flyteidl__admin__launch_plan_spec__descriptor);
    flyte_identifier *id = tri_flyte_new(arena, &flyteidl__core__identifier__descriptor);
    Flyteidl__Core__ParameterMap *defaults =
        tri_flyte_new(arena, &flyteidl__core__parameter_map__descriptor);
    if (plan == NULL || spec == NULL || id == NULL || defaults == NULL) {
        return NULL;
    }
    *id = *workflow->id;
    id->resource_type = FLYTEIDL__CORE__RESOURCE_TYPE__LAUNCH_PLAN;
    plan->id = id;
    plan->spec = spec;
    spec->workflow_id = workflow->id;
    spec->default_inputs = defaults;
    put_inputs(resource, workflow, given, defaults);
    read_config(resource, root, spec);
    return plan;
}

/* ------------------------------------------------------------------ the whole */

/* Whether a key and its value follow, with or without quotes. */
static bool is_kind_at(struct tr_text text)
{
    static const char key[] = "apiVersion";
    static const char value[] = "flyte.lyft.com/v1";
    size_t at = strlen(key);
    if (text.size < at || memcmp(text.data, key, at) != 0) {
        return false;
    }
    while (at < text.size && strchr("\"': \t", text.data[at]) != NULL && text.data[at] != '\0') {
        at++;
    }
    return text.size - at >= strlen(value) && memcmp(text.data + at, value, strlen(value)) == 0;
}

bool tr_flyteworkflow_is(struct tr_text begin)
{
    for (size_t i = 0; i < begin.size; i++) {
        if (begin.data[i] == 'a' &&
            is_kind_at((struct tr_text){.data = begin.data + i, .size = begin.size - i})) {
            return true;
        }
    }
    return false;
}

static const struct tr_tree *read_tree(struct tri_flyteworkflow *resource, struct tr_text text)
{
    size_t begin = 0;
    while (begin < text.size && memchr(" \t\r\n", text.data[begin], 4) != NULL) {
        begin++;
    }
    bool is_json = begin < text.size && text.data[begin] == '{';
    return is_json ? tr_json_read(resource->arena, resource->report, 0, text)
                   : tr_yaml_read(resource->arena, resource->report, 0, text);
}

/* Flyte keeps what is large outside of Kubernetes. */
static bool is_whole(struct tri_flyteworkflow *resource, const struct tr_tree *root)
{
    const struct tr_tree *elsewhere = tr_tree_find(root, "workflowClosureReference");
    if (!tri_flyteworkflow_has_value(elsewhere) ||
        (tr_tree_is_text(elsewhere) && elsewhere->text.size == 0)) {
        return true;
    }
    struct tr_text before =
        tri_flyteworkflow_enter(resource, tr_text_of("workflowClosureReference"));
    (void)tri_flyteworkflow_refuse(
        resource, elsewhere, "ValueRequired",
        "the workflow lies elsewhere, as large ones do\n"
        "package it anew, or give the file that this names as closure.pb");
    (void)tri_report_subject(resource->report, before);
    return false;
}

/* What the execution is begun with. */
static Flyteidl__Core__LiteralMap *read_inputs(struct tri_flyteworkflow *resource,
                                               const struct tr_tree *root)
{
    const struct tr_tree *inputs = tr_tree_find(root, "inputs");
    if (!tri_flyteworkflow_has_value(inputs)) {
        return NULL;
    }
    struct tr_text before = tri_flyteworkflow_enter(resource, tr_text_of("inputs"));
    Flyteidl__Core__LiteralMap *given =
        tri_flyteworkflow_message(resource, &flyteidl__core__literal_map__descriptor, inputs);
    (void)tri_report_subject(resource->report, before);
    return given;
}

/* A message as a file of a package. */
static void put_file(struct tr_arena *arena, const char *name, const ProtobufCMessage *message,
                     struct tr_flyte_file *file)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = tr_arena_alloc(arena, size + 1);
    if (bytes != NULL) {
        *file = (struct tr_flyte_file){
            .name = tr_text_of(name),
            .bytes = {.data = bytes, .size = protobuf_c_message_pack(message, bytes)}};
    }
}

/* All of a resource whose specification is there. What is wrong is told, or memory ended. */
static void read_all(struct tri_flyteworkflow *resource, const struct tr_tree *root,
                     const struct tr_tree *spec, struct tr_flyte_file files[TR_FLYTEWORKFLOW_FILES])
{
    struct tr_arena *arena = resource->arena;
    flyte_closure *closure =
        tri_flyte_new(arena, &flyteidl__core__compiled_workflow_closure__descriptor);
    if (closure == NULL || !read_tasks(resource, root, closure) ||
        !begin_workflows(resource, root, closure)) {
        return;
    }
    closure->primary = begin_workflow(resource, spec);
    if (closure->primary == NULL) {
        return;
    }
    read_workflows(resource, spec, closure);
    read_defaults(resource, root, closure);
    const Flyteidl__Core__LiteralMap *given = read_inputs(resource, root);
    if (arena->error != 0 || tr_report_total(resource->report) > 0 ||
        !tri_flyteworkflow_type(arena, resource->report, closure, given)) {
        return;
    }
    const Flyteidl__Admin__LaunchPlan *plan =
        plan_of(resource, root, closure->primary->template_, given);
    if (plan != NULL && tr_report_total(resource->report) == 0) {
        put_file(arena, "closure.pb", &closure->base, &files[0]);
        put_file(arena, "plan_3.pb", &plan->base, &files[1]);
    }
}

int tr_flyteworkflow_read(struct tr_arena *arena, struct tr_report *report, struct tr_text text,
                          struct tr_flyte_file files[TR_FLYTEWORKFLOW_FILES])
{
    struct tri_flyteworkflow resource = {.arena = arena, .report = report};
    const struct tr_tree *root = read_tree(&resource, text);
    bool is_map = root != NULL && root->kind == TR_TREE_MAP;
    const struct tr_tree *spec = is_map ? tr_tree_find(root, "spec") : NULL;
    const struct tr_tree *kind = is_map ? tr_tree_find(root, "kind") : NULL;
    bool is_kind = kind != NULL && tr_tree_is_text(kind) &&
                   kind->text.size == strlen("flyteworkflow") &&
                   strncasecmp(kind->text.data, "flyteworkflow", kind->text.size) == 0;
    if (root != NULL && (!is_kind || spec == NULL || spec->kind != TR_TREE_MAP)) {
        (void)tri_flyteworkflow_refuse(&resource, root, "ValueRequired",
                                       "this is no FlyteWorkflow with a spec\n"
                                       "write it by kubectl get flyteworkflow NAME -o yaml");
    } else if (root != NULL && is_whole(&resource, root)) {
        read_all(&resource, root, spec, files);
    }
    if (arena->error != 0) {
        return arena->error;
    }
    return tr_report_total(report) > 0 ? TR_INVALID : 0;
}
