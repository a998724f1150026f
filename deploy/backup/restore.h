/*
 * Putting a store back from a backup (backup.h), as a whole or not at all.
 *
 * The backup is read and held against its checksums before anything is written. Then its files are
 * put into the folder; the database is prepared in restore.part there, and moved to its place in
 * the last step. A folder in which that was interrupted has no database, so that no engine takes
 * it, and a restore into it begins anew.
 *
 * What is prepared: processes that had not ended have an unknown outcome, as those of a machine
 * that was restarted; where the folder is another one than the store had, the history says where
 * things lie now.
 */
#ifndef TR_DEPLOY_BACKUP_RESTORE_H
#define TR_DEPLOY_BACKUP_RESTORE_H

#include "actors/graph/document/buffer.h"
#include "runtime/journal/store.h"

/* Where the database is prepared. */
#define TR_RESTORE_PART "restore.part"

struct tr_restored {
    uint64_t executions;
    uint64_t unfinished;    /* of them */
    struct tr_text program; /* that took the backup, */
    struct tr_text taken;   /* when, */
    struct tr_text store;   /* and of which folder; views of the mapped file */
};

/* A backup that was read. Zeros but for `explain` at first. */
struct tr_restore {
    const char *folder; /* to be filled: absolute, and there */
    struct tr_bytes file;
    struct tr_restored restored;
    char *explain; /* TRI_STORE_EXPLAIN_BYTES: words of an error */
};

/*
 * Maps a backup and reads all of it; nothing is changed. TR_NOT_FOUND, TR_SYSTEM (errno),
 * TR_MALFORMED (no backup, or damaged), TR_TRUNCATED, TR_VERSION (of a newer program), TR_MEMORY.
 */
TR_MUST_USE int tr_restore_open(struct tr_restore *restore, const char *path);

/* The same for a file whose bytes are there, and the caller's. */
TR_MUST_USE int tr_restore_read(struct tr_restore *restore);

/* Whether the folder is empty, or an interrupted restore has left what is there; else TR_EXISTS. */
TR_MUST_USE int tr_restore_check_folder(struct tr_restore *restore);

/* Fills the folder. What the store says, TR_STORE_FULL, TR_SYSTEM, TR_MEMORY, with words. */
TR_MUST_USE int tr_restore_write(struct tr_restore *restore);

void tr_restore_fini(struct tr_restore *restore);

#endif
