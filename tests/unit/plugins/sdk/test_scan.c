/*
 * The projecting scanner: what it finds, what it refuses, and what values mean.
 */
#include "plugins/sdk/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_batch.h"

static const char *const paths[] = {"/a", "/b/c", "/b", "/d~1e/f~0g", "/list"};
#define PATHS TR_COUNT_OF(paths)
static struct tr_bytes found[PATHS];

/* In memory of its own size, so that a byte too many is noticed. */
static int scan(const char *json)
{
    static char *copy;
    size_t size = strlen(json);
    free(copy);
    copy = malloc(size + 1);
    memcpy(copy, json, size);
    struct tr_bytes bytes = {.data = (const uint8_t *)copy, .size = size};
    return tr_scan(bytes, paths, PATHS, found);
}

static void require_found(size_t path, const char *expected)
{
    assert_int_equal(found[path].size, strlen(expected));
    assert_memory_equal(found[path].data == NULL ? (const uint8_t *)"" : found[path].data, expected,
                        strlen(expected));
}

static void values_are_found_wherever_they_are(void **state)
{
    (void)state;
    assert_int_equal(
        scan(" { \"x\" : {\"a\":1,\"b\":[{\"c\":2}]} ,\n\"b\":{ \"c\" : \"}\\\"{\" },"
             "\"d/e\":{\"f~g\":-1.5e+3,\"f\":0},\"list\":[1,{\"a\":2},\"]\"],\"a\":null} "),
        0);
    require_found(0, "null");
    require_found(1, "\"}\\\"{\"");
    require_found(2, "{ \"c\" : \"}\\\"{\" }");
    require_found(3, "-1.5e+3");
    require_found(4, "[1,{\"a\":2},\"]\"]");
    assert_int_equal(scan("{}"), 0);
    require_found(0, "");
    assert_int_equal(scan("[{\"a\":1}]"), 0); /* through no list */
    require_found(0, "");
    assert_int_equal(scan("{\"b\":[{\"c\":1}]}"), 0);
    require_found(1, "");
}

static void what_is_no_item_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1}x",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":-}",
        "{\"a\":1e}",
        "{\"a\":tru}",
        "{\"a\":\"x}",
        "{\"b\":{\"c\":[}}",
        "{\"x\":[}]}",
        "{\"x\":{]}",
        "{\"a\":1,\"a\":1}",
        "{\"b\":{\"c\":1},\"b\":{}}",
        "{\"b\":{\"c\":1,\"c\":2}}",
        "{\"\\u0061\":1}",
        "{\"a\n\":1}",
        "{\"a\":\"x\\\"}",
        "{\"a\":1 \"b\":2}",
    };
    assert_int_equal(scan("{\"a\":17}"), 0);
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        if (scan(texts[i]) != TR_MALFORMED) {
            fail_msg("taken: %s", texts[i]);
        }
    }
    assert_int_equal(found[0].size, 2); /* a failure leaves what was there */
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[4 * TR_SCAN_DEPTH_MAX + 16];
    for (int extra = 0; extra < 2; extra++) {
        size_t depth = TR_SCAN_DEPTH_MAX + (size_t)extra;
        size_t used = (size_t)snprintf(text, sizeof text, "{\"x\":");
        memset(text + used, '[', depth);
        memset(text + used + depth, ']', depth);
        (void)snprintf(text + used + 2 * depth, 2, "}");
        assert_int_equal(scan(text), extra == 0 ? 0 : TR_LIMIT);
    }
}

static int read_text(const char *json, struct tr_text *text)
{
    static struct fake_batch fake;
    struct tr_bytes value = {.data = (const uint8_t *)json, .size = strlen(json)};
    fake_batch_init(&fake);
    return tr_scan_text(&fake.batch, value, text);
}

static void texts_are_unescaped_or_refused(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"", ""},
        {"null", ""},
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"a\\n\\t\\\\\\\"\\/\\b\"", "a\n\t\\\"/\b"},
        {"\"\\u00e9\\u20AC\\ud83d\\ude00\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    };
    static const char *const bad[] = {"1",           "{}",
                                      "\"\\x\"",     "\"\\u00g0\"",
                                      "\"\\u00\"",   "\"\\u0000\"",
                                      "\"\\ud83d\"", "\"\\ud83dx\\ude00\"",
                                      "\"\\ude00\"", "\"\\ud83d\\u0041\"",
                                      "\"\xff\"",    "\"\x01\""};
    struct tr_text text = {0};
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_int_equal(read_text(good[i][0], &text), 0);
        assert_true(tr_text_equal(text, tr_text_of(good[i][1])));
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_int_equal(read_text(bad[i], &text), TR_MALFORMED);
    }
}

static void lists_are_walked(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        unsigned items;
        int error;
    } rows[] = {{"[]", 0, 0},
                {"[ ]", 0, 0},
                {"[1, {\"a\":[2]} ,\"x\"]", 3, 0},
                {"null", 0, 0},
                {"", 0, 0},
                {"{}", 0, TR_MALFORMED},
                {"[1", 1, TR_MALFORMED},
                {"[1,", 1, TR_MALFORMED},
                {"[,]", 0, TR_MALFORMED},
                {"[1]x", 1, TR_MALFORMED}};
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_scan_walk walk = tr_scan_walk(
            (struct tr_bytes){.data = (const uint8_t *)rows[i].json, .size = strlen(rows[i].json)});
        unsigned items = 0;
        while (tr_scan_next(&walk)) {
            items++;
        }
        assert_int_equal(items, rows[i].items);
        assert_int_equal(walk.error, rows[i].error);
    }
}

static void numbers_and_truths(void **state)
{
    (void)state;
    assert_int_equal(scan("{\"a\":-12,\"b\":{\"c\":true},\"list\":\"7\"}"), 0);
    assert_int_equal(tr_scan_i64(found[0], 5), -12);
    assert_int_equal(tr_scan_i64(found[1], 5), 5);
    assert_int_equal(tr_scan_i64(found[4], 5), 5);
    assert_int_equal(tr_scan_i64(found[3], 5), 5);
    assert_true(tr_scan_bool(found[1]));
    assert_false(tr_scan_bool(found[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found_wherever_they_are),
        cmocka_unit_test(what_is_no_item_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(texts_are_unescaped_or_refused),
        cmocka_unit_test(lists_are_walked),
        cmocka_unit_test(numbers_and_truths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
