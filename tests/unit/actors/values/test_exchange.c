/*
 * Large documents: what a plan writes is what JSON readers read, what it reads is what the actor
 * would have read from a small one, and what is wrong is told in the same words.
 */
#include "actors/values/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static struct tr_arena arena;
static struct tr_types types;
static struct tr_variable items[8];
static struct tr_variables variables;
static struct tr_buffer slots;
static struct tr_exchange_problem problem;
static bool is_dynamic;
static bool is_decision;

/* Variables called a, b, ... of these types. */
static void declare(const char *const *words, uint32_t count)
{
    static const char names[] = "abcdefgh";
    struct tr_text complaint;
    variables = (struct tr_variables){.items = items, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct tr_variable){
            .name = {.data = names + i, .size = 1},
            .type = tr_type_parse(&types, tr_text_of(words[i]), &complaint),
        };
        assert_non_null(items[i].type);
    }
}

#define DECLARE(...)                            \
    declare((const char *const[]){__VA_ARGS__}, \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static int set_up(void **state)
{
    (void)state;
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    tr_buffer_init(&slots, 0);
    is_dynamic = is_decision = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_buffer_fini(&slots);
    tr_arena_fini(&arena);
    return 0;
}

static uint32_t kept_paths;

static int keep_path(void *self, const struct tr_type *type, struct tr_blob blob,
                     struct tr_buffer *buffer)
{
    uint32_t *count = self;
    (void)type;
    (*count)++;
    tr_write_blob(buffer, blob);
    return buffer->error;
}

static int put_value(void *self, struct tr_bytes value, struct tr_buffer *buffer)
{
    (void)self;
    tr_buffer_add(buffer, value.data, value.size);
    return buffer->error;
}

static uint32_t turns;
static uint32_t turns_max; /* 0: as many as there are */

static int take_turn(void *self)
{
    (void)self;
    turns++;
    return turns_max != 0 && turns == turns_max ? TR_CLOSED : 0;
}

static const struct tr_exchange_keeper keeper = {
    .keep = keep_path, .put = put_value, .turn = take_turn, .self = &kept_paths};

static struct tr_bytes bytes_of(const char *json)
{
    return (struct tr_bytes){.data = (const uint8_t *)json, .size = strlen(json)};
}

static void plan_outputs(enum tr_document_form form, struct tr_buffer *plan)
{
    const struct tr_exchange_outputs outputs = {.variables = &variables,
                                                .form = form,
                                                .folder = tr_text_of("/made"),
                                                .depth = is_dynamic ? 1 : 0};
    assert_int_equal(tr_exchange_plan_outputs(&outputs, plan), 0);
}

static int read_json(const char *json)
{
    struct tr_buffer plan;
    tr_buffer_init(&plan, 0);
    plan_outputs(TR_DOCUMENT_JSON, &plan);
    tr_buffer_cut(&slots, 0);
    problem = (struct tr_exchange_problem){.code = NULL};
    int error = tr_exchange_read(tr_buffer_bytes(&plan), bytes_of(json), &keeper, &slots,
                                 &is_decision, &problem);
    tr_buffer_fini(&plan);
    return error;
}

static int open_elsewhere(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    (void)self;
    static const uint8_t list[] = {0x93, 1, 2, 3};
    if (!tr_text_equal(where->uri, tr_text_of("/blob"))) {
        return TR_NOT_FOUND;
    }
    *literal = (struct tr_bytes){.data = list, .size = sizeof list};
    return 0;
}

static void close_elsewhere(void *self, struct tr_bytes literal)
{
    (void)self;
    assert_int_equal(literal.size, 4);
}

static int put(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add(buffer, text.data, text.size);
    return buffer->error;
}

/* Writes the slots as a document. */
static int write_document(enum tr_document_form form, struct tr_buffer *json)
{
    struct tr_buffer plan;
    const struct tr_exchange_writer writer = {
        .open = open_elsewhere, .close = close_elsewhere, .put = put, .self = json};
    tr_buffer_init(&plan, 0);
    tr_buffer_init(json, 0);
    assert_int_equal(tr_exchange_plan_inputs(&variables, form, tr_buffer_bytes(&slots), &plan), 0);
    int error = tr_exchange_write(tr_buffer_bytes(&plan), &writer);
    tr_buffer_fini(&plan);
    return error;
}

static int write_json(struct tr_buffer *json)
{
    return write_document(TR_DOCUMENT_JSON, json);
}

static void expect_json(const char *expected)
{
    struct tr_buffer json;
    assert_int_equal(write_json(&json), 0);
    tr_buffer_add(&json, "", 1);
    assert_string_equal((const char *)json.data, expected);
    tr_buffer_fini(&json);
}

static void test_every_type_comes_back(void **state)
{
    (void)state;
    DECLARE("[int | string]", "{string: [float]}", "enum(x, y)", "datetime", "duration", "bytes",
            "struct", "[[bool]]");
    static const char json[] = "{\"a\": [1, \"two\", 3], \"b\": {\"k\": [1.5, 2.0]}, \"c\": \"y\", "
                               "\"d\": \"2026-08-20T00:00:00Z\", \"e\": \"1h30m\", "
                               "\"f\": \"SGVsbG8=\", \"g\": {\"x\": [null, {}]}, "
                               "\"h\": [[true], [], [false, true]]}";
    assert_int_equal(read_json(json), 0);
    expect_json(json);
}

static void test_order_blanks_and_strangers_do_not_matter(void **state)
{
    (void)state;
    DECLARE("int", "[int]", "string | none");
    assert_int_equal(read_json(" {\n \"more\" : [ {\"x\": \"}\"} , 1e5 ] ,\t\"b\":[ ] , "
                               "\"a\" :7\r\n} \n"),
                     0);
    expect_json("{\"a\": 7, \"b\": [], \"c\": null}");
    DECLARE("file");
    assert_int_equal(read_json("{\"a\": \"out.txt\"}"), 0);
    expect_json("{\"a\": \"/made/out.txt\"}");
}

/* Headers of lists have one form each: equal values are equal bytes. */
static void test_lists_of_all_sizes_are_packed_as_ever(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 15, 16, 65535, 65536};
    DECLARE("[int]");
    for (size_t i = 0; i < TR_COUNT_OF(sizes); i++) {
        struct tr_buffer json;
        struct tr_buffer expected;
        tr_buffer_init(&json, 0);
        tr_buffer_init(&expected, 0);
        tr_buffer_array(&expected, 1);
        tr_buffer_array(&expected, sizes[i]);
        tr_buffer_add_string(&json, "{\"a\": [");
        for (uint32_t k = 0; k < sizes[i]; k++) {
            tr_buffer_print(&json, "%s%u", k > 0 ? "," : "", k);
            tr_buffer_i64(&expected, k);
        }
        tr_buffer_add(&json, "]}", 3);
        assert_int_equal(read_json((const char *)json.data), 0);
        assert_int_equal(slots.size, expected.size);
        assert_memory_equal(slots.data, expected.data, expected.size);
        tr_buffer_fini(&json);
        tr_buffer_fini(&expected);
    }
}

/* Others go first between the elements of a list, and the end of their patience is one at once. */
static void test_turns_are_taken_between_elements(void **state)
{
    (void)state;
    struct tr_buffer json;
    DECLARE("[int]");
    tr_buffer_init(&json, 0);
    tr_buffer_add_string(&json, "{\"a\": [1");
    for (int i = 1; i < 1000; i++) {
        tr_buffer_add_string(&json, ", 1");
    }
    tr_buffer_add(&json, "]}", 3);
    turns = 0;
    assert_int_equal(read_json((const char *)json.data), 0);
    assert_true(turns >= 1000);
    turns = 0;
    turns_max = 500;
    assert_int_equal(read_json((const char *)json.data), TR_CLOSED);
    assert_int_equal(turns, 500);
    turns_max = 0;
    tr_buffer_fini(&json);
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *code;
        const char *words;
    } cases[] = {
        {"", "OutputsNotFound", "the outputs have to be one JSON object"},
        {"[1]", "OutputsNotFound", "the outputs have to be one JSON object"},
        {"{\"a\": 1}", "OutputsNotFound", "the output 'b' is missing: give a value of type [int]"},
        {"{\"b\": [1, 2, \"x\"], \"a\": 1}", "MismatchingTypes",
         "the output 'b': [2]: 'x' is no value of type int; write a whole number of at most 64 "
         "bits"},
        {"{\"b\": 1, \"a\": 1}", "MismatchingTypes",
         "the output 'b': 1 is no value of type [int]; write a list"},
        {"{\"a\": 1.5, \"b\": []}", "MismatchingTypes",
         "the output 'a': 1.5 is no value of type int; write a whole number of at most 64 bits"},
        {"{\"a\": 1, \"a\": 2, \"b\": []}", "OutputsNotFound", "the outputs: 'a' is there twice"},
        {"{\"a\": 1 \"b\": []}", "OutputsNotFound",
         "the outputs: line 1, column 9: this is no JSON: an object goes on with , or "
         "ends with }; write one object"},
        {"{a: 1}", "OutputsNotFound",
         "the outputs: line 1, column 2: this is no JSON: a name in quotes has to "
         "stand in front of each value; "
         "write one object"},
        {"{\"a\" 1}", "OutputsNotFound",
         "the outputs: line 1, column 6: this is no JSON: a : has to stand behind a "
         "name; write one object"},
        {"{\"b\": [1 2]}", "OutputsNotFound",
         "the outputs: line 1, column 10: this is no JSON: a list goes on with , or "
         "ends with ]; write one object"},
        {"{\n \"a\": 1,\n \"b\": [1, NaN]}", "MismatchingTypes",
         "the output 'b': [1]: line 3, column 11: NaN is no JSON; write \"nan\", \"inf\" or "
         "\"-inf\" as text, as troupe.outputs() does"},
        {"{\"\u00fc\":\n -Infinity}", "MismatchingTypes",
         "the output '?': line 2, column 2: -Infinity is no JSON; write \"nan\", \"inf\" or "
         "\"-inf\" as text, as troupe.outputs() does"},
        {"{\"a\": 1, \"b\": []} x", "OutputsNotFound",
         "the outputs: line 1, column 19: this is no JSON: there is more behind its "
         "end; write one object"},
    };
    DECLARE("int", "[int]");
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(read_json(cases[i].json), TR_INVALID);
        assert_string_equal(problem.code, cases[i].code);
        assert_string_equal(problem.words, cases[i].words);
    }
    assert_int_equal(read_json("{\"a\": 1, \"b\": [1"), TR_INVALID);
    assert_int_equal(read_json("{\"b\": [1,"), TR_INVALID);
    assert_non_null(strstr(problem.words, "the output 'b': [1]: line 1, column 10: this is no "
                                          "JSON: "));
}

static void test_values_elsewhere_are_written_from_there(void **state)
{
    (void)state;
    struct tr_buffer json;
    DECLARE("int", "[int]");
    tr_buffer_array(&slots, 2);
    tr_buffer_i64(&slots, 5);
    tr_slot_write_offloaded(&slots, &(struct tr_offloaded){tr_text_of("/blob"), 4, 0});
    expect_json("{\"a\": 5, \"b\": [1, 2, 3]}");
    tr_buffer_cut(&slots, 0);
    tr_buffer_array(&slots, 2);
    tr_buffer_i64(&slots, 5);
    tr_slot_write_offloaded(&slots, &(struct tr_offloaded){tr_text_of("/gone"), 4, 0});
    assert_int_equal(write_json(&json), TR_NOT_FOUND);
    tr_buffer_fini(&json);
}

static void test_many_paths_are_kept(void **state)
{
    (void)state;
    struct tr_buffer json;
    DECLARE("[file]");
    tr_buffer_init(&json, 0);
    tr_buffer_add_string(&json, "{\"a\": [\"x\"");
    for (int i = 0; i < 30000; i++) {
        tr_buffer_add_string(&json, ",\"file\"");
    }
    tr_buffer_add(&json, "]}", 3);
    assert_int_equal(read_json((const char *)json.data), 0);
    assert_int_equal(kept_paths, 30001);
    assert_int_equal(read_json("{\"a\": [\"x\"]}"), 0);
    assert_int_equal(kept_paths, 30001); /* a task keeps few paths by itself */
    tr_buffer_fini(&json);
}

/* Reads what was written in Flyte's form, and gives the slots anew. */
static int pass_through_flyte(struct tr_buffer *document)
{
    struct tr_buffer plan;
    tr_buffer_init(&plan, 0);
    plan_outputs(TR_DOCUMENT_FLYTE, &plan);
    tr_buffer_cut(&slots, 0);
    problem = (struct tr_exchange_problem){.code = NULL};
    int error = tr_exchange_read(tr_buffer_bytes(&plan), tr_buffer_bytes(document), &keeper, &slots,
                                 &is_decision, &problem);
    tr_buffer_fini(&plan);
    return error;
}

static void test_flytes_documents_hold_the_same(void **state)
{
    (void)state;
    struct tr_buffer document;
    static const char json[] =
        "{\"a\": 7, \"b\": [[1, 2], [], [3]], \"c\": {\"k\": [true]}, \"d\": \"x\", "
        "\"e\": [null, \"s\"]}";
    DECLARE("int", "[[int]]", "{string: [bool]}", "int | string", "[string | none]");
    assert_int_equal(read_json(json), 0);
    assert_int_equal(write_document(TR_DOCUMENT_FLYTE, &document), 0);
    assert_int_equal(pass_through_flyte(&document), 0);
    expect_json(json);
    tr_buffer_fini(&document);
}

/* A list of a million is never in memory as messages; what lies elsewhere is opened. */
static void test_large_lists_of_flytes_pass_in_pieces(void **state)
{
    (void)state;
    struct tr_buffer document;
    struct tr_buffer json;
    DECLARE("[int] | none");
    tr_buffer_array(&slots, 1);
    tr_slot_write_offloaded(&slots, &(struct tr_offloaded){tr_text_of("/blob"), 4, 1});
    assert_int_equal(write_document(TR_DOCUMENT_FLYTE, &document), 0);
    assert_int_equal(pass_through_flyte(&document), 0);
    expect_json("{\"a\": [1, 2, 3]}");
    tr_buffer_fini(&document);
    DECLARE("[int]");
    tr_buffer_init(&json, 0);
    tr_buffer_add_string(&json, "{\"a\": [0");
    for (int i = 1; i < 1000000; i++) {
        tr_buffer_print(&json, ", %d", i);
    }
    tr_buffer_add(&json, "]}", 3);
    assert_int_equal(read_json((const char *)json.data), 0);
    assert_int_equal(write_document(TR_DOCUMENT_FLYTE, &document), 0);
    uint64_t before = tr_memory_used();
    assert_int_equal(pass_through_flyte(&document), 0);
    assert_true(tr_memory_used() - before < 8U << 20);
    expect_json((const char *)json.data);
    tr_buffer_fini(&document);
    tr_buffer_fini(&json);
}

static void test_what_is_wrong_in_flytes_documents_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *type;
        const char *code;
        const char *words;
    } cases[] = {
        {"\xff", 1, "int", "OutputsNotFound",
         "the outputs: outputs.pb is no LiteralMap of Flyte's"},
        {"", 0, "int", "OutputsNotFound", "the output 'a' is missing: give a value of type int"},
        {"\x0a\x05\x0a\x01"
         "a\x12\x00",
         7, "int", "MismatchingTypes",
         "the output 'a': a literal holds no value of a kind that is known"},
        {"\x0a\x0c\x0a\x01"
         "a\x12\x07\x0a\x05\x0a\x03\x1a\x01x",
         14, "int", "MismatchingTypes",
         "the output 'a': 'x' is no value of type int; write a whole number of at most 64 bits"},
        {"\x0a\x11\x0a\x01"
         "a\x12\x0c\x12\x0a\x0a\x08\x0a\x06\x0a\x04\x1a\x02\xff\xff",
         19, "[string]", "MismatchingTypes",
         "the output 'a': [0]: a string is no UTF-8; write bytes as Binary"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_buffer document;
        tr_buffer_init(&document, 0);
        tr_buffer_add(&document, cases[i].bytes, cases[i].size);
        DECLARE(cases[i].type);
        assert_int_equal(pass_through_flyte(&document), TR_INVALID);
        assert_string_equal(problem.code, cases[i].code);
        assert_string_equal(problem.words, cases[i].words);
        tr_buffer_fini(&document);
    }
}

static void test_plans_that_are_none_are_malformed(void **state)
{
    (void)state;
    struct tr_buffer plan;
    struct tr_buffer json;
    const struct tr_exchange_writer writer = {
        .open = open_elsewhere, .close = close_elsewhere, .put = put, .self = &json};
    DECLARE("int", "[int]");
    tr_buffer_init(&plan, 0);
    plan_outputs(TR_DOCUMENT_JSON, &plan);
    for (size_t size = 0; size < plan.size; size++) {
        struct tr_bytes cut = {.data = plan.data, .size = size};
        assert_int_equal(
            tr_exchange_read(cut, bytes_of("{}"), &keeper, &slots, &is_decision, &problem),
            TR_MALFORMED);
        tr_buffer_init(&json, 0);
        assert_int_equal(tr_exchange_write(cut, &writer), TR_MALFORMED);
        tr_buffer_fini(&json);
    }
    tr_buffer_fini(&plan);
    tr_buffer_cut(&slots, 0);
    tr_buffer_init(&plan, 0);
    assert_int_equal(
        tr_exchange_plan_inputs(&variables, TR_DOCUMENT_JSON, tr_buffer_bytes(&slots), &plan),
        TR_MALFORMED);
    tr_buffer_fini(&plan);
}

/* Of a dynamic task only: a key that is none of its outputs says what the document is. */
static void test_a_document_may_decide_a_graph(void **state)
{
    (void)state;
    DECLARE("int", "[int]");
    static const struct {
        const char *json;
        bool is_decision;
    } cases[] = {
        {"{\"nodes\": {}}", true},
        {"{\"tasks\": {\"x\": [1, {}]}, \"troupe\": 1}", true},
        {"{\"outputs\": {\"a\": 1}, \"nodes\": {\"this\": is no JSON", true},
        {"{\"a\": 1, \"b\": [], \"outputs\": 3}", false},
        {"{\"a\": 1, \"b\": [], \"x\": {\"nodes\": {}}}", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        is_dynamic = true;
        is_decision = false;
        assert_int_equal(read_json(cases[i].json), 0);
        assert_int_equal(is_decision, cases[i].is_decision);
        assert_int_equal(slots.size == 0, cases[i].is_decision);
    }
    is_dynamic = is_decision = false;
    assert_int_equal(read_json("{\"nodes\": {}}"), TR_INVALID);
    assert_false(is_decision);
}

static void test_an_output_of_that_name_is_an_output(void **state)
{
    (void)state;
    DECLARE("int");
    items[0].name = tr_text_of("nodes");
    is_dynamic = true;
    assert_int_equal(read_json("{\"nodes\": 3}"), 0);
    assert_false(is_decision);
    assert_int_equal(read_json("{\"troupe\": 1, \"nodes\": {}}"), 0);
    assert_true(is_decision);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_every_type_comes_back),
        TEST(test_order_blanks_and_strangers_do_not_matter),
        TEST(test_lists_of_all_sizes_are_packed_as_ever),
        TEST(test_turns_are_taken_between_elements),
        TEST(test_what_is_wrong_is_named),
        TEST(test_values_elsewhere_are_written_from_there),
        TEST(test_many_paths_are_kept),
        TEST(test_a_document_may_decide_a_graph),
        TEST(test_an_output_of_that_name_is_an_output),
        TEST(test_flytes_documents_hold_the_same),
        TEST(test_large_lists_of_flytes_pass_in_pieces),
        TEST(test_what_is_wrong_in_flytes_documents_is_named),
        TEST(test_plans_that_are_none_are_malformed),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
