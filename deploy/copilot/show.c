/*
 * A folder at another path, for one process: a namespace of mounts, in one of users where it may
 * not make the other. Where the path is not there, the nearest folder above it that is gets a
 * double in memory, in which all that is in it is mounted, and the rest of the path made.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/copilot/copilot.h"
#include "schemas/codec/error.h"

/* Whether this process has its own mounts already. */
static bool has_own;

static bool write_file(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool is_good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0) {
        (void)close(file);
    }
    return is_good;
}

/* Whoever it is stays who it is: one user and one group are mapped to themselves. */
static bool map_user(uid_t user, gid_t group)
{
    char users[64];
    char groups[64];
    snprintf(users, sizeof users, "%u %u 1\n", user, user);
    snprintf(groups, sizeof groups, "%u %u 1\n", group, group);
    return write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/gid_map", groups) &&
           write_file("/proc/self/uid_map", users);
}

static bool take_own_mounts(void)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    if (has_own) {
        return true;
    }
    bool is_apart = unshare(CLONE_NEWNS) == 0 ||
                    (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && map_user(user, group));
    has_own = is_apart && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return has_own;
}

/* An entry of a folder in its double. What cannot be mounted is left out. */
static void mount_entry(const char *folder, const char *copy, const char *name)
{
    char from[PATH_MAX];
    char to[PATH_MAX];
    char target[PATH_MAX];
    struct stat status;
    int size = snprintf(from, sizeof from, "%s/%s", folder, name);
    int other = snprintf(to, sizeof to, "%s/%s", copy, name);
    if (size < 0 || other < 0 || size >= PATH_MAX || other >= PATH_MAX ||
        lstat(from, &status) != 0) {
        return;
    }
    if (S_ISLNK(status.st_mode)) {
        ssize_t length = readlink(from, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        (void)!symlink(target, to);
        return;
    }
    int place = S_ISDIR(status.st_mode) ? -1 : open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (place >= 0) {
        (void)close(place);
    }
    if (place >= 0 || mkdir(to, 0755) == 0) {
        (void)mount(from, to, NULL, MS_BIND | MS_REC, NULL);
    }
}

static bool put_double(const char *folder, const char *copy)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    if (entries == NULL || mount("copilot", copy, "tmpfs", 0, "mode=0755") != 0) {
        if (entries != NULL) {
            closedir(entries);
        }
        return false;
    }
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            mount_entry(folder, copy, entry->d_name);
        }
    }
    closedir(entries);
    return mount(copy, folder, NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* Makes all folders of a path that are missing; false where one cannot be. */
static bool make_path(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool is_there = mkdir(path, 0755) == 0 || errno == EEXIST;
        *slash = '/';
        if (!is_there) {
            return false;
        }
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* The nearest folder above a path that is there. */
static void cut_to_existing(char *path)
{
    char *slash = strrchr(path, '/');
    while (slash != NULL && slash != path) {
        *slash = '\0';
        if (access(path, F_OK) == 0) {
            return;
        }
        slash = strrchr(path, '/');
    }
    path[1] = '\0';
}

static bool make_place(const struct tr_copilot_folder *folder)
{
    char path[PATH_MAX];
    char above[PATH_MAX];
    char copy[PATH_MAX + sizeof ".double"];
    snprintf(path, sizeof path, "%s", folder->wanted);
    snprintf(above, sizeof above, "%s", folder->wanted);
    snprintf(copy, sizeof copy, "%s.double", folder->here);
    cut_to_existing(above);
    /* The root itself has no double, and is written to by nobody. */
    return strcmp(above, "/") != 0 && mkdir(copy, 0755) == 0 && put_double(above, copy) &&
           make_path(path);
}

int tr_copilot_show(const struct tr_copilot_folder *folder)
{
    if (folder->wanted[0] != '/' || strlen(folder->wanted) >= PATH_MAX) {
        errno = EINVAL;
        return TR_SYSTEM;
    }
    bool is_shown = take_own_mounts() &&
                    (access(folder->wanted, F_OK) == 0 || make_place(folder)) &&
                    mount(folder->here, folder->wanted, NULL, MS_BIND | MS_REC, NULL) == 0;
    return is_shown ? 0 : TR_SYSTEM;
}
