/*
 * A heap over pages. Small values lie one behind the other in shared pages, each with its size in
 * front; large ones have whole pages of their own, full but for the last.
 *
 *     place = (page + 1) << 16 | offset of the size in that page
 *
 * A page is copied and written as a whole when one byte of it changes, so small values share pages
 * of TR_HEAP_PAGE_BYTES only, and a page that is full is never touched again. A place stays good
 * because nothing moves. Offsets have 16 bits: only a small page has offsets other than 0.
 */
#include "actors/store/heap.h"

#include <string.h>

#define SIZE_BYTES 4
/* The size of a shared page grows by this much, so that not every value makes it another size. */
#define ROUND_BYTES 64

static void put_size(uint8_t *at, size_t size)
{
    uint32_t number = (uint32_t)size;
    memcpy(at, &number, SIZE_BYTES);
}

static size_t get_size(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, SIZE_BYTES);
    return number;
}

static uint64_t place_of(uint32_t page, uint32_t offset)
{
    return ((uint64_t)page + 1) << 16 | offset;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Adds to the page that is being filled, which has room. */
static int put_small(struct tr_context *context, struct tr_heap *heap, struct tr_bytes bytes,
                     uint64_t *place)
{
    size_t end = heap->used + SIZE_BYTES + bytes.size;
    size_t size = (end + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
    void *page;
    int error = tr_page_edit(context, heap->first + heap->page, size, &page);
    if (error != 0) {
        return error;
    }
    uint8_t *at = (uint8_t *)page + heap->used;
    put_size(at, bytes.size);
    memcpy(at + SIZE_BYTES, bytes.data, bytes.size);
    *place = place_of(heap->page, heap->used);
    heap->used = (uint32_t)end;
    return 0;
}

/*
 * Writes whole pages, the first of which begins with the size, and leaves a fresh one behind. On an
 * error the heap is as it was, and so are its pages: the handler that fails has no effects.
 */
static int put_large(struct tr_context *context, struct tr_heap *heap, struct tr_bytes bytes,
                     uint64_t *place)
{
    /* A page that was begun keeps its small values; its rest stays unused. */
    uint32_t begin = heap->used == 0 ? heap->page : heap->page + 1;
    uint32_t page = begin;
    size_t done = 0;
    while (done < bytes.size) {
        size_t head = done == 0 ? SIZE_BYTES : 0;
        size_t part = smaller(bytes.size - done, TR_PAGE_BYTES_MAX - head);
        void *data;
        int error = tr_page_edit(context, heap->first + page, head + part, &data);
        if (error != 0) {
            return error;
        }
        if (head > 0) {
            put_size(data, bytes.size);
        }
        memcpy((uint8_t *)data + head, bytes.data + done, part);
        done += part;
        page++;
    }
    *place = place_of(begin, 0);
    heap->page = page;
    heap->used = 0;
    return 0;
}

int tr_heap_put(struct tr_context *context, struct tr_heap *heap, struct tr_bytes bytes,
                uint64_t *place)
{
    if (bytes.size == 0 || bytes.size > UINT32_MAX) {
        return TR_INVALID;
    }
    if (bytes.size + SIZE_BYTES > TR_HEAP_PAGE_BYTES) {
        return put_large(context, heap, bytes, place);
    }
    /* On an error the state keeps the heap as it was. */
    struct tr_heap grown = *heap;
    if (grown.used + SIZE_BYTES + bytes.size > TR_HEAP_PAGE_BYTES) {
        grown.page++;
        grown.used = 0;
    }
    int error = put_small(context, &grown, bytes, place);
    if (error == 0) {
        *heap = grown;
    }
    return error;
}

/*
 * Puts the pages of a large value together.
 *
 * TR_NOT_FOUND for a page that is missing or empty: the place was none of this heap's.
 */
static int gather(struct tr_context *context, uint32_t page, size_t size, struct tr_buffer *buffer)
{
    size_t head = SIZE_BYTES;
    tr_buffer_cut(buffer, 0);
    while (buffer->error == 0 && buffer->size < size) {
        struct tr_bytes bytes;
        int error = tr_page_get(context, page++, &bytes);
        if (error != 0) {
            return error;
        }
        if (bytes.size <= head) {
            return TR_NOT_FOUND;
        }
        size_t part = smaller(bytes.size - head, size - buffer->size);
        tr_buffer_add(buffer, bytes.data + head, part);
        head = 0;
    }
    return buffer->error;
}

int tr_heap_get(struct tr_context *context, const struct tr_heap *heap, uint64_t place,
                struct tr_buffer *buffer, struct tr_bytes *bytes)
{
    uint64_t page = (place >> 16) - 1;
    size_t offset = place & UINT16_MAX;
    struct tr_bytes whole = {0};
    if (place >> 16 == 0 || page > heap->page) {
        return TR_NOT_FOUND;
    }
    int error = tr_page_get(context, heap->first + (uint32_t)page, &whole);
    if (error != 0) {
        return error;
    }
    if (whole.size < offset + SIZE_BYTES) {
        return TR_NOT_FOUND;
    }
    /* A size that goes beyond its page is that of a large value, which begins at offset 0. */
    size_t size = get_size(whole.data + offset);
    if (offset + SIZE_BYTES + size <= whole.size) {
        *bytes = (struct tr_bytes){.data = whole.data + offset + SIZE_BYTES, .size = size};
        return 0;
    }
    error =
        offset == 0 ? gather(context, heap->first + (uint32_t)page, size, buffer) : TR_NOT_FOUND;
    if (error == 0) {
        *bytes = tr_buffer_bytes(buffer);
    }
    return error;
}
