/*
 * Fences confine paths from others to a folder: a path is resolved below it or not at all, whatever
 * they change meanwhile. Only files and folders are opened: opening a pipe or a device may hang, or
 * have effects.
 *
 * A job of a cluster writes to SHARE/JOBSET/ATTEMPT, and so may other jobs. SHARE is configured by
 * the operator, and may contain links. From there to the attempt's folder no link is followed,
 * since a job could have made it; below it, links that stay below are.
 */
#ifndef TR_RUNTIME_BLOB_FENCE_H
#define TR_RUNTIME_BLOB_FENCE_H

#include "schemas/codec/base.h"
#include "schemas/runtime/files.h"

/* Bytes of the words of a refusal. */
#define TRI_FENCE_WORDS_BYTES 400

/*
 * Opens an absolute path for reading, which must be within the fence. Errors: TR_OUTSIDE and
 * TR_INVALID (neither a file nor a folder), both with `words`; and with errno TR_NOT_FOUND,
 * TR_LIMIT, TR_MEMORY, TR_SYSTEM. Any thread.
 */
TR_MUST_USE int tri_fence_open(const struct tr_fence *fence, const char *path, int *fd,
                               char words[TRI_FENCE_WORDS_BYTES]);

#endif
