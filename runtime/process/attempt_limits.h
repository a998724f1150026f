/*
 * All limits of processes and of attempts' folders and documents.
 */
#ifndef TR_RUNTIME_PROCESS_ATTEMPT_LIMITS_H
#define TR_RUNTIME_PROCESS_ATTEMPT_LIMITS_H

#include "runtime/env/env_limits.h"
#include "runtime/secret/secret_limits.h"

/* Entries of argv and environment together, and resource limits, of one process. */
#define TR_PROCESS_WORDS_MAX 65536
#define TR_PROCESS_RLIMITS_MAX 16

/* Files, folders, secrets and results of one process_run. */
#define TR_ATTEMPT_FILES_MAX 1024
#define TR_ATTEMPT_FOLDERS_MAX 256
#define TR_ATTEMPT_SECRETS_MAX 256
#define TR_ATTEMPT_RESULTS_MAX 64

/* Bytes of all documents of one process_over: a message, less room for its other fields. */
#define TR_ATTEMPT_DOCUMENTS_BYTES_MAX (TR_MESSAGE_BYTES_MAX - 16384)

/*
 * Folders on shares that wait to be removed, if removals are slower than jobs; further ones stay
 * until they are pruned. An engine that ends continues removing for this long.
 */
#define TR_SHARED_WAITING_MAX 65536
#define TR_SHARED_LAST_MS 5000

#endif
