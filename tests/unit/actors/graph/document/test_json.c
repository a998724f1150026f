/*
 * JSON packed at once: what it becomes, what is refused, and bytes that are cut off anywhere. That
 * the way by a tree agrees is fuzz_json_pack's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "actors/graph/document/json.h"
#include "schemas/codec/print.h"
#include "tests/unit/actors/graph/help.h"

static struct tr_arena arena;

static int pack(struct tr_text json, struct tr_bytes *value)
{
    return tr_json_pack(
        &arena, (struct tr_bytes){.data = (const uint8_t *)json.data, .size = json.size}, value);
}

/* The value as our own printer writes it. */
static void check(const char *json, const char *expected)
{
    char text[512];
    struct tr_bytes value;
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_arena_init(&arena);
    assert_int_equal(pack(tr_text_of(json), &value), 0);
    struct tr_cursor cursor = tr_cursor_of(value);
    assert_int_equal(tr_read_any(&cursor).size, value.size);
    tr_print_any(&sink, TR_PRINT_JSON, value);
    assert_string_equal(text, expected);
    tr_arena_fini(&arena);
}

static void check_refused(struct tr_text json)
{
    struct tr_bytes value = {.size = 7};
    tr_arena_init(&arena);
    assert_int_equal(pack(json, &value), TR_INVALID);
    assert_int_equal(value.size, 7); /* untouched */
    tr_arena_fini(&arena);
}

static void test_values(void **state)
{
    (void)state;
    check("{}", "{}");
    check(" [ ] ", "[]");
    check("\xef\xbb\xbf[1]", "[1]");
    check("null", "null");
    check("\"a\"", "\"a\"");
    check("[true, false,null]", "[true,false,null]");
    check("{\"a\":{\"b\":[1,[2,{}]]},\"c\":\"\"}", "{\"a\":{\"b\":[1,[2,{}]]},\"c\":\"\"}");
}

static void test_numbers(void **state)
{
    (void)state;
    check("[0,-0,-1,1234567]", "[0,0,-1,1234567]");
    check("[9223372036854775807,-9223372036854775808]",
          "[9223372036854775807,-9223372036854775808]");
    check("[1.5,-0.25,1e3,2E-1,5e+0]", "[1.5,-0.25,1000.0,0.2,5.0]");
    const char *const none[] = {"01",    "-",    "+1",    ".5",      "1.",
                                "1e",    "1e+",  "--1",   "0x1",     "9223372036854775808",
                                "1e999", "-01",  "1.2.3", "NaN",     "-9223372036854775809",
                                "1 2",   "-1e-", "1e5e5", "Infinity"};
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        check_refused(tr_text_of(none[i]));
    }
}

static void test_text(void **state)
{
    (void)state;
    check("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    check("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\uD83D\\uDE00x\"",
          "\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf0\x9f\x98\x80x\"");
    check("{\"\\u006e\":\"caf\xc3\xa9\"}", "{\"n\":\"caf\xc3\xa9\"}");
    const char *const none[] = {"\"",          "\"\\",     "\"\\\"",         "\"\\x\"",
                                "\"\\u12\"",   "\"a\nb\"", "\"\\ud83d\"",    "\"\\ud83dx\"",
                                "\"\\ude00\"", "\"\xff\"", "\"\xc3\"",       "\"\\ud83d\\u0041\"",
                                "'a'",         "\"\\u\"",  "\"\\ud83d\\u\"", "\"\\uzzzz\""};
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        check_refused(tr_text_of(none[i]));
    }
}

static void test_what_is_none(void **state)
{
    (void)state;
    const char *const none[] = {"",
                                " ",
                                "{",
                                "}",
                                "[1",
                                "[1,]",
                                "[,1]",
                                "{\"a\"}",
                                "{\"a\":}",
                                "{\"a\":1,}",
                                "{a:1}",
                                "{1:1}",
                                "[1}",
                                "{\"a\":1]",
                                "tru",
                                "nulll",
                                "[1] x",
                                "{\"a\" 1}",
                                "[1 2]",
                                "{,}",
                                "[\"a\":1]",
                                "{\"a\":1 \"b\":2}",
                                "{\"a\":1,\"a\":2}"};
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        check_refused(tr_text_of(none[i]));
    }
}

static void test_every_beginning_is_refused(void **state)
{
    (void)state;
    struct tr_text json = tr_text_of("{\"a\": [1, -2.5e3, \"\\u00e9\\n\"], \"b\": {\"c\": true}}");
    for (size_t size = 0; size < json.size; size++) {
        char *copy = malloc(size == 0 ? 1 : size); /* a sanitizer sees a look behind its end */
        memcpy(copy, json.data, size);
        check_refused((struct tr_text){.data = copy, .size = size});
        free(copy);
    }
}

static void test_depth(void **state)
{
    (void)state;
    char json[2 * TR_NESTING_MAX + 3];
    struct tr_bytes value;
    memset(json, '[', TR_NESTING_MAX + 1);
    memset(json + TR_NESTING_MAX + 1, ']', TR_NESTING_MAX + 1);
    check_refused((struct tr_text){.data = json, .size = 2 * TR_NESTING_MAX + 2});
    tr_arena_init(&arena);
    assert_int_equal(pack((struct tr_text){json + 1, 2 * TR_NESTING_MAX}, &value), 0);
    struct tr_cursor cursor = tr_cursor_of(value);
    assert_int_equal(tr_read_any(&cursor).size, value.size);
    assert_int_equal(cursor.error, 0);
    tr_arena_fini(&arena);
}

static void test_without_memory(void **state)
{
    (void)state;
    struct tr_bytes value = {.size = 7};
    tr_arena_init(&arena);
    arena.error = TR_MEMORY;
    assert_int_equal(pack(tr_text_of("[1]"), &value), TR_MEMORY);
    assert_int_equal(value.size, 7);
    tr_arena_fini(&arena);
}

/* A text for which there is no room is no shorter text, and its rest is passed over at once. */
static void test_a_long_text_without_memory(void **state)
{
    (void)state;
    static const char path[] = "/proc/self/statm";
    const size_t size = 48U << 20;
    struct tr_bytes value = {.size = 7};
    struct rlimit before;
    unsigned long pages = 0;
    if (TEST_SLOWNESS > 1) {
        skip(); /* a sanitizer reserves all addresses that there are */
    }
    char *json = calloc(1, size);
    FILE *file = fopen(path, "r");
    assert_true(json != NULL && file != NULL);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    assert_int_equal(fclose(file), 0);
    memset(json, 'x', size);
    json[0] = '"';
    json[size - 1] = '"';
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit narrow = {.rlim_cur = pages * 4096 + (16U << 20), .rlim_max = before.rlim_max};
    tr_arena_init(&arena);
    assert_int_equal(setrlimit(RLIMIT_AS, &narrow), 0);
    int error = pack((struct tr_text){.data = json, .size = size}, &value);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(error, TR_MEMORY);
    assert_int_equal(pack(tr_text_of("[1]"), &value), 0);
    tr_arena_fini(&arena);
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_every_beginning_is_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_a_long_text_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
