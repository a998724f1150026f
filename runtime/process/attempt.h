/*
 * The folder of an attempt: what a process finds when it starts, and what is read there when it has
 * ended. All folders of attempts lie below the store's. Blocks on the disk; one thread.
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

/* Where the attempts of a store live. */
struct tri_attempt_folders {
    int store;
    char *names[2]; /* the store's folder, as it was given and without links */
    struct tri_environment_sources sources; /* set by the maker of attempts */
    int parent;                             /* of the last attempt: most are neighbours */
    char parent_name[TR_PATH_BYTES_MAX];
};

/* What must be known of an attempt when its process has ended. */
struct tri_attempt;

/* Opens the store's folder. TR_MEMORY, TR_SYSTEM (errno). */
TR_MUST_USE int tri_attempt_folders_init(struct tri_attempt_folders *folders,
                                         const char *store_folder);
void tri_attempt_folders_fini(struct tri_attempt_folders *folders);

/* Checks all names of a request and copies what is needed later. TR_INVALID, TR_LIMIT, TR_MEMORY,
 * TR_MALFORMED. */
TR_MUST_USE int tri_attempt_new(const struct tri_attempt_folders *folders,
                                const struct tr_process_run *run, char *reason,
                                struct tri_attempt **attempt);

/* NULL is fine. */
void tri_attempt_free(struct tri_attempt *attempt);

/* Whether something stands where the folder is to be made. */
bool tri_attempt_is_there(struct tri_attempt_folders *folders, const struct tri_attempt *attempt);

/*
 * Makes the folder with all that is in it, and puts the packed environment, which holds secrets,
 * into `environment`. TR_EXISTS: there is such a folder, and it is not `is_emptied` first; nothing
 * was changed. TR_NOT_FOUND: a secret cannot be had. TR_STORE_FULL, TR_SYSTEM and others. After any
 * other error than TR_EXISTS nothing is left of the folder.
 */
TR_MUST_USE int tri_attempt_make(struct tri_attempt_folders *folders, struct tri_attempt *attempt,
                                 const struct tr_process_run *run, bool is_emptied,
                                 struct tri_buffer *environment, char *reason);

/*
 * After the end: puts the packed documents into `documents`, and removes the files of secrets and
 * empty outputs. What the process has not left as a file that can be opened is absent. Errors, with
 * a part of the documents: TR_SYSTEM, when the system does not give what is there (an error of the
 * disk), with words in `reason`; and shortages (TR_MEMORY, TR_BUSY), after which nothing was
 * removed and the call can be repeated.
 */
TR_MUST_USE int tri_attempt_read(struct tri_attempt_folders *folders,
                                 const struct tri_attempt *attempt, struct tri_buffer *documents,
                                 char *reason);

/* Removes the folder of an attempt that never began, as far as that is possible. */
void tri_attempt_discard(struct tri_attempt_folders *folders, const struct tri_attempt *attempt);

/* Removes a folder below the store's, by its absolute name. None is fine. TR_INVALID, TR_SYSTEM. */
TR_MUST_USE int tri_attempt_folder_remove(struct tri_attempt_folders *folders, struct tr_text path,
                                          char *reason);

/* Puts folder and name together as the keeper needs it; empty and absolute names stay as they are.
 * TR_LIMIT. */
TR_MUST_USE int tri_attempt_path(struct tr_text folder, struct tr_text name,
                                 char path[TR_PATH_BYTES_MAX], struct tr_text *joined);

#endif
