/*
 * Whether a store is its owner's alone: what was made by hand, or by programs before, may be open.
 */
#ifndef TR_DEPLOY_STORE_MODES_H
#define TR_DEPLOY_STORE_MODES_H

#include "deploy/cli/command.h"

/*
 * Says on stderr what in a store others may read or write, with the remedy; nothing where its
 * folder lets nobody else in. What cannot be looked at is passed over: others will say so.
 */
void tr_store_modes_check(const struct tr_invocation *invocation, const char *folder);

#endif
