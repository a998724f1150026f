/*
 * Ids of entities as Flyte writes them.
 */
#ifndef TR_DEPLOY_ENTITIES_ENTITY_ID_H
#define TR_DEPLOY_ENTITIES_ENTITY_ID_H

#include <flyteidl/admin_common.pb-c.h>
#include <flyteidl/identifier.pb-c.h>

#include "deploy/entities/registrar_inside.h"

/* An id that names one entity, as a row of a kind; false: the job has failed. */
TR_MUST_USE bool tri_id_read(struct tri_job *job, const Flyteidl__Core__Identifier *id,
                             enum tr_entity_kind kind, struct tr_entity *entity);

/* The id of a row; NULL: the job has failed. */
TR_MUST_USE Flyteidl__Core__Identifier *tri_id_new(struct tri_job *job,
                                                   const struct tr_entity *entity);

/* The same without a version. */
TR_MUST_USE Flyteidl__Admin__NamedEntityIdentifier *tri_name_new(struct tri_job *job,
                                                                 struct tr_text project,
                                                                 struct tr_text domain,
                                                                 struct tr_text name);

/* The kind of a type, and the other way round; TR_ENTITY_NONE: the job has failed. */
enum tr_entity_kind tri_kind_read(struct tri_job *job, Flyteidl__Core__ResourceType type);
Flyteidl__Core__ResourceType tri_type_of(uint8_t kind);

/* Finds an entity by its id, into the job's arena; false: the job has failed. */
TR_MUST_USE bool tri_entity_find(struct tri_job *job, struct tr_entity *entity);

/* Whether a part of an id is there and not too long; `name` is what it is called in a message. */
TR_MUST_USE bool tri_id_check_part(struct tri_job *job, const char *part, const char *name);

#endif
