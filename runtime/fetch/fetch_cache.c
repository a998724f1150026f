/*
 * The documents of the cache, at fetched/ab/abcd...: the version of their schema, and the body. One
 * that is damaged, newer, or about another URI counts as missing, and the content is downloaded.
 */
#include "runtime/fetch/fetch_cache.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

#define PATH_BYTES (sizeof TR_STORE_FETCHED + TRI_FETCH_NAME_BYTES + 4)

void tri_fetch_cache_name(struct tr_text uri, enum tr_path_kind kind,
                          char name[TRI_FETCH_NAME_BYTES])
{
    const uint8_t head = kind == TR_PATH_DIRECTORY ? 'd' : 'f';
    uint8_t digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, &head, 1);
    crypto_hash_sha256_update(&state, (const uint8_t *)uri.data, uri.size);
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(name, TRI_FETCH_NAME_BYTES, digest, sizeof digest);
}

static struct tr_text path_of(const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, TR_STORE_FETCHED "/%.2s/%s", name, name);
    return tr_text_of(path);
}

/* ---- Reading. ------------------------------------------------------------------------------- */

static int unpack(struct tr_bytes document, struct tr_fetched *fetched)
{
    if (document.size == 0) {
        return TR_TRUNCATED;
    }
    struct tr_bytes body = {.data = document.data + 1, .size = document.size - 1};
    return tr_fetched_unpack(body, document.data[0], fetched);
}

static void take(struct tr_text text, char taken[TR_FETCH_TAG_BYTES_MAX + 1])
{
    bool fits = text.size <= TR_FETCH_TAG_BYTES_MAX;
    snprintf(taken, TR_FETCH_TAG_BYTES_MAX + 1, "%.*s", fits ? (int)text.size : 0, text.data);
}

void tri_fetch_cache_read(struct tri_blobs *blobs, const char *name, struct tr_text uri,
                          struct tri_fetch_cached *known)
{
    char path[PATH_BYTES];
    struct tri_buffer bytes = {0};
    struct tr_fetched fetched = {.blob = {.size = 0}};
    *known = (struct tri_fetch_cached){.tag = ""};
    int error = tri_document_get(blobs, path_of(name, path), &bytes);
    if (error == 0) {
        error =
            unpack((struct tr_bytes){tri_buffer_front(&bytes), tri_buffer_size(&bytes)}, &fetched);
    }
    if (error == 0 && tr_text_equal(fetched.uri, uri) &&
        tri_blob_fetch(blobs, fetched.blob, &known->blob) == 0) {
        take(fetched.tag, known->tag);
        take(fetched.modified, known->modified);
    }
    tri_buffer_fini(&bytes);
}

/* ---- Writing. ------------------------------------------------------------------------------- */

/* A text of a server, which may have invalid bytes. */
static struct tr_text clean(const char *text)
{
    return tr_text_of(tr_utf8_valid(tr_text_of(text)) ? text : "");
}

int tri_fetch_cache_write(struct tri_blobs *blobs, const char *name, struct tr_text uri,
                          const struct tri_fetch_cached *known)
{
    char path[PATH_BYTES];
    const struct tr_fetched fetched = {.uri = uri,
                                       .tag = clean(known->tag),
                                       .modified = clean(known->modified),
                                       .blob = tr_text_of(known->blob.uri)};
    struct tri_buffer bytes = {0};
    size_t size = tr_fetched_schema.size_max(&fetched);
    int error = tri_buffer_reserve(&bytes, size + 1);
    if (error == 0) {
        struct tr_writer writer = tr_writer_of(bytes.data + 1, size);
        bytes.data[0] = tr_fetched_schema.version;
        error = tr_fetched_pack(&fetched, &writer);
        bytes.end = 1 + tr_writer_size(&writer);
    }
    if (error == 0) {
        error = tri_document_put(blobs, path_of(name, path),
                                 (struct tr_bytes){tri_buffer_front(&bytes), bytes.end});
    }
    tri_buffer_fini(&bytes);
    return error;
}
