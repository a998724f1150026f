/*
 * Entities of Flyte's packages that a store keeps (schemas/engine/entity.h).
 */
#ifndef TR_DEPLOY_HISTORY_ENTITIES_H
#define TR_DEPLOY_HISTORY_ENTITIES_H

#include "actors/graph/document/arena.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/entity.h"

/*
 * Finds an entity by the five fields of its id; the others are put into the arena. The workflow and
 * the plan of a single task are there if the task is (actors/graph/flyte/flyte_single.h).
 * TR_NOT_FOUND, TR_MEMORY, and what the reader says: then it is as it was.
 */
TR_MUST_USE int tr_entities_find(struct tr_reader *reader, struct tr_arena *arena,
                                 struct tr_entity *entity);

/* Shows all of a project and a domain. A nonzero result of `show` ends it and is returned. */
TR_MUST_USE int tr_entities_each(struct tr_reader *reader, struct tr_text project,
                                 struct tr_text domain, int (*show)(void *self, const void *entity),
                                 void *self);

#endif
