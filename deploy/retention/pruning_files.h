/*
 * Removing files and folders of a store by their age, for pruning.c.
 */
#ifndef TR_DEPLOY_RETENTION_PRUNING_FILES_H
#define TR_DEPLOY_RETENTION_PRUNING_FILES_H

#include "deploy/retention/pruning.h"
#include "deploy/retention/references.h"

/* Removes what a name below the store's folder says, a file or a folder; none is fine. */
TR_MUST_USE int tr_prune_folder(const struct tr_prune_request *request, const char *name,
                                char *explain, struct tr_pruned_part *part);

/* Removes the folders in which the attempts of an execution ran, and its checkpoints. */
TR_MUST_USE int tr_prune_execution_folders(const struct tr_prune_request *request,
                                           const struct tr_execution *row, char *explain,
                                           struct tr_pruned_part *part);

/* Removes documents of the cache. */
TR_MUST_USE int tr_prune_cache(const struct tr_prune_request *request, char *explain,
                               struct tr_pruned_part *part);

/* Removes environments of tasks that were not used since, and are not now. */
TR_MUST_USE int tr_prune_environments(const struct tr_prune_request *request, char *explain,
                                      struct tr_pruned_part *part);

/* Removes code of packages that is not among the names, and was not asked for since. */
TR_MUST_USE int tr_prune_code(const struct tr_prune_request *request,
                              const struct tr_references *references, uint64_t before_ms,
                              char *explain, struct tr_pruned_part *part);

/* Bounds the cache of blobs; what running attempts may have a path of stays. */
TR_MUST_USE int tr_prune_blobs_cache(const struct tr_prune_request *request, char *explain);

/* Removes blobs that are not among the names, and values that nobody finishes. */
TR_MUST_USE int tr_prune_blobs(const struct tr_prune_request *request,
                               const struct tr_references *references, uint64_t pieces_before_ms,
                               char *explain, struct tr_pruned *pruned);

#endif
