/*
 * A walk over three levels of folders. An upload is as young as the youngest of its files: who puts
 * the same once more makes it young again (deploy/data_proxy/upload_store.c).
 */
#include "deploy/retention/pruning_uploads.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/retention/pruning_files.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/process.h"

/* Folders on the way to an upload's: of its project and of its domain. */
#define LEVELS 2

struct walk {
    const char *store;
    struct tr_references *references;
    int (*visit)(const struct walk *walk, const char *path, const char *digits);

    /* Of a removal. */
    const struct tr_prune_request *request;
    uint64_t before_ms;
    char *explain;
    struct tr_pruned_part *part;
};

/* Goes into a folder, whose path is below the store's; what is none is passed over. */
static int walk_into(const struct walk *walk, const char *path, int level)
{
    char whole[2 * PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s/%s", walk->store, path);
    DIR *folder = opendir(whole);
    const struct dirent *entry;
    int error = 0;
    if (folder == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : TR_SYSTEM;
    }
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        char below[PATH_MAX];
        int size = snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || size < 0 || (size_t)size >= sizeof below) {
            continue;
        }
        error = level < LEVELS ? walk_into(walk, below, level + 1)
                               : walk->visit(walk, below, entry->d_name);
    }
    (void)closedir(folder);
    return error;
}

static int add(const struct walk *walk, const char *path, const char *digits)
{
    char name[NAME_MAX + sizeof "/"];
    (void)path;
    (void)snprintf(name, sizeof name, "%s/", digits); /* as that of a folder of code */
    return tr_references_add(walk->references, name, false, false);
}

int tr_uploads_add(const char *store, struct tr_references *references)
{
    const struct walk walk = {.store = store, .references = references, .visit = add};
    return walk_into(&walk, TR_STORE_UPLOADS, 0);
}

/* ------------------------------------------------------------------ removing */

static uint64_t changed_ms(const char *path)
{
    struct stat status;
    return lstat(path, &status) != 0 ? 0
                                     : (uint64_t)status.st_mtim.tv_sec * 1000 +
                                           (uint64_t)status.st_mtim.tv_nsec / 1000000;
}

/* When something was put into it last. */
static uint64_t youngest_ms(const struct walk *walk, const char *path)
{
    char name[3 * PATH_MAX];
    char whole[2 * PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s/%s", walk->store, path);
    uint64_t youngest = changed_ms(whole);
    DIR *folder = opendir(whole);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        (void)snprintf(name, sizeof name, "%s/%s", whole, entry->d_name);
        uint64_t at_ms = strcmp(entry->d_name, "..") == 0 ? 0 : changed_ms(name);
        youngest = at_ms > youngest ? at_ms : youngest;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return youngest;
}

static int prune(const struct walk *walk, const char *path, const char *digits)
{
    char name[NAME_MAX + sizeof "/"];
    const struct tr_prune_request *request = walk->request;
    if (request->is_stopping != NULL && atomic_load(request->is_stopping)) {
        return TR_CLOSED;
    }
    (void)snprintf(name, sizeof name, "%s/", digits);
    bool is_kept =
        tr_references_has(walk->references, name) || youngest_ms(walk, path) >= walk->before_ms;
    return is_kept ? 0 : tr_prune_folder(request, path, walk->explain, walk->part);
}

int tr_prune_uploads(const struct tr_prune_request *request, const struct tr_references *references,
                     uint64_t before_ms, char *explain, struct tr_pruned_part *part)
{
    const struct walk walk = {.store = request->folder,
                              .references = (struct tr_references *)(uintptr_t)references,
                              .visit = prune,
                              .request = request,
                              .before_ms = before_ms,
                              .explain = explain,
                              .part = part};
    int error = walk_into(&walk, TR_STORE_UPLOADS, 0);
    if (error == TR_SYSTEM && explain[0] == '\0') {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, TR_STORE_UPLOADS " cannot be read: %s",
                       strerror(errno));
    }
    return error;
}
