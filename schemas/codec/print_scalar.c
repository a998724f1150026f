/*
 * Printing what has no parts: text, bytes, numbers, keys, and what stands in for hidden bytes.
 */
#include "schemas/codec/print_scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "schemas/codec/utf8.h"

/* A line shows so many bytes of a blob at most. */
#define LINE_BLOB_BYTES_MAX 32

/* The characters that JSON has a short form for. */
static char short_escape(uint8_t byte)
{
    static const char pairs[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *at = pairs; *at != '\0'; at += 2) {
        if ((uint8_t)at[0] == byte) {
            return at[1];
        }
    }
    return '\0';
}

/* Controls would move a terminal's cursor: C0 and DEL, and C1 (U+0080 to U+009F) in two bytes. */
static bool is_control(struct tr_text character)
{
    uint8_t first = (uint8_t)character.data[0];
    if (character.size == 1) {
        return first < 0x20 || first == 0x7f;
    }
    return character.size == 2 && first == 0xc2 && (uint8_t)character.data[1] < 0xa0;
}

/* How much of it is printed as it is, and of one byte each: nearly everything, at once. */
static size_t plain_size(struct tr_text text)
{
    size_t size = 0;
    while (size < text.size && text.data[size] >= ' ' && text.data[size] < 0x7f &&
           text.data[size] != '"' && text.data[size] != '\\') {
        size++;
    }
    return size;
}

static void print_character(struct tr_sink *sink, struct tr_text character)
{
    char escape = character.size == 1 ? short_escape((uint8_t)character.data[0]) : '\0';
    if (escape != '\0') {
        tr_sink_put(sink, (struct tr_text){.data = (char[]){'\\', escape}, .size = 2});
    } else if (is_control(character)) {
        tr_sink_format(sink, "\\u%04x", (unsigned)(uint8_t)character.data[character.size - 1]);
    } else {
        tr_sink_put(sink, character);
    }
}

void tr_print_json_text(struct tr_sink *sink, struct tr_text text)
{
    tr_sink_put_char(sink, '"');
    while (text.size > 0 && !sink->truncated) {
        size_t plain = plain_size(text);
        size_t width = plain > 0 ? plain : tr_utf8_width(text);
        if (plain > 0) {
            tr_sink_put(sink, (struct tr_text){.data = text.data, .size = plain});
        } else if (width == 0) {
            tr_sink_put_string(sink, "\\ufffd");
            width = 1;
        } else {
            print_character(sink, (struct tr_text){.data = text.data, .size = width});
        }
        text.data += width;
        text.size -= width;
    }
    tr_sink_put_char(sink, '"');
}

/* The four characters of up to three bytes. */
static void print_base64_group(struct tr_sink *sink, const uint8_t *at, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)at[0] << 16;
    bits |= size > 1 ? (uint32_t)at[1] << 8 : 0;
    bits |= size > 2 ? at[2] : 0;
    char group[4];
    for (unsigned i = 0; i < 4; i++) {
        group[i] = i <= size ? digits[bits >> (18 - 6 * i) & 0x3f] : '=';
    }
    tr_sink_put(sink, (struct tr_text){.data = group, .size = sizeof group});
}

void tr_print_base64(struct tr_sink *sink, struct tr_bytes bytes)
{
    for (size_t i = 0; i < bytes.size && !sink->truncated; i += 3) {
        print_base64_group(sink, bytes.data + i, bytes.size - i);
    }
}

static void print_hexadecimal(struct tr_sink *sink, struct tr_bytes bytes)
{
    size_t shown = bytes.size < LINE_BLOB_BYTES_MAX ? bytes.size : LINE_BLOB_BYTES_MAX;
    tr_sink_format(sink, "<%zu bytes%s", bytes.size, shown > 0 ? " " : "");
    for (size_t i = 0; i < shown; i++) {
        tr_sink_format(sink, "%02x", bytes.data[i]);
    }
    tr_sink_put_string(sink, shown < bytes.size ? "\xe2\x80\xa6>" : ">");
}

void tri_print_bytes(struct tr_sink *sink, enum tr_print_form form, struct tr_bytes bytes)
{
    if (form == TR_PRINT_JSON) {
        tr_sink_put_char(sink, '"');
        tr_print_base64(sink, bytes);
        tr_sink_put_char(sink, '"');
    } else {
        print_hexadecimal(sink, bytes);
    }
}

void tr_print_json_double(struct tr_sink *sink, double value)
{
    /* 17 digits give every double back, but make 0.1 ugly; most need no more than 15. */
    char digits[32];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) {
            break;
        }
    }
    tr_sink_put_string(sink, digits);
    tr_sink_put_string(sink, strpbrk(digits, ".e") == NULL ? ".0" : "");
}

void tri_print_f64(struct tr_sink *sink, enum tr_print_form form, double value)
{
    if (isfinite(value)) {
        tr_print_json_double(sink, value);
        return;
    }
    const char *words = isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    tr_sink_put_string(sink, form == TR_PRINT_JSON ? "null" : words);
}

void tri_print_bool(struct tr_sink *sink, bool value)
{
    tr_sink_put_string(sink, value ? "true" : "false");
}

void tri_print_unsigned(struct tr_sink *sink, uint64_t value)
{
    tr_sink_format(sink, "%" PRIu64, value);
}

void tri_print_signed(struct tr_sink *sink, int64_t value)
{
    tr_sink_format(sink, "%" PRId64, value);
}

static void print_key(struct tr_sink *sink, struct tr_key key)
{
    tr_sink_format(sink, "%" PRIu64 "/%" PRIu64, tr_group_shown(key.group), key.serial);
}

void tri_print_ref(struct tr_sink *sink, struct tr_ref ref)
{
    print_key(sink, ref.key);
    if (ref.incarnation != 0) {
        tr_sink_format(sink, "@%" PRIu32, ref.incarnation);
    }
}

void tri_print_redacted(struct tr_sink *sink, enum tr_print_form form, size_t size)
{
    bool is_json = form == TR_PRINT_JSON;
    tr_sink_format(sink, is_json ? "{\"redacted\":%zu}" : "<%zu bytes redacted>", size);
}

void tri_print_undecodable(struct tr_sink *sink, enum tr_print_form form, int error,
                           const char *field, size_t size)
{
    bool is_json = form == TR_PRINT_JSON;
    tr_sink_format(sink, is_json ? "{\"undecodable\":\"%s\"" : "<undecodable: %s",
                   tr_error_name(error));
    if (field != NULL) {
        tr_sink_format(sink, is_json ? ",\"field\":\"%s\"" : " in %s", field);
    }
    tr_sink_format(sink, is_json ? ",\"size\":%zu}" : ", %zu bytes>", size);
}

/* What stands around the fields of an object, by form. */
struct punctuation {
    const char *between;
    const char *before_name;
    const char *after_name;
};

static const struct punctuation punctuations[] = {
    [TR_PRINT_LINE] = {" ", "", "="},
    [TR_PRINT_JSON] = {",", "\"", "\":"},
};

void tri_print_name(struct tr_sink *sink, enum tr_print_form form, bool is_first, const char *name)
{
    const struct punctuation *punctuation = &punctuations[form];
    tr_sink_put_string(sink, is_first ? "" : punctuation->between);
    tr_sink_put_string(sink, punctuation->before_name);
    tr_sink_put_string(sink, name);
    tr_sink_put_string(sink, punctuation->after_name);
}
