/*
 * Reads a list of a bucket's objects in S3's format (ListObjectsV2): XML, of which a few elements
 * are used. Pure; the bytes may be arbitrary.
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

/* A page that is being read. All zero before init; ended by tri_fetch_page_fini. */
struct tri_fetch_page {
    struct tr_text next; /* the token of the next page; empty: this is the last one */

    /* Used by the reader. */
    struct tr_bytes xml;
    size_t at;
    struct tri_buffer token;
    struct tri_buffer texts; /* of the current object */
};

/* Begins to read a page, which must stay valid until fini. TR_MALFORMED (not a list), TR_MEMORY. */
TR_MUST_USE int tri_fetch_page_init(struct tri_fetch_page *page, struct tr_bytes xml);

/*
 * Reads the next object; its views are valid until the next call. TR_NOT_FOUND: no more;
 * TR_MALFORMED, TR_MEMORY.
 */
TR_MUST_USE int tri_fetch_page_next(struct tri_fetch_page *page, struct tri_fetch_listed *listed);

void tri_fetch_page_fini(struct tri_fetch_page *page);

/* The <Code> of a store's error; empty: none. A view of the bytes. */
struct tr_text tri_fetch_error_code(struct tr_bytes xml);

#endif
