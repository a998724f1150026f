/*
 * Folders of attempts that were made elsewhere, on a share that others write to, too: removing what
 * they have left. The part of the name that is the operator's own may lead there by links; behind
 * it none is followed (struct tr_fence of schemas/runtime/files.h has the words).
 */
#ifndef TR_RUNTIME_PROCESS_SHARED_H
#define TR_RUNTIME_PROCESS_SHARED_H

#include "schemas/codec/base.h"

struct tri_shared {
    struct tr_text path;    /* SHARE/JOBSET/ATTEMPT, absolute */
    uint32_t trusted_bytes; /* of it; never 0 */
    bool keeps_logs;        /* where it has written some, only what it worked in goes */
};

/*
 * Removes the folder, or work/ and tmp/ in it where its logs are kept. None is fine. TR_INVALID (no
 * name below what is trusted); with errno TR_SYSTEM, TR_MEMORY, TR_LIMIT, TR_BUSY. Any thread.
 */
TR_MUST_USE int tri_shared_remove(const struct tri_shared *shared);

/* Whether there is such a folder, and how many bytes the files in it have. */
bool tri_shared_is_there(const struct tri_shared *shared, uint64_t *bytes);

/* Removes the folder around it when nothing is left there. */
void tri_shared_leave(const struct tri_shared *shared);

#endif
