/*
 * Sweeping: blobs that nobody names any more, and values that nobody finished. The age keeps what
 * was stored but is named only by a commit that is still to come.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/env/blob_inside.h"
#include "runtime/env/clock.h"
#include "schemas/error.h"

struct sweep {
    struct tri_blobs *blobs;
    uint64_t before_ms; /* what was changed later stays */
    void *self;
    bool (*is_used)(void *self, const char *uri);
    uint64_t removed;
};

static bool is_old(const struct sweep *sweep, int folder, const char *name)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    uint64_t changed_ms =
        (uint64_t)status.st_ctim.tv_sec * 1000 + (uint64_t)status.st_ctim.tv_nsec / 1000000;
    return changed_ms <= sweep->before_ms;
}

static bool is_unused(const struct sweep *sweep, const char *name)
{
    char uri[TR_KEEPER_PATH_BYTES_MAX + NAME_MAX + 2];
    snprintf(uri, sizeof uri, "%s/%s", sweep->blobs->path, name);
    return !sweep->is_used(sweep->self, uri);
}

/* What begins with a point among the blobs is a folder of ours. */
static bool is_ours(const char *name, bool is_pieces)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (!is_pieces && name[0] == '.');
}

/* Goes through one folder. A value in pieces is named by nobody. */
static int sweep_folder(struct sweep *sweep, int fd, bool is_pieces)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return tri_blob_explain(sweep->blobs, TR_SYSTEM, sweep->blobs->path);
    }
    const struct dirent *entry;
    int error = 0;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        bool is_candidate = !is_ours(entry->d_name, is_pieces) &&
                            is_old(sweep, fd, entry->d_name) &&
                            (is_pieces || is_unused(sweep, entry->d_name));
        if (is_candidate) {
            error = tri_below_remove(fd, tr_text_of(entry->d_name));
            sweep->removed += error == 0 ? 1 : 0;
        }
    }
    closedir(folder);
    return error != 0 ? tri_blob_explain(sweep->blobs, error, sweep->blobs->path) : 0;
}

int tri_blob_sweep(struct tri_blobs *blobs, uint64_t age_ms, void *self,
                   bool (*is_used)(void *self, const char *uri), uint64_t *removed)
{
    uint64_t now_ms = tri_wall_ms();
    struct sweep sweep = {.blobs = blobs,
                          .before_ms = now_ms > age_ms ? now_ms - age_ms : 0,
                          .self = self,
                          .is_used = is_used};
    int error = sweep_folder(&sweep, blobs->pieces, true);
    if (error == 0) {
        error = sweep_folder(&sweep, blobs->folder, false);
    }
    *removed = sweep.removed;
    return error;
}
