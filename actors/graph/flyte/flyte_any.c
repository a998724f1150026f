/*
 * Messages by the names of their types, as google.protobuf.Any has them.
 */
#include <string.h>

#include "actors/graph/flyte/flyte_inside.h"

/* Made when the program is built (schemas/flyteidl/messages.cmake). */
extern const ProtobufCMessageDescriptor *const tri_flyteidl_messages[];
extern const size_t tri_flyteidl_message_count;

const ProtobufCMessageDescriptor *tri_flyte_find_message(struct tr_text type_url)
{
    struct tr_text name = type_url;
    for (size_t i = type_url.size; i-- > 0;) {
        if (type_url.data[i] == '/') {
            name = (struct tr_text){.data = type_url.data + i + 1, .size = type_url.size - i - 1};
            break;
        }
    }
    for (size_t i = 0; i < tri_flyteidl_message_count; i++) {
        if (tr_text_equal(tr_text_of(tri_flyteidl_messages[i]->name), name)) {
            return tri_flyteidl_messages[i];
        }
    }
    return NULL;
}

bool tri_flyte_has_own_json(const ProtobufCMessageDescriptor *descriptor)
{
    static const ProtobufCMessageDescriptor *const own[] = {
        &google__protobuf__any__descriptor,      &google__protobuf__bool_value__descriptor,
        &google__protobuf__duration__descriptor, &google__protobuf__list_value__descriptor,
        &google__protobuf__struct__descriptor,   &google__protobuf__timestamp__descriptor,
        &google__protobuf__value__descriptor,
    };
    for (size_t i = 0; i < TR_COUNT_OF(own); i++) {
        if (own[i] == descriptor) {
            return true;
        }
    }
    return false;
}
