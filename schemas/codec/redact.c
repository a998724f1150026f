/*
 * Redaction by the schema's table: fields are copied one by one, or blanked.
 */
#include "schemas/codec/redact.h"

#include "schemas/codec/value.h"

/* Nothing, in the form of a field's kind. */
static void write_blank(struct tr_writer *writer, enum tr_field_kind kind)
{
    switch (kind) {
    case TR_FIELD_bool:
        tr_write_bool(writer, false);
        break;
    case TR_FIELD_u8:
    case TR_FIELD_u16:
    case TR_FIELD_u32:
    case TR_FIELD_u64:
    case TR_FIELD_i64:
        tr_write_u64(writer, 0);
        break;
    case TR_FIELD_f64:
        tr_write_f64(writer, 0);
        break;
    case TR_FIELD_key:
        tr_write_key(writer, (struct tr_key){0});
        break;
    case TR_FIELD_ref:
        tr_write_ref(writer, (struct tr_ref){0});
        break;
    case TR_FIELD_text:
        tr_write_text(writer, (struct tr_text){0});
        break;
    case TR_FIELD_bytes:
        tr_write_bytes(writer, (struct tr_bytes){0});
        break;
    case TR_FIELD_any:
        tr_write_nil(writer);
        break;
    }
}

/* Writes a field that was read from `raw`; whether something was taken out of it. */
static bool write_field(struct tr_writer *writer, const struct tr_field *field, struct tr_bytes raw)
{
    if ((field->marks & TR_REDACTED) == 0) {
        tr_write_any(writer, raw);
        return false;
    }
    const uint8_t *begin = writer->at;
    write_blank(writer, field->kind);
    size_t size = (size_t)(writer->at - begin);
    return size != raw.size || memcmp(begin, raw.data, size) != 0;
}

int tr_body_redact(const struct tr_schema *schema, uint8_t version, struct tr_bytes body,
                   struct tr_writer *writer, bool *is_blanked)
{
    struct tr_cursor cursor = tri_body_begin(schema, body, version);
    uint16_t count = tri_fields_of_version(schema, version);
    bool is_changed = false;
    tr_write_array(writer, count);
    for (uint16_t i = 0; i < count && cursor.error == 0; i++) {
        const struct tr_field *field = &schema->fields()[i];
        const uint8_t *begin = cursor.at;
        (void)tr_value_read(&cursor, field);
        struct tr_bytes raw = {.data = begin, .size = (size_t)(cursor.at - begin)};
        is_changed |= cursor.error == 0 && write_field(writer, field, raw);
    }
    int error = tri_body_end(&cursor);
    if (error == 0) {
        error = writer->error;
    }
    if (error == 0) {
        *is_blanked = is_changed;
    }
    return error;
}
