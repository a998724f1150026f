/*
 * What actors ask of the files service (TR_SERVICE_FILES): large values, which lie in the blob
 * store and not in messages.
 */
#ifndef TR_SCHEMAS_FILES_H
#define TR_SCHEMAS_FILES_H

#include "schemas/field.h"

/* Asks for at most `size` bytes of a blob from `offset` on. Answered by blob_bytes. */
#define TR_BLOB_READ_FIELDS(FIELD, ARRAY) \
    FIELD(text, uri, 1, 0)                \
    FIELD(u64, offset, 1, 0)              \
    FIELD(u64, size, 1, 0)

/* `total` is the size of the blob. */
#define TR_BLOB_BYTES_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, bytes, 1, TR_REDACTED)    \
    FIELD(u64, total, 1, 0)

/* A piece of a large value that is written under `name`. Answered by blob_stored. */
#define TR_BLOB_WRITE_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)                \
    FIELD(u64, offset, 1, 0)               \
    FIELD(bytes, bytes, 1, TR_REDACTED)    \
    FIELD(bool, is_last, 1, 0)

/* It is there; of the last piece (or the whole) with where it is and what. */
#define TR_BLOB_STORED_FIELDS(FIELD, ARRAY) \
    FIELD(text, uri, 1, 0)                  \
    FIELD(bytes, digest, 1, 0)              \
    FIELD(u64, size, 1, 0)                  \
    FIELD(bool, is_directory, 1, 0)

/* It could not be done: a tr_error, negative, and words for people. */
#define TR_BLOB_FAILED_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)                 \
    FIELD(text, message, 1, 0)

#define TR_FILES_SCHEMAS(S)                                                \
    S(blob_read, 350, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_READ_FIELDS)      \
    S(blob_bytes, 351, TR_MESSAGE, 1, TR_PRIORITY, TR_BLOB_BYTES_FIELDS)   \
    S(blob_write, 352, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_WRITE_FIELDS)    \
    S(blob_stored, 353, TR_MESSAGE, 1, TR_PRIORITY, TR_BLOB_STORED_FIELDS) \
    S(blob_failed, 354, TR_MESSAGE, 1, TR_PRIORITY, TR_BLOB_FAILED_FIELDS)

TR_FILES_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
