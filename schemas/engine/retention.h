/*
 * Forgetting what has ended. The history of an execution may have millions of rows, so it goes in
 * shares, each a commit of its own; its own row goes last, so that one that stops in between is
 * asked again.
 *
 *     a command           the engine                       the launcher of its project and domain
 *     forget           ->
 *                         forget_rows (a share, asked)  ->
 *                                                       <- rows_forgotten
 *                      <- forgotten
 */
#ifndef TR_SCHEMAS_ENGINE_RETENTION_H
#define TR_SCHEMAS_ENGINE_RETENTION_H

#include "schemas/codec/field.h"

/* Rows of one share: what one handler deletes, and one commit. */
#define TR_FORGET_ROWS_MAX 1000

/* Forgets a share of an execution that has ended; to be asked until `is_done`. */
#define TR_FORGET_FIELDS(FIELD, ARRAY) FIELD(u64, execution, 1, 0)

/* TR_BUSY: it has not ended. One that the history does not have (any more) is done. */
#define TR_FORGOTTEN_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)               \
    FIELD(text, message, 1, 0)            \
    FIELD(u64, rows, 1, 0)                \
    FIELD(bool, is_done, 1, 0)

/*
 * Deletes rows of the history. `rows` is an array, for each row the id of its record and, as bytes,
 * the row packed with nothing but its key. `name` is the execution's. With
 * `is_last` everything that is left of it goes.
 */
#define TR_FORGET_ROWS_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, 0)             \
    FIELD(text, name, 1, 0)                 \
    FIELD(any, rows, 1, 0)                  \
    FIELD(bool, is_last, 1, 0)

/* TR_BUSY: the execution lives. */
#define TR_ROWS_FORGOTTEN_FIELDS(FIELD, ARRAY) FIELD(i64, error, 1, 0)

#define TR_RETENTION_SCHEMAS(S)                                                  \
    S(forget_rows, 475, TR_MESSAGE, 1, TR_DURABLE, TR_FORGET_ROWS_FIELDS)        \
    S(rows_forgotten, 476, TR_MESSAGE, 1, TR_PRIORITY, TR_ROWS_FORGOTTEN_FIELDS) \
    S(forget, 532, TR_MESSAGE, 1, TR_HINT, TR_FORGET_FIELDS)                     \
    S(forgotten, 533, TR_MESSAGE, 1, TR_HINT, TR_FORGOTTEN_FIELDS)

TR_RETENTION_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
