/*
 * Any text as JSON of a message: refused in words, or a message whose JSON is read again as the
 * same bytes. And any text as the value of a field, by any path.
 */
#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/admin_project.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>
#include <flyteidl/service_dataproxy.pb-c.h>
#include <flyteidl/service_identity.pb-c.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

#define MEMORY_MAX (16U << 20)

static void pack(const ProtobufCMessage *message, struct tr_buffer *bytes)
{
    tr_buffer_init(bytes, 0);
    tr_flyte_message_pack(message, bytes);
    TR_ASSERT(bytes->error == 0);
}

static void read_again(struct tr_arena *arena, const ProtobufCMessage *message)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    struct tr_buffer json;
    struct tr_buffer bytes;
    struct tr_buffer again;
    ProtobufCMessage *other = tr_flyte_message_new(arena, message->descriptor);
    tr_buffer_init(&json, 0);
    tr_flyte_message_write_json(message, &json);
    TR_ASSERT(json.error == 0 && other != NULL);
    int error =
        tr_flyte_message_read_json(arena, other, tr_buffer_text(&json), MEMORY_MAX, problem);
    TR_ASSERT(error == 0);
    pack(message, &bytes);
    pack(other, &again);
    TR_ASSERT(bytes.size == again.size &&
              (bytes.size == 0 || memcmp(bytes.data, again.data, bytes.size) == 0));
    tr_buffer_fini(&json);
    tr_buffer_fini(&bytes);
    tr_buffer_fini(&again);
}

static void try_json(const ProtobufCMessageDescriptor *descriptor, struct tr_text text)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    struct tr_arena arena;
    tr_arena_init(&arena);
    ProtobufCMessage *message = tr_flyte_message_new(&arena, descriptor);
    int error = tr_flyte_message_read_json(&arena, message, text, MEMORY_MAX, problem);
    TR_ASSERT(error == 0 || problem[0] != '\0' || arena.error != 0);
    if (error == 0) {
        read_again(&arena, message);
    }
    tr_arena_fini(&arena);
}

static void try_field(const ProtobufCMessageDescriptor *descriptor, struct tr_text text)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    struct tr_arena arena;
    const char *mark = text.size == 0 ? NULL : memchr(text.data, '=', text.size);
    size_t size = mark == NULL ? text.size : (size_t)(mark - text.data);
    struct tr_text value = {.data = mark == NULL ? "" : mark + 1,
                            .size = mark == NULL ? 0 : text.size - size - 1};
    tr_arena_init(&arena);
    ProtobufCMessage *message = tr_flyte_message_new(&arena, descriptor);
    if (tr_flyte_message_set(&arena, message, (struct tr_text){.data = text.data, .size = size},
                             value, problem) == 0) {
        read_again(&arena, message);
    }
    tr_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const descriptors[] = {
        &flyteidl__admin__launch_plan__descriptor,
        &flyteidl__admin__workflow_create_request__descriptor,
        &flyteidl__admin__resource_list_request__descriptor,
        &flyteidl__admin__project__descriptor,
        &flyteidl__service__create_upload_location_request__descriptor,
        &flyteidl__service__user_info_response__descriptor,
    };
    struct tr_text text = {.data = (const char *)data, .size = size};
    for (size_t i = 0; i < TR_COUNT_OF(descriptors); i++) {
        try_json(descriptors[i], text);
        try_field(descriptors[i], text);
    }
    return 0;
}
