/*
 * Reading and writing the files of control groups. They are made while they are read, so each is
 * read at once; a word that the kernel does not take fails the write.
 */
#include "runtime/cgroup/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* More than any file of words has that is read here. */
#define FILE_BYTES_MAX 4096

/* Groups in groups: what a task may have made below its own. */
#define DEPTH_MAX 16

/* ---- Where they are. ------------------------------------------------------------------------ */

/*
 * The path of this process's cgroup below the mount, from the line "0::/PATH" of v2. False where
 * only v1 is mounted, or the path does not fit.
 */
bool tri_cgroup_own(char *path, size_t size)
{
    char line[PATH_MAX];
    bool is_found = false;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        is_found = strncmp(line, "0::/", 4) == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    int written = is_found ? snprintf(path, size, "%s", line + 3) : -1;
    return written > 0 && (size_t)written < size;
}

/*
 * Where the whole v2 hierarchy is mounted. Mounts with another root than "/" are passed over: paths
 * of /proc/self/cgroup do not fit them. The widths in the format bound the two arrays.
 */
bool tri_cgroup_mount(char *path, size_t size)
{
    char line[PATH_MAX + 512];
    char root[PATH_MAX];
    char place[PATH_MAX];
    bool is_found = false;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        is_found = strstr(line, " - cgroup2 ") != NULL &&
                   sscanf(line, "%*d %*d %*s %4095s %4095s", root, place) == 2 &&
                   strcmp(root, "/") == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    int written = is_found ? snprintf(path, size, "%s", place) : -1;
    return written > 0 && (size_t)written < size;
}

/*
 * Opens a folder and checks that it lies in a cgroup file system: -1 otherwise. Without the check,
 * files named cgroup.kill or cgroup.procs in a common folder would be written to.
 */
int tri_cgroup_open(const char *path)
{
    struct statfs status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && (fstatfs(fd, &status) != 0 || status.f_type != CGROUP2_SUPER_MAGIC)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- Their files. --------------------------------------------------------------------------- */

bool tri_cgroup_write(int group, const char *name, const char *word)
{
    int file = openat(group, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_written = file >= 0 && write(file, word, strlen(word)) == (ssize_t)strlen(word);
    int number = errno;
    if (file >= 0) {
        close(file);
    }
    errno = number;
    return is_written;
}

void tri_cgroup_read(int group, const char *name, char *text, size_t size)
{
    int file = openat(group, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t found = file < 0 ? -1 : read(file, text, size - 1);
    text[found < 0 ? 0 : found] = '\0';
    if (file >= 0) {
        close(file);
    }
}

uint64_t tri_cgroup_number(int group, const char *name, const char *word)
{
    char text[FILE_BYTES_MAX];
    uint64_t number = 0;
    size_t size = strlen(word);
    tri_cgroup_read(group, name, text, sizeof text);
    for (const char *line = text; line != NULL && *line != '\0';) {
        bool is_it = strncmp(line, word, size) == 0 && (size == 0 || line[size] == ' ');
        if (is_it && sscanf(line + size, "%" SCNu64, &number) == 1) {
            return number;
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return 0;
}

bool tri_cgroup_has_word(int group, const char *name, const char *word)
{
    char text[FILE_BYTES_MAX];
    size_t size = strlen(word);
    tri_cgroup_read(group, name, text, sizeof text);
    for (const char *at = text; *at != '\0';) {
        size_t found = strcspn(at, " \n");
        if (found == size && memcmp(at, word, size) == 0) {
            return true;
        }
        at += found + (at[found] == '\0' ? 0 : 1);
    }
    return false;
}

/* ---- Ending them. --------------------------------------------------------------------------- */

/* cgroup.kill sends SIGKILL to all members at once, including those that are being forked. */
bool tri_cgroup_kill(int group)
{
    return tri_cgroup_write(group, "cgroup.kill", "1");
}

static bool remove_deep(int above, const char *name, int depth);

/* The groups in a group. One that cannot be removed keeps those above it, which rmdir says. */
static void remove_below(int group, int depth)
{
    int copy = openat(group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            (void)remove_deep(group, entry->d_name, depth + 1);
        }
    }
    closedir(folder);
}

/* A group has files that nobody can remove; rmdir takes them along, from the deepest on. */
static bool remove_deep(int above, const char *name, int depth)
{
    if (unlinkat(above, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
        return true;
    }
    int group = depth < DEPTH_MAX
                    ? openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                    : -1;
    if (group >= 0) {
        remove_below(group, depth);
        close(group);
    }
    return unlinkat(above, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

bool tri_cgroup_remove(int above, const char *name)
{
    return remove_deep(above, name, 0);
}
