/*
 * What is shown as it is: all characters there are but those that steer or turn, and no byte that
 * is none.
 */
#include "tests/support/test.h"

#include <string.h>

#include "schemas/codec/visible.h"

/* The bytes of a code point. */
static size_t encode(uint32_t point, char bytes[4])
{
    size_t width = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = width; i > 1; i--) {
        bytes[i - 1] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    bytes[0] = (char)(firsts[width] | point);
    return width;
}

static bool steers(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
           point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

static void test_all_characters(void **state)
{
    (void)state;
    char bytes[5] = "";
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        if (point >= 0xd800 && point < 0xe000) {
            continue;
        }
        size_t width = encode(point, bytes);
        bytes[width] = 'x';
        struct tr_text text = {.data = bytes, .size = width + 1};
        if (tr_visible_run(text) != (steers(point) ? 0 : width + 1)) {
            fail_msg("U+%04X", point);
        }
    }
}

static void assert_shown(const char *bytes, size_t size, enum tr_visible_form form,
                         const char *shown)
{
    char words[TR_VISIBLE_BYTES];
    struct tr_text text = {.data = bytes, .size = size};
    assert_int_equal(tr_visible_run(text), 0);
    assert_int_equal(tr_visible_escape(text, form, words), size);
    assert_string_equal(words, shown);
}

static void test_what_stands_for_them(void **state)
{
    (void)state;
    assert_shown("\x1b", 1, TR_VISIBLE_TEXT, "\\x1b");
    assert_shown("", 1, TR_VISIBLE_TEXT, "\\x00");
    assert_shown("\x7f", 1, TR_VISIBLE_TEXT, "\\x7f");
    assert_shown("\xc2\x9b", 2, TR_VISIBLE_TEXT, "\\u009b");
    assert_shown("\xe2\x80\xae", 3, TR_VISIBLE_TEXT, "\\u202e");
    assert_shown("\x9b", 1, TR_VISIBLE_TEXT, "\\x9b");
    assert_shown("\x1b", 1, TR_VISIBLE_JSON, "\\u001b");
    assert_shown("\xc2\x9b", 2, TR_VISIBLE_JSON, "\\u009b");
    assert_shown("\xff", 1, TR_VISIBLE_JSON, "\\ufffd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_characters),
        cmocka_unit_test(test_what_stands_for_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
