/*
 * UTF-8: a table of good and bad, all code points there are, and every possible pair of bytes.
 */
#include "tests/support/test.h"

#include <string.h>

#include "schemas/codec/utf8.h"

struct row {
    const char *bytes;
    size_t size;
};

#define ROW(bytes)               \
    {                            \
        bytes, sizeof(bytes) - 1 \
    }

static const struct row good[] = {
    ROW(""),
    ROW("plain"),
    ROW("zero \0 inside"),
    ROW("\x7f"),
    ROW("\xc2\x80"),
    ROW("\xdf\xbf"),
    ROW("\xe0\xa0\x80"),
    ROW("\xed\x9f\xbf"),
    ROW("\xee\x80\x80"),
    ROW("\xef\xbf\xbf"),
    ROW("\xf0\x90\x80\x80"),
    ROW("\xf4\x8f\xbf\xbf"),
    ROW("eight by\xc3\xa4te twelve byte"),
    ROW("seven  \xe2\x9c\x93 after the first eight"),
};

static const struct row bad[] = {
    ROW("\x80"),         /* a continuation alone */
    ROW("\xbf"),         /* likewise */
    ROW("a\xc3"),        /* cut off */
    ROW("\xe2\x9c"),     /* cut off */
    ROW("\xf0\x9f\x8e"), /* cut off */
    ROW("\xc3("
        "b"),         /* no continuation */
    ROW("\xe2(\xa1"), /* no continuation */
    ROW("\xe2\x82("), /* no continuation */
    ROW("\xf0\x9f\x8e"
        "x"),                    /* no continuation */
    ROW("\xc0\x80"),             /* overlong zero */
    ROW("\xc1\xbf"),             /* overlong */
    ROW("\xe0\x80\x80"),         /* overlong */
    ROW("\xe0\x9f\xbf"),         /* overlong */
    ROW("\xf0\x80\x80\x80"),     /* overlong */
    ROW("\xf0\x8f\xbf\xbf"),     /* overlong */
    ROW("\xed\xa0\x80"),         /* first surrogate */
    ROW("\xed\xbf\xbf"),         /* last surrogate */
    ROW("\xf4\x90\x80\x80"),     /* above U+10FFFF */
    ROW("\xf5\x80\x80\x80"),     /* far above */
    ROW("\xf8\x88\x80\x80\x80"), /* five bytes */
    ROW("\xfe"),
    ROW("\xff"),
    ROW("eight ok\xff"), /* after a run of eight */
    ROW("seven o\xff"),  /* within one */
};

static void table_of_good_and_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_true(tr_utf8_valid((struct tr_text){good[i].bytes, good[i].size}));
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_false(tr_utf8_valid((struct tr_text){bad[i].bytes, bad[i].size}));
    }
    assert_true(tr_utf8_valid((struct tr_text){NULL, 0}));
}

/* Encodes a number as if all numbers were characters. */
static size_t encode(uint32_t point, char *at)
{
    size_t width = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = width; i-- > 1; point >>= 6) {
        at[i] = (char)(0x80 | (point & 0x3f));
    }
    at[0] = (char)(firsts[width] | point);
    return width;
}

static void every_code_point(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x110000 + 0x1000; point++) {
        char character[4];
        size_t width = encode(point, character);
        bool is_character = point < 0xd800 || (point > 0xdfff && point < 0x110000);
        size_t found = tr_utf8_width((struct tr_text){character, width});
        if (found != (is_character ? width : 0)) {
            fail_msg("U+%04X: width %zu", point, found);
        }
    }
}

static void every_pair_of_bytes(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned second = 0; second < 256; second++) {
            char pair[] = {(char)first, (char)second};
            bool two_ascii = first < 0x80 && second < 0x80;
            bool one_wide = first >= 0xc2 && first <= 0xdf && second >= 0x80 && second <= 0xbf;
            assert_int_equal(tr_utf8_valid((struct tr_text){pair, 2}), two_ascii || one_wide);
        }
    }
}

static void cuts_between_characters(void **state)
{
    (void)state;
    struct tr_text text = tr_text_of("a\xc3\xa4\xe2\x9c\x93\xf0\x9f\x8e\xad");
    static const size_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t i = 0; i < TR_COUNT_OF(cuts); i++) {
        assert_int_equal(tr_utf8_cut(text, i), cuts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_good_and_bad),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(every_pair_of_bytes),
        cmocka_unit_test(cuts_between_characters),
    };
    return cmocka_run_group_tests_name("schemas/codec/utf8", tests, NULL, NULL);
}
