/*
 * Entities that a package refers to and does not hold: `troupe apply` has kept them with another
 * package, of which they bring along what their tasks find. Only the files flyte*.c include this.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_APPLIED_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_APPLIED_H

#include "actors/graph/flyte/flyte_entity.h"

/*
 * Adds all that the entities of a package refer to, and what that refers to, as far as the package
 * can find it. The entities are sorted; those that come stand behind them. False: memory ended, or
 * the report says why.
 */
TR_MUST_USE bool tri_flyte_add_applied(const struct tr_flyte_package *package,
                                       struct tr_arena *arena, struct tr_report *report,
                                       struct tri_vector *entities);

#endif
