/*
 * Rows in pages and the buckets that find them.
 *
 *     page 0 .. BUCKET_PAGES - 1     the first row of each bucket
 *     page BUCKET_PAGES ..           rows, numbered from 1
 *
 * or where the stripes of the table are.
 *
 * The buckets of linear hashing: of `buckets` there are so many that the last `buckets - half` of
 * them, half being the largest power of two below, have split from those at the beginning.
 *
 * Each row keeps its hash, so a split reads no keys. A row's chain is its bucket's list, newest
 * first. Removed rows form a list by the same field `next`, and their numbers are given again, so
 * pages are used again before the table takes new ones. A lookup reads one bucket page and the rows
 * of one chain, of which there is one in the mean.
 */
#include "actors/store/rows.h"

#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/store/task_name.h"

#define BUCKET_PAGES 512U
#define BUCKETS_PER_PAGE 256U
#define BUCKETS_MIN 64U
#define BUCKETS_MAX (BUCKET_PAGES * BUCKETS_PER_PAGE)

_Static_assert(TR_ROWS_KEY_BYTES == TR_GRAPH_HASH_BYTES, "a hash is a key");

static int page_of_context(void *self, uint32_t page, struct tr_bytes *bytes)
{
    return tr_page_get(self, page, bytes);
}

struct tr_rows tri_rows_open(struct tr_context *context, uint32_t row_bytes, uint32_t used,
                             uint32_t free, uint32_t count, uint32_t buckets)
{
    TR_ASSERT(row_bytes >= sizeof(struct tr_rows_head) && row_bytes <= TR_ROW_BYTES_MAX);
    return (struct tr_rows){
        .context = context,
        .page = page_of_context,
        .self = context,
        .bucket_pages = {.first = 0, .width = 1, .period = 1},
        .row_pages = {.first = BUCKET_PAGES, .width = 1, .period = 1},
        .row_bytes = row_bytes,
        .per_page = TR_ROWS_PAGE_BYTES / row_bytes,
        .used = used,
        .free = free,
        .count = count,
        .buckets = buckets == 0 ? BUCKETS_MIN : buckets,
    };
}

struct tr_rows tri_rows_reader(tr_rows_page *page, void *self, uint32_t row_bytes, uint32_t used,
                               uint32_t count, uint32_t buckets)
{
    struct tr_rows rows = tri_rows_open(NULL, row_bytes, used, 0, count, buckets);
    rows.page = page;
    rows.self = self;
    return rows;
}

struct tr_rows_key tr_rows_key_numbers(uint32_t kind, uint64_t first, uint64_t second)
{
    struct tr_rows_key key = {.kind = kind};
    memcpy(key.bytes, &first, sizeof first);
    memcpy(key.bytes + sizeof first, &second, sizeof second);
    return key;
}

struct tr_rows_key tr_rows_key_bytes(uint32_t kind, struct tr_bytes bytes)
{
    struct tr_rows_key key = {.kind = kind};
    tr_digest(bytes, key.bytes);
    return key;
}

/* ---------------------------------------------------------------- buckets */

static uint64_t hash_of(const struct tr_rows_key *key)
{
    struct tr_bytes bytes = {.data = key->bytes, .size = sizeof key->bytes};
    uint64_t hash = tr_fnv_64(TR_FNV_64_BEGIN + key->kind, bytes);
    return hash ^ hash >> 32; /* its low bits choose the bucket */
}

/* The largest power of two that is not above `count`. */
static uint32_t half_of(uint32_t count)
{
    return 1U << (31 - __builtin_clz(count));
}

static uint32_t bucket_of(const struct tr_rows *rows, uint64_t hash)
{
    uint32_t half = half_of(rows->buckets);
    uint32_t wide = (uint32_t)hash & (2 * half - 1);
    return wide < rows->buckets ? wide : wide & (half - 1);
}

/* A bucket page that was never written reads as empty buckets. */
static int bucket_get(struct tr_rows *rows, uint32_t bucket, uint32_t *first)
{
    struct tr_bytes page;
    uint32_t number = tr_stripe_page(rows->bucket_pages, bucket / BUCKETS_PER_PAGE);
    int error = rows->page(rows->self, number, &page);
    size_t offset = bucket % BUCKETS_PER_PAGE * sizeof *first;
    *first = 0;
    if (error == 0 && page.size >= offset + sizeof *first) {
        memcpy(first, page.data + offset, sizeof *first);
    }
    return error;
}

static int bucket_set(struct tr_rows *rows, uint32_t bucket, uint32_t first)
{
    void *page;
    uint32_t number = tr_stripe_page(rows->bucket_pages, bucket / BUCKETS_PER_PAGE);
    int error = tr_page_edit(rows->context, number, BUCKETS_PER_PAGE * sizeof first, &page);
    if (error == 0) {
        memcpy((uint8_t *)page + bucket % BUCKETS_PER_PAGE * sizeof first, &first, sizeof first);
    }
    return error;
}

/* ------------------------------------------------------------------- rows */

static uint32_t page_of(const struct tr_rows *rows, uint32_t number)
{
    return tr_stripe_page(rows->row_pages, (number - 1) / rows->per_page);
}

static size_t offset_of(const struct tr_rows *rows, uint32_t number)
{
    return (size_t)((number - 1) % rows->per_page) * rows->row_bytes;
}

/* A row's bytes, used or not. */
static int peek(struct tr_rows *rows, uint32_t number, const struct tr_rows_head **row)
{
    struct tr_bytes page;
    if (number == 0 || number > rows->used) {
        return TR_NOT_FOUND;
    }
    int error = rows->page(rows->self, page_of(rows, number), &page);
    size_t offset = offset_of(rows, number);
    if (error != 0) {
        return error;
    }
    if (page.size < offset + rows->row_bytes) {
        return TR_NOT_FOUND;
    }
    *row = (const void *)(page.data + offset);
    return 0;
}

static int open_row(struct tr_rows *rows, uint32_t number, struct tr_rows_head **row)
{
    void *page;
    int error = tr_page_edit(rows->context, page_of(rows, number),
                             (size_t)rows->per_page * rows->row_bytes, &page);
    if (error == 0) {
        *row = (void *)((uint8_t *)page + offset_of(rows, number));
    }
    return error;
}

int tr_rows_get(struct tr_rows *rows, uint32_t number, const void **row)
{
    const struct tr_rows_head *head;
    int error = peek(rows, number, &head);
    if (error == 0 && head->is_used == 0) {
        error = TR_NOT_FOUND;
    }
    if (error == 0) {
        *row = head;
    }
    return error;
}

int tr_rows_edit(struct tr_rows *rows, uint32_t number, void **row)
{
    const void *there;
    struct tr_rows_head *head;
    int error = tr_rows_get(rows, number, &there);
    if (error == 0) {
        error = open_row(rows, number, &head);
    }
    if (error == 0) {
        *row = head;
    }
    return error;
}

int tr_rows_find(struct tr_rows *rows, const struct tr_rows_key *key, uint32_t *number)
{
    uint64_t hash = hash_of(key);
    uint32_t at;
    int error = bucket_get(rows, bucket_of(rows, hash), &at);
    while (error == 0 && at != 0) {
        const struct tr_rows_head *row;
        error = peek(rows, at, &row);
        if (error != 0) {
            return error;
        }
        if (row->hash == hash && memcmp(&row->key, key, sizeof *key) == 0) {
            *number = at;
            return 0;
        }
        at = row->next;
    }
    return error != 0 ? error : TR_NOT_FOUND;
}

/* Puts a row in front of a bucket. */
static int hang(struct tr_rows *rows, uint32_t bucket, uint32_t number, struct tr_rows_head *row)
{
    int error = bucket_get(rows, bucket, &row->next);
    return error != 0 ? error : bucket_set(rows, bucket, number);
}

/*
 * Gives the rows of the next bucket to split to it and to the new one at the end.
 *
 * Both buckets are emptied first and each row is hung anew. An error in between fails the handler,
 * which undoes all of it.
 */
static int split(struct tr_rows *rows)
{
    uint32_t from = rows->buckets - half_of(rows->buckets);
    uint32_t at;
    int error = bucket_get(rows, from, &at);
    if (error == 0) {
        error = bucket_set(rows, from, 0);
    }
    rows->buckets++;
    if (error == 0) {
        error = bucket_set(rows, rows->buckets - 1, 0);
    }
    while (error == 0 && at != 0) {
        struct tr_rows_head *row;
        error = open_row(rows, at, &row);
        if (error == 0) {
            uint32_t next = row->next;
            error = hang(rows, bucket_of(rows, row->hash), at, row);
            at = next;
        }
    }
    return error;
}

/* A number for a new row: one that was removed, or the next. */
static int take_number(struct tr_rows *rows, uint32_t *number, struct tr_rows_head **row)
{
    uint32_t taken = rows->free;
    if (taken == 0) {
        taken = rows->used + 1;
        if (page_of(rows, taken) >= TR_PAGES_MAX) {
            return TR_LIMIT;
        }
    }
    int error = open_row(rows, taken, row);
    if (error != 0) {
        return error;
    }
    if (taken == rows->free) {
        /* Read before the caller wipes the row. */
        rows->free = (*row)->next;
    } else {
        rows->used = taken;
    }
    *number = taken;
    return 0;
}

int tr_rows_add(struct tr_rows *rows, const struct tr_rows_key *key, uint32_t *number, void **row)
{
    struct tr_rows_head *head;
    int error = rows->count >= rows->buckets && rows->buckets < BUCKETS_MAX ? split(rows) : 0;
    if (error != 0) {
        return error;
    }
    error = take_number(rows, number, &head);
    if (error != 0) {
        return error;
    }
    memset(head, 0, rows->row_bytes);
    *head = (struct tr_rows_head){.hash = hash_of(key), .is_used = 1, .key = *key};
    error = hang(rows, bucket_of(rows, head->hash), *number, head);
    if (error == 0) {
        rows->count++;
        *row = head;
    }
    return error;
}

/*
 * Takes a row out of its bucket's chain.
 *
 * TR_NOT_FOUND would mean that the row is in no chain, which only damage can bring about.
 */
static int unhang(struct tr_rows *rows, const struct tr_rows_head *row, uint32_t number)
{
    uint32_t bucket = bucket_of(rows, row->hash);
    uint32_t at;
    int error = bucket_get(rows, bucket, &at);
    if (error != 0) {
        return error;
    }
    if (at == number) {
        return bucket_set(rows, bucket, row->next);
    }
    while (at != 0) {
        const struct tr_rows_head *before;
        struct tr_rows_head *changed;
        error = peek(rows, at, &before);
        if (error != 0) {
            return error;
        }
        if (before->next == number) {
            error = open_row(rows, at, &changed);
            if (error == 0) {
                changed->next = row->next;
            }
            return error;
        }
        at = before->next;
    }
    return TR_NOT_FOUND;
}

int tr_rows_remove(struct tr_rows *rows, uint32_t number)
{
    void *there;
    int error = tr_rows_edit(rows, number, &there);
    if (error != 0) {
        return error;
    }
    error = unhang(rows, there, number);
    if (error != 0) {
        return error;
    }
    struct tr_rows_head *row = there;
    /* Zeros, so that a removed row keeps nothing of the actor that it was about. */
    memset(row, 0, rows->row_bytes);
    row->next = rows->free;
    rows->free = number;
    rows->count--;
    return 0;
}
