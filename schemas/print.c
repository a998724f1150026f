/*
 * Printing by schema: the body is read field by field from its bytes, so that no memory is needed
 * for its struct, and an old version shows exactly the fields it had.
 */
#include "schemas/print.h"

#include <inttypes.h>

#include "schemas/print_scalar.h"
#include "schemas/value.h"

/* What stands around the fields of an object, by form. */
struct punctuation {
    const char *between;
    const char *before_name;
    const char *after_name;
};

static const struct punctuation punctuations[] = {
    [TR_PRINT_LINE] = {" ", "", "="},
    [TR_PRINT_JSON] = {",", "\"", "\":"},
};

/* Begins a field: what separates it from the one before it, and its name. */
static void print_name(struct tr_sink *sink, enum tr_print_form form, bool is_first,
                       const char *name)
{
    const struct punctuation *punctuation = &punctuations[form];
    tr_sink_put_string(sink, is_first ? "" : punctuation->between);
    tr_sink_put_string(sink, punctuation->before_name);
    tr_sink_put_string(sink, name);
    tr_sink_put_string(sink, punctuation->after_name);
}

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
        tri_print_text(sink, value->as.text);
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
        print_name(sink, form, i == 0, field->name);
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

/* The names of all flags that are set, and the number of what has no name. */
static void print_flags(struct tr_sink *sink, uint8_t flags)
{
    tr_sink_put_string(sink, " flags=");
    bool is_first = true;
    for (unsigned bit = 0; bit < 8; bit++) {
        if ((flags >> bit & 1) == 0) {
            continue;
        }
        const char *name = tr_envelope_flag_name(bit);
        tr_sink_put_string(sink, is_first ? "" : "|");
        if (name != NULL) {
            tr_sink_put_string(sink, name);
        } else {
            tr_sink_format(sink, "bit%u", bit);
        }
        is_first = false;
    }
}

/* Who sent what to whom, and why. */
static void print_course(struct tr_sink *sink, const struct tr_envelope *envelope)
{
    tr_sink_format(sink, "%s ", tr_envelope_kind_name(envelope->kind));
    tri_print_ref(sink, tr_envelope_from(envelope));
    tr_sink_format(sink, "#%" PRIu64 " -> ", envelope->sequence);
    tri_print_ref(sink, tr_envelope_to(envelope));
    if (envelope->cause_serial != 0) {
        tr_sink_put_string(sink, " cause=");
        tri_print_ref(sink, tr_envelope_cause(envelope));
        tr_sink_format(sink, "#%" PRIu64, envelope->cause_sequence);
    }
}

static void print_envelope_line(struct tr_sink *sink, const struct tr_envelope *envelope)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        {"type", envelope->type},
        {"version", envelope->version},
        {"body_size", envelope->body_size},
        {"hops", envelope->hops},
        {"from_epoch", envelope->from_epoch},
        {"to_epoch", envelope->to_epoch},
        {"deadline_ms", envelope->deadline_ms},
        {"trace", envelope->trace},
        {"clock", envelope->clock},
    };
    print_course(sink, envelope);
    if (envelope->flags != 0) {
        print_flags(sink, envelope->flags);
    }
    for (size_t i = 0; i < TR_COUNT_OF(numbers); i++) {
        if (numbers[i].value != 0) {
            tr_sink_format(sink, " %s=%" PRIu64, numbers[i].name, numbers[i].value);
        }
    }
}

static void print_envelope_json(struct tr_sink *sink, const struct tr_envelope *envelope)
{
    static const char *const names[] = {
#define TRI_NAME(name, bits) #name,
        TR_ENVELOPE_FIELDS(TRI_NAME)
#undef TRI_NAME
    };
    const uint64_t values[] = {
#define TRI_VALUE(name, bits) envelope->name,
        TR_ENVELOPE_FIELDS(TRI_VALUE)
#undef TRI_VALUE
    };
    tr_sink_put_char(sink, '{');
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        print_name(sink, TR_PRINT_JSON, i == 0, names[i]);
        tri_print_unsigned(sink, values[i]);
    }
    print_name(sink, TR_PRINT_JSON, false, "kind_name");
    tri_print_text(sink, tr_text_of(tr_envelope_kind_name(envelope->kind)));
    tr_sink_put_char(sink, '}');
}

void tr_print_envelope(struct tr_sink *sink, enum tr_print_form form,
                       const struct tr_envelope *envelope)
{
    if (form == TR_PRINT_JSON) {
        print_envelope_json(sink, envelope);
    } else {
        print_envelope_line(sink, envelope);
    }
}

/* Prints the body of a checked message by the schema it names. */
static void print_body_of(struct tr_sink *sink, enum tr_print_form form,
                          const struct tr_registry *registry, const struct tr_envelope *envelope,
                          struct tr_bytes body)
{
    const struct tr_schema *schema = tr_registry_find(registry, TR_MESSAGE, envelope->type);
    if (form == TR_PRINT_JSON && schema != NULL) {
        tr_sink_format(sink, "\"name\":\"%s\",", schema->name);
    }
    tr_sink_put_string(sink, form == TR_PRINT_JSON ? "\"body\":" : "");
    if (schema == NULL) {
        tri_print_undecodable(sink, form, TR_UNKNOWN_TYPE, NULL, body.size);
    } else {
        tr_print_body(sink, form, schema, envelope->version, body);
    }
}

void tr_print_message(struct tr_sink *sink, enum tr_print_form form,
                      const struct tr_registry *registry, struct tr_bytes message)
{
    size_t size = 0;
    int error = tr_envelope_check(message, &size);
    if (error != 0) {
        tri_print_undecodable(sink, form, error, NULL, message.size);
        return;
    }
    struct tr_envelope envelope;
    tr_envelope_unpack(message.data, &envelope);
    tr_sink_put_string(sink, form == TR_PRINT_JSON ? "{\"envelope\":" : "");
    tr_print_envelope(sink, form, &envelope);
    tr_sink_put_string(sink, form == TR_PRINT_JSON ? "," : ": ");
    print_body_of(sink, form, registry, &envelope, tr_envelope_body(message.data));
    tr_sink_put_string(sink, form == TR_PRINT_JSON ? "}" : "");
}

void tr_print_json_text(struct tr_sink *sink, struct tr_text text)
{
    tri_print_text(sink, text);
}
