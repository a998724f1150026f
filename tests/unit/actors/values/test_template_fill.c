/*
 * Templates: what each becomes, what stays as it stands, and what is refused in which words.
 */
#include "actors/values/template_fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/value/slot.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static const struct {
    const char *name;
    const char *type;
    const char *json; /* NULL: the value lies elsewhere */
} inputs[] = {
    {"n", "int", "-7"},
    {"f", "float", "0.1"},
    {"s", "string", "\"a {{.inputs.n}} b\""},
    {"yes", "bool", "true"},
    {"at", "datetime", "\"2026-08-20T09:30:00.5Z\""},
    {"d", "duration", "\"5.25s\""},
    {"file", "file", "\"/data/x.csv\""},
    {"set", "dataset", "{\"uri\": \"s3://b/k\", \"format\": \"parquet\"}"},
    {"color", "enum(red, blue)", "\"blue\""},
    {"l", "[[int]]", "[[1, 2], [], [3]]"},
    {"u", "int | string", "\"x\""},
    {"o", "int | none", "null"},
    {"m", "{string: int}", "{\"a\": 1}"},
    {"st", "struct", "{\"a\": 1}"},
    {"b", "bytes", "\"aGk=\""},
    {"large", "string", NULL},
    {"quotes", "string", "\"it's $(a) `b`\\\"'\""},
    {"a-b_c", "int", "1"},
};

#define COUNT TR_COUNT_OF(inputs)

static struct tr_arena arena;
static struct tr_variable items[COUNT];
static struct tr_variables variables = {.items = items, .count = COUNT};
static struct tr_buffer slots;
static struct tr_template_values values;

static void add_slot(size_t i, struct tr_report *report)
{
    if (inputs[i].json == NULL) {
        tr_slot_write_offloaded(&slots, &(struct tr_offloaded){tr_text_of("/blob"), 300000, 0});
        return;
    }
    struct tr_literal_reader reader = {.report = report, .arena = &arena};
    const struct tr_tree *tree = tr_json_read(&arena, report, 0, tr_text_of(inputs[i].json));
    assert_non_null(tree);
    assert_true(tr_literal_read(&reader, items[i].type, tree, &slots));
}

static int set_up(void **state)
{
    (void)state;
    struct tr_types types;
    struct tr_report report;
    struct tr_text problem;
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    tr_report_init(&report);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        items[i].name = tr_text_of(inputs[i].name);
        items[i].type = tr_type_parse(&types, tr_text_of(inputs[i].type), &problem);
        assert_non_null(items[i].type);
        add_slot(i, &report);
    }
    tr_report_fini(&report);
    values = (struct tr_template_values){
        .names = {[TR_TEMPLATE_INPUT_PREFIX] = tr_text_of("/in"),
                  [TR_TEMPLATE_OUTPUT_PREFIX] = tr_text_of("/out"),
                  [TR_TEMPLATE_RAW_OUTPUT_PREFIX] = tr_text_of("/raw"),
                  [TR_TEMPLATE_UNIQUE_KEY] = tr_text_of("key"),
                  [TR_TEMPLATE_CHECKPOINT_PREFIX] = tr_text_of("/check"),
                  [TR_TEMPLATE_PREVIOUS_CHECKPOINT] = tr_text_of("\"\""),
                  [TR_TEMPLATE_NAMESPACE] = tr_text_of("demo-development")},
        .inputs = &variables,
        .slots = tr_buffer_bytes(&slots)};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_buffer_fini(&slots);
    tr_arena_fini(&arena);
    return 0;
}

static char filled[1024];

/* Fills in; `filled` is the text, or why there is none. */
static int fill(const char *text)
{
    struct tr_buffer buffer;
    struct tr_template_problem problem;
    tr_buffer_init(&buffer, 0);
    int error = tr_template_fill(&values, tr_text_of(text), &buffer, &problem);
    snprintf(filled, sizeof filled, "%.*s", error == 0 ? (int)buffer.size : 512,
             error != 0         ? problem.words
             : buffer.size == 0 ? ""
                                : (const char *)buffer.data);
    tr_buffer_fini(&buffer);
    return error;
}

static void test_templates_become_their_values(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{{.inputs.n}}", "-7"},
        {"{{$inputs.n}}", "-7"},
        {"{{ .Inputs.n }}x{{\t$INPUTS.n\n}}", "-7x-7"},
        {"{{.inputs.f}}", "0.1"},
        {"--text={{.inputs.s}}", "--text=a {{.inputs.n}} b"},
        {"{{.inputs.yes}}", "true"},
        {"{{.inputs.at}}", "2026-08-20T09:30:00.5Z"},
        {"{{.inputs.d}}", "seconds:5 nanos:250000000"},
        {"{{.inputs.file}}", "/data/x.csv"},
        {"{{.inputs.set}}", "s3://b/k"},
        {"{{.inputs.color}}", "blue"},
        {"{{.inputs.l}}", "[[1,2],[],[3]]"},
        {"{{.inputs.u}}", "x"},
        {"{{.inputs.a-b_c}}", "1"},
        {"{{.inputPrefix}} {{.InputPrefix}}", "/in /in"},
        {"{{.outputPrefix}}/outputs.json", "/out/outputs.json"},
        {"{{.rawOutputDataPrefix}}", "/raw"},
        {"{{.perRetryUniqueKey}}", "key"},
        {"{{.checkpointOutputPrefix}}", "/check"},
        {"{{.prevCheckpointPrefix}}", "\"\""},
        {"{{.namespace}}", "demo-development"},
        {"{{`{{.inputs.n}}`}} {{`{{`}}.inputs.n}}", "{{.inputs.n}} {{.inputs.n}}"},
        {"{{.inputs.n | quote}} {{ .namespace|quote }}", "'-7' 'demo-development'"},
        {"echo {{.inputs.quotes | quote}}!", "echo 'it'\\''s $(a) `b`\"'\\'''!"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(fill(cases[i][0]), 0);
        assert_string_equal(filled, cases[i][1]);
    }
}

/* Definitions that were compiled before such were refused go on as they did. */
static void test_everything_else_stays(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "plain",
        "{",
        "{{",
        "{{}}",
        "{{ }}",
        "{{.}}",
        "{{.taskRunID}}",
        "{{inputs.n}",
        "{{inputs.n}}",
        "{{.inputs.n",
        "}}{{",
        "{ {.n}}",
        "{{.inputs.}}",
        "{{.inputs}}",
        "{{.name.x}}",
        "{{{.nothing}}}",
        "{% for x in y %}{{ x.name }}{% endfor %}",
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(fill(cases[i]), 0);
        assert_string_equal(filled, cases[i]);
    }
    assert_int_equal(fill("{{{.inputs.n}}}"), 0);
    assert_string_equal(filled, "{-7}");
}

static void test_what_cannot_be_filled_in_is_told(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{{.inputs.N}}", "the template {{.inputs.N}} names no input of the task; it has n, f, s, "
                          "yes, at, d, file, set, ..."},
        {"a {{$TaskTemplatePath}}", "the template {{.taskTemplatePath}} asks for task.pb, which is "
                                    "not written; hand on what the task needs as inputs or in "
                                    "`env`"},
        {"{{.inputs.large}}", "the template {{.inputs.large}}: the value has 300000 bytes, more "
                              "than TR_INLINE_BYTES_MAX (262144); read it from $TROUPE_INPUTS"},
    };
    static const char *const formless[] = {"o", "m", "st", "b"};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(fill(cases[i][0]), TR_INVALID);
        assert_string_equal(filled, cases[i][1]);
    }
    for (size_t i = 0; i < TR_COUNT_OF(formless); i++) {
        char text[64];
        char expected[256];
        snprintf(text, sizeof text, "{{.inputs.%s}}", formless[i]);
        snprintf(expected, sizeof expected,
                 "the template %s: a value that is none, bytes, a map, a struct or an error has no "
                 "form as text; read it from $TROUPE_INPUTS",
                 text);
        assert_int_equal(fill(text), TR_INVALID);
        assert_string_equal(filled, expected);
    }
}

static void test_each_template_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *before;
        enum tr_template_kind kind;
        const char *whole;
        const char *name;
        const char *rest;
    } cases[] = {
        {"a {{ .inputs.n }} b", "a ", TR_TEMPLATE_IS_INPUT, "{{ .inputs.n }}", "n", " b"},
        {"{{$INPUTS.N}}{{", "", TR_TEMPLATE_IS_INPUT, "{{$INPUTS.N}}", "N", "{{"},
        {"{{{.Input}}}", "{", TR_TEMPLATE_IS_NAME, "{{.Input}}", ".Input", "}"},
        {"{{ other }}{{.x}}", "", TR_TEMPLATE_IS_UNKNOWN, "{{ other }}", "other", "{{.x}}"},
        {"{{}}", "", TR_TEMPLATE_IS_UNKNOWN, "{{}}", "", ""},
        {"{{.inputs.n|quote}}", "", TR_TEMPLATE_IS_INPUT, "{{.inputs.n|quote}}", "n", ""},
        {"{{.x | upper}}", "", TR_TEMPLATE_IS_UNKNOWN, "{{.x | upper}}", ".x", ""},
        {"{{ | quote}}", "", TR_TEMPLATE_IS_UNKNOWN, "{{ | quote}}", "", ""},
        {"{{.inputs.}}", "", TR_TEMPLATE_IS_UNKNOWN, "{{.inputs.}}", ".inputs.", ""},
        {"{{.inputs.n {{.inputs.z}}", "", TR_TEMPLATE_IS_OPEN, "{{.inputs.n ", "{{.inputs.n ",
         "{{.inputs.z}}"},
        {"x{{.inputs.n}", "x", TR_TEMPLATE_IS_OPEN, "{{.inputs.n}", "{{.inputs.n}", ""},
        {"{{`a {{.b}} c`}}d", "", TR_TEMPLATE_IS_TEXT, "{{`a {{.b}} c`}}", "a {{.b}} c", "d"},
        {"{{ `}}` }}", "", TR_TEMPLATE_IS_TEXT, "{{ `}}` }}", "}}", ""},
        {"{{`a`b}}", "", TR_TEMPLATE_IS_UNKNOWN, "{{`a`b}}", "`a`b", ""},
        {"{{`a", "", TR_TEMPLATE_IS_OPEN, "{{`a", "{{`a", ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_text text = tr_text_of(cases[i].text);
        struct tr_text before;
        struct tr_template template;
        assert_true(tr_template_next(&text, &before, &template));
        assert_int_equal(template.kind, cases[i].kind);
        assert_true(tr_text_equal(before, tr_text_of(cases[i].before)));
        assert_true(tr_text_equal(template.whole, tr_text_of(cases[i].whole)));
        assert_true(tr_text_equal(template.name, tr_text_of(cases[i].name)));
        assert_true(tr_text_equal(text, tr_text_of(cases[i].rest)));
    }
    struct tr_text plain = tr_text_of("{ no }}");
    struct tr_text before;
    struct tr_template template;
    assert_false(tr_template_next(&plain, &before, &template));
    assert_true(tr_text_equal(before, tr_text_of("{ no }}")));
}

static void test_numbers_look_as_in_go(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0, "0"},
        {3, "3"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1e-4, "0.0001"},
        {1e-5, "1e-05"},
        {1.0 / 3, "0.3333333333333333"},
        {123456789.125, "123456789.125"},
        {1e300, "1e+300"},
        {2.5e-7, "2.5e-07"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_buffer slot;
        struct tr_buffer buffer;
        struct tr_template_problem problem;
        struct tr_variables one = {.items = &items[1], .count = 1}; /* f, a float */
        tr_buffer_init(&slot, 0);
        tr_buffer_init(&buffer, 0);
        tr_buffer_array(&slot, 1);
        tr_buffer_f64(&slot, cases[i].number);
        struct tr_template_values with = {.inputs = &one, .slots = tr_buffer_bytes(&slot)};
        assert_int_equal(tr_template_fill(&with, tr_text_of("{{.inputs.f}}"), &buffer, &problem),
                         0);
        tr_buffer_add(&buffer, "", 1);
        assert_string_equal((const char *)buffer.data, cases[i].text);
        tr_buffer_fini(&buffer);
        tr_buffer_fini(&slot);
    }
}

static void test_configurations_are_filled_in_at_any_depth(void **state)
{
    (void)state;
    struct tr_buffer config;
    struct tr_buffer expected;
    struct tr_buffer buffer;
    struct tr_template_problem problem;
    tr_buffer_init(&config, 0);
    tr_buffer_init(&expected, 0);
    tr_buffer_init(&buffer, 0);
    for (int i = 0; i < 2; i++) {
        struct tr_buffer *to = i == 0 ? &config : &expected;
        tr_buffer_map(to, 2);
        tr_buffer_text_value(to, tr_text_of("{{.inputs.n}}"));
        tr_buffer_array(to, 3);
        tr_buffer_text_value(to, tr_text_of(i == 0 ? "q-{{.inputs.n}}" : "q--7"));
        tr_buffer_f64(to, 1.5);
        tr_buffer_nil(to);
        tr_buffer_text_value(to, tr_text_of("z"));
        tr_buffer_text_value(to, tr_text_of(i == 0 ? "{{.namespace}}" : "demo-development"));
    }
    assert_true(tr_template_is_in(config.data, config.size));
    assert_int_equal(tr_template_fill_value(&values, tr_buffer_bytes(&config), &buffer, &problem),
                     0);
    assert_int_equal(buffer.size, expected.size);
    assert_memory_equal(buffer.data, expected.data, expected.size);
    config.size--;
    assert_int_equal(tr_template_fill_value(&values, tr_buffer_bytes(&config), &buffer, &problem),
                     TR_MALFORMED);
    tr_buffer_fini(&config);
    tr_buffer_fini(&expected);
    tr_buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates_become_their_values),
        cmocka_unit_test(test_everything_else_stays),
        cmocka_unit_test(test_what_cannot_be_filled_in_is_told),
        cmocka_unit_test(test_each_template_is_found),
        cmocka_unit_test(test_numbers_look_as_in_go),
        cmocka_unit_test(test_configurations_are_filled_in_at_any_depth),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
