/*
 * Messages of Flyte's as a whole, whatever they are: from and to bytes, from and to JSON, and field
 * by field, for who answers Flyte's clients (deploy/api/). Generic over protobuf-c's descriptors.
 *
 * JSON is that of Flyte's gateway: names as the definitions have them, all fields shown but those
 * that are one of several, enumerators by name, 64-bit integers as texts. When it is read, names in
 * camel case and enumerators and integers in either form are the same; a field that is not known is
 * an error. Messages live in an arena and are not given back to the library. Pure.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_MESSAGE_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "actors/graph/document/arena.h"
#include "actors/graph/document/buffer.h"

/* Bytes that are enough for what is wrong with a text that is read, closing zero included. */
#define TR_FLYTE_PROBLEM_BYTES 512

/* One without any field set. NULL without memory, which is then the arena's error, here and below.
 */
TR_MUST_USE void *tr_flyte_message_new(struct tr_arena *arena,
                                       const ProtobufCMessageDescriptor *descriptor);

/*
 * From bytes, into at most `bytes_max` of memory. NULL: they are no such message, or, if the arena
 * has an error, there is no memory for it: TR_MEMORY, or TR_LIMIT at `bytes_max`.
 */
TR_MUST_USE void *tr_flyte_message_unpack(struct tr_arena *arena,
                                          const ProtobufCMessageDescriptor *descriptor,
                                          struct tr_bytes bytes, uint64_t bytes_max);

/* A type as a flyteidl.core.LiteralType, in an arena. */
struct tr_type;
TR_MUST_USE void *tr_flyte_message_of_type(struct tr_arena *arena, const struct tr_type *type);

/* The name of an enumerator; NULL: none has the number. */
const char *tr_flyte_message_word(const ProtobufCEnumDescriptor *descriptor, int number);

/*
 * The text of a field, in a message in it if `inside` is not empty: NAME, or NAME.NAME. NULL: there
 * is no such field, or a message on the way is not set.
 */
const char *tr_flyte_message_text(const ProtobufCMessage *message, struct tr_text inside,
                                  const char *name);

/* Appends its bytes, or its JSON; errors stay in the buffer. */
void tr_flyte_message_pack(const ProtobufCMessage *message, struct tr_buffer *bytes);
void tr_flyte_message_write_json(const ProtobufCMessage *message, struct tr_buffer *json);

/*
 * Sets the fields that stand in a JSON object, in a message that has none of them; memory is
 * bounded as above. TR_INVALID with the reason in `problem` (TR_FLYTE_PROBLEM_BYTES), TR_MEMORY,
 * TR_LIMIT.
 */
TR_MUST_USE int tr_flyte_message_read_json(struct tr_arena *arena, ProtobufCMessage *message,
                                           struct tr_text json, uint64_t bytes_max, char *problem);

/*
 * Sets one field from a text, as in a query: `path` is its name, or NAME.NAME of one in a message
 * in it. A field that is a list gets one more. Errors as above.
 */
TR_MUST_USE int tr_flyte_message_set(struct tr_arena *arena, ProtobufCMessage *message,
                                     struct tr_text path, struct tr_text text, char *problem);

#endif
