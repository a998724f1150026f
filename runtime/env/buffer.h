/*
 * A growing buffer of bytes, filled at the end and consumed from the front. For one thread at a
 * time.
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

/* Reserves space for `size` bytes behind the end. TR_MEMORY changes nothing. */
TR_MUST_USE int tri_buffer_reserve(struct tri_buffer *buffer, size_t size);

/* Appends bytes. TR_MEMORY changes nothing. */
TR_MUST_USE int tri_buffer_append(struct tri_buffer *buffer, const void *data, size_t size);

/* Removes `size` bytes from the front, or all if there are fewer. */
void tri_buffer_consume(struct tri_buffer *buffer, size_t size);

/* Empties the buffer and keeps its memory. */
static inline void tri_buffer_clear(struct tri_buffer *buffer)
{
    buffer->begin = 0;
    buffer->end = 0;
}

/* Frees its memory; the empty buffer may be used again. */
void tri_buffer_fini(struct tri_buffer *buffer);

#endif
