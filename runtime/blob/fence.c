/*
 * Opens files and folders within a fence. Each step starts at a descriptor of the previous one, so
 * that nothing can be replaced between check and use.
 *
 * First the fence's folder is opened, then the name is resolved with O_PATH, which opens nothing
 * and so cannot hang or have an effect, then the kind is checked by fstat, and only then it is
 * opened for reading, through /proc/self/fd, so that it is the same inode.
 *
 * The kernel resolves links (openat2 with RESOLVE_BENEATH, Linux 5.6). Where that is missing or
 * forbidden, as in some containers, no links are followed.
 */
#include "runtime/blob/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/env/env_limits.h"
#include "schemas/codec/error.h"

/* Retries while other processes rename folders and the kernel cannot resolve a `..` of a link. */
#define TRIES_MAX 16

static int refuse(const struct tr_fence *fence, int error, const char *why,
                  char words[TRI_FENCE_WORDS_BYTES])
{
    int shown = fence->folder.size < 250 ? (int)fence->folder.size : 250;
    snprintf(words, TRI_FENCE_WORDS_BYTES, "%s; only files and folders below %.*s are accepted",
             why, shown, fence->folder.data);
    return error;
}

/* The part of a path behind the fence's folder; empty: it is not below it. */
static struct tr_text name_below(const struct tr_fence *fence, const char *path)
{
    struct tr_text folder = fence->folder;
    size_t size = strlen(path);
    bool is_below = size > folder.size && memcmp(path, folder.data, folder.size) == 0 &&
                    path[folder.size] == '/';
    size_t skipped = is_below ? folder.size : size;
    while (path[skipped] == '/') {
        skipped++;
    }
    return (struct tr_text){.data = path + skipped, .size = size - skipped};
}

/*
 * Whether a part of the name is `..`. Where that leads depends on links before it, so such names
 * are refused without asking the file system.
 */
static bool climbs(struct tr_text name)
{
    size_t begin = 0;
    for (size_t i = 0; i <= name.size; i++) {
        if (i == name.size || name.data[i] == '/') {
            if (i - begin == 2 && memcmp(name.data + begin, "..", 2) == 0) {
                return true;
            }
            begin = i + 1;
        }
    }
    return false;
}

/*
 * Opens the fence's folder: the trusted part with links, the rest without. TR_OUTSIDE: a link, or a
 * file, is on the way behind the trusted part.
 */
static int open_folder(const struct tr_fence *fence, int *folder)
{
    char path[TR_PATH_BYTES_MAX];
    struct tr_text whole = fence->folder;
    size_t trusted = fence->trusted_bytes > 0 ? fence->trusted_bytes : whole.size;
    if (trusted >= sizeof path || trusted > whole.size) {
        return TR_LIMIT;
    }
    snprintf(path, sizeof path, "%.*s", (int)trusted, whole.data);
    int top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0) {
        return tri_below_error();
    }
    while (trusted < whole.size && whole.data[trusted] == '/') {
        trusted++;
    }
    if (trusted == whole.size) {
        *folder = top;
        return 0;
    }
    struct tr_text rest = {.data = whole.data + trusted, .size = whole.size - trusted};
    int error = tri_below_folder(top, rest, 0, folder);
    int number = errno;
    close(top);
    errno = number;
    bool is_link = error == TR_NOT_FOUND && (number == ELOOP || number == ENOTDIR);
    return is_link ? TR_OUTSIDE : error;
}

/*
 * Resolves the name without opening its target; links are followed while they stay below. EAGAIN
 * means that a rename came in between and the kernel cannot resolve a `..` of a link, so it is
 * retried. EXDEV means that the path left the folder.
 */
static int find(int folder, struct tr_text name, int *found)
{
    char path[TR_PATH_BYTES_MAX];
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    long fd = -1;
    if (name.size >= sizeof path) {
        return TR_LIMIT;
    }
    snprintf(path, sizeof path, "%.*s", (int)name.size, name.data);
    errno = EAGAIN;
    for (int i = 0; fd < 0 && errno == EAGAIN && i < TRIES_MAX; i++) {
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
    }
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
        return tri_below_open(folder, name, O_PATH, 0, found);
    }
    if (fd < 0) {
        return errno == EXDEV ? TR_OUTSIDE : tri_below_error();
    }
    *found = (int)fd;
    return 0;
}

/* Opens the resolved target for reading. TR_INVALID for neither a file nor a folder. */
static int open_found(int found, int *fd)
{
    char path[64];
    struct stat status;
    if (fstat(found, &status) != 0) {
        return TR_SYSTEM;
    }
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        return TR_INVALID;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", found);
    int opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (opened < 0) {
        return tri_below_error();
    }
    *fd = opened;
    return 0;
}

static int open_below(const struct tr_fence *fence, struct tr_text name, int *fd)
{
    int folder;
    int found;
    int error = open_folder(fence, &folder);
    if (error != 0) {
        return error;
    }
    error = find(folder, name, &found);
    int number = errno;
    close(folder);
    errno = number;
    if (error == 0) {
        error = open_found(found, fd);
        number = errno;
        close(found);
        errno = number;
    }
    return error;
}

int tri_fence_open(const struct tr_fence *fence, const char *path, int *fd,
                   char words[TRI_FENCE_WORDS_BYTES])
{
    struct tr_text name = name_below(fence, path);
    if (name.size == 0) {
        return refuse(fence, TR_OUTSIDE, "it is outside", words);
    }
    if (climbs(name)) {
        return refuse(fence, TR_OUTSIDE, "it has a part '..'", words);
    }
    int error = open_below(fence, name, fd);
    return error == TR_OUTSIDE   ? refuse(fence, error, "a link in its path leads outside", words)
           : error == TR_INVALID ? refuse(fence, error, "it is neither a file nor a folder", words)
                                 : error;
}
