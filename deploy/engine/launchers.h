/*
 * The launchers of executions, for the program: one of a project and domain, or where several hosts
 * work on one store its shards (actors/services/launcher_shard.h); and the graphs of what they are
 * asked to begin.
 */
#ifndef TR_DEPLOY_ENGINE_LAUNCHERS_H
#define TR_DEPLOY_ENGINE_LAUNCHERS_H

#include "actors/services/launcher_shard.h"

struct tr_live;

/* What a shard has said last. One of another shard in its place costs one question more. */
#define TR_LIVE_ENDED 256U
struct tr_live_ended {
    struct tr_key launcher;
    uint64_t count;
};

/* A launcher that is known: one that is alone. */
struct tr_live_launcher {
    char name[TR_LAUNCHER_NAME_BYTES];
    struct tr_ref ref;
};

/*
 * The launcher for an execution of a project and a domain, by its name and launch plan (NULL:
 * none); it is spawned, or begins, when there is none. Of shards it does not wait for that.
 */
TR_MUST_USE int tr_live_launcher(struct tr_live *live, struct tr_text project,
                                 struct tr_text domain, const struct tr_plan *plan,
                                 struct tr_text name, struct tr_ref *launcher);

/*
 * What a launch says that was looked up in the history behind this (its `ended_count`); 0: the
 * launcher is no shard, and hears of nothing late.
 */
uint64_t tr_live_ended_count(const struct tr_live *live, struct tr_ref launcher);

/*
 * Remembers what a launcher answers for later launches. Whether it has refused one of that count
 * only since it was looked up too long ago: then it is worth asking again at once.
 */
bool tr_live_is_late(struct tr_live *live, struct tr_ref launcher, uint64_t ended_count,
                     const struct tr_launched *launched);

/*
 * Keeps a graph: it is committed with or before what the engine is asked to begin from now on.
 * Of one that is kept already only the age begins anew. Errors of tr_graphs_row and
 * tr_host_put_graph; `words` (TRI_STORE_EXPLAIN_BYTES) has them.
 */
TR_MUST_USE int tr_live_keep_graph(struct tr_live *live, const struct tr_graph *graph, char *words);

#endif
