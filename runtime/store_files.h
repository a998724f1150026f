/*
 * What a store of an earlier program has as files of its folder, and this one has as rows: graphs
 * below graphs/, the store's number, and what has ended the process (`poison`, `attribution`,
 * `aside`).
 */
#ifndef TR_RUNTIME_STORE_FILES_H
#define TR_RUNTIME_STORE_FILES_H

#include "runtime/journal/store.h"

/*
 * Takes the files into a store that is open for writing, and removes each when it is committed. A
 * process may end at any moment: what it leaves is taken again. A graph that is not what its name
 * says stays where it is. Errors are those of committing, TR_SYSTEM (errno) and TR_MEMORY;
 * `explain` (TRI_STORE_EXPLAIN_BYTES, may be NULL) gets the words.
 */
TR_MUST_USE int tri_store_files_take(struct tri_store *store, const char *folder,
                                     enum tr_durability durability, char *explain);

#endif
