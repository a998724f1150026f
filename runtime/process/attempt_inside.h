/*
 * Shared by the two files of attempts: attempt.c makes folders, attempt_read.c reads and removes.
 * No other file includes this.
 */
#ifndef TR_RUNTIME_PROCESS_ATTEMPT_INSIDE_H
#define TR_RUNTIME_PROCESS_ATTEMPT_INSIDE_H

#include "runtime/process/attempt.h"

/* All texts and bytes are stored behind the struct. */
struct tri_attempt {
    struct tr_text folder;     /* below the store's folder */
    struct tr_text outputs[2]; /* below the attempt's folder; empty: elsewhere */
    struct tr_bytes results;   /* packed and checked */
    bool has_secrets;
};

/* The part of an absolute name that lies below the store's folder. TR_INVALID, TR_LIMIT. */
TR_MUST_USE int tri_attempt_below(const struct tri_attempt_folders *folders, struct tr_text path,
                                  struct tr_text *below);

/* Opens the folder of an attempt. Errors as tri_below_folder. */
TR_MUST_USE int tri_attempt_open(struct tri_attempt_folders *folders,
                                 const struct tri_attempt *attempt, int *fd);

#endif
