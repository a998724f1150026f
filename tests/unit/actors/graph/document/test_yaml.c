/*
 * YAML: places, order, aliases, merge keys, and hostile files, which have to be refused in
 * milliseconds with the name of what they broke.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "tests/unit/actors/graph/help.h"

static void test_places_and_order(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    const struct tr_tree *tree = help_yaml(&help, "z: 1\na: [x,\n  {k: v}]\n");
    assert_non_null(tree);
    assert_int_equal(tree->count, 2);
    assert_true(tr_text_equal(tree->pairs[0].key->text, tr_text_of("z")));
    const struct tr_tree *item = tree->pairs[1].value->items[1];
    assert_int_equal(item->place.line, 3);
    assert_int_equal(item->place.column, 3);
    assert_int_equal(item->pairs[0].value->place.column, 7);
    help_fini(&help);
}

struct example {
    const char *text;
    const char *expected;
};

/* What is read, as JSON by the core schema. */
static const struct example accepted[] = {
    {"{a: &x [1, 2], b: *x}", "{\"a\": [1, 2], \"b\": [1, 2]}"},
    {"a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}", "{\"a\": {\"p\": 1, \"q\": 2}, "
                                              "\"b\": {\"p\": 1, \"q\": 3}}"},
    {"a: &x {p: 1}\nb: &y {q: 2}\nc: {<<: [*x, *y]}",
     "{\"a\": {\"p\": 1}, \"b\": {\"q\": 2}, \"c\": {\"p\": 1, \"q\": 2}}"},
    {"a: !!str 5\nb: yes\nc: ~\nd:\ne: 0x10\nf: \"1\"", "{\"a\": \"5\", \"b\": \"yes\", "
                                                        "\"c\": null, \"d\": null, "
                                                        "\"e\": 16, \"f\": \"1\"}"},
    {"\xef\xbb\xbf"
     "a: 1\nb: 2",
     "{\"a\": 1, \"b\": 2}"},
    {"a: &x 1\nb: &x 2\nc: *x", "{\"a\": 1, \"b\": 2, \"c\": 2}"},
};

static void test_what_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(accepted); i++) {
        struct help help;
        help_init(&help);
        assert_string_equal(help_value(&help, NULL, help_yaml(&help, accepted[i].text)),
                            accepted[i].expected);
        help_fini(&help);
    }
}

static const struct example refused[] = {
    {"a: 1\nb: 2\na: 3", "t:3:1: the key 'a' stands here again, first in line 1; keep one of them "
                         "[DuplicateId]"},
    {"", "t: the file is empty; write a document into it"},
    {"a: 1\n---\nb: 2", "t:2:1: a file holds one document; remove what follows '---'"},
    {"a: &x [*x]", "t:1:8: the alias 'x' stands inside its own anchor; a document cannot hold "
                   "itself [SyntaxError]"},
    {"a: *y", "t:1:4: no anchor 'y' stands before this alias; define it with &y [SyntaxError]"},
    {"a: !!int 5", "t:1:4: the tag 'tag:yaml.org,2002:int' is not used here; leave it out: types "
                   "come from declarations"},
    {"{with: {a: $n.o[0]}}",
     "t:1:16: this is no YAML: while parsing a flow mapping, did not find expected ',' or '}'; in "
     "flow style quote what holds [ ] { } or a comma, as in \"$n.o[0]\" and \"enum(a, b)\" "
     "[SyntaxError]"},
    {"{when: $n.o[0] > 3}",
     "t:1:16: this is no YAML: while scanning for the next token, found character that cannot "
     "start any token; in flow style quote what holds [ ] { } or a comma, as in \"$n.o[0]\" and "
     "\"enum(a, b)\" [SyntaxError]"},
    {"a:\n\t- 1", "t:2:1: this is no YAML: while scanning for the next token, found character that "
                  "cannot start any token; indent with blanks, not tabs, and quote text that "
                  "begins with @, ` or % [SyntaxError]"},
    {"{[a]: 1}", "t:1:2: a key has to be text; in flow style separate entries by commas"},
    {"a: 1\nb: \"\xc3\xa4\x01\"",
     "t:2:6: this is no YAML: control characters are not allowed (0x01); "
     "save the file as UTF-8 text [SyntaxError]"},
    {"\xef\xbb\xbf"
     "a: 1\nbc: \xff",
     "t:2:5: this is no YAML: invalid leading UTF-8 octet (0xff); "
     "save the file as UTF-8 text [SyntaxError]"},
    {"a: 1\nb: \xc3(", "t:2:5: this is no YAML: invalid trailing UTF-8 octet (0x28); save the file "
                       "as UTF-8 text [SyntaxError]"},
    {"\xff\xfe"
     "a",
     "t:1:1: this is no YAML: invalid leading UTF-8 octet (0xff); save the file as "
     "UTF-8 text; it seems to be UTF-16 [SyntaxError]"},
    {"a: {<<: 5}", "t:1:9: '<<' merges mappings, and this is an integer; name an anchor of a "
                   "mapping"},
};

static void test_what_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(refused); i++) {
        struct help help;
        help_init(&help);
        (void)help_yaml(&help, refused[i].text);
        assert_string_equal(help_errors(&help), refused[i].expected);
        help_fini(&help);
    }
}

/* A zero byte ends no file. */
static void test_zero_byte(void **state)
{
    (void)state;
    static const char text[] = "a: 1\nb: \0";
    struct help help;
    help_init(&help);
    assert_null(tr_yaml_read(&help.arena, &help.report, help.source,
                             (struct tr_text){.data = text, .size = sizeof text - 1}));
    assert_string_equal(help_errors(&help),
                        "t:2:4: this is no YAML: control characters are not allowed (0x00); save "
                        "the file as UTF-8 text [SyntaxError]");
    help_fini(&help);
}

/* Reads a hostile text, which has to be refused within 100 ms of processor time. */
static void refuse_quickly(const char *text, const char *expected)
{
    struct help help;
    help_init(&help);
    int64_t begin = help_clock_ns();
    assert_null(help_yaml(&help, text));
    int64_t spent = help_clock_ns() - begin;
    const char *errors = help_errors(&help);
    if (strstr(errors, expected) == NULL || spent > 100000000LL * TEST_SLOWNESS) {
        fail_msg("%lld ns: %s", (long long)spent, errors);
    }
    help_fini(&help);
}

static char *repeat(const char *unit, size_t count)
{
    size_t size = strlen(unit);
    char *text = malloc(size * count + 1);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * size, unit, size);
    }
    text[size * count] = '\0';
    return text;
}

static void test_brackets(void **state)
{
    (void)state;
    const char *units[] = {"[", "{a: ", "- ", "[a, "};
    for (size_t i = 0; i < TR_COUNT_OF(units); i++) {
        char *text = repeat(units[i], (1U << 20) / strlen(units[i]));
        refuse_quickly(text, "nest deeper than 128");
        free(text);
    }
    char *text = repeat("? ", 1U << 19);
    refuse_quickly(text, "t:1:");
    free(text);
}

static void test_alias_bomb(void **state)
{
    (void)state;
    char text[4096] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 20; i++) {
        char line[128];
        (void)snprintf(line, sizeof line,
                       "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n",
                       i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        size_t size = strlen(text);
        (void)snprintf(text + size, sizeof text - size, "%s", line);
    }
    refuse_quickly(text, "unfolds to more than 4000000 values");
}

static void test_million_keys(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        char *text = malloc(16U << 20);
        assert_non_null(text);
        size_t size = (size_t)snprintf(text, 8, "%s", form == 1 ? "{" : "");
        for (int k = 0; k < 1000000; k++) {
            size += (size_t)(form == 1 ? snprintf(text + size, 32, "\"k%d\":1,", k)
                                       : snprintf(text + size, 32, "k%d: 1\n", k));
        }
        refuse_quickly(text, "more than 800000 keys");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_and_order), cmocka_unit_test(test_what_is_read),
        cmocka_unit_test(test_what_is_refused),  cmocka_unit_test(test_zero_byte),
        cmocka_unit_test(test_brackets),         cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_million_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
