/*
 * The printers: what people read word for word, JSON that a JSON library reads, redaction that
 * leaks nothing, and no size of a buffer or depth of a value that breaks them.
 */
#include "tests/support/test.h"

#include <jansson.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/codec/print.h"
#include "tests/support/msgpack_reference.h"
#include "tests/support/sample.h"
#include "tests/support/sample_body.h"
#include "tests/support/schemas_all.h"

static char text[1 << 20];
static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];

static const char *any(enum tr_print_form form, const char *bytes, size_t size)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_print_any(&sink, form, (struct tr_bytes){(const uint8_t *)bytes, size});
    assert_false(sink.truncated);
    return text;
}

#define LINE(bytes) any(TR_PRINT_LINE, bytes, sizeof(bytes) - 1)
#define JSON(bytes) any(TR_PRINT_JSON, bytes, sizeof(bytes) - 1)

static const char *body(enum tr_print_form form, const struct tr_schema *schema, uint8_t version,
                        size_t size)
{
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_print_body(&sink, form, schema, version, (struct tr_bytes){buffer, size});
    assert_false(sink.truncated);
    return text;
}

/* Packs a tick as the tests below know it. */
static size_t pack_tick(void)
{
    struct tr_sample_tick tick = {.count = 3, .token = tr_text_of("hush!"), .done = true};
    tick.place = (struct tr_ref){{7, 12}, 3};
    assert_int_equal(tr_array_set(&tick.title, tr_text_of("say \"x\"\n")), 0);
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_tick_pack(&tick, &writer), 0);
    return tr_writer_size(&writer);
}

static void body_in_both_forms(void **state)
{
    (void)state;
    size_t size = pack_tick();
    assert_string_equal(body(TR_PRINT_LINE, &tr_sample_tick_schema, 3, size),
                        "sample_tick{count=3 token=<5 bytes redacted> title=\"say \\\"x\\\"\\n\" "
                        "place=7/12@3 done=true}");
    assert_string_equal(body(TR_PRINT_JSON, &tr_sample_tick_schema, 3, size),
                        "{\"count\":3,\"token\":{\"redacted\":5},\"title\":\"say \\\"x\\\"\\n\","
                        "\"place\":\"7/12@3\",\"done\":true}");
}

static void old_versions_show_what_they_had(void **state)
{
    (void)state;
    size_t size = sample_body(&tr_sample_tick_schema, 1, 0, buffer, sizeof buffer);
    assert_string_equal(body(TR_PRINT_LINE, &tr_sample_tick_schema, 1, size),
                        "sample_tick{count=81985529216486895 token=<28 bytes redacted>}");
    buffer[0] = 0x90;
    assert_string_equal(body(TR_PRINT_LINE, &tr_sample_stop_schema, 1, 1), "sample_stop{}");
    assert_string_equal(body(TR_PRINT_JSON, &tr_sample_stop_schema, 1, 1), "{}");
}

static void bad_bodies_say_where(void **state)
{
    (void)state;
    size_t size = pack_tick();
    assert_string_equal(body(TR_PRINT_LINE, &tr_sample_tick_schema, 3, size - 1),
                        "sample_tick<undecodable: TRUNCATED in done, 21 bytes>");
    assert_string_equal(body(TR_PRINT_JSON, &tr_sample_tick_schema, 3, size - 1),
                        "{\"undecodable\":\"TRUNCATED\",\"field\":\"done\",\"size\":21}");
    assert_string_equal(body(TR_PRINT_LINE, &tr_sample_tick_schema, 9, size),
                        "sample_tick<undecodable: VERSION, 22 bytes>");
}

static void any_in_a_line(void **state)
{
    (void)state;
    assert_string_equal(LINE("\x07"), "7");
    assert_string_equal(LINE("\xe0"), "-32");
    assert_string_equal(LINE("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "18446744073709551615");
    assert_string_equal(LINE("\xc0"), "null");
    assert_string_equal(LINE(""), "null");
    assert_string_equal(LINE("\x93\xc2\xc3\x90"), "[false,true,[]]");
    assert_string_equal(LINE("\x82\xa1"
                             "a\x91\x01\x07\x80"),
                        "{\"a\":[1],\"7\":{}}");
    assert_string_equal(LINE("\xc4\x00"), "<0 bytes>");
    assert_string_equal(LINE("\xc4\x02\x00\xff"), "<2 bytes 00ff>");
    assert_string_equal(LINE("\xd4\x05\x61"), "<extension 5 <1 bytes 61>>");
    assert_string_equal(LINE("\xcb\x7f\xf0\0\0\0\0\0\0"), "inf");
    assert_string_equal(LINE("\xcb\xff\xf0\0\0\0\0\0\0"), "-inf");
    assert_string_equal(LINE("\xcb\x7f\xf8\0\0\0\0\0\0"), "nan");
    char blob[2 + 40] = "\xc4\x28";
    assert_string_equal(any(TR_PRINT_LINE, blob, sizeof blob),
                        "<40 bytes 0000000000000000000000000000000000000000000000000000000000000000"
                        "\xe2\x80\xa6>");
}

static void any_in_json(void **state)
{
    (void)state;
    assert_string_equal(JSON("\xc4\x00"), "\"\"");
    assert_string_equal(JSON("\xc4\x01"
                             "f"),
                        "\"Zg==\"");
    assert_string_equal(JSON("\xc4\x02"
                             "fo"),
                        "\"Zm8=\"");
    assert_string_equal(JSON("\xc4\x03"
                             "foo"),
                        "\"Zm9v\"");
    assert_string_equal(JSON("\xc4\x06"
                             "\xfb\xff\xbe"
                             "bar"),
                        "\"+/++YmFy\"");
    assert_string_equal(JSON("\xc7\x02\xff\x01\x02"), "{\"extension\":-1,\"data\":\"AQI=\"}");
    assert_string_equal(JSON("\xcb\x7f\xf0\0\0\0\0\0\0"), "null");
    assert_string_equal(JSON("\xcb\x7f\xf8\0\0\0\0\0\0"), "null");
    assert_string_equal(JSON("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), "0.1");
    assert_string_equal(JSON("\xcb\x40\x08\0\0\0\0\0\0"), "3.0");
    assert_string_equal(JSON("\xcb\x80\0\0\0\0\0\0\0"), "-0.0");
    assert_string_equal(JSON("\xcb\x7f\xef\xff\xff\xff\xff\xff\xff"), "1.7976931348623157e+308");
}

static void map_keys_become_text(void **state)
{
    (void)state;
    assert_string_equal(JSON("\x88\x01\xc0\xff\xc0\xc0\xc0\xc3\xc0\xc4\x01"
                             "f\xc0\x91\x80\xc0"
                             "\x81\x01\x02\xc0\xd4\x05\x61\xc0"),
                        "{\"1\":null,\"-1\":null,\"null\":null,\"true\":null,\"Zg==\":null,"
                        "\"<array>\":null,\"<map>\":null,\"<extension>\":null}");
    assert_string_equal(LINE("\x81\xc4\x01"
                             "f\x01"),
                        "{\"<1 bytes 66>\":1}");
}

static void text_is_escaped(void **state)
{
    (void)state;
    assert_string_equal(JSON("\xab\"\\/\b\f\n\r\t\0\x1f\x7f"),
                        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\"");
    assert_string_equal(LINE("\xa6\xc2\x9b\xc2\xa0\xc3\xa4"), "\"\\u009b\xc2\xa0\xc3\xa4\"");
    assert_string_equal(LINE("\xa4"
                             "a\xff\xc3("),
                        "\"a\\ufffd\\ufffd(\"");
}

static void bad_any_is_only_counted(void **state)
{
    (void)state;
    assert_string_equal(LINE("\x92\xa3"
                             "abc"),
                        "<undecodable: TRUNCATED, 5 bytes>");
    assert_string_equal(JSON("\x01\x02"), "{\"undecodable\":\"MALFORMED\",\"size\":2}");
    memset(buffer, 0x91, 70);
    buffer[70] = 0xc0;
    assert_string_equal(any(TR_PRINT_LINE, (const char *)buffer, 71),
                        "<undecodable: LIMIT, 71 bytes>");
}

static void deepest_value_is_printed(void **state)
{
    (void)state;
    memset(buffer, 0x91, TR_NESTING_MAX);
    buffer[TR_NESTING_MAX] = 0x90;
    const char *printed = any(TR_PRINT_JSON, (const char *)buffer, TR_NESTING_MAX + 1);
    assert_int_equal(strlen(printed), 2 * (TR_NESTING_MAX + 1));
    assert_int_equal(strspn(printed, "["), TR_NESTING_MAX + 1);
}

static json_t *parse(const char *printed)
{
    json_error_t error;
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_t *json = json_loads(printed, flags, &error);
    if (json == NULL) {
        fail_msg("no JSON: %s: %s", error.text, printed);
    }
    return json;
}

static void json_is_json(void **state)
{
    (void)state;
    msgpack_sbuffer packed;
    msgpack_sbuffer_init(&packed);
    msgpack_packer packer;
    msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
    struct draw draw = {9};
    for (int round = 0; round < 1000; round++) {
        msgpack_reference_value(&draw, &packer);
        json_decref(parse(any(TR_PRINT_JSON, packed.data, packed.size)));
        msgpack_sbuffer_clear(&packed);
    }
    msgpack_sbuffer_destroy(&packed);
    const struct tr_registry *registry = schemas_all();
    for (size_t i = 0; i < registry->count; i++) {
        const struct tr_schema *schema = registry->by_id[i];
        for (uint64_t variant = 0; variant < 100; variant++) {
            size_t size = sample_body(schema, schema->version, variant, buffer, sizeof buffer);
            json_t *json = parse(body(TR_PRINT_JSON, schema, schema->version, size));
            assert_int_equal(json_object_size(json), schema->field_count);
            for (uint16_t field = 0; field < schema->field_count; field++) {
                assert_non_null(json_object_get(json, schema->fields()[field].name));
            }
            json_decref(json);
        }
    }
}

/* Two values that differ only in their secrets, of the same sizes, must look the same. */
static void secrets_do_not_show(void **state)
{
    (void)state;
    static char first[2][4096];
    for (unsigned round = 0; round < 2; round++) {
        struct tr_sample_kinds kinds = {.large = 7, .words = tr_text_of("open")};
        kinds.secret_truth = round == 1;
        kinds.secret_tiny = (uint8_t)(1 + 100 * round);
        kinds.secret_small = (uint16_t)(1 + 1000 * round);
        kinds.secret_middling = 1 + 100000 * round;
        kinds.secret_large = 1 + 10000000000ULL * round;
        kinds.secret_number = round == 0 ? 4 : -4000;
        kinds.secret_real = round;
        kinds.secret_who = (struct tr_key){round, 77 * round};
        kinds.secret_whom = (struct tr_ref){{round, 77 * round}, round};
        kinds.secret_words = tr_text_of(round == 0 ? "aaaa" : "bbbb");
        kinds.secret_blob = (struct tr_bytes){(const uint8_t *)(round == 0 ? "aa" : "bb"), 2};
        kinds.secret_tree = (struct tr_bytes){(const uint8_t *)(round == 0 ? "\1" : "\2"), 1};
        assert_int_equal(tr_array_set(&kinds.secret_label, tr_text_of(round == 0 ? "c" : "d")), 0);
        assert_int_equal(tr_array_set(&kinds.secret_digest, tr_text_of(round == 0 ? "e" : "f")), 0);
        struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
        assert_int_equal(tr_sample_kinds_pack(&kinds, &writer), 0);
        size_t size = tr_writer_size(&writer);
        for (unsigned form = 0; form < 2; form++) {
            const char *printed = body((enum tr_print_form)form, &tr_sample_kinds_schema, 1, size);
            if (round == 0) {
                assert_true(strlen(printed) < sizeof first[form]);
                memcpy(first[form], printed, strlen(printed) + 1);
            }
            assert_string_equal(printed, first[form]);
        }
    }
    assert_non_null(strstr(first[0], "secret_large=<8 bytes redacted>"));
    assert_non_null(strstr(first[1], "\"secret_words\":{\"redacted\":4}"));
}

static int append(void *self, struct tr_text piece)
{
    size_t *size = self;
    memcpy(text + *size, piece.data, piece.size);
    *size += piece.size;
    return 0;
}

/* The same words, whether the buffer is large, or small and emptied often; a cut is a prefix. */
static void every_size_of_buffer(void **state)
{
    (void)state;
    size_t size = sample_body(&tr_sample_kinds_schema, 1, 0, buffer, sizeof buffer);
    struct tr_bytes bytes = {buffer, size};
    for (unsigned form = 0; form < 2; form++) {
        static char whole[8192];
        struct tr_sink sink = tr_sink_of(whole, sizeof whole);
        tr_print_body(&sink, (enum tr_print_form)form, &tr_sample_kinds_schema, 1, bytes);
        size_t length = sink.size;
        for (size_t capacity = 1; capacity <= length; capacity += 1 + capacity / 40) {
            char *small = malloc(capacity);
            sink = tr_sink_of(small, capacity);
            tr_print_body(&sink, (enum tr_print_form)form, &tr_sample_kinds_schema, 1, bytes);
            assert_true(sink.truncated && strlen(small) < capacity);
            if (capacity >= 4) {
                assert_memory_equal(small, whole, sink.size - 3);
            }
            size_t collected = 0;
            sink = tr_sink_flushing(small, capacity, append, &collected);
            tr_print_body(&sink, (enum tr_print_form)form, &tr_sample_kinds_schema, 1, bytes);
            tr_sink_flush(&sink);
            assert_int_equal(collected, length);
            assert_memory_equal(text, whole, length);
            free(small);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_in_both_forms),
        cmocka_unit_test(old_versions_show_what_they_had),
        cmocka_unit_test(bad_bodies_say_where),
        cmocka_unit_test(any_in_a_line),
        cmocka_unit_test(any_in_json),
        cmocka_unit_test(map_keys_become_text),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(bad_any_is_only_counted),
        cmocka_unit_test(deepest_value_is_printed),
        cmocka_unit_test(json_is_json),
        cmocka_unit_test(secrets_do_not_show),
        cmocka_unit_test(every_size_of_buffer),
    };
    return cmocka_run_group_tests_name("schemas/codec/print", tests, NULL, NULL);
}
