/*
 * Flyte's documents: what Flyte's own library writes is read, and our values are written as it
 * writes them, byte by byte (tests/golden/flyte, made by tests/support/flyte_literals.py). What is
 * no document, or a hostile one, is refused with words.
 */
#include "actors/graph/flyte/flyte.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/unit/actors/graph/help.h"

#define GOLDEN TROUPE_SOURCE_DIR "/tests/golden/flyte/literals.txt"

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

/* ------------------------------------------------------------------ golden literals */

/* A line of the golden file. */
struct golden {
    char *name;
    char *type;
    char *json;
    char *use;
    uint8_t bytes[1024];
    size_t size;
};

static void read_hexadecimal(const char *text, struct golden *golden)
{
    golden->size = 0;
    for (; text[0] != '\0' && text[0] != '-'; text += 2) {
        char digits[3] = {text[0], text[1], '\0'};
        assert_true(golden->size < sizeof golden->bytes);
        golden->bytes[golden->size++] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

/* Calls `check` for each line; gives how many there are. */
static size_t each_golden(void (*check)(const struct golden *golden))
{
    char line[4096];
    size_t count = 0;
    FILE *file = fopen(GOLDEN, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct golden golden;
        char *rest = line;
        golden.name = strsep(&rest, "\t");
        golden.type = strsep(&rest, "\t");
        golden.json = strsep(&rest, "\t");
        read_hexadecimal(strsep(&rest, "\t"), &golden);
        golden.use = strsep(&rest, "\n");
        check(&golden);
        count++;
    }
    fclose(file);
    return count;
}

static struct tr_bytes literal_of(const struct golden *golden)
{
    return (struct tr_bytes){.data = golden->bytes, .size = golden->size};
}

/* The value of a literal as JSON, or what is wrong with it. */
static const char *read_literal(const char *type, struct tr_bytes literal)
{
    const struct tr_tree *tree =
        tr_flyte_literal(&help.arena, &help.report, help_type(&help, type), literal, NULL);
    return tree == NULL ? help_errors(&help) : help_value(&help, type, tree);
}

static void check_read(const struct golden *golden)
{
    char expected[4096];
    const struct tr_tree *tree = help_json(&help, golden->json);
    snprintf(expected, sizeof expected, "%s", help_value(&help, golden->type, tree));
    const char *found = read_literal(golden->type, literal_of(golden));
    if (strcmp(found, expected) != 0) {
        fail_msg("%s: '%s' and not '%s'", golden->name, found, expected);
    }
}

static void test_what_flytes_library_writes_is_read(void **state)
{
    (void)state;
    assert_true(each_golden(check_read) > 40);
}

static int put(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add_text(buffer, text);
    return buffer->error;
}

/* A document with a value of a type under the name "x". */
static int write_value(const char *type, const char *json, struct tr_buffer *document)
{
    struct tr_buffer value;
    const struct tr_type *of = help_type(&help, type);
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    tr_buffer_init(&value, 0);
    assert_true(tr_literal_read(&reader, of, help_json(&help, json), &value));
    int error = tr_flyte_write(tr_text_of("x"), of, 0, tr_buffer_bytes(&value), put, document);
    tr_buffer_fini(&value);
    return error;
}

static void check_write(const struct golden *golden)
{
    struct tr_buffer document;
    struct tr_bytes literal;
    if (strcmp(golden->use, "both") != 0) {
        return;
    }
    tr_buffer_init(&document, 0);
    assert_int_equal(write_value(golden->type, golden->json, &document), 0);
    assert_int_equal(tr_flyte_find(tr_buffer_bytes(&document), tr_text_of("x"), &literal), 0);
    if (!tr_literal_equal(literal, literal_of(golden))) {
        fail_msg("%s is written as other bytes", golden->name);
    }
    tr_buffer_fini(&document);
}

static void test_values_are_written_as_flytes_library_does(void **state)
{
    (void)state;
    assert_true(each_golden(check_write) > 40);
}

/* Reads a literal as a value, and writes it again under the name "x". */
static void write_again(const struct golden *golden, struct tr_buffer *document)
{
    struct tr_buffer value;
    const struct tr_type *type = help_type(&help, golden->type);
    const struct tr_tree *tree =
        tr_flyte_literal(&help.arena, &help.report, type, literal_of(golden), NULL);
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    tr_buffer_init(&value, 0);
    assert_non_null(tree);
    if (!tr_literal_read(&reader, type, tree, &value)) {
        fail_msg("%s: %s", golden->name, help_errors(&help));
    }
    assert_int_equal(tr_literal_check(type, tr_buffer_bytes(&value)), 0);
    assert_int_equal(
        tr_flyte_write(tr_text_of("x"), type, 0, tr_buffer_bytes(&value), put, document), 0);
    tr_buffer_fini(&value);
}

static void check_kept(const struct golden *golden)
{
    struct tr_buffer document;
    struct tr_bytes literal;
    if (strcmp(golden->use, "read") == 0) {
        return;
    }
    tr_buffer_init(&document, 0);
    write_again(golden, &document);
    assert_int_equal(tr_flyte_find(tr_buffer_bytes(&document), tr_text_of("x"), &literal), 0);
    if (!tr_literal_equal(literal, literal_of(golden))) {
        fail_msg("%s is not written as it was read", golden->name);
    }
    tr_buffer_fini(&document);
}

static void test_what_came_goes_on_as_it_came(void **state)
{
    (void)state;
    assert_true(each_golden(check_kept) > 50);
}

/* Cut off anywhere, a literal is none, or another one: it never does harm. */
static void check_cut(const struct golden *golden)
{
    for (size_t size = 0; size < golden->size; size++) {
        struct tr_bytes cut = {.data = golden->bytes, .size = size};
        assert_non_null(read_literal(golden->type, cut));
    }
}

static void test_literals_may_be_cut_off(void **state)
{
    (void)state;
    assert_true(each_golden(check_cut) > 40);
}

/* ------------------------------------------------------------------ what is refused */

#define BYTES(literal) \
    ((struct tr_bytes){.data = (const uint8_t *)(literal), .size = sizeof(literal) - 1})

static void test_what_is_no_literal_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        struct tr_bytes literal;
        const char *words;
    } cases[] = {
        {"int", BYTES("\xff"), "the bytes are no Literal of Flyte's"},
        {"int", BYTES(""), "a literal holds no value of a kind that is known"},
        {"int", BYTES("\x0a\x00"), "a scalar holds no value of a kind that is known"},
        {"int", BYTES("\x0a\x02\x0a\x00"), "a primitive holds no value of a kind that is known"},
        {"string", BYTES("\x0a\x05\x0a\x03\x1a\x01\xff"), "a string is no UTF-8"},
        {"datetime", BYTES("\x0a\x07\x0a\x05\x2a\x03\x10\xff\xff"), "the bytes are no Literal"},
        {"datetime", BYTES("\x0a\x0a\x0a\x08\x2a\x06\x10\x80\xa8\xd6\xb9\x07"),
         "a datetime lies outside of the years 1 to 9999"},
        {"duration", BYTES("\x0a\x0e\x0a\x0c\x32\x0a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x10\x00"),
         "the bytes are no Literal"},
        {"duration", BYTES("\x0a\x0d\x0a\x0b\x32\x09\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
         "a duration is longer than 292 years"},
        {"file", BYTES("\x0a\x05\x12\x03\x1a\x01\x00"), "the bytes are no Literal"},
        {"struct", BYTES("\x0a\x0e\x1a\x0c\x0a\x01\xc1\x12\x07msgpack"),
         "a struct holds bytes or something that JSON has not"},
        {"struct", BYTES("\x0a\x10\x1a\x0e\x0a\x03\x81\x01\x02\x12\x07msgpack"),
         "a key in a struct is no text"},
        {"struct",
         BYTES("\x0a\x14\x1a\x12\x0a\x07\x82\xa1"
               "a\x01\xa1"
               "a\x02\x12\x07msgpack"),
         "the key 'a' stands here again"},
        {"struct", BYTES("\x0a\x0f\x1a\x0d\x0a\x02\x80\x80\x12\x07msgpack"),
         "the bytes are no msgpack, as their tag says they are"},
        {"int", BYTES("\x42\x03\x0a\x01/"), "the literal in '/' is not read here"},
        {"int", BYTES("\x0a\x05\x0a\x03\x1a\x01x"), "'x' is no value of type int"},
        {"[int]", BYTES("\x1a\x00"), "a mapping is no value of type [int]"},
        {"enum(a, b)", BYTES("\x0a\x05\x0a\x03\x1a\x01x"), "'x' is no value of type enum(a, b)"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        const char *found = read_literal(cases[i].type, cases[i].literal);
        if (strstr(found, cases[i].words) == NULL) {
            fail_msg("%zu: '%s' and not '%s'", i, found, cases[i].words);
        }
    }
}

/* A literal in as many lists: each a collection with one element. */
static void nest(struct tr_buffer *document, uint32_t depth)
{
    struct tr_buffer outer;
    for (uint32_t i = 0; i < depth; i++) {
        tr_buffer_init(&outer, 0);
        size_t inner = document->size;
        size_t sizes[2] = {inner, 0};
        for (size_t k = 0; k < 2; k++) {
            uint8_t header[12] = {k == 0 ? 0x0a : 0x12};
            size_t used = 1;
            for (size_t left = sizes[k]; used == 1 || left > 0; left >>= 7) {
                header[used++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
            }
            tr_buffer_cut(&outer, 0);
            tr_buffer_add(&outer, header, used);
            tr_buffer_add(&outer, document->data, document->size);
            tr_buffer_cut(document, 0);
            tr_buffer_add(document, outer.data, outer.size);
            sizes[1] = document->size;
        }
        tr_buffer_fini(&outer);
    }
}

static void test_nesting_has_a_bound(void **state)
{
    (void)state;
    struct tr_buffer document;
    tr_buffer_init(&document, 0);
    tr_buffer_add(&document, "\x0a\x02\x2a\x00", 4);
    nest(&document, 40);
    const struct tr_type *type = help_type(&help, "struct");
    assert_non_null(
        tr_flyte_literal(&help.arena, &help.report, type, tr_buffer_bytes(&document), NULL));
    nest(&document, 3000);
    assert_null(
        tr_flyte_literal(&help.arena, &help.report, type, tr_buffer_bytes(&document), NULL));
    assert_non_null(strstr(help_errors(&help), "the bytes are no Literal of Flyte's"));
    tr_buffer_fini(&document);
}

static void test_a_zero_byte_where_c_has_strings_is_refused(void **state)
{
    (void)state;
    struct tr_buffer document;
    tr_buffer_init(&document, 0);
    assert_int_equal(write_value("error", "{\"message\": \"a\\u0000b\"}", &document), TR_INVALID);
    assert_int_equal(document.size, 0);
    tr_buffer_fini(&document);
}

static void test_a_value_of_another_type_is_malformed(void **state)
{
    (void)state;
    struct tr_buffer document;
    static const uint8_t text[] = {0xa1, 'x'};
    const struct tr_bytes value = {.data = text, .size = sizeof text};
    static const char *const types[] = {"int", "[int]", "int | none", "{string: int}", "datetime"};
    tr_buffer_init(&document, 0);
    for (size_t i = 0; i < TR_COUNT_OF(types); i++) {
        assert_int_equal(
            tr_flyte_write(tr_text_of("x"), help_type(&help, types[i]), 0, value, put, &document),
            TR_MALFORMED);
    }
    tr_buffer_fini(&document);
}

/* ------------------------------------------------------------------ documents */

static void test_the_last_of_a_name_counts(void **state)
{
    (void)state;
    struct tr_bytes found;
    const struct tr_bytes twice = BYTES("\x0a\x05\x0a\x01x\x12\x00\x12\x00\x0a\x05\x0a\x01x\x12\x00"
                                        "\x0a\x06\x0a\x01x\x12\x01\x2a");
    assert_int_equal(tr_flyte_find(twice, tr_text_of("x"), &found), 0);
    assert_int_equal(found.size, 1);
    assert_int_equal(tr_flyte_find(twice, tr_text_of("y"), &found), TR_NOT_FOUND);
    assert_int_equal(tr_flyte_find(BYTES("\x0a\x05\x0a"), tr_text_of("x"), &found), TR_MALFORMED);
    assert_int_equal(tr_flyte_find(BYTES("\x0a\x03\x0a\x01\xff"), tr_text_of("x"), &found),
                     TR_MALFORMED);
    assert_int_equal(tr_flyte_find(BYTES(""), tr_text_of("x"), &found), TR_NOT_FOUND);
}

static void test_a_literal_may_lie_elsewhere(void **state)
{
    (void)state;
    struct tr_flyte_elsewhere where;
    assert_true(tr_flyte_is_elsewhere(&help.arena, BYTES("\x42\x08\x0a\x04/x.y\x10\x05"), &where));
    assert_true(tr_text_equal(where.uri, tr_text_of("/x.y")));
    assert_int_equal(where.size_bytes, 5);
    assert_false(tr_flyte_is_elsewhere(&help.arena, BYTES("\x0a\x00"), &where));
}

/* Files by their names, and how many of them are open. */
static struct {
    const char *name;
    struct tr_bytes bytes;
} given_files[4];
static int open_files;

static int open_given(void *self, struct tr_report *report, struct tr_text uri,
                      struct tr_bytes *file)
{
    (void)self;
    for (size_t i = 0; i < TR_COUNT_OF(given_files); i++) {
        if (given_files[i].name != NULL && tr_text_equal(uri, tr_text_of(given_files[i].name))) {
            *file = given_files[i].bytes;
            open_files++;
            return 0;
        }
    }
    tri_report_add(report, (struct tri_place){0}, NULL, "there is no %.*s", TRI_TEXT(uri));
    return TR_INVALID;
}

static void close_given(void *self, struct tr_bytes file)
{
    (void)self;
    (void)file;
    open_files--;
}

/* What a literal of type [int] is, or what is wrong with it. */
static const char *read_with_files(struct tr_bytes literal, uint64_t left_bytes)
{
    struct tr_flyte_files files = {
        .open = open_given, .close = close_given, .left_bytes = left_bytes};
    const struct tr_tree *tree =
        tr_flyte_literal(&help.arena, &help.report, help_type(&help, "[int]"), literal, &files);
    assert_int_equal(open_files, 0);
    return help_value(&help, "[int]", tree);
}

/* [1, what lies in /a]; of /a 8 bytes are said. */
#define LIST_OF_FILE                                                 \
    BYTES("\x12\x14\x0a\x06\x0a\x04\x0a\x02\x08\x01\x0a\x0a\x42\x08" \
          "\x0a\x04/a.b\x10\x06")
/* In place of a value: what lies in /a.b, of no size that is said. */
#define NAMES_A BYTES("\x42\x06\x0a\x04/a.b")
#define SEVEN BYTES("\x0a\x04\x0a\x02\x08\x07")

static void test_a_literal_inside_may_lie_elsewhere(void **state)
{
    (void)state;
    memset(given_files, 0, sizeof given_files);
    given_files[0].name = "/a.b";
    given_files[0].bytes = SEVEN;
    assert_string_equal(read_with_files(LIST_OF_FILE, 100), "[1, 7]");
    /* A file that names a file. */
    given_files[0].bytes = BYTES("\x42\x04\x0a\x02/b");
    given_files[1].name = "/b";
    given_files[1].bytes = SEVEN;
    assert_string_equal(read_with_files(LIST_OF_FILE, 100), "[1, 7]");
}

static void test_files_of_literals_that_are_wrong(void **state)
{
    (void)state;
    memset(given_files, 0, sizeof given_files);
    assert_string_equal(read_with_files(LIST_OF_FILE, 100), "t: there is no /a.b");
    given_files[0].name = "/a.b";
    given_files[0].bytes = BYTES("\x0a\x04\x0a");
    assert_string_equal(read_with_files(LIST_OF_FILE, 100),
                        "t: the literal in '/a.b' has 6 bytes, and the file has 3; write the file "
                        "anew, whole [InvalidValue]");
    assert_string_equal(read_with_files(NAMES_A, 100),
                        "t: the literal in '/a.b' is no Literal of Flyte's [InvalidValue]");
    given_files[0].bytes = SEVEN;
    assert_string_equal(read_with_files(LIST_OF_FILE, 5),
                        "t: the literal in '/a.b' and those before it are too large together; hand "
                        "on files or directories, which are not read [InvalidValue]");
    given_files[0].bytes = NAMES_A;
    assert_string_equal(
        read_with_files(NAMES_A, 100),
        "t: the literal in '/a.b' is named by a file that another one names, and so "
        "on; keep the value in one file [InvalidValue]");
    assert_null(tr_flyte_literal(&help.arena, &help.report, NULL, NAMES_A, NULL));
    assert_string_equal(help_errors(&help), "t: the literal in '/a.b' is not read here; give the "
                                            "value itself [InvalidValue]");
}

static void test_error_documents(void **state)
{
    (void)state;
    struct tr_flyte_error said;
    const struct tr_bytes whole = BYTES("\x0a\x18\x0a\x0aUSER:Value\x12\x06wrong!\x18\x01\x20\x02");
    assert_int_equal(tr_flyte_error_read(&help.arena, whole, &said), 0);
    assert_true(tr_text_equal(said.code, tr_text_of("USER:Value")));
    assert_true(tr_text_equal(said.message, tr_text_of("wrong!")));
    assert_true(said.is_recoverable);
    assert_true(said.is_systems);
    assert_int_equal(tr_flyte_error_read(&help.arena, BYTES("\x0a\x00"), &said), 0);
    assert_true(tr_text_equal(said.code, tr_text_of("TaskFailed")));
    assert_false(said.is_recoverable);
    assert_int_equal(tr_flyte_error_read(&help.arena, BYTES(""), &said), TR_MALFORMED);
    assert_int_equal(tr_flyte_error_read(&help.arena, BYTES("\x0a\x05"), &said), TR_MALFORMED);
}

/* Of several workers the earliest counts, be it the first or the last; one without a time is it. */
static void test_errors_of_several_workers(void **state)
{
#define AT_5_BY_A                               \
    "\x0a\x0a\x12\x01x\x2a\x02\x08\x05\x32\x01" \
    "a"
#define AT_3_BY_B                                       \
    "\x0a\x0c\x12\x01y\x2a\x04\x08\x03\x10\x07\x32\x01" \
    "b"
#define AT_3_BY_C                                       \
    "\x0a\x0c\x12\x01z\x2a\x04\x08\x03\x10\x06\x32\x01" \
    "c"
    static const struct {
        struct tr_bytes document;
        const char *message;
    } cases[] = {
        {BYTES(AT_5_BY_A AT_3_BY_B), "worker b: y"},
        {BYTES(AT_3_BY_B AT_5_BY_A), "worker b: y"},
        {BYTES(AT_5_BY_A AT_3_BY_B AT_3_BY_C), "worker c: z"},
        {BYTES(AT_5_BY_A "\x0a\x03\x12\x01w"), "w"},
    };
    struct tr_flyte_error said;
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(tr_flyte_error_read(&help.arena, cases[i].document, &said), 0);
        assert_true(tr_text_equal(said.message, tr_text_of(cases[i].message)));
    }
    assert_int_equal(tr_flyte_error_read(&help.arena, BYTES(AT_5_BY_A "\xff"), &said),
                     TR_MALFORMED);
}

/* An ErrorDocument with this message. */
static struct tr_text told_of(const char *message)
{
    static uint8_t bytes[1024];
    size_t size = strlen(message);
    uint8_t error[3] = {0x12, (uint8_t)(0x80 | (size & 0x7f)), (uint8_t)(size >> 7)};
    size_t whole = size + sizeof error;
    bytes[0] = 0x0a;
    bytes[1] = (uint8_t)(0x80 | (whole & 0x7f));
    bytes[2] = (uint8_t)(whole >> 7);
    memcpy(bytes + 3, error, sizeof error);
    memcpy(bytes + 3 + sizeof error, message, size);
    struct tr_flyte_error said;
    assert_int_equal(tr_flyte_error_read(
                         &help.arena, (struct tr_bytes){.data = bytes, .size = whole + 3}, &said),
                     0);
    return said.message;
}

#define TRACE "Trace:\n\n    Traceback (most recent call last):\n"
#define FLYTEKITS                                                                                 \
    "      File \"/v/lib/python3.11/site-packages/flytekit/core/base_task.py\", line 7, in run\n" \
    "        native = self.execute()\n                 ^^^^^\n"
#define OWN "      File \"/code/flows.py\", line 4, in odd\n        raise ValueError(\"no\")\n"

/* What was raised comes first, and of the traceback the files that are not flytekit's. */
static void test_tracebacks(void **state)
{
    (void)state;
    const struct {
        const char *said;
        const char *told;
    } rows[] = {
        {TRACE FLYTEKITS OWN "    ValueError: no\n\nMessage:\n\n    ValueError: no",
         "ValueError: no\nTraceback (most recent call last):\n"
         "  File \"/code/flows.py\", line 4, in odd\n    raise ValueError(\"no\")"},
        {TRACE OWN "    KeyError: 1\n\n    During handling:\n\n" FLYTEKITS OWN
                   "    ValueError: a\n    b\n\nMessage:\n\n    ValueError: a\n    b\n",
         "ValueError: a\nb\nTraceback (most recent call last):\n"
         "  File \"/code/flows.py\", line 4, in odd\n    raise ValueError(\"no\")\n"
         "KeyError: 1\n\nDuring handling:\n\n"
         "  File \"/code/flows.py\", line 4, in odd\n    raise ValueError(\"no\")"},
        {TRACE FLYTEKITS "    TypeError: x\n\nMessage:\n\n    TypeError: x",
         "TypeError: x\nTraceback (most recent call last):\n"
         "  File \"/v/lib/python3.11/site-packages/flytekit/core/base_task.py\", line 7, in run\n"
         "    native = self.execute()\n             ^^^^^"},
        {TRACE OWN, TRACE OWN},
        {"Trace:\n\n\nMessage:\n\n", "the task says no more"},
        {"Trace:\n\n\nMessage:\n\n    x", "x"},
        {"\nMessage:\n\n    x", "\nMessage:\n\n    x"},
        {"", "the task says no more"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_text told = told_of(rows[i].said);
        assert_int_equal(told.size, strlen(rows[i].told));
        assert_memory_equal(told.data, rows[i].told, told.size);
    }
}

/* ------------------------------------------------------------------ memory */

static uint64_t allocations_left;

static bool may_allocate(void *self, size_t size)
{
    (void)self;
    (void)size;
    return allocations_left != 0 && allocations_left-- > 0;
}

/* One pass with so many allocations: whether memory was enough. */
static bool pass(const struct tr_type *type, struct tr_bytes value, uint64_t allocations)
{
    struct tr_buffer document;
    struct tr_arena arena;
    struct tr_report report;
    struct tr_bytes literal;
    tr_buffer_init(&document, 0);
    tr_arena_init(&arena);
    tr_report_init(&report);
    allocations_left = allocations;
    tr_memory_hook_set(may_allocate, NULL);
    int error = tr_flyte_write(tr_text_of("x"), type, 0, value, put, &document);
    if (error == 0) {
        error = tr_flyte_find(tr_buffer_bytes(&document), tr_text_of("x"), &literal);
    }
    if (error == 0 && tr_flyte_literal(&arena, &report, type, literal, NULL) == NULL) {
        error = arena.error;
    }
    tr_memory_hook_set(NULL, NULL);
    assert_true(error == 0 || error == TR_MEMORY);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    tr_buffer_fini(&document);
    return error == 0;
}

static void test_wherever_memory_ends(void **state)
{
    (void)state;
    struct tr_buffer value;
    const struct tr_type *type = help_type(&help, "[{string: struct | [dataset] | duration}]");
    struct tr_literal_reader reader = {.report = &help.report, .arena = &help.arena};
    tr_buffer_init(&value, 0);
    assert_true(tr_literal_read(
        &reader, type,
        help_json(&help, "[{\"a\": {\"n\": [1]}, \"b\": [{\"uri\": \"/x\"}], \"c\": \"1h\"}]"),
        &value));
    uint64_t allocations = 0;
    while (!pass(type, tr_buffer_bytes(&value), allocations)) {
        assert_true(++allocations < 1000);
    }
    assert_true(allocations > 2);
    tr_buffer_fini(&value);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_what_flytes_library_writes_is_read),
        TEST(test_values_are_written_as_flytes_library_does),
        TEST(test_what_came_goes_on_as_it_came),
        TEST(test_literals_may_be_cut_off),
        TEST(test_what_is_no_literal_is_told),
        TEST(test_nesting_has_a_bound),
        TEST(test_a_zero_byte_where_c_has_strings_is_refused),
        TEST(test_a_value_of_another_type_is_malformed),
        TEST(test_the_last_of_a_name_counts),
        TEST(test_a_literal_may_lie_elsewhere),
        TEST(test_a_literal_inside_may_lie_elsewhere),
        TEST(test_files_of_literals_that_are_wrong),
        TEST(test_error_documents),
        TEST(test_errors_of_several_workers),
        TEST(test_tracebacks),
        TEST(test_wherever_memory_ends),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
