/*
 * Slots: how values travel between actors and wait in their states.
 *
 * A slot is one msgpack value: the literal itself, packed by its type (literal.h), or, where that
 * would be larger than TR_INLINE_BYTES_MAX, an extension that says where its bytes lie:
 * [uri, size], or [uri, size, variant] where they are the value of one variant of a union. So what
 * lies elsewhere can become a value that may be none, and none of its bytes is touched.
 * What people give before anybody knows its type is an extension of its own, see below.
 * Inputs and outputs are lists of slots in the order of their interface: arrays, in one piece.
 */
#ifndef TR_ACTORS_GRAPH_VALUE_SLOT_H
#define TR_ACTORS_GRAPH_VALUE_SLOT_H

#include "actors/graph/value/type.h"

/* A literal above this is kept in the blob store; smaller ones stand in messages and states. */
#define TR_INLINE_BYTES_MAX (256U << 10)

/* The extension's number on the wire and on disk. */
#define TR_OFFLOADED_EXTENSION 1

/* A literal of no type so far, as the core schema reads it; it is cast where its type is known. */
#define TR_UNTYPED_EXTENSION 2

/* Where the bytes of a large literal are: a blob that holds them and nothing else. */
struct tr_offloaded {
    struct tr_text uri;
    uint64_t size_bytes; /* of the blob */
    uint32_t variant;    /* + 1: which one of the union the blob holds; 0: it holds the literal */
};

/* Whether a slot's literal lies elsewhere; if so, where. The view lives as long as the slot. */
bool tr_slot_is_offloaded(struct tr_bytes slot, struct tr_offloaded *where);

/* Appends a slot whose literal lies elsewhere. */
void tr_slot_write_offloaded(struct tr_buffer *buffer, const struct tr_offloaded *where);

/* Whether a slot is a literal of no type so far; if so, which. Appends such a slot. */
bool tr_slot_is_untyped(struct tr_bytes slot, struct tr_bytes *literal);
void tr_slot_write_untyped(struct tr_buffer *buffer, struct tr_bytes literal);

/*
 * The type of what the blob holds, where the slot's is `type`. NULL where `type` is no union that
 * has such a variant, and where it is NULL itself.
 */
const struct tr_type *tr_offloaded_type(const struct tr_offloaded *where,
                                        const struct tr_type *type);

/* Appends what stands before the blob's bytes in the literal: of a variant its position. */
void tr_offloaded_write_head(const struct tr_offloaded *where, struct tr_buffer *buffer);

/*
 * Appends a value as the message of an error shows it: a number, or text in quotes, cut where it is
 * long; of all else only what it is and how large, since nobody asked for it to be shown. `type`
 * NULL: by its form alone.
 */
void tr_slot_show(const struct tr_type *type, struct tr_bytes slot, struct tr_buffer *buffer);

/*
 * Appends the end of such a message: the value, as tr_slot_show has it, and the type that it does
 * not fit. Bytes that are no value of `type` are shown by their form.
 */
void tr_slot_show_misfit(const struct tr_type *type, struct tr_bytes slot,
                         const struct tr_type *declared, struct tr_buffer *buffer);

/* Begins to read a list of slots; no bytes at all and nil are an empty list. Gives the count. */
uint32_t tr_slots_begin(struct tr_bytes slots, struct tr_cursor *cursor);

/* The slot at `index`: 0, TR_NOT_FOUND, or TR_MALFORMED. Looks at each before it. */
TR_MUST_USE int tr_slots_get(struct tr_bytes slots, uint32_t index, struct tr_bytes *slot);

#endif
