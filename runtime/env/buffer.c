/*
 * A growing block of bytes, used from the front and filled at the end.
 *
 * Its capacity doubles when it is full. Bytes move to the front only when at least as many have
 * been consumed before them, so each byte is moved a constant number of times on average. Growing
 * allocates a new block and copies; the old one is freed without being overwritten, so a buffer for
 * secrets must be reserved at its full size first.
 */
#include "runtime/env/buffer.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define FIRST_CAPACITY 4096

static void move_to_front(struct tri_buffer *buffer)
{
    size_t size = tri_buffer_size(buffer);
    if (buffer->begin > 0 && size > 0) {
        memmove(buffer->data, tri_buffer_front(buffer), size);
    }
    buffer->begin = 0;
    buffer->end = size;
}

int tri_buffer_reserve(struct tri_buffer *buffer, size_t size)
{
    if (buffer->capacity - buffer->end >= size) {
        return 0;
    }
    size_t used = tri_buffer_size(buffer);
    /* Far below an overflow, so that the doubling below cannot wrap around. */
    if (size > SIZE_MAX / 4 || used > SIZE_MAX / 4) {
        return TR_MEMORY;
    }
    if (buffer->begin >= used && buffer->capacity - used >= size) {
        move_to_front(buffer);
        return 0;
    }
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : FIRST_CAPACITY;
    while (capacity - used < size) {
        capacity *= 2;
    }
    uint8_t *data = tr_alloc(capacity);
    if (data == NULL) {
        return TR_MEMORY;
    }
    if (used > 0) {
        memcpy(data, tri_buffer_front(buffer), used);
    }
    tr_free(buffer->data);
    *buffer = (struct tri_buffer){.data = data, .begin = 0, .end = used, .capacity = capacity};
    return 0;
}

int tri_buffer_append(struct tri_buffer *buffer, const void *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    int error = tri_buffer_reserve(buffer, size);
    if (error == 0) {
        memcpy(buffer->data + buffer->end, data, size);
        buffer->end += size;
    }
    return error;
}

void tri_buffer_consume(struct tri_buffer *buffer, size_t size)
{
    TR_ASSERT(size <= tri_buffer_size(buffer));
    buffer->begin += size;
    if (buffer->begin == buffer->end) {
        tri_buffer_clear(buffer);
    }
}

void tri_buffer_fini(struct tri_buffer *buffer)
{
    tr_free(buffer->data);
    *buffer = (struct tri_buffer){0};
}
