/*
 * Writes values, whole or in pieces, and documents.
 *
 * Pieces are collected in blobs/.pieces/NAME, each synced before the call returns, so that after a
 * crash the writer continues where it was. A value is complete when its file is read-only: the mode
 * is a mark that survives a crash. It is linked among the blobs under a second name; the first one
 * stays until it is swept, so that a repeated last piece finds its result and gives the same blob.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "schemas/codec/error.h"

#define MODE_OPEN 0600
#define MODE_BLOB 0444

/* Writes all bytes at an offset. */
static bool write_at(int fd, struct tr_bytes bytes, uint64_t offset)
{
    while (bytes.size > 0) {
        ssize_t written = pwrite(fd, bytes.data, bytes.size, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return false;
        }
        bytes.data += written;
        offset += (uint64_t)written;
        bytes.size -= (size_t)written;
    }
    return true;
}

/* ---- Whole at once. ------------------------------------------------------------------------- */

/* Writes a new file, synced. No reader knows its name before it is renamed. */
static int write_new(int folder, const char *name, struct tr_bytes bytes, mode_t mode)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE_OPEN);
    if (fd < 0) {
        return tri_below_error();
    }
    int error = tri_below_write_all(fd, bytes);
    if (error == 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0)) {
        error = tri_below_error();
    }
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

/* Writes a value of one piece, which needs no file in .pieces. */
static int write_whole(struct tri_blobs *blobs, const char *shown, struct tr_bytes bytes,
                       struct tri_blob *blob)
{
    static const uint8_t nothing[1];
    const struct tr_text none = {.data = "", .size = 0};
    char name[32];
    tri_blob_new_name(blobs, name);
    crypto_hash_sha256(blob->digest, bytes.size > 0 ? bytes.data : nothing, bytes.size);
    blob->size = bytes.size;
    int error = write_new(blobs->fresh, name, bytes, MODE_BLOB);
    if (error != 0) {
        error = tri_blob_explain(blobs, error, shown);
        goto remove;
    }
    error = tri_blob_publish(blobs, blobs->fresh, name, none, false, blob);
    if (error == 0) {
        return 0;
    }
remove:
    (void)unlinkat(blobs->fresh, name, 0); /* otherwise the next start removes it */
    return error;
}

/* ---- Written by others. --------------------------------------------------------------------- */

int tri_blob_begin(struct tri_blobs *blobs, char name[32], int *fd)
{
    tri_blob_new_name(blobs, name);
    int opened = openat(blobs->fresh, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE_OPEN);
    if (opened < 0) {
        return tri_blob_explain(blobs, tri_below_error(), blobs->path);
    }
    *fd = opened;
    return 0;
}

/*
 * Digests it, makes it read-only and syncs it before it gets its name: a name always has its whole
 * value.
 */
static int adopt(struct tri_blobs *blobs, const char *name, int fd, struct tr_text hint,
                 struct tri_blob *blob)
{
    int error = tri_blob_digest_file(blobs, fd, -1, name, blob);
    if (error == 0 && (fchmod(fd, MODE_BLOB) != 0 || fsync(fd) != 0)) {
        error = tri_blob_explain(blobs, tri_below_error(), name);
    }
    return error != 0 ? error : tri_blob_publish(blobs, blobs->fresh, name, hint, false, blob);
}

int tri_blob_adopt(struct tri_blobs *blobs, const char *name, struct tr_text hint,
                   struct tri_blob *out)
{
    struct tri_blob blob = {.size = 0};
    int fd = openat(blobs->fresh, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int error = fd < 0 ? tri_blob_explain(blobs, tri_below_error(), name)
                       : adopt(blobs, name, fd, hint, &blob);
    if (fd >= 0) {
        close(fd);
    }
    if (error != 0) {
        tri_blob_discard(blobs, name);
        return error;
    }
    *out = blob;
    return 0;
}

void tri_blob_discard(struct tri_blobs *blobs, const char *name)
{
    (void)unlinkat(blobs->fresh, name, 0); /* otherwise the next start removes it */
}

/* ---- Pieces. -------------------------------------------------------------------------------- */

/* A piece that is being written. */
struct piece {
    struct tri_blobs *blobs;
    struct tri_below_place place;
    int fd;
    char name[TR_BLOB_WORDS_BYTES_MAX / 2]; /* for words */
    uint64_t offset;
    struct tr_bytes bytes;
};

static int explain(const struct piece *piece, int error)
{
    return tri_blob_explain(piece->blobs, error, piece->name);
}

/*
 * Digests the value, marks it as complete, and links it among the blobs. Each step can be repeated,
 * since after a crash in between the last piece is repeated. The digest is computed from the file,
 * because earlier pieces were written by other calls, perhaps of an earlier engine.
 */
static int finish(struct piece *piece, uint64_t size, struct tri_blob *blob)
{
    const struct tr_text none = {.data = "", .size = 0};
    if (lseek(piece->fd, 0, SEEK_SET) != 0) {
        return explain(piece, TR_SYSTEM);
    }
    int error = tri_blob_digest_file(piece->blobs, piece->fd, -1, piece->name, blob);
    if (error != 0) {
        return error;
    }
    if (blob->size != size) {
        return tri_blob_refuse(piece->blobs, TR_INVALID, piece->name,
                               "it was finished with another size before");
    }
    if (fchmod(piece->fd, MODE_BLOB) != 0 || fsync(piece->fd) != 0) {
        return explain(piece, tri_below_error());
    }
    return tri_blob_publish(piece->blobs, piece->place.folder, piece->place.last, none, true, blob);
}

/*
 * Writes the piece and syncs it, unless the value is complete already. A repeated piece overwrites
 * the same bytes. The last one also cuts off bytes that an earlier try has written behind it.
 */
static int write_piece(struct piece *piece, bool is_last, struct tri_blob *blob)
{
    struct stat status;
    if (fstat(piece->fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return explain(piece, TR_SYSTEM);
    }
    uint64_t end = piece->offset + piece->bytes.size;
    bool is_whole = (status.st_mode & 0200) == 0;
    if (!is_whole && (uint64_t)status.st_size < piece->offset) {
        return tri_blob_refuse(piece->blobs, TR_INVALID, piece->name,
                               "pieces before this one are missing");
    }
    if (!is_whole) {
        bool is_written = write_at(piece->fd, piece->bytes, piece->offset) &&
                          (!is_last || ftruncate(piece->fd, (off_t)end) == 0) &&
                          fdatasync(piece->fd) == 0;
        if (!is_written) {
            return explain(piece, tri_below_error());
        }
    }
    if (is_last) {
        return finish(piece, end, blob);
    }
    blob->size = end;
    return 0;
}

/* Opens the file of a value; only its first piece creates it. */
static int open_pieces(struct piece *piece)
{
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    piece->fd = openat(piece->place.folder, piece->place.last,
                       O_RDWR | (piece->offset == 0 ? O_CREAT : 0) | flags, MODE_OPEN);
    /* The value is complete and read-only; it is opened to be digested again. */
    if (piece->fd < 0 && errno == EACCES) {
        piece->fd = openat(piece->place.folder, piece->place.last, O_RDONLY | flags);
    }
    if (piece->fd < 0 && errno == ENOENT) {
        return tri_blob_refuse(piece->blobs, TR_INVALID, piece->name,
                               "pieces before this one are missing");
    }
    if (piece->fd < 0) {
        return explain(piece, tri_below_error());
    }
    /* The name must be synced as well as the contents. */
    if (piece->offset == 0 && fsync(piece->place.folder) != 0) {
        int error = explain(piece, TR_SYSTEM);
        close(piece->fd);
        return error;
    }
    return 0;
}

/*
 * Opens the file for each piece: the process may end between two pieces, and only the file remains.
 */
static int write_one_of_many(struct piece *piece, struct tr_text name, bool is_last,
                             struct tri_blob *blob)
{
    int error = tri_below_find(piece->blobs->pieces, name, 0, &piece->place);
    if (error != 0) {
        return explain(piece, error);
    }
    error = open_pieces(piece);
    if (error != 0) {
        return error;
    }
    error = write_piece(piece, is_last, blob);
    close(piece->fd);
    return error;
}

int tri_blob_write(struct tri_blobs *blobs, struct tr_text name, uint64_t offset,
                   struct tr_bytes bytes, bool is_last, struct tri_blob *out)
{
    struct piece piece = {.blobs = blobs, .offset = offset, .bytes = bytes};
    struct tri_blob blob = {.size = 0};
    snprintf(piece.name, sizeof piece.name, "%.*s", (int)(name.size < 200 ? name.size : 200),
             name.data);
    if (tri_below_check(name) != 0 || memchr(name.data, '/', name.size) != NULL) {
        return tri_blob_refuse(blobs, TR_INVALID, piece.name, "the name of the value is invalid");
    }
    if (offset > INT64_MAX - bytes.size) {
        return tri_blob_refuse(blobs, TR_LIMIT, piece.name, tr_error_text(TR_LIMIT));
    }
    errno = 0;
    int error;
    if (is_last && offset == 0) {
        error = write_whole(blobs, piece.name, bytes, &blob);
    } else {
        error = write_one_of_many(&piece, name, is_last, &blob);
    }
    if (error == 0) {
        *out = blob;
    }
    return error;
}

/* ---- Documents. ----------------------------------------------------------------------------- */

static void show(struct tr_text path, char shown[256])
{
    snprintf(shown, 256, "%.*s", (int)(path.size < 250 ? path.size : 250), path.data);
}

/* The size is that of the first fstat; a file that has grown since is read up to there. */
static int read_document(struct tri_blobs *blobs, int fd, const char *shown,
                         struct tri_buffer *bytes)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return tri_blob_refuse(blobs, TR_INVALID, shown, "it is not a regular file");
    }
    if ((uint64_t)status.st_size > TR_DOCUMENT_BYTES_MAX) {
        return tri_blob_refuse(blobs, TR_LIMIT, shown, "it is too large for a document");
    }
    size_t left = (size_t)status.st_size;
    int error = tri_buffer_reserve(bytes, left + 1);
    while (error == 0 && left > 0) {
        ssize_t found = read(fd, bytes->data + bytes->end, left);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found <= 0) {
            return found == 0 ? 0 : tri_blob_explain(blobs, TR_SYSTEM, shown);
        }
        bytes->end += (size_t)found;
        left -= (size_t)found;
    }
    return error != 0 ? tri_blob_explain(blobs, error, shown) : 0;
}

int tri_document_get(struct tri_blobs *blobs, struct tr_text path, struct tri_buffer *bytes)
{
    char shown[256];
    int fd;
    show(path, shown);
    errno = 0;
    int error = tri_below_open(blobs->store, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd);
    if (error != 0) {
        return tri_blob_explain(blobs, error, shown);
    }
    error = read_document(blobs, fd, shown, bytes);
    close(fd);
    return error;
}

/*
 * Syncs the folders on a document's path, the last one first, since the names of new ones must be
 * durable too. An earlier engine may have made one and ended before it was synced, so existing ones
 * are synced as well.
 */
static bool sync_folders(const struct tri_blobs *blobs, struct tr_text path)
{
    bool is_synced = true;
    const char *slash;
    while (is_synced && (slash = memrchr(path.data, '/', path.size)) != NULL) {
        int folder;
        path.size = (size_t)(slash - path.data);
        is_synced = tri_below_folder(blobs->store, path, 0, &folder) == 0;
        if (is_synced) {
            is_synced = fsync(folder) == 0;
            close(folder);
        }
    }
    return is_synced && fsync(blobs->store) == 0;
}

/*
 * The new content is synced under another name and renamed over the old one, so a reader or a crash
 * sees the old document or the new one. Syncing the folders makes the rename durable.
 */
int tri_document_put(struct tri_blobs *blobs, struct tr_text path, struct tr_bytes bytes)
{
    char shown[256];
    char name[32];
    struct tri_below_place place;
    show(path, shown);
    errno = 0;
    if (bytes.size > TR_DOCUMENT_BYTES_MAX) {
        return tri_blob_refuse(blobs, TR_LIMIT, shown, "it is too large for a document");
    }
    int error = tri_below_find(blobs->store, path, 0755, &place);
    if (error != 0) {
        return tri_blob_explain(blobs, error, shown);
    }
    tri_blob_new_name(blobs, name);
    error = write_new(blobs->papers, name, bytes, MODE_OPEN);
    if (error == 0 && renameat(blobs->papers, name, place.folder, place.last) != 0) {
        error = tri_below_error();
    }
    if (error != 0) {
        error = tri_blob_explain(blobs, error, shown);
        (void)unlinkat(blobs->papers, name, 0); /* otherwise the next start removes it */
    } else {
        error = sync_folders(blobs, path) ? 0 : tri_blob_explain(blobs, TR_SYSTEM, shown);
    }
    tri_below_place_close(&place);
    return error;
}
