/*
 * Workflows and launch plans of a single task, which nobody registers: Flyte makes them when a task
 * is run on its own. Each follows from its task, so it is made whenever it is looked up.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_SINGLE_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_SINGLE_H

#include "actors/graph/document/arena.h"
#include "schemas/engine/entity.h"

/* What stands in front of the name of the task. */
#define TR_FLYTE_SINGLE_PREFIX ".flytegen."

/* Whether an id is that of such a workflow or plan; if so, the id of its task. */
bool tr_flyte_single_of(const struct tr_entity *entity, struct tr_entity *task);

/*
 * Makes one whose id is set, of its task, which was found. TR_INVALID: the task is damaged;
 * TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_flyte_single_make(struct tr_arena *arena, const struct tr_entity *task,
                                     struct tr_entity *entity);

#endif
