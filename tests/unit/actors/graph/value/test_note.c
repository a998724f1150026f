/*
 * What comes beside values: written once, kept by casts as far as it may stand there, passed over
 * by whoever wants the value alone, and in content a hash in the place of the value.
 */
#include "actors/graph/value/note.h"

#include "actors/graph/value/slot.h"
#include "tests/unit/actors/graph/help.h"

static struct help help;

static int set_up(void **state)
{
    (void)state;
    help_init(&help);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    help_fini(&help);
    return 0;
}

static const struct tr_note hash_note = {.tag = {.data = "", .size = 0},
                                         .hash = {.data = "abc", .size = 3}};
static const struct tr_note generic_note = {
    .is_generic = true, .tag = {.data = "", .size = 0}, .hash = {.data = "", .size = 0}};

/* A value of a type from YAML, in a fresh buffer; with a note before it where there is one. */
static void make(const char *type, const char *text, const struct tr_note *note,
                 struct tr_buffer *value)
{
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    tr_buffer_init(value, 0);
    assert_true(tr_literal_read(&reader, help_type(&help, type), help_yaml(&help, text), value));
    if (note != NULL) {
        tr_write_note(value, 0, note);
    }
    assert_int_equal(value->error, 0);
}

static const char *json_of(const char *type, struct tr_bytes value)
{
    tr_buffer_cut(&help.text, 0);
    assert_int_equal(tr_literal_json(help_type(&help, type), value, &help.text), 0);
    tr_buffer_add(&help.text, "", 1);
    return (const char *)help.text.data;
}

static struct tr_note note_of(struct tr_bytes value)
{
    struct tr_note note;
    struct tr_cursor cursor = tr_cursor_of(value);
    (void)tr_read_note(&cursor, &note);
    assert_int_equal(cursor.error, 0);
    return note;
}

static void test_without_a_note_nothing_is_added(void **state)
{
    (void)state;
    struct tr_buffer value;
    const struct tr_note none = {.tag = tr_text_of(""), .hash = tr_text_of("")};
    make("int", "5", &none, &value);
    assert_int_equal(value.size, 1);
    assert_true(tr_note_is_empty(&none));
    tr_buffer_fini(&value);
}

static void test_a_note_is_passed_over(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *text;
        const char *json;
    } cases[] = {
        {"int", "5", "5"},
        {"string", "a", "\"a\""},
        {"file", "/x", "\"/x\""},
        {"struct", "{a: 1}", "{\"a\": 1}"},
        {"{string: int}", "{a: 1}", "{\"a\": 1}"},
        {"int | none", "5", "5"},
        {"struct | none", "{type: struct, value: {type: a, value: b}}",
         "{\"type\": \"struct\", \"value\": {\"type\": \"a\", \"value\": \"b\"}}"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_buffer value;
        make(cases[i].type, cases[i].text, &hash_note, &value);
        assert_string_equal(json_of(cases[i].type, tr_buffer_bytes(&value)), cases[i].json);
        assert_true(tr_text_equal(note_of(tr_buffer_bytes(&value)).hash, hash_note.hash));
        tr_buffer_fini(&value);
    }
}

static void test_what_looks_into_values_passes_it_over(void **state)
{
    (void)state;
    struct tr_buffer value;
    const struct tr_type *type = help_type(&help, "{string: int}");
    const struct tr_type *found;
    struct tr_bytes part;
    const struct tr_step step = {.field = tr_text_of("a")};
    make("{string: int}", "{a: 7}", &hash_note, &value);
    assert_int_equal(tr_literal_follow(type, tr_buffer_bytes(&value), &step, 1, &found, &part), 0);
    assert_string_equal(json_of("int", part), "7");
    tr_buffer_fini(&value);

    make("int", "7", &hash_note, &value);
    tr_buffer_cut(&help.text, 0);
    assert_int_equal(tr_literal_text(help_type(&help, "int"), tr_buffer_bytes(&value), &help.text),
                     0);
    tr_buffer_add(&help.text, "", 1);
    assert_string_equal((const char *)help.text.data, "7");
    tr_buffer_cut(&help.text, 0);
    tr_slot_show(help_type(&help, "int"), tr_buffer_bytes(&value), &help.text);
    tr_buffer_add(&help.text, "", 1);
    assert_string_equal((const char *)help.text.data, "7");
    tr_buffer_fini(&value);
}

/* Casts a value with a note; of what comes out the note. */
static struct tr_note cast_note(const char *from, const char *text, const struct tr_note *note,
                                const char *to, const char *json)
{
    struct tr_buffer value;
    struct tr_buffer cast;
    const struct tr_type *type = to == NULL ? NULL : help_type(&help, to);
    make(from, text, note, &value);
    tr_buffer_init(&cast, 0);
    assert_int_equal(tr_literal_cast(help_type(&help, from), type, tr_buffer_bytes(&value), &cast),
                     0);
    if (type != NULL) {
        assert_string_equal(json_of(to, tr_buffer_bytes(&cast)), json);
    }
    struct tr_bytes kept = tr_arena_bytes(&help.arena, tr_buffer_bytes(&cast));
    tr_buffer_fini(&cast);
    tr_buffer_fini(&value);
    return note_of(kept);
}

static void test_casts_keep_what_fits(void **state)
{
    (void)state;
    const struct tr_note enum_note = cast_note("string", "a", &hash_note, "enum(a, b)", "\"a\"");
    assert_true(tr_text_equal(enum_note.hash, hash_note.hash));
    /* It goes into the union, with its value. */
    const struct tr_note union_note =
        cast_note("struct", "{a: 1}", &generic_note, "struct | none", "{\"a\": 1}");
    assert_true(tr_note_is_empty(&union_note));
    const struct tr_note back =
        cast_note("int | string", "5", &hash_note, "int | string | none", "5");
    assert_true(tr_text_equal(back.hash, hash_note.hash));
    /* A value without a type has none. */
    const struct tr_note none = cast_note("struct", "{a: 1}", &generic_note, NULL, "");
    assert_true(tr_note_is_empty(&none));
}

static int put_nothing(void *self, const struct tr_type *type, struct tr_blob blob,
                       struct tr_buffer *buffer)
{
    (void)type;
    *(int *)self += 1;
    tr_buffer_text_value(buffer, blob.uri);
    return 0;
}

/* What a key is made of, for a value in a map; `paths` counts those that were asked for. */
static struct tr_bytes content_of(const char *text, const struct tr_note *note, int *paths)
{
    struct tr_buffer value;
    struct tr_buffer content;
    make("file", text, note, &value);
    tr_buffer_init(&content, 0);
    *paths = 0;
    assert_int_equal(tr_literal_map_paths(help_type(&help, "file"), tr_buffer_bytes(&value),
                                          TR_PATHS_CONTENT, put_nothing, paths, &content),
                     0);
    struct tr_bytes kept = tr_arena_bytes(&help.arena, tr_buffer_bytes(&content));
    tr_buffer_fini(&content);
    tr_buffer_fini(&value);
    return kept;
}

static void test_a_hash_stands_for_the_value_in_content(void **state)
{
    (void)state;
    int paths;
    struct tr_bytes one = content_of("/x", &hash_note, &paths);
    assert_int_equal(paths, 0);
    assert_true(tr_literal_equal(one, content_of("/y", &hash_note, &paths)));
    const struct tr_note other = {.tag = tr_text_of(""), .hash = tr_text_of("abd")};
    assert_false(tr_literal_equal(one, content_of("/x", &other, &paths)));
    assert_false(tr_literal_equal(one, content_of("/x", NULL, &paths)));
    assert_int_equal(paths, 1);
}

static void test_what_is_no_note_is_refused(void **state)
{
    (void)state;
    struct tr_buffer value;
    /* Where it may not stand: before a list, the form before an int, and twice. */
    make("[int]", "[1]", &hash_note, &value);
    assert_int_equal(tr_literal_check(help_type(&help, "[int]"), tr_buffer_bytes(&value)),
                     TR_MALFORMED);
    tr_buffer_fini(&value);
    make("int", "1", &generic_note, &value);
    assert_int_equal(tr_literal_check(help_type(&help, "int"), tr_buffer_bytes(&value)),
                     TR_MALFORMED);
    tr_buffer_fini(&value);
    /* Cut off anywhere, or changed anywhere, it is an error or a value: never harm. */
    const struct tr_type *type = help_type(&help, "struct");
    make("struct", "{a: [1, b]}", &generic_note, &value);
    for (size_t i = 0; i < value.size; i++) {
        struct tr_bytes part = {.data = value.data, .size = i};
        assert_int_equal(tr_literal_check(type, part), TR_MALFORMED);
        uint8_t before = value.data[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            value.data[i] = (uint8_t)(before ^ (1U << bit));
            int error = tr_literal_check(type, tr_buffer_bytes(&value));
            assert_true(error == 0 || error == TR_MALFORMED);
        }
        value.data[i] = before;
    }
    assert_int_equal(tr_literal_check(type, tr_buffer_bytes(&value)), 0);
    tr_buffer_fini(&value);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_without_a_note_nothing_is_added),        TEST(test_a_note_is_passed_over),
        TEST(test_what_looks_into_values_passes_it_over),  TEST(test_casts_keep_what_fits),
        TEST(test_a_hash_stands_for_the_value_in_content), TEST(test_what_is_no_note_is_refused),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
