/*
 * Reading a tar that tar_write.h has written, and nothing else: each byte of it counts. A reader
 * trusts nothing.
 */
#ifndef TR_DEPLOY_BACKUP_TAR_CHECK_H
#define TR_DEPLOY_BACKUP_TAR_CHECK_H

#include "deploy/backup/tar_sums.h"

/* Words of what is wrong. */
#define TR_TAR_PROBLEM_BYTES 512

/* What a reader is told; its error ends the reading. SHA256SUMS is not told. */
struct tr_tar_visitor {
    void *self;
    int (*entry)(void *self, const struct tr_tar_entry *entry, struct tr_bytes bytes);
};

/*
 * Reads all of a tar. With `sums` it is held against its checksums, else only taken apart. Errors:
 * TR_MALFORMED, TR_TRUNCATED, TR_MEMORY, with words in `problem` (TR_TAR_PROBLEM_BYTES) that name
 * the place; the visitor's own without.
 */
TR_MUST_USE int tr_tar_visit(struct tr_bytes file, bool checks,
                             const struct tr_tar_visitor *visitor, char *problem);

#endif
