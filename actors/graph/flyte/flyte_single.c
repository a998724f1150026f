/*
 * A workflow of one node, whose inputs are those of the workflow and whose outputs are its; and the
 * launch plan that starts it, without defaults. The node is called as the end of the task's name,
 * as far as names of nodes may be.
 */
#include "actors/graph/flyte/flyte_single.h"

#include <string.h>

#include "actors/graph/flyte/flyte_entity.h"
#include "schemas/codec/error.h"

#define NODE_BYTES_MAX 20

typedef Flyteidl__Core__VariableMap variable_map;

static bool has_prefix(struct tr_text name)
{
    size_t size = strlen(TR_FLYTE_SINGLE_PREFIX);
    return name.size > size && memcmp(name.data, TR_FLYTE_SINGLE_PREFIX, size) == 0;
}

bool tr_flyte_single_of(const struct tr_entity *entity, struct tr_entity *task)
{
    size_t size = strlen(TR_FLYTE_SINGLE_PREFIX);
    if ((entity->kind != TR_ENTITY_WORKFLOW && entity->kind != TR_ENTITY_PLAN) ||
        !has_prefix(entity->name)) {
        return false;
    }
    *task = (struct tr_entity){
        .project = entity->project,
        .domain = entity->domain,
        .kind = TR_ENTITY_TASK,
        .name = {.data = entity->name.data + size, .size = entity->name.size - size},
        .version = entity->version};
    return true;
}

/* ------------------------------------------------------------------ parts */

static Flyteidl__Core__Identifier *id_of(struct tr_arena *arena, const struct tr_entity *entity,
                                         Flyteidl__Core__ResourceType type)
{
    Flyteidl__Core__Identifier *id = tri_flyte_new(arena, &flyteidl__core__identifier__descriptor);
    if (id != NULL) {
        id->resource_type = type;
        id->project = tri_flyte_string(arena, entity->project, &arena->error);
        id->domain = tri_flyte_string(arena, entity->domain, &arena->error);
        id->name = tri_flyte_string(arena, entity->name, &arena->error);
        id->version = tri_flyte_string(arena, entity->version, &arena->error);
    }
    return id;
}

static char *node_id(struct tr_arena *arena, const char *task)
{
    size_t size = strlen(task);
    const char *from = size > NODE_BYTES_MAX ? task + size - NODE_BYTES_MAX : task;
    const char *point = strrchr(from, '.');
    from = point != NULL && point[1] != '\0' ? point + 1 : from;
    char *id = tri_flyte_string(arena, tr_text_of(from), &arena->error);
    for (char *at = id; at != NULL && *at != '\0'; at++) {
        bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        bool is_digit = *at >= '0' && *at <= '9' && at > id;
        *at = (char)(is_letter || is_digit || (*at == '-' && at > id) ? *at : at == id ? 'n' : '-');
    }
    return id;
}

/* A binding for each variable, to an output of a node or, without one, to the workflow's inputs. */
static Flyteidl__Core__Binding **bind(struct tr_arena *arena, const variable_map *variables,
                                      char *node, size_t *count)
{
    *count = variables == NULL ? 0 : variables->n_variables;
    Flyteidl__Core__Binding **bindings = tr_arena_array(arena, *count, sizeof(void *));
    for (size_t i = 0; bindings != NULL && i < *count; i++) {
        Flyteidl__Core__OutputReference *promise =
            tri_flyte_new(arena, &flyteidl__core__output_reference__descriptor);
        Flyteidl__Core__BindingData *data =
            tri_flyte_new(arena, &flyteidl__core__binding_data__descriptor);
        bindings[i] = tri_flyte_new(arena, &flyteidl__core__binding__descriptor);
        if (promise == NULL || data == NULL || bindings[i] == NULL) {
            return NULL;
        }
        promise->node_id = node;
        promise->var = variables->variables[i]->key;
        data->value_case = FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE;
        data->promise = promise;
        bindings[i]->var = variables->variables[i]->key;
        bindings[i]->binding = data;
    }
    return bindings;
}

static Flyteidl__Core__Node *node_of(struct tr_arena *arena,
                                     const Flyteidl__Core__TaskTemplate *task)
{
    static char none[] = "";
    const Flyteidl__Core__TypedInterface *interface = task->interface;
    Flyteidl__Core__Node *node = tri_flyte_new(arena, &flyteidl__core__node__descriptor);
    Flyteidl__Core__NodeMetadata *metadata =
        tri_flyte_new(arena, &flyteidl__core__node_metadata__descriptor);
    Flyteidl__Core__TaskNode *target = tri_flyte_new(arena, &flyteidl__core__task_node__descriptor);
    if (node == NULL || metadata == NULL || target == NULL) {
        return NULL;
    }
    metadata->name = task->id->name;
    target->reference_case = FLYTEIDL__CORE__TASK_NODE__REFERENCE_REFERENCE_ID;
    target->reference_id = task->id;
    node->id = node_id(arena, task->id->name);
    node->metadata = metadata;
    node->inputs = bind(arena, interface == NULL ? NULL : interface->inputs, none, &node->n_inputs);
    node->target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
    node->task_node = target;
    return node;
}

/* ------------------------------------------------------------------ entities */

static const ProtobufCMessage *workflow_of(struct tr_arena *arena, const struct tr_entity *entity,
                                           const Flyteidl__Core__TaskTemplate *task)
{
    Flyteidl__Core__WorkflowTemplate *workflow =
        tri_flyte_new(arena, &flyteidl__core__workflow_template__descriptor);
    Flyteidl__Core__Node **nodes = tr_arena_array(arena, 1, sizeof(void *));
    if (workflow == NULL || nodes == NULL) {
        return NULL;
    }
    nodes[0] = node_of(arena, task);
    if (nodes[0] == NULL) {
        return NULL;
    }
    workflow->id = id_of(arena, entity, FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW);
    workflow->interface = task->interface;
    workflow->n_nodes = 1;
    workflow->nodes = nodes;
    workflow->outputs = bind(arena, task->interface == NULL ? NULL : task->interface->outputs,
                             nodes[0]->id, &workflow->n_outputs);
    return &workflow->base;
}

static const ProtobufCMessage *plan_of(struct tr_arena *arena, const struct tr_entity *entity)
{
    Flyteidl__Admin__LaunchPlan *plan =
        tri_flyte_new(arena, &flyteidl__admin__launch_plan__descriptor);
    Flyteidl__Admin__LaunchPlanSpec *spec =
        tri_flyte_new(arena, &flyteidl__admin__launch_plan_spec__descriptor);
    if (plan == NULL || spec == NULL) {
        return NULL;
    }
    spec->workflow_id = id_of(arena, entity, FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW);
    plan->id = id_of(arena, entity, FLYTEIDL__CORE__RESOURCE_TYPE__LAUNCH_PLAN);
    plan->spec = spec;
    return &plan->base;
}

int tr_flyte_single_make(struct tr_arena *arena, const struct tr_entity *task,
                         struct tr_entity *entity)
{
    struct tri_flyte_entity read = {.kind = TR_ENTITY_TASK};
    if (!tri_flyte_unpack(arena, task->message, &read)) {
        return arena->error != 0 ? arena->error : TR_INVALID;
    }
    const ProtobufCMessage *made =
        entity->kind == TR_ENTITY_PLAN
            ? plan_of(arena, entity)
            : workflow_of(arena, entity, (const Flyteidl__Core__TaskTemplate *)read.message);
    size_t size = made == NULL || arena->error != 0 ? 0 : protobuf_c_message_get_packed_size(made);
    uint8_t *packed = tr_arena_alloc(arena, size + 1);
    if (made == NULL || packed == NULL || arena->error != 0) {
        return arena->error;
    }
    entity->message =
        (struct tr_bytes){.data = packed, .size = protobuf_c_message_pack(made, packed)};
    entity->code = entity->path = entity->python_path = entity->warm = tr_text_of("");
    entity->description = (struct tr_bytes){.size = 0};
    entity->is_active = false;
    entity->applied_ms = entity->updated_ms = task->applied_ms;
    return 0;
}
