/*
 * Which launcher begins an execution. A project and domain has one. Where several hosts work on one
 * store it has as many as there are shards, each a singleton of the name PROJECT/DOMAIN in a
 * partition of its own: so executions are on the hosts that have these, and nobody begins all.
 */
#ifndef TR_ACTORS_SERVICES_LAUNCHER_SHARD_H
#define TR_ACTORS_SERVICES_LAUNCHER_SHARD_H

#include "actors/engine.h"

/* The name of a project's and domain's launchers, with a byte for its end. */
#define TR_LAUNCHER_NAME_BYTES 128

/* The number of a launch plan that bounds its executions; 0: it does not, or is NULL. */
uint64_t tr_launcher_plan(const struct tr_plan *plan);

/* Whether the launchers of an engine are in shards. */
static inline bool tr_launcher_has_shards(const struct tr_engine *engine)
{
    return engine->launcher_shards > 1;
}

/*
 * The shard for an execution of a name, below TR_LAUNCHER_SHARDS: always the same one, so that a
 * name is given once. `plan` is its launch plan, or NULL: all executions of one that bounds them
 * have one shard, which counts them. 0 where there are none.
 *
 * So a name that a bounded launch plan has begun is not known to the name's own shard, nor the
 * other way round: whoever launches looks the name up in the history before. Only if both are asked
 * for one name at the same time two executions get it.
 */
uint32_t tr_launcher_shard(const struct tr_engine *engine, const struct tr_plan *plan,
                           struct tr_text name);

/* Writes the name of the launchers. */
void tr_launcher_name(struct tr_text project, struct tr_text domain,
                      char name[TR_LAUNCHER_NAME_BYTES]);

/*
 * For an actor, where there are shards: the launcher for an execution of a graph, by one of its
 * launch plans or TR_GRAPH_NONE; it begins if it has not. Errors of tr_singleton.
 */
TR_MUST_USE int tr_launcher_choose(struct tr_context *context, const struct tr_graph *graph,
                                   uint32_t plan, struct tr_text name, struct tr_ref *launcher);

#endif
