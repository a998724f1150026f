/*
 * Inside http.h: parts a JSON document that holds a long list into the items of it and the rest, as
 * its bytes arrive, so that nobody needs the whole list in memory.
 *
 *     {"metadata":{"continue":"x"},"items":[{"a":1},{"b":[2]}]}
 *
 *     whole  {"a":1}\n{"b":[2]}\n              each item a line
 *     rest   {"metadata":{"continue":"x"},"items":[]}
 *
 * Only the files of the http thread and the tests include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_ITEMS_H
#define TR_RUNTIME_HTTP_HTTP_ITEMS_H

#include "runtime/env/buffer.h"

/* All zero is one that has taken nothing. */
struct tri_http_items {
    struct tri_buffer
        whole;              /* whole items, each with a newline: the caller takes and clears them */
    struct tri_buffer item; /* the beginning of the next one */
    struct tri_buffer rest; /* the document without its items */
    uint32_t depth;         /* of objects and lists that are open */
    bool is_in_items;
    bool is_in_string;
    bool is_escaped;
    bool has_ended;
};

/* Frees its contents; the caller owns the struct. */
void tri_http_items_fini(struct tri_http_items *items);

/*
 * Takes the next bytes; an item, and the rest, may have so many. TR_MALFORMED: this is no JSON
 * object, or `items` holds something else than objects. TR_LIMIT, TR_MEMORY. What is inside an item
 * is not looked at.
 */
TR_MUST_USE int tri_http_items_take(struct tri_http_items *items, const char *data, size_t size,
                                    size_t bytes_max);

/* Whether the document is complete. */
static inline bool tri_http_items_is_complete(const struct tri_http_items *items)
{
    return items->has_ended;
}

#endif
