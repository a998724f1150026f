/*
 * What all of the room goes by: entities by their ids, what they are called in the definition, and
 * how errors of them are told.
 */
#include "actors/graph/import/import_inside.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ entities */

static int by_id(const void *left, const void *right)
{
    const struct tri_flyte_entity *const *a = left;
    const struct tri_flyte_entity *const *b = right;
    return tri_flyte_entity_order(*a, *b);
}

bool tri_import_sort(struct tri_import *import)
{
    uint32_t count = import->entity_count;
    import->sorted = tr_arena_array(import->arena, count, sizeof(void *));
    for (uint32_t i = 0; import->sorted != NULL && i < count; i++) {
        import->sorted[i] = &import->entities[i];
    }
    if (import->sorted != NULL && count > 1) {
        qsort((void *)import->sorted, count, sizeof(void *), by_id);
    }
    return import->sorted != NULL;
}

const struct tri_flyte_entity *tri_import_find(const struct tri_import *import,
                                               enum tr_entity_kind kind, const flyte_identifier *id)
{
    const struct tri_flyte_entity wanted = {.kind = kind, .id = id};
    const struct tri_flyte_entity *key = &wanted;
    const struct tri_flyte_entity *const *found =
        id == NULL || import->entity_count == 0
            ? NULL
            : bsearch(&key, (const void *)import->sorted, import->entity_count, sizeof(void *),
                      by_id);
    return found == NULL ? NULL : *found;
}

const flyte_task *tri_import_find_task(const struct tri_import *import, const flyte_identifier *id)
{
    const struct tri_flyte_entity *entity = tri_import_find(import, TR_ENTITY_TASK, id);
    return entity == NULL ? NULL : (const flyte_task *)entity->message;
}

const flyte_workflow *tri_import_find_workflow(const struct tri_import *import,
                                               const flyte_identifier *id)
{
    const struct tri_flyte_entity *entity = tri_import_find(import, TR_ENTITY_WORKFLOW, id);
    return entity == NULL ? NULL : (const flyte_workflow *)entity->message;
}

/* ------------------------------------------------------------------ names */

bool tri_import_is_own(const struct tri_import *import, const flyte_identifier *id)
{
    return id->version[0] == '\0' || (tr_text_equal(tr_text_of(id->project), import->project) &&
                                      tr_text_equal(tr_text_of(id->domain), import->domain) &&
                                      tr_text_equal(tr_text_of(id->version), import->version));
}

/* NAME:VERSION, and of another project or domain that in front of it, as Flyte writes ids. */
struct tr_text tri_import_applied_name(const struct tri_import *import, const char *project,
                                       const char *domain, const char *name, const char *version)
{
    bool is_near = tr_text_equal(tr_text_of(project), import->definition->project) &&
                   tr_text_equal(tr_text_of(domain), import->definition->domain);
    return is_near ? tr_arena_print(import->arena, "%s:%s", name, version)
                   : tr_arena_print(import->arena, "%s:%s:%s:%s", project, domain, name, version);
}

static struct tr_text long_name(const struct tri_import *import, const flyte_identifier *id)
{
    return tri_import_applied_name(import, id->project, id->domain, id->name, id->version);
}

bool tri_import_is_known(const struct tri_import *import, struct tr_text name)
{
    return tr_text_search(name, import->known, import->known_count, sizeof *import->known) != NULL;
}

/* What stands behind the last point. */
static const char *last_part(const char *name)
{
    const char *point = strrchr(name, '.');
    return point == NULL ? name : point + 1;
}

/*
 * In a package the name of the id: one package is one project, one domain and one version; what
 * was applied with others has a longer one, unless all of it was. Of what futures.pb brings along
 * it is LAST-DEPTH-POSITION, where LAST is what stands behind the last point, cut to 40 bytes: the
 * names of the graphs around are known inside, and must not clash; equal graphs have equal names.
 * What it does not bring along the graph around it has, by its longer name, its name or LAST alone
 * (compiler/compile_workflow.c). A launch plan that is not there stands for the workflow of its
 * name.
 */
struct tr_text tri_import_name_of(const struct tri_import *import, enum tr_entity_kind kind,
                                  const flyte_identifier *id)
{
    const struct tri_flyte_entity *entity = tri_import_find(import, kind, id);
    if (entity == NULL && kind == TR_ENTITY_PLAN) {
        entity = tri_import_find(import, TR_ENTITY_WORKFLOW, id);
    }
    if (entity != NULL && entity->applied != NULL) {
        bool is_alone = import->package != NULL && import->package->is_kept;
        return is_alone && tri_import_is_own(import, id) ? tr_text_of(id->name)
                                                         : long_name(import, id);
    }
    if (entity != NULL && import->package == NULL) {
        return tr_arena_print(import->arena, "%.40s-%u-%u", last_part(id->name), import->depth,
                              (uint32_t)(entity - import->entities));
    }
    bool is_around = entity == NULL && import->known_count > 0 &&
                     tri_import_is_known(import, long_name(import, id));
    return is_around ? long_name(import, id) : tr_text_of(id->name);
}

/* Whether the graph around futures.pb has what an id names; of a package nothing is around. */
static bool is_around(const struct tri_import *import, const flyte_identifier *id)
{
    return import->known_count > 0 &&
           (tri_import_is_known(import, long_name(import, id)) ||
            tri_import_is_known(import, tr_text_of(id->name)) ||
            tri_import_is_known(import, tr_text_of(last_part(id->name))));
}

bool tri_import_check_reference(struct tri_import *import, enum tr_entity_kind kind,
                                const flyte_identifier *id)
{
    bool is_there = tri_import_is_own(import, id) || tri_import_find(import, kind, id) != NULL ||
                    (kind == TR_ENTITY_PLAN && tri_import_find_workflow(import, id) != NULL) ||
                    is_around(import, id);
    if (is_there) {
        return true;
    }
    struct tr_text words = tr_arena_print(
        import->arena,
        "there is no %s '%s' of version %s in project %s, domain %s\n"
        "apply the package that has it: troupe apply PACKAGE --project %s --domain %s --version %s",
        tr_entity_kind_word((uint8_t)kind), id->name, id->version, id->project, id->domain,
        id->project, id->domain, id->version);
    return tri_import_tell(
        import, kind == TR_ENTITY_TASK ? "TaskReferenceNotFound" : "WorkflowReferenceNotFound",
        words.data == NULL ? "" : words.data);
}

/* ------------------------------------------------------------------ errors */

bool tri_import_tell(struct tri_import *import, const char *code, const char *words)
{
    tri_report_add(import->report, TRI_IMPORT_NOWHERE, code, "%s", words);
    return false;
}

bool tri_import_is_told(struct tri_import *import, bool is_fine)
{
    if (!is_fine && tr_report_total(import->report) == 0) {
        (void)tri_import_tell(import, "InvalidValue", "it cannot be read");
    }
    return !is_fine;
}

/* ENTITY.NODE, ENTITY.NODE.inputs.NAME */
struct tr_text tri_import_begin(struct tri_import *import, const char *part, const char *name)
{
    struct tr_text whole = import->report->subject;
    struct tr_text inner =
        whole.size == 0 ? tr_text_of(name)
                        : tr_arena_print(import->arena, "%.*s.%s%s", TRI_TEXT(whole), part, name);
    return tri_report_subject(import->report, inner);
}

struct tr_text tri_import_keep(struct tri_import *import, struct tr_text text)
{
    return tr_arena_text(import->definition->arena, text);
}

bool tri_import_check_unique(struct tri_import *import, const void *items, uint32_t count,
                             size_t size, const char *noun)
{
    struct tr_text *names = tr_arena_array(import->arena, count, sizeof *names);
    bool is_fine = names != NULL;
    for (uint32_t i = 0; names != NULL && i < count; i++) {
        names[i] = *(const struct tr_text *)(const void *)((const char *)items + i * size);
    }
    if (names != NULL && count > 1) {
        qsort(names, count, sizeof *names, tr_text_order_at);
    }
    for (uint32_t i = 1; names != NULL && i < count; i++) {
        if (tr_text_equal(names[i - 1], names[i])) {
            tri_report_add(import->report, TRI_IMPORT_NOWHERE, "DuplicateId",
                           "the %s '%.*s' is there twice\nkeep one of them", noun,
                           TRI_SHOWN(names[i]));
            is_fine = false;
        }
    }
    return is_fine;
}
