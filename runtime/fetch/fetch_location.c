/*
 * Parses URIs and builds URLs.
 *
 * In a URL every character of a key is encoded that may need it, so that the signature, which
 * covers the encoded form, and the server agree. A prefix and a token are parameters, in the order
 * in which they are signed.
 */
#include "runtime/fetch/fetch_location.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"

#define PLAIN "-_.~"

/*
 * The schemes of object stores, with their default endpoints and signing services. `%` stands for
 * the region.
 */
static const struct {
    const char *scheme;
    const char *endpoint;
    const char *region;
} schemes[] = {
    {"s3://", "https://s3.%.amazonaws.com", "us-east-1"},
    {"gs://", "https://storage.googleapis.com", "auto"},
};

static bool begins_with(struct tr_text text, struct tr_text prefix)
{
    return text.size >= prefix.size && memcmp(text.data, prefix.data, prefix.size) == 0;
}

/* The row of a URI's scheme; TR_COUNT_OF(schemes): not of an object store. */
static size_t scheme_of(struct tr_text uri)
{
    size_t i = 0;
    while (i < TR_COUNT_OF(schemes) && !begins_with(uri, tr_text_of(schemes[i].scheme))) {
        i++;
    }
    return i;
}

bool tri_fetch_location_is_supported(struct tr_text uri)
{
    return begins_with(uri, tr_text_of("http://")) || begins_with(uri, tr_text_of("https://")) ||
           scheme_of(uri) < TR_COUNT_OF(schemes);
}

/* Whether `beginning` is a prefix of the URI that ends at a slash. */
static bool is_below(struct tr_text uri, struct tr_text beginning)
{
    bool ends_in_slash = beginning.size > 0 && beginning.data[beginning.size - 1] == '/';
    return beginning.size > 0 && begins_with(uri, beginning) &&
           (ends_in_slash || uri.size == beginning.size || uri.data[beginning.size] == '/');
}

static const struct tr_object_store *store_of(const struct tr_object_store *stores, size_t count,
                                              struct tr_text uri)
{
    const struct tr_object_store *found = NULL;
    for (size_t i = 0; i < count; i++) {
        bool is_longer = found == NULL || stores[i].uri.size > found->uri.size;
        if (is_longer && is_below(uri, stores[i].uri)) {
            found = &stores[i];
        }
    }
    return found;
}

int tri_fetch_location_find(const struct tr_object_store *stores, size_t count, struct tr_text uri,
                            struct tri_fetch_location *out)
{
    struct tri_fetch_location location = {.uri = uri, .store = store_of(stores, count, uri)};
    size_t scheme = scheme_of(uri);
    if (location.store != NULL) {
        location.endpoint = location.store->endpoint;
        location.region = location.store->region;
    }
    bool is_object = scheme < TR_COUNT_OF(schemes);
    if (location.region.size == 0) {
        location.region = tr_text_of(schemes[is_object ? scheme : 0].region);
    }
    if (is_object) {
        size_t skipped = strlen(schemes[scheme].scheme);
        struct tr_text rest = {uri.data + skipped, uri.size - skipped};
        const char *slash = rest.size == 0 ? NULL : memchr(rest.data, '/', rest.size);
        size_t before = slash == NULL ? rest.size : (size_t)(slash - rest.data);
        size_t key = slash == NULL ? before : before + 1;
        location.bucket = (struct tr_text){rest.data, before};
        location.key = (struct tr_text){rest.data + key, rest.size - key};
        if (before == 0) {
            return TR_INVALID;
        }
    }
    *out = location;
    return 0;
}

/* ---- URLs. ---------------------------------------------------------------------------------- */

static int add(struct tri_buffer *url, const char *text)
{
    return tri_buffer_append(url, text, strlen(text));
}

static int add_encoded(struct tri_buffer *url, struct tr_text text, const char *also_plain)
{
    static const char digits[] = "0123456789ABCDEF";
    int error = 0;
    for (size_t i = 0; i < text.size && error == 0; i++) {
        char c = text.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool is_plain = is_letter || (c != '\0' && strchr(also_plain, c) != NULL);
        const char escape[] = {'%', digits[(uint8_t)c >> 4], digits[(uint8_t)c & 15]};
        error = is_plain ? tri_buffer_append(url, &c, 1)
                         : tri_buffer_append(url, escape, sizeof escape);
    }
    return error;
}

int tri_fetch_location_encode(struct tr_text value, struct tri_buffer *url)
{
    return add_encoded(url, value, PLAIN);
}

/* Appends a query parameter and the separator after it. */
static int add_parameter(struct tri_buffer *url, const char *name, struct tr_text value,
                         const char *behind)
{
    int error = add(url, name);
    if (error == 0) {
        error = add_encoded(url, value, PLAIN);
    }
    return error != 0 ? error : add(url, behind);
}

/* Appends the scheme's endpoint, with the region in its place. */
static int add_own_endpoint(const struct tri_fetch_location *location, struct tri_buffer *url)
{
    const char *endpoint = schemes[scheme_of(location->uri)].endpoint;
    const char *mark = strchr(endpoint, '%');
    size_t before = mark == NULL ? strlen(endpoint) : (size_t)(mark - endpoint);
    int error = tri_buffer_append(url, endpoint, before);
    if (error == 0 && mark != NULL) {
        error = tri_buffer_append(url, location->region.data, location->region.size);
    }
    return error != 0 || mark == NULL ? error : add(url, mark + 1);
}

static int add_bucket(const struct tri_fetch_location *location, struct tri_buffer *url)
{
    int error = location->endpoint.size > 0
                    ? tri_buffer_append(url, location->endpoint.data, location->endpoint.size)
                    : add_own_endpoint(location, url);
    if (error == 0) {
        error = add(url, "/");
    }
    return error != 0 ? error : add_encoded(url, location->bucket, PLAIN);
}

int tri_fetch_location_url(const struct tri_fetch_location *location, struct tr_text key,
                           struct tri_buffer *url)
{
    if (location->bucket.size == 0) {
        return tri_buffer_append(url, location->uri.data, location->uri.size);
    }
    int error = add_bucket(location, url);
    if (error == 0) {
        error = add(url, "/");
    }
    return error != 0 ? error : add_encoded(url, key, PLAIN "/");
}

int tri_fetch_location_list(const struct tri_fetch_location *location, struct tr_text prefix,
                            struct tr_text next, struct tri_buffer *url)
{
    int error = add_bucket(location, url);
    if (error == 0) {
        error = add(url, "?");
    }
    if (error == 0 && next.size > 0) {
        error = add_parameter(url, "continuation-token=", next, "&");
    }
    if (error == 0) {
        error = add(url, "list-type=2&");
    }
    return error != 0 ? error : add_parameter(url, "prefix=", prefix, "");
}

const char *tri_fetch_location_signer(const struct tri_fetch_location *location,
                                      char words[TRI_FETCH_SIGNER_BYTES])
{
    if (location->store == NULL) {
        return "without a secret, as object_stores of the settings has no entry for it";
    }
    if (!tri_fetch_location_has_secret(location)) {
        return "without a secret, as its entry under object_stores has none";
    }
    const struct tr_http_secret *secret = &location->store->secret;
    snprintf(words, TRI_FETCH_SIGNER_BYTES, "%s the secret %.*s/%.*s",
             secret->kind == TR_HTTP_SECRET_SIGN ? "signed with" : "with", (int)secret->group.size,
             secret->group.data, (int)secret->key.size, secret->key.data);
    return words;
}
