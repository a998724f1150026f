/*
 * Removes folders with arbitrary contents: with links, which are not followed, with folders that
 * deny access, whose mode is changed, and with unlimited nesting.
 *
 * A folder is emptied through its own descriptor, subfolders by recursion. The recursion is
 * bounded, because each level needs an open descriptor and stack. A folder deeper than DEPTH_MAX is
 * renamed to the top, under an unused name, and the top is listed again. So each entry is handled a
 * few times, whatever its depth.
 *
 * A process may continue to make files meanwhile. A folder is listed at most PASSES_MAX times for
 * new entries, then the removal fails with TR_BUSY.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "schemas/codec/error.h"

/* Nested folders that are open at once. */
#define DEPTH_MAX 24

/* How often a folder is listed for new entries, and how many names are tried. */
#define PASSES_MAX 64

/* One removal: the folder to which deep folders are moved. */
struct removal {
    int top;
    unsigned brought;
};

static int remove_folder(struct removal *removal, int parent, const char *name, unsigned depth);

/*
 * Gives the owner all rights to an open folder, also to one that is O_PATH, which fchmod refuses.
 * errno stays that of the denied call.
 */
static bool open_up(int fd)
{
    char path[32];
    int number = errno;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool is_open = chmod(path, 0700) == 0;
    errno = number;
    return is_open;
}

/*
 * The same for a folder by its name. It is opened first, since chmod by name follows links: a
 * process that may write to the parent could put one there, and its target would be changed.
 */
static bool open_up_at(int parent, const char *name)
{
    int number = errno;
    int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool is_open = fd >= 0 && open_up(fd);
    if (fd >= 0) {
        close(fd);
    }
    errno = number;
    return is_open;
}

/*
 * Opens a folder to be emptied. A task may have left one without the right to read, which the owner
 * can change.
 */
static int open_to_empty(int parent, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && open_up_at(parent, name)) {
        fd = openat(parent, name, flags);
    }
    return fd;
}

/*
 * Unlinks; true also if it does not exist. If the parent's mode denies it, the mode is changed and
 * the call repeated. False leaves errno of the last call.
 */
static bool unlink_in(int parent, const char *name, int flags)
{
    if (unlinkat(parent, name, flags) == 0 || errno == ENOENT) {
        return true;
    }
    return errno == EACCES && open_up(parent) && unlinkat(parent, name, flags) == 0;
}

/*
 * Renames a folder. Besides both parents, the folder itself must be writable, since its ".."
 * changes.
 */
static bool rename_folder(int parent, const char *name, int top, const char *place)
{
    if (renameat(parent, name, top, place) == 0) {
        return true;
    }
    return errno == EACCES && open_up(parent) && open_up(top) && open_up_at(parent, name) &&
           renameat(parent, name, top, place) == 0;
}

/*
 * Renames a deep folder to the top, where the next pass finds it. If a process has used a name
 * ".deep-N", the rename fails, and the next number is tried.
 */
static int bring_up(struct removal *removal, int parent, const char *name)
{
    for (unsigned tries = 0; tries < PASSES_MAX; tries++) {
        char place[32];
        snprintf(place, sizeof place, ".deep-%u", removal->brought++);
        if (rename_folder(parent, name, removal->top, place)) {
            return 0;
        }
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) {
            break;
        }
    }
    return tri_below_error();
}

/*
 * Unlinking comes first and saves a stat, unless the listing says that it is a folder. Others are
 * recognized by the error: POSIX says EPERM, Linux says EISDIR.
 */
static int remove_entry(struct removal *removal, int parent, const struct dirent *entry,
                        unsigned depth)
{
    const char *name = entry->d_name;
    if (entry->d_type != DT_DIR) {
        if (unlink_in(parent, name, 0)) {
            return 0;
        }
        if (errno != EISDIR && errno != EPERM) {
            return tri_below_error();
        }
    }
    return depth < DEPTH_MAX ? remove_folder(removal, parent, name, depth)
                             : bring_up(removal, parent, name);
}

/*
 * Handles a folder's entries once; closes the descriptor. `count` is the number of entries, so 0
 * means that the folder is empty. Removing entries during readdir may skip some; the next pass
 * finds them.
 */
static int pass(struct removal *removal, int fd, unsigned depth, size_t *count)
{
    DIR *folder = fdopendir(fd);
    int error = 0;
    *count = 0;
    if (folder == NULL) {
        error = tri_below_error();
        close(fd);
        return error;
    }
    const struct dirent *entry;
    while (error == 0 && (errno = 0, entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            error = remove_entry(removal, fd, entry, depth);
            (*count)++;
        }
    }
    if (error == 0 && entry == NULL && errno != 0) {
        error = tri_below_error();
    }
    int number = errno;
    closedir(folder);
    errno = number;
    return error;
}

/*
 * Removes a folder with its contents. Each round first tries to remove it as an empty one, which
 * also ends the loop.
 */
static int remove_folder(struct removal *removal, int parent, const char *name, unsigned depth)
{
    for (unsigned passes = 0; passes < PASSES_MAX; passes++) {
        size_t count;
        if (unlink_in(parent, name, AT_REMOVEDIR)) {
            return 0;
        }
        if (errno != ENOTEMPTY && errno != EEXIST) {
            return tri_below_error();
        }
        int fd = open_to_empty(parent, name);
        if (fd < 0) {
            return tri_below_error();
        }
        int error = pass(removal, fd, depth + 1, &count);
        if (error != 0) {
            return error;
        }
    }
    return TR_BUSY;
}

static bool remove_empty(const struct tri_below_place *place)
{
    return unlinkat(place->folder, place->last, AT_REMOVEDIR) == 0;
}

/*
 * Empties a folder, and removes it from its place, unless that is NULL: this is a quicker way to
 * see that nothing is left than one more pass.
 *
 * A pass that moved a folder to the top is no idle one: it has reduced the depth of the tree, so
 * the number of such passes is bounded.
 */
static int empty(int folder, const struct tri_below_place *place)
{
    struct removal removal = {.top = folder};
    bool is_left = true;
    unsigned idle_passes =
        0; /* that moved nothing; bounds them against processes that keep adding files */
    int error = 0;
    while (idle_passes < PASSES_MAX && error == 0 && is_left) {
        unsigned before = removal.brought;
        size_t count;
        int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            return tri_below_error();
        }
        error = pass(&removal, fd, 0, &count);
        idle_passes = removal.brought != before ? 0 : idle_passes + 1;
        is_left = count > 0 && !(error == 0 && place != NULL && remove_empty(place));
    }
    return error == 0 && is_left ? TR_BUSY : error;
}

int tri_below_empty(int folder)
{
    return empty(folder, NULL);
}

int tri_below_remove(int folder, struct tr_text name)
{
    struct tri_below_place place;
    int error = tri_below_find(folder, name, 0, &place);
    if (error != 0) {
        return error;
    }
    if (remove_empty(&place)) {
        tri_below_place_close(&place);
        return 0;
    }
    /* The folder itself can be the top: folders moved there are emptied with it. */
    int fd = open_to_empty(place.folder, place.last);
    if (fd >= 0) {
        error = empty(fd, &place);
        close(fd);
        bool is_removed = error != 0 || unlink_in(place.folder, place.last, AT_REMOVEDIR);
        error = is_removed ? error : tri_below_error();
    } else if (errno == ENOTDIR || errno == ELOOP) {
        error = unlink_in(place.folder, place.last, 0) ? 0 : tri_below_error();
    } else {
        error = tri_below_error();
    }
    tri_below_place_close(&place);
    return error;
}
