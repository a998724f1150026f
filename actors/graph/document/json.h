/*
 * JSON into the same tree as YAML: inputs files, and what tasks write. And into packed values at
 * once: what back ends answer and tell, of which there is much.
 *
 * The library that parses keeps no places but those of its own errors, so that messages about
 * values name them by their path. Repeated keys are errors; integers have 64 bits.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_JSON_H
#define TR_ACTORS_GRAPH_DOCUMENT_JSON_H

#include "actors/graph/document/tree.h"

/*
 * Reads one value of `text` into `arena`; NULL when something is wrong, which is then in the
 * report under `source`, or when memory ended (arena->error).
 */
TR_MUST_USE const struct tr_tree *tr_json_read(struct tr_arena *arena, struct tr_report *report,
                                               uint32_t source, struct tr_text text);

/*
 * The same for the value that a longer text begins with; `used` is where it ends. For documents
 * that are read value by value; places of errors count from the value's begin.
 */
TR_MUST_USE const struct tr_tree *tr_json_read_next(struct tr_arena *arena,
                                                    struct tr_report *report, uint32_t source,
                                                    struct tr_text text, size_t *used);

/*
 * Packs the one value that `json` holds into memory of the arena: objects are maps in the order in
 * which they are written, numbers without a fraction and an exponent are integers. TR_INVALID: it
 * is no JSON, has a name twice, or nests deeper than TR_NESTING_MAX; TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_json_pack(struct tr_arena *arena, struct tr_bytes json, struct tr_bytes *value);

#endif
