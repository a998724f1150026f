/*
 * Bytes that grow: where values are packed and texts are written whose size is not known before.
 *
 * The first failure sticks (TR_MEMORY, or TR_LIMIT at `size_max`), later writes do nothing, and
 * the writer asks once at the end. One thread per buffer.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_BUFFER_H
#define TR_ACTORS_GRAPH_DOCUMENT_BUFFER_H

#include "schemas/codec/codec.h"
#include "schemas/codec/sink.h"

struct tr_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t size_max;
    int error;
};

/* An empty buffer that grows to at most `size_max` bytes; 0 means TR_FILE_BYTES_MAX. */
void tr_buffer_init(struct tr_buffer *buffer, size_t size_max);

/* Gives the memory back. */
void tr_buffer_fini(struct tr_buffer *buffer);

/* What was written; it lives until the next write. */
static inline struct tr_bytes tr_buffer_bytes(const struct tr_buffer *buffer)
{
    return (struct tr_bytes){.data = buffer->data, .size = buffer->size};
}

static inline struct tr_text tr_buffer_text(const struct tr_buffer *buffer)
{
    return (struct tr_text){.data = (const char *)buffer->data, .size = buffer->size};
}

/* Cuts back to an earlier size; an error stays. */
void tr_buffer_cut(struct tr_buffer *buffer, size_t size);

/* Raw bytes, and texts for people. */
void tr_buffer_add(struct tr_buffer *buffer, const void *data, size_t size);
void tr_buffer_add_text(struct tr_buffer *buffer, struct tr_text text);
void tr_buffer_add_string(struct tr_buffer *buffer, const char *string);
void tr_buffer_print(struct tr_buffer *buffer, const char *format, ...) TR_PRINTF(2, 3);

/*
 * A sink that ends in the buffer, by way of `room`, for what prints into sinks (schemas/codec/);
 * to be flushed at the end.
 */
struct tr_sink tr_buffer_sink(struct tr_buffer *buffer, char *room, size_t size);

/*
 * Text of unknown origin on one line: a tab and the end of a line are a blank, and what else could
 * steer a terminal is shown (schemas/codec/visible.h).
 */
void tr_buffer_add_visible(struct tr_buffer *buffer, struct tr_text text);

/* msgpack in its shortest form, as schemas/codec/codec.h has it. */
void tr_buffer_u64(struct tr_buffer *buffer, uint64_t value);
void tr_buffer_i64(struct tr_buffer *buffer, int64_t value);
void tr_buffer_f64(struct tr_buffer *buffer, double value);
void tr_buffer_bool(struct tr_buffer *buffer, bool value);
void tr_buffer_nil(struct tr_buffer *buffer);
void tr_buffer_array(struct tr_buffer *buffer, uint32_t count);
void tr_buffer_map(struct tr_buffer *buffer, uint32_t count);
void tr_buffer_text_value(struct tr_buffer *buffer, struct tr_text text);
void tr_buffer_bytes_value(struct tr_buffer *buffer, struct tr_bytes bytes);

#endif
