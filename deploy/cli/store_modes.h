/*
 * Whether a store is its owner's alone: what was made by hand, or by programs before, may be open.
 */
#ifndef TR_DEPLOY_CLI_STORE_MODES_H
#define TR_DEPLOY_CLI_STORE_MODES_H

#include <sys/stat.h>

#include "deploy/cli/command.h"

/* Something of a store that is open to others. */
struct tr_open_one {
    const char *name; /* "." for the folder */
    int folder;
    mode_t mode;   /* as it is */
    mode_t closed; /* as it should be */
};

typedef void tr_visit_open(void *self, const struct tr_open_one *one);

/* Tells of all that is open, the folder last. TR_SYSTEM (errno) if the folder cannot be read. */
TR_MUST_USE int tr_store_modes_visit(const char *path, tr_visit_open *visit, void *self);

/*
 * Says on stderr what in a store others may read or write, with the remedy; nothing where its
 * folder lets nobody else in. What cannot be looked at is passed over: others will say so.
 */
void tr_store_modes_check(const struct tr_invocation *invocation, const char *folder);

#endif
