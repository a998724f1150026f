/*
 * What attempts have left that ended well: their working folders are removed when they have, but
 * the service that removes them is only told to, and a kill of the engine in between loses that
 * word.
 *
 * The folders say which executions are worth a look, and the history which attempts succeeded.
 */
#ifndef TR_DEPLOY_RETENTION_LEFTOVERS_H
#define TR_DEPLOY_RETENTION_LEFTOVERS_H

#include "deploy/retention/pruning.h"

/*
 * Removes them, beside an engine or without one; each attempt counts as one. A store without
 * attempts is fine. What the history says, TR_SYSTEM, TR_MEMORY, TR_CLOSED; `explain` has words.
 */
TR_MUST_USE int tr_leftovers_remove(const struct tr_prune_request *request, char *explain,
                                    struct tr_pruned_part *part);

/*
 * The same at an engine's start, on a thread of its own that holds nobody up. What cannot be
 * removed stays until the next start, or `prune`, which says why. TR_MEMORY, TR_SYSTEM.
 */
struct tr_sweeper;
TR_MUST_USE int tr_sweeper_start(const char *folder, struct tr_sweeper **sweeper);

/* Stops it, wherever it is. NULL is fine. */
void tr_sweeper_end(struct tr_sweeper *sweeper);

#endif
