/*
 * A backup: one file with all that a store needs to go on, written beside a live engine or without
 * one.
 *
 * The database is of one moment, that of the beginning. What it names may be newer in the backup
 * than in the database, but is never missing: files are copied after it, and nobody removes any
 * meanwhile (deploy/retention/removal_lock.h). Entries, in their order:
 *
 *     BACKUP              what it is: lines of "key value"
 *     troupe.db           the database
 *     settings.yaml, number, aside, poison, attribution
 *     cache/, fetched/    documents
 *     checkpoints/        all of it
 *     attempts/           what attempts have written for people, not what they worked in
 *     graphs/             what an earlier program has left; else graphs are in the database
 *     blobs/              all of it, unfinished values too
 *     SHA256SUMS
 *
 * The keeper's log stays: what runs where the store was is unknown wherever it is restored
 * (restore.h).
 */
#ifndef TR_DEPLOY_BACKUP_BACKUP_H
#define TR_DEPLOY_BACKUP_BACKUP_H

#include <limits.h>

#include "runtime/journal/store.h"

/* The first entry, and how it begins. */
#define TR_BACKUP_HEAD "BACKUP"
#define TR_BACKUP_FORM "troupe backup "
#define TR_BACKUP_VERSION 1

/* What is being written stands behind the file's name with this ending. */
#define TR_BACKUP_PART ".tmp"

struct tr_backup_request {
    const char *folder; /* of the store, absolute */
    const char *path;   /* where to; NULL: `descriptor` */
    int descriptor;
    bool replaces; /* a file that is there */
    void *self;
    /* Hears how many bytes are written; what it returns other than 0 ends it. May be NULL. */
    int (*progress)(void *self, uint64_t bytes);
    /* The store is being pruned: waits for a moment, again and again. NULL: that is an error. */
    int (*wait)(void *self);
};

/*
 * Writes it. When this returns 0 it is on the disk as a whole, under its name; else nothing is left
 * of it. Errors: TR_EXISTS (it is there), TR_NOT_FOUND (no store), what the store says,
 * TR_STORE_FULL, TR_STORE_LOCKED, TR_SYSTEM, TR_MEMORY, and what `progress` and `wait` return;
 * `explain` (TRI_STORE_EXPLAIN_BYTES) has words but for the last.
 */
TR_MUST_USE int tr_backup(const struct tr_backup_request *request, char *explain);

#endif
