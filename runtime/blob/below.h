/*
 * Names below a folder. What an actor or a process names is found below that folder or nowhere: a
 * name is relative, has no empty, `.` or `..` part, and links are not followed on the way, so that
 * a writer there cannot lead us elsewhere.
 *
 * Errors of all of these, with errno set where the system refused: TR_INVALID (no such name),
 * TR_LIMIT (too long), TR_NOT_FOUND (nothing is there, or a link or a file stands in the way),
 * TR_EXISTS, TR_STORE_FULL, TR_MEMORY, TR_SYSTEM. Any thread.
 */
#ifndef TR_RUNTIME_BLOB_BELOW_H
#define TR_RUNTIME_BLOB_BELOW_H

#include <limits.h>
#include <sys/types.h>

#include "schemas/codec/base.h"

/* Whether a text is a name below. */
TR_MUST_USE int tri_below_check(struct tr_text name);

/* The folder in which a name's last part stands. */
struct tri_below_place {
    int folder;
    bool is_own; /* to be closed */
    char last[NAME_MAX + 1];
};

/* Finds it; folders on the way are made with `mode`, unless that is 0. */
TR_MUST_USE int tri_below_find(int folder, struct tr_text name, mode_t mode,
                               struct tri_below_place *place);
void tri_below_place_close(struct tri_below_place *place);

/* Opens a folder below; one that is missing is made with `mode`, unless that is 0. */
TR_MUST_USE int tri_below_folder(int folder, struct tr_text name, mode_t mode, int *fd);

/* Opens as openat does, with O_CLOEXEC and O_NOFOLLOW; the folders on the way are there. */
TR_MUST_USE int tri_below_open(int folder, struct tr_text name, int flags, mode_t mode, int *fd);

/* Makes a file of these bytes, and missing folders on the way (0700). TR_EXISTS if it is there. */
TR_MUST_USE int tri_below_write(int folder, struct tr_text name, struct tr_bytes bytes,
                                mode_t mode);

/* Writes all bytes to a descriptor. */
TR_MUST_USE int tri_below_write_all(int fd, struct tr_bytes bytes);

/* Removes what is there: a file, a link, or a folder with all in it. */
TR_MUST_USE int tri_below_remove(int folder, struct tr_text name);

/* The bytes of a file, or of all files in a folder, as far as they can be seen. */
uint64_t tri_below_bytes(int folder, const char *name);

/* Removes all that is in a folder. */
TR_MUST_USE int tri_below_empty(int folder);

/* The error that stands for errno. */
TR_MUST_USE int tri_below_error(void);

#endif
