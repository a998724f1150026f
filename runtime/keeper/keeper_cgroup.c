/*
 * Making, entering and ending a cgroup (v2).
 *
 * The steps of enter are mkdir, write the record, write "0" to cgroup.procs. The record comes
 * before the move: a keeper that is killed in between leaves an empty cgroup with a record, which
 * the next one removes. The other order could leave processes in a cgroup without a record. The
 * record is not synced, since a cgroup does not survive a restart of the machine.
 *
 * Failures are silent. Without permission to make a cgroup, which is usual for a plain user, the
 * marks in environments (keeper_orphans.c) identify leftovers.
 */
#include "runtime/keeper/keeper_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "schemas/codec/base.h"

#define FILE_NAME "keeper.cgroup"

/* Prefix of the name; the store and the keeper's pid follow. */
#define NAME "troupe-keeper-%016" PRIx64 "-"

/* How long to wait for killed processes; after that an empty cgroup may be left behind. */
#define WAIT_MS 2000

/* ---- Where it is. --------------------------------------------------------------------------- */

/*
 * The path of this process's cgroup below the mount, from the line "0::/PATH" of v2. False where
 * only v1 is mounted, or the path does not fit.
 */
static bool read_own(char *path, size_t size)
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
 * Mount point of the whole v2 hierarchy. Mounts with another root than "/" are skipped: paths of
 * /proc/self/cgroup do not fit them. The widths in the format bound the two arrays.
 */
static bool find_mount(char *path, size_t size)
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

/* ---- Its record in the store. --------------------------------------------------------------- */

/*
 * The path in the record; false unless its last part is a name that a keeper of this store makes.
 * The check keeps a copied or forged record from naming another cgroup, whose members would all be
 * killed.
 */
static bool read_record(int folder, uint64_t store, char path[PATH_MAX])
{
    char name[64];
    int file = openat(folder, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, path, PATH_MAX - 1);
    if (file >= 0) {
        close(file);
    }
    path[size < 0 ? 0 : size] = '\0';
    path[strcspn(path, "\n")] = '\0';
    (void)snprintf(name, sizeof name, NAME, store);
    const char *slash = strrchr(path, '/');
    return path[0] == '/' && slash != NULL && strncmp(slash + 1, name, strlen(name)) == 0;
}

static bool write_record(int folder, const char *path)
{
    int file =
        openat(folder, FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    ssize_t size = (ssize_t)strlen(path);
    bool is_written = file >= 0 && write(file, path, (size_t)size) == size;
    if (file >= 0) {
        close(file);
    }
    return is_written;
}

/* Removes the cgroup if it is empty, and then its record. */
static void forget(int folder, const char *path)
{
    if (rmdir(path) == 0 || errno == ENOENT) {
        (void)unlinkat(folder, FILE_NAME, 0);
    }
}

/* ---- Using it. ------------------------------------------------------------------------------ */

/*
 * Opens a folder that lies in a cgroup file system; -1 otherwise. Without the check, files named
 * cgroup.kill or cgroup.procs in a regular folder would be written to.
 */
static int open_cgroup(const char *path)
{
    struct statfs status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && (fstatfs(fd, &status) != 0 || status.f_type != CGROUP2_SUPER_MAGIC)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool write_word(int cgroup, const char *name, const char *word)
{
    int file = openat(cgroup, name, O_WRONLY | O_CLOEXEC);
    bool is_written = file >= 0 && write(file, word, strlen(word)) == (ssize_t)strlen(word);
    if (file >= 0) {
        close(file);
    }
    return is_written;
}

static bool is_populated(int events)
{
    char text[256] = "";
    ssize_t size = pread(events, text, sizeof text - 1, 0);
    return size > 0 && strstr(text, "populated 1") != NULL;
}

/*
 * Waits until "populated 0". The kernel signals a change of cgroup.events as POLLPRI; the state is
 * read again after each, and the wait ends without a change in time.
 */
static void await_empty(int cgroup)
{
    int events = openat(cgroup, "cgroup.events", O_RDONLY | O_CLOEXEC);
    struct pollfd change = {.fd = events, .events = POLLPRI};
    while (events >= 0 && is_populated(events) && poll(&change, 1, WAIT_MS) > 0) {
    }
    if (events >= 0) {
        close(events);
    }
}

void tri_keeper_cgroup_kill_remains(int folder, uint64_t store)
{
    char path[PATH_MAX];
    if (!read_record(folder, store, path)) {
        return;
    }
    int cgroup = open_cgroup(path);
    /*
     * cgroup.kill sends SIGKILL to all members at once, including those that are being forked
     * (Linux 5.14). Without the file nothing is killed, and the record stays while the cgroup has
     * members.
     */
    if (cgroup >= 0 && write_word(cgroup, "cgroup.kill", "1")) {
        await_empty(cgroup);
    }
    if (cgroup >= 0) {
        close(cgroup);
    }
    forget(folder, path);
}

void tri_keeper_cgroup_enter(int folder, uint64_t store)
{
    char mount[PATH_MAX];
    char own[PATH_MAX];
    char path[PATH_MAX];
    if (!find_mount(mount, sizeof mount) || !read_own(own, sizeof own)) {
        return;
    }
    int size = snprintf(path, sizeof path, "%s%s/" NAME "%d", mount,
                        strcmp(own, "/") == 0 ? "" : own, store, (int)getpid());
    if (size < 0 || (size_t)size >= sizeof path || mkdir(path, 0700) != 0) {
        return;
    }
    int cgroup = open_cgroup(path);
    /*
     * "0" stands for the writing process. Children start in the cgroup of their parent, so the move
     * has to come before the first launch.
     */
    bool is_usable = cgroup >= 0 && faccessat(cgroup, "cgroup.kill", W_OK, 0) == 0 &&
                     write_record(folder, path) && write_word(cgroup, "cgroup.procs", "0");
    if (cgroup >= 0) {
        close(cgroup);
    }
    if (!is_usable) {
        forget(folder, path);
    }
}

void tri_keeper_cgroup_leave(int folder, uint64_t store)
{
    char path[PATH_MAX];
    char above[PATH_MAX];
    if (!read_record(folder, store, path)) {
        return;
    }
    (void)snprintf(above, sizeof above, "%s", path);
    /* Out of the cgroup first: rmdir fails while the keeper itself is in it. */
    *strrchr(above, '/') = '\0';
    int cgroup = open_cgroup(above);
    if (cgroup >= 0) {
        (void)write_word(cgroup, "cgroup.procs", "0");
        close(cgroup);
    }
    forget(folder, path);
}
