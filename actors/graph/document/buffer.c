/*
 * A growing block and, on top of it, the codec's writers: each gets a window with enough room for
 * one value, so that the encoding itself stays in schemas/codec/ alone.
 *
 * The window is reserved by the largest form of a value, and only what the writer has used is kept.
 * So a value that would just fit below `size_max` may be refused with TR_LIMIT: of a scalar up to
 * eight bytes before the bound.
 *
 * The block may move with every write. What is added must not lie in the buffer itself, and views
 * of it (tr_buffer_bytes) end with the next write.
 */
#include "actors/graph/document/buffer.h"

#include <stdarg.h>
#include <stdio.h>

#include "actors/graph/document/limits.h"
#include "runtime/memory.h"
#include "schemas/codec/visible.h"

#define CAPACITY_MIN 256U

void tr_buffer_init(struct tr_buffer *buffer, size_t size_max)
{
    *buffer = (struct tr_buffer){.size_max = size_max == 0 ? TR_FILE_BYTES_MAX : size_max};
}

void tr_buffer_fini(struct tr_buffer *buffer)
{
    tr_free(buffer->data);
    tr_buffer_init(buffer, buffer->size_max);
}

void tr_buffer_cut(struct tr_buffer *buffer, size_t size)
{
    if (size < buffer->size) {
        buffer->size = size;
    }
}

/*
 * Makes room for `size` more bytes; false leaves the error in the buffer. The differences cannot
 * wrap, because size <= capacity and size <= size_max hold after every call. The capacity may pass
 * `size_max` by doubling; only the size is bounded.
 */
static bool reserve(struct tr_buffer *buffer, size_t size)
{
    if (buffer->error != 0) {
        return false;
    }
    if (size > buffer->size_max - buffer->size) {
        buffer->error = TR_LIMIT;
        return false;
    }
    if (size <= buffer->capacity - buffer->size) {
        return true;
    }
    size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : 2 * buffer->capacity;
    if (capacity < buffer->size + size) {
        capacity = buffer->size + size;
    }
    uint8_t *data = tr_realloc(buffer->data, capacity);
    if (data == NULL) {
        buffer->error = TR_MEMORY;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void tr_buffer_add(struct tr_buffer *buffer, const void *data, size_t size)
{
    if (size > 0 && reserve(buffer, size)) {
        memcpy(buffer->data + buffer->size, data, size);
        buffer->size += size;
    }
}

void tr_buffer_add_text(struct tr_buffer *buffer, struct tr_text text)
{
    tr_buffer_add(buffer, text.data, text.size);
}

void tr_buffer_add_string(struct tr_buffer *buffer, const char *string)
{
    tr_buffer_add(buffer, string, strlen(string));
}

void tr_buffer_print(struct tr_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size <= 0 || !reserve(buffer, (size_t)size + 1)) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf((char *)buffer->data + buffer->size, (size_t)size + 1, format, arguments);
    va_end(arguments);
    buffer->size += (size_t)size;
}

static int take_text(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add_text(buffer, text);
    return buffer->error;
}

struct tr_sink tr_buffer_sink(struct tr_buffer *buffer, char *room, size_t size)
{
    return tr_sink_flushing(room, size, take_text, buffer);
}

void tr_buffer_add_visible(struct tr_buffer *buffer, struct tr_text text)
{
    char shown[TR_VISIBLE_BYTES];
    while (text.size > 0) {
        /* Each turn takes at least one byte, so the loop ends for any bytes, UTF-8 or not. */
        size_t size = tr_visible_run(text);
        if (size > 0) {
            tr_buffer_add(buffer, text.data, size);
        } else if (strchr("\t\n\r", text.data[0]) != NULL && text.data[0] != '\0') {
            size = 1;
            tr_buffer_add_string(buffer, " ");
        } else {
            size = tr_visible_escape(text, TR_VISIBLE_TEXT, shown);
            tr_buffer_add_string(buffer, shown);
        }
        text = (struct tr_text){.data = text.data + size, .size = text.size - size};
    }
}

/* A writer with room for `size` bytes at the buffer's end; without room it has none. */
static struct tr_writer window(struct tr_buffer *buffer, size_t size)
{
    if (!reserve(buffer, size)) {
        return tr_writer_of(buffer->data, 0);
    }
    return tr_writer_of(buffer->data + buffer->size, size);
}

/*
 * Keeps what a writer has written whole, or its error. After a fault of the writer the size stays,
 * so that no part of a value is left in the buffer; where the window had no room, the buffer's own
 * error is the cause and stays.
 */
static void take(struct tr_buffer *buffer, const struct tr_writer *writer)
{
    if (writer->error == 0) {
        buffer->size += tr_writer_size(writer);
    } else if (buffer->error == 0) {
        buffer->error = writer->error;
    }
}

void tr_buffer_u64(struct tr_buffer *buffer, uint64_t value)
{
    struct tr_writer writer = window(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_u64(&writer, value);
    take(buffer, &writer);
}

void tr_buffer_i64(struct tr_buffer *buffer, int64_t value)
{
    struct tr_writer writer = window(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_i64(&writer, value);
    take(buffer, &writer);
}

void tr_buffer_f64(struct tr_buffer *buffer, double value)
{
    struct tr_writer writer = window(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_f64(&writer, value);
    take(buffer, &writer);
}

void tr_buffer_bool(struct tr_buffer *buffer, bool value)
{
    struct tr_writer writer = window(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_bool(&writer, value);
    take(buffer, &writer);
}

void tr_buffer_nil(struct tr_buffer *buffer)
{
    struct tr_writer writer = window(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_nil(&writer);
    take(buffer, &writer);
}

void tr_buffer_array(struct tr_buffer *buffer, uint32_t count)
{
    struct tr_writer writer = window(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_array(&writer, count);
    take(buffer, &writer);
}

void tr_buffer_map(struct tr_buffer *buffer, uint32_t count)
{
    struct tr_writer writer = window(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_map(&writer, count);
    take(buffer, &writer);
}

void tr_buffer_text_value(struct tr_buffer *buffer, struct tr_text text)
{
    struct tr_writer writer = window(buffer, TR_BLOB_HEADER_BYTES_MAX + text.size);
    tr_write_text(&writer, text);
    take(buffer, &writer);
}

void tr_buffer_bytes_value(struct tr_buffer *buffer, struct tr_bytes bytes)
{
    struct tr_writer writer = window(buffer, TR_BLOB_HEADER_BYTES_MAX + bytes.size);
    tr_write_bytes(&writer, bytes);
    take(buffer, &writer);
}
