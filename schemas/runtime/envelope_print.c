/*
 * Printing envelopes field by field, and the bodies behind them by the schemas that they name.
 */
#include "schemas/runtime/envelope_print.h"

#include <inttypes.h>

#include "schemas/codec/print_scalar.h"

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
        tri_print_name(sink, TR_PRINT_JSON, i == 0, names[i]);
        tri_print_unsigned(sink, values[i]);
    }
    tri_print_name(sink, TR_PRINT_JSON, false, "kind_name");
    tr_print_json_text(sink, tr_text_of(tr_envelope_kind_name(envelope->kind)));
    tr_sink_put_char(sink, '}');
}

void tr_print_envelope(struct tr_sink *sink, enum tr_print_form form,
                       const struct tr_envelope *envelope)
{
    struct tr_envelope shown = *envelope;
    shown.to_group = tr_group_shown(envelope->to_group);
    shown.from_group = tr_group_shown(envelope->from_group);
    shown.cause_group = tr_group_shown(envelope->cause_group);
    if (form == TR_PRINT_JSON) {
        print_envelope_json(sink, &shown);
    } else {
        print_envelope_line(sink, &shown);
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
