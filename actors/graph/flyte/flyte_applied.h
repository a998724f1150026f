/*
 * Entities that are referred to and not brought along: `troupe apply` has kept them with a package,
 * of which they bring along what their tasks find. Only what speaks protobuf includes this.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_APPLIED_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_APPLIED_H

#include "actors/graph/flyte/flyte_entity.h"

/* Where they are looked up, as by tr_flyte_package's function; NULL: there is nothing. */
struct tri_flyte_lookup {
    int (*find)(void *self, struct tr_arena *arena, struct tr_entity *entity);
    void *self;
    /* What refers to some, beside the entities. */
    Flyteidl__Core__Node *const *nodes;
    size_t node_count;
};

/*
 * Adds all that entities refer to, and what that refers to, as far as it is found, behind those
 * that are there. False: memory ended, or the report says why.
 */
TR_MUST_USE bool tri_flyte_add_applied(const struct tri_flyte_lookup *lookup,
                                       struct tr_arena *arena, struct tr_report *report,
                                       struct tri_vector *entities);

#endif
