/*
 * The wire format of protobuf, below its library: what the library is not asked to do. A document
 * is checked before it is unpacked, since the library trusts nesting and text; and the outermost
 * layers of large documents are walked here, so that a list is never in memory as a whole.
 *
 * Only the files flyte*.c include this.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_WIRE_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "actors/graph/document/arena.h"
#include "actors/graph/document/buffer.h"

/* A field that holds bytes: text, bytes, or a message. Its number and the wire type 2. */
#define TRI_WIRE_TAG(number) ((uint8_t)((number) << 3 | 2))

/* What is left of a message. */
struct tri_wire {
    const uint8_t *at;
    const uint8_t *end;
    bool is_malformed;
};

struct tri_wire_field {
    uint32_t number;
    bool has_bytes;        /* of wire type 2 */
    struct tr_bytes bytes; /* its content; of other wire types what stands for them */
};

/* A walk over a message's fields. */
struct tri_wire tri_wire_of(struct tr_bytes message);

/* The next field; false at the end, and where the bytes are no message, which is then noted. */
bool tri_wire_next(struct tri_wire *wire, struct tri_wire_field *field);

/* How many bytes a field takes with its tag of one byte and its size. */
uint64_t tri_wire_field_bytes(uint64_t content_bytes);

/* Appends the tag and the size in front of a field's content. */
void tri_wire_header(struct tr_buffer *buffer, uint32_t number, uint64_t content_bytes);

/*
 * Unpacks a message into an arena: NULL where it is none (nesting above TR_FLYTE_NESTING_MAX, text
 * that is no UTF-8 or holds a zero byte, and whatever the library refuses), or when memory or
 * TR_FLYTE_BYTES_MAX ended, which is then the arena's error. Of a key that a map has twice the last
 * entry counts, as protobuf has it. It lives as long as the arena, and is not given back to the
 * library.
 */
TR_MUST_USE void *tri_wire_unpack(struct tr_arena *arena,
                                  const ProtobufCMessageDescriptor *descriptor,
                                  struct tr_bytes bytes);

/* The same within less memory. */
TR_MUST_USE void *tri_wire_unpack_within(struct tr_arena *arena,
                                         const ProtobufCMessageDescriptor *descriptor,
                                         struct tr_bytes bytes, uint64_t bytes_max);

#endif
