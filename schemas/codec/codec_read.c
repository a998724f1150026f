/*
 * Reading msgpack in place: any width that msgpack allows, within the bytes there are.
 *
 * Why by hand: a message is decoded without allocation and in some ten nanoseconds; the library's
 * unpacker builds a tree of objects. The library stays the oracle in the tests.
 */
#include "schemas/codec/codec.h"

static uint64_t load_big_endian(const uint8_t *at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value = value << 8 | at[i];
    }
    return value;
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

static int64_t read_i64_wide(struct tr_cursor *cursor, uint8_t tag)
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
    return read_i64_wide(cursor, tag);
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

struct tr_text tr_read_text_unchecked(struct tr_cursor *cursor)
{
    uint32_t size = read_count_within(cursor, &text_form, 1);
    if (cursor->error != 0) {
        return (struct tr_text){.data = "", .size = 0};
    }
    struct tr_text text = {.data = (const char *)cursor->at, .size = size};
    cursor->at += size;
    return text;
}

struct tr_text tr_read_text(struct tr_cursor *cursor)
{
    struct tr_text text = tr_read_text_unchecked(cursor);
    if (!tr_utf8_valid(text)) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return (struct tr_text){.data = "", .size = 0};
    }
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
    uint64_t left[TR_NESTING_MAX + 1];
    unsigned depth = 0;
    left[0] = 1;
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

struct tr_bytes tr_read_extension(struct tr_cursor *cursor, int8_t *type)
{
    if (available(cursor, 1) && tr_peek(cursor) != TR_CODEC_EXTENSION) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    struct extent extent = read_extent(cursor);
    if (cursor->error != 0 || !available(cursor, extent.bytes)) {
        return (struct tr_bytes){.data = NULL, .size = 0};
    }
    *type = (int8_t)*cursor->at;
    struct tr_bytes content = {.data = cursor->at + 1, .size = extent.bytes - 1};
    cursor->at += extent.bytes;
    return content;
}

enum tr_codec_type tr_peek(const struct tr_cursor *cursor)
{
    static const struct {
        uint8_t last_tag;
        uint8_t type;
    } ranges[] = {
        {0x7f, TR_CODEC_UNSIGNED},  {0x8f, TR_CODEC_MAP},      {0x9f, TR_CODEC_ARRAY},
        {0xbf, TR_CODEC_TEXT},      {0xc0, TR_CODEC_NIL},      {0xc1, TR_CODEC_NONE},
        {0xc3, TR_CODEC_BOOL},      {0xc6, TR_CODEC_BYTES},    {0xc9, TR_CODEC_EXTENSION},
        {0xcb, TR_CODEC_F64},       {0xcf, TR_CODEC_UNSIGNED}, {0xd3, TR_CODEC_SIGNED},
        {0xd8, TR_CODEC_EXTENSION}, {0xdb, TR_CODEC_TEXT},     {0xdd, TR_CODEC_ARRAY},
        {0xdf, TR_CODEC_MAP},       {0xff, TR_CODEC_SIGNED},
    };
    if (cursor->error != 0 || tr_cursor_left(cursor) == 0) {
        return TR_CODEC_NONE;
    }
    size_t i = 0;
    while (*cursor->at > ranges[i].last_tag) {
        i++;
    }
    return ranges[i].type;
}
