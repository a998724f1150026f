/*
 * What a dynamic task of Flyte's decides, futures.pb: tasks and workflows of its own, and the nodes
 * that run in its place. What it does not bring along is in the graph of the task, or was applied.
 *
 * The graph of the task says of which package it is only by what its tasks find in their
 * environments. Ids of that package are names of the graph; any other id is one of what was
 * applied, unless the graph has that already.
 */
#include <flyteidl/dynamic_job.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/fill.h"
#include "actors/graph/flyte/flyte_applied.h"
#include "actors/graph/import/import.h"
#include "actors/graph/import/import_inside.h"
#include "schemas/codec/error.h"

struct deciding {
    const struct tr_decision *decision;
    const struct tr_import_futures *futures;
    struct tri_import import;
};

/* ------------------------------------------------------------------ the graph around it */

/* The value that a task finds in a variable, or "". */
static struct tr_text variable_of(const struct tr_task *task, const char *name)
{
    for (uint32_t i = 0; i < task->settings.environment_count; i++) {
        const struct tr_environment *variable = &task->settings.environment[i];
        if (tr_text_equal(variable->name, tr_text_of(name))) {
            return variable->value;
        }
    }
    return tr_text_of("");
}

/* One of its tasks that has the name of its id is the package's own, and knows the others. */
static void find_package(struct tri_import *import)
{
    const struct tri_task *tasks = import->definition->tasks.items;
    import->project = import->domain = import->version = tr_text_of("");
    for (uint32_t i = 0; i < import->definition->tasks.count && import->version.size == 0; i++) {
        const struct tr_task *task = &tasks[i].task;
        if (tr_text_equal(variable_of(task, "FLYTE_INTERNAL_TASK_NAME"), task->name)) {
            import->project = variable_of(task, "FLYTE_INTERNAL_TASK_PROJECT");
            import->domain = variable_of(task, "FLYTE_INTERNAL_TASK_DOMAIN");
            import->version = variable_of(task, "FLYTE_INTERNAL_TASK_VERSION");
        }
    }
}

static bool collect_known(struct tri_import *import)
{
    const struct tri_definition *definition = import->definition;
    const struct tri_task *tasks = definition->tasks.items;
    const struct tri_workflow *workflows = definition->workflows.items;
    const struct tri_plan *plans = definition->plans.items;
    size_t room =
        (size_t)definition->tasks.count + definition->workflows.count + definition->plans.count;
    struct tr_text *names = tr_arena_array(import->arena, room, sizeof *names);
    uint32_t count = 0;
    if (names == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < definition->tasks.count; i++) {
        names[count++] = tasks[i].name.text;
    }
    for (uint32_t i = 0; i < definition->workflows.count; i++) {
        names[count++] = workflows[i].name.text;
    }
    for (uint32_t i = 0; i < definition->plans.count; i++) {
        names[count++] = plans[i].name.text;
    }
    if (count > 1) {
        qsort(names, count, sizeof *names, tr_text_order_at);
    }
    import->known = names;
    import->known_count = count;
    return true;
}

/* ------------------------------------------------------------------ what was applied */

/*
 * What the graph has already is not looked up: by its longer name, or of its own package by the
 * name alone. Of a package that was applied or registered a graph has only what it needs.
 */
static int find_applied(void *self, struct tr_arena *arena, struct tr_entity *entity)
{
    const struct deciding *deciding = self;
    const flyte_identifier id = {.project = (char *)(uintptr_t)entity->project.data,
                                 .domain = (char *)(uintptr_t)entity->domain.data,
                                 .name = (char *)(uintptr_t)entity->name.data,
                                 .version = (char *)(uintptr_t)entity->version.data};
    const struct tri_import *import = &deciding->import;
    struct tr_text longer =
        tri_import_applied_name(import, id.project, id.domain, id.name, id.version);
    bool is_there = tri_import_is_known(import, longer) ||
                    (tri_import_is_own(import, &id) && tri_import_is_known(import, entity->name));
    return is_there ? TR_NOT_FOUND
                    : deciding->futures->find(deciding->futures->self, arena, entity);
}

/* ------------------------------------------------------------------ its entities */

static bool add_entity(struct tri_import *import, struct tri_vector *entities,
                       enum tr_entity_kind kind, const flyte_identifier *id,
                       ProtobufCMessage *message)
{
    if (id == NULL) {
        return tri_import_tell(import, "ValueRequired",
                               "a task or a workflow has no id\nserialize it with a name");
    }
    struct tri_flyte_entity *added = tri_vector_add(import->arena, entities, sizeof *added);
    if (added != NULL) {
        *added = (struct tri_flyte_entity){.kind = kind, .id = id, .message = message};
    }
    return added != NULL;
}

/* In the order of the spec, by which they are called; behind them what was applied. */
static bool collect(struct deciding *deciding, const Flyteidl__Core__DynamicJobSpec *spec)
{
    struct tri_import *import = &deciding->import;
    struct tri_vector entities = {0};
    bool is_fine = true;
    for (size_t i = 0; i < spec->n_tasks; i++) {
        is_fine = add_entity(import, &entities, TR_ENTITY_TASK, spec->tasks[i]->id,
                             &spec->tasks[i]->base) &&
                  is_fine;
    }
    for (size_t i = 0; i < spec->n_subworkflows; i++) {
        is_fine = add_entity(import, &entities, TR_ENTITY_WORKFLOW, spec->subworkflows[i]->id,
                             &spec->subworkflows[i]->base) &&
                  is_fine;
    }
    const struct tri_flyte_lookup lookup = {.find = deciding->futures->find == NULL ? NULL
                                                                                    : find_applied,
                                            .self = deciding,
                                            .nodes = spec->nodes,
                                            .node_count = spec->n_nodes};
    is_fine = is_fine && tri_flyte_add_applied(&lookup, import->arena, import->report, &entities);
    import->entities = entities.items;
    import->entity_count = entities.count;
    return is_fine && tri_import_sort(import);
}

/*
 * The spec's own nodes come last: workflows set the nodes that references are looked up among. Its
 * inputs are those of the task, which the spec does not name.
 */
static bool fill_futures(void *self, struct tri_definition *definition,
                         struct tri_workflow *workflow)
{
    struct deciding *deciding = self;
    struct tri_import *import = &deciding->import;
    tri_import_open(import, definition);
    const Flyteidl__Core__DynamicJobSpec *spec = tri_wire_unpack(
        import->arena, &flyteidl__core__dynamic_job_spec__descriptor, deciding->futures->bytes);
    if (spec == NULL) {
        if (import->arena->error == 0) {
            (void)tri_flyte_refuse(import->report, "futures.pb is no DynamicJobSpec of Flyte's");
        }
        return false;
    }
    find_package(import);
    if (!collect_known(import) || !collect(deciding, spec)) {
        return false;
    }
    tri_import_entities(import);
    import->inputs = NULL;
    import->is_interruptible = false;
    bool is_fine = tri_import_nodes(import, spec->nodes, spec->n_nodes, workflow);
    return tri_import_bound_outputs(import, NULL, spec->outputs, spec->n_outputs, workflow) &&
           is_fine;
}

int tr_import_decide(const struct tr_decision *decision, const struct tr_import_futures *futures,
                     struct tr_report *report, struct tr_graph **graph)
{
    struct deciding deciding = {.decision = decision,
                                .futures = futures,
                                .import = {.files = futures->files, .depth = decision->depth}};
    const struct tri_decide_filler filler = {.fill = fill_futures, .self = &deciding};
    /* The first file, of which all is that has no place. */
    (void)tri_report_source(report, decision->path);
    return tri_decide_filled(decision, &filler, report, graph);
}
