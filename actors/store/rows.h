/*
 * A table in an actor's pages: rows of one size, found by a key in constant time however many there
 * are, and each in one small page, so that a change writes little.
 *
 * It takes all pages of the actor, unless it is told to share them (tr_rows_share). What the table
 * is at the moment are four numbers, which the actor's state holds (TRI_ROWS_FIELDS of
 * schemas/engine/state_service.h). A row's number is good until it is removed; 0 is none. Rows
 * begin with a head, what follows is the user's, zeros at first.
 *
 *     struct tr_rows rows = tr_rows_open(context, state, sizeof(struct my_row));
 *     error = tr_rows_find(&rows, &key, &number);
 *     error = tr_rows_edit(&rows, number, (void **)&row);
 *
 * It grows by linear hashing: one bucket is split for each row that is added, so that no message
 * pays for the growth of the whole. A view of a row shows it as it was when it was asked for.
 */
#ifndef TR_ACTORS_STORE_ROWS_H
#define TR_ACTORS_STORE_ROWS_H

#include "runtime/troupe.h"

/* Rows are written by the page: as many as fit into it. */
#define TR_ROWS_PAGE_BYTES 4096
#define TR_ROW_BYTES_MAX 1024

/* A key: what kind of thing it names, and which; unused bytes are zeros. */
#define TR_ROWS_KEY_BYTES 32
struct tr_rows_key {
    uint32_t kind;
    uint8_t bytes[TR_ROWS_KEY_BYTES];
};

/* How each row begins. Private but for `key`. */
struct tr_rows_head {
    uint64_t hash;
    uint32_t next;
    uint32_t is_used;
    struct tr_rows_key key;
    uint32_t padding;
};

/*
 * Which of an actor's pages a table has, where several share them: of each `period` of pages those
 * from `first` on, `width` of them. So each begins near page 0, and none costs more than it holds.
 */
struct tr_stripe {
    uint32_t first;
    uint32_t width;
    uint32_t period;
};

static inline uint32_t tr_stripe_page(struct tr_stripe stripe, uint32_t number)
{
    return stripe.first + number / stripe.width * stripe.period + number % stripe.width;
}

/* A table in the hands of a handler, or of a reader of committed images. */
struct tr_rows {
    struct tr_context *context; /* NULL: only reading */
    int (*page)(void *self, uint32_t page, struct tr_bytes *bytes);
    void *self;
    struct tr_stripe bucket_pages;
    struct tr_stripe row_pages;
    uint32_t row_bytes;
    uint32_t per_page;
    uint32_t used; /* rows that ever were, removed ones among them */
    uint32_t free; /* the first removed one */
    uint32_t count;
    uint32_t buckets;
};

/* A table of `row_bytes` each, in the state of a handler. */
#define tr_rows_open(context, state, row_bytes)                                   \
    tri_rows_open((context), (row_bytes), (state)->rows_used, (state)->rows_free, \
                  (state)->rows_count, (state)->rows_buckets)
struct tr_rows tri_rows_open(struct tr_context *context, uint32_t row_bytes, uint32_t used,
                             uint32_t free, uint32_t count, uint32_t buckets);

/* For readers of committed images: `page` gives a page's bytes, none where there is none. */
typedef int tr_rows_page(void *self, uint32_t page, struct tr_bytes *bytes);
#define tr_rows_reader(page_function, page_self, state, row_bytes)                 \
    tri_rows_reader((page_function), (page_self), (row_bytes), (state)->rows_used, \
                    (state)->rows_count, (state)->rows_buckets)
struct tr_rows tri_rows_reader(tr_rows_page *page, void *self, uint32_t row_bytes, uint32_t used,
                               uint32_t count, uint32_t buckets);

/* Has its pages in stripes: constant for a table, and the same for its readers. */
static inline void tr_rows_share(struct tr_rows *rows, struct tr_stripe bucket_pages,
                                 struct tr_stripe row_pages)
{
    rows->bucket_pages = bucket_pages;
    rows->row_pages = row_pages;
}

/* Puts the numbers back into the state, at the end of a handler. */
#define tr_rows_close(rows, state)               \
    do {                                         \
        (state)->rows_used = (rows)->used;       \
        (state)->rows_free = (rows)->free;       \
        (state)->rows_count = (rows)->count;     \
        (state)->rows_buckets = (rows)->buckets; \
    } while (false)

/* A key of a kind and some numbers, an actor, or the hash of a text. */
struct tr_rows_key tr_rows_key_numbers(uint32_t kind, uint64_t first, uint64_t second);
struct tr_rows_key tr_rows_key_bytes(uint32_t kind, struct tr_bytes bytes);

/* The number of the row with this key, or TR_NOT_FOUND. */
TR_MUST_USE int tr_rows_find(struct tr_rows *rows, const struct tr_rows_key *key, uint32_t *number);

/* A row to read; TR_NOT_FOUND for one that is none. It lives as long as the handler. */
TR_MUST_USE int tr_rows_get(struct tr_rows *rows, uint32_t number, const void **row);

/* A row to change. */
TR_MUST_USE int tr_rows_edit(struct tr_rows *rows, uint32_t number, void **row);

/* A new row with this key, which no other has. TR_LIMIT: the pages are used up. */
TR_MUST_USE int tr_rows_add(struct tr_rows *rows, const struct tr_rows_key *key, uint32_t *number,
                            void **row);

TR_MUST_USE int tr_rows_remove(struct tr_rows *rows, uint32_t number);

#endif
