/*
 * The blobs of another place (blob_remote.h), and the folder as their cache.
 *
 * A name in the folder means that the other place has the blob: it is sent before it gets its name.
 * What must not happen is that a sweep removes an object while a writer of the same content relies
 * on it. So each digest has a byte in the file .names, by its number, which whoever sends a blob
 * holds together with others from before the look into the folder until the blob has its name, and
 * whoever removes or brings one holds alone. A held byte belongs to an open file, so it works
 * between threads, each with a descriptor of its own, and the kernel releases it with the process.
 */
#include "runtime/blob/blob_remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "runtime/blob/blob_pack.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define MODE_BLOB 0444

/* How often a held byte is looked at. */
#define HOLD_AGAIN_MS 20

void tri_blobs_set_remote(struct tri_blobs *blobs, struct tri_blob_remote *remote)
{
    blobs->remote = remote;
}

static struct tri_blob_call call_of(const struct tri_blobs *blobs)
{
    return (struct tri_blob_call){.turn = blobs->turn, .is_stopping = blobs->is_stopping};
}

/* Takes the words of a call, at its end: others set theirs while it waited. */
static int take_words(struct tri_blobs *blobs, int error, const struct tri_blob_call *call)
{
    if (error != 0) {
        snprintf(blobs->words, sizeof blobs->words, "%s",
                 call->words[0] != '\0' ? call->words : tr_error_text(error));
    }
    return error;
}

/* ---- Held names. ---------------------------------------------------------------------------- */

/* The byte of a digest: a number that fits into an offset. */
static off_t byte_of(const char *name)
{
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    uint64_t number = 0;
    if (tri_blob_name_read(name, digest)) {
        memcpy(&number, digest, sizeof number);
    }
    return (off_t)(number >> 2);
}

int tri_blob_hold(struct tri_blobs *blobs, const char *name, bool is_alone, bool may_wait,
                  int *held)
{
    struct flock range = {.l_type = is_alone ? F_WRLCK : F_RDLCK,
                          .l_whence = SEEK_SET,
                          .l_start = byte_of(name),
                          .l_len = 1};
    int fd =
        openat(blobs->folder, TRI_BLOBS_NAMES, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return tri_blob_explain(blobs, tri_below_error(), name);
    }
    int error = 0;
    while (error == 0 && fcntl(fd, F_OFD_SETLK, &range) != 0) {
        bool is_held = errno == EAGAIN || errno == EACCES;
        error = !is_held                          ? TR_SYSTEM
                : !may_wait                       ? TR_BUSY
                : atomic_load(blobs->is_stopping) ? TR_CLOSED
                                                  : tr_turn_wait(blobs->turn, -1, HOLD_AGAIN_MS);
    }
    if (error != 0) {
        error = tri_blob_explain(blobs, error, name);
        close(fd);
        return error;
    }
    *held = fd;
    return 0;
}

static bool is_here(const struct tri_blobs *blobs, const char *name)
{
    return faccessat(blobs->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- Sending. ------------------------------------------------------------------------------- */

/* A blob that is being sent. */
struct sending {
    struct tri_blobs *blobs;
    struct tri_blob_upload *upload;
};

static int add_bytes(void *self, struct tr_bytes bytes)
{
    const struct sending *sending = self;
    struct tri_blob_upload *upload = sending->upload;
    if (atomic_load(upload->call->is_stopping)) {
        return TR_CLOSED;
    }
    int error = tr_turn_take(upload->call->turn);
    return error != 0 ? error : sending->blobs->remote->ops->add(upload, bytes);
}

/* A plain file goes as it is, so that people can read it there; all else packed. */
static int add_content(struct sending *sending, int folder, const char *entry)
{
    const struct tri_pack_sink sink = {.add = add_bytes, .self = sending};
    struct stat status;
    int fd = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int error = tri_below_error();
        if (fd >= 0) {
            close(fd);
        }
        return error;
    }
    bool is_plain = S_ISREG(status.st_mode) && (status.st_mode & 0111) == 0;
    int error = is_plain ? tri_blob_pack_plain(fd, &sink) : tri_blob_pack(folder, entry, &sink);
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

static int send_entry(struct tri_blobs *blobs, int folder, const char *entry, const char *name)
{
    struct tri_blob_call call = call_of(blobs);
    struct sending sending = {.blobs = blobs};
    int error = blobs->remote->ops->begin(blobs->remote, &call, name, &sending.upload);
    if (error == 0) {
        errno = 0;
        error = add_content(&sending, folder, entry);
        int number = errno;
        int ended = blobs->remote->ops->end(sending.upload, error == 0);
        errno = number;
        if (error != 0 && call.words[0] == '\0') {
            return tri_blob_explain(blobs, error, name); /* of the folder, not of the place */
        }
        error = error != 0 ? error : ended;
    }
    return take_words(blobs, error, &call);
}

int tri_blob_send(struct tri_blobs *blobs, int folder, const char *entry, const char *name,
                  int *held)
{
    int fd;
    int error = tri_blob_hold(blobs, name, false, true, &fd);
    if (error != 0) {
        return error;
    }
    error = is_here(blobs, name) ? 0 : send_entry(blobs, folder, entry, name);
    if (error != 0) {
        close(fd);
        return error;
    }
    *held = fd;
    return 0;
}

static int send_listed(struct tri_blobs *blobs, DIR *folder)
{
    const struct dirent *entry;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    int error = 0;
    while (error == 0 && (errno = 0, entry = readdir(folder)) != NULL) {
        if (tri_blob_name_read(entry->d_name, digest)) {
            error = send_entry(blobs, blobs->folder, entry->d_name, entry->d_name);
        }
    }
    return error == 0 && errno != 0 ? tri_blob_explain(blobs, TR_SYSTEM, blobs->path) : error;
}

int tri_blobs_send_all(struct tri_blobs *blobs)
{
    int copy = openat(blobs->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        int error = tri_blob_explain(blobs, tri_below_error(), blobs->path);
        if (copy >= 0) {
            close(copy);
        }
        return error;
    }
    int error = send_listed(blobs, folder);
    closedir(folder);
    return error;
}

/* ---- Bringing. ------------------------------------------------------------------------------ */

static bool has_digest(const struct tri_blob *blob, const char *name)
{
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    return tri_blob_name_read(name, digest) && memcmp(digest, blob->digest, sizeof digest) == 0;
}

static int refuse_damaged(struct tri_blobs *blobs, const char *name)
{
    return tri_blob_refuse(blobs, TR_MALFORMED, name,
                           "what the object store has under this name is another content or "
                           "damaged; put the right one there, or remove it and run again what "
                           "made it");
}

/* Unpacks what was brought, and gives it its name if it is the right content. */
static int settle_pack(struct tri_blobs *blobs, int fd, const char *name)
{
    char unpacked[32];
    struct tri_blob blob = {.size = 0};
    struct tri_blob_source source = {.path = name, .is_sealed = true, .fd = -1};
    tri_blob_new_name(blobs, unpacked);
    errno = 0;
    int error = tri_blob_unpack(fd, blobs->fresh, unpacked);
    if (error == TR_MALFORMED) {
        error = refuse_damaged(blobs, name);
    } else if (error != 0) {
        error = tri_blob_explain(blobs, error, name);
    }
    if (error == 0) {
        source.fd = openat(blobs->fresh, unpacked, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        error = source.fd < 0 ? tri_blob_explain(blobs, tri_below_error(), name)
                              : tri_blob_walk(blobs, &source, NULL, &blob);
    }
    if (source.fd >= 0) {
        close(source.fd);
    }
    if (error == 0 && !has_digest(&blob, name)) {
        error = refuse_damaged(blobs, name);
    }
    if (error == 0) {
        error = tri_blob_settle(blobs, blobs->fresh, unpacked, name, false);
    }
    if (error != 0) {
        (void)!tri_below_remove(blobs->fresh, tr_text_of(unpacked));
    }
    return error;
}

/* A plain file has the digest itself; a pack has another one. */
static int settle(struct tri_blobs *blobs, int fd, const char *brought, const char *name)
{
    struct tri_blob blob = {.size = 0};
    int error = tri_blob_digest_file(blobs, fd, -1, name, &blob);
    if (error != 0) {
        return error;
    }
    if (!has_digest(&blob, name)) {
        return tri_blob_pack_is(fd) ? settle_pack(blobs, fd, name) : refuse_damaged(blobs, name);
    }
    if (fchmod(fd, MODE_BLOB) != 0 || fsync(fd) != 0) {
        return tri_blob_explain(blobs, tri_below_error(), name);
    }
    return tri_blob_settle(blobs, blobs->fresh, brought, name, false);
}

static int bring(struct tri_blobs *blobs, const char *name)
{
    char brought[32];
    int fd;
    struct tri_blob_call call = call_of(blobs);
    int error = tri_blob_begin(blobs, brought, &fd);
    if (error != 0) {
        return error;
    }
    error = take_words(blobs, blobs->remote->ops->get(blobs->remote, &call, name, fd), &call);
    if (error == 0) {
        error = settle(blobs, fd, brought, name);
    }
    close(fd);
    tri_blob_discard(blobs, brought); /* unless it has become the blob */
    return error;
}

int tri_blob_bring(struct tri_blobs *blobs, const char *name)
{
    int held;
    int error = tri_blob_hold(blobs, name, true, true, &held);
    if (error != 0) {
        return error;
    }
    /* Whoever held it may have brought it. */
    error = is_here(blobs, name) ? 0 : bring(blobs, name);
    close(held);
    return error;
}
