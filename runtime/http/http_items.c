/*
 * One pass over the bytes with a count of open objects and lists. White space outside of strings is
 * left out, so an item is a line, and the key of a list is what the rest ends with.
 *
 * Invariant: outside of a string the bytes so far are `rest` (without items), then `item`. A list
 * at depth 1 holds the items exactly if the rest ends with {"items": or ,"items": then. No string
 * can end so: a quotation mark inside of one stands behind a backslash, never behind a comma or a
 * brace.
 */
#include "runtime/http/http_items.h"

#include <string.h>

#include "schemas/codec/error.h"

/* Objects and lists in each other; more is nobody's list. */
#define DEPTH_MAX 1000

/* Where items are: in the list of the outermost object. */
#define LIST_DEPTH 2

void tri_http_items_fini(struct tri_http_items *items)
{
    tri_buffer_fini(&items->whole);
    tri_buffer_fini(&items->item);
    tri_buffer_fini(&items->rest);
}

static bool ends_with_key(const struct tri_buffer *rest)
{
    static const char key[] = "\"items\":";
    size_t size = sizeof key - 1;
    if (tri_buffer_size(rest) < size + 1) {
        return false;
    }
    const uint8_t *at = tri_buffer_front(rest) + tri_buffer_size(rest) - size;
    return memcmp(at, key, size) == 0 && (at[-1] == '{' || at[-1] == ',');
}

/* Where a byte belongs: to an item that is open, else to the rest. */
static struct tri_buffer *place_of(struct tri_http_items *items)
{
    bool is_inside = items->is_in_items && items->depth > LIST_DEPTH;
    return is_inside ? &items->item : &items->rest;
}

static int add(struct tri_buffer *to, const char *data, size_t size, size_t bytes_max)
{
    if (tri_buffer_size(to) + size > bytes_max) {
        return TR_LIMIT;
    }
    return tri_buffer_append(to, data, size);
}

/* An item is complete: a line more. */
static int end_item(struct tri_http_items *items)
{
    int error = tri_buffer_append(&items->item, "\n", 1);
    if (error == 0) {
        error = tri_buffer_append(&items->whole, tri_buffer_front(&items->item),
                                  tri_buffer_size(&items->item));
    }
    tri_buffer_clear(&items->item);
    return error;
}

static int open_one(struct tri_http_items *items, const char *byte, size_t bytes_max)
{
    bool is_list = *byte == '[';
    bool is_item = items->is_in_items && items->depth == LIST_DEPTH;
    if (items->depth == DEPTH_MAX || (is_list && (items->depth == 0 || is_item))) {
        return TR_MALFORMED;
    }
    bool begins = is_list && items->depth == 1 && ends_with_key(&items->rest);
    struct tri_buffer *to = is_item ? &items->item : place_of(items);
    items->depth++;
    int error = add(to, byte, 1, bytes_max);
    items->is_in_items = items->is_in_items || begins;
    return error;
}

static int close_one(struct tri_http_items *items, const char *byte, size_t bytes_max)
{
    if (items->depth == 0) {
        return TR_MALFORMED;
    }
    bool was_item = items->is_in_items && items->depth == LIST_DEPTH + 1;
    int error = add(place_of(items), byte, 1, bytes_max);
    items->depth--;
    items->has_ended = items->depth == 0;
    items->is_in_items = items->is_in_items && items->depth >= LIST_DEPTH;
    return error == 0 && was_item ? end_item(items) : error;
}

/* A byte that is part of no string; those between items are left out. */
static int take_byte(struct tri_http_items *items, const char *byte, size_t bytes_max)
{
    bool is_between = items->is_in_items && items->depth == LIST_DEPTH;
    switch (*byte) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        return 0;
    case '{':
    case '[':
        return items->has_ended ? TR_MALFORMED : open_one(items, byte, bytes_max);
    case '}':
    case ']':
        return close_one(items, byte, bytes_max);
    default:
        if (items->depth == 0 || (is_between && *byte != ',')) {
            return TR_MALFORMED;
        }
        items->is_in_string = *byte == '"';
        return is_between ? 0 : add(place_of(items), byte, 1, bytes_max);
    }
}

/* How many of these bytes, which are in a string, come before its end or what is escaped. */
static size_t plain_bytes(const char *data, size_t size)
{
    size_t plain = 0;
    while (plain < size && data[plain] != '"' && data[plain] != '\\' && data[plain] != '\n') {
        plain++;
    }
    return plain;
}

/* Bytes of a string, up to its end at most; `*taken` of them. A line cannot end inside of it. */
static int take_string(struct tri_http_items *items, const char *data, size_t size,
                       size_t bytes_max, size_t *taken)
{
    size_t plain = items->is_escaped ? 1 : plain_bytes(data, size);
    if (plain == 0) {
        items->is_escaped = data[0] == '\\';
        items->is_in_string = data[0] != '"';
        plain = 1;
    } else {
        items->is_escaped = false;
    }
    if (data[plain - 1] == '\n') {
        return TR_MALFORMED;
    }
    *taken = plain;
    return add(place_of(items), data, plain, bytes_max);
}

int tri_http_items_take(struct tri_http_items *items, const char *data, size_t size,
                        size_t bytes_max)
{
    size_t at = 0;
    int error = 0;
    while (at < size && error == 0) {
        size_t taken = 1;
        error = items->is_in_string ? take_string(items, data + at, size - at, bytes_max, &taken)
                                    : take_byte(items, data + at, bytes_max);
        at += taken;
    }
    return error;
}
