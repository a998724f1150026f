/*
 * The number of a store, which no other has: what is made outside under a name of this store's
 * (schemas/engine/plugin.h, struct tr_task_identity) is so told from what another store calls the
 * same.
 */
#ifndef TR_DEPLOY_COMMON_STORE_NUMBER_H
#define TR_DEPLOY_COMMON_STORE_NUMBER_H

#include "schemas/codec/base.h"

#define TR_STORE_NUMBER_NAME "number"

/*
 * Reads the number of the store in `folder`, which gets `life` where it has none yet: the number of
 * the first engine that asked, which no other start of any engine has. For the engine that holds
 * the store alone. TR_STORE_FULL, TR_SYSTEM, TR_LIMIT (the path), TR_MEMORY.
 */
TR_MUST_USE int tr_store_number(const char *folder, uint64_t life, uint64_t *number);

#endif
