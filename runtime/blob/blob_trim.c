/*
 * Bounding the cache: of the blobs that are in another place, too, those that were asked for
 * longest ago leave the folder. Each is held alone and checked again under the lock of ages, so
 * that whoever asks for it meanwhile finds it, or fetches it anew.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

struct kept {
    char name[NAME_MAX + 1];
    uint64_t bytes;
    uint64_t changed_ms;
};

/* All that is in the folder. */
struct cache {
    struct kept *items;
    size_t count;
    size_t capacity;
    uint64_t bytes;
};

static int add(struct cache *cache, const struct tri_blobs *blobs, const char *name)
{
    if (cache->count == cache->capacity) {
        size_t capacity = cache->capacity == 0 ? 256 : 2 * cache->capacity;
        struct kept *grown = tr_realloc(cache->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        cache->items = grown;
        cache->capacity = capacity;
    }
    struct kept *kept = &cache->items[cache->count];
    if (!tri_blob_find_change(blobs->folder, name, &kept->changed_ms)) {
        return 0;
    }
    snprintf(kept->name, sizeof kept->name, "%s", name);
    kept->bytes = tri_below_bytes(blobs->folder, name);
    cache->bytes += kept->bytes;
    cache->count++;
    return 0;
}

static int list(struct cache *cache, struct tri_blobs *blobs)
{
    int copy = openat(blobs->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    int error = folder == NULL ? tri_below_error() : 0;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        error = tri_blob_name_read(entry->d_name, digest) ? add(cache, blobs, entry->d_name) : 0;
    }
    if (folder != NULL) {
        closedir(folder);
    } else if (copy >= 0) {
        close(copy);
    }
    return error == 0 ? 0 : tri_blob_explain(blobs, error, blobs->path);
}

static int compare(const void *a, const void *b)
{
    uint64_t left = ((const struct kept *)a)->changed_ms;
    uint64_t right = ((const struct kept *)b)->changed_ms;
    return left < right ? -1 : left > right ? 1 : 0;
}

/* Removes one, unless it is being stored or was asked for; `is_gone` says whether. */
static int remove_one(struct tri_blobs *blobs, const struct kept *kept, uint64_t before_ms,
                      bool *is_gone)
{
    char gone[32];
    int held;
    *is_gone = false;
    int error = tri_blob_hold(blobs, kept->name, true, false, &held);
    if (error != 0) {
        return error == TR_BUSY ? 0 : error;
    }
    error = tri_blob_take_away(blobs, blobs->folder, kept->name, before_ms, gone);
    close(held);
    *is_gone = error == 0 && gone[0] != '\0';
    if (*is_gone) {
        (void)!tri_below_remove(blobs->fresh, tr_text_of(gone)); /* else the next engine does */
    }
    return error == 0 ? 0 : tri_blob_explain(blobs, error, kept->name);
}

int tri_blobs_trim(struct tri_blobs *blobs, const struct tri_blob_trim *trim,
                   struct tri_swept *swept)
{
    struct cache cache = {.count = 0};
    *swept = (struct tri_swept){.count = 0};
    int error = blobs->remote == NULL ? 0 : list(&cache, blobs);
    if (error == 0 && cache.bytes > trim->bytes_max) {
        qsort(cache.items, cache.count, sizeof *cache.items, compare);
    }
    for (size_t i = 0; error == 0 && i < cache.count && cache.bytes > trim->bytes_max; i++) {
        const struct kept *kept = &cache.items[i];
        bool is_gone = false;
        if (atomic_load(blobs->is_stopping)) {
            error = TR_CLOSED;
        } else if (kept->changed_ms <= trim->before_ms && !trim->is_used(trim->self, kept->name)) {
            error = remove_one(blobs, kept, trim->before_ms, &is_gone);
        }
        cache.bytes -= is_gone ? kept->bytes : 0;
        swept->count += is_gone ? 1 : 0;
        swept->bytes += is_gone ? kept->bytes : 0;
    }
    tr_free(cache.items);
    return error;
}
