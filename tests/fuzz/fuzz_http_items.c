/*
 * Any bytes as a document with a list: refused, or parted into items and a rest, wherever they are
 * cut. An item is one line, and nothing of it is longer than the document.
 */
#include "runtime/http/http_items.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

/* In pieces of a size, as a response comes. */
static int take(struct tri_http_items *items, const uint8_t *data, size_t size, size_t piece)
{
    int error = 0;
    for (size_t at = 0; at < size && error == 0; at += piece) {
        size_t left = size - at;
        error =
            tri_http_items_take(items, (const char *)data + at, left < piece ? left : piece, size);
    }
    return error;
}

static bool is_same(const struct tri_buffer *a, const struct tri_buffer *b)
{
    size_t size = tri_buffer_size(a);
    return size == tri_buffer_size(b) &&
           (size == 0 || memcmp(tri_buffer_front(a), tri_buffer_front(b), size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tri_http_items whole = {0};
    struct tri_http_items parted = {0};
    int error = take(&whole, data, size, size);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_MEMORY);
    TR_ASSERT(take(&parted, data, size, 1) == error);
    TR_ASSERT(is_same(&whole.whole, &parted.whole) && is_same(&whole.rest, &parted.rest));
    TR_ASSERT(tri_buffer_size(&whole.whole) + tri_buffer_size(&whole.rest) <= 2 * size);
    tri_http_items_fini(&whole);
    tri_http_items_fini(&parted);
    return 0;
}
