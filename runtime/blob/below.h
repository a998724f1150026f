/*
 * Paths below a folder. A path from an actor or a process is resolved below that folder or not at
 * all: it is relative, has no empty, `.` or `..` part, and no link in it is followed, so that a
 * process that writes there cannot lead outside.
 *
 * Errors of all functions, with errno set if a system call failed: TR_INVALID (not such a path),
 * TR_LIMIT (too long), TR_NOT_FOUND (it does not exist, or a link or a file is on the way),
 * TR_EXISTS, TR_STORE_FULL, TR_MEMORY, TR_SYSTEM. Any thread.
 */
#ifndef TR_RUNTIME_BLOB_BELOW_H
#define TR_RUNTIME_BLOB_BELOW_H

#include <limits.h>
#include <sys/types.h>

#include "schemas/codec/base.h"

/* Checks that a text is a path below. */
TR_MUST_USE int tri_below_check(struct tr_text name);

/* The folder of a path's last part. */
struct tri_below_place {
    int folder;
    bool is_own; /* must be closed */
    char last[NAME_MAX + 1];
};

/* Opens it; missing folders on the way are made with `mode`, unless that is 0. */
TR_MUST_USE int tri_below_find(int folder, struct tr_text name, mode_t mode,
                               struct tri_below_place *place);
void tri_below_place_close(struct tri_below_place *place);

/* Opens a folder below; missing ones are made with `mode`, unless that is 0. */
TR_MUST_USE int tri_below_folder(int folder, struct tr_text name, mode_t mode, int *fd);

/* Opens a file as openat does, with O_CLOEXEC and O_NOFOLLOW; the folders on the way must exist. */
TR_MUST_USE int tri_below_open(int folder, struct tr_text name, int flags, mode_t mode, int *fd);

/* Makes a file with these bytes, and missing folders on the way (0700). TR_EXISTS if it exists. */
TR_MUST_USE int tri_below_write(int folder, struct tr_text name, struct tr_bytes bytes,
                                mode_t mode);

/* Writes all bytes to a descriptor. */
TR_MUST_USE int tri_below_write_all(int fd, struct tr_bytes bytes);

/* Removes a file, a link, or a folder with its contents. */
TR_MUST_USE int tri_below_remove(int folder, struct tr_text name);

/* The size of a file, or of all files in a folder, as far as they are visible. */
uint64_t tri_below_bytes(int folder, const char *name);

/* Removes the contents of a folder. */
TR_MUST_USE int tri_below_empty(int folder);

/* The error for errno. */
TR_MUST_USE int tri_below_error(void);

#endif
