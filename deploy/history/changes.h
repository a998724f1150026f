/*
 * Waiting for something to happen in a store, or to a file: what watches sleeps until then.
 */
#ifndef TR_DEPLOY_HISTORY_CHANGES_H
#define TR_DEPLOY_HISTORY_CHANGES_H

#include "schemas/codec/base.h"

/*
 * Makes a descriptor that is readable when a file in the store's folder was written; twice a second
 * for a locator of hosts over the network. To be closed with close(). TR_SYSTEM (errno).
 */
TR_MUST_USE int tr_changes_open(const char *folder, int *descriptor);

/* From now on for a file that is written, too; one that cannot be watched is no error. */
void tr_changes_add(int descriptor, const char *path);

/*
 * Waits until something has happened, at most so long, and takes note of all that has. What
 * happened before the call is not missed.
 */
void tr_changes_rest(int descriptor, uint32_t timeout_ms);

/* Takes note of all that has happened, without waiting. */
void tr_changes_take(int descriptor);

#endif
