/*
 * What was downloaded before: for each URI a small document in the store, which says how the server
 * called that content (its ETag, or when it was modified) and which blob it became. A server that
 * still calls it so need not send it again. The thread of the blob store.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_CACHE_H
#define TR_RUNTIME_FETCH_FETCH_CACHE_H

#include "runtime/blob/blob.h"
#include "runtime/fetch/fetch_limits.h"

/* A SHA-256 in hexadecimal: what a URI is called in file names, with its closing zero. */
#define TRI_FETCH_NAME_BYTES (2 * TRI_BLOB_DIGEST_BYTES + 1)

struct tri_fetch_known {
    char tag[TR_FETCH_TAG_BYTES_MAX + 1];      /* "": none */
    char modified[TR_FETCH_TAG_BYTES_MAX + 1]; /* "": none */
    struct tri_blob blob;                      /* no URI: nothing is known */
};

/* The name of a URI that is to become a file or a folder. */
void tri_fetch_name(struct tr_text uri, enum tr_path_kind kind, char name[TRI_FETCH_NAME_BYTES]);

/*
 * What is known of a name, if its blob is still there; else nothing. That it cannot be read is as
 * if there were nothing. The blob is kept from a sweep as one that was just asked for.
 */
void tri_fetch_known_read(struct tri_blobs *blobs, const char *name, struct tr_text uri,
                          struct tri_fetch_known *known);

/* Writes it down. Errors of tri_document_put. */
TR_MUST_USE int tri_fetch_known_write(struct tri_blobs *blobs, const char *name, struct tr_text uri,
                                      const struct tri_fetch_known *known);

#endif
