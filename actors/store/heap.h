/*
 * Bytes of any size kept in an actor's pages: a node's outputs, an element's result, the inputs of
 * a task. They are only ever added; all of it goes when the actor ends.
 *
 * A heap takes all pages from its first one on. Where it ends is two numbers that the actor's state
 * holds (tr_heap). A place is one number, good for as long as the actor lives, 0 for none.
 */
#ifndef TR_ACTORS_STORE_HEAP_H
#define TR_ACTORS_STORE_HEAP_H

#include "actors/graph/document/buffer.h"
#include "runtime/troupe.h"

/* Small things share pages of up to this size: what changes is copied and written as a whole. */
#define TR_HEAP_PAGE_BYTES 4096

/* Where a heap ends: kept in a state as two fields. Zeros are an empty heap at page `first`. */
struct tr_heap {
    uint32_t first; /* the first page, constant */
    uint32_t page;  /* the one being filled, counted from `first` */
    uint32_t used;  /* bytes in it */
};

/* Adds bytes (not none). TR_LIMIT when the pages are used up, TR_MEMORY. */
TR_MUST_USE int tr_heap_put(struct tr_context *context, struct tr_heap *heap, struct tr_bytes bytes,
                            uint64_t *place);

/*
 * The bytes at a place: a view that lives as long as the handler and as `buffer`, which is cleared
 * and used where the bytes are spread over several pages. TR_NOT_FOUND for a place that is none.
 */
TR_MUST_USE int tr_heap_get(struct tr_context *context, const struct tr_heap *heap, uint64_t place,
                            struct tr_buffer *buffer, struct tr_bytes *bytes);

#endif
