/*
 * Removing rows of the audit, which the engine deletes, a share at a time.
 */
#ifndef TR_DEPLOY_RETENTION_PRUNING_AUDIT_H
#define TR_DEPLOY_RETENTION_PRUNING_AUDIT_H

#include "deploy/retention/pruning.h"

/* Counts the rows that are too old. Errors of reading. */
TR_MUST_USE int tr_prune_audit_count(const struct tr_prune_request *request,
                                     struct tr_reader *reader, uint64_t *rows);

/*
 * Removes them; of a dry request so many as were `counted` are told. `explain` has words where it
 * fails.
 */
TR_MUST_USE int tr_prune_audit(const struct tr_prune_request *request, struct tri_client *client,
                               uint64_t counted, char *explain, struct tr_pruned_part *part);

#endif
