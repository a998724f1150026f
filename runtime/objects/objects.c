/*
 * The table of operations: keys, getting, listing and removing.
 */
#include "runtime/objects/objects.h"

#include <stdio.h>
#include <string.h>

#include "runtime/fetch/fetch_list.h"
#include "runtime/memory.h"
#include "runtime/objects/objects_inside.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/blob_uri.h"

#define SCHEME "s3://"

/* What a store's mark is called, before its digits. */
#define MARK ".store-"

/* ---- Places. -------------------------------------------------------------------------------- */

/* The rules that all stores of S3's kind have for buckets, and room for names behind a prefix. */
static bool is_bucket(struct tr_text text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    bool is_plain = text.size >= 3 && text.size <= 63;
    for (size_t i = 0; is_plain && i < text.size; i++) {
        is_plain = memchr(plain, text.data[i], sizeof plain - 1) != NULL;
    }
    return is_plain;
}

static bool is_prefix(struct tr_text text)
{
    bool is_plain = text.size <= TRI_OBJECTS_KEY_BYTES - 300;
    for (size_t i = 0; is_plain && i < text.size; i++) {
        bool is_empty_part = text.data[i] == '/' && (i == 0 || text.data[i - 1] == '/');
        is_plain = (uint8_t)text.data[i] > ' ' && !is_empty_part;
    }
    return is_plain;
}

bool tri_objects_is_uri(struct tr_text uri)
{
    size_t skipped = strlen(SCHEME);
    if (uri.size <= skipped || memcmp(uri.data, SCHEME, skipped) != 0) {
        return false;
    }
    const struct tr_text rest = {uri.data + skipped, uri.size - skipped};
    const char *slash = memchr(rest.data, '/', rest.size);
    size_t before = slash == NULL ? rest.size : (size_t)(slash - rest.data);
    size_t behind = slash == NULL ? before : before + 1;
    return is_bucket((struct tr_text){rest.data, before}) &&
           is_prefix((struct tr_text){rest.data + behind, rest.size - behind});
}

/* PREFIX/NAME, or NAME. */
struct tr_text tri_objects_key(const struct tri_objects *objects, const char *name,
                               char key[TRI_OBJECTS_KEY_BYTES])
{
    struct tr_text prefix = objects->location.key;
    int size = snprintf(key, TRI_OBJECTS_KEY_BYTES, "%.*s%s%s", (int)prefix.size, prefix.data,
                        prefix.size > 0 ? "/" : "", name);
    TR_ASSERT(size >= 0 && size < TRI_OBJECTS_KEY_BYTES); /* prefixes and names are limited */
    return tr_text_of(key);
}

/* ---- Operations. ---------------------------------------------------------------------------- */

static int get(struct tri_blob_remote *remote, struct tri_blob_call *call, const char *name,
               int descriptor)
{
    char key[TRI_OBJECTS_KEY_BYTES];
    struct tri_objects *objects = (struct tri_objects *)remote;
    struct tri_objects_answer answer = {.status = 0};
    const struct tri_objects_request request = {.objects = objects,
                                                .call = call,
                                                .method = "GET",
                                                .key = tri_objects_key(objects, name, key),
                                                .descriptor = descriptor};
    int error = tri_objects_ask(&request, 0, &answer);
    tri_buffer_fini(&answer.body);
    return error;
}

static int remove_object(struct tri_blob_remote *remote, struct tri_blob_call *call,
                         const char *name)
{
    char key[TRI_OBJECTS_KEY_BYTES];
    struct tri_objects *objects = (struct tri_objects *)remote;
    struct tri_objects_answer answer = {.status = 0};
    const struct tri_objects_request request = {.objects = objects,
                                                .call = call,
                                                .method = "DELETE",
                                                .key = tri_objects_key(objects, name, key),
                                                .descriptor = -1};
    int error = tri_objects_ask(&request, 404, &answer);
    tri_buffer_fini(&answer.body);
    return error;
}

int tri_objects_mark(struct tri_blob_remote *remote, struct tri_blob_call *call,
                     struct tr_text about)
{
    char name[sizeof MARK + TRI_OBJECTS_STORE_DIGITS];
    char key[TRI_OBJECTS_KEY_BYTES];
    struct tri_objects *objects = (struct tri_objects *)remote;
    struct tri_objects_answer answer = {.status = 0};
    snprintf(name, sizeof name, MARK "%.16s", objects->options.digits);
    const struct tri_objects_request request = {.objects = objects,
                                                .call = call,
                                                .method = "PUT",
                                                .key = tri_objects_key(objects, name, key),
                                                .body = {(const uint8_t *)about.data, about.size},
                                                .descriptor = -1};
    int error = tri_objects_ask(&request, 0, &answer);
    tri_buffer_fini(&answer.body);
    return error;
}

/* ---- Lists. --------------------------------------------------------------------------------- */

/* A list of all objects whose names begin so. */
struct listing {
    struct tri_objects *objects;
    struct tri_blob_call *call;
    char prefix[TRI_OBJECTS_KEY_BYTES];
    int (*each)(void *self, const struct tri_blob_object *object);
    void *self;
};

static int add(struct tri_buffer *query, const char *text)
{
    return tri_buffer_append(query, text, strlen(text));
}

/* The parameters in the order in which they are signed. */
static int make_query(const struct listing *listing, struct tr_text next, struct tri_buffer *query)
{
    tri_buffer_clear(query);
    int error = next.size > 0 ? add(query, "continuation-token=") : 0;
    if (error == 0 && next.size > 0) {
        error = tri_fetch_location_encode(next, query);
    }
    if (error == 0) {
        error = add(query, next.size > 0 ? "&list-type=2&prefix=" : "list-type=2&prefix=");
    }
    if (error == 0) {
        error = tri_fetch_location_encode(tr_text_of(listing->prefix), query);
    }
    return error != 0 ? error : tri_buffer_append(query, "", 1);
}

/* Shows an object by its name: what stands behind the prefix of all keys. */
static int show(const struct listing *listing, const struct tri_fetch_listed *listed)
{
    char name[TRI_OBJECTS_KEY_BYTES];
    struct tr_text prefix = listing->objects->location.key;
    size_t skipped = prefix.size > 0 ? prefix.size + 1 : 0;
    if (listed->key.size <= skipped || listed->key.size - skipped >= sizeof name ||
        memchr(listed->key.data + skipped, '/', listed->key.size - skipped) != NULL) {
        return 0;
    }
    snprintf(name, sizeof name, "%.*s", (int)(listed->key.size - skipped),
             listed->key.data + skipped);
    const struct tri_blob_object object = {
        .name = name, .changed_ms = listed->changed_ms, .size = listed->size};
    return listing->each(listing->self, &object);
}

/* Shows a page; `next` is the token of the page behind it, empty behind the last one. */
static int show_page(const struct listing *listing, const struct tri_objects_request *request,
                     const struct tri_objects_answer *answer, struct tri_buffer *next)
{
    struct tri_fetch_page page;
    struct tri_fetch_listed listed;
    int error = tri_fetch_page_init(
        &page, (struct tr_bytes){tri_buffer_front(&answer->body), tri_buffer_size(&answer->body)});
    tri_buffer_clear(next);
    while (error == 0 && (error = tri_fetch_page_next(&page, &listed)) == 0) {
        error = show(listing, &listed);
    }
    if (error == TR_MALFORMED) {
        error = tri_objects_fail_malformed(request, "is no list of objects");
    }
    if (error == TR_NOT_FOUND) {
        error = tri_buffer_append(next, page.next.data, page.next.size);
    }
    tri_fetch_page_fini(&page);
    return error;
}

static int list(const struct listing *listing)
{
    struct tri_buffer query = {0};
    struct tri_buffer next = {0};
    int error = 0;
    do {
        struct tri_objects_answer answer = {.status = 0};
        error = make_query(
            listing,
            (struct tr_text){(const char *)tri_buffer_front(&next), tri_buffer_size(&next)},
            &query);
        const struct tri_objects_request request = {.objects = listing->objects,
                                                    .call = listing->call,
                                                    .method = "GET",
                                                    .query = (const char *)tri_buffer_front(&query),
                                                    .descriptor = -1};
        if (error == 0) {
            error = tri_objects_ask(&request, 0, &answer);
        }
        if (error == 0) {
            error = show_page(listing, &request, &answer, &next);
        }
        tri_buffer_fini(&answer.body);
    } while (error == 0 && tri_buffer_size(&next) > 0);
    tri_buffer_fini(&query);
    tri_buffer_fini(&next);
    return error;
}

static int each_object(struct tri_blob_remote *remote, struct tri_blob_call *call,
                       int (*each)(void *self, const struct tri_blob_object *object), void *self)
{
    struct listing listing = {
        .objects = (struct tri_objects *)remote, .call = call, .each = each, .self = self};
    (void)tri_objects_key(listing.objects, "", listing.prefix);
    return list(&listing);
}

/* ---- Cleaning. ------------------------------------------------------------------------------ */

static int find_other(void *self, const struct tri_blob_object *object)
{
    const struct listing *listing = self;
    const struct tri_objects_options *options = &listing->objects->options;
    if (strcmp(object->name + strlen(MARK), options->digits) == 0) {
        return 0;
    }
    snprintf(listing->call->words, sizeof listing->call->words,
             "%.*s holds blobs of another store, too, and nothing is removed there; give each "
             "store a prefix of its own, or remove %.40s there if that store is gone",
             (int)options->uri.size, options->uri.data, object->name);
    return TR_BUSY;
}

static int clean(struct tri_blob_remote *remote, struct tri_blob_call *call, uint64_t before_ms)
{
    struct listing listing = {
        .objects = (struct tri_objects *)remote, .call = call, .each = find_other};
    listing.self = &listing;
    (void)tri_objects_key(listing.objects, MARK, listing.prefix);
    int error = list(&listing);
    return error != 0 ? error : tri_objects_drop_uploads(listing.objects, call, before_ms);
}

/* ---- The remote. ---------------------------------------------------------------------------- */

static void objects_free(struct tri_blob_remote *remote)
{
    struct tri_objects *objects = (struct tri_objects *)remote;
    tri_http_stop(objects->http);
    tr_free(objects->options.owned);
    tr_free(objects);
}

static const struct tri_blob_remote_ops ops = {.begin = tri_objects_begin,
                                               .add = tri_objects_add,
                                               .end = tri_objects_end,
                                               .get = get,
                                               .each = each_object,
                                               .remove = remove_object,
                                               .clean = clean,
                                               .free = objects_free};

int tri_objects_new(const struct tri_objects_options *options, struct tri_blob_remote **remote)
{
    struct tri_objects *objects;
    if (!tri_objects_is_uri(options->uri)) {
        return TR_INVALID;
    }
    objects = tr_alloc_zero(1, sizeof *objects);
    if (objects == NULL) {
        return TR_MEMORY;
    }
    objects->base.ops = &ops;
    objects->options = *options;
    int error = tri_fetch_location_find(options->store, options->store != NULL ? 1 : 0,
                                        options->uri, &objects->location);
    if (error != 0) {
        tr_free(objects);
        return error;
    }
    struct tr_text *prefix = &objects->location.key;
    prefix->size -= prefix->size > 0 && prefix->data[prefix->size - 1] == '/' ? 1 : 0;
    *remote = &objects->base;
    return 0;
}
