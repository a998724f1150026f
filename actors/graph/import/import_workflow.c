/*
 * Workflows: their inputs, nodes, outputs, and what runs when they fail.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/import/import_inside.h"

#define POLICY(name) FLYTEIDL__CORE__WORKFLOW_METADATA__ON_FAILURE_POLICY__##name
#define FINISH_RUNNABLE POLICY(FAIL_AFTER_EXECUTABLE_NODES_COMPLETE)

/* ------------------------------------------------------------------ nodes by their ids */

static int by_id(const void *left, const void *right)
{
    const flyte_node *const *a = left;
    const flyte_node *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

/* Flyte's start and end node, which a template that was compiled before has. */
static bool is_sentinel(const flyte_node *node)
{
    return strcmp(node->id, TRI_FLYTE_START_NODE) == 0 || strcmp(node->id, TRI_FLYTE_END_NODE) == 0;
}

/* Ids that are there twice are told, and each is kept once. */
static bool sort_nodes(struct tri_import *import, flyte_node **nodes, size_t count)
{
    const flyte_node **sorted = tr_arena_array(import->arena, count, sizeof(void *));
    size_t kept = 0;
    bool is_fine = sorted != NULL;
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        sorted[i] = nodes[i];
    }
    if (sorted != NULL && count > 1) {
        qsort((void *)sorted, count, sizeof(void *), by_id);
    }
    for (size_t i = 0; sorted != NULL && i < count; i++) {
        if (kept > 0 && by_id(&sorted[kept - 1], &sorted[i]) == 0) {
            struct tr_text before = tri_import_begin(import, "", sorted[i]->id);
            is_fine = tri_import_tell(import, "DuplicateId",
                                      "Trying to insert two nodes with the same id.\n"
                                      "give each an id of its own");
            (void)tri_report_subject(import->report, before);
        } else {
            sorted[kept++] = sorted[i];
        }
    }
    import->nodes = sorted;
    import->node_count = sorted == NULL ? 0 : kept;
    return is_fine;
}

const flyte_node *tri_import_find_node(const struct tri_import *import, const char *id)
{
    const flyte_node wanted = {.id = (char *)(uintptr_t)id};
    const flyte_node *key = &wanted;
    const flyte_node *const *found =
        import->node_count == 0
            ? NULL
            : bsearch(&key, (const void *)import->nodes, import->node_count, sizeof(void *), by_id);
    return found == NULL ? NULL : *found;
}

/* One that could not be read is known by its id alone, and nothing is told of who refers to it. */
static void fill_node(struct tri_import *import, const flyte_node *message, struct tri_name id,
                      struct tri_node *node)
{
    if (tri_import_is_told(import, tri_import_node(import, message, id, 0, node))) {
        tri_definition_begin_node(node, id, TRI_IMPORT_NOWHERE);
        node->body = TRI_BODY_TASK;
        node->is_told = true;
    }
}

static bool add_node(struct tri_import *import, const flyte_node *message, struct tri_node *node)
{
    const struct tri_name id = {.text = tr_text_of(message->id)};
    struct tr_text before = tri_import_begin(import, "", message->id);
    bool is_one = tri_keys_check_any_name(import->definition, id.text);
    if (is_one) {
        fill_node(import, message, id, node);
    }
    (void)tri_report_subject(import->report, before);
    return is_one;
}

/*
 * Sets the nodes among which references are looked up. They stay set for the outputs and the
 * handler of the same workflow, so these have to be filled in behind its nodes.
 */
bool tri_import_nodes(struct tri_import *import, flyte_node **nodes, size_t count,
                      struct tri_workflow *workflow)
{
    struct tri_node *made = tr_arena_array(import->arena, count, sizeof *made);
    uint32_t kept = 0;
    bool is_fine = made != NULL && sort_nodes(import, nodes, count);
    for (size_t i = 0; made != NULL && i < count; i++) {
        bool is_own =
            !is_sentinel(nodes[i]) && tri_import_find_node(import, nodes[i]->id) == nodes[i];
        kept += is_own && add_node(import, nodes[i], &made[kept]) ? 1 : 0;
    }
    workflow->nodes = made;
    workflow->node_count = kept;
    return is_fine;
}

/* ------------------------------------------------------------------ outputs */

/* An output that is no reference to a whole value has its declared type: fields have none here. */
static bool has_own_type(const Flyteidl__Core__Binding *output)
{
    return output->binding != NULL &&
           output->binding->value_case == FLYTEIDL__CORE__BINDING_DATA__VALUE_PROMISE &&
           output->binding->promise->n_attr_path == 0;
}

static bool add_output(struct tri_import *import, const flyte_variables *types,
                       const Flyteidl__Core__Binding *output, struct tri_vector *pairs,
                       const struct tr_type **type)
{
    const flyte_type *declared = tri_import_find_variable(types, output->var);
    struct tr_text before = tri_import_begin(import, "outputs.", output->var);
    bool is_typed = declared != NULL && !has_own_type(output);
    bool is_fine = tri_keys_check_any_name(import->definition, tr_text_of(output->var));
    is_fine = tri_import_add_pair(import, pairs, output->var,
                                  tri_import_binding(import, output->binding)) &&
              is_fine;
    if (is_typed) {
        *type = tri_import_type(import, declared);
        is_fine = *type != NULL && is_fine;
    }
    (void)tri_report_subject(import->report, before);
    return is_fine;
}

bool tri_import_bound_outputs(struct tri_import *import, const flyte_variables *types,
                              Flyteidl__Core__Binding *const *outputs, size_t count,
                              struct tri_workflow *workflow)
{
    const struct tr_type **made = tr_arena_array(import->arena, count, sizeof(void *));
    struct tri_vector pairs = {0};
    bool is_fine = made != NULL;
    for (size_t i = 0; made != NULL && i < count; i++) {
        is_fine = add_output(import, types, outputs[i], &pairs, &made[i]) && is_fine;
    }
    workflow->outputs = is_fine ? tri_import_mapping(import, &pairs) : NULL;
    workflow->output_types = made;
    return workflow->outputs != NULL;
}

/* ------------------------------------------------------------------ workflows */

static void fill_handler(struct tri_import *import, const flyte_node *message,
                         struct tri_workflow *workflow)
{
    const struct tri_name id = {.text = tr_text_of("on_failure")};
    struct tri_node *node = tr_arena_alloc(import->arena, sizeof *node);
    struct tr_text before = tri_import_begin(import, "", message->id);
    if (node != NULL) {
        import->is_handler = true;
        fill_node(import, message, id, node);
        import->is_handler = false;
    }
    workflow->on_failure = node;
    (void)tri_report_subject(import->report, before);
}

static bool fill_workflow(struct tri_import *import, const flyte_workflow *message,
                          const Flyteidl__Core__ParameterMap *defaults,
                          struct tri_workflow *workflow)
{
    const Flyteidl__Core__TypedInterface *interface = message->interface;
    bool finishes = message->metadata != NULL && message->metadata->on_failure == FINISH_RUNNABLE;
    import->inputs = interface == NULL ? NULL : interface->inputs;
    import->is_interruptible =
        message->metadata_defaults != NULL && message->metadata_defaults->interruptible;
    bool is_fine = tri_import_inputs(import, import->inputs, defaults, &workflow->inputs,
                                     &workflow->input_places);
    is_fine = tri_import_nodes(import, message->nodes, message->n_nodes, workflow) && is_fine;
    is_fine = tri_import_bound_outputs(import, interface == NULL ? NULL : interface->outputs,
                                       message->outputs, message->n_outputs, workflow) &&
              is_fine;
    if (message->failure_node != NULL) {
        fill_handler(import, message->failure_node, workflow);
    }
    workflow->extra = tri_import_workflow_extra(import, message);
    workflow->policy = finishes ? TR_POLICY_FINISH_RUNNABLE : TR_POLICY_FAIL_IMMEDIATELY;
    return is_fine && (workflow->node_count > 0 ||
                       tri_import_tell(import, "NoNodesFound",
                                       "Can't find any nodes in workflow.\nadd nodes to it"));
}

void tri_import_workflow(struct tri_import *import, const struct tri_flyte_entity *entity,
                         const Flyteidl__Core__ParameterMap *defaults)
{
    struct tri_definition *definition = import->definition;
    struct tr_text name = tri_import_name_of(import, TR_ENTITY_WORKFLOW, entity->id);
    struct tr_text before = tri_report_subject(import->report, tr_text_of(entity->id->name));
    struct tri_workflow *workflow =
        tri_keys_check_any_name(definition, name)
            ? tri_vector_add(import->arena, &definition->workflows, sizeof *workflow)
            : NULL;
    if (workflow != NULL) {
        workflow->name = (struct tri_name){.text = name};
        tri_definition_begin_workflow(definition, workflow);
        workflow->description = tri_import_description(import, entity);
        workflow->is_told = tri_import_is_told(
            import,
            fill_workflow(import, (const flyte_workflow *)entity->message, defaults, workflow));
    }
    (void)tri_report_subject(import->report, before);
}
