/*
 * Two messages, field by field. Lists are compared by position, maps by their keys; where a message
 * is there on one side only, it is told as a whole. The recursion goes as deep as the messages do,
 * which was bounded when they were unpacked.
 */
#include "actors/graph/flyte/flyte_difference.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/flyte/flyte_inside.h"
#include "actors/graph/flyte/flyte_message.h"

/* A path that is longer than this is cut. */
#define PATH_BYTES 512

struct comparing {
    struct tr_buffer *lines;
    uint32_t count;
    char path[PATH_BYTES];
    size_t size;
};

/* ------------------------------------------------------------------ paths and lines */

/* Goes one step down; how long the path was before. */
static size_t enter(struct comparing *comparing, const char *before, struct tr_text name,
                    const char *behind)
{
    size_t size = comparing->size;
    int added = snprintf(comparing->path + size, PATH_BYTES - size, "%s%.*s%s",
                         size == 0 ? "" : before, TRI_TEXT(name), behind);
    size_t room = PATH_BYTES - 1 - size;
    comparing->size += added > 0 && (size_t)added < room ? (size_t)added : room;
    return size;
}

static void leave(struct comparing *comparing, size_t size)
{
    comparing->size = size;
    comparing->path[size] = '\0';
}

static void show(struct tr_buffer *lines, struct tr_text text)
{
    size_t size = text.size;
    if (size > TR_FLYTE_DIFFERENCE_SHOWN_BYTES) {
        size = TR_FLYTE_DIFFERENCE_SHOWN_BYTES;
        while (size > 0 && ((uint8_t)text.data[size] & 0xc0) == 0x80) {
            size--;
        }
    }
    tr_buffer_add_visible(lines, (struct tr_text){.data = text.data, .size = size});
    tr_buffer_add_string(lines, size < text.size ? "..." : "");
}

static void show_message(struct tr_buffer *lines, const ProtobufCMessage *message)
{
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    if (message == NULL) {
        tr_buffer_add_string(lines, "nothing");
    } else {
        tr_flyte_message_write_json(message, &json);
        show(lines, tr_buffer_text(&json));
    }
    tr_buffer_fini(&json);
}

static void show_enumerator(struct tr_buffer *lines, const ProtobufCEnumDescriptor *descriptor,
                            int32_t number)
{
    for (unsigned i = 0; i < descriptor->n_values; i++) {
        if (descriptor->values[i].value == number) {
            tr_buffer_add_string(lines, descriptor->values[i].name);
            return;
        }
    }
    tr_buffer_print(lines, "%d", (int)number);
}

/* A value that is no message; `place` is where it stands. */
static void show_scalar(struct tr_buffer *lines, const ProtobufCFieldDescriptor *field,
                        const void *place)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        tr_buffer_add_string(lines, "'");
        show(lines, tr_text_of(*(char *const *)place));
        tr_buffer_add_string(lines, "'");
        break;
    case PROTOBUF_C_TYPE_BYTES:
        tr_buffer_print(lines, "%zu bytes", ((const ProtobufCBinaryData *)place)->len);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        show_enumerator(lines, field->descriptor, *(const int32_t *)place);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        tr_buffer_add_string(lines, *(const protobuf_c_boolean *)place ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        tr_buffer_print(lines, "%.17g", *(const double *)place);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        tr_buffer_print(lines, "%.9g", (double)*(const float *)place);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        tr_buffer_print(lines, "%lld", (long long)*(const int64_t *)place);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        tr_buffer_print(lines, "%llu", (unsigned long long)*(const uint64_t *)place);
        break;
    default:
        tr_buffer_print(lines, "%ld", (long)*(const int32_t *)place);
        break;
    }
}

static void show_value(struct tr_buffer *lines, const ProtobufCFieldDescriptor *field,
                       const void *place)
{
    if (place == NULL) {
        tr_buffer_add_string(lines, "nothing");
    } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        show_message(lines, *(ProtobufCMessage *const *)place);
    } else {
        show_scalar(lines, field, place);
    }
}

/* NULL is a side that does not have it. */
static void tell(struct comparing *comparing, const ProtobufCFieldDescriptor *field,
                 const void *before, const void *after)
{
    if (comparing->count++ >= TR_FLYTE_DIFFERENCES_MAX) {
        return;
    }
    tr_buffer_print(comparing->lines, "\n\t- %s: ", comparing->path);
    show_value(comparing->lines, field, before);
    tr_buffer_add_string(comparing->lines, " -> ");
    show_value(comparing->lines, field, after);
}

/* ------------------------------------------------------------------ comparing */

static void compare(struct comparing *comparing, const ProtobufCMessage *before,
                    const ProtobufCMessage *after);

static size_t scalar_bytes(const ProtobufCFieldDescriptor *field)
{
    return tri_flyte_item_bytes(field);
}

static bool is_equal(const ProtobufCFieldDescriptor *field, const void *before, const void *after)
{
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        return strcmp(*(char *const *)before, *(char *const *)after) == 0;
    }
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        const ProtobufCBinaryData *a = before;
        const ProtobufCBinaryData *b = after;
        return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
    }
    return memcmp(before, after, scalar_bytes(field)) == 0;
}

/* One value at one path on both sides. */
static void compare_value(struct comparing *comparing, const ProtobufCFieldDescriptor *field,
                          const void *before, const void *after)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        if (!is_equal(field, before, after)) {
            tell(comparing, field, before, after);
        }
        return;
    }
    const ProtobufCMessage *a = *(ProtobufCMessage *const *)before;
    const ProtobufCMessage *b = *(ProtobufCMessage *const *)after;
    if (a != NULL && b != NULL) {
        compare(comparing, a, b);
    } else if (a != b) {
        tell(comparing, field, before, after);
    }
}

/* The key of an entry of a map, which is the first of its fields. */
static struct tr_text key_of(const ProtobufCMessage *entry)
{
    const ProtobufCFieldDescriptor *field = &entry->descriptor->fields[0];
    return tr_text_of(*(char *const *)(const void *)((const char *)entry + field->offset));
}

static void compare_entry(struct comparing *comparing, const ProtobufCFieldDescriptor *field,
                          ProtobufCMessage *const *before, ProtobufCMessage *const *after)
{
    size_t size = enter(comparing, "", key_of(before != NULL ? *before : *after), "]");
    if (before == NULL || after == NULL) {
        tell(comparing, field, (const void *)before, (const void *)after);
    } else {
        const ProtobufCFieldDescriptor *value = &(*before)->descriptor->fields[1];
        compare_value(comparing, value, (const char *)*before + value->offset,
                      (const char *)*after + value->offset);
    }
    leave(comparing, size);
}

/* Two maps, whose entries are in order. */
static void compare_map(struct comparing *comparing, const ProtobufCFieldDescriptor *field,
                        ProtobufCMessage *const *before, size_t before_count,
                        ProtobufCMessage *const *after, size_t after_count)
{
    size_t a = 0;
    size_t b = 0;
    size_t size = enter(comparing, "", tr_text_of("["), "");
    while (a < before_count || b < after_count) {
        int order = a == before_count  ? 1
                    : b == after_count ? -1
                                       : strcmp(key_of(before[a]).data, key_of(after[b]).data);
        compare_entry(comparing, field, order <= 0 ? &before[a] : NULL,
                      order >= 0 ? &after[b] : NULL);
        a += order <= 0 ? 1 : 0;
        b += order >= 0 ? 1 : 0;
    }
    leave(comparing, size);
}

static void compare_list(struct comparing *comparing, const ProtobufCFieldDescriptor *field,
                         const char *before, size_t before_count, const char *after,
                         size_t after_count)
{
    size_t bytes = tri_flyte_item_bytes(field);
    for (size_t i = 0; i < before_count || i < after_count; i++) {
        char index[32];
        (void)snprintf(index, sizeof index, "[%zu]", i);
        size_t size = enter(comparing, "", tr_text_of(index), "");
        const char *a = i < before_count ? before + i * bytes : NULL;
        const char *b = i < after_count ? after + i * bytes : NULL;
        if (a == NULL || b == NULL) {
            tell(comparing, field, a, b);
        } else {
            compare_value(comparing, field, a, b);
        }
        leave(comparing, size);
    }
}

/* Which of several is set, of fields of which one is. */
static bool is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    const char *base = (const char *)message;
    return *(const uint32_t *)(const void *)(base + field->quantifier_offset) == field->id;
}

static void compare_field(struct comparing *comparing, const ProtobufCFieldDescriptor *field,
                          const ProtobufCMessage *before, const ProtobufCMessage *after)
{
    const char *a = (const char *)before + field->offset;
    const char *b = (const char *)after + field->offset;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t a_count =
            *(const size_t *)(const void *)((const char *)before + field->quantifier_offset);
        size_t b_count =
            *(const size_t *)(const void *)((const char *)after + field->quantifier_offset);
        const void *a_items = *(void *const *)(const void *)a;
        const void *b_items = *(void *const *)(const void *)b;
        bool is_map =
            field->type == PROTOBUF_C_TYPE_MESSAGE && tri_flyte_is_entry(field->descriptor);
        if (is_map) {
            compare_map(comparing, field, a_items, a_count, b_items, b_count);
        } else {
            compare_list(comparing, field, a_items, a_count, b_items, b_count);
        }
        return;
    }
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        bool has_before = is_set(before, field);
        bool has_after = is_set(after, field);
        if (has_before != has_after) {
            tell(comparing, field, has_before ? a : NULL, has_after ? b : NULL);
        }
        if (!has_before || !has_after) {
            return;
        }
    }
    compare_value(comparing, field, a, b);
}

static void compare(struct comparing *comparing, const ProtobufCMessage *before,
                    const ProtobufCMessage *after)
{
    for (unsigned i = 0; i < before->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &before->descriptor->fields[i];
        size_t size = enter(comparing, ".", tr_text_of(field->name), "");
        compare_field(comparing, field, before, after);
        leave(comparing, size);
    }
}

uint32_t tr_flyte_difference(const ProtobufCMessage *before, const ProtobufCMessage *after,
                             struct tr_buffer *lines)
{
    struct comparing comparing = {.lines = lines};
    compare(&comparing, before, after);
    if (comparing.count > TR_FLYTE_DIFFERENCES_MAX) {
        tr_buffer_print(lines, "\n\t- and %u more", comparing.count - TR_FLYTE_DIFFERENCES_MAX);
    }
    return comparing.count;
}
