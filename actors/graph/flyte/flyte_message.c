/*
 * Messages from bytes, to bytes and to JSON: what is generic already, for who has the descriptors.
 * JSON is read in flyte_json_read.c.
 */
#include "actors/graph/flyte/flyte_message.h"

#include <string.h>

#include "actors/graph/flyte/flyte_inside.h"
#include "schemas/codec/error.h"

void *tr_flyte_message_new(struct tr_arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
    return tri_flyte_new(arena, descriptor);
}

void *tr_flyte_message_unpack(struct tr_arena *arena, const ProtobufCMessageDescriptor *descriptor,
                              struct tr_bytes bytes, uint64_t bytes_max)
{
    return tri_wire_unpack_within(arena, descriptor, bytes, bytes_max);
}

/* What the library writes, piece by piece. */
struct appender {
    ProtobufCBuffer base;
    struct tr_buffer *buffer;
};

static void append(ProtobufCBuffer *base, size_t size, const uint8_t *data)
{
    tr_buffer_add(((struct appender *)base)->buffer, data, size);
}

void *tr_flyte_message_of_type(struct tr_arena *arena, const struct tr_type *type)
{
    return tri_flyte_type_new(arena, type);
}

void tr_flyte_message_pack(const ProtobufCMessage *message, struct tr_buffer *bytes)
{
    struct appender appender = {.base = {.append = append}, .buffer = bytes};
    (void)protobuf_c_message_pack_to_buffer(message, &appender.base);
}

void tr_flyte_message_write_json(const ProtobufCMessage *message, struct tr_buffer *json)
{
    struct tr_arena arena;
    tr_arena_init(&arena);
    const struct tr_tree *tree = tri_flyte_json(&arena, message, TRI_FLYTE_JSON_FIELDS);
    if (tree != NULL) {
        tr_tree_write(tree, json);
    } else if (json->error == 0) {
        json->error = arena.error != 0 ? arena.error : TR_MEMORY;
    }
    tr_arena_fini(&arena);
}

const char *tr_flyte_message_word(const ProtobufCEnumDescriptor *descriptor, int number)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(descriptor, number);
    return value == NULL ? NULL : value->name;
}

/* What a field points to: a message or a string; NULL: it is no such field, or not set. */
static const void *pointed_to(const ProtobufCMessage *message, struct tr_text name,
                              ProtobufCType type, const ProtobufCFieldDescriptor **found)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const uint8_t *bytes = (const uint8_t *)message;
        uint32_t set_case;
        if (!tr_text_equal(tr_text_of(field->name), name) || field->type != type ||
            field->label == PROTOBUF_C_LABEL_REPEATED) {
            continue;
        }
        *found = field;
        memcpy(&set_case, bytes + field->quantifier_offset, sizeof set_case);
        bool is_other = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0 && set_case != field->id;
        return is_other ? NULL : *(const void *const *)(const void *)(bytes + field->offset);
    }
    return NULL;
}

const char *tr_flyte_message_text(const ProtobufCMessage *message, struct tr_text inside,
                                  const char *name)
{
    const ProtobufCFieldDescriptor *field;
    while (message != NULL && inside.size > 0) {
        const char *dot = memchr(inside.data, '.', inside.size);
        size_t size = dot == NULL ? inside.size : (size_t)(dot - inside.data);
        message = pointed_to(message, (struct tr_text){.data = inside.data, .size = size},
                             PROTOBUF_C_TYPE_MESSAGE, &field);
        size += dot == NULL ? 0 : 1;
        inside.data += size;
        inside.size -= size;
    }
    return message == NULL ? NULL
                           : pointed_to(message, tr_text_of(name), PROTOBUF_C_TYPE_STRING, &field);
}
