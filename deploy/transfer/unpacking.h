/*
 * Unpacking an archive into a store: all of it or nothing, in one commit behind its files.
 */
#ifndef TR_DEPLOY_TRANSFER_UNPACKING_H
#define TR_DEPLOY_TRANSFER_UNPACKING_H

#include "actors/graph/document/arena.h"
#include "deploy/transfer/archive.h"
#include "deploy/transfer/packing.h"

/* An archive that is unpacked. Zeros but for `folder` and `explain` at first. */
struct tr_unpacking {
    const char *folder;    /* of the store that takes it, absolute */
    struct tr_bytes bytes; /* the file */
    struct tr_archive_head head;
    struct tr_arena arena;
    struct tri_vector ops;        /* struct tri_op */
    struct tri_vector executions; /* struct tr_execution: views of the file */
    char *explain;                /* TRI_STORE_EXPLAIN_BYTES: words of an error */
    int lock;                     /* tr_unpacking_lock; 0: none */
};

/*
 * Maps the file and reads all of it: nothing is changed. Errors: TR_NOT_FOUND, TR_SYSTEM (errno),
 * those of tr_archive_read, TR_MEMORY; `explain` has words.
 */
TR_MUST_USE int tr_unpacking_open(struct tr_unpacking *unpacking, const char *path);

/* The same for a file whose bytes are there, and the caller's. */
TR_MUST_USE int tr_unpacking_read(struct tr_unpacking *unpacking);

/*
 * Checks one operation, changes it for this store, and adds it to `ops`; what it is given has to
 * stay. Errors as above.
 */
TR_MUST_USE int tr_unpacking_take(struct tr_unpacking *unpacking,
                                  const struct tr_archive_op *entry);

/* Puts the operations into the order of a commit. */
void tr_unpacking_sort(struct tr_unpacking *unpacking);

void tr_unpacking_fini(struct tr_unpacking *unpacking);

/*
 * Keeps other imports away from the folder of the store, which is there, until tr_unpacking_fini.
 * TR_STORE_LOCKED, TR_SYSTEM (errno), TR_LIMIT; `explain` has words.
 */
TR_MUST_USE int tr_unpacking_lock(struct tr_unpacking *unpacking);

/*
 * Whether the store has none of the executions, by number and name; what had left it may come back.
 * TR_EXISTS with words.
 */
TR_MUST_USE int tr_unpacking_check(struct tr_unpacking *unpacking, struct tr_reader *reader);

/*
 * Puts blobs into the store, and graphs beside the operations. TR_MALFORMED (not what its name
 * says), as those above.
 */
TR_MUST_USE int tr_unpacking_files(struct tr_unpacking *unpacking);

/*
 * Writes all the rest in one commit. What has not ended hangs on the launchers of this store, which
 * it has to have (TR_NOT_FOUND). What the store says.
 */
TR_MUST_USE int tr_unpacking_commit(struct tr_unpacking *unpacking, struct tri_store *store,
                                    struct tr_reader *reader);

#endif
