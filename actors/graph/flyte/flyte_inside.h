/*
 * What the files flyte*.c share. No other file includes this, as it shows protobuf's library.
 */
#ifndef TR_ACTORS_GRAPH_FLYTE_FLYTE_INSIDE_H
#define TR_ACTORS_GRAPH_FLYTE_FLYTE_INSIDE_H

#include <flyteidl/interface.pb-c.h>
#include <flyteidl/literals.pb-c.h>
#include <flyteidl/types.pb-c.h>

#include "actors/graph/flyte/flyte.h"
#include "actors/graph/flyte/flyte_wire.h"

/* A message in an arena, as the library wants it at first; NULL without memory. */
TR_MUST_USE void *tri_flyte_new(struct tr_arena *arena,
                                const ProtobufCMessageDescriptor *descriptor);

/* A type as Flyte's, in an arena; NULL without memory. */
TR_MUST_USE Flyteidl__Core__LiteralType *tri_flyte_type_new(struct tr_arena *arena,
                                                            const struct tr_type *type);

/*
 * One of Flyte's types in a table; entries of its maps are put in order. NULL when it is none of
 * ours, or memory ended.
 */
TR_MUST_USE const struct tr_type *tri_flyte_type_read(struct tr_types *types,
                                                      const Flyteidl__Core__LiteralType *type);

/* Whether messages of a kind are the entries of a map, keys that are text with their values. */
bool tri_flyte_is_entry(const ProtobufCMessageDescriptor *descriptor);

/* Puts the entries of all maps in a message in the order of their keys: they have none. */
void tri_flyte_sort(ProtobufCMessage *message);

/* The words of an error in the order in which people read them, in an arena. TR_MEMORY. */
TR_MUST_USE int tri_flyte_trace_order(struct tr_arena *arena, const char *text,
                                      struct tr_text *ordered);

/* A text as C's string in an arena; NULL with TR_INVALID in `error` when it holds a zero byte. */
TR_MUST_USE char *tri_flyte_string(struct tr_arena *arena, struct tr_text text, int *error);

/* A literal as a tree, for what stands in other documents. NULL as tr_flyte_literal. */
TR_MUST_USE struct tr_tree *tri_flyte_literal(struct tr_arena *arena, struct tr_report *report,
                                              const struct tr_type *type,
                                              const Flyteidl__Core__Literal *literal,
                                              struct tr_flyte_files *files);

/* The same for a scalar. */
TR_MUST_USE struct tr_tree *tri_flyte_scalar(struct tr_arena *arena, struct tr_report *report,
                                             const struct tr_type *type,
                                             const Flyteidl__Core__Scalar *scalar,
                                             struct tr_flyte_files *files);

/* Free-form values: a JSON object of protobuf's, and msgpack of a task's. NULL and told, too. */
TR_MUST_USE struct tr_tree *tri_flyte_struct(struct tr_arena *arena, struct tr_report *report,
                                             const Google__Protobuf__Struct *value);
TR_MUST_USE struct tr_tree *tri_flyte_msgpack(struct tr_arena *arena, struct tr_report *report,
                                              struct tr_bytes bytes);

/*
 * A packed struct as protobuf's, in an arena; NULL without memory. TR_INVALID in `error` where a
 * key or a text holds a zero byte.
 */
TR_MUST_USE Google__Protobuf__Struct *tri_flyte_struct_new(struct tr_arena *arena,
                                                           struct tr_cursor *cursor, int *error);

/* How large an element of a field that is a list is in memory. */
size_t tri_flyte_item_bytes(const ProtobufCFieldDescriptor *field);

/*
 * Sets the fields that stand in the tree of a JSON object, as tr_flyte_message_read_json does, but
 * for those that are not known: they are passed over, as Flyte does it.
 */
TR_MUST_USE int tri_flyte_read_tree(struct tr_arena *arena, ProtobufCMessage *message,
                                    const struct tr_tree *tree, char *problem);

/*
 * The message that a type URL names (its part behind the last slash), of those in
 * schemas/flyteidl; NULL: none of them. Whether its JSON is no object of its fields, so that it
 * stands in one with a name of its own where it is in a google.protobuf.Any.
 */
const ProtobufCMessageDescriptor *tri_flyte_find_message(struct tr_text type_url);
bool tri_flyte_has_own_json(const ProtobufCMessageDescriptor *descriptor);

/* What of a message its JSON says. */
enum tri_flyte_json_form {
    TRI_FLYTE_JSON_WHOLE,
    TRI_FLYTE_JSON_HASHED,     /* of a literal that has a hash that alone, as propeller hashes it */
    TRI_FLYTE_JSON_FIELDS,     /* all fields, with their names as defined (flyte_message.h) */
    TRI_FLYTE_JSON_BARE_TYPES, /* types without what SDKs say about them, as propeller has them */
};

/* A message as the tree of its JSON. NULL: memory ended. */
TR_MUST_USE struct tr_tree *tri_flyte_json(struct tr_arena *arena, const ProtobufCMessage *message,
                                           enum tri_flyte_json_form form);

/*
 * What stands for an interface in Flyte's keys of cached results: the beginnings of the hashes of
 * its inputs and of its outputs, IN-OUT. NULL is one without any. Empty: memory ended.
 */
TR_MUST_USE struct tr_text tri_flyte_signature(struct tr_arena *arena,
                                               const Flyteidl__Core__TypedInterface *interface);

/* Trees of single values. NULL without memory. */
TR_MUST_USE struct tr_tree *tri_flyte_text(struct tr_arena *arena, struct tr_text text);

/* A map of pairs that were made one by one; told when a key is there twice. */
TR_MUST_USE struct tr_tree *tri_flyte_map(struct tr_arena *arena, struct tr_report *report,
                                          const struct tri_vector *pairs);

/* Says what is wrong with a document; always NULL. */
struct tr_tree *tri_flyte_refuse(struct tr_report *report, const char *words);

#endif
