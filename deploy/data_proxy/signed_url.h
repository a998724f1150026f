/*
 * URLs that say by themselves what may be put or got where, and until when: whoever has one needs
 * nothing else. Pure.
 *
 *     /downloads/FILE?expires=SECONDS&signature=DIGITS
 *     /uploads/PROJECT/DOMAIN/FOLDER/NAME?expires=SECONDS&md5=DIGITS&signature=DIGITS
 */
#ifndef TR_DEPLOY_DATA_PROXY_SIGNED_URL_H
#define TR_DEPLOY_DATA_PROXY_SIGNED_URL_H

#include "actors/graph/document/buffer.h"
#include "deploy/data_proxy/md5.h"

#define TR_SIGNED_KEY_BYTES 32

/* What a URL says. */
struct tr_signed_url {
    const char *method;  /* which it is for: "PUT" or "GET" */
    struct tr_text path; /* below TR_API_UPLOAD_PATH or TR_API_DOWNLOAD_PATH, as in the URL */
    uint64_t expires_s;  /* since 1970 */
    bool has_md5;        /* of the content */
    uint8_t md5[TR_MD5_BYTES];
};

/* Appends its query, with the ? in front. */
void tr_signed_url_print(const struct tr_signed_url *url, const uint8_t key[TR_SIGNED_KEY_BYTES],
                         struct tr_buffer *query);

/*
 * Reads the query of a URL whose method and path are set, and checks its signature. False: it was
 * not signed with the key, or was changed. Whether it has expired is not looked at.
 */
TR_MUST_USE bool tr_signed_url_read(struct tr_signed_url *url, struct tr_text query,
                                    const uint8_t key[TR_SIGNED_KEY_BYTES]);

/* Reads hexadecimal digits, small ones, of just so many bytes. */
bool tr_hex_read(struct tr_text text, uint8_t *bytes, size_t size);

#endif
