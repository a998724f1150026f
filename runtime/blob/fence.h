/*
 * Fences: what others have named or written in a folder of theirs is found below that folder or
 * nowhere, whatever they do to it meanwhile. What is opened is a file or a folder: a pipe or a
 * device is never touched, since opening one may hang, or do something.
 *
 * A job of a cluster writes to SHARE/JOBSET/ATTEMPT, and so may other jobs. SHARE is the operator's
 * own word, and may lead anywhere by links. From there to the attempt's folder none is followed,
 * since a job could have put it there; below, those that stay below.
 */
#ifndef TR_RUNTIME_BLOB_FENCE_H
#define TR_RUNTIME_BLOB_FENCE_H

#include "schemas/codec/base.h"
#include "schemas/runtime/files.h"

/* Why something is not taken, in words for people. */
#define TRI_FENCE_WORDS_BYTES 400

/*
 * Opens an absolute path for reading, which has to lie within the fence. Errors: TR_OUTSIDE and
 * TR_INVALID (neither a file nor a folder), both with `words`; and with errno TR_NOT_FOUND,
 * TR_LIMIT, TR_MEMORY, TR_SYSTEM. Any thread.
 */
TR_MUST_USE int tri_fence_open(const struct tr_fence *fence, const char *path, int *fd,
                               char words[TRI_FENCE_WORDS_BYTES]);

#endif
