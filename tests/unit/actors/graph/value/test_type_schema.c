/*
 * Which struct may go where, by what SDKs say about its fields; and variants that differ by that
 * alone, which are two, each with a name of its own.
 */
#include "actors/graph/value/type_schema.h"

#include <stdlib.h>

#include "tests/unit/actors/graph/help.h"

#define OBJECT(title, fields) \
    "{\"type\": \"object\", \"title\": \"" title "\", \"properties\": {" fields "}}"
#define INTEGER(name) "\"" name "\": {\"type\": \"integer\"}"
#define TEXT(name) "\"" name "\": {\"type\": \"string\", \"default\": \"\"}"
#define MARSHMALLOW(title, fields)                                       \
    "{\"$ref\": \"#/definitions/" title "\", \"definitions\": {\"" title \
    "\": {\"type\": \"object\", \"properties\": {" fields "}}}}"

static void test_schemas(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        const char *to;
        bool is_castable;
    } cases[] = {
        {"", OBJECT("A", INTEGER("x")), true},
        {OBJECT("A", INTEGER("x")), "", true},
        {OBJECT("A", INTEGER("x")), OBJECT("A", INTEGER("x")), true},
        {OBJECT("A", INTEGER("x")), OBJECT("B", INTEGER("x")), true},
        {OBJECT("A", INTEGER("x") ", " TEXT("y")), OBJECT("B", INTEGER("x")), true},
        {OBJECT("B", INTEGER("x")), OBJECT("A", INTEGER("x") ", " TEXT("y")), false},
        {OBJECT("A", INTEGER("x")), OBJECT("A", TEXT("x")), false},
        {OBJECT("A", "\"o\": " OBJECT("I", INTEGER("x") ", " TEXT("y"))),
         OBJECT("B", "\"o\": " OBJECT("J", INTEGER("x"))), true},
        {OBJECT("A", "\"o\": " OBJECT("J", INTEGER("x"))),
         OBJECT("B", "\"o\": " OBJECT("I", INTEGER("x") ", " TEXT("y"))), false},
        {OBJECT("A", "\"l\": {\"type\": \"array\", \"items\": {\"type\": \"integer\"}}"),
         OBJECT("A", "\"l\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}"), false},
        {OBJECT("A", "\"u\": {\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}]}"),
         OBJECT("B", "\"u\": {\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}]}"), true},
        {OBJECT("A", "\"u\": {\"anyOf\": [{\"type\": \"integer\"}]}"),
         OBJECT("B", "\"u\": {\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}]}"), false},
        {MARSHMALLOW("A", INTEGER("x") ", " TEXT("y")), MARSHMALLOW("B", INTEGER("x")), true},
        {MARSHMALLOW("A", INTEGER("x")), MARSHMALLOW("B", TEXT("x")), false},
        {"{\"pb_type\": \"a.B\"}", "{\"pb_type\": \"a.B\"}", true},
        {"{\"pb_type\": \"a.B\"}", "{\"pb_type\": \"a.C\"}", false},
        {"{\"$ref\": \"#/$defs/A\", \"$defs\": {\"A\": {\"properties\": {\"n\": {\"$ref\": "
         "\"#/$defs/A\"}}}}}",
         "{\"$ref\": \"#/$defs/B\", \"$defs\": {\"B\": {\"properties\": {\"n\": {\"$ref\": "
         "\"#/$defs/B\"}}}}}",
         true},
        {"no JSON", "no JSON", true},
        {"no JSON", "none either", false},
        {"[1]", "{}", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        bool found = tr_schema_castable(tr_text_of(cases[i].from), tr_text_of(cases[i].to));
        if (found != cases[i].is_castable) {
            fail_msg("%zu: %s to %s", i, cases[i].from, cases[i].to);
        }
    }
}

static void test_titles(void **state)
{
    (void)state;
    struct tr_arena arena;
    tr_arena_init(&arena);
    static const char *const cases[][2] = {{OBJECT("A", ""), "A"},
                                           {MARSHMALLOW("ASchema", INTEGER("x")), "ASchema"},
                                           {"{\"title\": 3}", ""},
                                           {"{", ""},
                                           {"", ""}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_text title = tr_schema_title(&arena, tr_text_of(cases[i][0]));
        assert_true(tr_text_equal(title, tr_text_of(cases[i][1])));
    }
    tr_arena_fini(&arena);
}

/* Two dataclasses as flytekit has them: of one kind and one tag. */
#define CLASS(title, field)                                             \
    "struct(tag: \"class\", schema: \"{\\\"properties\\\": {\\\"" field \
    "\\\": {\\\"type\\\": \\\"integer\\\"}}, \\\"title\\\": \\\"" title "\\\"}\")"

static void test_variants_that_differ_by_their_schema(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    const struct tr_type *one = help_type(&help, CLASS("One", "x"));
    const struct tr_type *two = help_type(&help, CLASS("Two", "y"));
    const struct tr_type *both = help_type(&help, CLASS("One", "x") " | " CLASS("Two", "y"));
    assert_int_equal(both->count, 2);
    assert_int_equal(tr_type_variant_for(one, both), 0);
    assert_int_equal(tr_type_variant_for(two, both), 1);
    assert_int_equal(tr_type_castable(one, two), TR_CASTABLE_NO);
    assert_int_equal(tr_type_castable(help_type(&help, "struct"), both), TR_CASTABLE_AMBIGUOUS);
    /* As people read them, and back. */
    struct tr_text text = tr_type_text(&help.arena, both);
    assert_string_equal(tr_arena_print(&help.arena, "%.*s", TRI_TEXT(text)).data,
                        "struct(tag: \"class\", title: \"One\") | "
                        "struct(tag: \"class\", title: \"Two\")");
    assert_int_equal(
        tr_type_variant_named(both, help_type(&help, "struct(tag: \"class\", title: \"Two\")")), 1);
    assert_int_equal(tr_type_variant_named(both, help_type(&help, "struct(title: \"One\")")), 0);
    assert_int_equal(tr_type_variant_named(both, help_type(&help, "struct")), -1);
    /* The whole of it is the same type when it is read again. */
    tr_buffer_cut(&help.text, 0);
    tr_type_write(both, &help.text);
    tr_buffer_add(&help.text, "", 1);
    char *whole = strdup((const char *)help.text.data);
    assert_ptr_equal(help_type(&help, whole), both);
    free(whole);
    help_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas),
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_variants_that_differ_by_their_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
