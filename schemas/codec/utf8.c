/*
 * Checking UTF-8 character by character, and plain ASCII eight bytes at a time: most text that
 * passes through here is names and numbers.
 */
#include "schemas/codec/utf8.h"

#include <string.h>

/* The bits that are set in no ASCII byte. */
#define ASCII_NONE 0x8080808080808080ULL

/* The smallest code point that needs so many bytes: anything below is an overlong form. */
static const uint32_t least_point[] = {0, 0, 0x80, 0x800, 0x10000};

/* How many bytes a character takes by its first one; 0 if it cannot begin one. */
static size_t width_of_first(uint8_t first)
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
static bool wide_character_valid(const uint8_t *at, size_t width)
{
    uint32_t point = at[0] & (0x7fU >> width);
    for (size_t i = 1; i < width; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return false;
        }
        point = point << 6 | (at[i] & 0x3f);
    }
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    return point >= least_point[width] && point <= 0x10ffff && !is_surrogate;
}

size_t tr_utf8_width(struct tr_text text)
{
    if (text.size == 0) {
        return 0;
    }
    const uint8_t *at = (const uint8_t *)text.data;
    size_t width = width_of_first(*at);
    if (width > text.size || (width > 1 && !wide_character_valid(at, width))) {
        return 0;
    }
    return width;
}

/* How many bytes from `at` on are ASCII. */
static size_t ascii_run(const char *at, size_t size)
{
    size_t run = 0;
    while (size - run >= sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, at + run, sizeof eight);
        if ((eight & ASCII_NONE) != 0) {
            break;
        }
        run += sizeof eight;
    }
    while (run < size && (uint8_t)at[run] < 0x80) {
        run++;
    }
    return run;
}

bool tr_utf8_valid(struct tr_text text)
{
    while (text.size > 0) {
        size_t width = ascii_run(text.data, text.size);
        if (width == 0) {
            width = tr_utf8_width(text);
        }
        if (width == 0) {
            return false;
        }
        text.data += width;
        text.size -= width;
    }
    return true;
}

size_t tr_utf8_cut(struct tr_text text, size_t size_max)
{
    if (text.size <= size_max) {
        return text.size;
    }
    size_t size = size_max;
    while (size > 0 && ((uint8_t)text.data[size] & 0xc0) == 0x80) {
        size--;
    }
    return size;
}

struct tr_text tr_utf8_skip_mark(struct tr_text text)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    if (text.size >= sizeof mark && memcmp(text.data, mark, sizeof mark) == 0) {
        text.data += sizeof mark;
        text.size -= sizeof mark;
    }
    return text;
}
