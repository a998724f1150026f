/*
 * What a task that runs has said of how far it has come: the last line of the file that
 * $TROUPE_PROGRESS names, in the folder of its attempt. It is read where somebody looks, and no
 * record of the history has it.
 */
#ifndef TR_DEPLOY_LOOK_TASK_PROGRESS_H
#define TR_DEPLOY_LOOK_TASK_PROGRESS_H

#include "schemas/engine/history.h"

/* The most that is read of the file, from its end, and so of a line. */
#define TR_TASK_PROGRESS_BYTES_MAX 1024

struct tr_task_progress {
    char line[TR_TASK_PROGRESS_BYTES_MAX];
    size_t size;
    uint64_t at_ms; /* when the file was written last */
};

/* Reads it; false: the attempt has said nothing, or its folder is elsewhere. */
bool tr_task_progress_read(const struct tr_attempt *row, struct tr_task_progress *progress);

#endif
