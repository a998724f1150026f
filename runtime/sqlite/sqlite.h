/*
 * The store in SQLite: one file of a folder, behind runtime/journal/store.h.
 */
#ifndef TR_RUNTIME_SQLITE_SQLITE_H
#define TR_RUNTIME_SQLITE_SQLITE_H

#include "runtime/journal/reader.h"
#include "runtime/journal/store_care.h"

/*
 * Opens the SQLite store in `options->folder` (file troupe.db). For writing it takes the folder's
 * lock, raises the incarnation and commits that; with a `vfs` the folder is only a name and there
 * is no lock, only the fence. Errors: TR_STORE_LOCKED, TR_STORE_FOREIGN, TR_STORE_NEWER,
 * TR_STORE_DAMAGED, TR_STORE_FULL, TR_STORE_FAILED, TR_BUSY, TR_MEMORY, TR_LIMIT (too many columns
 * in a record), TR_INVALID, and TR_NOT_FOUND if a reader finds no store; `explain`
 * (TRI_STORE_EXPLAIN_BYTES, or NULL) gets the file, the finding and the remedy. A foreign or newer
 * file is not changed.
 */
TR_MUST_USE int tri_sqlite_open(const struct tri_store_options *options, char *explain,
                                struct tri_store **store);

/* The contract of tr_reader_open, for the store in `options->folder`. */
TR_MUST_USE int tri_sqlite_reader_open(const struct tr_reader_options *options, char *explain,
                                       struct tr_reader **reader);

/* The contracts of tri_store_upgrade and tri_store_check, for the store in `options.folder`. */
TR_MUST_USE int tri_sqlite_upgrade(const struct tri_store_upgrading *upgrading, char *explain);
TR_MUST_USE int tri_sqlite_check(const struct tri_store_checking *checking, char *explain);

#endif
