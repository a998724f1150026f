/*
 * The printers of envelopes and whole messages: what people read word for word, JSON that a JSON
 * library reads, and what is shown in place of bodies that nobody knows.
 */
#include "tests/support/test.h"

#include <jansson.h>
#include <string.h>

#include "schemas/runtime/envelope_print.h"
#include "tests/support/sample.h"
#include "tests/support/schemas_all.h"

static char text[1 << 13];
static uint8_t buffer[256];

static struct tr_envelope example_envelope(void)
{
    return (struct tr_envelope){.envelope_version = 1,
                                .kind = TR_KIND_TELL,
                                .flags = TR_FLAG_HINT | TR_FLAG_BOUNDARY | 1 << 7,
                                .version = 3,
                                .type = 65001,
                                .to_group = 1,
                                .to_serial = 9,
                                .from_group = 1,
                                .from_serial = 5,
                                .from_incarnation = 2,
                                .sequence = 7,
                                .cause_group = 1,
                                .cause_serial = 4,
                                .cause_incarnation = 1,
                                .cause_sequence = 6,
                                .clock = UINT64_MAX};
}

static void envelope_in_both_forms(void **state)
{
    (void)state;
    struct tr_envelope envelope = example_envelope();
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_print_envelope(&sink, TR_PRINT_LINE, &envelope);
    assert_string_equal(text, "tell 1/5@2#7 -> 1/9 cause=1/4@1#6 flags=hint|boundary|bit7 "
                              "type=65001 version=3 clock=18446744073709551615");
    envelope.from_group = TR_GROUP_HOST_BIT | 99;
    envelope.cause_group = TR_GROUP_HOST_BIT | 3ULL << TR_GROUP_HOST_SHIFT | 99;
    sink = tr_sink_of(text, sizeof text);
    tr_print_envelope(&sink, TR_PRINT_LINE, &envelope);
    assert_string_equal(text, "tell 0/5@2#7 -> 1/9 cause=3/4@1#6 flags=hint|boundary|bit7 "
                              "type=65001 version=3 clock=18446744073709551615");
    sink = tr_sink_of(text, sizeof text);
    tr_print_envelope(&sink, TR_PRINT_JSON, &envelope);
    assert_non_null(strstr(text, "\"from_group\":0,"));
    assert_non_null(strstr(text, "\"cause_group\":3,"));
    envelope = example_envelope();
    sink = tr_sink_of(text, sizeof text);
    tr_print_envelope(&sink, TR_PRINT_JSON, &envelope);
    assert_string_equal(text,
                        "{\"envelope_version\":1,\"kind\":1,\"flags\":137,\"hops\":0,\"version\":3,"
                        "\"type\":65001,\"body_size\":0,\"to_group\":1,\"to_serial\":9,"
                        "\"to_incarnation\":0,\"to_epoch\":0,\"from_group\":1,\"from_serial\":5,"
                        "\"from_incarnation\":2,\"from_epoch\":0,\"sequence\":7,\"cause_group\":1,"
                        "\"cause_serial\":4,\"cause_incarnation\":1,\"cause_sequence\":6,"
                        "\"deadline_ms\":0,\"trace\":0,\"clock\":18446744073709551615,"
                        "\"kind_name\":\"tell\"}");
}

/* Packs a tick of whose three parts each is shown differently. */
static size_t pack_tick(void)
{
    struct tr_sample_tick tick = {.count = 3, .token = tr_text_of("hush!"), .done = true};
    tick.place = (struct tr_ref){{7, 12}, 3};
    assert_int_equal(tr_array_set(&tick.title, tr_text_of("say \"x\"\n")), 0);
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_tick_pack(&tick, &writer), 0);
    return tr_writer_size(&writer);
}

static json_t *parse(const char *printed)
{
    json_error_t error;
    size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_t *json = json_loads(printed, flags, &error);
    if (json == NULL) {
        fail_msg("no JSON: %s: %s", error.text, printed);
    }
    return json;
}

/* Prints an envelope and `size` bytes of body that lie in the buffer. */
static const char *message(enum tr_print_form form, uint16_t type, size_t size)
{
    static uint8_t bytes[4096];
    struct tr_envelope envelope = example_envelope();
    envelope.type = type;
    envelope.flags = 0;
    envelope.clock = 0;
    envelope.body_size = (uint32_t)size;
    tr_envelope_pack(&envelope, bytes);
    memcpy(bytes + TR_ENVELOPE_BYTES, buffer, size);
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_print_message(&sink, form, schemas_all(),
                     (struct tr_bytes){bytes, TR_ENVELOPE_BYTES + size});
    return text;
}

static void whole_messages(void **state)
{
    (void)state;
    size_t size = pack_tick();
    assert_string_equal(message(TR_PRINT_LINE, 65001, size),
                        "tell 1/5@2#7 -> 1/9 cause=1/4@1#6 type=65001 version=3 body_size=22: "
                        "sample_tick{count=3 token=<5 bytes redacted> title=\"say \\\"x\\\"\\n\" "
                        "place=7/12@3 done=true}");
    json_t *json = parse(message(TR_PRINT_JSON, 65001, size));
    assert_string_equal(json_string_value(json_object_get(json, "name")), "sample_tick");
    assert_int_equal(json_object_size(json_object_get(json, "body")), 5);
    assert_non_null(json_object_get(json_object_get(json, "envelope"), "trace"));
    json_decref(json);
    const char *unknown = message(TR_PRINT_LINE, 64999, size);
    assert_non_null(strstr(unknown, ": <undecodable: UNKNOWN_TYPE, 22 bytes>"));
    json_decref(parse(message(TR_PRINT_JSON, 64999, size)));
    json_decref(parse(message(TR_PRINT_JSON, 65001, size - 1)));
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_print_message(&sink, TR_PRINT_LINE, schemas_all(), (struct tr_bytes){buffer, 10});
    assert_string_equal(text, "<undecodable: TRUNCATED, 10 bytes>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(envelope_in_both_forms),
        cmocka_unit_test(whole_messages),
    };
    return cmocka_run_group_tests_name("schemas/runtime/envelope_print", tests, NULL, NULL);
}
