/*
 * All schemas of the program, by name and by number: for taps, whose filters and lines name them;
 * and the records of its stores.
 */
#ifndef TR_DEPLOY_SCHEMAS_H
#define TR_DEPLOY_SCHEMAS_H

#include "schemas/codec/registry.h"

/* The registry, made at the first call; by the program's own thread. */
const struct tr_registry *tr_program_schemas(void);

/* What a store has rows of: the history, and schedules. */
extern const struct tr_schema *const tr_program_records[];
extern const size_t tr_program_record_count;

#endif
