/*
 * Printing events: what a line says, what JSON says, and that no secret is ever in either.
 */
#include "tests/support/test.h"

#include <jansson.h>
#include <string.h>

#include "tests/support/scripted.h"

#define TEXT_BYTES 2048

/* A message with a secret, of which the first `size` bytes of the body are there. */
struct letter {
    uint8_t bytes[512];
    struct tr_bytes message;
};

static void write_letter(struct letter *letter, uint16_t type, size_t body_bytes_max)
{
    struct tr_scripted_tick tick = {.number = 7, .secret = tr_text_of("open sesame")};
    struct tr_writer writer = tr_writer_of(letter->bytes + TR_ENVELOPE_BYTES, 256);
    assert_int_equal(tr_scripted_tick_pack(&tick, &writer), 0);
    size_t body_size = tr_writer_size(&writer);
    struct tr_envelope envelope = {
        .envelope_version = TR_ENVELOPE_VERSION,
        .kind = TR_KIND_TELL,
        .version = 1,
        .type = type,
        .body_size = (uint32_t)body_size,
        .to_group = 7,
        .to_serial = 12,
        .to_incarnation = 1,
        .from_group = 7,
        .from_serial = 1,
        .from_incarnation = 1,
        .sequence = 9,
    };
    tr_envelope_pack(&envelope, letter->bytes);
    size_t shown = body_size < body_bytes_max ? body_size : body_bytes_max;
    letter->message = (struct tr_bytes){letter->bytes, TR_ENVELOPE_BYTES + shown};
}

static struct tr_tap_event event_of(const struct letter *letter)
{
    return (struct tr_tap_event){
        .point = TR_TAP_HANDLED,
        .worker = 2,
        .actor = {{7, 12}, 1},
        .address = tr_text_of("/orders/worker[3]"),
        .message = letter->message,
        .now_ms = 1732180000123,
        .duration_ns = 4021,
        .number = 57,
        .batch = 58,
    };
}

static const char *print(enum tr_print_form form, const struct tr_tap_event *event)
{
    static char text[TEXT_BYTES];
    struct tr_sink sink = tr_sink_of(text, sizeof text);
    tr_tap_event_print(&sink, form, scripted_registry(), event);
    assert_false(sink.truncated);
    assert_null(strstr(text, "sesame"));
    return text;
}

/* The same as JSON that somebody else can read. */
static json_t *print_json(const struct tr_tap_event *event)
{
    json_error_t error;
    json_t *json = json_loads(print(TR_PRINT_JSON, event), 0, &error);
    assert_non_null(json);
    return json;
}

static void test_line_says_all(void **state)
{
    (void)state;
    struct letter letter;
    write_letter(&letter, tr_scripted_tick_schema.id, SIZE_MAX);
    struct tr_tap_event event = event_of(&letter);
    assert_string_equal(
        print(TR_PRINT_LINE, &event),
        "1732180000123 w2 handled /orders/worker[3] 7/12@1 us=4.021 after=57 uncommitted "
        "tell 7/1@1#9 -> 7/12@1 type=64002 version=1 body_size=14: "
        "scripted_tick{number=7 secret=<11 bytes redacted>}");
    event.is_committed = true;
    event.reason = TR_POISON;
    event.point = TR_TAP_DROPPED;
    event.duration_ns = 0;
    event.message.size = 0;
    assert_string_equal(print(TR_PRINT_LINE, &event),
                        "1732180000123 w2 dropped /orders/worker[3] 7/12@1 reason=POISON after=57");
}

static void test_moves_say_where(void **state)
{
    (void)state;
    struct tr_tap_event event = {.point = TR_TAP_MOVED, .worker = 1, .to_worker = 3, .now_ms = 5};
    assert_string_equal(print(TR_PRINT_LINE, &event), "5 w1 moved to_worker=3 after=0 uncommitted");
    json_t *json = print_json(&event);
    assert_int_equal(json_integer_value(json_object_get(json, "to_worker")), 3);
    json_decref(json);
}

static void test_missing_events_are_said(void **state)
{
    (void)state;
    struct tr_tap_event event = {.point = TR_TAP_LOST, .worker = 1, .lost = 30, .skipped = 4};
    assert_string_equal(print(TR_PRINT_LINE, &event), "w1 lost 30 skipped 4");
    json_t *json = print_json(&event);
    assert_string_equal(json_string_value(json_object_get(json, "point")), "lost");
    assert_int_equal(json_integer_value(json_object_get(json, "lost")), 30);
    assert_int_equal(json_integer_value(json_object_get(json, "skipped")), 4);
    json_decref(json);
}

static void test_json_says_all(void **state)
{
    (void)state;
    struct letter letter;
    write_letter(&letter, tr_scripted_tick_schema.id, SIZE_MAX);
    struct tr_tap_event event = event_of(&letter);
    json_t *json = print_json(&event);
    assert_string_equal(json_string_value(json_object_get(json, "point")), "handled");
    assert_string_equal(json_string_value(json_object_get(json, "address")), "/orders/worker[3]");
    assert_string_equal(json_string_value(json_object_get(json, "actor")), "7/12@1");
    assert_int_equal(json_integer_value(json_object_get(json, "duration_ns")), 4021);
    assert_int_equal(json_integer_value(json_object_get(json, "after")), 57);
    assert_true(json_is_false(json_object_get(json, "committed")));
    json_t *message = json_object_get(json, "message");
    assert_string_equal(json_string_value(json_object_get(message, "name")), "scripted_tick");
    json_t *body = json_object_get(message, "body");
    assert_int_equal(json_integer_value(json_object_get(body, "number")), 7);
    json_t *secret = json_object_get(body, "secret");
    assert_int_equal(json_integer_value(json_object_get(secret, "redacted")), 11);
    json_decref(json);
}

static void test_part_of_a_body_shows_its_size_only(void **state)
{
    (void)state;
    struct letter letter;
    for (size_t bytes = 0; bytes < 14; bytes++) {
        write_letter(&letter, tr_scripted_tick_schema.id, bytes);
        struct tr_tap_event event = event_of(&letter);
        const char *line = print(TR_PRINT_LINE, &event);
        assert_non_null(strstr(line, "body_size=14: scripted_tick<14 bytes>"));
        json_t *json = print_json(&event);
        json_t *message = json_object_get(json, "message");
        assert_int_equal(json_integer_value(json_object_get(message, "size")), 14);
        assert_null(json_object_get(message, "body"));
        json_decref(json);
    }
}

static void test_unknown_type_shows_its_size_only(void **state)
{
    (void)state;
    struct letter letter;
    write_letter(&letter, 63999, SIZE_MAX);
    struct tr_tap_event event = event_of(&letter);
    assert_non_null(strstr(print(TR_PRINT_LINE, &event), "<undecodable: UNKNOWN_TYPE, 14 bytes>"));
    json_decref(print_json(&event));
    write_letter(&letter, 63999, 3);
    event = event_of(&letter);
    assert_non_null(strstr(print(TR_PRINT_LINE, &event), "body_size=14: <14 bytes>"));
    json_decref(print_json(&event));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_says_all),
        cmocka_unit_test(test_moves_say_where),
        cmocka_unit_test(test_missing_events_are_said),
        cmocka_unit_test(test_json_says_all),
        cmocka_unit_test(test_part_of_a_body_shows_its_size_only),
        cmocka_unit_test(test_unknown_type_shows_its_size_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
