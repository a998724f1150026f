/*
 * Who copies the files of a store keeps those who remove some away, in all processes: a copy must
 * not lack what its database names. The lock is that of the file prune.lock, and ends with the
 * process.
 */
#ifndef TR_DEPLOY_RETENTION_REMOVAL_LOCK_H
#define TR_DEPLOY_RETENTION_REMOVAL_LOCK_H

#include "runtime/journal/store.h"

enum tr_removal_lock {
    TR_REMOVAL_ALLOWED, /* several may remove at once */
    TR_REMOVAL_BARRED   /* one copies */
};

/*
 * Takes it, until `*lock` is closed. Where nothing can be written there is none, and `*lock` is -1.
 * TR_STORE_LOCKED: somebody has it. TR_SYSTEM, TR_LIMIT; `explain` (TRI_STORE_EXPLAIN_BYTES) has
 * words.
 */
TR_MUST_USE int tr_removal_lock_take(const char *folder, enum tr_removal_lock kind, char *explain,
                                     int *lock);

#endif
