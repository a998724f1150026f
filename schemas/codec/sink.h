/*
 * Where readable text goes: a buffer of the caller's with an end, or one that is emptied into a
 * callback whenever it is full. What prints needs neither allocation nor a guess of the size.
 *
 *     char buffer[256];
 *     struct tr_sink sink = tr_sink_of(buffer, sizeof buffer);
 *     tr_sink_format(&sink, "%u actors", count);
 *     puts(buffer);
 *
 * A buffer always holds a string with a closing zero (if it has room for one). When the text does
 * not fit, it ends in `…`, cut between characters, and `truncated` is set; what comes after is
 * dropped. A sink belongs to one thread.
 */
#ifndef TR_SCHEMAS_CODEC_SINK_H
#define TR_SCHEMAS_CODEC_SINK_H

#include "schemas/codec/base.h"

/* The longest text that one tr_sink_format makes. */
#define TR_SINK_FORMAT_BYTES_MAX 255

struct tr_sink {
    char *data;
    size_t size; /* of the text in `data`, without the closing zero */
    size_t capacity;
    bool truncated;
    /* Takes what is in the buffer; an error ends the printing and sets `truncated`. */
    int (*flush)(void *self, struct tr_text text);
    void *self;
};

/* A sink into `buffer`, which stays the caller's. */
struct tr_sink tr_sink_of(char *buffer, size_t capacity);

/*
 * A sink that hands its buffer of at least one byte to `flush` each time it is full, which may be
 * in the middle of a character. The caller ends with tr_sink_flush.
 */
struct tr_sink tr_sink_flushing(char *buffer, size_t capacity,
                                int (*flush)(void *self, struct tr_text text), void *self);

/* Hands over what is in the buffer; without a callback, does nothing. */
void tr_sink_flush(struct tr_sink *sink);

/* What was printed and not yet handed over. */
struct tr_text tr_sink_text(const struct tr_sink *sink);

/* Adds text, a string with a closing zero, or one ASCII character. */
void tr_sink_put(struct tr_sink *sink, struct tr_text text);
void tr_sink_put_string(struct tr_sink *sink, const char *string);
void tr_sink_put_char(struct tr_sink *sink, char character);

/* Adds a few words and numbers, as printf does; at most TR_SINK_FORMAT_BYTES_MAX bytes of them. */
TR_PRINTF(2, 3) void tr_sink_format(struct tr_sink *sink, const char *format, ...);

#endif
