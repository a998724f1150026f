/*
 * A package with what it refers to. Tasks come first, as map tasks are changed before nodes of them
 * are looked at; then workflows, then launch plans.
 */
#include "actors/graph/compiler/fill.h"
#include "actors/graph/flyte/flyte_message.h"
#include "actors/graph/import/import.h"
#include "actors/graph/import/import_inside.h"
#include "schemas/codec/error.h"

void tri_import_open(struct tri_import *import, struct tri_definition *definition)
{
    import->definition = definition;
    import->arena = definition->scratch;
    import->report = definition->report;
    tr_types_init(&import->types, import->arena);
    definition->has_any_names = true;
    import->report->is_flytes = true;
}

/* ------------------------------------------------------------------ packages */

struct importing {
    const struct tr_flyte_package *package;
    const struct tr_import_place *place;
    int error; /* of the package's own functions */
};

/* What is said of it for people, as its bytes. */
static struct tr_bytes description_of(struct tr_arena *arena, const struct tri_flyte_entity *entity)
{
    struct tr_buffer bytes;
    tr_buffer_init(&bytes, 0);
    if (entity->description != NULL) {
        tr_flyte_message_pack(&entity->description->base, &bytes);
    }
    struct tr_bytes kept = tr_arena_bytes(arena, tr_buffer_bytes(&bytes));
    arena->error = arena->error != 0 ? arena->error : bytes.error;
    tr_buffer_fini(&bytes);
    return kept;
}

/* Shows each entity of the package itself, for keeping it. */
static int keep(const struct tr_flyte_package *package, struct tr_arena *arena,
                const struct tri_vector *entities)
{
    const struct tri_flyte_entity *items = entities->items;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < entities->count; i++) {
        const struct tr_entity entity = {
            .project = tr_text_of(items[i].id->project),
            .domain = tr_text_of(items[i].id->domain),
            .kind = (uint8_t)items[i].kind,
            .name = tr_text_of(items[i].id->name),
            .version = tr_text_of(items[i].id->version),
            .message = items[i].packed,
            .code = package->code,
            .path = items[i].kind == TR_ENTITY_TASK
                        ? tri_import_path(package, (const flyte_task *)items[i].message)
                        : tr_text_of(""),
            .python_path = package->python_path,
            .warm = package->warm,
            .description = description_of(arena, &items[i]),
        };
        error = items[i].applied != NULL ? 0 : package->keep(package->self, &entity);
    }
    return error;
}

/* The defaults of a workflow's inputs stand in the launch plan of its name. */
static const Flyteidl__Core__ParameterMap *defaults_for(const struct tri_import *import,
                                                        const flyte_identifier *workflow)
{
    const struct tri_flyte_entity *entity = tri_import_find(import, TR_ENTITY_PLAN, workflow);
    const flyte_plan *plan = entity == NULL ? NULL : (const flyte_plan *)entity->message;
    return plan != NULL && tri_import_is_default(plan) ? plan->spec->default_inputs : NULL;
}

/* A default plan without its workflow is a plan, which then says what is missing. */
static bool is_plan(const struct tri_import *import, const struct tri_flyte_entity *entity)
{
    return entity->kind == TR_ENTITY_PLAN &&
           (!tri_import_is_default((const flyte_plan *)entity->message) ||
            tri_import_find_workflow(import, entity->id) == NULL);
}

void tri_import_entities(struct tri_import *import)
{
    const struct tri_flyte_entity *entities = import->entities;
    for (uint32_t i = 0; i < import->entity_count; i++) {
        if (entities[i].kind == TR_ENTITY_TASK) {
            tri_import_task(import, &entities[i]);
        }
    }
    for (uint32_t i = 0; i < import->entity_count; i++) {
        if (entities[i].kind == TR_ENTITY_WORKFLOW) {
            tri_import_workflow(import, &entities[i], defaults_for(import, entities[i].id));
        }
    }
    for (uint32_t i = 0; i < import->entity_count; i++) {
        if (is_plan(import, &entities[i])) {
            tri_import_plan(import, &entities[i]);
        } else if (entities[i].kind == TR_ENTITY_PLAN) {
            tri_import_note_run(import, (const flyte_plan *)entities[i].message);
        }
    }
}

/* Where project and domain are no names, nothing else is. */
static struct tr_text place_name(struct tri_import *import, struct tr_text name)
{
    bool is_fine = tri_keys_check_any_name(import->definition, name);
    return is_fine ? tri_import_keep(import, name) : tr_text_of("");
}

static void fill_package(void *self, struct tri_definition *definition)
{
    struct importing *importing = self;
    const struct tr_flyte_package *package = importing->package;
    struct tri_vector entities = {0};
    struct tri_import import = {.package = package,
                                .files = package->literals,
                                .project = package->project,
                                .domain = package->domain,
                                .version = package->version};
    tri_import_open(&import, definition);
    tri_definition_begin(definition, importing->place->path,
                         tr_arena_text(definition->arena, importing->place->folder));
    definition->project = place_name(&import, package->project);
    definition->domain = place_name(&import, package->domain);
    if (!tri_flyte_entities(package, import.arena, import.report, &entities)) {
        return;
    }
    import.entities = entities.items;
    import.entity_count = entities.count;
    if (!tri_import_sort(&import)) {
        return;
    }
    tri_flyte_note_unused(&entities, import.report);
    if (package->keep != NULL) {
        importing->error = keep(package, import.arena, &entities);
    }
    if (importing->error == 0) {
        tri_import_entities(&import);
    }
}

int tr_import_package(const struct tr_flyte_package *package, const struct tr_import_place *place,
                      struct tr_report *report, struct tr_graph **graph)
{
    struct importing importing = {.package = package, .place = place};
    const struct tri_compile_filler filler = {.fill = fill_package, .self = &importing};
    struct tr_graph *made = NULL;
    int error = tri_compile_filled(&filler, place->path, report, &made);
    if (importing.error != 0) {
        tr_graph_free(made);
        return importing.error;
    }
    if (error == 0) {
        *graph = made;
    }
    return error;
}
