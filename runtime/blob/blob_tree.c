/*
 * Walks files and folders: digests their content, and copies it, holes as holes.
 *
 * The digest of a folder is taken over the list of its entries, which hold the digests of their
 * contents, as in a tree of git. Names are sorted by their bytes, so the same folder has the same
 * digest everywhere, whatever order readdir returns. Owners and times do not count.
 *
 * The digested bytes are those written to the copy, piece by piece, so a file that changes
 * meanwhile still gets a copy that matches its digest. Only files, folders and links that stay
 * inside are accepted; other entries are refused with their names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "runtime/blob/holes.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/*
 * First line of the list that a folder's digest is taken over; another format gets another number.
 */
#define LIST_HEAD "troupe folder 1\n"

#define MODE_FILE 0444
#define MODE_PROGRAM 0555
#define MODE_FOLDER 0755

/* One walk. */
struct walk {
    struct tri_blobs *blobs;
    uint64_t size;
    bool is_fenced;
    bool is_sealed;
    char path[TR_PATH_BYTES_MAX]; /* current position, for words */
};

static int explain(struct walk *walk, int error)
{
    return tri_blob_explain(walk->blobs, error, walk->path);
}

/* ---- Files. --------------------------------------------------------------------------------- */

/* A file that is being digested, and copied. `at` is the offset in both files. */
struct digesting {
    struct tri_blobs *blobs;
    int fd;
    int copy; /* negative: none */
    crypto_hash_sha256_state state;
    uint64_t at;
    uint64_t unsynced; /* of the copy */
};

/* Adds bytes to the digest. */
static void add_bytes(struct digesting *digesting, const uint8_t *data, size_t size)
{
    crypto_hash_sha256_update(&digesting->state, data, size);
    digesting->at += size;
}

/* Size of the next piece before `end`: at most the buffer. */
static size_t piece_before(const struct digesting *digesting, uint64_t end)
{
    uint64_t left = end - digesting->at;
    return left < TRI_BLOB_COPY_BYTES ? (size_t)left : TRI_BLOB_COPY_BYTES;
}

/* Yields between two pieces; a stop ends the walk with TR_CLOSED. */
static int take_turn(const struct digesting *digesting)
{
    const struct tri_blobs *blobs = digesting->blobs;
    bool is_stopping = atomic_load_explicit(blobs->is_stopping, memory_order_relaxed);
    return is_stopping ? TR_CLOSED : tr_turn_take(blobs->turn);
}

/*
 * A hole counts as zeroes, so that the digest does not depend on how a file is stored. The copy
 * gets a hole by seeking over it (add_content).
 */
static int add_hole(struct digesting *digesting, uint64_t end)
{
    static const uint8_t zeroes[TRI_BLOB_COPY_BYTES];
    while (digesting->at < end) {
        int error = take_turn(digesting);
        if (error != 0) {
            return error;
        }
        add_bytes(digesting, zeroes, piece_before(digesting, end));
    }
    return 0;
}

/*
 * Long copies are synced in between: one fsync of many gigabytes at the end would delay all other
 * syncs on this file system.
 */
static int write_piece(struct digesting *digesting, struct tr_bytes piece)
{
    int error = tri_below_write_all(digesting->copy, piece);
    digesting->unsynced += piece.size;
    if (error == 0 && digesting->unsynced > TR_BLOB_UNSYNCED_BYTES_MAX) {
        digesting->unsynced = 0;
        error = fdatasync(digesting->copy) == 0 ? 0 : tri_below_error();
    }
    return error;
}

/* Adds data up to an offset; `is_over` if the file ends before. */
static int add_data(struct digesting *digesting, uint64_t end, bool *is_over)
{
    uint8_t *bytes = digesting->blobs->copy;
    while (digesting->at < end) {
        int error = take_turn(digesting);
        if (error != 0) {
            return error;
        }
        ssize_t found =
            pread(digesting->fd, bytes, piece_before(digesting, end), (off_t)digesting->at);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found <= 0) {
            *is_over = true;
            return found == 0 ? 0 : TR_SYSTEM;
        }
        struct tr_bytes piece = {.data = bytes, .size = (size_t)found};
        error = digesting->copy >= 0 ? write_piece(digesting, piece) : 0;
        if (error != 0) {
            return error;
        }
        add_bytes(digesting, piece.data, piece.size);
    }
    return 0;
}

/* Adds holes and data up to the current end of the file. */
static int add_content(struct digesting *digesting)
{
    struct tri_range data;
    bool is_over = false;
    while (!is_over) {
        int error = tri_holes_next_data(digesting->fd, digesting->at, &data);
        if (error == 0) {
            error = add_hole(digesting, data.begin);
        }
        if (error == 0 && digesting->copy >= 0 &&
            lseek(digesting->copy, (off_t)digesting->at, SEEK_SET) < 0) {
            error = TR_SYSTEM;
        }
        bool is_last = data.begin == data.end; /* only reading shows whether that is the end */
        if (error != 0) {
            return error;
        }
        error = add_data(digesting, is_last ? INT64_MAX : data.end, &is_over);
        if (error != 0) {
            return error;
        }
    }
    /* A hole at the end is followed by no data that would extend the copy to the source's size. */
    bool is_whole = digesting->copy < 0 || ftruncate(digesting->copy, (off_t)digesting->at) == 0;
    return is_whole ? 0 : tri_below_error();
}

int tri_blob_digest_file(struct tri_blobs *blobs, int fd, int copy, const char *what,
                         struct tri_blob *blob)
{
    struct digesting digesting = {.blobs = blobs, .fd = fd, .copy = copy};
    crypto_hash_sha256_init(&digesting.state);
    int error = add_content(&digesting);
    if (error != 0) {
        return tri_blob_explain(blobs, error, what);
    }
    crypto_hash_sha256_final(&digesting.state, blob->digest);
    blob->size = digesting.at;
    return 0;
}

static bool is_program(const struct stat *status)
{
    return (status->st_mode & 0111) != 0;
}

/* The copy's mode: permissions that the source denies to others stay denied. */
static mode_t mode_of_copy(mode_t mode, const struct stat *source)
{
    return mode & (source->st_mode | S_IRWXU);
}

/* Sets the mode of a finished file or folder, and syncs it. */
static int seal(struct walk *walk, int fd, mode_t mode)
{
    return fchmod(fd, mode) == 0 && fsync(fd) == 0 ? 0 : explain(walk, tri_below_error());
}

/* Digests an open file, and copies it to `name` in `folder` unless that is negative. */
static int walk_file(struct walk *walk, int fd, const struct stat *status, int folder,
                     const char *name, uint8_t *digest)
{
    struct tri_blob blob;
    int copy = -1;
    if (folder >= 0) {
        copy = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (copy < 0) {
            return explain(walk, tri_below_error());
        }
    }
    int error = tri_blob_digest_file(walk->blobs, fd, copy, walk->path, &blob);
    mode_t mode = is_program(status) ? MODE_PROGRAM : MODE_FILE;
    if (error == 0) {
        error = walk->is_sealed ? seal(walk, fd, mode)
                : copy >= 0     ? seal(walk, copy, mode_of_copy(mode, status))
                                : 0;
    }
    if (copy >= 0) {
        close(copy);
    }
    if (error == 0) {
        memcpy(digest, blob.digest, sizeof blob.digest);
        walk->size += blob.size;
    }
    return error;
}

/* ---- Links. --------------------------------------------------------------------------------- */

/*
 * Whether a link in a folder `depth` levels below the top leads below the top, by its text. Within
 * a fence `..` may only come first: a name in the target may be a link itself, and a `..` after it
 * leads to another folder than the text says.
 */
static bool stays_inside(const struct walk *walk, const char *target, unsigned depth)
{
    long level = (long)depth;
    bool may_climb = true;
    if (target[0] == '/' || target[0] == '\0') {
        return false;
    }
    for (const char *part = target; part != NULL && level >= 0;) {
        size_t size = strcspn(part, "/");
        if (size == 2 && memcmp(part, "..", 2) == 0) {
            level = may_climb ? level - 1 : -1;
        } else if (size > 0 && !(size == 1 && part[0] == '.')) {
            level++;
            may_climb = !walk->is_fenced;
        }
        part = part[size] == '/' ? part + size + 1 : NULL;
    }
    return level >= 0;
}

static int walk_link(struct walk *walk, int parent, const char *name, unsigned depth, int folder,
                     uint8_t *digest)
{
    char target[TR_PATH_BYTES_MAX];
    ssize_t size = readlinkat(parent, name, target, sizeof target - 1);
    if (size < 0) {
        return explain(walk, tri_below_error());
    }
    target[size] = '\0';
    if (!stays_inside(walk, target, depth)) {
        return tri_blob_refuse(walk->blobs, TR_INVALID, walk->path,
                               "a link that leads out of the folder cannot be stored");
    }
    if (folder >= 0 && symlinkat(target, folder, name) != 0) {
        return explain(walk, tri_below_error());
    }
    crypto_hash_sha256(digest, (const uint8_t *)target, (size_t)size);
    return 0;
}

/* ---- Folders. ------------------------------------------------------------------------------- */

/* The names in a folder, sorted by their bytes. */
struct names {
    char **names;
    size_t count;
    size_t capacity;
};

static void names_fini(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        tr_free(names->names[i]);
    }
    tr_free(names->names);
}

static int names_add(struct names *names, const char *name)
{
    if (names->count == TR_BLOB_ENTRIES_MAX) {
        return TR_LIMIT;
    }
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 64 : 2 * names->capacity;
        char **grown = tr_realloc(names->names, capacity * sizeof *grown);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        names->names = grown;
        names->capacity = capacity;
    }
    char *copy = tr_text_copy(tr_text_of(name));
    if (copy == NULL) {
        return TR_MEMORY;
    }
    names->names[names->count++] = copy;
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(int fd, struct names *names)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        int error = tri_below_error();
        if (copy >= 0) {
            close(copy);
        }
        return error;
    }
    const struct dirent *entry;
    int error = 0;
    while (error == 0 && (errno = 0, entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            error = names_add(names, entry->d_name);
        }
    }
    if (error == 0 && errno != 0) {
        error = TR_SYSTEM;
    }
    closedir(folder);
    if (names->count > 0) {
        qsort(names->names, names->count, sizeof *names->names, compare);
    }
    return error;
}

static int walk_folder(struct walk *walk, int fd, unsigned depth, int folder, const char *name,
                       uint8_t *digest);

/*
 * Handles a file or a folder. It may have been replaced since fstatat, so its kind is decided by
 * fstat on the descriptor; O_NONBLOCK keeps a pipe from blocking the open.
 */
static int walk_open(struct walk *walk, int parent, const char *name, unsigned depth, int folder,
                     char *kind, uint8_t *digest)
{
    struct stat status;
    int fd = openat(parent, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return explain(walk, tri_below_error());
    }
    int error;
    if (fstat(fd, &status) != 0) {
        error = explain(walk, TR_SYSTEM);
    } else if (S_ISREG(status.st_mode)) {
        *kind = is_program(&status) ? 'x' : 'f';
        error = walk_file(walk, fd, &status, folder, name, digest);
    } else if (S_ISDIR(status.st_mode)) {
        *kind = 'd';
        error = walk_folder(walk, fd, depth + 1, folder, name, digest);
    } else {
        error = tri_blob_refuse(walk->blobs, TR_INVALID, walk->path,
                                "it is neither a file nor a folder");
    }
    close(fd);
    return error;
}

static int walk_entry(struct walk *walk, int parent, const char *name, unsigned depth, int folder,
                      crypto_hash_sha256_state *list)
{
    struct stat status;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    char kind = 'l';
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return explain(walk, tri_below_error());
    }
    bool may_open = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
    int error;
    if (S_ISLNK(status.st_mode)) {
        error = walk_link(walk, parent, name, depth, folder, digest);
    } else if (may_open) {
        error = walk_open(walk, parent, name, depth, folder, &kind, digest);
    } else {
        error = tri_blob_refuse(walk->blobs, TR_INVALID, walk->path,
                                "it is neither a file nor a folder");
    }
    if (error == 0) {
        crypto_hash_sha256_update(list, (const uint8_t *)&kind, 1);
        crypto_hash_sha256_update(list, digest, sizeof digest);
        crypto_hash_sha256_update(list, (const uint8_t *)name, strlen(name) + 1);
    }
    return error;
}

/*
 * Handles all entries in order. `copy` is the folder they are copied to, or negative. walk->path
 * follows the descent and is for words only.
 */
static int walk_entries(struct walk *walk, int fd, unsigned depth, int copy, uint8_t *digest)
{
    crypto_hash_sha256_state list;
    struct names names = {0};
    size_t size = strlen(walk->path);
    int error = list_names(fd, &names);
    if (error != 0) {
        error = explain(walk, error);
    }
    crypto_hash_sha256_init(&list);
    crypto_hash_sha256_update(&list, (const uint8_t *)LIST_HEAD, strlen(LIST_HEAD));
    for (size_t i = 0; i < names.count && error == 0; i++) {
        snprintf(walk->path + size, sizeof walk->path - size, "/%s", names.names[i]);
        error = walk_entry(walk, fd, names.names[i], depth, copy, &list);
        walk->path[size] = '\0';
    }
    names_fini(&names);
    crypto_hash_sha256_final(&list, digest);
    return error;
}

static int walk_folder(struct walk *walk, int fd, unsigned depth, int folder, const char *name,
                       uint8_t *digest)
{
    int copy = -1;
    struct stat source;
    if (depth > TR_BLOB_DEPTH_MAX) {
        return tri_blob_refuse(walk->blobs, TR_LIMIT, walk->path,
                               "folders lie too deep within each other");
    }
    if (folder >= 0) {
        if (fstat(fd, &source) != 0 ||
            mkdirat(folder, name, mode_of_copy(MODE_FOLDER, &source)) != 0 ||
            (copy = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) < 0) {
            return explain(walk, tri_below_error());
        }
    }
    int error = walk_entries(walk, fd, depth, copy, digest);
    if (error == 0 && walk->is_sealed) {
        error = seal(walk, fd, MODE_FOLDER);
    }
    if (error == 0 && copy >= 0 && fsync(copy) != 0) {
        error = explain(walk, tri_below_error());
    }
    if (copy >= 0) {
        close(copy);
    }
    return error;
}

int tri_blob_walk(struct tri_blobs *blobs, const struct tri_blob_source *source, const char *name,
                  struct tri_blob *blob)
{
    struct walk walk = {
        .blobs = blobs, .is_fenced = source->is_fenced, .is_sealed = source->is_sealed};
    struct stat status = {.st_mode = 0};
    int folder = name != NULL ? blobs->fresh : -1;
    snprintf(walk.path, sizeof walk.path, "%s", source->path);
    int error;
    if (fstat(source->fd, &status) == 0 && S_ISREG(status.st_mode)) {
        error = walk_file(&walk, source->fd, &status, folder, name, blob->digest);
    } else if (S_ISDIR(status.st_mode)) {
        error = walk_folder(&walk, source->fd, 0, folder, name, blob->digest);
    } else {
        error =
            tri_blob_refuse(blobs, TR_INVALID, source->path, "it is neither a file nor a folder");
    }
    blob->size = walk.size;
    blob->is_directory = S_ISDIR(status.st_mode);
    return error;
}
