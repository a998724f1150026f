/*
 * A database that is missing where a store was: a new one in its place would forget all without a
 * word.
 *
 * What an engine leaves beside its database is made after that, so it is looked for first: an
 * engine that begins meanwhile is not taken for a loss.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/journal/sqlite_internal.h"

/* What tells of an engine that was here, if there is anything in it. */
static const char *const remains[] = {
    TRI_SQLITE_FILE "-wal", "attempts", "blobs", "cache", "checkpoints", "graphs", "keeper.log",
};

static bool has_entries(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    bool has_any = false;
    while (folder != NULL && !has_any && (entry = readdir(folder)) != NULL) {
        has_any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return has_any;
}

static bool has_anything(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return false;
    }
    return S_ISDIR(status.st_mode) ? has_entries(path) : status.st_size > 0;
}

/* Appends the names of what is left, with commas between them. */
static void list_remains(const char *folder, char *names, size_t size)
{
    char path[TRI_SQLITE_PATH_BYTES + 16];
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < TR_COUNT_OF(remains); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, remains[i]);
        if (has_anything(path) && used < size) {
            int added =
                snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "", remains[i]);
            used += added > 0 ? (size_t)added : 0;
        }
    }
}

int tri_sqlite_check_lost(struct tri_sqlite *self, const char *folder)
{
    struct stat status;
    char names[128];
    list_remains(folder, names, sizeof names);
    bool is_there = stat(self->path, &status) == 0;
    bool is_missing = is_there ? S_ISREG(status.st_mode) && status.st_size == 0 : errno == ENOENT;
    if (names[0] == '\0' || !is_missing) {
        return 0;
    }
    return tri_sqlite_say(
        self, TR_STORE_DAMAGED,
        "%s: %s, but there was a store here, which has left %s; put the file back "
        "from a copy, or remove what is left for a new store",
        self->path, is_there ? "is empty" : "is missing", names);
}
