/*
 * A file of a task, read as it is now.
 */
#ifndef TR_DEPLOY_INQUIRIES_TASK_FILE_H
#define TR_DEPLOY_INQUIRIES_TASK_FILE_H

#include "runtime/troupe.h"

struct tr_fence;

/*
 * The bytes of a file at a path, within a fence (NULL: none), for tr_file_unmap. `folder` is the
 * store's. TR_OUTSIDE, TR_INVALID (no regular file), TR_LIMIT, TR_SYSTEM and others, with words in
 * `explain`, TR_EXCHANGE_EXPLAIN_BYTES of them.
 */
TR_MUST_USE int tr_task_file_map(struct tr_text path, const struct tr_fence *fence,
                                 const char *folder, struct tr_bytes *bytes, char *explain);

/* Says what failed with errno, in as many bytes; the error of it. */
int tr_task_file_explain(char *explain, const char *what);

#endif
