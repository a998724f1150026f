/*
 * MD5 (RFC 1321), by which Flyte's clients name what they upload; it keeps nobody out. Pure.
 */
#ifndef TR_DEPLOY_ENTITIES_MD5_H
#define TR_DEPLOY_ENTITIES_MD5_H

#include "schemas/codec/base.h"

#define TR_MD5_BYTES 16

struct tr_md5 {
    /* private */
    uint32_t state[4];
    uint64_t size; /* bytes so far */
    uint8_t block[64];
};

void tr_md5_init(struct tr_md5 *md5);
void tr_md5_add(struct tr_md5 *md5, struct tr_bytes bytes);

/* The digest of all that was added, after which nothing more may be. */
void tr_md5_end(struct tr_md5 *md5, uint8_t digest[TR_MD5_BYTES]);

#endif
