/*
 * Removing folders that others have filled: with links, which are not followed, with folders that
 * deny access, whose mode is changed, and with folders within folders without end.
 *
 * A folder is emptied through its own descriptor, entries that are folders by recursion. The
 * recursion is bounded, because each level needs an open descriptor and stack. What lies deeper
 * than DEPTH_MAX is renamed to the top, under a name that is new there, and the top is looked
 * through again. So each entry is handled a few times, whatever its depth.
 *
 * A process may go on to make files meanwhile. A folder is looked through at most PASSES_MAX times
 * for what came anew, then the removal fails with TR_BUSY.
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

/* Folders within each other that are open at once. */
#define DEPTH_MAX 24

/* How often a folder is looked through for what came meanwhile, and how many names are tried. */
#define PASSES_MAX 64

/* One removal: where what lies too deep goes to. */
struct removal {
    int top;
    unsigned brought;
};

static int remove_folder(struct removal *removal, int parent, const char *name, unsigned depth);

/*
 * Gives the owner all rights to an open folder, also to one that is O_PATH, which fchmod refuses.
 * errno stays that of the call that was denied.
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
 * The same for a folder by its name. It is opened first, since chmod by name follows links: who may
 * write to the parent could put one there, and what it leads to would be changed.
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
 * Opens a folder to be emptied. A task may have left one without the right to read, which its owner
 * may change.
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
 * Unlinks; true also where nothing is there any more. Where the parent's mode denies it, the mode
 * is changed and the call repeated. False leaves errno of the last call.
 */
static bool unlink_in(int parent, const char *name, int flags)
{
    if (unlinkat(parent, name, flags) == 0 || errno == ENOENT) {
        return true;
    }
    return errno == EACCES && open_up(parent) && unlinkat(parent, name, flags) == 0;
}

/*
 * Renames a folder. Besides both parents, the kernel wants the folder itself to be writable, since
 * its ".." changes.
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
 * Renames a folder that lies too deep to the top, where the next pass meets it. A name ".deep-N"
 * that the process itself has used makes the rename fail, and the next number is tried.
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
 * Most entries are files, so unlinking comes first and saves a stat. Folders are told by the error:
 * POSIX says EPERM, Linux says EISDIR.
 */
static int remove_entry(struct removal *removal, int parent, const char *name, unsigned depth)
{
    if (unlink_in(parent, name, 0)) {
        return 0;
    }
    /* POSIX says EPERM, Linux says EISDIR. */
    if (errno != EISDIR && errno != EPERM) {
        return tri_below_error();
    }
    return depth < DEPTH_MAX ? remove_folder(removal, parent, name, depth)
                             : bring_up(removal, parent, name);
}

/*
 * Looks through a folder once; takes the descriptor over. `count` is how many entries there were,
 * so a pass with 0 shows that the folder is empty. Removing entries during readdir may skip some;
 * the next pass finds them.
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
            error = remove_entry(removal, fd, entry->d_name, depth);
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
 * Removes a folder with all in it. Each round tries to remove it as an empty one first, which is
 * also how the loop ends.
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

/*
 * A pass that brought something up is no idle one: it has made the tree less deep, so the number of
 * such passes is bounded by the tree.
 */
int tri_below_empty(int folder)
{
    struct removal removal = {.top = folder};
    size_t count = 1;
    unsigned idle_passes = 0; /* that brought nothing up: those who fill it faster would win */
    int error = 0;
    while (idle_passes < PASSES_MAX && error == 0 && count > 0) {
        unsigned before = removal.brought;
        int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) {
            return tri_below_error();
        }
        error = pass(&removal, fd, 0, &count);
        idle_passes = removal.brought != before ? 0 : idle_passes + 1;
    }
    return error == 0 && count > 0 ? TR_BUSY : error;
}

int tri_below_remove(int folder, struct tr_text name)
{
    struct tri_below_place place;
    int error = tri_below_find(folder, name, 0, &place);
    if (error != 0) {
        return error;
    }
    /* The folder itself can be the top: what is brought up there is emptied with it. */
    int fd = open_to_empty(place.folder, place.last);
    if (fd >= 0) {
        error = tri_below_empty(fd);
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
