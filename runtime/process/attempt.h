/*
 * The folder of an attempt: its files when a process starts, and the documents read when it has
 * ended. All folders of attempts lie below the store's folder. Calls block on the disk; one thread.
 *
 *     tri_attempt_new(folders, &run, reason, &attempt);
 *     tri_attempt_make(folders, attempt, &run, false, &environment, reason);
 *     ... the process runs ...
 *     tri_attempt_read(folders, attempt, &documents, reason);
 *     tri_attempt_free(attempt);
 *
 * `reason` has TR_REASON_BYTES_MAX bytes for the words of an error.
 */
#ifndef TR_RUNTIME_PROCESS_ATTEMPT_H
#define TR_RUNTIME_PROCESS_ATTEMPT_H

#include "runtime/env/buffer.h"
#include "runtime/process/attempt_limits.h"
#include "runtime/process/environment.h"
#include "schemas/runtime/process.h"

/* Where the attempts of a store are made. */
struct tri_attempt_folders {
    int store;
    char *names[2]; /* the store's folder, as given and with links resolved */
    struct tri_environment_sources sources; /* set by the user of this struct */
    int parent;                             /* of the last attempt, kept open for the next one */
    char parent_name[TR_PATH_BYTES_MAX];
};

/* The part of a request that is needed when its process has ended. */
struct tri_attempt;

/* Opens the store's folder. TR_MEMORY, TR_SYSTEM (errno). */
TR_MUST_USE int tri_attempt_folders_init(struct tri_attempt_folders *folders,
                                         const char *store_folder);
void tri_attempt_folders_fini(struct tri_attempt_folders *folders);

/*
 * Checks all names of a request and copies what is needed after the end. TR_INVALID, TR_LIMIT,
 * TR_MEMORY, TR_MALFORMED.
 */
TR_MUST_USE int tri_attempt_new(const struct tri_attempt_folders *folders,
                                const struct tr_process_run *run, char *reason,
                                struct tri_attempt **attempt);

/* NULL is fine. */
void tri_attempt_free(struct tri_attempt *attempt);

/* Whether something exists at the folder's path. */
bool tri_attempt_exists(struct tri_attempt_folders *folders, const struct tri_attempt *attempt);

/*
 * Makes the folder and its files, and puts the packed environment, which holds secrets, into
 * `environment`. TR_EXISTS: the folder exists and `is_emptied` is false, nothing was changed.
 * TR_NOT_FOUND: a secret was not found. TR_STORE_FULL, TR_SYSTEM and others. After any error but
 * TR_EXISTS no folder is left.
 */
TR_MUST_USE int tri_attempt_make(struct tri_attempt_folders *folders, struct tri_attempt *attempt,
                                 const struct tr_process_run *run, bool is_emptied,
                                 struct tri_buffer *environment, char *reason);

/*
 * After the end: puts the packed documents into `documents`, and removes the files of secrets and
 * empty outputs. A document that the process did not leave as a readable regular file is absent.
 * Errors, with a part of the documents: TR_SYSTEM with words in `reason` (such as an I/O error);
 * TR_MEMORY and TR_BUSY, after which nothing was removed and the call can be repeated.
 */
TR_MUST_USE int tri_attempt_read(struct tri_attempt_folders *folders,
                                 const struct tri_attempt *attempt, struct tri_buffer *documents,
                                 char *reason);

/* Removes the folder of an attempt that never ran, as far as that is possible. */
void tri_attempt_discard(struct tri_attempt_folders *folders, const struct tri_attempt *attempt);

/*
 * Removes a folder below the store's, by its absolute path. A missing one is fine. TR_INVALID,
 * TR_SYSTEM.
 */
TR_MUST_USE int tri_attempt_folder_remove(struct tri_attempt_folders *folders, struct tr_text path,
                                          char *reason);

/* Joins folder and name to a path for the keeper; empty and absolute names are kept. TR_LIMIT. */
TR_MUST_USE int tri_attempt_path(struct tr_text folder, struct tr_text name,
                                 char path[TR_PATH_BYTES_MAX], struct tr_text *joined);

#endif
