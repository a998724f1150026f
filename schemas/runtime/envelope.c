/*
 * Checking envelopes that come from anywhere, and the names of their kinds and flags.
 */
#include "schemas/runtime/envelope.h"

/* These bytes are on disks and wires: a change makes a new version. */
_Static_assert(TR_ENVELOPE_BYTES == 145, "the envelope's size on the wire is fixed");

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

/* Whether the bytes begin as envelopes of any version do, but with another version's number. */
static bool other_version(struct tr_bytes bytes)
{
    const struct tri_envelope_wire *wire = (const struct tri_envelope_wire *)bytes.data;
    size_t known = offsetof(struct tri_envelope_wire, envelope_version) + 1;
    return bytes.size >= known && wire->array_tag == 0xdc &&
           wire->envelope_version_tag == TRI_TAG_8 && wire->envelope_version != TR_ENVELOPE_VERSION;
}

int tr_envelope_check(struct tr_bytes bytes, size_t *message_size)
{
    if (other_version(bytes)) {
        return TR_VERSION;
    }
    if (bytes.size < TR_ENVELOPE_BYTES) {
        return TR_TRUNCATED;
    }
    const struct tri_envelope_wire *wire = (const struct tri_envelope_wire *)bytes.data;
    if (!tags_match(wire) || wire->kind < TR_KIND_TELL || wire->kind > TR_KIND_CONTROL) {
        return TR_MALFORMED;
    }
    size_t body_size = tri_swap32(wire->body_size);
    if (body_size > TR_BODY_BYTES_MAX) {
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

const char *tr_envelope_flag_name(unsigned bit)
{
    static const char *const names[] = {
#define TRI_NAME(name, number, text) [number] = (text),
        TR_ENVELOPE_FLAGS(TRI_NAME)
#undef TRI_NAME
    };
    return bit < TR_COUNT_OF(names) ? names[bit] : NULL;
}
