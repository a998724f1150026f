/*
 * The entities of a package: tasks, workflows and launch plans, each known by its id. Only what
 * speaks protobuf includes this: the files flyte*.c, and ../import/, which makes definitions of
 * them.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_ENTITY_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_ENTITY_H

#include <flyteidl/admin_description_entity.pb-c.h>
#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/workflow.pb-c.h>

#include "actors/graph/flyte/flyte_inside.h"

/* Inputs of a workflow are outputs of its start node in Flyte. */
#define TRI_FLYTE_START_NODE "start-node"
#define TRI_FLYTE_END_NODE "end-node"

struct tri_flyte_entity {
    enum tr_entity_kind kind;
    const Flyteidl__Core__Identifier *id;
    ProtobufCMessage *message; /* a TaskTemplate, a WorkflowTemplate or a LaunchPlan */
    struct tr_bytes packed;    /* maps in the order of their keys: the same for equal entities */
    const Flyteidl__Admin__DescriptionEntity *description; /* or NULL */
    const struct tr_entity *applied; /* with another package, whose row it is; NULL: of this one */
};

/* Whether two ids name the same. */
bool tri_flyte_is_same(const Flyteidl__Core__Identifier *a, const Flyteidl__Core__Identifier *b);

/* Orders entities by their kinds and ids, for qsort and bsearch. */
int tri_flyte_entity_order(const void *left, const void *right);

/* Unpacks the message of an entity of a kind, as it was packed here. False: it is none. */
TR_MUST_USE bool tri_flyte_unpack(struct tr_arena *arena, struct tr_bytes packed,
                                  struct tri_flyte_entity *entity);

/*
 * Reads all files of a package. Ids are filled in wherever they stand; what is there twice is there
 * once. The entities are sorted by kind and id; behind them stands what was applied with others and
 * is referred to. False: the report says what is wrong, or memory
 * ended.
 */
TR_MUST_USE bool tri_flyte_entities(const struct tr_flyte_package *package, struct tr_arena *arena,
                                    struct tr_report *report, struct tri_vector *entities);

/* Warns of what entities say and nobody acts on here, once for each kind of thing. */
void tri_flyte_note_unused(const struct tri_vector *entities, struct tr_report *report);

#endif
