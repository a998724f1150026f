/*
 * Reads answers of object stores in S3's format: lists of a bucket's objects (ListObjectsV2) and
 * other XML, of which a few elements are used, and statuses. Pure; the bytes may be arbitrary.
 */
#ifndef TR_RUNTIME_FETCH_FETCH_LIST_H
#define TR_RUNTIME_FETCH_FETCH_LIST_H

#include "runtime/env/buffer.h"

/* An object. Views into the page's buffer. */
struct tri_fetch_listed {
    struct tr_text key;
    struct tr_text tag; /* its ETag, with its quotes */
    uint64_t size;
    uint64_t changed_ms; /* since 1970; 0: it does not say */
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

/*
 * Finds <NAME>TEXT</NAME> from `*at` on, and advances `*at` behind it; the text is a view, with its
 * entities. False: there is none.
 */
bool tri_fetch_find_element(struct tr_bytes xml, size_t *at, const char *name,
                            struct tr_text *text);

/*
 * Appends a text with its entities decoded. TR_MALFORMED: it contains a tag, or is no text.
 * TR_MEMORY.
 */
TR_MUST_USE int tri_fetch_add_text(struct tri_buffer *buffer, struct tr_text text);

/* A moment, as 2026-08-20T09:30:00.000Z, in milliseconds since 1970; 0: it is none. */
uint64_t tri_fetch_moment_ms(struct tr_text text);

/*
 * The error of a status that is no success: TR_NO_CONNECTION for those that a retry may change
 * (the server is busy or broken, or the object has just changed), TR_NOT_FOUND, and TR_DENIED if
 * the server refuses the request.
 */
TR_MUST_USE int tri_fetch_status_error(uint32_t status);

/* The <Code> of a store's error; empty: none. A view of the bytes. */
struct tr_text tri_fetch_error_code(struct tr_bytes xml);

#endif
