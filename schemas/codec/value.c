/*
 * Reading a body by its schema's table instead of by the schema's own unpack.
 */
#include "schemas/codec/value.h"

/* Reads the content of a text or bytes field, which an array bounds by its capacity. */
static void read_content(struct tr_cursor *cursor, const struct tr_field *field,
                         struct tr_value *value)
{
    size_t size;
    if (field->kind == TR_FIELD_text) {
        value->as.text = tr_read_text(cursor);
        size = value->as.text.size;
    } else {
        value->as.bytes = tr_read_bytes(cursor);
        size = value->as.bytes.size;
    }
    if ((field->marks & TRI_ARRAY_MARK) != 0 && size > field->capacity) {
        tr_cursor_fail(cursor, TR_LIMIT);
    }
}

struct tr_value tr_value_read(struct tr_cursor *cursor, const struct tr_field *field)
{
    struct tr_value value = {.kind = field->kind};
    switch (field->kind) {
    case TR_FIELD_bool:
        value.as.truth = tr_read_bool(cursor);
        break;
    case TR_FIELD_u8:
        value.as.number = tr_read_u8(cursor);
        break;
    case TR_FIELD_u16:
        value.as.number = tr_read_u16(cursor);
        break;
    case TR_FIELD_u32:
        value.as.number = tr_read_u32(cursor);
        break;
    case TR_FIELD_u64:
        value.as.number = tr_read_u64(cursor);
        break;
    case TR_FIELD_i64:
        value.as.signed_number = tr_read_i64(cursor);
        break;
    case TR_FIELD_f64:
        value.as.real = tr_read_f64(cursor);
        break;
    case TR_FIELD_key:
        value.as.key = tr_read_key(cursor);
        break;
    case TR_FIELD_ref:
        value.as.ref = tr_read_ref(cursor);
        break;
    case TR_FIELD_text:
    case TR_FIELD_bytes:
        read_content(cursor, field, &value);
        break;
    case TR_FIELD_any:
        value.as.bytes = tr_read_any(cursor);
        break;
    }
    return value;
}

size_t tr_value_size(const struct tr_value *value)
{
    static const size_t sizes[] = {
#define TRI_KIND_SIZE(kind, type, bytes) [TR_FIELD_##kind] = sizeof(type),
        TR_FIELD_KINDS(TRI_KIND_SIZE)
#undef TRI_KIND_SIZE
    };
    switch (value->kind) {
    case TR_FIELD_text:
        return value->as.text.size;
    case TR_FIELD_bytes:
    case TR_FIELD_any:
        return value->as.bytes.size;
    default:
        return sizes[value->kind];
    }
}

int tr_body_check(const struct tr_schema *schema, uint8_t version, struct tr_bytes body,
                  uint16_t *field)
{
    struct tr_cursor cursor = tri_body_begin(schema, body, version);
    uint16_t count = tri_fields_of_version(schema, version);
    uint16_t number = 0;
    if (cursor.error != 0) {
        number = count; /* what is wrong is no field's */
    }
    for (; number < count; number++) {
        (void)tr_value_read(&cursor, &schema->fields()[number]);
        if (cursor.error != 0) {
            break;
        }
    }
    int error = tri_body_end(&cursor);
    if (error != 0) {
        *field = number;
    }
    return error;
}
