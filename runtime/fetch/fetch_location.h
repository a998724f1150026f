/*
 * Where a URI leads: the URL that is asked for, and how a request there shows who asks. Pure.
 *
 *     s3://BUCKET/KEY, gs://BUCKET/KEY   an object: ENDPOINT/BUCKET/KEY, path style
 *     https://..., http://...            what it names, as it stands
 *
 * The key of an object is written as it is, without escapes; in the URL it is encoded.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_LOCATION_H
#define TR_RUNTIME_FETCH_FETCH_LOCATION_H

#include "runtime/env/buffer.h"
#include "runtime/exchange.h"

/* A URI taken apart. Views of it, and of the stores. */
struct tri_fetch_place {
    struct tr_text uri;
    struct tr_text bucket; /* empty: the URI is a URL */
    struct tr_text key;
    struct tr_text endpoint; /* empty: that of the scheme */
    struct tr_text region;
    const struct tr_object_store *store; /* of the settings; NULL: none fits */
};

/* Whether a URI is one that is downloaded. */
bool tri_fetch_place_can(struct tr_text uri);

/*
 * Takes a URI apart. Of the stores the one counts whose `uri` is the longest beginning of it, up to
 * a slash. TR_INVALID: it names no bucket.
 */
TR_MUST_USE int tri_fetch_place_find(const struct tr_object_store *stores, size_t count,
                                     struct tr_text uri, struct tri_fetch_place *place);

/* Appends the URL of the object with a key, of a URL itself. TR_MEMORY. */
TR_MUST_USE int tri_fetch_place_url(const struct tri_fetch_place *place, struct tr_text key,
                                    struct tri_buffer *url);

/* Appends the URL of a page of the list of objects below a prefix; `next` is empty for the first.
 * TR_MEMORY. */
TR_MUST_USE int tri_fetch_place_list(const struct tri_fetch_place *place, struct tr_text prefix,
                                     struct tr_text next, struct tri_buffer *url);

/* Whether requests there have a secret. */
static inline bool tri_fetch_place_has_secret(const struct tri_fetch_place *place)
{
    return place->store != NULL && place->store->secret.key.size > 0;
}

#endif
