/*
 * Forgetting what has ended, in shares, each a commit of its own: many executions with few rows, or
 * a part of one that may have millions; its own row goes last then, so that one that stops in
 * between is asked again.
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

/* Executions that one request names. */
#define TR_FORGET_EXECUTIONS_MAX 256

/* Graphs that one request names. */
#define TR_FORGET_GRAPHS_MAX 256

/*
 * Forgets a share of executions that have ended, whose numbers lie behind each other, eight bytes
 * each; to be asked with those that are left until none is. Or, where it names none, all of the
 * graphs whose hashes lie behind each other, but for those that were put after `before_ms`. Or,
 * with neither, a share of the audit, as far as it is of before `audit_before_ms`.
 */
#define TR_FORGET_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, executions, 1, 0)     \
    FIELD(bytes, graphs, 1, 0)         \
    FIELD(u64, before_ms, 1, 0)        \
    FIELD(u64, audit_before_ms, 2, 0)

/*
 * So many of the first are `done`, and so many `rows` are deleted; one that the history does not
 * have (any more) is done, too. TR_BUSY: the first one has not ended.
 */
#define TR_FORGOTTEN_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)               \
    FIELD(text, message, 1, 0)            \
    FIELD(u64, rows, 1, 0)                \
    FIELD(u32, done, 1, 0)

/*
 * Deletes rows of the history: all of some executions, a flat list in which number and name
 * alternate; or, if `is_part`, of the only one `rows`, an array, for each row the id of its record
 * and, as bytes, the row packed with nothing but its key.
 */
#define TR_FORGET_ROWS_FIELDS(FIELD, ARRAY) \
    FIELD(any, executions, 1, 0)            \
    FIELD(bool, is_part, 1, 0)              \
    FIELD(any, rows, 1, 0)

/* So many of the first executions are `done`. TR_BUSY: the first one lives. */
#define TR_ROWS_FORGOTTEN_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)                    \
    FIELD(u32, done, 1, 0)

#define TR_RETENTION_SCHEMAS(S)                                                  \
    S(forget_rows, 475, TR_MESSAGE, 1, TR_DURABLE, TR_FORGET_ROWS_FIELDS)        \
    S(rows_forgotten, 476, TR_MESSAGE, 1, TR_PRIORITY, TR_ROWS_FORGOTTEN_FIELDS) \
    S(forget, 532, TR_MESSAGE, 2, TR_HINT, TR_FORGET_FIELDS)                     \
    S(forgotten, 533, TR_MESSAGE, 1, TR_HINT, TR_FORGOTTEN_FIELDS)

TR_RETENTION_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
