/*
 * What a client over the network reads from a store, as requests to any of its hosts
 * (runtime/remote/). Each is answered from one moment of its own; rows and objects come in brackets
 * before the last answer.
 *
 *     read_rows      [rows_part] rows_read
 *     read_objects   [rows_part] rows_read
 *     read_cell      cell_read
 *     read_members   [member_part] rows_read
 */
#ifndef TR_SCHEMAS_RUNTIME_QUERY_H
#define TR_SCHEMAS_RUNTIME_QUERY_H

#include "schemas/codec/field.h"

/*
 * A query of runtime/journal/reader.h on the record `record`. Lists are flat: of each filter its
 * field, operation, is_text, is_passive, number and text; of each order its field, is_descending,
 * since ("": none) and now_ms; of each related condition its record, is_absent, how many of the
 * filters behind those of the query are its own. `counts`: how many rows there are is all that is
 * wanted.
 */
#define TR_READ_ROWS_FIELDS(FIELD, ARRAY) \
    FIELD(u16, record, 1, 0)              \
    FIELD(any, filters, 1, TR_REDACTED)   \
    FIELD(u32, filter_count, 1, 0)        \
    FIELD(any, related, 1, 0)             \
    FIELD(any, orders, 1, 0)              \
    FIELD(bool, is_led, 1, 0)             \
    FIELD(u64, skip, 1, 0)                \
    FIELD(u64, limit, 1, 0)               \
    FIELD(bool, counts, 1, 0)

/* Objects that a reader visits (runtime/journal/reader_ops.h), from the one at `skip` on. */
#define TR_READ_OBJECTS_FIELDS(FIELD, ARRAY) \
    FIELD(u8, what, 1, 0)                    \
    FIELD(u64, number, 1, 0)                 \
    FIELD(u64, skip, 1, 0)

/* A page of an actor, a graph by its hash, or a named cell. */
#define TR_READ_CELL_FIELDS(FIELD, ARRAY) \
    FIELD(u8, what, 1, 0)                 \
    FIELD(key, actor, 1, 0)               \
    FIELD(u64, number, 1, 0)              \
    FIELD(bytes, hash, 1, 0)

#define TR_READ_MEMBERS_FIELDS(FIELD, ARRAY) FIELD(bool, is_all, 1, 0)

/*
 * Rows, each of which is bytes of a packed record of a version; of objects each is its kind, type,
 * key, incarnation, number and data.
 */
#define TR_ROWS_PART_FIELDS(FIELD, ARRAY) \
    FIELD(u8, version, 1, 0)              \
    FIELD(u32, count, 1, 0)               \
    FIELD(any, rows, 1, TR_REDACTED)

/* `has_more`: the answer was long enough; what is behind it is asked for anew. */
#define TR_ROWS_READ_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)               \
    FIELD(text, message, 1, 0)            \
    FIELD(u64, count, 1, 0)               \
    FIELD(bool, has_more, 1, 0)

#define TR_CELL_READ_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)               \
    FIELD(text, message, 1, 0)            \
    FIELD(bytes, data, 1, TR_REDACTED)

/* A host of the store; the first row has the hosts and epochs of all partitions, too. */
#define TR_MEMBER_PART_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)                \
    FIELD(text, name, 1, 0)                 \
    FIELD(u64, state, 1, 0)                 \
    FIELD(u64, incarnation, 1, 0)           \
    FIELD(u64, owned, 1, 0)                 \
    FIELD(u32, lease_ms, 1, 0)              \
    FIELD(u32, process_lease_ms, 1, 0)      \
    FIELD(u64, processes, 1, 0)             \
    FIELD(u64, since_ms, 1, 0)              \
    FIELD(u64, silent_ms, 1, 0)             \
    FIELD(text, why, 1, 0)                  \
    FIELD(text, machine, 1, 0)              \
    FIELD(text, folder, 1, 0)               \
    FIELD(text, blobs, 1, 0)                \
    FIELD(text, address, 1, 0)              \
    FIELD(bool, has_key, 1, 0)              \
    FIELD(u64, now_ms, 1, 0)                \
    FIELD(bytes, partitions, 1, 0)

#define TR_QUERY_SCHEMAS(S)                                              \
    S(read_rows, 700, TR_MESSAGE, 1, TR_HINT, TR_READ_ROWS_FIELDS)       \
    S(read_objects, 701, TR_MESSAGE, 1, TR_HINT, TR_READ_OBJECTS_FIELDS) \
    S(read_cell, 702, TR_MESSAGE, 1, TR_HINT, TR_READ_CELL_FIELDS)       \
    S(read_members, 703, TR_MESSAGE, 1, TR_HINT, TR_READ_MEMBERS_FIELDS) \
    S(rows_part, 704, TR_MESSAGE, 1, TR_HINT, TR_ROWS_PART_FIELDS)       \
    S(rows_read, 705, TR_MESSAGE, 1, TR_HINT, TR_ROWS_READ_FIELDS)       \
    S(cell_read, 706, TR_MESSAGE, 1, TR_HINT, TR_CELL_READ_FIELDS)       \
    S(member_part, 707, TR_MESSAGE, 1, TR_HINT, TR_MEMBER_PART_FIELDS)

TR_QUERY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
