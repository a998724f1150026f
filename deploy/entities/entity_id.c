/*
 * Ids and rows. Types of ids that clients leave open or fill in wrongly are not looked at where the
 * call says what is meant.
 */
#include "deploy/entities/entity_id.h"

#include <string.h>

#include "schemas/codec/error.h"

static const Flyteidl__Core__ResourceType types[] = {
    [TR_ENTITY_NONE] = FLYTEIDL__CORE__RESOURCE_TYPE__UNSPECIFIED,
    [TR_ENTITY_TASK] = FLYTEIDL__CORE__RESOURCE_TYPE__TASK,
    [TR_ENTITY_WORKFLOW] = FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW,
    [TR_ENTITY_PLAN] = FLYTEIDL__CORE__RESOURCE_TYPE__LAUNCH_PLAN};

bool tri_id_check_part(struct tri_job *job, const char *part, const char *name)
{
    if (part == NULL || part[0] == '\0') {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "missing %s", name);
        return false;
    }
    if (strlen(part) > TR_ENTITY_ID_BYTES_MAX) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                     "%s has more than %u bytes (TR_ENTITY_ID_BYTES_MAX)", name,
                     TR_ENTITY_ID_BYTES_MAX);
        return false;
    }
    for (size_t i = 0; part[i] != '\0'; i++) {
        if ((uint8_t)part[i] < ' ') {
            tri_job_fail(job, TR_API_INVALID_ARGUMENT, "%s holds a control character", name);
            return false;
        }
    }
    return true;
}

bool tri_id_read(struct tri_job *job, const Flyteidl__Core__Identifier *id,
                 enum tr_entity_kind kind, struct tr_entity *entity)
{
    if (id == NULL) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "missing id");
        return false;
    }
    if (!tri_id_check_part(job, id->project, "project") ||
        !tri_id_check_part(job, id->domain, "domain") ||
        !tri_id_check_part(job, id->name, "name") ||
        !tri_id_check_part(job, id->version, "version")) {
        return false;
    }
    *entity = (struct tr_entity){.project = tr_text_of(id->project),
                                 .domain = tr_text_of(id->domain),
                                 .kind = (uint8_t)kind,
                                 .name = tr_text_of(id->name),
                                 .version = tr_text_of(id->version)};
    return true;
}

Flyteidl__Core__Identifier *tri_id_new(struct tri_job *job, const struct tr_entity *entity)
{
    Flyteidl__Core__Identifier *id = tri_job_new(job, &flyteidl__core__identifier__descriptor);
    if (id != NULL) {
        id->resource_type = tri_type_of(entity->kind);
        id->project = tri_job_string(job, entity->project);
        id->domain = tri_job_string(job, entity->domain);
        id->name = tri_job_string(job, entity->name);
        id->version = tri_job_string(job, entity->version);
    }
    return job->arena.error != 0 ? NULL : id;
}

Flyteidl__Admin__NamedEntityIdentifier *tri_name_new(struct tri_job *job, struct tr_text project,
                                                     struct tr_text domain, struct tr_text name)
{
    Flyteidl__Admin__NamedEntityIdentifier *id =
        tri_job_new(job, &flyteidl__admin__named_entity_identifier__descriptor);
    if (id != NULL) {
        id->project = tri_job_string(job, project);
        id->domain = tri_job_string(job, domain);
        id->name = tri_job_string(job, name);
    }
    return job->arena.error != 0 ? NULL : id;
}

enum tr_entity_kind tri_kind_read(struct tri_job *job, Flyteidl__Core__ResourceType type)
{
    for (size_t i = TR_ENTITY_TASK; i < TR_COUNT_OF(types); i++) {
        if (types[i] == type) {
            return (enum tr_entity_kind)i;
        }
    }
    tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                 "resource_type has to be TASK, WORKFLOW or LAUNCH_PLAN");
    return TR_ENTITY_NONE;
}

Flyteidl__Core__ResourceType tri_type_of(uint8_t kind)
{
    return types[kind < TR_COUNT_OF(types) ? kind : TR_ENTITY_NONE];
}

bool tri_entity_find(struct tri_job *job, struct tr_entity *entity)
{
    int error = tri_view_find(job->registrar, &job->arena, entity);
    if (error == TR_NOT_FOUND) {
        tri_job_fail(job, TR_API_NOT_FOUND,
                     "missing entity of type %s with identifier project:\"%.*s\" "
                     "domain:\"%.*s\" name:\"%.*s\" version:\"%.*s\"",
                     tr_entity_kind_word(entity->kind), TRI_SHOWN(entity->project),
                     TRI_SHOWN(entity->domain), TRI_SHOWN(entity->name),
                     TRI_SHOWN(entity->version));
    } else if (error != 0) {
        tri_job_fail_error(job, error, job->registrar->view.words);
    }
    return error == 0;
}
