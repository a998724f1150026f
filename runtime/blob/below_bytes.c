/*
 * The size of a folder's contents, to report what is removed. Links are not followed; files that
 * are not visible, or too deep, do not count. Sizes are those of the contents, so holes count and a
 * file with two names counts twice.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"

/* Each level has an open descriptor, so the depth is bounded. */
#define DEPTH_MAX 64

static uint64_t count(int parent, const char *name, unsigned depth);

static uint64_t count_folder(int fd, unsigned depth)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    uint64_t bytes = 0;
    if (folder == NULL) {
        close(fd);
        return 0;
    }
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            bytes += count(fd, entry->d_name, depth);
        }
    }
    closedir(folder);
    return bytes;
}

static uint64_t count(int parent, const char *name, unsigned depth)
{
    struct stat status;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    if (!S_ISDIR(status.st_mode)) {
        return S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    }
    int fd = depth < DEPTH_MAX
                 ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    return fd < 0 ? 0 : count_folder(fd, depth + 1);
}

uint64_t tri_below_bytes(int folder, const char *name)
{
    return count(folder, name, 0);
}
