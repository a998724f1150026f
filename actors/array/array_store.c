/*
 * What an array keeps in whole pages, one behind the other: the message it was spawned with, pieces
 * of lists; and its heap.
 *
 * A stretch has no header: its first page and its size are in the state, or in a source's row. All
 * pages but the last are full, so any offset is found without reading those before it.
 */
#include "actors/array/array.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

int tri_array_stretch_put(struct tr_context *context, uint32_t page, struct tr_bytes bytes)
{
    for (size_t done = 0; done < bytes.size; page++) {
        size_t part = smaller(bytes.size - done, TR_PAGE_BYTES_MAX);
        void *data;
        int error = tr_page_edit(context, page, part, &data);
        if (error != 0) {
            return error;
        }
        memcpy(data, bytes.data + done, part);
        done += part;
    }
    return 0;
}

int tri_array_stretch_get(struct tr_context *context, uint32_t page, size_t offset, size_t size,
                          struct tr_buffer *buffer)
{
    while (size > 0 && buffer->error == 0) {
        struct tr_bytes bytes;
        size_t from = offset % TR_PAGE_BYTES_MAX;
        int error = tr_page_get(context, page + (uint32_t)(offset / TR_PAGE_BYTES_MAX), &bytes);
        if (error != 0) {
            return error;
        }
        if (bytes.size <= from) {
            return TR_NOT_FOUND;
        }
        size_t part = smaller(size, bytes.size - from);
        tr_buffer_add(buffer, bytes.data + from, part);
        offset += part;
        size -= part;
    }
    return buffer->error;
}

static struct tr_heap heap_of(const struct tr_array_state *state)
{
    return (struct tr_heap){
        .first = state->heap_first, .page = state->heap_page, .used = state->heap_used};
}

/*
 * The bound is on all that was ever put: the heap gives nothing back. TR_LIMIT leaves it as it was.
 */
int tri_array_put(struct tri_array *array, struct tr_bytes bytes, uint64_t *place)
{
    struct tr_heap heap = heap_of(array->state);
    if (bytes.size > TR_ARRAY_KEPT_BYTES_MAX - array->state->kept_bytes) {
        return TR_LIMIT;
    }
    int error = tr_heap_put(array->context, &heap, bytes, place);
    if (error == 0) {
        array->state->heap_page = heap.page;
        array->state->heap_used = heap.used;
        array->state->kept_bytes += bytes.size;
    }
    return error;
}

int tri_array_get(struct tri_array *array, uint64_t place, struct tr_buffer *buffer,
                  struct tr_bytes *bytes)
{
    struct tr_heap heap = heap_of(array->state);
    return tr_heap_get(array->context, &heap, place, buffer, bytes);
}

int tri_array_head(struct tri_array *array, struct tr_buffer *buffer, struct tr_node_start *start)
{
    struct tr_bytes bytes = {0};
    size_t size = array->state->head_bytes;
    int error = tr_page_get(array->context, TRI_ARRAY_FIRST, &bytes);
    if (error == 0 && size > TR_PAGE_BYTES_MAX) {
        tr_buffer_cut(buffer, 0);
        error = tri_array_stretch_get(array->context, TRI_ARRAY_FIRST, 0, size, buffer);
        bytes = tr_buffer_bytes(buffer);
    }
    uint8_t version = array->state->head_version;
    return error != 0 ? error : tr_node_start_unpack(bytes, version, start);
}
