/*
 * The location of a URI: its URL, and the credentials for requests there. Pure.
 *
 *     s3://BUCKET/KEY, gs://BUCKET/KEY   an object: ENDPOINT/BUCKET/KEY, path style
 *     https://..., http://...            what it names, as it stands
 *
 * An object's key is not escaped in the URI; in the URL it is encoded.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_LOCATION_H
#define TR_RUNTIME_FETCH_FETCH_LOCATION_H

#include "runtime/env/buffer.h"
#include "runtime/exchange.h"

/* A parsed URI. Views of it, and of the stores. */
struct tri_fetch_location {
    struct tr_text uri;
    struct tr_text bucket; /* empty: the URI is a URL */
    struct tr_text key;
    struct tr_text endpoint; /* empty: the scheme's default */
    struct tr_text region;
    const struct tr_object_store *store; /* from the settings; NULL: none matches */
};

/* Whether a URI can be downloaded. */
bool tri_fetch_location_is_supported(struct tr_text uri);

/*
 * Parses a URI. Of the stores the one with the longest matching `uri` prefix, up to a slash, is
 * used. TR_INVALID: it names no bucket.
 */
TR_MUST_USE int tri_fetch_location_find(const struct tr_object_store *stores, size_t count,
                                        struct tr_text uri, struct tri_fetch_location *location);

/* Appends the URL of the object with a key; for a URL, the URL itself. TR_MEMORY. */
TR_MUST_USE int tri_fetch_location_url(const struct tri_fetch_location *location,
                                       struct tr_text key, struct tri_buffer *url);

/* Appends the URL of a page of the list of objects below a prefix; `next` is empty for the first.
 * TR_MEMORY. */
TR_MUST_USE int tri_fetch_location_list(const struct tri_fetch_location *location,
                                        struct tr_text prefix, struct tr_text next,
                                        struct tri_buffer *url);

/* Appends a text as a value of a query. TR_MEMORY. */
TR_MUST_USE int tri_fetch_location_encode(struct tr_text value, struct tri_buffer *url);

/* Whether requests there have a secret. */
static inline bool tri_fetch_location_has_secret(const struct tri_fetch_location *location)
{
    return location->store != NULL && location->store->secret.key.size > 0;
}

/* Room for how requests are signed. */
#define TRI_FETCH_SIGNER_BYTES 256

/* How requests there are signed, such as "signed with the secret GROUP/KEY", for people. */
const char *tri_fetch_location_signer(const struct tri_fetch_location *location,
                                      char words[TRI_FETCH_SIGNER_BYTES]);

#endif
