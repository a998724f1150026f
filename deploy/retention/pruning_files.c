/*
 * Removing files of a store: each function counts what it removes, or would remove.
 */
#include "deploy/retention/pruning_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/retention/mark.h"
#include "runtime/blob/below.h"
#include "runtime/store_blobs.h"
#include "schemas/runtime/process.h"

TR_MUST_USE static int fail(char *explain, int error, const char *what)
{
    if (explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.300s cannot be removed: %s", what,
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return error;
}

/* The store's folder, or -1 with words. */
static int open_store(const struct tr_prune_request *request, char *explain)
{
    int fd = open(request->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        (void)!fail(explain, TR_SYSTEM, request->folder);
    }
    return fd;
}

static bool is_stopping(const struct tr_prune_request *request)
{
    return request->is_stopping != NULL && atomic_load(request->is_stopping);
}

/* ----------------------------------------------------------------------- the folders */

int tr_prune_folder(const struct tr_prune_request *request, const char *name, char *explain,
                    struct tr_pruned_part *part)
{
    int error = 0;
    int store = open_store(request, explain);
    if (store < 0) {
        return TR_SYSTEM;
    }
    if (faccessat(store, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        uint64_t bytes = tri_below_bytes(store, name);
        errno = 0;
        error = request->is_dry ? 0 : tri_below_remove(store, tr_text_of(name));
        if (error == 0) {
            part->count++;
            part->bytes += bytes;
        }
    }
    close(store);
    return error == 0 || error == TR_NOT_FOUND ? 0 : fail(explain, error, name);
}

int tr_prune_execution_folders(const struct tr_prune_request *request,
                               const struct tr_execution *row, char *explain,
                               struct tr_pruned_part *part)
{
    static const char *const folders[] = {"attempts", TR_STORE_CHECKPOINTS};
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(folders); i++) {
        char name[PATH_MAX];
        int size = snprintf(name, sizeof name, "%s/%.*s/%.*s/%.*s", folders[i],
                            (int)row->project.size, row->project.data, (int)row->domain.size,
                            row->domain.data, (int)row->name.size, row->name.data);
        error = size < 0 || (size_t)size >= sizeof name
                    ? fail(explain, TR_LIMIT, folders[i])
                    : tr_prune_folder(request, name, explain, part);
    }
    return error;
}

/* ------------------------------------------------------------------------- the cache */

static uint64_t made_ms(const struct stat *status)
{
    return (uint64_t)status->st_mtim.tv_sec * 1000 + (uint64_t)status->st_mtim.tv_nsec / 1000000;
}

static int prune_document(const struct tr_prune_request *request, int folder, const char *name,
                          char *explain, struct tr_pruned_part *part)
{
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        made_ms(&status) >= request->cache_before_ms) {
        return 0;
    }
    if (!request->is_dry && unlinkat(folder, name, 0) != 0) {
        return errno == ENOENT ? 0 : fail(explain, TR_SYSTEM, name);
    }
    part->count++;
    part->bytes += (uint64_t)status.st_size;
    return 0;
}

/* Goes through a folder of documents; of the top one, through the folders in it. */
static int prune_documents(const struct tr_prune_request *request, int parent, const char *name,
                           bool is_top, char *explain, struct tr_pruned_part *part)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int error = 0;
    if (folder == NULL) {
        error = errno == ENOENT || errno == ENOTDIR ? 0 : fail(explain, TR_SYSTEM, name);
        if (fd >= 0) {
            close(fd);
        }
        return error;
    }
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        error = is_stopping(request) ? TR_CLOSED
                : is_top ? prune_documents(request, fd, entry->d_name, false, explain, part)
                         : prune_document(request, fd, entry->d_name, explain, part);
    }
    closedir(folder);
    return error;
}

int tr_prune_cache(const struct tr_prune_request *request, char *explain,
                   struct tr_pruned_part *part)
{
    static const char *const folders[] = {"cache", TR_STORE_FETCHED};
    int error = 0;
    int store = open_store(request, explain);
    if (store < 0) {
        return TR_SYSTEM;
    }
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(folders); i++) {
        error = prune_documents(request, store, folders[i], true, explain, part);
    }
    close(store);
    return error;
}

/* -------------------------------------------------------------------- environments */

/* When an environment was used last; one that was not made to its end has its folder's time. */
static bool is_unused(const struct tr_prune_request *request, int folder, const char *name)
{
    char used[NAME_MAX + sizeof "/used"];
    struct stat status;
    (void)snprintf(used, sizeof used, "%s/used", name);
    bool is_found = fstatat(folder, used, &status, AT_SYMLINK_NOFOLLOW) == 0 ||
                    fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    return is_found && made_ms(&status) < request->cache_before_ms;
}

/* A walk over the entries of one of the store's folders. */
struct walk {
    const struct tr_prune_request *request;
    const struct tr_references *references; /* of code */
    uint64_t before_ms;                     /* of code */
    char *explain;
    struct tr_pruned_part *part;
};

/* Does something with each entry, until there is an error or the request is to end. */
static int each_entry(const struct walk *walk, const char *name,
                      int (*visit)(const struct walk *walk, int folder, const char *name))
{
    int store = open_store(walk->request, walk->explain);
    if (store < 0) {
        return TR_SYSTEM;
    }
    int fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int error = 0;
    while (folder != NULL && error == 0 && (entry = readdir(folder)) != NULL) {
        error = is_stopping(walk->request) ? TR_CLOSED : visit(walk, fd, entry->d_name);
    }
    if (folder != NULL) {
        closedir(folder);
    } else if (fd >= 0) {
        close(fd);
    }
    close(store);
    return error;
}

/*
 * Who makes it or runs in it has its lock (plugins/process/process_software.c), and whoever waits
 * for that looks again whether the file is still there. So the lock goes last.
 */
static int remove_environment(int folder, const char *name, bool *is_removed)
{
    char lock_name[NAME_MAX + sizeof ".lock"];
    (void)snprintf(lock_name, sizeof lock_name, "%s.lock", name);
    int lock = openat(folder, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) {
        return TR_SYSTEM;
    }
    int error = 0;
    *is_removed = flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (*is_removed) {
        error = tri_below_remove(folder, tr_text_of(name));
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    if (*is_removed && error == 0) {
        (void)unlinkat(folder, lock_name, 0); /* an empty file more does no harm */
    }
    close(lock);
    return error;
}

static int prune_environment(const struct walk *walk, int folder, const char *name)
{
    struct stat status;
    bool is_removed = true;
    if (name[0] == '.' || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(status.st_mode) || !is_unused(walk->request, folder, name)) {
        return 0;
    }
    uint64_t bytes = tri_below_bytes(folder, name);
    int error = walk->request->is_dry ? 0 : remove_environment(folder, name, &is_removed);
    if (error != 0) {
        return fail(walk->explain, error, name);
    }
    walk->part->count += is_removed ? 1 : 0;
    walk->part->bytes += is_removed ? bytes : 0;
    return 0;
}

int tr_prune_environments(const struct tr_prune_request *request, char *explain,
                          struct tr_pruned_part *part)
{
    const struct walk walk = {.request = request, .explain = explain, .part = part};
    return each_entry(&walk, TR_STORE_ENVIRONMENTS, prune_environment);
}

/* ----------------------------------------------------------------------------- code */

/* What begins with a point is being unpacked, or was when a command was killed. */
static int prune_code(const struct walk *walk, int folder, const char *name)
{
    struct stat status;
    char path[NAME_MAX + sizeof TR_STORE_CODE "/"];
    bool is_own = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    bool is_old = !is_own && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                  made_ms(&status) < walk->before_ms;
    (void)snprintf(path, sizeof path, "%s/", name);
    bool is_named = name[0] != '.' && tr_references_has(walk->references, path);
    (void)snprintf(path, sizeof path, TR_STORE_CODE "/%s", name);
    return is_old && !is_named ? tr_prune_folder(walk->request, path, walk->explain, walk->part)
                               : 0;
}

int tr_prune_code(const struct tr_prune_request *request, const struct tr_references *references,
                  uint64_t before_ms, char *explain, struct tr_pruned_part *part)
{
    const struct walk walk = {.request = request,
                              .references = references,
                              .before_ms = before_ms,
                              .explain = explain,
                              .part = part};
    return each_entry(&walk, TR_STORE_CODE, prune_code);
}

/* ---------------------------------------------------------------------------- blobs */

static bool is_used(void *self, const char *name)
{
    return tr_references_has(self, name);
}

/* What is in use, found when something has to go. */
struct using
{
    const struct tr_prune_request *request;
    struct tr_references *references;
    char *explain;
    int error;
};

/* Opens the blobs for work that ends when the request is to. */
static int open_blobs(const struct tr_prune_request *request, char *explain,
                      struct tri_blobs **blobs)
{
    int error = tri_store_blobs_open_beside(request->folder, blobs);
    if (error != 0) {
        return fail(explain, error, "blobs");
    }
    if (request->is_stopping != NULL) {
        tri_blobs_set_stopping(*blobs, request->is_stopping);
    }
    return 0;
}

static bool is_in_use(void *self, const char *name)
{
    struct using *using = self;
    if (using->references == NULL && using->error == 0) {
        const struct tr_mark_options options = {.folder = using->request->folder,
                                                .is_stopping = using->request->is_stopping};
        using->error = tr_mark_active(&options, using->explain, &using->references);
    }
    return using->error != 0 || tr_references_has(using->references, name);
}

int tr_prune_blobs_cache(const struct tr_prune_request *request, char *explain)
{
    struct using using = {.request = request, .explain = explain};
    const struct tri_blob_trim trim = {.bytes_max = request->blobs_cache_bytes,
                                       .before_ms = request->now_ms,
                                       .self = &using,
                                       .is_used = is_in_use};
    struct tri_blobs *blobs;
    struct tri_swept swept;
    if (!tri_store_blobs_are_remote(request->folder)) {
        return 0;
    }
    int error = open_blobs(request, explain, &blobs);
    if (error != 0) {
        return error;
    }
    error = tri_blobs_trim(blobs, &trim, &swept);
    if (error != 0 && explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_blobs_words(blobs));
    }
    tri_blobs_close(blobs);
    tr_references_free(using.references);
    return error != 0 ? error : using.error;
}

int tr_prune_blobs(const struct tr_prune_request *request, const struct tr_references *references,
                   uint64_t pieces_before_ms, char *explain, struct tr_pruned *pruned)
{
    struct tr_pruned_part *part = &pruned->parts[TR_PRUNED_BLOBS];
    struct tri_blobs *blobs;
    struct tri_swept swept = {.count = 0};
    struct tri_blob_sweep sweep = {
        .before_ms = request->unnamed_before_ms,
        .pieces_before_ms = pieces_before_ms,
        .is_dry = request->is_dry,
        .self = (void *)(uintptr_t)references,
        .is_used = is_used,
    };
    int error = open_blobs(request, explain, &blobs);
    if (error != 0) {
        return error;
    }
    error = tri_blob_sweep(blobs, &sweep, &swept);
    if (error == TR_BUSY) {
        snprintf(pruned->blobs_stay, sizeof pruned->blobs_stay, "%s", tri_blobs_words(blobs));
        error = 0;
    }
    if (error != 0 && explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_blobs_words(blobs));
    }
    tri_blobs_close(blobs);
    part->count += swept.count;
    part->bytes += swept.bytes;
    return error;
}
