/*
 * The envelope: what stands before every message, on the same bytes in a mailbox, between workers,
 * between hosts, in the journal and in the tap.
 *
 * It is a msgpack array whose numbers all have a fixed width (msgpack-c's pack_fix functions make
 * the same bytes), so that every field has a known place: writing is a few stores, reading one
 * field is one load, and checking is comparing the bytes that are types. The body follows it.
 *
 * (from, from_incarnation, sequence) names an envelope for ever; `cause` holds the name of the one
 * that led to this one.
 */
#ifndef TR_SCHEMAS_RUNTIME_ENVELOPE_H
#define TR_SCHEMAS_RUNTIME_ENVELOPE_H

#include <endian.h>

#include "schemas/codec/codec.h"

/* The version of the envelope itself; the first thing in it that may ever change. */
#define TR_ENVELOPE_VERSION 1

/* A larger body comes from no program of ours. (What may be sent, the runtime's limits say.) */
#define TR_BODY_BYTES_MAX (64U << 20)

/* What a message is to its receiver. */
#define TR_ENVELOPE_KINDS(K)                                              \
    K(TELL, 1, "tell")       /* no answer is expected */                  \
    K(ASK, 2, "ask")         /* a reply is, before deadline */            \
    K(REPLY, 3, "reply")     /* cause names the ask */                    \
    K(SIGNAL, 4, "signal")   /* from the runtime: DOWN, timer, timeout */ \
    K(CALL, 5, "call")       /* to the outside, over the boundary */      \
    K(CONTROL, 6, "control") /* between workers and services; no actor sees it */

enum tr_envelope_kind {
#define TRI_KIND(name, number, text) TR_KIND_##name = (number),
    TR_ENVELOPE_KINDS(TRI_KIND)
#undef TRI_KIND
};

/* The kind's name, or "unknown". */
const char *tr_envelope_kind_name(uint8_t kind);

/* Bits of `flags`. */
#define TR_ENVELOPE_FLAGS(F)                                                              \
    F(HINT, 0, "hint")           /* not durable */                                        \
    F(PRIORITY, 1, "priority")   /* never refused by a full mailbox */                    \
    F(FORWARDED, 2, "forwarded") /* came by way of a worker or host the actor has left */ \
    F(BOUNDARY, 3, "boundary")   /* leaves the host: held until its cause is committed */

enum tr_envelope_flag {
#define TRI_FLAG(name, bit, text) TR_FLAG_##name = 1 << (bit),
    TR_ENVELOPE_FLAGS(TRI_FLAG)
#undef TRI_FLAG
};

/* The name of the flag with this bit's number, or NULL. */
const char *tr_envelope_flag_name(unsigned bit);

/* (name, bits) in their order on the wire. */
#define TR_ENVELOPE_FIELDS(F)                           \
    F(envelope_version, 8)                              \
    F(kind, 8)                                          \
    F(flags, 8)                                         \
    F(hops, 8)                                          \
    F(version, 8) /* of the body's schema */            \
    F(type, 16)   /* the body's schema */               \
    F(body_size, 32)                                    \
    F(to_group, 64)                                     \
    F(to_serial, 64)                                    \
    F(to_incarnation, 32)                               \
    F(to_epoch, 32)                                     \
    F(from_group, 64)                                   \
    F(from_serial, 64)                                  \
    F(from_incarnation, 32)                             \
    F(from_epoch, 32)                                   \
    F(sequence, 64)                                     \
    F(cause_group, 64)                                  \
    F(cause_serial, 64)                                 \
    F(cause_incarnation, 32)                            \
    F(cause_sequence, 64)                               \
    F(deadline_ms, 64) /* on the wall clock, 0: none */ \
    F(trace, 64)                                        \
    F(clock, 64) /* hybrid logical clock: milliseconds << 16 | counter */

typedef uint8_t tri_uint8;
typedef uint16_t tri_uint16;
typedef uint32_t tri_uint32;
typedef uint64_t tri_uint64;

/* The envelope as a struct, for reading and writing all of it. */
struct tr_envelope {
#define TRI_MEMBER(name, bits) tri_uint##bits name;
    TR_ENVELOPE_FIELDS(TRI_MEMBER)
#undef TRI_MEMBER
};

/* The envelope as it lies in memory: an array tag with its count, then type byte and value each. */
struct tri_envelope_wire {
    uint8_t array_tag;
    uint16_t array_count;
#define TRI_MEMBER(name, bits) \
    uint8_t name##_tag;        \
    tri_uint##bits name;
    TR_ENVELOPE_FIELDS(TRI_MEMBER)
#undef TRI_MEMBER
} __attribute__((packed));

#define TR_ENVELOPE_BYTES sizeof(struct tri_envelope_wire)

/* Numbers to and from the order of the wire, by the number of their bits. */
static inline uint8_t tri_swap8(uint8_t value)
{
    return value;
}

static inline uint16_t tri_swap16(uint16_t value)
{
    return htobe16(value);
}

static inline uint32_t tri_swap32(uint32_t value)
{
    return htobe32(value);
}

static inline uint64_t tri_swap64(uint64_t value)
{
    return htobe64(value);
}

/* The type bytes of fixed-width unsigned integers. */
enum tri_fixed_tag {
    TRI_TAG_8 = 0xcc,
    TRI_TAG_16 = 0xcd,
    TRI_TAG_32 = 0xce,
    TRI_TAG_64 = 0xcf,
};

enum tri_envelope_count {
#define TRI_ONE(name, bits) +1
    TRI_ENVELOPE_FIELD_COUNT = 0 TR_ENVELOPE_FIELDS(TRI_ONE)
#undef TRI_ONE
};

/* Writes the envelope to `at`, which has room for TR_ENVELOPE_BYTES. */
static inline void tr_envelope_pack(const struct tr_envelope *envelope, uint8_t *at)
{
    struct tri_envelope_wire *wire = (struct tri_envelope_wire *)at;
    wire->array_tag = 0xdc;
    wire->array_count = tri_swap16(TRI_ENVELOPE_FIELD_COUNT);
#define TRI_STORE(name, bits)          \
    wire->name##_tag = TRI_TAG_##bits; \
    wire->name = tri_swap##bits(envelope->name);
    TR_ENVELOPE_FIELDS(TRI_STORE)
#undef TRI_STORE
}

/* Reads a checked envelope; `at` holds TR_ENVELOPE_BYTES that tr_envelope_check accepted. */
static inline void tr_envelope_unpack(const uint8_t *at, struct tr_envelope *envelope)
{
    const struct tri_envelope_wire *wire = (const struct tri_envelope_wire *)at;
#define TRI_LOAD(name, bits) envelope->name = tri_swap##bits(wire->name);
    TR_ENVELOPE_FIELDS(TRI_LOAD)
#undef TRI_LOAD
}

/* One field of a checked envelope: tr_envelope_get(at, 64, to_serial). */
#define tr_envelope_get(at, bits, name) \
    tri_swap##bits(((const struct tri_envelope_wire *)(const void *)(at))->name)

/* Changes one field in place: what forwarding does to hops, flags and epochs. */
#define tr_envelope_put(at, bits, name, value) \
    (((struct tri_envelope_wire *)(void *)(at))->name = tri_swap##bits(value))

/*
 * Checks that `bytes` begin with an envelope that is followed by its whole body, and gives the
 * bytes of both together. Any bytes may be given. Errors: TR_TRUNCATED, TR_MALFORMED, TR_VERSION
 * (an envelope of another version, whatever comes after that number in it), TR_LIMIT (a body above
 * TR_BODY_BYTES_MAX).
 */
TR_MUST_USE int tr_envelope_check(struct tr_bytes bytes, size_t *message_size);

/* The body behind a checked envelope. */
static inline struct tr_bytes tr_envelope_body(const uint8_t *at)
{
    return (struct tr_bytes){.data = at + TR_ENVELOPE_BYTES,
                             .size = tr_envelope_get(at, 32, body_size)};
}

static inline struct tr_ref tr_envelope_to(const struct tr_envelope *envelope)
{
    return (struct tr_ref){{envelope->to_group, envelope->to_serial}, envelope->to_incarnation};
}

static inline struct tr_ref tr_envelope_from(const struct tr_envelope *envelope)
{
    return (struct tr_ref){{envelope->from_group, envelope->from_serial},
                           envelope->from_incarnation};
}

/* Whose envelope led to this one; with cause_sequence, which. */
static inline struct tr_ref tr_envelope_cause(const struct tr_envelope *envelope)
{
    return (struct tr_ref){{envelope->cause_group, envelope->cause_serial},
                           envelope->cause_incarnation};
}

#endif
