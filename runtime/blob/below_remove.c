/*
 * Removing folders that others have filled: with links, which are not followed, with folders that
 * deny us, which are opened up, and with folders within folders without end, of which those too
 * deep for our descriptors are first brought to the top.
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

/* How often a folder is looked through for what came meanwhile. */
#define PASSES_MAX 64

/* One removal: where what lies too deep goes to. */
struct removal {
    int top;
    unsigned brought;
};

static int remove_folder(struct removal *removal, int parent, const char *name, unsigned depth);

/* Opens a folder to be emptied; it is ours, so its mode is no hindrance. */
static int open_to_empty(int parent, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0) {
        fd = openat(parent, name, flags);
    }
    return fd;
}

/* Unlinks; where the folder denies it, it is asked again with another mode. */
static bool unlink_in(int parent, const char *name, int flags)
{
    if (unlinkat(parent, name, flags) == 0 || errno == ENOENT) {
        return true;
    }
    return errno == EACCES && fchmod(parent, 0700) == 0 && unlinkat(parent, name, flags) == 0;
}

/* Moves a folder that lies too deep to the top, where the next pass meets it. */
static int bring_up(struct removal *removal, int parent, const char *name)
{
    for (unsigned tries = 0; tries < PASSES_MAX; tries++) {
        char place[32];
        snprintf(place, sizeof place, ".deep-%u", removal->brought++);
        if (renameat(parent, name, removal->top, place) == 0) {
            return 0;
        }
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) {
            break;
        }
    }
    return tri_below_error();
}

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

/* Looks through a folder once; takes the descriptor over. `count` is how much was there. */
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
        error = unlinkat(place.folder, place.last, 0) == 0 ? 0 : tri_below_error();
    } else {
        error = tri_below_error();
    }
    tri_below_place_close(&place);
    return error;
}
