/*
 * The cache of downloads: for each URI a small document in the store, with the server's validator
 * (its ETag, or modification time) and the blob. A server whose validator is unchanged need not
 * send the content again. For the blob store's thread.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_CACHE_H
#define TR_RUNTIME_FETCH_FETCH_CACHE_H

#include "runtime/blob/blob.h"
#include "runtime/fetch/fetch_limits.h"

/* The name of a URI in file names: a SHA-256 in hexadecimal, with its closing zero. */
#define TRI_FETCH_NAME_BYTES (2 * TRI_BLOB_DIGEST_BYTES + 1)

struct tri_fetch_cached {
    char tag[TR_FETCH_TAG_BYTES_MAX + 1];      /* "": none */
    char modified[TR_FETCH_TAG_BYTES_MAX + 1]; /* "": none */
    struct tri_blob blob;                      /* no URI: no entry */
};

/* The name for a URI and the kind it becomes. */
void tri_fetch_cache_name(struct tr_text uri, enum tr_path_kind kind,
                          char name[TRI_FETCH_NAME_BYTES]);

/*
 * Reads the entry of a name; empty if its blob is missing or the entry cannot be read. The blob's
 * age is renewed, as by asking for it.
 */
void tri_fetch_cache_read(struct tri_blobs *blobs, const char *name, struct tr_text uri,
                          struct tri_fetch_cached *known);

/* Writes an entry. Errors of tri_document_put. */
TR_MUST_USE int tri_fetch_cache_write(struct tri_blobs *blobs, const char *name, struct tr_text uri,
                                      const struct tri_fetch_cached *known);

#endif
