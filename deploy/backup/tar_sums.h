/*
 * The checksums of the files of a tar, in the form of sha256sum(1), as they are written and as they
 * are held against what was written. Pure.
 */
#ifndef TR_DEPLOY_BACKUP_TAR_SUMS_H
#define TR_DEPLOY_BACKUP_TAR_SUMS_H

#include <sodium.h>

#include "deploy/backup/tar.h"

/* The file of a tar that has them: its last one. */
#define TR_SUMS_NAME "SHA256SUMS"

struct tr_sums {
    uint64_t entries;
    struct tr_buffer text;
    crypto_hash_sha256_state state; /* of the file in hand */
};

void tr_sums_init(struct tr_sums *sums);
void tr_sums_fini(struct tr_sums *sums);

/* A file begins, has these bytes, and has ended. Entries without bytes only count. */
void tr_sums_begin(struct tr_sums *sums);
void tr_sums_update(struct tr_sums *sums, struct tr_bytes bytes);
void tr_sums_end(struct tr_sums *sums, const struct tr_tar_entry *entry);

/* All entries were added: now the text is whole. TR_LIMIT, TR_MEMORY. */
TR_MUST_USE int tr_sums_finish(struct tr_sums *sums);

/* The path in the first line of `sums` that is not so in `found`; empty: they are the same. */
struct tr_text tr_sums_difference(const struct tr_sums *sums, struct tr_text found);

#endif
