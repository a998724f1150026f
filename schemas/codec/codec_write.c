/*
 * Writing msgpack by hand, always in the shortest form, so that equal values have equal bytes.
 *
 * A writer accepts only what a reader will accept: text that is no UTF-8 or a ready-made value that
 * is none is refused here, where it came from, and not by a receiver or by the next start.
 */
#include "schemas/codec/codec.h"

/* Stores the lowest `width` bytes of `value`, highest first. */
static void store_big_endian(uint8_t *at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) {
        at[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
    }
}

void tr_writer_fail(struct tr_writer *writer, int error)
{
    if (writer->error == 0) {
        writer->error = error;
    }
    /* Without room left, even the inline writers come to a halt here. */
    writer->end = writer->at;
}

/* Whether there is room for `size` bytes; if not, the writer fails. */
static bool reserve(struct tr_writer *writer, size_t size)
{
    if ((size_t)(writer->end - writer->at) < size) {
        tr_writer_fail(writer, TR_LIMIT);
        return false;
    }
    return true;
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
        tri_write_wide(writer, 0, bits, 0);
    } else if (value >= INT8_MIN) {
        tri_write_wide(writer, 0xd0, bits, 1);
    } else if (value >= INT16_MIN) {
        tri_write_wide(writer, 0xd1, bits, 2);
    } else if (value >= INT32_MIN) {
        tri_write_wide(writer, 0xd2, bits, 4);
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

/* One kind of counted value: the tags of its forms; 0 where there is no such form. */
struct counted {
    uint8_t fix_tag;
    uint8_t fix_count; /* the short form holds fewer than this */
    uint8_t tags[3];   /* with 1, 2 and 4 bytes of count */
};

static const struct counted array_form = {0x90, 16, {0, 0xdc, 0xdd}};
static const struct counted map_form = {0x80, 16, {0, 0xde, 0xdf}};
static const struct counted text_form = {0xa0, 32, {0xd9, 0xda, 0xdb}};
static const struct counted bytes_form = {0, 0, {0xc4, 0xc5, 0xc6}};

/* Writes what stands before `count` elements or bytes. */
static void write_count(struct tr_writer *writer, const struct counted *form, size_t count)
{
    if (count < form->fix_count) {
        tri_write_wide(writer, 0, form->fix_tag | count, 0);
    } else if (count <= UINT8_MAX && form->tags[0] != 0) {
        tri_write_wide(writer, form->tags[0], count, 1);
    } else if (count <= UINT16_MAX) {
        tri_write_wide(writer, form->tags[1], count, 2);
    } else if (count <= UINT32_MAX) {
        tri_write_wide(writer, form->tags[2], count, 4);
    } else {
        tr_writer_fail(writer, TR_LIMIT);
    }
}

void tr_write_array(struct tr_writer *writer, uint32_t count)
{
    write_count(writer, &array_form, count);
}

void tr_write_map(struct tr_writer *writer, uint32_t count)
{
    write_count(writer, &map_form, count);
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
    if (!tr_utf8_valid(text)) {
        tr_writer_fail(writer, TR_INVALID);
        return;
    }
    write_count(writer, &text_form, text.size);
    write_raw(writer, text.data, text.size);
}

void tr_write_bytes(struct tr_writer *writer, struct tr_bytes bytes)
{
    write_count(writer, &bytes_form, bytes.size);
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
        return;
    }
    struct tr_cursor cursor = tr_cursor_of(value);
    struct tr_bytes whole = tr_read_any(&cursor);
    if (cursor.error != 0 || whole.size != value.size) {
        tr_writer_fail(writer, cursor.error == TR_LIMIT ? TR_LIMIT : TR_INVALID);
        return;
    }
    write_raw(writer, value.data, value.size);
}
