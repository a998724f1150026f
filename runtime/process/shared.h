/*
 * Removes folders of attempts that were made elsewhere, on a share with other writers. The
 * operator's part of the path may contain links; behind it none is followed (struct tr_fence of
 * schemas/runtime/files.h).
 */
#ifndef TR_RUNTIME_PROCESS_SHARED_H
#define TR_RUNTIME_PROCESS_SHARED_H

#include "schemas/codec/base.h"

struct tri_shared {
    struct tr_text path;    /* SHARE/JOBSET/ATTEMPT, absolute */
    uint32_t trusted_bytes; /* the operator's part of the path; never 0 */
    bool keeps_logs;        /* if it has logs, only work/ and tmp/ are removed */
};

/*
 * Removes the folder, or work/ and tmp/ in it if its logs are kept. A missing one is fine.
 * TR_INVALID (the path does not go beyond the trusted part); with errno TR_SYSTEM, TR_MEMORY,
 * TR_LIMIT, TR_BUSY. Any thread.
 */
TR_MUST_USE int tri_shared_remove(const struct tri_shared *shared);

/* Whether the folder exists, and the total size of its files. */
bool tri_shared_exists(const struct tri_shared *shared, uint64_t *bytes);

/* Removes the parent folder if it is empty. */
void tri_shared_remove_parent(const struct tri_shared *shared);

#endif
