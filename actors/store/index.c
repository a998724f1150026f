/*
 * Linear hashing over pages. An entry is two sizes, the key and the value; a page is the entries of
 * a bucket one behind the other and nothing else, so an empty bucket has no page.
 *
 * With n buckets and p the largest power of two that is not above n, a key's bucket is its hash
 * modulo 2p if that bucket exists, and modulo p if not. Growing by one bucket parts exactly one old
 * one, n - p, because only its keys can hash to the new one. So each put moves the entries of one
 * page at most, whatever the size of the index. It never shrinks.
 */
#include "actors/store/index.h"

#include <string.h>

#include "runtime/memory.h"

#define HEAD_BYTES 4

struct entry {
    size_t at; /* in its page */
    size_t size;
    struct tr_bytes key;
    struct tr_bytes value;
};

/*
 * FNV-1a, stirred so that all bits depend on all bytes.
 *
 * Buckets are chosen by the low bits, which FNV-1a alone mixes too little. The multipliers are
 * those of the finalizer of MurmurHash3.
 */
static uint64_t hash_of(struct tr_bytes key)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < key.size; i++) {
        hash = (hash ^ key.data[i]) * 0x100000001b3U;
    }
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdU;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53U;
    return hash ^ hash >> 33;
}

/* The largest power of two that is not above the count. */
static uint32_t power_below(uint32_t buckets)
{
    return 1U << (31 - __builtin_clz(buckets));
}

static uint32_t bucket_of(struct tr_bytes key, uint32_t buckets)
{
    uint32_t power = power_below(buckets);
    uint32_t bucket = (uint32_t)hash_of(key) & (2 * power - 1);
    return bucket < buckets ? bucket : bucket & (power - 1);
}

static uint32_t page_of(const struct tr_index *index, uint32_t bucket)
{
    return index->first + bucket * index->stride;
}

/* Reads the entry at `at`; false at the end. */
static bool read_entry(struct tr_bytes page, size_t at, struct entry *entry)
{
    uint16_t sizes[2];
    if (at + HEAD_BYTES > page.size) {
        return false;
    }
    memcpy(sizes, page.data + at, HEAD_BYTES);
    *entry = (struct entry){
        .at = at,
        .size = HEAD_BYTES + (size_t)sizes[0] + sizes[1],
        .key = {.data = page.data + at + HEAD_BYTES, .size = sizes[0]},
        .value = {.data = page.data + at + HEAD_BYTES + sizes[0], .size = sizes[1]},
    };
    TR_ASSERT(at + entry->size <= page.size);
    return true;
}

static bool find_in(struct tr_bytes page, struct tr_bytes key, struct entry *entry)
{
    for (size_t at = 0; read_entry(page, at, entry); at += entry->size) {
        if (entry->key.size == key.size && memcmp(entry->key.data, key.data, key.size) == 0) {
            return true;
        }
    }
    return false;
}

static void write_entry(uint8_t *to, struct tr_bytes key, struct tr_bytes value)
{
    uint16_t sizes[2] = {(uint16_t)key.size, (uint16_t)value.size};
    memcpy(to, sizes, HEAD_BYTES);
    memcpy(to + HEAD_BYTES, key.data, key.size);
    if (value.size > 0) {
        memcpy(to + HEAD_BYTES + key.size, value.data, value.size);
    }
}

/*
 * Writes a page as a whole; without bytes there is none.
 *
 * `bytes` must not be a view of the same page.
 */
static int set_page(struct tr_context *context, uint32_t page, struct tr_bytes bytes)
{
    void *to;
    if (bytes.size == 0) {
        return tr_page_drop(context, page);
    }
    int error = tr_page_edit(context, page, bytes.size, &to);
    if (error == 0) {
        memcpy(to, bytes.data, bytes.size);
    }
    return error;
}

/* Parts the entries of a bucket between it and the new one. */
static int part(struct tr_context *context, struct tr_index *index, uint32_t from, uint8_t *stays,
                uint8_t *goes)
{
    struct tr_bytes page;
    struct entry entry;
    size_t stay_size = 0;
    size_t go_size = 0;
    int error = tr_page_get(context, page_of(index, from), &page);
    if (error != 0) {
        return error;
    }
    for (size_t at = 0; read_entry(page, at, &entry); at += entry.size) {
        bool does_stay = bucket_of(entry.key, index->buckets + 1) == from;
        uint8_t *to = does_stay ? stays + stay_size : goes + go_size;
        memcpy(to, page.data + at, entry.size);
        *(does_stay ? &stay_size : &go_size) += entry.size;
    }
    /* No key goes to the new bucket, and the old one stays as it is, without a write. */
    if (go_size == 0) {
        return 0;
    }
    error = set_page(context, page_of(index, from), (struct tr_bytes){stays, stay_size});
    return error != 0 ? error
                      : set_page(context, page_of(index, index->buckets),
                                 (struct tr_bytes){goes, go_size});
}

/* One more bucket, out of the one whose keys it shares. */
static int split(struct tr_context *context, struct tr_index *index)
{
    uint32_t from = index->buckets - power_below(index->buckets);
    /*
     * Not on the stack: handlers run on a worker's stack, and two pages are large. The copies are
     * needed because both pages are written from the one that is read.
     */
    uint8_t *memory = tr_alloc(2 * (size_t)TR_PAGE_BYTES_MAX);
    if (memory == NULL) {
        return TR_MEMORY;
    }
    int error = part(context, index, from, memory, memory + TR_PAGE_BYTES_MAX);
    tr_free(memory);
    if (error == 0) {
        index->buckets++;
    }
    return error;
}

int tr_index_find(struct tr_context *context, const struct tr_index *index, struct tr_bytes key,
                  struct tr_bytes *value)
{
    struct tr_bytes page;
    struct entry entry;
    if (index->buckets == 0) {
        return TR_NOT_FOUND;
    }
    int error = tr_page_get(context, page_of(index, bucket_of(key, index->buckets)), &page);
    if (error != 0) {
        return error;
    }
    if (!find_in(page, key, &entry)) {
        return TR_NOT_FOUND;
    }
    *value = entry.value;
    return 0;
}

int tr_index_remove(struct tr_context *context, struct tr_index *index, struct tr_bytes key)
{
    struct tr_bytes page;
    struct entry entry;
    if (index->buckets == 0) {
        return TR_NOT_FOUND;
    }
    uint32_t number = page_of(index, bucket_of(key, index->buckets));
    int error = tr_page_get(context, number, &page);
    if (error != 0) {
        return error;
    }
    if (!find_in(page, key, &entry)) {
        return TR_NOT_FOUND;
    }
    size_t left = page.size - entry.size;
    uint8_t *copy = tr_alloc(left + 1);
    if (copy == NULL) {
        return TR_MEMORY;
    }
    memcpy(copy, page.data, entry.at);
    memcpy(copy + entry.at, page.data + entry.at + entry.size, left - entry.at);
    error = set_page(context, number, (struct tr_bytes){copy, left});
    if (error == 0) {
        index->bytes -= entry.size;
    }
    tr_free(copy);
    return error;
}

int tr_index_put(struct tr_context *context, struct tr_index *index, struct tr_bytes key,
                 struct tr_bytes value)
{
    if (key.size == 0 || key.size > TR_INDEX_KEY_BYTES_MAX ||
        value.size > TR_INDEX_VALUE_BYTES_MAX) {
        return TR_LIMIT;
    }
    /*
     * The old value goes first. If the bucket is full then, the handler fails and its effects are
     * undone.
     */
    int error = tr_index_remove(context, index, key);
    if (error != 0 && error != TR_NOT_FOUND) {
        return error;
    }
    index->buckets = index->buckets == 0 ? 1 : index->buckets;
    uint32_t page = page_of(index, bucket_of(key, index->buckets));
    size_t size = HEAD_BYTES + key.size + value.size;
    struct tr_bytes before;
    void *bytes;
    error = tr_page_get(context, page, &before);
    if (error == 0) {
        error = tr_page_edit(context, page, before.size + size, &bytes);
    }
    if (error != 0) {
        return error;
    }
    write_entry((uint8_t *)bytes + before.size, key, value);
    index->bytes += size;
    bool is_crowded = index->bytes > (uint64_t)index->buckets * TR_INDEX_BUCKET_BYTES;
    return is_crowded && index->buckets < index->page_count ? split(context, index) : 0;
}

int tr_index_walk(struct tr_context *context, const struct tr_index *index,
                  int (*see)(void *self, struct tr_bytes key, struct tr_bytes value), void *self)
{
    int error = 0;
    for (uint32_t bucket = 0; error == 0 && bucket < index->buckets; bucket++) {
        struct tr_bytes page;
        struct entry entry;
        error = tr_page_get(context, page_of(index, bucket), &page);
        for (size_t at = 0; error == 0 && read_entry(page, at, &entry); at += entry.size) {
            error = see(self, entry.key, entry.value);
        }
    }
    return error;
}
