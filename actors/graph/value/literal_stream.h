/*
 * Values as JSON that need not fit into memory: a list is written element by element.
 */
#ifndef TR_ACTORS_GRAPH_VALUE_LITERAL_STREAM_H
#define TR_ACTORS_GRAPH_VALUE_LITERAL_STREAM_H

#include "actors/graph/value/literal.h"

/* Takes what was written; an error ends the writing and is returned. */
typedef int tr_literal_put(void *self, struct tr_text text);

/*
 * Writes what tr_literal_json appends, in pieces. TR_MALFORMED (a part of it is written then),
 * TR_MEMORY, TR_LIMIT (one element is larger than a buffer), and what `put` says.
 */
TR_MUST_USE int tr_literal_stream(const struct tr_type *type, struct tr_bytes value,
                                  tr_literal_put *put, void *self);

#endif
