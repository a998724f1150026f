/*
 * Removal on a share with other writers.
 *
 * The operator's part of a path (`trusted_bytes`) is opened as it is, links included. From there
 * each step starts at the descriptor of the previous one, by single names, so a link that a job
 * puts on the way makes the removal fail.
 */
#include "runtime/process/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/process/attempt_limits.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/process.h"

/* The working folders of an attempt, and its logs; the plugin's shell script names them. */
static const char *const work_names[] = {TR_ATTEMPT_WORK, TR_ATTEMPT_TMP};
static const char *const log_names[] = {TR_ATTEMPT_STDOUT, TR_ATTEMPT_STDERR};

/* The path behind the trusted part. */
static struct tr_text name_of(const struct tri_shared *shared)
{
    size_t at =
        shared->trusted_bytes < shared->path.size ? shared->trusted_bytes : shared->path.size;
    while (at < shared->path.size && shared->path.data[at] == '/') {
        at++;
    }
    return (struct tr_text){.data = shared->path.data + at, .size = shared->path.size - at};
}

/*
 * Opens the trusted part. TR_INVALID if the path has nothing behind it: the share itself is never
 * removed. O_PATH needs no right to read the share.
 */
static int open_top(const struct tri_shared *shared, int *top)
{
    char path[TR_PATH_BYTES_MAX];
    int size = snprintf(path, sizeof path, "%.*s", (int)shared->trusted_bytes, shared->path.data);
    if (shared->trusted_bytes == 0 || name_of(shared).size == 0) {
        return TR_INVALID;
    }
    if (size < 0 || (size_t)size >= sizeof path) {
        return TR_LIMIT;
    }
    *top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *top < 0 ? tri_below_error() : 0;
}

static bool has_logs(int folder)
{
    for (size_t i = 0; i < TR_COUNT_OF(log_names); i++) {
        struct stat status;
        if (fstatat(folder, log_names[i], &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && status.st_size > 0) {
            return true;
        }
    }
    return false;
}

/*
 * Removes the working folders of an attempt that has logs. `is_rest`: it has none, and the caller
 * removes the whole folder.
 */
static int remove_work(int top, struct tr_text name, bool *is_rest)
{
    int folder;
    int error = tri_below_folder(top, name, 0, &folder);
    if (error != 0) {
        return error;
    }
    *is_rest = !has_logs(folder);
    for (size_t i = 0; !*is_rest && error == 0 && i < TR_COUNT_OF(work_names); i++) {
        error = tri_below_remove(folder, tr_text_of(work_names[i]));
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    close(folder);
    return error;
}

int tri_shared_remove(const struct tri_shared *shared)
{
    int top;
    bool is_rest = true;
    struct tr_text name = name_of(shared);
    int error = open_top(shared, &top);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    error = shared->keeps_logs ? remove_work(top, name, &is_rest) : 0;
    if (error == 0 && is_rest) {
        error = tri_below_remove(top, name);
    }
    int number = errno;
    close(top);
    errno = number;
    return error == TR_NOT_FOUND ? 0 : error;
}

bool tri_shared_exists(const struct tri_shared *shared, uint64_t *bytes)
{
    int top;
    struct tri_below_place place;
    bool is_there = false;
    if (open_top(shared, &top) != 0) {
        return false;
    }
    if (tri_below_find(top, name_of(shared), 0, &place) == 0) {
        is_there = faccessat(place.folder, place.last, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        *bytes = is_there ? tri_below_bytes(place.folder, place.last) : 0;
        tri_below_place_close(&place);
    }
    close(top);
    return is_there;
}

void tri_shared_remove_parent(const struct tri_shared *shared)
{
    int top;
    struct tr_text name = name_of(shared);
    const char *slash = name.size == 0 ? NULL : memrchr(name.data, '/', name.size);
    struct tri_below_place place;
    if (slash == NULL || open_top(shared, &top) != 0) {
        return;
    }
    name.size = (size_t)(slash - name.data);
    if (tri_below_find(top, name, 0, &place) == 0) {
        (void)unlinkat(place.folder, place.last, AT_REMOVEDIR); /* it may not be empty */
        tri_below_place_close(&place);
    }
    close(top);
}
