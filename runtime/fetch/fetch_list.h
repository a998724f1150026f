/*
 * Reading the list of a bucket's objects, as stores of S3's kind give it (ListObjectsV2): XML, of
 * which a few elements count. Pure; the bytes may be any.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_LIST_H
#define TR_RUNTIME_FETCH_FETCH_LIST_H

#include "runtime/env/buffer.h"

/* An object. Views into the page's buffer. */
struct tri_fetch_listed {
    struct tr_text key;
    struct tr_text tag; /* its ETag, with its quotes */
    uint64_t size;
};

/* A page that is read. All zero before; to be ended by tri_fetch_page_fini. */
struct tri_fetch_page {
    struct tr_text next; /* the token of the next page; empty: it is the last one */

    /* The reader's. */
    struct tr_bytes xml;
    size_t at;
    struct tri_buffer token;
    struct tri_buffer texts; /* of the object in hand */
};

/* Begins to read a page, which stays until the end. TR_MALFORMED (it is no list), TR_MEMORY. */
TR_MUST_USE int tri_fetch_page_init(struct tri_fetch_page *page, struct tr_bytes xml);

/* Reads the next object; its views live until the next call. TR_NOT_FOUND: there is none left;
 * TR_MALFORMED, TR_MEMORY. */
TR_MUST_USE int tri_fetch_page_next(struct tri_fetch_page *page, struct tri_fetch_listed *listed);

void tri_fetch_page_fini(struct tri_fetch_page *page);

/* What a store calls an error, in its <Code>; empty: it does not say. A view of the bytes. */
struct tr_text tri_fetch_error_code(struct tr_bytes xml);

#endif
