/*
 * Bytes that wait to be written or to be understood: a growing block with a front that is taken
 * away as it is used. For one thread at a time.
 */
#ifndef TR_RUNTIME_ENV_BUFFER_H
#define TR_RUNTIME_ENV_BUFFER_H

#include "schemas/codec/base.h"

/* The bytes are data[begin] to data[end - 1]. All zero is an empty buffer. */
struct tri_buffer {
    uint8_t *data;
    size_t begin;
    size_t end;
    size_t capacity;
};

static inline size_t tri_buffer_size(const struct tri_buffer *buffer)
{
    return buffer->end - buffer->begin;
}

static inline uint8_t *tri_buffer_front(const struct tri_buffer *buffer)
{
    return buffer->data + buffer->begin;
}

/* Makes room for `size` bytes behind the end. TR_MEMORY changes nothing. */
TR_MUST_USE int tri_buffer_reserve(struct tri_buffer *buffer, size_t size);

/* Copies bytes behind the end. TR_MEMORY changes nothing. */
TR_MUST_USE int tri_buffer_append(struct tri_buffer *buffer, const void *data, size_t size);

/* Takes `size` bytes from the front; at most what is there. */
void tri_buffer_consume(struct tri_buffer *buffer, size_t size);

/* Empties it; its memory stays for the next use. */
static inline void tri_buffer_clear(struct tri_buffer *buffer)
{
    buffer->begin = 0;
    buffer->end = 0;
}

/* Gives its memory back; it is empty then and may be used again. */
void tri_buffer_fini(struct tri_buffer *buffer);

#endif
