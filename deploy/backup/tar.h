/*
 * The form of tar that a backup has: POSIX's (ustar), with extended headers (pax) for what does not
 * fit into it. Pure: bytes in, bytes out.
 *
 * There is one way to write an entry, and only what is written so is read: each byte of a header
 * counts, so that none can change unseen.
 */
#ifndef TR_DEPLOY_BACKUP_TAR_H
#define TR_DEPLOY_BACKUP_TAR_H

#include <limits.h>

#include "actors/graph/document/buffer.h"

/* All of a tar is made of blocks. Two empty ones end it. */
#define TR_TAR_BLOCK_BYTES 512
#define TR_TAR_END_BYTES (2 * TR_TAR_BLOCK_BYTES)

enum tr_tar_kind {
    TR_TAR_FILE = '0',
    TR_TAR_HARD_LINK = '1',
    TR_TAR_LINK = '2',
    TR_TAR_FOLDER = '5',
};

struct tr_tar_entry {
    enum tr_tar_kind kind;
    char path[PATH_MAX];
    char target[PATH_MAX]; /* of links; else empty */
    uint32_t mode;         /* of these bits: 07777 */
    uint64_t size;         /* of files; else 0 */
    uint64_t modified_s;   /* since 1970 */
};

/* Appends the blocks before an entry's bytes. TR_LIMIT (a path too long), TR_MEMORY. */
TR_MUST_USE int tr_tar_header(const struct tr_tar_entry *entry, struct tr_buffer *blocks);

/* How many zeros follow the bytes of a file of this size. */
uint32_t tr_tar_padding(uint64_t size);

/*
 * Reads the header at the front of `bytes`, and how many bytes it takes. TR_TRUNCATED: there is not
 * all of it. TR_MALFORMED: it is none, or not as tr_tar_header writes it. TR_NOT_FOUND: an empty
 * block, with which the end begins. TR_MEMORY.
 */
TR_MUST_USE int tr_tar_read(struct tr_bytes bytes, struct tr_tar_entry *entry, size_t *size);

#endif
