/*
 * msgpack, written into a caller's buffer and read in place from anybody's bytes.
 *
 * The writer makes exactly msgpack-c's bytes (shortest form); tests hold it against that library.
 * It writes nothing that the reader would refuse, because what is refused only when it is read is
 * a state lost on disk. The cursor trusts nothing: every read checks the end. In both, the first
 * fault sticks, after which nothing is written and all reads return zeros, so that one writes or
 * reads all fields and asks once.
 *
 *     struct tr_cursor cursor = tr_cursor_of(bytes);
 *     uint32_t count = tr_read_array(&cursor);
 *     uint64_t first = tr_read_u64(&cursor);
 *     if (cursor.error != 0) { return cursor.error; }
 *
 * Neither allocates. Both may be used from any thread on data of its own.
 */
#ifndef TR_SCHEMAS_CODEC_CODEC_H
#define TR_SCHEMAS_CODEC_CODEC_H

#include <string.h>

#include "schemas/codec/base.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

/* How deeply values may nest before a reader refuses them. */
#define TR_NESTING_MAX 64

/* No scalar takes more bytes than this: one of type, eight of value. */
#define TR_SCALAR_BYTES_MAX 9

/* A key and a reference are arrays of their parts. */
#define TR_KEY_BYTES_MAX (1 + 2 * TR_SCALAR_BYTES_MAX)
#define TR_REF_BYTES_MAX (1 + 3 * TR_SCALAR_BYTES_MAX)

/* What stands before text or bytes, at most. */
#define TR_BLOB_HEADER_BYTES_MAX 5

/*
 * Where bytes are written; `error` is the first fault, 0 while there is none: TR_LIMIT for what did
 * not fit, TR_INVALID for what is no UTF-8 or no msgpack value.
 */
struct tr_writer {
    uint8_t *at;
    uint8_t *end;
    uint8_t *begin;
    int error;
};

/* Where bytes are read; `error` is the first fault, 0 while there is none. */
struct tr_cursor {
    const uint8_t *at;
    const uint8_t *end;
    int error;
};

/* A writer into `buffer`, which stays the caller's. NULL and 0 make one that has no room. */
static inline struct tr_writer tr_writer_of(void *buffer, size_t size)
{
    uint8_t *begin = buffer;
    uint8_t *end = size == 0 ? begin : begin + size;
    return (struct tr_writer){.at = begin, .end = end, .begin = begin, .error = 0};
}

/* How many bytes were written so far; after a fault it may be a part of a value. */
static inline size_t tr_writer_size(const struct tr_writer *writer)
{
    return (size_t)(writer->at - writer->begin);
}

/* A cursor over bytes that outlive it. No bytes at all may be NULL. */
static inline struct tr_cursor tr_cursor_of(struct tr_bytes bytes)
{
    const uint8_t *end = bytes.size == 0 ? bytes.data : bytes.data + bytes.size;
    return (struct tr_cursor){.at = bytes.data, .end = end, .error = 0};
}

static inline size_t tr_cursor_left(const struct tr_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Ends writing or reading with a fault of the caller's finding; the first one is kept. */
void tr_writer_fail(struct tr_writer *writer, int error);
void tr_cursor_fail(struct tr_cursor *cursor, int error);

/* The rare widths, out of line: everything that is not a small number. */
void tri_write_wide(struct tr_writer *writer, uint8_t tag, uint64_t value, unsigned width);
uint64_t tri_read_u64_wide(struct tr_cursor *cursor, uint8_t tag);

/* Writes an unsigned number in its shortest form. */
static inline void tr_write_u64(struct tr_writer *writer, uint64_t value)
{
    if (TR_LIKELY(value < 128 && writer->at < writer->end)) {
        *writer->at++ = (uint8_t)value;
        return;
    }
    if (value <= UINT8_MAX) {
        tri_write_wide(writer, 0xcc, value, value < 128 ? 0 : 1);
    } else if (value <= UINT16_MAX) {
        tri_write_wide(writer, 0xcd, value, 2);
    } else {
        tri_write_wide(writer, value <= UINT32_MAX ? 0xce : 0xcf, value,
                       value <= UINT32_MAX ? 4 : 8);
    }
}

static inline void tr_write_u8(struct tr_writer *writer, uint8_t value)
{
    tr_write_u64(writer, value);
}

static inline void tr_write_u16(struct tr_writer *writer, uint16_t value)
{
    tr_write_u64(writer, value);
}

static inline void tr_write_u32(struct tr_writer *writer, uint32_t value)
{
    tr_write_u64(writer, value);
}

/* Writes a signed number in its shortest form. */
void tr_write_i64(struct tr_writer *writer, int64_t value);

/* Writes a double; a float is never used. */
void tr_write_f64(struct tr_writer *writer, double value);

void tr_write_bool(struct tr_writer *writer, bool value);
void tr_write_nil(struct tr_writer *writer);
void tr_write_array(struct tr_writer *writer, uint32_t count);
void tr_write_map(struct tr_writer *writer, uint32_t count);

/* Writes text that must be UTF-8; else the writer fails with TR_INVALID. */
void tr_write_text(struct tr_writer *writer, struct tr_text text);

void tr_write_bytes(struct tr_writer *writer, struct tr_bytes bytes);
void tr_write_key(struct tr_writer *writer, struct tr_key key);
void tr_write_ref(struct tr_writer *writer, struct tr_ref ref);

/*
 * Copies one value that is msgpack already; no bytes at all become nil. What is not exactly one
 * value fails the writer with TR_INVALID, one nested too deeply with TR_LIMIT.
 */
void tr_write_any(struct tr_writer *writer, struct tr_bytes value);

/* Reads an unsigned number of any width; a negative one or another type is TR_MALFORMED. */
static inline uint64_t tr_read_u64(struct tr_cursor *cursor)
{
    if (TR_UNLIKELY(cursor->at >= cursor->end)) {
        tr_cursor_fail(cursor, TR_TRUNCATED);
        return 0;
    }
    uint8_t tag = *cursor->at++;
    if (TR_LIKELY(tag < 128)) {
        return tag;
    }
    return tri_read_u64_wide(cursor, tag);
}

/* Reads an unsigned number that must not exceed `max`. */
static inline uint64_t tri_read_bounded(struct tr_cursor *cursor, uint64_t max)
{
    uint64_t value = tr_read_u64(cursor);
    if (TR_UNLIKELY(value > max)) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return 0;
    }
    return value;
}

static inline uint8_t tr_read_u8(struct tr_cursor *cursor)
{
    return (uint8_t)tri_read_bounded(cursor, UINT8_MAX);
}

static inline uint16_t tr_read_u16(struct tr_cursor *cursor)
{
    return (uint16_t)tri_read_bounded(cursor, UINT16_MAX);
}

static inline uint32_t tr_read_u32(struct tr_cursor *cursor)
{
    return (uint32_t)tri_read_bounded(cursor, UINT32_MAX);
}

/* Reads a signed number of any width that fits in 64 bits. */
int64_t tr_read_i64(struct tr_cursor *cursor);

/* Reads a double (or a float). Whole numbers are not accepted: there is no silent conversion. */
double tr_read_f64(struct tr_cursor *cursor);

bool tr_read_bool(struct tr_cursor *cursor);

/* The number of elements that follow. An array that cannot fit in the bytes left is an error. */
uint32_t tr_read_array(struct tr_cursor *cursor);

/* The number of pairs that follow, bounded in the same way. */
uint32_t tr_read_map(struct tr_cursor *cursor);

/* Views into the cursor's bytes. Text is checked to be UTF-8. */
struct tr_text tr_read_text(struct tr_cursor *cursor);
struct tr_bytes tr_read_bytes(struct tr_cursor *cursor);
struct tr_key tr_read_key(struct tr_cursor *cursor);
struct tr_ref tr_read_ref(struct tr_cursor *cursor);

/* Text as tr_read_any lets it pass, which may hold anything: for those that check it themselves. */
struct tr_text tr_read_text_unchecked(struct tr_cursor *cursor);

/* The content of an extension, and its type number, which is untouched on failure. */
struct tr_bytes tr_read_extension(struct tr_cursor *cursor, int8_t *type);

/*
 * Skips one whole value no deeper than TR_NESTING_MAX and returns its bytes. Its shape is checked;
 * whether the text in it is UTF-8 is not.
 */
struct tr_bytes tr_read_any(struct tr_cursor *cursor);

/* Whether the next value is nil; if so it is passed over. */
bool tr_read_nil(struct tr_cursor *cursor);

/* What the next value is, which says by which function to read it. */
enum tr_codec_type {
    TR_CODEC_NONE, /* the bytes have ended, or are none of msgpack's */
    TR_CODEC_NIL,
    TR_CODEC_BOOL,
    TR_CODEC_UNSIGNED,
    TR_CODEC_SIGNED,
    TR_CODEC_F64,
    TR_CODEC_TEXT,
    TR_CODEC_BYTES,
    TR_CODEC_ARRAY,
    TR_CODEC_MAP,
    TR_CODEC_EXTENSION,
};

/* Looks at the next value without passing over it. */
enum tr_codec_type tr_peek(const struct tr_cursor *cursor);

#endif
