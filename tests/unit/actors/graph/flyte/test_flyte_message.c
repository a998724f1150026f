/*
 * Messages field by field, as queries set them; and bounds of memory. That JSON is protobuf's is
 * integration/flyte's.
 */
#include "actors/graph/flyte/flyte_message.h"

#include <flyteidl/admin_common.pb-c.h>
#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/admin_notification.pb-c.h>
#include <flyteidl/identifier.pb-c.h>
#include <stdio.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define MEMORY_MAX (1U << 20)

static struct tr_arena arena;
static char problem[TR_FLYTE_PROBLEM_BYTES];

static int begin(void **state)
{
    (void)state;
    tr_arena_init(&arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tr_arena_fini(&arena);
    assert_int_equal(tr_memory_used(), 0);
    return 0;
}

static int set(void *message, const char *path, const char *text)
{
    return tr_flyte_message_set(&arena, message, tr_text_of(path), tr_text_of(text), problem);
}

static void expect_json(const void *message, const char *expected)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    tr_flyte_message_write_json(message, &json);
    tr_buffer_add(&json, "", 1);
    assert_int_equal(json.error, 0);
    assert_string_equal((const char *)json.data, expected);
    tr_buffer_fini(&json);
}

static void fields_are_set_by_path(void **state)
{
    Flyteidl__Core__TaskExecutionIdentifier *id =
        tr_flyte_message_new(&arena, &flyteidl__core__task_execution_identifier__descriptor);
    Flyteidl__Admin__EmailMessage *mail =
        tr_flyte_message_new(&arena, &flyteidl__admin__email_message__descriptor);
    (void)state;
    assert_int_equal(set(id, "task_id.name", "a.b/c"), 0);
    assert_int_equal(set(id, "taskId.resource_type", "TASK"), 0);
    assert_int_equal(set(id, "node_execution_id.execution_id.project", ""), 0);
    assert_int_equal(set(id, "retry_attempt", "4294967295"), 0);
    assert_string_equal(id->task_id->name, "a.b/c");
    assert_int_equal(id->task_id->resource_type, FLYTEIDL__CORE__RESOURCE_TYPE__TASK);
    assert_non_null(id->node_execution_id->execution_id);
    assert_int_equal(id->retry_attempt, UINT32_MAX);
    assert_int_equal(set(id, "taskId.resource_type", "2"), 0);
    assert_int_equal(id->task_id->resource_type, 2);
    assert_int_equal(set(mail, "recipients_email", "a"), 0);
    assert_int_equal(set(mail, "recipientsEmail", "b"), 0);
    expect_json(mail, "{\"recipients_email\": [\"a\", \"b\"],\n\"sender_email\": \"\",\n"
                      "\"subject_line\": \"\",\n\"body\": \"\"}");
}

static void what_is_no_field_is_told(void **state)
{
    static const struct {
        const char *path;
        const char *text;
        const char *words;
    } rows[] = {
        {"", "1", "'' is no field of flyteidl.core.TaskExecutionIdentifier"},
        {"nothing", "1", "nothing: 'nothing' is no field of flyteidl.core.TaskExecutionIdentifier"},
        {"task_id.nothing", "1",
         "task_id.nothing: 'nothing' is no field of flyteidl.core.Identifier"},
        {"task_id.", "1", "task_id.: '' is no field of flyteidl.core.Identifier"},
        {"task_id.name.more", "1", "task_id.name.more: 'name' has no fields of its own"},
        {"task_id", "1", "task_id: '1' is no value here; write an object"},
        {"retry_attempt", "",
         "retry_attempt: '' is no value here; write a whole number from 0 to "
         "4294967295"},
        {"retry_attempt", "4294967296",
         "retry_attempt: '4294967296' is no value here; write a whole "
         "number from 0 to 4294967295"},
        {"retry_attempt", "-1",
         "retry_attempt: '-1' is no value here; write a whole number from 0 "
         "to 4294967295"},
        {"task_id.name", "\xff", "task_id.name: this text is no UTF-8"},
        {"task_id.resource_type", "TUSK",
         "task_id.resource_type: 'TUSK' is no value here; write one of ResourceType"},
    };
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        void *id =
            tr_flyte_message_new(&arena, &flyteidl__core__task_execution_identifier__descriptor);
        assert_int_equal(set(id, rows[i].path, rows[i].text), TR_INVALID);
        assert_string_equal(problem, rows[i].words);
    }
}

/* A list of empty messages takes two bytes each, and much more when it is taken apart. */
static void memory_is_bounded(void **state)
{
    static uint8_t bytes[MEMORY_MAX / 4];
    static char json[MEMORY_MAX / 4];
    size_t size = 0;
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i += 2) {
        bytes[i] = 2 << 3 | 2; /* `notifications` of LaunchPlanMetadata */
        bytes[i + 1] = 0;
    }
    struct tr_bytes many = {.data = bytes, .size = sizeof bytes};
    assert_null(tr_flyte_message_unpack(&arena, &flyteidl__admin__launch_plan_metadata__descriptor,
                                        many, MEMORY_MAX));
    assert_int_equal(arena.error, TR_LIMIT);
    tr_arena_fini(&arena);
    tr_arena_init(&arena);
    assert_non_null(tr_flyte_message_unpack(
        &arena, &flyteidl__admin__launch_plan_metadata__descriptor, many, 64 * MEMORY_MAX));
    size += (size_t)snprintf(json, sizeof json, "{\"notifications\": [{}");
    while (size + 8 < sizeof json) {
        size += (size_t)snprintf(json + size, sizeof json - size, ",{}");
    }
    size += (size_t)snprintf(json + size, sizeof json - size, "]}");
    void *message =
        tr_flyte_message_new(&arena, &flyteidl__admin__launch_plan_metadata__descriptor);
    struct tr_text text = {.data = json, .size = size};
    assert_int_equal(tr_flyte_message_read_json(&arena, message, text, 64 * MEMORY_MAX, problem),
                     0);
    message = tr_flyte_message_new(&arena, &flyteidl__admin__launch_plan_metadata__descriptor);
    assert_int_equal(tr_flyte_message_read_json(&arena, message, text, MEMORY_MAX, problem),
                     TR_LIMIT);
}

/* Also with an empty key, which the wire leaves out; and in a message that lies in another one. */
static void of_a_key_that_is_there_twice_the_last_counts(void **state)
{
    static const uint8_t wire[] = "\x0a\x06\x0a\x01\x62\x12\x01\x30" /* b: 0 */
                                  "\x0a\x03\x12\x01\x39"             /* "": 9 */
                                  "\x0a\x06\x0a\x01\x62\x12\x01\x32" /* b: 2 */
                                  "\x0a\x06\x0a\x01\x61\x12\x01\x31" /* a: 1 */
                                  "\x0a\x05\x0a\x00\x12\x01\x34"     /* "": 4 */
                                  "\x0a\x06\x0a\x01\x62\x12\x01\x33" /* b: 3 */;
    static const char json[] = "{\"values\": {\"a\": \"1\",\n\"\": \"4\",\n\"b\": \"3\"}}";
    struct tr_bytes bytes = {.data = wire, .size = sizeof wire - 1};
    struct tr_buffer around;
    (void)state;
    const Flyteidl__Admin__Labels *labels =
        tr_flyte_message_unpack(&arena, &flyteidl__admin__labels__descriptor, bytes, MEMORY_MAX);
    assert_non_null(labels);
    assert_int_equal(labels->n_values, 3);
    expect_json(labels, json);
    tr_buffer_init(&around, 0);
    const uint8_t head[] = {6 << 3 | 2, (uint8_t)bytes.size}; /* `labels` of LaunchPlanSpec */
    tr_buffer_add(&around, head, sizeof head);
    tr_buffer_add(&around, bytes.data, bytes.size);
    const Flyteidl__Admin__LaunchPlanSpec *spec =
        tr_flyte_message_unpack(&arena, &flyteidl__admin__launch_plan_spec__descriptor,
                                tr_buffer_bytes(&around), MEMORY_MAX);
    assert_non_null(spec);
    expect_json(spec->labels, json);
    tr_buffer_fini(&around);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_are_set_by_path, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_field_is_told, begin, end),
        cmocka_unit_test_setup_teardown(memory_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(of_a_key_that_is_there_twice_the_last_counts, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
