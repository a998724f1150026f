/*
 * Forgetting the history of an execution that has ended, a share in each handler.
 */
#ifndef TR_ACTORS_HISTORY_FORGET_H
#define TR_ACTORS_HISTORY_FORGET_H

#include "actors/graph/document/buffer.h"
#include "runtime/troupe.h"

/*
 * Appends a row to a share: the id of its record, and its key. `row` is the struct of one of the
 * history's records, for which what is no key is not looked at. TR_MEMORY, and what packing says.
 */
TR_MUST_USE int tr_forget_add(struct tr_buffer *rows, const struct tr_schema *schema,
                              const void *row);

/* Deletes the rows of a share in the commit of this handler. TR_MALFORMED, and as tr_record. */
TR_MUST_USE int tr_forget_rows(struct tr_context *context, struct tr_bytes rows);

#endif
