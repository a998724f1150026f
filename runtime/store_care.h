/*
 * What an operator does to a store, in whichever database it is: making one, bringing one to this
 * program's tables, and looking whether all of it is well.
 */
#ifndef TR_RUNTIME_STORE_CARE_H
#define TR_RUNTIME_STORE_CARE_H

#include "runtime/journal/store_care.h"

/*
 * Makes a store: a folder with its file, or a schema with its tables, which becomes the role's.
 * `was_made`: false if one was there already, which stays as it is. Errors: those of
 * tri_store_open; TR_INVALID: `partitions` is given, and is no number of them, or not that of the
 * store that is there, or the store is in a folder. `explain` (TRI_STORE_EXPLAIN_BYTES, may be
 * NULL) gets the words.
 */
TR_MUST_USE int tri_store_init(const struct tri_store_options *options, char *explain,
                               bool *was_made);

/*
 * Makes what this program's tables have more than the store's, in one transaction. Errors: those of
 * tri_store_open; TR_STORE_NEWER for a store of a later program, which stays as it is.
 */
TR_MUST_USE int tri_store_upgrade(const struct tri_store_upgrading *upgrading, char *explain);

/*
 * Reads all of a store and tells what is wrong with it. 0 if it was read to its end, whatever was
 * found; else those of tri_store_open for reading, and what `progress` has returned.
 */
TR_MUST_USE int tri_store_check(const struct tri_store_checking *checking, char *explain);

#endif
