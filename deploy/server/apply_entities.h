/*
 * Keeping what a package of Flyte's holds in a live engine, so that other packages may refer to it.
 */
#ifndef TR_DEPLOY_SERVER_APPLY_ENTITIES_H
#define TR_DEPLOY_SERVER_APPLY_ENTITIES_H

#include "deploy/server/apply_plans.h"

/*
 * Keeps the entities of a list (apply_plans in schemas/runtime/request.h), each under its id; one
 * that is there with the same content stays as it is. With `deletes` those of the project and
 * domain that are not in the list are forgotten. Nothing is changed where one is there with other
 * content (TR_EXISTS), is too large (TR_LIMIT), or the list is none (TR_MALFORMED), with words in
 * `explain` (TR_APPLY_EXPLAIN_BYTES). Returns when all is committed.
 */
TR_MUST_USE int tr_live_keep_entities(struct tr_live *live, struct tr_bytes list,
                                      struct tr_text project, struct tr_text domain, bool deletes,
                                      tr_plan_applied *applied, void *self, char *explain);

#endif
