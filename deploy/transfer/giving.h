/*
 * An import into a store that has a live engine, on the side of the command: what it has read of a
 * file goes to the engine, share by share (taking.h).
 */
#ifndef TR_DEPLOY_TRANSFER_GIVING_H
#define TR_DEPLOY_TRANSFER_GIVING_H

#include "deploy/common/client.h"
#include "deploy/transfer/unpacking.h"

/* What is told meanwhile; each may be NULL. */
struct tr_giving_told {
    void *self;
    void (*progress)(void *self, uint64_t done, uint64_t total); /* operations */
    void (*waits)(void *self, int error); /* the store cannot be written; again and again */
};

/*
 * Hands over all but the files, which the store has. Errors: what the engine says, with words in
 * `unpacking->explain`; TR_NO_CONNECTION: it has gone, and is_last says whether it may be in the
 * store all the same.
 */
TR_MUST_USE int tr_giving(struct tr_unpacking *unpacking, struct tri_client *client,
                          const struct tr_giving_told *told, bool *is_last);

/*
 * Whether the store has what was unpacked, unfinished as it is there; it is looked at for a moment,
 * since an engine that leaves may be about to write it.
 */
bool tr_giving_has_come(const struct tr_unpacking *unpacking);

#endif
