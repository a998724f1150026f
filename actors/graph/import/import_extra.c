/*
 * What nodes say that nobody acts on here, beside their place in the graph: it is kept, as the JSON
 * of a node of Flyte's that says no more than this.
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
