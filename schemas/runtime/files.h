/*
 * What actors ask of the files service (TR_SERVICE_FILES): files and large values, which lie in the
 * blob store and not in messages, and small documents of the engine's own.
 *
 * Everything here may be asked for again after a crash: it gives the same, and nothing twice.
 */
#ifndef TR_SCHEMAS_RUNTIME_FILES_H
#define TR_SCHEMAS_RUNTIME_FILES_H

#include "schemas/codec/field.h"

/*
 * Where a path may lie that a task or a user has named or written: below `folder`, whose first
 * `trusted_bytes` come from the operator's settings. Links are followed on the way through those,
 * none from there to the end of `folder`, and below it those that stay below it. What lies
 * elsewhere is TR_OUTSIDE. Without a folder there is no fence.
 */
struct tr_fence {
    struct tr_text folder;
    uint32_t trusted_bytes;
};

/*
 * Asks for at most `size` bytes of a blob from `offset` on, within a fence. Answered by blob_bytes.
 */
#define TR_BLOB_READ_FIELDS(FIELD, ARRAY) \
    FIELD(text, uri, 1, 0)                \
    FIELD(u64, offset, 1, 0)              \
    FIELD(u64, size, 1, 0)                \
    FIELD(text, folder, 1, 0)             \
    FIELD(u32, trusted_bytes, 1, 0)

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

/*
 * It is there; of the last piece (or the whole) with its URI (schemas/runtime/blob_uri.h) and what
 * it is.
 */
#define TR_BLOB_STORED_FIELDS(FIELD, ARRAY) \
    FIELD(text, uri, 1, 0)                  \
    FIELD(bytes, digest, 1, 0)              \
    FIELD(u64, size, 1, 0)                  \
    FIELD(bool, is_directory, 1, 0)

/* It could not be done: a tr_error, negative, and words for people. */
#define TR_BLOB_FAILED_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)                 \
    FIELD(text, message, 1, 0)

/* What has to lie at a path. */
enum tr_path_kind {
    TR_PATH_ANY,
    TR_PATH_FILE,
    TR_PATH_DIRECTORY,
};

/*
 * Copies a local file or folder into the blob store, from within a fence; what lies in a blob that
 * is there is not copied. What is not of its `kind`, a tr_path_kind, is TR_MISMATCH. Answered by
 * blob_stored.
 */
#define TR_BLOB_PUT_FIELDS(FIELD, ARRAY) \
    FIELD(text, path, 1, 0)              \
    FIELD(text, name_hint, 1, 0)         \
    FIELD(text, folder, 1, 0)            \
    FIELD(u32, trusted_bytes, 1, 0)      \
    FIELD(u8, kind, 1, 0)

/* The digest of a local file's or folder's content. Answered by blob_stored. */
#define TR_BLOB_DIGEST_FIELDS(FIELD, ARRAY) FIELD(text, uri, 1, 0)

/*
 * Makes what a URI names a local file, or a folder where `kind`, a tr_path_kind, says so. Answered
 * by blob_stored, whose URI is a path. Where it lies elsewhere it is downloaded, and the error of a
 * blob_failed says whose it is: TR_NOT_FOUND (it is not there), TR_DENIED (the store refuses who
 * asks), TR_NO_CONNECTION (the store is away or busy, and may be asked again), TR_LIMIT (too
 * large), TR_MISMATCH (a folder where there are none).
 */
#define TR_BLOB_FETCH_FIELDS(FIELD, ARRAY) \
    FIELD(text, uri, 1, 0)                 \
    FIELD(u8, kind, 1, 0)

/*
 * What was downloaded from a URI, kept below this folder of a store: how its server called the
 * content, by ETag and by Last-Modified, and the blob that it became.
 */
#define TR_STORE_FETCHED "fetched"
#define TR_FETCHED_FIELDS(FIELD, ARRAY) \
    FIELD(text, uri, 1, 0)              \
    FIELD(text, tag, 1, 0)              \
    FIELD(text, modified, 1, 0)         \
    FIELD(text, blob, 1, 0)

/*
 * Where a store's blobs are beside its folder, for all who open it: a document of the store. The
 * secret is a row of tr_http_secret; `sources` are where its value is found: an array, of each its
 * kind, its folder or "", and its command as an array of texts.
 */
#define TR_STORE_BLOBS_REMOTE "blobs/.remote"
#define TR_BLOBS_REMOTE_FIELDS(FIELD, ARRAY) \
    FIELD(text, uri, 1, 0)                   \
    FIELD(text, endpoint, 1, 0)              \
    FIELD(text, region, 1, 0)                \
    FIELD(text, ca_file, 1, 0)               \
    FIELD(any, secret, 1, 0)                 \
    FIELD(any, sources, 1, 0)

/* The code of a failure whose own document cannot be read. */
#define TR_CODE_ERROR_DOCUMENT_MALFORMED "ErrorDocumentMalformed"

/* One document of values that the engine makes: a task's inputs. */
#define TR_VALUES_BYTES_MAX (1ULL << 30)

/* One that a task leaves: its outputs, which are read into memory as a whole. */
#define TR_OUTPUTS_BYTES_MAX (64ULL << 20)

/*
 * Makes a blob of the document that `plan` describes, for programs outside; `plan` is the program's
 * own matter (tr_host_options.exchange). Answered by blob_stored.
 */
#define TR_BLOB_MAKE_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, plan, 1, TR_REDACTED)    \
    FIELD(text, name_hint, 1, 0)

/*
 * Reads the document at an absolute path as `plan` says; a fence holds for it and for all that it
 * names. Answered by values_given: packed slots, large ones in the blob store; or a code and words
 * where the document is not what it should be.
 */
#define TR_VALUES_READ_FIELDS(FIELD, ARRAY) \
    FIELD(text, path, 1, 0)                 \
    FIELD(bytes, plan, 1, 0)                \
    FIELD(text, folder, 1, 0)               \
    FIELD(u32, trusted_bytes, 1, 0)

#define TR_VALUES_GIVEN_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, slots, 1, TR_REDACTED)      \
    FIELD(text, code, 1, 0)                  \
    FIELD(text, message, 1, 0)

/*
 * Reads a small document at a path below the store's folder ("cache/ab/abcd..."). Answered by
 * `document`: `is_found`, and its bytes.
 */
#define TR_DOCUMENT_GET_FIELDS(FIELD, ARRAY) FIELD(text, path, 1, 0)

/* Writes one, as a whole or not at all; folders are made. Answered by `document` without bytes. */
#define TR_DOCUMENT_PUT_FIELDS(FIELD, ARRAY) \
    FIELD(text, path, 1, 0)                  \
    FIELD(bytes, bytes, 1, TR_REDACTED)

#define TR_DOCUMENT_FIELDS(FIELD, ARRAY) \
    FIELD(bool, is_found, 1, 0)          \
    FIELD(bytes, bytes, 1, TR_REDACTED)

#define TR_FILES_SCHEMAS(S)                                                  \
    S(blob_read, 350, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_READ_FIELDS)        \
    S(blob_bytes, 351, TR_MESSAGE, 1, TR_PRIORITY, TR_BLOB_BYTES_FIELDS)     \
    S(blob_write, 352, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_WRITE_FIELDS)      \
    S(blob_stored, 353, TR_MESSAGE, 1, TR_PRIORITY, TR_BLOB_STORED_FIELDS)   \
    S(blob_failed, 354, TR_MESSAGE, 1, TR_PRIORITY, TR_BLOB_FAILED_FIELDS)   \
    S(blob_put, 355, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_PUT_FIELDS)          \
    S(blob_digest, 356, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_DIGEST_FIELDS)    \
    S(blob_fetch, 357, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_FETCH_FIELDS)      \
    S(document_get, 358, TR_MESSAGE, 1, TR_DURABLE, TR_DOCUMENT_GET_FIELDS)  \
    S(document_put, 359, TR_MESSAGE, 1, TR_DURABLE, TR_DOCUMENT_PUT_FIELDS)  \
    S(document, 360, TR_MESSAGE, 1, TR_PRIORITY, TR_DOCUMENT_FIELDS)         \
    S(blob_make, 361, TR_MESSAGE, 1, TR_DURABLE, TR_BLOB_MAKE_FIELDS)        \
    S(values_read, 362, TR_MESSAGE, 1, TR_DURABLE, TR_VALUES_READ_FIELDS)    \
    S(values_given, 363, TR_MESSAGE, 1, TR_PRIORITY, TR_VALUES_GIVEN_FIELDS) \
    S(fetched, 600, TR_MESSAGE, 1, TR_HINT, TR_FETCHED_FIELDS)               \
    S(blobs_remote, 601, TR_MESSAGE, 1, TR_HINT, TR_BLOBS_REMOTE_FIELDS)

TR_FILES_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
