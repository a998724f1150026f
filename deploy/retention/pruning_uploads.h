/*
 * Uploads of clients: folders uploads/PROJECT/DOMAIN/DIGITS, each with what was put under one name.
 * The digits are a name as those of blobs are (references.h): whatever has the path of an upload
 * names it.
 */
#ifndef TR_DEPLOY_RETENTION_PRUNING_UPLOADS_H
#define TR_DEPLOY_RETENTION_PRUNING_UPLOADS_H

#include "deploy/retention/pruning.h"
#include "deploy/retention/references.h"

/* Adds the names of all uploads of a store. TR_MEMORY; TR_SYSTEM (errno). */
TR_MUST_USE int tr_uploads_add(const char *store, struct tr_references *references);

/*
 * Removes those that are not among the names, and into which nothing was put since: a URL that is
 * still good may be used, and what it brought is named a moment later. Folders of earlier versions,
 * which have other names, stay.
 */
TR_MUST_USE int tr_prune_uploads(const struct tr_prune_request *request,
                                 const struct tr_references *references, uint64_t before_ms,
                                 char *explain, struct tr_pruned_part *part);

#endif
