/*
 * Types: expressions read and written, what may go where, and limits.
 */
#include <stdio.h>

#include "actors/graph/document/limits.h"
#include "tests/unit/actors/graph/help.h"

static void test_expressions(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    const char *const texts[][2] = {
        {"int", "int"},
        {" [ int ] ", "[int]"},
        {"{string:[float|none]}", "{string: [float | none]}"},
        {"enum(a,  b c)", "enum(a, b c)"},
        {"int | none | string", "int | none | string"},
        {"[[dataset]]", "[[dataset]]"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        const struct tr_type *type = help_type(&help, texts[i][0]);
        struct tr_text text = tr_type_text(&help.arena, type);
        assert_true(tr_text_equal(text, tr_text_of(texts[i][1])));
        assert_ptr_equal(type, help_type(&help, texts[i][1]));
        assert_ptr_equal(help.types.items[type->index], type);
    }
    help_fini(&help);
}

/*
 * What is written whole is read as the same type; people see formats never, and tags if they must.
 */
static void test_formats_and_tags(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    const char *const texts[][2] = {
        {"file(format: \"csv\")", "file"},
        {"file( format : \"a \\\"b\\\\\" , tag:\"t\" )", "file"},
        {"int(tag: \"int\") | none(tag: \"none\")", "int | none"},
        {"datetime(tag: \"datetime\") | datetime(tag: \"date\")",
         "datetime(tag: \"datetime\") | datetime(tag: \"date\")"},
        {"[int](tag: \"Typed List\") | string", "[int] | string"},
        {"enum(a, b)(tag: \"e\")", "enum(a, b)"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        const struct tr_type *type = help_type(&help, texts[i][0]);
        struct tr_text text = tr_type_text(&help.arena, type);
        struct tr_buffer whole;
        assert_true(tr_text_equal(text, tr_text_of(texts[i][1])));
        tr_buffer_init(&whole, 0);
        tr_type_write(type, &whole);
        tr_buffer_add(&whole, "", 1);
        assert_ptr_equal(type, help_type(&help, (const char *)whole.data));
        tr_buffer_fini(&whole);
    }
    assert_ptr_not_equal(help_type(&help, "int"), help_type(&help, "int(tag: \"int\")"));
    help_fini(&help);
}

static void test_variants_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *named;
        int64_t variant;
    } cases[] = {
        {"int", 0},       {"int(tag: \"int\")", 0},       {"int(tag: \"long\")", -1},
        {"datetime", -1}, {"datetime(tag: \"date\")", 2}, {"string", -1},
    };
    struct help help;
    help_init(&help);
    const struct tr_type *type = help_type(
        &help, "int(tag: \"int\") | datetime(tag: \"datetime\") | datetime(tag: \"date\")");
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(tr_type_variant_named(type, help_type(&help, cases[i].named)),
                         cases[i].variant);
    }
    help_fini(&help);
}

static void test_documents(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    const char *const texts[][2] = {
        {"[int]", "[int]"},
        {"[int | none]", "[int | none]"},
        {"{string: [int]}", "{string: [int]}"},
        {"\"enum(a, b)\"", "enum(a, b)"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        const struct tr_type *type =
            tr_type_read(&help.types, &help.report, help_yaml(&help, texts[i][0]));
        assert_ptr_equal(type, help_type(&help, texts[i][1]));
    }
    help_fini(&help);
}

static void test_mistakes(void **state)
{
    (void)state;
    const char *const texts[][2] = {
        {"integer", "t:1:1: 'integer' is no type; use int, float, string, bool, datetime, "
                    "duration, bytes, none, struct, error, file, directory, dataset, [T], "
                    "{string: T}, A | B or enum(a, b) [InvalidValue]"},
        {"int int", "t:1:1: 'int' stands behind the type; remove it [InvalidValue]"},
        {"enum(a", "t:1:1: the enum has no closing bracket; in flow style quote it: \"enum(a, "
                   "b)\" [InvalidValue]"},
        {"'int(format: \"csv\")'",
         "t:1:1: the brackets behind the type hold neither a format nor a "
         "tag; write file(format: \"csv\") or int(tag: \"int\") "
         "[InvalidValue]"},
        {"'int(tag: int)'", "t:1:1: the brackets behind the type hold neither a format nor a tag; "
                            "write file(format: \"csv\") or int(tag: \"int\") [InvalidValue]"},
        {"enum(a, a)", "t:1:1: the enum names a value twice; name each once [InvalidValue]"},
        {"int | int", "t:1:1: the union names a type twice; name each once [InvalidValue]"},
        {"[int, string]", "t:1:1: a list's type names one type; write [T]; several are a union: "
                          "[A | B] [InvalidValue]"},
        {"{int: string}", "t:1:1: this is no type; write a type's name, [T], {string: T}, A | B "
                          "or enum(a, b) [InvalidValue]"},
        {"\"{int: string}\"", "t:1:1: the keys of a map are strings; write {string: T} "
                              "[InvalidValue]"},
        {"\"[[[[[[[[[[[[[[[[[[int]]]]]]]]]]]]]]]]]]\"",
         "t:1:1: the type is too large or nests too deeply; use a struct instead [InvalidValue]"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        struct help help;
        help_init(&help);
        assert_null(tr_type_read(&help.types, &help.report, help_yaml(&help, texts[i][0])));
        assert_string_equal(help_errors(&help), texts[i][1]);
        help_fini(&help);
    }
}

struct pair {
    const char *from;
    const char *to;
    enum tr_castable expected;
};

static const struct pair pairs[] = {
    {"int", "int", TR_CASTABLE_YES},
    {"int", "float", TR_CASTABLE_NO},
    {"float", "int", TR_CASTABLE_NO},
    {"enum(a, b)", "string", TR_CASTABLE_YES},
    {"string", "enum(a, b)", TR_CASTABLE_YES},
    {"enum(a, b)", "enum(b, a)", TR_CASTABLE_YES},
    {"enum(a, b)", "enum(a)", TR_CASTABLE_NO},
    {"int", "int | none", TR_CASTABLE_YES},
    {"int | none", "int", TR_CASTABLE_NO},
    {"int | none", "none | int | string", TR_CASTABLE_YES},
    {"string", "enum(a) | enum(b)", TR_CASTABLE_AMBIGUOUS},
    {"string", "string | enum(a)", TR_CASTABLE_YES},
    {"[int]", "[int | none]", TR_CASTABLE_YES},
    {"[none]", "[file]", TR_CASTABLE_YES},
    {"{string: int}", "{string: float}", TR_CASTABLE_NO},
    {"{string: int}", "struct", TR_CASTABLE_NO},
    {"file", "directory", TR_CASTABLE_NO},
    {"none", "int | none", TR_CASTABLE_YES},
    {"int", "int(tag: \"int\") | none(tag: \"none\")", TR_CASTABLE_YES},
    {"int(tag: \"int\") | none(tag: \"none\")", "int | none", TR_CASTABLE_YES},
    {"int(tag: \"int\") | none(tag: \"none\")", "int", TR_CASTABLE_NO},
    {"datetime", "datetime(tag: \"datetime\") | datetime(tag: \"date\")", TR_CASTABLE_AMBIGUOUS},
    {"datetime(tag: \"date\")", "datetime(tag: \"datetime\") | datetime(tag: \"date\")",
     TR_CASTABLE_YES},
};

static void test_castable(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(pairs); i++) {
        assert_int_equal(
            tr_type_castable(help_type(&help, pairs[i].from), help_type(&help, pairs[i].to)),
            pairs[i].expected);
    }
    const struct tr_type *csv = tr_type_format(&help.types, TR_TYPE_FILE, tr_text_of("csv"));
    const struct tr_type *png = tr_type_format(&help.types, TR_TYPE_FILE, tr_text_of("png"));
    assert_int_equal(tr_type_castable(csv, help_type(&help, "file")), TR_CASTABLE_YES);
    assert_int_equal(tr_type_castable(csv, png), TR_CASTABLE_NO);
    assert_int_equal(tr_type_castable(NULL, png), TR_CASTABLE_YES);
    help_fini(&help);
}

static void test_optional(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    const struct tr_type *type = help_type(&help, "int | none");
    assert_ptr_equal(tr_type_optional(&help.types, help_type(&help, "int")), type);
    assert_ptr_equal(tr_type_optional(&help.types, type), type);
    assert_true(tr_type_is_optional(type));
    assert_false(tr_type_is_optional(help_type(&help, "[none]")));
    help_fini(&help);
}

/* The table of types has an end, and says so by giving none. */
static void test_table_is_bounded(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    uint32_t made = 0;
    for (uint32_t i = 0; i < TR_TYPES_MAX + 10; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "v%u", i);
        struct tr_text value = tr_text_of(text);
        made += tr_type_enum(&help.types, &value, 1) != NULL ? 1 : 0;
    }
    assert_int_equal(made, TR_TYPES_MAX);
    help_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),      cmocka_unit_test(test_formats_and_tags),
        cmocka_unit_test(test_variants_by_name), cmocka_unit_test(test_documents),
        cmocka_unit_test(test_mistakes),         cmocka_unit_test(test_castable),
        cmocka_unit_test(test_optional),         cmocka_unit_test(test_table_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
