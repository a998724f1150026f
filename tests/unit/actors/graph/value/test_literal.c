/*
 * Values by their types: what the language (examples/README.md) accepts and refuses, from YAML and
 * from JSON, and what they look like as JSON again. Casts, references into values and checks of
 * foreign bytes.
 */
#include <stdio.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal_stream.h"
#include "tests/unit/actors/graph/help.h"

struct example {
    const char *type;
    const char *document;
    const char *expected; /* JSON, or the error */
};

#define NO(text) "t:1:1: " text

static const struct example yaml_examples[] = {
    {"int", "3", "3"},
    {"int", "-9223372036854775808", "-9223372036854775808"},
    {"int", "0x1F", "31"},
    {"int", "0o17", "15"},
    {"int", "9223372036854775808",
     NO("the integer does not fit into 64 bits; use a string [InvalidValue]")},
    {"int", "3.0",
     NO("'3.0' is no value of type int; write a whole number of at most 64 bits "
        "[MismatchingTypes]")},
    {"int", "\"3\"",
     NO("'3' is no value of type int; write a whole number of at most 64 bits "
        "[MismatchingTypes]")},
    {"float", "3", "3.0"},
    {"float", "1e3", "1000.0"},
    {"float", "0.1", "0.1"},
    {"float", ".inf", "\"inf\""},
    {"float", "-.INF", "\"-inf\""},
    {"float", ".nan", "\"nan\""},
    {"float", "x", NO("'x' is no value of type float; write a number [MismatchingTypes]")},
    {"string", "no", "\"no\""},
    {"string", "5", "\"5\""},
    {"string", "null", "\"null\""},
    {"string", "\"a\\tb\"", "\"a\\tb\""},
    {"bool", "true", "true"},
    {"bool", "yes", NO("'yes' is no value of type bool; write true or false [MismatchingTypes]")},
    {"datetime", "2026-08-20", "\"2026-08-20T00:00:00Z\""},
    {"datetime", "2026-08-20T09:30:00.5+02:00", "\"2026-08-20T07:30:00.5Z\""},
    {"datetime", "2026-02-30",
     NO("'2026-02-30' is no value of type datetime; write it as 2026-08-20T09:30:00Z or "
        "2026-08-20 [MismatchingTypes]")},
    {"duration", "1h30m", "\"1h30m\""},
    {"duration", "1500ms", "\"1.5s\""},
    {"duration", "90",
     NO("'90' is no value of type duration; write numbers with the units d h m s ms us, as 1h30m "
        "[MismatchingTypes]")},
    {"bytes", "SGVsbG8=", "\"SGVsbG8=\""},
    {"bytes", "\" SG Vs\\n bG8= \\t\"", "\"SGVsbG8=\""},
    {"bytes", "\"\"", "\"\""},
    {"bytes", "\"SGVsbG8\"",
     NO("'SGVsbG8' is no value of type bytes; write base64 [MismatchingTypes]")},
    {"bytes", "\"SGVsbG9=\"",
     NO("'SGVsbG9=' is no value of type bytes; write base64 [MismatchingTypes]")},
    {"bytes", "\"SGVs\\0\"",
     NO("'SGVs' is no value of type bytes; write base64 [MismatchingTypes]")},
    {"string", "\"a\\u007f\\u009b\\u0085\"", "\"a\\u007f\\u009b\\u0085\""},
    {"bytes", "a", NO("'a' is no value of type bytes; write base64 [MismatchingTypes]")},
    {"none", "~", "null"},
    {"none", "0",
     NO("'0' is no value of type none; write null, or leave it out "
        "[MismatchingTypes]")},
    {"enum(a, b)", "b", "\"b\""},
    {"enum(a, b)", "c",
     NO("'c' is no value of type enum(a, b); write one of its values [IllegalEnumValue]")},
    {"struct", "{b: 1, a: [x, 2.5, no, null, true]}",
     "{\"a\": [\"x\", 2.5, \"no\", null, true], \"b\": 1}"},
    {"struct", "[1]", NO("a list is no value of type struct; write a mapping [MismatchingTypes]")},
    {"[int]", "[1, 2]", "[1, 2]"},
    {"[int]", "[]", "[]"},
    {"[int]", "[1, x, 3, y]",
     "t:1:5: 'x' is no value of type int; write a whole number of at most 64 bits "
     "[MismatchingTypes]\n"
     "t:1:11: 'y' is no value of type int; write a whole number of at most 64 bits "
     "[MismatchingTypes]"},
    {"{string: float}", "{z: 1, a: 2}", "{\"a\": 2.0, \"z\": 1.0}"},
    {"int | string", "5", "5"},
    {"string | int", "5", "5"},
    {"string | none", "null", "null"},
    {"string | datetime", "2026-01-01", "\"2026-01-01\""},
    {"datetime | string", "2026-01-01", "\"2026-01-01T00:00:00Z\""},
    {"datetime | string", "tomorrow", "{\"type\": \"string\", \"value\": \"tomorrow\"}"},
    {"datetime | string", "{type: string, value: 2026-01-01}",
     "{\"type\": \"string\", \"value\": \"2026-01-01\"}"},
    {"int | bool", "x",
     NO("'x' is no value of type int | bool; write a value of one of its types, or {type: ..., "
        "value: ...} [MismatchingTypes]")},
    {"float | int", "{type: int, value: 5}", "{\"type\": \"int\", \"value\": 5}"},
    {"error | none", "{node: n, code: c, message: m}",
     "{\"node\": \"n\", \"code\": \"c\", \"message\": \"m\", \"element\": null}"},
    {"struct | none", "{a: 1}", "{\"a\": 1}"},
    {"struct | none", "{type: struct, value: {type: a, value: b}}",
     "{\"type\": \"struct\", \"value\": {\"type\": \"a\", \"value\": \"b\"}}"},
    {"error", "{code: X, message: m, element: 3}",
     "{\"node\": \"\", \"code\": \"X\", \"message\": \"m\", \"element\": 3}"},
    {"file", "a/b.txt", "\"/f/a/b.txt\""},
    {"file", "./b.txt", "\"/f/b.txt\""},
    {"file", "/a/b.txt", "\"/a/b.txt\""},
    {"directory", "s3://bucket/x", "\"s3://bucket/x\""},
    {"file(format: \"csv\")", "{uri: b.txt, format: csv}", "\"/f/b.txt\""},
    {"file", "{path: b.txt, metadata: null}", "\"/f/b.txt\""},
    {"file", "{path: [1]}",
     NO("a mapping is no value of type file; write a path or a URI [MismatchingTypes]")},
    {"file | struct", "{type: struct, value: {path: x}}",
     "{\"type\": \"struct\", \"value\": {\"path\": \"x\"}}"},
    {"dataset", "{uri: \"s3://b/x\", format: parquet}",
     "{\"uri\": \"s3://b/x\", \"format\": \"parquet\"}"},
    {NULL, "0o7", "7"},
};

static void test_yaml_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(yaml_examples); i++) {
        const struct example *example = &yaml_examples[i];
        struct help help;
        help_init(&help);
        assert_string_equal(help_value(&help, example->type, help_yaml(&help, example->document)),
                            example->expected);
        help_fini(&help);
    }
}

static const struct example json_examples[] = {
    {"string", "5", "t: 5 is no value of type string; write text, in quotes [MismatchingTypes]"},
    {"string", "\"5\"", "\"5\""},
    {"int", "5", "5"},
    {"int", "5.0",
     "t: 5.0 is no value of type int; write a whole number of at most 64 bits [MismatchingTypes]"},
    {"float", "5", "5.0"},
    {"struct", "{\"big\": 9007199254740993}", "{\"big\": 9007199254740993}"},
    {"{string: [int]}", "{\"a\": [1, \"x\"]}",
     "t: a[1]: 'x' is no value of type int; write a whole number of at most 64 bits "
     "[MismatchingTypes]"},
    {"string | none", "null", "null"},
    {"float", "\"inf\"", "\"inf\""},
    {"[int | none]", "[1, null]", "[1, null]"},
    {"struct", "{\"a\": 1, \"a\": 2}",
     "t:1:12: this is no JSON: duplicate object key near '\"a\"'; write one JSON value "
     "[SyntaxError]"},
};

static void test_json_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(json_examples); i++) {
        const struct example *example = &json_examples[i];
        struct help help;
        help_init(&help);
        assert_string_equal(help_value(&help, example->type, help_json(&help, example->document)),
                            example->expected);
        help_fini(&help);
    }
}

/* JSON of a value reads back as the same bytes. */
static void test_json_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(yaml_examples); i++) {
        struct help help;
        struct tr_buffer first;
        struct tr_buffer second;
        struct tr_buffer json;
        help_init(&help);
        tr_buffer_init(&first, 0);
        tr_buffer_init(&second, 0);
        tr_buffer_init(&json, 0);
        struct tr_literal_reader reader = {
            .report = &help.report, .arena = &help.arena, .folder = tr_text_of("/f")};
        const struct tr_type *type =
            yaml_examples[i].type == NULL ? NULL : help_type(&help, yaml_examples[i].type);
        const struct tr_tree *tree = help_yaml(&help, yaml_examples[i].document);
        if (tr_literal_read(&reader, type, tree, &first)) {
            assert_int_equal(tr_literal_json(type, tr_buffer_bytes(&first), &json), 0);
            tree = tr_json_read(&help.arena, &help.report, 0, tr_buffer_text(&json));
            assert_true(tree != NULL && tr_literal_read(&reader, type, tree, &second));
            assert_true(tr_literal_equal(tr_buffer_bytes(&first), tr_buffer_bytes(&second)));
        }
        tr_buffer_fini(&json);
        tr_buffer_fini(&second);
        tr_buffer_fini(&first);
        help_fini(&help);
    }
}

struct cast {
    const char *from;
    const char *to;
    const char *document;
    const char *expected; /* JSON, or NULL when it does not fit */
};

static const struct cast casts[] = {
    {"int", "int | none", "3", "3"},
    {"int | none", "string | int | none", "null", "null"},
    {"[int]", "[int | none]", "[1, 2]", "[1, 2]"},
    {"{string: int}", "{string: int | string}", "{a: 1}", "{\"a\": 1}"},
    {"string", "enum(a, b)", "a", "\"a\""},
    {"string", "enum(a, b)", "c", NULL},
    {NULL, "datetime", "\"2026-01-01\"", "\"2026-01-01T00:00:00Z\""},
    {NULL, "float", "3", "3.0"},
    {NULL, "int", "3.5", NULL},
    {NULL, "[int | none]", "[1, null]", "[1, null]"},
    {"duration", NULL, "1h", "\"1h\""},
    {"[datetime]", NULL, "[2026-01-01]", "[\"2026-01-01T00:00:00Z\"]"},
    {"dataset", NULL, "x", "{\"format\": \"\", \"uri\": \"/f/x\"}"},
    {"int", "float", "3", NULL},
};

static void test_casts(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(casts); i++) {
        struct help help;
        struct tr_buffer value;
        struct tr_buffer cast;
        help_init(&help);
        tr_buffer_init(&value, 0);
        tr_buffer_init(&cast, 0);
        struct tr_literal_reader reader = {
            .report = &help.report, .arena = &help.arena, .folder = tr_text_of("/f")};
        const struct tr_type *from = casts[i].from == NULL ? NULL : help_type(&help, casts[i].from);
        const struct tr_type *to = casts[i].to == NULL ? NULL : help_type(&help, casts[i].to);
        const struct tr_tree *tree = help_yaml(&help, casts[i].document);
        assert_true(tr_literal_read(&reader, from, tree, &value));
        int error = tr_literal_cast(from, to, tr_buffer_bytes(&value), &cast);
        if (casts[i].expected == NULL) {
            assert_int_equal(error, TR_INVALID);
            assert_int_equal(cast.size, 0);
        } else {
            assert_int_equal(error, 0);
            assert_int_equal(tr_literal_json(to, tr_buffer_bytes(&cast), &help.text), 0);
            tr_buffer_add(&help.text, "", 1);
            assert_string_equal((const char *)help.text.data, casts[i].expected);
        }
        tr_buffer_fini(&cast);
        tr_buffer_fini(&value);
        help_fini(&help);
    }
}

/* A struct that nests so deeply, `levels` of mappings around an empty one. */
static const char *nested(int levels, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < levels; i++) {
        used += (size_t)snprintf(text + used, size - used, "{a: ");
    }
    used += (size_t)snprintf(text + used, size - used, "{}");
    for (int i = 0; i < levels; i++) {
        used += (size_t)snprintf(text + used, size - used, "}");
    }
    return text;
}

/* Casts a list of one struct and checks what was made; the error of the cast. */
static int cast_nested(const char *from_text, const char *to_text, int levels)
{
    struct help help;
    struct tr_buffer value;
    struct tr_buffer cast;
    char inside[512];
    char document[600];
    help_init(&help);
    tr_buffer_init(&value, 0);
    tr_buffer_init(&cast, 0);
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    const struct tr_type *from = help_type(&help, from_text);
    const struct tr_type *to = to_text == NULL ? NULL : help_type(&help, to_text);
    (void)snprintf(document, sizeof document, "[%s]", nested(levels, inside, sizeof inside));
    assert_true(tr_literal_read(&reader, from, help_yaml(&help, document), &value));
    tr_buffer_add_string(&cast, "before");
    int error = tr_literal_cast(from, to, tr_buffer_bytes(&value), &cast);
    struct tr_bytes made = {.data = cast.data + 6, .size = cast.size - 6};
    if (error == 0) {
        assert_int_equal(tr_literal_check(to, made), 0);
    } else {
        assert_int_equal(made.size, 0);
    }
    tr_buffer_fini(&cast);
    tr_buffer_fini(&value);
    help_fini(&help);
    return error;
}

/* Each union adds a level to what a struct inside already has. */
static void test_a_cast_gives_no_value_that_nests_too_deeply(void **state)
{
    (void)state;
    static const int most = (int)TR_LITERAL_DEPTH_MAX - 2; /* the list, the innermost mapping */
    assert_int_equal(cast_nested("[struct]", NULL, most), 0);
    assert_int_equal(cast_nested("[struct]", "[struct | none]", most), 0);
    for (int levels = most - 4; levels <= most; levels++) {
        int error = cast_nested("[struct]", "[struct | none] | none", levels);
        assert_int_equal(error, levels < most ? 0 : TR_INVALID);
    }
}

static void test_follow(void **state)
{
    (void)state;
    struct help help;
    struct tr_buffer value;
    help_init(&help);
    tr_buffer_init(&value, 0);
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    const struct tr_type *type = help_type(&help, "{string: [struct]}");
    assert_true(tr_literal_read(&reader, type, help_yaml(&help, "{a: [{}, {x: [7, 8]}]}"), &value));
    const struct tr_step steps[] = {{.field = tr_text_of("a")},
                                    {.is_index = true, .index = 1},
                                    {.field = tr_text_of("x")},
                                    {.is_index = true, .index = 1}};
    const struct tr_type *part_type = type;
    struct tr_bytes part;
    struct tr_bytes bytes = tr_buffer_bytes(&value);
    assert_int_equal(tr_literal_follow(type, bytes, steps, 4, &part_type, &part), 0);
    assert_null(part_type);
    assert_int_equal(part.size, 1);
    assert_int_equal(part.data[0], 8);
    const struct tr_step beyond[] = {{.field = tr_text_of("a")}, {.is_index = true, .index = 2}};
    assert_int_equal(tr_literal_follow(type, bytes, beyond, 2, &part_type, &part), TR_NOT_FOUND);
    const struct tr_step wrong[] = {{.is_index = true}};
    assert_int_equal(tr_literal_follow(type, bytes, wrong, 1, &part_type, &part), TR_INVALID);
    tr_buffer_fini(&value);
    help_fini(&help);
}

static int content_of(void *self, const struct tr_type *type, struct tr_blob blob,
                      struct tr_buffer *buffer)
{
    (void)type;
    assert_string_equal((const char *)self, "self");
    assert_true(blob.uri.size > 0);
    tr_buffer_text_value(buffer, tr_text_of("content"));
    return 0;
}

/* A path's place is taken by what the caller gives for it; the rest stays as it is. */
static void test_paths_are_replaced(void **state)
{
    (void)state;
    struct help help;
    struct tr_buffer values[2];
    struct tr_buffer hashes[2];
    const char *documents[] = {"[{a: x}, {b: null}]", "[{a: /elsewhere}, {b: null}]"};
    help_init(&help);
    const struct tr_type *type = help_type(&help, "[{string: file | none}]");
    struct tr_literal_reader reader = {
        .report = &help.report, .arena = &help.arena, .folder = tr_text_of("/f")};
    char self[] = "self";
    for (int i = 0; i < 2; i++) {
        tr_buffer_init(&values[i], 0);
        tr_buffer_init(&hashes[i], 0);
        assert_true(tr_literal_read(&reader, type, help_yaml(&help, documents[i]), &values[i]));
        assert_int_equal(tr_literal_map_paths(type, tr_buffer_bytes(&values[i]), TR_PATHS_DECLARED,
                                              content_of, self, &hashes[i]),
                         0);
    }
    assert_false(tr_literal_equal(tr_buffer_bytes(&values[0]), tr_buffer_bytes(&values[1])));
    assert_true(tr_literal_equal(tr_buffer_bytes(&hashes[0]), tr_buffer_bytes(&hashes[1])));
    for (int i = 0; i < 2; i++) {
        tr_buffer_fini(&hashes[i]);
        tr_buffer_fini(&values[i]);
    }
    help_fini(&help);
}

/* Every proper beginning of a value, and every value with one byte more, is malformed. */
static void test_check_refuses_foreign_bytes(void **state)
{
    (void)state;
    struct help help;
    struct tr_buffer value;
    help_init(&help);
    tr_buffer_init(&value, 0);
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    const struct tr_type *type = help_type(&help, "[{string: datetime | struct | enum(a, b)}]");
    assert_true(tr_literal_read(
        &reader, type, help_yaml(&help, "[{p: 2026-01-01, q: {x: [1]}}, {r: a}]"), &value));
    assert_int_equal(tr_literal_check(type, tr_buffer_bytes(&value)), 0);
    for (size_t i = 0; i < value.size; i++) {
        struct tr_bytes part = {.data = value.data, .size = i};
        assert_int_equal(tr_literal_check(type, part), TR_MALFORMED);
    }
    tr_buffer_nil(&value);
    assert_int_equal(tr_literal_check(type, tr_buffer_bytes(&value)), TR_MALFORMED);
    const uint8_t unsorted[] = {0x82, 0xa1, 'b', 1, 0xa1, 'a', 1};
    struct tr_bytes bytes = {.data = unsorted, .size = sizeof unsorted};
    assert_int_equal(tr_literal_check(help_type(&help, "struct"), bytes), TR_MALFORMED);
    tr_buffer_fini(&value);
    help_fini(&help);
}

/* A union in a union in a list tries many ways; the tries are counted. */
static void test_tries_are_bounded(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    char type[512] = "int";
    char document[64] = "x";
    for (int i = 0; i < 6; i++) {
        char outer[512];
        (void)snprintf(outer, sizeof outer, "[%.*s] | {string: int}", 480, type);
        (void)snprintf(type, sizeof type, "%s", outer);
    }
    for (int i = 0; i < 6; i++) {
        char outer[64];
        (void)snprintf(outer, sizeof outer, "[%.*s]", 60, document);
        (void)snprintf(document, sizeof document, "%s", outer);
    }
    int64_t begin = help_clock_ns();
    (void)help_value(&help, type, help_yaml(&help, document));
    assert_true(help_clock_ns() - begin < 100000000LL * TEST_SLOWNESS);
    help_fini(&help);
}

/*
 * Two variants fit up to the last element, at each of three levels, and the last variant of many
 * fits each element. What ends is the budget of tries, and it is said once; that the value fits
 * none of the types would not be true: not all ways were tried.
 */
static void test_too_many_tries_are_told(void **state)
{
    (void)state;
    enum { LEVELS = 3, VARIANTS = 20, ELEMENTS = 4000 };
    static char type[8192];
    static char outer[8192];
    struct help help;
    struct tr_buffer document;
    int size = 0;
    help_init(&help);
    tr_buffer_init(&document, 0);
    for (int i = 0; i < VARIANTS; i++) {
        size += snprintf(type + size, sizeof type - (size_t)size, "enum(v%d) | ", i);
    }
    (void)snprintf(type + size, sizeof type - (size_t)size, "int");
    for (int i = 0; i < LEVELS; i++) {
        size = snprintf(outer, sizeof outer, "[%.3000s] | [%.3000s | bool]", type, type);
        memcpy(type, outer, (size_t)size + 1);
    }
    (void)snprintf(outer, sizeof outer, "[%.6000s]", type);
    tr_buffer_add_string(&document, "[");
    for (int i = 0; i < 2; i++) {
        tr_buffer_add_string(&document, i == 0 ? "[[[" : ", [[[");
        for (int k = 0; k < ELEMENTS; k++) {
            tr_buffer_add_string(&document, "1, ");
        }
        tr_buffer_add_string(&document, "x]]]");
    }
    tr_buffer_add(&document, "]", 2);
    assert_string_equal(
        help_value(&help, outer, help_yaml(&help, (const char *)document.data)),
        "t:1:2: the value fits its unions in too many ways; name the types: {type: ..., value: "
        "...} [InvalidValue]");
    tr_buffer_fini(&document);
    help_fini(&help);
}

/* ------------------------------------------------------------------ in pieces */

/* What a stream was given, and how many pieces it takes. */
struct pieces {
    int taken;
    int limit;
    char last;
};

static int take_piece(void *self, struct tr_text text)
{
    struct pieces *pieces = self;
    assert_true(text.size > 0);
    if (pieces->taken == pieces->limit) {
        pieces->limit = -1; /* any further piece is one too many */
        return TR_NOT_FOUND;
    }
    assert_true(pieces->limit > pieces->taken);
    pieces->taken++;
    pieces->last = text.data[text.size - 1];
    return 0;
}

/* A piece that is refused is the last one offered, and a list that is cut off stays open. */
static void test_a_stream_ends_with_an_error(void **state)
{
    (void)state;
    enum { ELEMENTS = 100000 };
    struct help help;
    struct tr_buffer value;
    help_init(&help);
    tr_buffer_init(&value, 0);
    const struct tr_type *type = help_type(&help, "[string]");
    tr_buffer_array(&value, ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++) {
        tr_buffer_text_value(&value, tr_text_of("x"));
    }
    struct pieces all = {.limit = 1000};
    assert_int_equal(tr_literal_stream(type, tr_buffer_bytes(&value), take_piece, &all), 0);
    assert_true(all.taken > 2);
    assert_int_equal(all.last, ']');
    for (int limit = 0; limit < all.taken; limit++) {
        struct pieces some = {.limit = limit};
        assert_int_equal(tr_literal_stream(type, tr_buffer_bytes(&value), take_piece, &some),
                         TR_NOT_FOUND);
        assert_int_equal(some.taken, limit);
    }
    value.data[value.size - 1] = 0xc1; /* no value begins with it */
    struct pieces some = {.limit = 1000};
    assert_int_equal(tr_literal_stream(type, tr_buffer_bytes(&value), take_piece, &some),
                     TR_MALFORMED);
    assert_int_equal(some.taken, all.taken - 1);
    assert_int_not_equal(some.last, ']');
    tr_buffer_fini(&value);
    help_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml_values),
        cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_a_cast_gives_no_value_that_nests_too_deeply),
        cmocka_unit_test(test_follow),
        cmocka_unit_test(test_paths_are_replaced),
        cmocka_unit_test(test_check_refuses_foreign_bytes),
        cmocka_unit_test(test_tries_are_bounded),
        cmocka_unit_test(test_too_many_tries_are_told),
        cmocka_unit_test(test_a_stream_ends_with_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
