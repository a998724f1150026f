/*
 * Every limit of the blob store and of documents, once and by name.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_LIMITS_H
#define TR_RUNTIME_BLOB_BLOB_LIMITS_H

#include "runtime/env/env_limits.h"

/* What one blob_read gives at most. */
#define TR_BLOB_READ_BYTES_MAX (512U << 10)

/* Folders within each other, and entries of one folder, that a blob may have. */
#define TR_BLOB_DEPTH_MAX 64
#define TR_BLOB_ENTRIES_MAX 1048576

/* What of a hint, or of a file's own name, becomes part of a blob's name. */
#define TR_BLOB_HINT_BYTES_MAX 100

/* What is downloaded into one blob. */
#define TR_BLOB_FETCH_BYTES_MAX (64ULL << 30)

/* A document: with its envelope it fits into one message. */
#define TR_DOCUMENT_BYTES_MAX (TR_MESSAGE_BYTES_MAX - 16384)

/* What is written of a file before it is synced, so that no sync takes long. */
#define TR_BLOB_UNSYNCED_BYTES_MAX (64ULL << 20)

/*
 * The files service: how long the work of one execution goes on while others wait; how many of them
 * may have begun with something that takes long, beyond which one waits for another's end; and
 * calls that wait there, beyond which they wait on their way.
 */
#define TR_FILES_TURN_MS 20
#define TR_FILES_THREADS_MAX 64
#define TR_FILES_WAITING_BYTES_MAX (64U << 20)

/* Why something could not be done, in words. */
#define TR_BLOB_WORDS_BYTES_MAX 768

#endif
