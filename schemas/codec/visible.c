/*
 * One table of what is not shown as it is: control characters, those of the second set of them,
 * which terminals take for sequences too, and those that turn or break lines.
 */
#include "schemas/codec/visible.h"

#include <stdio.h>

#include "schemas/codec/utf8.h"

static const struct {
    uint32_t first;
    uint32_t last;
} hidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},
    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
};

/* The number of a character of so many bytes. */
static uint32_t point_of(const char *bytes, size_t width)
{
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (uint8_t)bytes[0] & masks[width];
    for (size_t i = 1; i < width; i++) {
        point = point << 6 | ((uint8_t)bytes[i] & 0x3f);
    }
    return point;
}

static bool is_hidden(uint32_t point)
{
    for (size_t i = 0; i < TR_COUNT_OF(hidden); i++) {
        if (point >= hidden[i].first && point <= hidden[i].last) {
            return true;
        }
    }
    return false;
}

size_t tr_visible_run(struct tr_text text)
{
    size_t at = 0;
    while (at < text.size) {
        uint8_t byte = (uint8_t)text.data[at];
        if (byte >= 0x20 && byte < 0x7f) {
            at++;
            continue;
        }
        struct tr_text rest = {.data = text.data + at, .size = text.size - at};
        size_t width = byte < 0x80 ? 0 : tr_utf8_width(rest);
        if (width == 0 || is_hidden(point_of(rest.data, width))) {
            break;
        }
        at += width;
    }
    return at;
}

size_t tr_visible_escape(struct tr_text text, enum tr_visible_form form,
                         char shown[TR_VISIBLE_BYTES])
{
    size_t width = tr_utf8_width(text);
    uint32_t point = width > 0 ? point_of(text.data, width) : (uint8_t)text.data[0];
    if (width == 0 && form == TR_VISIBLE_JSON) {
        point = 0xfffd;
    }
    bool is_byte = form == TR_VISIBLE_TEXT && (width == 0 || point < 0x80);
    (void)snprintf(shown, TR_VISIBLE_BYTES, is_byte ? "\\x%02x" : "\\u%04x", point & 0xffff);
    return width > 0 ? width : 1;
}
