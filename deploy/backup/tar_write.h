/*
 * Writing a tar to a descriptor, with the SHA-256 of each file in it: the last one, SHA256SUMS, has
 * them in the form of sha256sum(1), behind each other, and how many entries there are.
 *
 * The first error sticks, and later calls return it. One thread; blocks as the disk does.
 */
#ifndef TR_DEPLOY_BACKUP_TAR_WRITE_H
#define TR_DEPLOY_BACKUP_TAR_WRITE_H

#include "deploy/backup/tar_sums.h"

struct tr_tar_writer {
    int descriptor;
    uint8_t *piece; /* what is copied goes through here */
    struct tr_sums sums;
    int error;
    int number; /* errno of it */
    void *self;
    /* Hears how many bytes were written more; what it returns other than 0 ends it. NULL: none. */
    int (*step)(void *self, uint64_t bytes);
};

/* TR_MEMORY. */
TR_MUST_USE int tr_tar_writer_init(struct tr_tar_writer *writer, int descriptor);
void tr_tar_writer_fini(struct tr_tar_writer *writer);

/*
 * Adds an entry, of a file with its bytes from `source` (else -1). It gets as many bytes as the
 * entry says: what the source has more is left out, what it lacks is zeros. TR_STORE_FULL,
 * TR_SYSTEM (errno), TR_LIMIT, TR_MEMORY, and what `step` returns.
 */
TR_MUST_USE int tr_tar_add(struct tr_tar_writer *writer, const struct tr_tar_entry *entry,
                           int source);

/* Adds a small file, 0600. Errors as above. */
TR_MUST_USE int tr_tar_add_bytes(struct tr_tar_writer *writer, const char *path,
                                 struct tr_bytes bytes, uint64_t modified_s);

/* Adds SHA256SUMS and the end. Errors as above. */
TR_MUST_USE int tr_tar_finish(struct tr_tar_writer *writer, uint64_t modified_s);

#endif
