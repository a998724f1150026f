/*
 * What two messages differ in, from their JSON: each kind of field, lists, maps, and what is there
 * on one side only.
 */
#include "actors/graph/flyte/flyte_difference.h"

#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/tasks.pb-c.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "runtime/memory.h"
#include "tests/support/test.h"

#define MEMORY_MAX (1U << 20)

static struct tr_arena arena;

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

static const ProtobufCMessage *read_json(const ProtobufCMessageDescriptor *descriptor,
                                         const char *json)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    ProtobufCMessage *message = tr_flyte_message_new(&arena, descriptor);
    int error = tr_flyte_message_read_json(&arena, message, tr_text_of(json), MEMORY_MAX, problem);
    assert_int_equal(error, 0);
    return message;
}

static void expect(const ProtobufCMessageDescriptor *descriptor, const char *before,
                   const char *after, uint32_t count, const char *expected)
{
    struct tr_buffer lines;
    tr_buffer_init(&lines, 0);
    uint32_t found =
        tr_flyte_difference(read_json(descriptor, before), read_json(descriptor, after), &lines);
    tr_buffer_add(&lines, "", 1);
    assert_int_equal(lines.error, 0);
    assert_string_equal((const char *)lines.data, expected);
    assert_int_equal(found, count);
    tr_buffer_fini(&lines);
}

static void expect_task(const char *before, const char *after, const char *expected)
{
    const ProtobufCMessageDescriptor *descriptor = &flyteidl__core__task_template__descriptor;
    expect(descriptor, before, before, 0, "");
    expect(descriptor, after, after, 0, "");
    expect(descriptor, before, after, 1, expected);
}

static void each_kind_of_field(void **state)
{
    (void)state;
    expect_task("{\"type\": \"a\"}", "{\"type\": \"b\"}", "\n\t- type: 'a' -> 'b'");
    expect_task("{\"task_type_version\": 1}", "{}", "\n\t- task_type_version: 1 -> 0");
    expect_task("{\"metadata\": {\"discoverable\": true}}", "{\"metadata\": {}}",
                "\n\t- metadata.discoverable: true -> false");
    expect_task("{\"metadata\": {\"runtime\": {\"type\": \"FLYTE_SDK\"}}}",
                "{\"metadata\": {\"runtime\": {}}}",
                "\n\t- metadata.runtime.type: FLYTE_SDK -> OTHER");
    expect_task("{\"metadata\": {\"retries\": {\"retries\": 2}}}", "{\"metadata\": {}}",
                "\n\t- metadata.retries: {\"retries\": 2} -> nothing");
    expect_task("{\"custom\": {\"a\": 1.5}}", "{\"custom\": {\"a\": 2}}",
                "\n\t- custom.fields[a].number_value: 1.5 -> 2");
}

static void lists_and_maps(void **state)
{
    (void)state;
    expect_task("{\"container\": {\"args\": [\"a\", \"b\"]}}",
                "{\"container\": {\"args\": [\"a\"]}}", "\n\t- container.args[1]: 'b' -> nothing");
    expect_task("{\"config\": {\"a\": \"1\", \"b\": \"2\", \"d\": \"4\"}}",
                "{\"config\": {\"a\": \"1\", \"b\": \"2\", \"c\": \"3\", \"d\": \"4\"}}",
                "\n\t- config[c]: nothing -> {\"key\": \"c\", \"value\": \"3\"}");
}

/* What was set before is gone, and what is set now is new. */
static void one_of_several(void **state)
{
    (void)state;
    expect(&flyteidl__core__parameter__descriptor, "{\"required\": true}",
           "{\"artifact_id\": {\"version\": \"v\"}}", 2,
           "\n\t- required: true -> nothing\n\t- artifact_id: nothing -> {\"artifact_key\": null, "
           "\"version\": \"v\", \"partitions\": null, \"time_partition\": null}");
}

static void append(char *text, const char *more)
{
    size_t size = strlen(text);
    memcpy(text + size, more, strlen(more) + 1);
}

static void not_all_are_told(void **state)
{
    char before[512] = "{\"container\": {\"args\": [";
    char after[512] = "{\"container\": {\"args\": [";
    (void)state;
    for (int i = 0; i < 10; i++) {
        append(before, i == 0 ? "\"a\"" : ", \"a\"");
        append(after, i == 0 ? "\"b\"" : ", \"b\"");
    }
    append(before, "]}}");
    append(after, "]}}");
    struct tr_buffer lines;
    const ProtobufCMessageDescriptor *descriptor = &flyteidl__core__task_template__descriptor;
    tr_buffer_init(&lines, 0);
    assert_int_equal(
        tr_flyte_difference(read_json(descriptor, before), read_json(descriptor, after), &lines),
        10);
    tr_buffer_add(&lines, "", 1);
    assert_non_null(strstr((const char *)lines.data, "args[7]"));
    assert_null(strstr((const char *)lines.data, "args[8]"));
    assert_non_null(strstr((const char *)lines.data, "\n\t- and 2 more"));
    tr_buffer_fini(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_kind_of_field, begin, end),
        cmocka_unit_test_setup_teardown(lists_and_maps, begin, end),
        cmocka_unit_test_setup_teardown(one_of_several, begin, end),
        cmocka_unit_test_setup_teardown(not_all_are_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
