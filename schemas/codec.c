/*
 * msgpack by hand: writing the shortest form, reading any form within bounds.
 *
 * Why by hand: a message is decoded in place without allocation, and at some ten nanoseconds; the
 * library's unpacker builds a tree of objects. The library stays the oracle in the tests.
 */
#include "schemas/codec.h"

/* Sends `width` bytes of `value`, highest first. */
static void store_big_endian(uint8_t *at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        at[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
    }
}

static uint64_t load_big_endian(const uint8_t *at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

/* Makes room for `size` bytes, or marks the writer as too small. */
static bool reserve(struct tr_writer *writer, size_t size)
{
    if (writer->error != 0 || (size_t)(writer->end - writer->at) < size) {
        writer->error = TR_LIMIT;
        return false;
    }
    return true;
}

/* Finds `size` more bytes to read, or marks the cursor. */
static bool available(struct tr_cursor *cursor, size_t size)
{
    if (cursor->error != 0) {
        return false;
    }
    if (tr_cursor_left(cursor) < size) {
        tr_cursor_fail(cursor, TR_TRUNCATED);
        return false;
    }
    return true;
}

void tr_cursor_fail(struct tr_cursor *cursor, int error)
{
    if (cursor->error == 0) {
        cursor->error = error;
    }
    cursor->at = cursor->end;
}

void tri_write_wide(struct tr_writer *writer, uint8_t tag, uint64_t value, unsigned width)
{
    if (!reserve(writer, 1 + (size_t)width)) {
        return;
    }
    if (width == 0) {
        *writer->at++ = (uint8_t)value;
        return;
    }
    *writer->at++ = tag;
    store_big_endian(writer->at, value, width);
    writer->at += width;
}

void tr_write_i64(struct tr_writer *writer, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    if (value >= 0) {
        tr_write_u64(writer, bits);
    } else if (value >= -32) {
        tri_write_wide(writer, 0, bits & 0xff, 0);
    } else if (value >= INT8_MIN) {
        tri_write_wide(writer, 0xd0, bits & 0xff, 1);
    } else if (value >= INT16_MIN) {
        tri_write_wide(writer, 0xd1, bits & 0xffff, 2);
    } else if (value >= INT32_MIN) {
        tri_write_wide(writer, 0xd2, bits & 0xffffffff, 4);
    } else {
        tri_write_wide(writer, 0xd3, bits, 8);
    }
}

void tr_write_f64(struct tr_writer *writer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tri_write_wide(writer, 0xcb, bits, 8);
}

void tr_write_bool(struct tr_writer *writer, bool value)
{
    tri_write_wide(writer, 0, value ? 0xc3 : 0xc2, 0);
}

void tr_write_nil(struct tr_writer *writer)
{
    tri_write_wide(writer, 0, 0xc0, 0);
}

void tr_write_array(struct tr_writer *writer, uint32_t count)
{
    if (count < 16) {
        tri_write_wide(writer, 0, 0x90 | count, 0);
    } else {
        tri_write_wide(writer, count <= UINT16_MAX ? 0xdc : 0xdd, count,
                       count <= UINT16_MAX ? 2 : 4);
    }
}

void tr_write_map(struct tr_writer *writer, uint32_t count)
{
    if (count < 16) {
        tri_write_wide(writer, 0, 0x80 | count, 0);
    } else {
        tri_write_wide(writer, count <= UINT16_MAX ? 0xde : 0xdf, count,
                       count <= UINT16_MAX ? 2 : 4);
    }
}

static void write_raw(struct tr_writer *writer, const void *data, size_t size)
{
    if (size > 0 && reserve(writer, size)) {
        memcpy(writer->at, data, size);
        writer->at += size;
    }
}

void tr_write_text(struct tr_writer *writer, struct tr_text text)
{
    if (text.size > UINT32_MAX) {
        writer->error = TR_LIMIT;
        return;
    }
    if (text.size < 32) {
        tri_write_wide(writer, 0, 0xa0 | text.size, 0);
    } else if (text.size <= UINT8_MAX) {
        tri_write_wide(writer, 0xd9, text.size, 1);
    } else {
        tri_write_wide(writer, text.size <= UINT16_MAX ? 0xda : 0xdb, text.size,
                       text.size <= UINT16_MAX ? 2 : 4);
    }
    write_raw(writer, text.data, text.size);
}

void tr_write_bytes(struct tr_writer *writer, struct tr_bytes bytes)
{
    if (bytes.size > UINT32_MAX) {
        writer->error = TR_LIMIT;
        return;
    }
    if (bytes.size <= UINT8_MAX) {
        tri_write_wide(writer, 0xc4, bytes.size, 1);
    } else {
        tri_write_wide(writer, bytes.size <= UINT16_MAX ? 0xc5 : 0xc6, bytes.size,
                       bytes.size <= UINT16_MAX ? 2 : 4);
    }
    write_raw(writer, bytes.data, bytes.size);
}

void tr_write_key(struct tr_writer *writer, struct tr_key key)
{
    tr_write_array(writer, 2);
    tr_write_u64(writer, key.group);
    tr_write_u64(writer, key.serial);
}

void tr_write_ref(struct tr_writer *writer, struct tr_ref ref)
{
    tr_write_array(writer, 3);
    tr_write_u64(writer, ref.key.group);
    tr_write_u64(writer, ref.key.serial);
    tr_write_u32(writer, ref.incarnation);
}

void tr_write_any(struct tr_writer *writer, struct tr_bytes value)
{
    if (value.size == 0) {
        tr_write_nil(writer);
    } else {
        write_raw(writer, value.data, value.size);
    }
}

/* How many bytes of value follow an integer's tag; 0 for what is no wide integer. */
static unsigned integer_width(uint8_t tag)
{
    bool is_integer = tag >= 0xcc && tag <= 0xd3;
    return is_integer ? 1U << (tag & 3) : 0;
}

/* The bytes after an integer's tag as they stand; the caller gives them their sign. */
static uint64_t read_integer(struct tr_cursor *cursor, uint8_t tag)
{
    unsigned width = integer_width(tag);
    if (width == 0) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return 0;
    }
    if (!available(cursor, width)) {
        return 0;
    }
    uint64_t value = load_big_endian(cursor->at, width);
    cursor->at += width;
    return value;
}

/* Gives the highest of the tag's bits its weight of a sign. */
static int64_t with_sign(uint64_t value, uint8_t tag)
{
    unsigned shift = 64 - 8 * integer_width(tag);
    return (int64_t)(value << shift) >> shift;
}

uint64_t tri_read_u64_wide(struct tr_cursor *cursor, uint8_t tag)
{
    if (tag >= 0xe0) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return 0;
    }
    uint64_t value = read_integer(cursor, tag);
    if (cursor->error != 0 || tag < 0xd0) {
        return value;
    }
    int64_t number = with_sign(value, tag);
    if (number < 0) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return 0;
    }
    return (uint64_t)number;
}

int64_t tri_read_i64_wide(struct tr_cursor *cursor, uint8_t tag)
{
    uint64_t value = read_integer(cursor, tag);
    if (cursor->error != 0) {
        return 0;
    }
    if (tag >= 0xd0) {
        return with_sign(value, tag);
    }
    if (value > INT64_MAX) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return 0;
    }
    return (int64_t)value;
}

int64_t tr_read_i64(struct tr_cursor *cursor)
{
    if (!available(cursor, 1)) {
        return 0;
    }
    uint8_t tag = *cursor->at++;
    if (tag < 128) {
        return tag;
    }
    if (tag >= 0xe0) {
        return (int8_t)tag;
    }
    return tri_read_i64_wide(cursor, tag);
}

double tr_read_f64(struct tr_cursor *cursor)
{
    if (!available(cursor, 1)) {
        return 0;
    }
    uint8_t tag = *cursor->at++;
    unsigned width = tag == 0xcb ? 8 : 4;
    if (tag != 0xcb && tag != 0xca) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return 0;
    }
    if (!available(cursor, width)) {
        return 0;
    }
    uint64_t bits = load_big_endian(cursor->at, width);
    cursor->at += width;
    if (width == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    uint32_t half = (uint32_t)bits;
    float narrow;
    memcpy(&narrow, &half, sizeof narrow);
    return (double)narrow;
}

bool tr_read_bool(struct tr_cursor *cursor)
{
    if (!available(cursor, 1)) {
        return false;
    }
    uint8_t tag = *cursor->at++;
    if (tag != 0xc2 && tag != 0xc3) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return false;
    }
    return tag == 0xc3;
}

bool tr_read_nil(struct tr_cursor *cursor)
{
    if (cursor->error != 0 || cursor->at >= cursor->end || *cursor->at != 0xc0) {
        return false;
    }
    cursor->at++;
    return true;
}

/* One kind of counted value: the tags of its forms, shortest first; 0 where there is none. */
struct counted {
    uint8_t fix_mask;
    uint8_t fix_tag;
    uint8_t tags[3]; /* with 1, 2 and 4 bytes of count */
};

static const struct counted array_form = {0xf0, 0x90, {0, 0xdc, 0xdd}};
static const struct counted map_form = {0xf0, 0x80, {0, 0xde, 0xdf}};
static const struct counted text_form = {0xe0, 0xa0, {0xd9, 0xda, 0xdb}};
static const struct counted bytes_form = {0, 0xff, {0xc4, 0xc5, 0xc6}};

/* Reads the count of a value of this form; anything else is malformed. */
static uint32_t read_count(struct tr_cursor *cursor, const struct counted *form)
{
    if (!available(cursor, 1)) {
        return 0;
    }
    uint8_t tag = *cursor->at++;
    if (form->fix_mask != 0 && (tag & form->fix_mask) == form->fix_tag) {
        return (uint32_t)(tag & (uint8_t)~form->fix_mask);
    }
    for (unsigned i = 0; i < 3; i++) {
        unsigned width = 1U << i;
        if (form->tags[i] != 0 && tag == form->tags[i]) {
            if (!available(cursor, width)) {
                return 0;
            }
            uint32_t count = (uint32_t)load_big_endian(cursor->at, width);
            cursor->at += width;
            return count;
        }
    }
    tr_cursor_fail(cursor, TR_MALFORMED);
    return 0;
}

/* Refuses a count that the bytes left cannot hold, so that nobody allocates for it. */
static uint32_t read_count_within(struct tr_cursor *cursor, const struct counted *form,
                                  size_t bytes_each)
{
    uint32_t count = read_count(cursor, form);
    if (cursor->error == 0 && count > tr_cursor_left(cursor) / bytes_each) {
        tr_cursor_fail(cursor, TR_TRUNCATED);
        return 0;
    }
    return count;
}

uint32_t tr_read_array(struct tr_cursor *cursor)
{
    return read_count_within(cursor, &array_form, 1);
}

uint32_t tr_read_map(struct tr_cursor *cursor)
{
    return read_count_within(cursor, &map_form, 2);
}

struct tr_text tr_read_text(struct tr_cursor *cursor)
{
    uint32_t size = read_count_within(cursor, &text_form, 1);
    struct tr_text text = {.data = (const char *)cursor->at, .size = size};
    if (cursor->error != 0) {
        return (struct tr_text){.data = "", .size = 0};
    }
    if (!tr_utf8_valid(text)) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return (struct tr_text){.data = "", .size = 0};
    }
    cursor->at += size;
    return text;
}

struct tr_bytes tr_read_bytes(struct tr_cursor *cursor)
{
    uint32_t size = read_count_within(cursor, &bytes_form, 1);
    if (cursor->error != 0) {
        return (struct tr_bytes){.data = NULL, .size = 0};
    }
    struct tr_bytes bytes = {.data = cursor->at, .size = size};
    cursor->at += size;
    return bytes;
}

struct tr_key tr_read_key(struct tr_cursor *cursor)
{
    if (tr_read_array(cursor) != 2) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    struct tr_key key = {0};
    key.group = tr_read_u64(cursor);
    key.serial = tr_read_u64(cursor);
    return key;
}

struct tr_ref tr_read_ref(struct tr_cursor *cursor)
{
    if (tr_read_array(cursor) != 3) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    struct tr_ref ref = {0};
    ref.key.group = tr_read_u64(cursor);
    ref.key.serial = tr_read_u64(cursor);
    ref.incarnation = tr_read_u32(cursor);
    return ref;
}

/* What a tag says of the value behind it: bytes to pass over and values inside. */
struct extent {
    uint64_t bytes;
    uint64_t values;
};

/* How wide the size behind a tag from 0xc4 on is, for values that carry one; else 0. */
static unsigned size_width(uint8_t tag)
{
    static const uint8_t widths[] = {
        [0xc4 - 0xc4] = 1, [0xc5 - 0xc4] = 2, [0xc6 - 0xc4] = 4, [0xc7 - 0xc4] = 1,
        [0xc8 - 0xc4] = 2, [0xc9 - 0xc4] = 4, [0xd9 - 0xc4] = 1, [0xda - 0xc4] = 2,
        [0xdb - 0xc4] = 4, [0xdc - 0xc4] = 2, [0xdd - 0xc4] = 4, [0xde - 0xc4] = 2,
        [0xdf - 0xc4] = 4,
    };
    return tag >= 0xc4 && tag <= 0xdf ? widths[tag - 0xc4] : 0;
}

/* The extent of a value without a size of its own. */
static struct extent fixed_extent(uint8_t tag)
{
    if (tag < 0x80 || tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3) {
        return (struct extent){0};
    }
    if (tag < 0x90) {
        return (struct extent){.values = 2 * (uint64_t)(tag & 0x0f)};
    }
    if (tag < 0xa0) {
        return (struct extent){.values = tag & 0x0f};
    }
    if (tag < 0xc0) {
        return (struct extent){.bytes = tag & 0x1f};
    }
    if (tag >= 0xd4 && tag <= 0xd8) {
        return (struct extent){.bytes = 1 + (1U << (tag - 0xd4))};
    }
    return (struct extent){.bytes = tag == 0xca ? 4 : tag == 0xcb ? 8 : integer_width(tag)};
}

/* Reads the head of any value. */
static struct extent read_extent(struct tr_cursor *cursor)
{
    if (!available(cursor, 1)) {
        return (struct extent){0};
    }
    uint8_t tag = *cursor->at++;
    unsigned width = size_width(tag);
    if (tag == 0xc1) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return (struct extent){0};
    }
    if (width == 0) {
        return fixed_extent(tag);
    }
    if (!available(cursor, width)) {
        return (struct extent){0};
    }
    uint64_t size = load_big_endian(cursor->at, width);
    cursor->at += width;
    if (tag >= 0xdc) {
        return (struct extent){.values = tag >= 0xde ? 2 * size : size};
    }
    bool is_extension = tag >= 0xc7 && tag <= 0xc9;
    return (struct extent){.bytes = size + (is_extension ? 1 : 0)};
}

struct tr_bytes tr_read_any(struct tr_cursor *cursor)
{
    const uint8_t *begin = cursor->at;
    uint64_t left[TR_NESTING_MAX + 1] = {1};
    unsigned depth = 0;
    while (cursor->error == 0) {
        while (depth > 0 && left[depth] == 0) {
            depth--;
        }
        if (left[depth] == 0) {
            return (struct tr_bytes){.data = begin, .size = (size_t)(cursor->at - begin)};
        }
        left[depth]--;
        struct extent extent = read_extent(cursor);
        if (extent.values > tr_cursor_left(cursor)) {
            tr_cursor_fail(cursor, TR_TRUNCATED);
        } else if (extent.values > 0 && depth == TR_NESTING_MAX) {
            tr_cursor_fail(cursor, TR_LIMIT);
        } else if (extent.values > 0) {
            left[++depth] = extent.values;
        } else if (available(cursor, extent.bytes)) {
            cursor->at += extent.bytes;
        }
    }
    return (struct tr_bytes){.data = NULL, .size = 0};
}

/* The smallest code point that needs so many bytes: anything below is an overlong form. */
static const uint32_t utf8_least[] = {0, 0, 0x80, 0x800, 0x10000};

/* How many bytes a character takes by its first one; 0 if it cannot begin one. */
static unsigned utf8_width(uint8_t first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4) {
        return 0;
    }
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Checks one character of more than one byte. */
static bool utf8_character_valid(const uint8_t *at, unsigned width)
{
    uint32_t point = at[0] & (0x7fU >> width);
    for (unsigned i = 1; i < width; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return false;
        }
        point = point << 6 | (at[i] & 0x3f);
    }
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= utf8_least[width] && point <= 0x10ffff && !is_surrogate;
}

bool tr_utf8_valid(struct tr_text text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    const uint8_t *end = at + text.size;
    while (at < end) {
        unsigned width = utf8_width(*at);
        if (width == 0 || width > (size_t)(end - at)) {
            return false;
        }
        if (width > 1 && !utf8_character_valid(at, width)) {
            return false;
        }
        at += width;
    }
    return true;
}
