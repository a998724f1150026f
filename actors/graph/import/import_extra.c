/*
 * What nodes and plugins' tasks say that nobody acts on here: it is kept, as the JSON of a message
 * of Flyte's that says no more than this, and handed to plugins.
 */
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

/* ------------------------------------------------------------------ tasks */

/* What is no setting of ours. */
static void take_metadata(const Flyteidl__Core__TaskMetadata *metadata,
                          Flyteidl__Core__TaskMetadata *extra)
{
    flyteidl__core__task_metadata__init(extra);
    extra->runtime = metadata->runtime;
    extra->deprecated_error_message = metadata->deprecated_error_message;
    extra->n_tags = metadata->n_tags;
    extra->tags = metadata->tags;
    extra->pod_template_name = metadata->pod_template_name;
    extra->generates_deck = metadata->generates_deck;
    extra->metadata = metadata->metadata;
    extra->is_eager = metadata->is_eager;
}

const struct tr_tree *tri_import_task_extra(struct tri_import *import, const flyte_task *message)
{
    flyte_task extra;
    Flyteidl__Core__TaskMetadata metadata;
    flyteidl__core__task_template__init(&extra);
    if (message->metadata != NULL) {
        take_metadata(message->metadata, &metadata);
        extra.metadata = is_empty(&metadata.base) ? NULL : &metadata;
    }
    extra.n_config = message->n_config;
    extra.config = message->config;
    extra.task_type_version = message->task_type_version;
    extra.security_context = message->security_context;
    extra.extended_resources = message->extended_resources;
    if (message->target_case == FLYTEIDL__CORE__TASK_TEMPLATE__TARGET_SQL) {
        extra.target_case = message->target_case;
        extra.sql = message->sql;
    }
    return is_empty(&extra.base) ? NULL
                                 : tri_flyte_json(import->arena, &extra.base, TRI_FLYTE_JSON_WHOLE);
}
