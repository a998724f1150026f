/*
 * Opening a store that no engine has, for writing, with the program's records.
 */
#ifndef TR_DEPLOY_OFFLINE_OPEN_STORE_H
#define TR_DEPLOY_OFFLINE_OPEN_STORE_H

#include "runtime/journal/store.h"

/*
 * Commits outlast a loss of power. Errors are those of tri_store_open, TR_STORE_LOCKED if an engine
 * or another command has it; `explain` (TRI_STORE_EXPLAIN_BYTES) has words.
 */
TR_MUST_USE int tr_open_offline(const char *folder, char *explain, struct tri_store **store);

#endif
