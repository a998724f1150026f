/*
 * Registering the launch plans of a definition in a live engine, which fires their schedules if it
 * is one that does (`troupe serve`).
 */
#ifndef TR_DEPLOY_SERVER_APPLY_PLANS_H
#define TR_DEPLOY_SERVER_APPLY_PLANS_H

#include "deploy/engine/assemble.h"

/* Words of what went wrong. */
#define TR_APPLY_EXPLAIN_BYTES 512

/*
 * Hears what became of each plan: enum tr_schedule_change; `kind` is 0. Of an entity it is one of
 * enum tr_entity_kind, and `plan` its name.
 */
typedef void tr_plan_applied(void *self, struct tr_text plan, uint8_t change, uint8_t kind);

/*
 * Keeps the entities of a list (apply_entities.h), which is empty where nothing of Flyte's is
 * applied, then the graph in the store, and registers its plans with a schedule; those without one,
 * and with `deletes` those of its project and domain that are not in it, are forgotten. What they
 * have started goes on. The graph has its hash and is taken over, also on failure. Returns when all
 * is committed; what was told before an error is done. Errors with words in `explain`.
 */
TR_MUST_USE int tr_live_apply(struct tr_live *live, struct tr_graph *graph,
                              struct tr_bytes entities, bool deletes, tr_plan_applied *applied,
                              void *self, char *explain);

/*
 * Forgets the schedule of a plan, if it has one; what it has started goes on. Returns when that is
 * committed. Errors with words in `explain`.
 */
TR_MUST_USE int tr_live_drop_plan(struct tr_live *live, struct tr_text project,
                                  struct tr_text domain, struct tr_text plan, char *explain);

#endif
