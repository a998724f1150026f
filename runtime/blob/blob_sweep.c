/*
 * Sweeping: removes unreferenced blobs and unfinished values.
 *
 * A blob may be stored before the commit that references it, so the age counts too. Storing a blob,
 * or asking for it, renews its age under the shared lock (tri_blob_lock). The sweep checks the age
 * again under the exclusive lock and moves the blob away there. So either the renewal came first
 * and the blob stays, or the move came first and the other side finds it missing or stores it
 * again. The removal, which may take long, is done after the lock is released, in blobs/.new/,
 * which the next engine empties after a crash.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "schemas/codec/error.h"

/* A sweep in progress. */
struct sweeping {
    struct tri_blobs *blobs;
    const struct tri_blob_sweep *sweep;
    struct tri_swept *swept;
};

/*
 * Uses the change time of the inode, which utimensat sets to now and no program can set back,
 * unlike the modification time.
 */
static bool is_old(int folder, const char *name, uint64_t before_ms)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    uint64_t changed_ms =
        (uint64_t)status.st_ctim.tv_sec * 1000 + (uint64_t)status.st_ctim.tv_nsec / 1000000;
    return changed_ms <= before_ms;
}

static bool is_unused(const struct sweeping *sweeping, const char *name)
{
    return !sweeping->sweep->is_used(sweeping->sweep->self, name);
}

/*
 * Moves one away, if it is still old under the lock. `gone` is its name in .new, or empty: it was
 * renewed, or is missing, and both are fine.
 */
static int take_away(struct tri_blobs *blobs, int folder, const char *name, uint64_t before_ms,
                     char gone[32])
{
    int error = 0;
    gone[0] = '\0';
    tri_blob_lock(blobs, true);
    if (is_old(folder, name, before_ms)) {
        tri_blob_new_name(blobs, gone);
        if (renameat(folder, name, blobs->fresh, gone) != 0) {
            error = tri_below_error();
            gone[0] = '\0';
        }
    }
    tri_blob_unlock(blobs);
    return error == TR_NOT_FOUND ? 0 : error;
}

static int remove_one(const struct sweeping *sweeping, int folder, const char *name,
                      uint64_t before_ms)
{
    char gone[32];
    uint64_t bytes = tri_below_bytes(folder, name);
    bool is_removed = sweeping->sweep->is_dry;
    int error = 0;
    if (!is_removed) {
        error = take_away(sweeping->blobs, folder, name, before_ms, gone);
        is_removed = error == 0 && gone[0] != '\0';
        error = is_removed ? tri_below_remove(sweeping->blobs->fresh, tr_text_of(gone)) : error;
    }
    sweeping->swept->count += is_removed ? 1 : 0;
    sweeping->swept->bytes += is_removed ? bytes : 0;
    return error;
}

/* Entries among the blobs that begin with a dot are our own folders. */
static bool is_ours(const char *name, bool is_pieces)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (!is_pieces && name[0] == '.');
}

/*
 * Sweeps one folder, through a new descriptor, since readdir has a position of its own and closedir
 * closes it. Stops with TR_CLOSED between two entries.
 */
static int sweep_folder(const struct sweeping *sweeping, int fd, bool is_pieces)
{
    const struct tri_blob_sweep *sweep = sweeping->sweep;
    uint64_t before_ms = is_pieces ? sweep->pieces_before_ms : sweep->before_ms;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return tri_blob_explain(sweeping->blobs, TR_SYSTEM, sweeping->blobs->path);
    }
    const struct dirent *entry;
    int error = 0;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        bool is_candidate = !is_ours(entry->d_name, is_pieces) &&
                            is_old(fd, entry->d_name, before_ms) &&
                            (is_pieces || is_unused(sweeping, entry->d_name));
        if (is_candidate) {
            error = remove_one(sweeping, fd, entry->d_name, before_ms);
        }
        if (atomic_load(sweeping->blobs->is_stopping)) {
            error = TR_CLOSED;
        }
    }
    closedir(folder);
    return error != 0 ? tri_blob_explain(sweeping->blobs, error, sweeping->blobs->path) : 0;
}

/* Whether another store has its unfinished blobs here, and so has blobs that only it names. */
static bool has_other(const struct tri_blobs *blobs, char other[NAME_MAX + 1])
{
    int copy = openat(blobs->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    size_t size = strlen(TRI_BLOBS_NEW_FOLDER);
    bool is_found = folder == NULL;
    snprintf(other, NAME_MAX + 1, TRI_BLOBS_NEW_FOLDER "-*");
    while (folder != NULL && !is_found && (entry = readdir(folder)) != NULL) {
        is_found = strncmp(entry->d_name, TRI_BLOBS_NEW_FOLDER, size) == 0 &&
                   strcmp(entry->d_name + size, blobs->own) != 0;
        if (is_found) {
            snprintf(other, NAME_MAX + 1, "%s", entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    } else if (copy >= 0) {
        close(copy);
    }
    return is_found;
}

static int refuse_shared(struct tri_blobs *blobs, const char *other)
{
    snprintf(blobs->words, sizeof blobs->words,
             "%.200s holds blobs of another store, too, and nothing is removed there; give each "
             "store a folder of its own, or remove %.40s there if that store is gone",
             blobs->real, other);
    return TR_BUSY;
}

int tri_blob_sweep(struct tri_blobs *blobs, const struct tri_blob_sweep *sweep,
                   struct tri_swept *swept)
{
    struct sweeping sweeping = {.blobs = blobs, .sweep = sweep, .swept = swept};
    *swept = (struct tri_swept){.count = 0};
    char other[NAME_MAX + 1];
    int error = blobs->is_shared ? sweep_folder(&sweeping, blobs->parts, true) : 0;
    if (error == 0 && blobs->is_shared && has_other(blobs, other)) {
        return refuse_shared(blobs, other);
    }
    if (error == 0) {
        error = sweep_folder(&sweeping, blobs->pieces, true);
    }
    return error != 0 ? error : sweep_folder(&sweeping, blobs->folder, false);
}
