/*
 * The lock is flock on a file of its own, as that of the store (runtime/sqlite/sqlite_file.c).
 */
#include "deploy/retention/removal_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "schemas/codec/error.h"

#define NAME "prune.lock"

static const char *const held[] = {
    [TR_REMOVAL_ALLOWED] = "a backup of the store is being written; prune it when that has ended",
    [TR_REMOVAL_BARRED] = "the store is being pruned, or another backup of it is being written",
};

static int take(int fd, enum tr_removal_lock kind)
{
    int operation = kind == TR_REMOVAL_BARRED ? LOCK_EX : LOCK_SH;
    while (flock(fd, operation | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return TR_STORE_LOCKED;
        }
        if (errno != EINTR) {
            return TR_SYSTEM;
        }
    }
    return 0;
}

int tr_removal_lock_take(const char *folder, enum tr_removal_lock kind, char *explain, int *lock)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/" NAME, folder);
    if (size < 0 || (size_t)size >= sizeof path) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_LIMIT));
        return TR_LIMIT;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EROFS) {
        *lock = -1;
        return 0;
    }
    int error = fd < 0 ? TR_SYSTEM : take(fd, kind);
    if (error == 0) {
        *lock = fd;
        return 0;
    }
    (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: %s", folder,
                   error == TR_STORE_LOCKED ? held[kind] : strerror(errno));
    if (fd >= 0) {
        (void)close(fd);
    }
    return error;
}
