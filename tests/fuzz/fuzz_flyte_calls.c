/*
 * A byte that chooses a call, then any bytes as its request and as its answer, in protobuf and in
 * JSON: refused, or a message that is packed and read again as the same bytes, and whose JSON is
 * read again. Whatever calls are served, each of their messages has its turn.
 */
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/methods.h"
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
    struct tr_buffer bytes;
    struct tr_buffer again;
    pack(message, &bytes);
    const ProtobufCMessage *other =
        tr_flyte_message_unpack(arena, message->descriptor, tr_buffer_bytes(&bytes), MEMORY_MAX);
    TR_ASSERT(other != NULL);
    pack(other, &again);
    TR_ASSERT(bytes.size == again.size &&
              (bytes.size == 0 || memcmp(bytes.data, again.data, bytes.size) == 0));
    tr_buffer_fini(&bytes);
    tr_buffer_fini(&again);
}

static void read_json_again(struct tr_arena *arena, const ProtobufCMessage *message)
{
    char problem[TR_FLYTE_PROBLEM_BYTES];
    struct tr_buffer json;
    ProtobufCMessage *other = tr_flyte_message_new(arena, message->descriptor);
    tr_buffer_init(&json, 0);
    tr_flyte_message_write_json(message, &json);
    TR_ASSERT(json.error == 0 && other != NULL);
    int error =
        tr_flyte_message_read_json(arena, other, tr_buffer_text(&json), MEMORY_MAX, problem);
    TR_ASSERT(error == 0);
    tr_buffer_fini(&json);
}

static void try_protobuf(const ProtobufCMessageDescriptor *descriptor, struct tr_bytes bytes)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    const ProtobufCMessage *message =
        tr_flyte_message_unpack(&arena, descriptor, bytes, MEMORY_MAX);
    if (message != NULL) {
        read_again(&arena, message);
        read_json_again(&arena, message);
    }
    tr_arena_fini(&arena);
}

static void try_json(const ProtobufCMessageDescriptor *descriptor, struct tr_text text)
{
    char problem[TR_FLYTE_PROBLEM_BYTES] = "";
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const struct tr_api_method *method = &tr_api_methods[data[0] % tr_api_method_count];
    const ProtobufCMessageDescriptor *const descriptors[] = {method->request, method->response};
    for (size_t i = 0; i < TR_COUNT_OF(descriptors); i++) {
        try_protobuf(descriptors[i], (struct tr_bytes){.data = data + 1, .size = size - 1});
        try_json(descriptors[i],
                 (struct tr_text){.data = (const char *)data + 1, .size = size - 1});
    }
    return 0;
}
