/*
 * What the settings say of object stores: by what a URI begins with, where its objects are reached
 * and how requests show who asks. And where blobs are kept.
 */
#include <string.h>

#include "actors/graph/language/keys.h"
#include "deploy/settings/settings_inside.h"
#include "runtime/store_blobs.h"
#include "schemas/runtime/http.h"

/* The least that a cache of blobs may have. */
#define CACHE_BYTES_MIN (1U << 20)

/* An entry in the making. */
struct store_reader {
    struct tr_settings_file *settings;
    struct tr_object_store store;
    bool is_web; /* it is for URLs, which say themselves where they lead */
};

static bool begins_with(struct tr_text text, const char *beginning)
{
    size_t size = strlen(beginning);
    return text.size >= size && memcmp(text.data, beginning, size) == 0;
}

static void read_endpoint(struct tri_definition *definition, const struct tr_tree *value,
                          void *target)
{
    struct store_reader *reader = target;
    if (reader->is_web) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'endpoint' goes with s3:// and gs://, and a URL has its own\nremove it");
        return;
    }
    (void)tri_settings_read_url(definition, value, &reader->store.endpoint);
}

static bool is_region(struct tr_text text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    for (size_t i = 0; i < text.size; i++) {
        if (memchr(plain, text.data[i], sizeof plain - 1) == NULL) {
            return false;
        }
    }
    return text.size > 0;
}

static void read_region(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct store_reader *reader = target;
    struct tr_text region;
    if (!tri_keys_read_text(definition, value, &region)) {
        return;
    }
    if (!is_region(region)) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is no region\nwrite letters, digits and -, as eu-central-1",
                       TRI_SHOWN(region));
        return;
    }
    reader->store.region = region;
}

/* Of `secret` and `authorization` one may be there. */
static bool is_first(struct tri_definition *definition, const struct tr_tree *value,
                     const struct store_reader *reader)
{
    bool is_first = reader->store.secret.key.size == 0;
    if (!is_first) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "an object store has 'secret', which signs, or 'authorization'\nwrite one "
                       "of them");
    }
    return is_first;
}

static void take_secret(struct store_reader *reader, const struct tr_secret *secret, uint8_t kind,
                        const char *header, const char *prefix)
{
    reader->store.secret = (struct tr_http_secret){.kind = kind,
                                                   .header = tr_text_of(header),
                                                   .prefix = tr_text_of(prefix),
                                                   .group = secret->group,
                                                   .key = secret->key,
                                                   .version = secret->version};
}

static void read_secret(struct tri_definition *definition, const struct tr_tree *value,
                        void *target)
{
    struct store_reader *reader = target;
    struct tr_secret secret = {.name = tr_text_of("secret")};
    if (is_first(definition, value, reader) && tri_keys_read_secret(definition, value, &secret)) {
        take_secret(reader, &secret, TR_HTTP_SECRET_SIGN, "", "");
    }
}

static void read_authorization(struct tri_definition *definition, const struct tr_tree *value,
                               void *target)
{
    struct store_reader *reader = target;
    struct tr_secret secret;
    uint8_t kind = TR_WEBAPI_AUTHORIZATION_NONE;
    if (is_first(definition, value, reader) &&
        tri_settings_read_authorization(definition, value, &kind, &secret) &&
        kind != TR_WEBAPI_AUTHORIZATION_NONE) {
        bool is_basic = kind == TR_WEBAPI_AUTHORIZATION_BASIC;
        take_secret(reader, &secret, is_basic ? TR_HTTP_SECRET_BASIC : TR_HTTP_SECRET_PLAIN,
                    "Authorization", is_basic ? "" : "Bearer ");
    }
}

static void read_ca_file(struct tri_definition *definition, const struct tr_tree *value,
                         void *target)
{
    struct store_reader *reader = target;
    tri_settings_read_file(definition, reader->settings, value, &reader->store.ca_file);
}

/* Whether a text is what URIs may begin with; false: it is told. */
static bool read_beginning(struct tri_definition *definition, const struct tr_tree *key,
                           struct store_reader *reader)
{
    static const char *const web[] = {"https://", "http://"};
    struct tr_text *uri = &reader->store.uri;
    if (!tri_keys_read_text(definition, key, uri)) {
        return false;
    }
    for (size_t i = 0; i < TR_COUNT_OF(web); i++) {
        reader->is_web =
            reader->is_web || (begins_with(*uri, web[i]) && uri->size > strlen(web[i]));
    }
    if (!reader->is_web && !begins_with(*uri, "s3://") && !begins_with(*uri, "gs://")) {
        tri_report_add(definition->report, key->place, "InvalidValue",
                       "'%.*s' is nothing that files' URIs begin with\nwrite s3:// or gs://, with "
                       "a bucket behind it or none, or https://HOST[/PATH]",
                       TRI_SHOWN(*uri));
        return false;
    }
    return true;
}

void tri_settings_read_stores(struct tri_definition *definition, const struct tr_tree *value,
                              void *target)
{
    static const struct tri_key keys[] = {{"endpoint", read_endpoint, 0},
                                          {"region", read_region, 0},
                                          {"secret", read_secret, 0},
                                          {"authorization", read_authorization, 0},
                                          {"ca_file", read_ca_file, 0}};
    struct tr_settings_file *settings = target;
    if (!tri_keys_expect_map(definition, value, "object_stores")) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        struct store_reader reader = {.settings = settings};
        struct tr_object_store *added = NULL;
        if (read_beginning(definition, value->pairs[i].key, &reader)) {
            tri_keys_read_keys(definition, value->pairs[i].value, "an object store", keys,
                               TR_COUNT_OF(keys), &reader);
            added = tri_vector_add(&settings->arena, &settings->object_stores, sizeof *added);
        }
        if (added != NULL) {
            *added = reader.store;
        }
    }
}

/*
 * Whether the place is there the engine sees, which may start before a folder is mounted, and when
 * the settings of object stores have been read.
 */
void tri_settings_read_blobs(struct tri_definition *definition, const struct tr_tree *value,
                             void *target)
{
    struct tr_settings_file *settings = target;
    struct tr_text where;
    if (!tri_keys_read_text(definition, value, &where)) {
        return;
    }
    if (tri_store_blobs_is_uri(where)) {
        settings->blobs = tr_arena_print(&settings->arena, "%.*s", TRI_SHOWN(where)).data;
        return;
    }
    if (where.size == 0 || memmem(where.data, where.size, "://", 3) != NULL) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "'%.*s' is neither a folder nor a bucket\nwrite the path of a folder that "
                       "all hosts of the store reach, or s3://BUCKET[/PREFIX]",
                       TRI_SHOWN(where));
        return;
    }
    settings->blobs = tri_settings_place(settings, where);
}

void tri_settings_read_blobs_cache(struct tri_definition *definition, const struct tr_tree *value,
                                   void *target)
{
    struct tr_settings_file *settings = target;
    uint64_t read = CACHE_BYTES_MIN;
    tri_keys_read_units(definition, value, &read);
    if (read < CACHE_BYTES_MIN) {
        tri_report_add(definition->report, value->place, "InvalidValue",
                       "this is too little for a cache\nwrite at least 1Mi");
        return;
    }
    settings->retention.blobs_cache_bytes = read;
}
