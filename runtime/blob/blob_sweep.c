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

bool tri_blob_find_change(int folder, const char *name, uint64_t *changed_ms)
{
    struct stat status;
    bool is_there = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    *changed_ms = !is_there ? 0
                            : (uint64_t)status.st_ctim.tv_sec * 1000 +
                                  (uint64_t)status.st_ctim.tv_nsec / 1000000;
    return is_there;
}

static bool is_old(int folder, const char *name, uint64_t before_ms)
{
    uint64_t changed_ms;
    return tri_blob_find_change(folder, name, &changed_ms) && changed_ms <= before_ms;
}

static bool is_unused(const struct sweeping *sweeping, const char *name)
{
    return !sweeping->sweep->is_used(sweeping->sweep->self, name);
}

int tri_blob_take_away(struct tri_blobs *blobs, int folder, const char *name, uint64_t before_ms,
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
        error = tri_blob_take_away(sweeping->blobs, folder, name, before_ms, gone);
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

/* ---- The other place. ----------------------------------------------------------------------- */

/*
 * A name is held alone while its blob goes from here and there, so that nobody who stores it again
 * meanwhile relies on either. One that is held is being stored, and stays.
 */
static int remove_there(const struct sweeping *sweeping, const struct tri_blob_object *object)
{
    struct tri_blobs *blobs = sweeping->blobs;
    char gone[32] = "";
    uint64_t changed_ms;
    int held;
    int error = tri_blob_hold(blobs, object->name, true, false, &held);
    if (error != 0) {
        return error == TR_BUSY ? 0 : error;
    }
    bool was_here = tri_blob_find_change(blobs->folder, object->name, &changed_ms);
    if (was_here) {
        error = tri_blob_take_away(blobs, blobs->folder, object->name, sweeping->sweep->before_ms,
                                   gone);
    }
    if (error == 0 && (!was_here || gone[0] != '\0')) {
        struct tri_blob_call call = {.turn = blobs->turn, .is_stopping = blobs->is_stopping};
        error = blobs->remote->ops->remove(blobs->remote, &call, object->name);
        if (error != 0) {
            snprintf(blobs->words, sizeof blobs->words, "%s", call.words);
        }
        sweeping->swept->count += error == 0 ? 1 : 0;
        sweeping->swept->bytes += error == 0 ? object->size : 0;
    }
    close(held);
    if (gone[0] != '\0') {
        (void)!tri_below_remove(blobs->fresh, tr_text_of(gone)); /* else the next engine does */
    }
    return error;
}

static int sweep_object(void *self, const struct tri_blob_object *object)
{
    const struct sweeping *sweeping = self;
    const struct tri_blob_sweep *sweep = sweeping->sweep;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    uint64_t changed_ms;
    if (atomic_load(sweeping->blobs->is_stopping)) {
        return TR_CLOSED;
    }
    (void)tri_blob_find_change(sweeping->blobs->folder, object->name, &changed_ms);
    bool is_candidate = tri_blob_name_read(object->name, digest) &&
                        object->changed_ms <= sweep->before_ms && changed_ms <= sweep->before_ms &&
                        is_unused(sweeping, object->name);
    if (is_candidate && sweep->is_dry) {
        sweeping->swept->count++;
        sweeping->swept->bytes += object->size;
    }
    return is_candidate && !sweep->is_dry ? remove_there(sweeping, object) : 0;
}

/* An error of this side has its words in the blobs already. */
static int take_call_words(struct tri_blobs *blobs, int error, const struct tri_blob_call *call)
{
    if (error != 0 && call->words[0] != '\0') {
        snprintf(blobs->words, sizeof blobs->words, "%s", call->words);
    }
    return error;
}

static int sweep_remote(struct sweeping *sweeping)
{
    struct tri_blobs *blobs = sweeping->blobs;
    const struct tri_blob_remote_ops *ops = blobs->remote->ops;
    struct tri_blob_call call = {.turn = blobs->turn, .is_stopping = blobs->is_stopping};
    int error = ops->clean(blobs->remote, &call,
                           sweeping->sweep->is_dry ? 0 : sweeping->sweep->pieces_before_ms);
    if (error == 0) {
        error = ops->each(blobs->remote, &call, sweep_object, sweeping);
    }
    return take_call_words(blobs, error, &call);
}

struct showing {
    const struct tri_blobs *blobs;
    int (*each)(void *self, const char *name, uint64_t changed_ms);
    void *self;
};

static int show_object(void *self, const struct tri_blob_object *object)
{
    const struct showing *showing = self;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    uint64_t changed_ms;
    (void)tri_blob_find_change(showing->blobs->folder, object->name, &changed_ms);
    return !tri_blob_name_read(object->name, digest)
               ? 0
               : showing->each(showing->self, object->name,
                               changed_ms > object->changed_ms ? changed_ms : object->changed_ms);
}

int tri_blobs_each(struct tri_blobs *blobs,
                   int (*each)(void *self, const char *name, uint64_t changed_ms), void *self)
{
    struct showing showing = {.blobs = blobs, .each = each, .self = self};
    struct tri_blob_call call = {.turn = blobs->turn, .is_stopping = blobs->is_stopping};
    int error = blobs->remote->ops->each(blobs->remote, &call, show_object, &showing);
    return take_call_words(blobs, error, &call);
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
    if (error == 0 && blobs->remote != NULL) {
        error = sweep_remote(&sweeping);
    }
    /* What was counted there is not counted here once more. */
    bool is_counted = error != 0 || (blobs->remote != NULL && sweep->is_dry);
    return is_counted ? error : sweep_folder(&sweeping, blobs->folder, false);
}
