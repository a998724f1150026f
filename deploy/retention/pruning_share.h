/*
 * Folders of attempts that were made elsewhere and lie on a share, not in the store: they go when
 * those of processes would (pruning.h).
 */
#ifndef TR_DEPLOY_RETENTION_PRUNING_SHARE_H
#define TR_DEPLOY_RETENTION_PRUNING_SHARE_H

#include "deploy/retention/pruning.h"

/*
 * Removes the folder of an attempt that has ended, if it lies on a share; any other row is left
 * alone. With `is_all` no attempt of its execution will come any more: then the folder around it,
 * and what it has kept for the next attempt, goes too. A share that is not there is fine; what
 * cannot be removed is counted, and holds nothing else up.
 */
void tr_prune_shared(const struct tr_prune_request *request, const struct tr_attempt *row,
                     bool is_all, struct tr_pruned *pruned);

/*
 * The same of all attempts of an execution that has ended. One that has left the store goes on
 * elsewhere, with its folders: nothing of it is touched. What the reader says; TR_CLOSED.
 */
TR_MUST_USE int tr_prune_execution_shared(const struct tr_prune_request *request,
                                          struct tr_reader *reader, const struct tr_execution *row,
                                          struct tr_pruned *pruned);

#endif
