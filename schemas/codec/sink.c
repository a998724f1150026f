/*
 * Filling a buffer with text, and what happens at its end: a mark in place of the rest, or a
 * callback that takes it away.
 */
#include "schemas/codec/sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schemas/codec/utf8.h"

/* What stands at the end of text that was cut off: U+2026. */
static const char cut_mark[] = "\xe2\x80\xa6";
#define CUT_MARK_BYTES (sizeof cut_mark - 1)

struct tr_sink tr_sink_of(char *buffer, size_t capacity)
{
    if (capacity > 0) {
        buffer[0] = '\0';
    }
    return (struct tr_sink){.data = buffer, .capacity = capacity};
}

struct tr_sink tr_sink_flushing(char *buffer, size_t capacity,
                                int (*flush)(void *self, struct tr_text text), void *self)
{
    TR_ASSERT(capacity > 0 && flush != NULL);
    return (struct tr_sink){.data = buffer, .capacity = capacity, .flush = flush, .self = self};
}

void tr_sink_flush(struct tr_sink *sink)
{
    if (sink->flush == NULL || sink->truncated || sink->size == 0) {
        return;
    }
    if (sink->flush(sink->self, tr_sink_text(sink)) != 0) {
        sink->truncated = true;
    }
    sink->size = 0;
}

struct tr_text tr_sink_text(const struct tr_sink *sink)
{
    return (struct tr_text){.data = sink->data, .size = sink->size};
}

/* How much fits: a buffer that is never emptied keeps a byte for the closing zero. */
static size_t room(const struct tr_sink *sink)
{
    size_t reserved = sink->flush == NULL && sink->capacity > 0 ? 1 : 0;
    return sink->capacity - reserved - sink->size;
}

/* Copies as much of the text as fits and returns how much that was. */
static size_t fill(struct tr_sink *sink, struct tr_text text)
{
    size_t size = text.size < room(sink) ? text.size : room(sink);
    if (size > 0) {
        memcpy(sink->data + sink->size, text.data, size);
        sink->size += size;
    }
    return size;
}

/* Ends a buffer that is full: the mark takes the place of the last whole characters. */
static void cut(struct tr_sink *sink)
{
    sink->truncated = true;
    size_t whole = sink->size + room(sink);
    size_t kept = whole > CUT_MARK_BYTES ? whole - CUT_MARK_BYTES : 0;
    sink->size = tr_utf8_cut(tr_sink_text(sink), kept);
    if (whole >= CUT_MARK_BYTES) {
        memcpy(sink->data + sink->size, cut_mark, CUT_MARK_BYTES);
        sink->size += CUT_MARK_BYTES;
    }
}

void tr_sink_put(struct tr_sink *sink, struct tr_text text)
{
    while (!sink->truncated) {
        size_t size = fill(sink, text);
        if (size == text.size) {
            break;
        }
        text.data += size;
        text.size -= size;
        if (sink->flush != NULL) {
            tr_sink_flush(sink);
        } else {
            cut(sink);
        }
    }
    if (sink->flush == NULL && sink->capacity > 0) {
        sink->data[sink->size] = '\0';
    }
}

void tr_sink_put_string(struct tr_sink *sink, const char *string)
{
    tr_sink_put(sink, tr_text_of(string));
}

void tr_sink_put_char(struct tr_sink *sink, char character)
{
    tr_sink_put(sink, (struct tr_text){.data = &character, .size = 1});
}

void tr_sink_format(struct tr_sink *sink, const char *format, ...)
{
    char text[TR_SINK_FORMAT_BYTES_MAX + 1];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    TR_ASSERT(wanted >= 0);
    size_t size = (size_t)wanted < sizeof text ? (size_t)wanted : sizeof text - 1;
    tr_sink_put(sink, (struct tr_text){.data = text, .size = size});
}
