/*
 * A table from keys to small values in an actor's pages: for actors that know very many of
 * something by name. Finding and changing one looks at one page, however many there are.
 *
 * It is linear hashing: one page is a bucket, and when buckets grow beyond a mean size one more is
 * made out of one of them. What an index is lies in two numbers that the actor's state holds.
 */
#ifndef TR_ACTORS_STORE_INDEX_H
#define TR_ACTORS_STORE_INDEX_H

#include "runtime/troupe.h"

/* A bucket is split when they hold more than this in the mean. */
#define TR_INDEX_BUCKET_BYTES 2048

/* The longest key and value. */
#define TR_INDEX_KEY_BYTES_MAX 1024
#define TR_INDEX_VALUE_BYTES_MAX 1024

/* Zeros but for the constants are an empty index. */
struct tr_index {
    uint32_t first;      /* the first of its pages, constant */
    uint32_t stride;     /* from one of its pages to the next, constant */
    uint32_t page_count; /* pages that it may take, constant */
    uint32_t buckets;    /* kept in the state */
    uint64_t bytes;      /* kept in the state */
};

/* The value of a key: a view that lives until the index is changed. TR_NOT_FOUND. */
TR_MUST_USE int tr_index_find(struct tr_context *context, const struct tr_index *index,
                              struct tr_bytes key, struct tr_bytes *value);

/* Sets the value of a key. TR_LIMIT: its bucket is full, or key or value are too long. */
TR_MUST_USE int tr_index_put(struct tr_context *context, struct tr_index *index,
                             struct tr_bytes key, struct tr_bytes value);

/* Takes a key out. TR_NOT_FOUND. */
TR_MUST_USE int tr_index_remove(struct tr_context *context, struct tr_index *index,
                                struct tr_bytes key);

/* Shows all entries, in no order, until `see` returns an error; it changes nothing. */
TR_MUST_USE int tr_index_walk(struct tr_context *context, const struct tr_index *index,
                              int (*see)(void *self, struct tr_bytes key, struct tr_bytes value),
                              void *self);

#endif
