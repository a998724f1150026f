/*
 * What comes from another store into one with a live engine (deploy/transfer/taking.h) is written
 * in several commits, so that others are not held up. Until the last one, which makes it visible, a
 * cell of the store has a mark of each execution. If the engine ends before, the next one finds the
 * marks and forgets what there is of them: rows of the history that no execution has, and names
 * that launchers keep for them.
 */
#ifndef TR_DEPLOY_ENGINE_IMPORT_MARKS_H
#define TR_DEPLOY_ENGINE_IMPORT_MARKS_H

#include "deploy/engine/assemble.h"
#include "schemas/runtime/archive.h"

/* The operation that keeps marks, packed one behind the other; none: there is nothing to forget. */
struct tri_op tr_import_marks_op(struct tr_bytes marks);

/* Adds one to packed marks. TR_MEMORY, errors of packing. */
TR_MUST_USE int tr_import_marks_add(struct tr_buffer *marks, const struct tr_import_mark *mark);

/*
 * Reads the marks of a store, which the caller frees (tr_buffer_fini); before the host's start.
 * TR_STORE_DAMAGED, TR_MEMORY, and what the store says.
 */
TR_MUST_USE int tr_import_marks_read(struct tri_store *store, struct tr_buffer *marks);

/*
 * Frees the names of what is marked, forgets its rows and empties the cell, in one commit. Errors:
 * those of tr_host_write_wait, after which it may be said again.
 */
TR_MUST_USE int tr_import_marks_forget(struct tr_live *live, struct tr_bytes marks);

#endif
