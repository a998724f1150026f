/*
 * What a task that runs has said of how far it has come: the last line of the file that
 * $TROUPE_PROGRESS names, in the folder of its attempt. It is read where somebody looks, and no
 * record of the history has it.
 */
#ifndef TR_DEPLOY_FOLLOW_TASK_PROGRESS_H
#define TR_DEPLOY_FOLLOW_TASK_PROGRESS_H

#include "actors/graph/document/buffer.h"
#include "deploy/common/document.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* The most that is read of the file, from its end, and so of a line. */
#define TR_TASK_PROGRESS_BYTES_MAX 1024

struct tr_task_progress {
    char line[TR_TASK_PROGRESS_BYTES_MAX];
    size_t size;
    uint64_t at_ms; /* when the file was written last */
    int percent;    /* 0 to 100, where the line begins with that many "%"; else -1 */
};

/* Reads it; false: the attempt has said nothing, or its folder is elsewhere. */
bool tr_task_progress_read(const struct tr_attempt *row, struct tr_task_progress *progress);

/*
 * The same of the attempt with this key (execution, path, element, attempt). False as well where
 * the history has none.
 */
bool tr_task_progress_find(struct tr_reader *reader, const struct tr_attempt *key,
                           struct tr_task_progress *progress);

/* Appends the line and its age: "42 %, fitting, 12s ago". It is not made fit for terminals. */
void tr_task_progress_print(const struct tr_task_progress *progress, uint64_t now_ms,
                            struct tr_buffer *buffer);

/* Writes the field "progress" of a document; NULL: null. */
void tr_task_progress_write(const struct tr_task_progress *progress, struct tr_document *document);

#endif
