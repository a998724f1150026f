/*
 * Checking envelopes that come from anywhere, and the names of their kinds.
 */
#include "schemas/envelope.h"

/* A body that no message of this program has; limits.h of the runtime sets what is sent. */
#define BODY_BYTES_MAX (64U << 20)

/* Whether every byte that gives a type is the one that our writer makes. */
static bool tags_match(const struct tri_envelope_wire *wire)
{
    unsigned wrong = wire->array_tag ^ 0xdcU;
    wrong |= (unsigned)(tri_swap16(wire->array_count) ^ TRI_ENVELOPE_FIELD_COUNT);
#define TRI_COMPARE(name, bits) wrong |= (unsigned)(wire->name##_tag ^ TRI_TAG_##bits);
    TR_ENVELOPE_FIELDS(TRI_COMPARE)
#undef TRI_COMPARE
    return wrong == 0;
}

int tr_envelope_check(struct tr_bytes bytes, size_t *message_size)
{
    if (bytes.size < TR_ENVELOPE_BYTES) {
        return TR_TRUNCATED;
    }
    const struct tri_envelope_wire *wire = (const struct tri_envelope_wire *)bytes.data;
    if (!tags_match(wire)) {
        return TR_MALFORMED;
    }
    if (wire->envelope_version != TR_ENVELOPE_VERSION) {
        return TR_VERSION;
    }
    if (wire->kind < TR_KIND_TELL || wire->kind > TR_KIND_CONTROL) {
        return TR_MALFORMED;
    }
    size_t body_size = tri_swap32(wire->body_size);
    if (body_size > BODY_BYTES_MAX) {
        return TR_LIMIT;
    }
    if (bytes.size - TR_ENVELOPE_BYTES < body_size) {
        return TR_TRUNCATED;
    }
    *message_size = TR_ENVELOPE_BYTES + body_size;
    return 0;
}

const char *tr_envelope_kind_name(uint8_t kind)
{
    static const char *const names[] = {
#define TRI_NAME(name, number, text) [number] = (text),
        TR_ENVELOPE_KINDS(TRI_NAME)
#undef TRI_NAME
    };
    if (kind >= TR_COUNT_OF(names) || names[kind] == NULL) {
        return "unknown";
    }
    return names[kind];
}
