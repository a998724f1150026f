/*
 * MD5 (RFC 1321), by which Flyte's clients name what they upload; it keeps nobody out.
 */
#ifndef TR_DEPLOY_DATA_PROXY_MD5_H
#define TR_DEPLOY_DATA_PROXY_MD5_H

#include "schemas/codec/base.h"

#define TR_MD5_BYTES 16

/* Private. */
struct tr_md5 {
    void *sum;          /* GLib's; NULL: it is OpenSSL's, or has ended */
    uint64_t state[12]; /* OpenSSL's */
};

/* Begins one, which may take a little memory until it ends, or is given up (tr_md5_fini). */
void tr_md5_init(struct tr_md5 *md5);
void tr_md5_add(struct tr_md5 *md5, struct tr_bytes bytes);

/* The digest of all that was added, after which nothing more may be. */
void tr_md5_end(struct tr_md5 *md5, uint8_t digest[TR_MD5_BYTES]);

/* Also after its end, and of zeros. */
void tr_md5_fini(struct tr_md5 *md5);

#endif
