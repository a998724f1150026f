/*
 * What entities and nodes say that nobody acts on here: it is kept, as the JSON of a message of
 * Flyte's that says no more than this, shown, and handed to plugins. Of launch plans it is all that
 * they say beside what they start and when.
 */
#include <flyteidl/admin_cluster_assignment.pb-c.h>

#include "actors/graph/import/import_inside.h"

static bool is_empty(const ProtobufCMessage *message)
{
    return message == NULL || protobuf_c_message_get_packed_size(message) == 0;
}

/* What a node says that nobody acts on, beside its place in the graph. */
struct extra {
    flyte_node node;
    Flyteidl__Core__NodeMetadata metadata;
    Flyteidl__Core__TaskNode task;
};

static void take_extra(const flyte_node *node, struct extra *extra)
{
    flyteidl__core__node__init(&extra->node);
    flyteidl__core__node_metadata__init(&extra->metadata);
    flyteidl__core__task_node__init(&extra->task);
    if (node->metadata != NULL && node->metadata->n_config > 0) {
        extra->metadata.n_config = node->metadata->n_config;
        extra->metadata.config = node->metadata->config;
        extra->node.metadata = &extra->metadata;
    }
    bool has_overrides = node->target_case == FLYTEIDL__CORE__NODE__TARGET_TASK_NODE &&
                         node->task_node->overrides != NULL &&
                         !is_empty(&node->task_node->overrides->base);
    if (has_overrides) {
        extra->task.overrides = node->task_node->overrides;
        extra->node.target_case = FLYTEIDL__CORE__NODE__TARGET_TASK_NODE;
        extra->node.task_node = &extra->task;
    }
}

/* Of a map also how it keeps its elements, that it has no bound, and what its element says. */
static void take_array_extra(const Flyteidl__Core__ArrayNode *array, struct extra *element,
                             Flyteidl__Core__ArrayNode *extra)
{
    flyteidl__core__array_node__init(extra);
    extra->execution_mode = array->execution_mode;
    extra->data_mode = array->data_mode;
    if (array->parallelism == 0) {
        extra->parallelism_option_case = array->parallelism_option_case;
    }
    if (array->node != NULL) {
        take_extra(array->node, element);
        extra->node = is_empty(&element->node.base) ? NULL : &element->node;
    }
}

const struct tr_tree *tri_import_extra(struct tri_import *import, const flyte_node *message)
{
    struct extra extra;
    struct extra element;
    Flyteidl__Core__ArrayNode array;
    take_extra(message, &extra);
    if (message->target_case == FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE) {
        take_array_extra(message->array_node, &element, &array);
        if (!is_empty(&array.base)) {
            extra.node.target_case = FLYTEIDL__CORE__NODE__TARGET_ARRAY_NODE;
            extra.node.array_node = &array;
        }
    }
    return is_empty(&extra.node.base)
               ? NULL
               : tri_flyte_json(import->arena, &extra.node.base, TRI_FLYTE_JSON_WHOLE);
}

/* ------------------------------------------------------------------ entities */

/* Packed, in the definition's arena; empty: nothing is said. */
static struct tr_bytes pack(struct tri_import *import, const ProtobufCMessage *extra)
{
    struct tr_literal_reader reader = {.report = import->report, .arena = import->arena};
    const struct tr_tree *tree =
        is_empty(extra) ? NULL : tri_flyte_json(import->arena, extra, TRI_FLYTE_JSON_WHOLE);
    struct tr_bytes kept = {.size = 0};
    struct tr_buffer packed;
    tr_buffer_init(&packed, 0);
    if (tree != NULL && tr_literal_read(&reader, NULL, tree, &packed)) {
        kept = tr_arena_bytes(import->definition->arena, tr_buffer_bytes(&packed));
    }
    tr_buffer_fini(&packed);
    return kept;
}

/* What is no setting of ours. */
static void take_metadata(const Flyteidl__Core__TaskMetadata *metadata, bool is_plugins,
                          Flyteidl__Core__TaskMetadata *extra)
{
    flyteidl__core__task_metadata__init(extra);
    extra->deprecated_error_message = metadata->deprecated_error_message;
    extra->n_tags = metadata->n_tags;
    extra->tags = metadata->tags;
    extra->pod_template_name = metadata->pod_template_name;
    extra->metadata = metadata->metadata;
    if (is_plugins || (metadata->generates_deck != NULL && metadata->generates_deck->value)) {
        extra->generates_deck = metadata->generates_deck; /* clients are told where it is */
    }
    if (is_plugins) {
        extra->runtime = metadata->runtime;
        extra->is_eager = metadata->is_eager;
    }
}

/* What a container says that no process here has. */
static void take_container(const Flyteidl__Core__Container *container,
                           Flyteidl__Core__Container *extra)
{
    flyteidl__core__container__init(extra);
    extra->n_ports = container->n_ports;
    extra->ports = container->ports;
    extra->architecture = container->architecture;
}

/* A process has its secrets, and a plugin its configuration. */
struct tr_bytes tri_import_task_extra(struct tri_import *import, const flyte_task *message,
                                      bool is_plugins)
{
    flyte_task extra;
    Flyteidl__Core__TaskMetadata metadata;
    Flyteidl__Core__SecurityContext context;
    Flyteidl__Core__Container container;
    flyteidl__core__task_template__init(&extra);
    flyteidl__core__security_context__init(&context);
    if (message->metadata != NULL) {
        take_metadata(message->metadata, is_plugins, &metadata);
        extra.metadata = is_empty(&metadata.base) ? NULL : &metadata;
    }
    if (message->security_context != NULL) {
        context = *message->security_context;
        context.n_secrets = is_plugins ? context.n_secrets : 0;
        extra.security_context = is_empty(&context.base) ? NULL : &context;
    }
    extra.n_config = message->n_config;
    extra.config = message->config;
    extra.extended_resources =
        message->extended_resources == NULL || is_empty(&message->extended_resources->base)
            ? NULL
            : message->extended_resources;
    if (import->pod != NULL) {
        extra.target_case = FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_K8S_POD;
        extra.k8s_pod = (Flyteidl__Core__K8sPod *)(uintptr_t)import->pod;
    } else if (message->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_CONTAINER) {
        take_container(message->container, &container);
        if (!is_empty(&container.base)) {
            extra.target_case = message->target_case;
            extra.container = &container;
        }
    }
    if (!is_plugins) {
        bool has_custom = message->custom != NULL && message->custom->n_fields > 0;
        bool is_plain = strcmp(message->type, "python-task") == 0;
        extra.custom = has_custom ? message->custom : NULL;
        if (has_custom && !is_plain) { /* an operator's, perhaps: it says whose message this is */
            extra.type = message->type;
            extra.task_type_version = message->task_type_version;
        }
        return pack(import, &extra.base);
    }
    extra.task_type_version = message->task_type_version;
    if (message->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_SQL) {
        extra.target_case = message->target_case;
        extra.sql = message->sql;
    }
    return pack(import, &extra.base);
}

struct tr_bytes tri_import_workflow_extra(struct tri_import *import, const flyte_workflow *message)
{
    flyte_workflow extra;
    Flyteidl__Core__WorkflowMetadata metadata;
    if (message->metadata == NULL) {
        return (struct tr_bytes){.size = 0};
    }
    flyteidl__core__workflow_template__init(&extra);
    metadata = *message->metadata;
    metadata.on_failure = FLYTEIDL__CORE__WORKFLOW_METADATA__ON_FAILURE_POLICY__FAIL_IMMEDIATELY;
    extra.metadata = is_empty(&metadata.base) ? NULL : &metadata;
    return pack(import, &extra.base);
}

/* A part that says nothing is left out: SDKs write several of these. */
#define DROP_EMPTY(part) ((part) = (part) == NULL || is_empty(&(part)->base) ? NULL : (part))

struct tr_bytes tri_import_plan_extra(struct tri_import *import, const flyte_plan *message)
{
    Flyteidl__Admin__LaunchPlanSpec extra = *message->spec;
    Flyteidl__Admin__LaunchPlanMetadata metadata;
    extra.workflow_id = NULL;
    extra.default_inputs = NULL;
    extra.fixed_inputs = NULL;
    if (extra.entity_metadata != NULL) {
        metadata = *extra.entity_metadata;
        metadata.schedule = NULL;
        extra.entity_metadata = &metadata;
    }
    DROP_EMPTY(extra.entity_metadata);
    DROP_EMPTY(extra.labels);
    DROP_EMPTY(extra.annotations);
    DROP_EMPTY(extra.auth);
    DROP_EMPTY(extra.auth_role);
    DROP_EMPTY(extra.security_context);
    DROP_EMPTY(extra.quality_of_service);
    DROP_EMPTY(extra.raw_output_data_config);
    DROP_EMPTY(extra.envs);
    DROP_EMPTY(extra.cluster_assignment);
    DROP_EMPTY(extra.concurrency_policy);
    return pack(import, &extra.base);
}

/* ------------------------------------------------------------------ descriptions */

/* As in a docstring: the first line, and behind an empty one all else. */
struct tr_text tri_import_description(struct tri_import *import,
                                      const struct tri_flyte_entity *entity)
{
    const Flyteidl__Admin__DescriptionEntity *description = entity->description;
    if (description == NULL) {
        return tr_text_of("");
    }
    const Flyteidl__Admin__Description *rest = description->long_description;
    bool has_rest = rest != NULL &&
                    rest->content_case == FLYTEIDL__ADMIN__DESCRIPTION__CONTENT_VALUE &&
                    rest->value[0] != '\0';
    const char *first = description->short_description;
    return tr_arena_print(import->definition->arena, "%s%s%s", first,
                          first[0] != '\0' && has_rest ? "\n\n" : "", has_rest ? rest->value : "");
}
