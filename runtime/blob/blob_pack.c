/*
 * Packing walks a blob, whose files do not change any more; unpacking makes it anew, below one
 * folder: a name is one part of a path, nothing that exists is opened, and a link is not followed.
 */
#include "runtime/blob/blob_pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/blob/blob_limits.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define HEAD "troupe blob 1\n"
#define SIZE_BYTES 8
#define PIECE_BYTES (64U << 10)

/* ---- Packing. ------------------------------------------------------------------------------- */

static int add(const struct tri_pack_sink *sink, const void *data, size_t size)
{
    return sink->add(sink->self, (struct tr_bytes){.data = data, .size = size});
}

/* Adds the beginning of an entry. */
static int add_name(const struct tri_pack_sink *sink, char kind, const char *name)
{
    int error = add(sink, &kind, 1);
    return error != 0 ? error : add(sink, name, strlen(name) + 1);
}

static int add_size(const struct tri_pack_sink *sink, uint64_t size)
{
    uint8_t bytes[SIZE_BYTES];
    for (size_t i = 0; i < SIZE_BYTES; i++) {
        bytes[i] = (uint8_t)(size >> 8 * i);
    }
    return add(sink, bytes, sizeof bytes);
}

int tri_blob_pack_plain(int descriptor, const struct tri_pack_sink *sink)
{
    uint8_t *piece = tr_alloc(PIECE_BYTES);
    int error = piece == NULL ? TR_MEMORY : 0;
    ssize_t found = 1;
    while (error == 0 && found != 0) {
        found = read(descriptor, piece, PIECE_BYTES);
        if (found < 0 && errno != EINTR) {
            error = TR_SYSTEM;
        } else if (found > 0) {
            error = add(sink, piece, (size_t)found);
        }
    }
    tr_free(piece);
    return error;
}

static int pack_file(const struct tri_pack_sink *sink, int fd, const char *name,
                     const struct stat *status)
{
    int error = add_name(sink, (status->st_mode & 0111) != 0 ? 'x' : 'f', name);
    if (error == 0) {
        error = add_size(sink, (uint64_t)status->st_size);
    }
    return error != 0 ? error : tri_blob_pack_plain(fd, sink);
}

static int pack_link(const struct tri_pack_sink *sink, int folder, const char *entry,
                     const char *name)
{
    char target[PATH_MAX];
    ssize_t size = readlinkat(folder, entry, target, sizeof target);
    int error = size < 0 ? TR_SYSTEM : add_name(sink, 'l', name);
    if (error == 0) {
        error = add_size(sink, (uint64_t)size);
    }
    return error != 0 ? error : add(sink, target, (size_t)size);
}

static int pack_entry(const struct tri_pack_sink *sink, int folder, const char *entry,
                      const char *name);

static int pack_folder(const struct tri_pack_sink *sink, int fd, const char *name)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    if (folder == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return TR_SYSTEM;
    }
    int error = add_name(sink, 'd', name);
    while (error == 0 && (errno = 0, entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            error = pack_entry(sink, fd, entry->d_name, entry->d_name);
        }
    }
    if (error == 0 && errno != 0) {
        error = TR_SYSTEM;
    }
    closedir(folder);
    return error != 0 ? error : add(sink, "e", 1);
}

/* `name` is what the pack has for it. A blob holds nothing but files, folders and links. */
static int pack_entry(const struct tri_pack_sink *sink, int folder, const char *entry,
                      const char *name)
{
    struct stat status;
    if (fstatat(folder, entry, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return tri_below_error();
    }
    if (S_ISLNK(status.st_mode)) {
        return pack_link(sink, folder, entry, name);
    }
    int fd = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return tri_below_error();
    }
    int error =
        S_ISDIR(status.st_mode) ? pack_folder(sink, fd, name) : pack_file(sink, fd, name, &status);
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

int tri_blob_pack(int folder, const char *name, const struct tri_pack_sink *sink)
{
    int error = add(sink, HEAD, strlen(HEAD));
    return error != 0 ? error : pack_entry(sink, folder, name, "");
}

bool tri_blob_pack_is(int descriptor)
{
    char head[sizeof HEAD - 1];
    return pread(descriptor, head, sizeof head, 0) == (ssize_t)sizeof head &&
           memcmp(head, HEAD, sizeof head) == 0;
}

/* ---- Unpacking. ----------------------------------------------------------------------------- */

/* An entry that was begun. */
struct entry {
    char kind;
    char name[NAME_MAX + 1];
    uint64_t size; /* of what is no folder */
};

static int malformed(FILE *file)
{
    return ferror(file) != 0 ? TR_SYSTEM : TR_MALFORMED;
}

static int read_name(FILE *file, char name[NAME_MAX + 1])
{
    size_t size = 0;
    int c;
    while ((c = getc(file)) != EOF && c != '\0' && size < NAME_MAX) {
        name[size++] = (char)c;
    }
    name[size] = '\0';
    return c == '\0' ? 0 : malformed(file);
}

/* Reads the beginning of an entry; the end of a folder is an entry of kind 'e'. */
static int read_entry(FILE *file, struct entry *entry)
{
    uint8_t bytes[SIZE_BYTES];
    int kind = getc(file);
    entry->kind = (char)kind;
    if (kind == EOF || strchr("fxlde", kind) == NULL || kind == '\0') {
        return malformed(file);
    }
    if (kind == 'e') {
        return 0;
    }
    int error = read_name(file, entry->name);
    if (error != 0 || kind == 'd') {
        return error;
    }
    if (fread(bytes, 1, sizeof bytes, file) != sizeof bytes) {
        return malformed(file);
    }
    entry->size = 0;
    for (size_t i = 0; i < SIZE_BYTES; i++) {
        entry->size |= (uint64_t)bytes[i] << 8 * i;
    }
    return 0;
}

static int copy_bytes(FILE *file, int fd, uint64_t size)
{
    uint8_t piece[4096];
    int error = 0;
    while (error == 0 && size > 0) {
        size_t wanted = size < sizeof piece ? (size_t)size : sizeof piece;
        size_t found = fread(piece, 1, wanted, file);
        error = found < wanted ? malformed(file)
                               : tri_below_write_all(fd, (struct tr_bytes){piece, found});
        size -= found;
    }
    return error;
}

static int make_file(FILE *file, const struct entry *entry, int folder, const char *name)
{
    mode_t mode = entry->kind == 'x' ? 0700 : 0600;
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0) {
        return errno == EEXIST ? TR_MALFORMED : tri_below_error();
    }
    int error = copy_bytes(file, fd, entry->size);
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

static int make_link(FILE *file, const struct entry *entry, int folder, const char *name)
{
    char target[PATH_MAX];
    if (entry->size == 0 || entry->size >= sizeof target ||
        fread(target, 1, (size_t)entry->size, file) != entry->size ||
        memchr(target, '\0', (size_t)entry->size) != NULL) {
        return malformed(file);
    }
    target[entry->size] = '\0';
    if (symlinkat(target, folder, name) != 0) {
        return errno == EEXIST ? TR_MALFORMED : tri_below_error();
    }
    return 0;
}

static int make_entry(FILE *file, const struct entry *entry, int folder, const char *name,
                      unsigned depth);

static int make_folder(FILE *file, int folder, const char *name, unsigned depth)
{
    if (depth > TR_BLOB_DEPTH_MAX) {
        return TR_LIMIT;
    }
    if (mkdirat(folder, name, 0700) != 0) {
        return errno == EEXIST ? TR_MALFORMED : tri_below_error();
    }
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return tri_below_error();
    }
    struct entry entry;
    int error;
    while ((error = read_entry(file, &entry)) == 0 && entry.kind != 'e') {
        bool is_name = tri_below_check(tr_text_of(entry.name)) == 0 && //
                       strchr(entry.name, '/') == NULL;
        error = is_name ? make_entry(file, &entry, fd, entry.name, depth + 1) : TR_MALFORMED;
        if (error != 0) {
            break;
        }
    }
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

static int make_entry(FILE *file, const struct entry *entry, int folder, const char *name,
                      unsigned depth)
{
    switch (entry->kind) {
    case 'd':
        return make_folder(file, folder, name, depth);
    case 'l':
        return make_link(file, entry, folder, name);
    case 'e':
        return TR_MALFORMED;
    default:
        return make_file(file, entry, folder, name);
    }
}

static int unpack(FILE *file, int folder, const char *name)
{
    char head[sizeof HEAD - 1];
    struct entry entry;
    if (fread(head, 1, sizeof head, file) != sizeof head || memcmp(head, HEAD, sizeof head) != 0) {
        return malformed(file);
    }
    int error = read_entry(file, &entry);
    if (error == 0) {
        bool is_first = entry.kind != 'e' && entry.kind != 'l' && entry.name[0] == '\0';
        error = is_first ? make_entry(file, &entry, folder, name, 0) : TR_MALFORMED;
    }
    return error == 0 && getc(file) != EOF ? TR_MALFORMED : error;
}

int tri_blob_unpack(int descriptor, int folder, const char *name)
{
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    FILE *file = copy < 0 || lseek(copy, 0, SEEK_SET) != 0 ? NULL : fdopen(copy, "r");
    if (file == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return TR_SYSTEM;
    }
    int error = unpack(file, folder, name);
    int number = errno;
    (void)fclose(file); /* it was read only */
    errno = number;
    return error;
}
