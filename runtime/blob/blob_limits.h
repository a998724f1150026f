/*
 * All limits of the blob store and of documents.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_LIMITS_H
#define TR_RUNTIME_BLOB_BLOB_LIMITS_H

#include "runtime/env/env_limits.h"

/* Bytes of one blob_read. */
#define TR_BLOB_READ_BYTES_MAX (512U << 10)

/* Depth of a blob's folders, and entries of one folder. */
#define TR_BLOB_DEPTH_MAX 64
#define TR_BLOB_ENTRIES_MAX 1048576

/* Bytes of a hint, or of a file's own name, in a blob's name. */
#define TR_BLOB_HINT_BYTES_MAX 100

/* Bytes downloaded into one blob. */
#define TR_BLOB_FETCH_BYTES_MAX (64ULL << 30)

/* Bytes of a document: with its envelope it fits into one message. */
#define TR_DOCUMENT_BYTES_MAX (TR_MESSAGE_BYTES_MAX - 16384)

/* Bytes written to a file before they are synced, so that no sync takes long. */
#define TR_BLOB_UNSYNCED_BYTES_MAX (64ULL << 20)

/*
 * The files service: how long the work of one execution runs while others wait; how many executions
 * may have long work in progress; and bytes of queued calls, beyond which calls wait in the link.
 */
#define TR_FILES_TURN_MS 20
#define TR_FILES_THREADS_MAX 64
#define TR_FILES_WAITING_BYTES_MAX (64U << 20)

/* Words of a failure. */
#define TR_BLOB_WORDS_BYTES_MAX 768

#endif
