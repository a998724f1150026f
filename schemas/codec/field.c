/*
 * The parts of packing and unpacking that every schema shares: the array around a body, and text
 * and bytes that live inside a struct.
 */
#include "schemas/codec/field.h"

const char *tr_schema_role_name(unsigned role)
{
    static const char *const names[] = {
#define TRI_ROLE_NAME(name, text) [TR_##name] = (text),
        TR_SCHEMA_ROLES(TRI_ROLE_NAME)
#undef TRI_ROLE_NAME
    };
    return role < TR_COUNT_OF(names) ? names[role] : "unknown";
}

int tri_array_set(uint16_t *size, char *data, size_t capacity, struct tr_text text)
{
    if (text.size > capacity || text.size > UINT16_MAX) {
        return TR_LIMIT;
    }
    if (text.size > 0) {
        memcpy(data, text.data, text.size);
    }
    *size = (uint16_t)text.size;
    return 0;
}

uint16_t tr_row_key_count(const struct tr_schema *schema)
{
    const struct tr_field *fields = schema->fields();
    uint16_t count = 0;
    while (count < schema->field_count && (fields[count].marks & TR_ROW_KEY) != 0) {
        count++;
    }
    return count;
}

int tr_row_key_bytes(struct tr_bytes row, uint16_t count, struct tr_bytes *key)
{
    struct tr_cursor cursor = tr_cursor_of(row);
    uint32_t field_count = tr_read_array(&cursor);
    const uint8_t *begin = cursor.at;
    if (cursor.error == 0 && count > field_count) {
        tr_cursor_fail(&cursor, TR_TRUNCATED);
    }
    for (uint16_t i = 0; cursor.error == 0 && i < count; i++) {
        (void)tr_read_any(&cursor);
    }
    if (cursor.error == 0) {
        *key = (struct tr_bytes){.data = begin, .size = (size_t)(cursor.at - begin)};
    }
    return cursor.error;
}

uint16_t tri_fields_of_version(const struct tr_schema *schema, uint8_t version)
{
    if (version >= schema->version) {
        return schema->field_count;
    }
    const struct tr_field *fields = schema->fields();
    uint16_t count = 0;
    while (count < schema->field_count && fields[count].since <= version) {
        count++;
    }
    return count;
}

struct tr_cursor tri_body_begin(const struct tr_schema *schema, struct tr_bytes body,
                                uint8_t version)
{
    struct tr_cursor cursor = tr_cursor_of(body);
    if (version == 0 || version > schema->version) {
        tr_cursor_fail(&cursor, TR_VERSION);
        return cursor;
    }
    uint32_t count = tr_read_array(&cursor);
    if (cursor.error == 0 && count != tri_fields_of_version(schema, version)) {
        tr_cursor_fail(&cursor, TR_MALFORMED);
    }
    return cursor;
}

int tri_body_end(const struct tr_cursor *cursor)
{
    if (cursor->error != 0) {
        return cursor->error;
    }
    return cursor->at == cursor->end ? 0 : TR_MALFORMED;
}

void tri_write_array_text(struct tr_writer *writer, const char *data, size_t capacity,
                          uint16_t size)
{
    if (size > capacity) {
        tr_writer_fail(writer, TR_INVALID);
        return;
    }
    tr_write_text(writer, (struct tr_text){.data = data, .size = size});
}

void tri_write_array_bytes(struct tr_writer *writer, const char *data, size_t capacity,
                           uint16_t size)
{
    if (size > capacity) {
        tr_writer_fail(writer, TR_INVALID);
        return;
    }
    tr_write_bytes(writer, (struct tr_bytes){.data = (const uint8_t *)data, .size = size});
}

void tri_read_array_text(struct tr_cursor *cursor, char *data, size_t capacity, uint16_t *size)
{
    if (tri_array_set(size, data, capacity, tr_read_text(cursor)) != 0) {
        tr_cursor_fail(cursor, TR_LIMIT);
    }
}

void tri_read_array_bytes(struct tr_cursor *cursor, char *data, size_t capacity, uint16_t *size)
{
    struct tr_bytes bytes = tr_read_bytes(cursor);
    struct tr_text text = {.data = (const char *)bytes.data, .size = bytes.size};
    if (tri_array_set(size, data, capacity, text) != 0) {
        tr_cursor_fail(cursor, TR_LIMIT);
    }
}
