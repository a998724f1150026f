/*
 * How an execution that has not ended leaves a store: what its actors, their messages and counters
 * are goes into an archive; then, in one commit, the store lets go of it. No engine lives
 * meanwhile.
 *
 * What is left of the group in the store are children without their parent, whom the next start
 * ends before anybody runs, with the word of their end to all that had given them something. The
 * launcher hears that the execution has ended, and the actors of back ends hear before of each task
 * that it goes on elsewhere, so that they do not end its job.
 */
#ifndef TR_DEPLOY_TRANSFER_EXPORT_LIVE_H
#define TR_DEPLOY_TRANSFER_EXPORT_LIVE_H

#include "actors/graph/document/arena.h"
#include "deploy/transfer/packing.h"
#include "runtime/journal/store.h"

struct tr_export_live {
    struct tri_store *store; /* open for writing */
    struct tr_packing *packing;
    const struct tr_packing_set *executions;
    const char *path; /* of the file, for the history */
    uint64_t now_ms;
    struct tr_arena arena; /* private, as what follows */
    struct tri_vector roots;
    struct tri_vector tasks;     /* whose plugins have begun something */
    struct tri_vector back_ends; /* struct tr_ref: the refresh actors that stay */
    struct tri_vector ops;
};

/*
 * Adds to the archive what the store has of the groups. TR_BUSY, with words: something that they
 * have said is still to be heard by others, so an engine has to run for a moment first. What the
 * store says, TR_MEMORY.
 */
TR_MUST_USE int tr_export_live_pack(struct tr_export_live *export);

/* Lets go of them, when the archive is on the disk. What the store says. */
TR_MUST_USE int tr_export_live_commit(struct tr_export_live *export, struct tr_reader *reader);

void tr_export_live_fini(struct tr_export_live *export);

#endif
