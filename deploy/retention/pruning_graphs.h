/*
 * Removing graphs that nothing names: rows of the store, which the engine deletes where there is
 * one.
 */
#ifndef TR_DEPLOY_RETENTION_PRUNING_GRAPHS_H
#define TR_DEPLOY_RETENTION_PRUNING_GRAPHS_H

#include "deploy/retention/pruning.h"
#include "deploy/retention/references.h"

/*
 * Removes graphs that are not among the names, put before `before_ms` or at it. `client` may be
 * NULL: an engine is looked for if it has the store. What the store and the engine say, TR_MEMORY,
 * TR_CLOSED (it was stopped), with words in `explain`.
 */
TR_MUST_USE int tr_prune_graphs(const struct tr_prune_request *request, struct tri_client *client,
                                const struct tr_references *references, uint64_t before_ms,
                                char *explain, struct tr_pruned_part *part);

#endif
