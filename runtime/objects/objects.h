/*
 * Blobs in an object store of S3's kind (runtime/blob/blob_remote.h): a blob is the object
 * PREFIX/DIGEST-NAME of a bucket. Large ones are sent in parts, which become visible together. An
 * object PREFIX/.store-DIGITS says that a store has its blobs there.
 *
 * Requests leave from an http thread of their own, which starts with the first one. What fails for
 * the moment is tried again a few times.
 */
#ifndef TR_RUNTIME_OBJECTS_OBJECTS_H
#define TR_RUNTIME_OBJECTS_OBJECTS_H

#include "runtime/blob/blob_remote.h"
#include "runtime/exchange.h"

/* Digits that tell one store from another. */
#define TRI_OBJECTS_STORE_DIGITS 16

/* Where blobs are, and how requests are signed. What is not in `owned` outlives the remote. */
struct tri_objects_options {
    struct tr_text uri;                  /* s3://BUCKET or s3://BUCKET/PREFIX */
    const struct tr_object_store *store; /* NULL: the defaults, without a secret */
    const struct tr_secret_source *secrets;
    size_t secret_count;
    const char *digits; /* of the store that has its blobs there */
    void *owned;        /* freed with the remote (tr_free); NULL: nothing */
};

/* Whether a text names such a place: s3://BUCKET or s3://BUCKET/PREFIX, as people write it. */
bool tri_objects_is_uri(struct tr_text uri);

/* TR_INVALID (no such URI), TR_MEMORY: then the caller keeps `owned`. */
TR_MUST_USE int tri_objects_new(const struct tri_objects_options *options,
                                struct tri_blob_remote **remote);

/*
 * Says there that this store has its blobs in the place, and so whether objects can be put there.
 * `about` is for people. Errors of blob_remote.h.
 */
TR_MUST_USE int tri_objects_mark(struct tri_blob_remote *remote, struct tri_blob_call *call,
                                 struct tr_text about);

#endif
