/*
 * Finds, opens and makes files below a folder, part by part and without following links.
 *
 * Each part is opened with O_NOFOLLOW from the descriptor of the previous one. So a process that
 * renames folders or replaces them by links during the walk cannot lead it out of the folder; at
 * worst the walk fails. One openat of the whole path would follow links in all parts but the last;
 * openat2 (Linux 5.6) does not, and opens the way at once where all of it is there.
 * Folders on the way are O_PATH: passing through needs the right to search, not to read.
 *
 * Errors are those of tri_below_error, and errno stays as the failed call set it.
 */
#include "runtime/blob/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/env/env_limits.h"
#include "schemas/codec/error.h"

#define FOLDER_FLAGS (O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/*
 * The error for errno. A link or a file in the way is TR_NOT_FOUND: ELOOP comes from O_NOFOLLOW,
 * ENOTDIR from O_DIRECTORY. EFBIG (a limit of file size) counts as a full disk.
 */
int tri_below_error(void)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
        return TR_NOT_FOUND;
    case EEXIST:
        return TR_EXISTS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return TR_STORE_FULL;
    case ENOMEM:
        return TR_MEMORY;
    case EMFILE:
    case ENFILE:
    case EAGAIN:
        return TR_BUSY;
    default:
        return TR_SYSTEM;
    }
}

/* ---- Names. --------------------------------------------------------------------------------- */

/* Removes the first part of a name, and the slash after it. */
static struct tr_text take_part(struct tr_text *name)
{
    const char *slash = name->size > 0 ? memchr(name->data, '/', name->size) : NULL;
    struct tr_text part = *name;
    if (slash != NULL) {
        part.size = (size_t)(slash - name->data);
        name->data += part.size + 1;
        name->size -= part.size + 1;
    } else {
        name->data += name->size;
        name->size = 0;
    }
    return part;
}

static int check_part(struct tr_text part)
{
    /* The prefixes of ".." with up to two bytes are "", "." and "..". */
    bool is_dots = part.size <= 2 && memcmp(part.data, "..", part.size) == 0;
    if (part.size == 0 || is_dots || memchr(part.data, 0, part.size) != NULL) {
        return TR_INVALID;
    }
    return part.size > NAME_MAX ? TR_LIMIT : 0;
}

/* A slash at the end is refused here, as take_part would not return the empty part after it. */
int tri_below_check(struct tr_text name)
{
    int error = name.size < TR_PATH_BYTES_MAX ? 0 : TR_LIMIT;
    if (name.size == 0 || name.data[name.size - 1] == '/') {
        return TR_INVALID;
    }
    while (error == 0 && name.size > 0) {
        error = check_part(take_part(&name));
    }
    return error;
}

/* ---- Walking. ------------------------------------------------------------------------------- */

/*
 * Opens one folder, and makes it first if it is missing and there is a mode. EEXIST from mkdir is
 * fine: another thread made it, and if it made a link, the second open refuses it.
 */
static int open_part(int folder, const char *part, int flags, mode_t mode)
{
    int fd = openat(folder, part, flags | FOLDER_FLAGS);
    bool is_made =
        fd < 0 && errno == ENOENT && mode != 0 &&
        (mkdirat(folder, part, mode) == 0 || errno == EEXIST); /* another thread may make it */
    return is_made ? openat(folder, part, flags | FOLDER_FLAGS) : fd;
}

static void put_part(struct tri_below_place *place, struct tr_text part)
{
    memcpy(place->last, part.data, part.size);
    place->last[part.size] = '\0';
}

void tri_below_place_close(struct tri_below_place *place)
{
    if (place->is_own) {
        int number = errno;
        close(place->folder);
        errno = number;
    }
    place->is_own = false;
}

/*
 * Where the way cannot be opened at once it is walked, which makes what is missing and says what is
 * wrong. Each folder on it is closed when the next one is open. The caller's folder is not: the
 * result may refer to it (`is_own` is false then).
 */
/* Takes all parts but the last one, which have folders on the way between them. */
static struct tr_text take_parents(struct tr_text *name)
{
    const char *slash = memrchr(name->data, '/', name->size);
    struct tr_text parents = {.data = name->data};
    if (slash != NULL) {
        parents.size = (size_t)(slash - name->data);
        name->data += parents.size + 1;
        name->size -= parents.size + 1;
    }
    return parents;
}

/* Opens all of the way in one call. -1: a part is missing or a link, or the kernel is old. */
static int open_parents(int folder, struct tr_text parents)
{
    char path[TR_PATH_BYTES_MAX];
    struct open_how how = {.flags = O_PATH | FOLDER_FLAGS, .resolve = RESOLVE_NO_SYMLINKS};
    if (parents.size == 0) {
        return -1;
    }
    memcpy(path, parents.data, parents.size);
    path[parents.size] = '\0';
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

int tri_below_find(int folder, struct tr_text name, mode_t mode, struct tri_below_place *out)
{
    struct tri_below_place place = {.folder = folder};
    int error = tri_below_check(name);
    if (error != 0) {
        return error;
    }
    struct tr_text last = name;
    int parent = open_parents(folder, take_parents(&last));
    if (parent >= 0) {
        place = (struct tri_below_place){.folder = parent, .is_own = true};
        put_part(&place, last);
        *out = place;
        return 0;
    }
    put_part(&place, take_part(&name));
    while (name.size > 0) {
        int fd = open_part(place.folder, place.last, O_PATH, mode);
        tri_below_place_close(&place);
        if (fd < 0) {
            return tri_below_error();
        }
        place.folder = fd;
        place.is_own = true;
        put_part(&place, take_part(&name));
    }
    *out = place;
    return 0;
}

int tri_below_folder(int folder, struct tr_text name, mode_t mode, int *fd)
{
    struct tri_below_place place;
    int error = tri_below_find(folder, name, mode, &place);
    if (error != 0) {
        return error;
    }
    int opened = open_part(place.folder, place.last, O_RDONLY, mode);
    tri_below_place_close(&place);
    if (opened < 0) {
        return tri_below_error();
    }
    *fd = opened;
    return 0;
}

int tri_below_open(int folder, struct tr_text name, int flags, mode_t mode, int *fd)
{
    struct tri_below_place place;
    int error = tri_below_find(folder, name, 0, &place);
    if (error != 0) {
        return error;
    }
    int opened = openat(place.folder, place.last, flags | O_CLOEXEC | O_NOFOLLOW, mode);
    tri_below_place_close(&place);
    if (opened < 0) {
        return tri_below_error();
    }
    *fd = opened;
    return 0;
}

/* ---- Writing. ------------------------------------------------------------------------------- */

int tri_below_write_all(int fd, struct tr_bytes bytes)
{
    while (bytes.size > 0) {
        ssize_t written = write(fd, bytes.data, bytes.size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return tri_below_error();
        }
        bytes.data += written;
        bytes.size -= (size_t)written;
    }
    return 0;
}

/*
 * O_EXCL makes the file new and refuses an existing link, also a dangling one. After an error a
 * part of the file may be there; the caller removes the folder.
 */
int tri_below_write(int folder, struct tr_text name, struct tr_bytes bytes, mode_t mode)
{
    struct tri_below_place place;
    int error = tri_below_find(folder, name, 0700, &place);
    if (error != 0) {
        return error;
    }
    int fd = openat(place.folder, place.last, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    mode);
    tri_below_place_close(&place);
    if (fd < 0) {
        return tri_below_error();
    }
    error = tri_below_write_all(fd, bytes);
    int number = errno;
    close(fd);
    errno = number;
    return error;
}
