/*
 * What SDKs say about the fields of a struct: a JSON schema of a dataclass, or words of another
 * kind (which message of protobuf's it is). Flyte compares them before a struct goes to another.
 */
#ifndef TR_ACTORS_GRAPH_VALUE_TYPE_SCHEMA_H
#define TR_ACTORS_GRAPH_VALUE_TYPE_SCHEMA_H

#include "actors/graph/document/arena.h"

/*
 * Whether a struct of one schema may go where another is expected: the two are equal, or the first
 * has each field of the second with a type that may go there. Texts are JSON; "" says nothing and
 * goes anywhere. What is no JSON is equal to itself only.
 */
bool tr_schema_castable(struct tr_text from, struct tr_text to);

/* The name that a schema gives its struct, in an arena; "" where it gives none. */
struct tr_text tr_schema_title(struct tr_arena *arena, struct tr_text schema);

#endif
