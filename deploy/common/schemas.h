/*
 * All schemas of the program, by name and by number: for taps, whose filters and lines name them;
 * and the records of its stores.
 */
#ifndef TR_DEPLOY_COMMON_SCHEMAS_H
#define TR_DEPLOY_COMMON_SCHEMAS_H

#include "actors/graph/document/arena.h"
#include "schemas/codec/registry.h"

/* The registry, made at the first call; by the program's own thread. */
const struct tr_registry *tr_program_schemas(void);

/* What a store has rows of: the history, and schedules. */
extern const struct tr_schema *const tr_program_records[];
extern const size_t tr_program_record_count;

/* Moves all texts and bytes of a row into an arena, so that it outlives the reader's call. */
TR_MUST_USE int tr_schemas_row_keep(struct tr_arena *arena, const struct tr_schema *schema,
                                    void *row);

#endif
