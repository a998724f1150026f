/*
 * Printing by schema: the body is read field by field from its bytes, so that no memory is needed
 * for its struct, and an old version shows exactly the fields it had.
 */
#include "schemas/codec/print.h"

#include "schemas/codec/print_scalar.h"
#include "schemas/codec/value.h"

/* Keys and references are text in JSON. */
static void print_ref(struct tr_sink *sink, enum tr_print_form form, struct tr_ref ref)
{
    const char *quote = form == TR_PRINT_JSON ? "\"" : "";
    tr_sink_put_string(sink, quote);
    tri_print_ref(sink, ref);
    tr_sink_put_string(sink, quote);
}

static void print_value(struct tr_sink *sink, enum tr_print_form form, const struct tr_value *value)
{
    switch (value->kind) {
    case TR_FIELD_bool:
        tri_print_bool(sink, value->as.truth);
        break;
    case TR_FIELD_u8:
    case TR_FIELD_u16:
    case TR_FIELD_u32:
    case TR_FIELD_u64:
        tri_print_unsigned(sink, value->as.number);
        break;
    case TR_FIELD_i64:
        tri_print_signed(sink, value->as.signed_number);
        break;
    case TR_FIELD_f64:
        tri_print_f64(sink, form, value->as.real);
        break;
    case TR_FIELD_key:
        print_ref(sink, form, (struct tr_ref){.key = value->as.key});
        break;
    case TR_FIELD_ref:
        print_ref(sink, form, value->as.ref);
        break;
    case TR_FIELD_text:
        tr_print_json_text(sink, value->as.text);
        break;
    case TR_FIELD_bytes:
        tri_print_bytes(sink, form, value->as.bytes);
        break;
    case TR_FIELD_any:
        tr_print_any(sink, form, value->as.bytes);
        break;
    }
}

void tr_print_field(struct tr_sink *sink, enum tr_print_form form, const struct tr_field *field,
                    const struct tr_value *value)
{
    if ((field->marks & TR_REDACTED) != 0) {
        tri_print_redacted(sink, form, tr_value_size(value));
    } else {
        print_value(sink, form, value);
    }
}

/* Prints the fields of a body that was checked. */
static void print_fields(struct tr_sink *sink, enum tr_print_form form,
                         const struct tr_schema *schema, uint8_t version, struct tr_bytes body)
{
    struct tr_cursor cursor = tri_body_begin(schema, body, version);
    uint16_t count = tri_fields_of_version(schema, version);
    for (uint16_t i = 0; i < count && !sink->truncated; i++) {
        const struct tr_field *field = &schema->fields()[i];
        struct tr_value value = tr_value_read(&cursor, field);
        tri_print_name(sink, form, i == 0, field->name);
        tr_print_field(sink, form, field, &value);
    }
}

void tr_print_body(struct tr_sink *sink, enum tr_print_form form, const struct tr_schema *schema,
                   uint8_t version, struct tr_bytes body)
{
    uint16_t wrong = 0;
    int error = tr_body_check(schema, version, body, &wrong);
    if (form == TR_PRINT_LINE) {
        tr_sink_put_string(sink, schema->name);
    }
    if (error != 0) {
        const char *field = wrong < schema->field_count ? schema->fields()[wrong].name : NULL;
        tri_print_undecodable(sink, form, error, field, body.size);
        return;
    }
    tr_sink_put_char(sink, '{');
    print_fields(sink, form, schema, version, body);
    tr_sink_put_char(sink, '}');
}
