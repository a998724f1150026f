/*
 * Executions that have not ended, in a store that takes them in: their roots become children of its
 * launchers, which hear of them; their tasks hear that the services are others now.
 */
#ifndef TR_DEPLOY_TRANSFER_IMPORT_LIVE_H
#define TR_DEPLOY_TRANSFER_IMPORT_LIVE_H

#include "deploy/transfer/unpacking.h"
#include "runtime/journal/images.h"

/*
 * Whether an image and a message are what this program can read. TR_VERSION (of a newer one, with
 * words), TR_MALFORMED.
 */
TR_MUST_USE int tr_import_live_check(struct tr_unpacking *unpacking, const struct tri_op *op);
TR_MUST_USE int tr_import_live_check_message(const struct tri_op *op);

/* Changes and adds the operations of an archive, for a store that is open for writing.
 * TR_NOT_FOUND: it has no launcher for one of them. TR_MALFORMED, TR_MEMORY, what the reader
 * says. */
TR_MUST_USE int tr_import_live_prepare(struct tr_unpacking *unpacking, struct tri_store *store,
                                       struct tr_reader *reader);

#endif
