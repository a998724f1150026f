/*
 * JSON as a packed value at once, without a tree: for what back ends answer and tell, of which
 * there is much. Documents that people write are read by json.h, whose errors have places.
 */
#ifndef TR_ACTORS_GRAPH_JSON_PACK_H
#define TR_ACTORS_GRAPH_JSON_PACK_H

#include "actors/graph/arena.h"
#include "schemas/codec.h"

/*
 * Packs one JSON value (RFC 8259, strictly), which is all that `json` holds, into memory of the
 * arena. Objects are maps in the order in which they are written; a name that comes twice is in
 * them twice. Numbers without a fraction and an exponent are integers. Any thread.
 *
 * TR_INVALID: it is no JSON, an integer has more than 64 bits, a real is too large, or it nests
 * deeper than TR_NESTING_MAX. TR_MEMORY; TR_LIMIT: the arena is full.
 */
TR_MUST_USE int tr_json_pack(struct tr_arena *arena, struct tr_bytes json, struct tr_bytes *value);

#endif
