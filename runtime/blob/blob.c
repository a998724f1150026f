/*
 * The blob store: opening its folder, names and URIs, putting, reading and digesting.
 *
 * A blob is made in blobs/.new/, synced, and renamed, and then the folder is synced; only then the
 * call returns. So a name in blobs/ always has its whole content, and a returned blob survives a
 * power loss. Two writers of the same content make the same name; the second one finds it and
 * removes its own copy.
 *
 * The lock of ages is a flock on a file: it works between threads, each of which has opened the
 * file itself, between processes, and between hosts of a folder that they share, and the kernel
 * releases it whenever its holder ends.
 */
#include "runtime/blob/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* ---- Words. --------------------------------------------------------------------------------- */

/*
 * Sets the words "WHAT: WORDS" and returns the error. errno must still be that of the system call.
 */
int tri_blob_explain(struct tri_blobs *blobs, int error, const char *what)
{
    bool is_system = error == TR_SYSTEM || error == TR_NOT_FOUND || error == TR_STORE_FULL;
    return tri_blob_refuse(blobs, error, what,
                           is_system && errno != 0 ? strerror(errno) : tr_error_text(error));
}

int tri_blob_refuse(struct tri_blobs *blobs, int error, const char *what, const char *words)
{
    snprintf(blobs->words, sizeof blobs->words, "%.300s: %s", what, words);
    return error;
}

const char *tri_blobs_words(const struct tri_blobs *blobs)
{
    return blobs->words;
}

/* ---- Opening. ------------------------------------------------------------------------------- */

/* A digest of the host and of where the store is. */
int tri_blobs_identify(const char *store_folder, char digits[TRI_BLOBS_OWN_DIGITS + 1])
{
    char real[PATH_MAX];
    char host[HOST_NAME_MAX + 1] = "";
    uint8_t digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    if (gethostname(host, sizeof host - 1) != 0 || realpath(store_folder, real) == NULL) {
        return TR_SYSTEM;
    }
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const uint8_t *)host, sizeof host);
    crypto_hash_sha256_update(&state, (const uint8_t *)real, strlen(real));
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(digits, TRI_BLOBS_OWN_DIGITS + 1, digest, TRI_BLOBS_OWN_DIGITS / 2);
    return 0;
}

/* Opens blobs/, made if missing, or what it is a link to. */
static int open_blobs(struct tri_blobs *blobs, const char *real)
{
    struct stat status;
    blobs->is_shared = fstatat(blobs->store, TRI_BLOBS_FOLDER, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                       S_ISLNK(status.st_mode);
    if (!blobs->is_shared) {
        snprintf(blobs->real, sizeof blobs->real, "%s", blobs->path);
        return tri_below_folder(blobs->store, tr_text_of(TRI_BLOBS_FOLDER), 0700, &blobs->folder);
    }
    char target[PATH_MAX];
    blobs->folder = openat(blobs->store, TRI_BLOBS_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (blobs->folder < 0 || realpath(blobs->path, target) == NULL) {
        return TR_SYSTEM;
    }
    snprintf(blobs->real, sizeof blobs->real, "%s", target);
    blobs->own[0] = '-';
    return tri_blobs_identify(real, blobs->own + 1);
}

static int open_folder(const struct tri_blobs *blobs, const char *name, const char *own,
                       int *folder)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", name, own);
    return tri_below_folder(blobs->folder, tr_text_of(whole), 0700, folder);
}

/* Opens or makes what lies in blobs/ beside the blobs. */
static int open_inside(struct tri_blobs *blobs)
{
    const char *parts = blobs->is_shared ? TRI_BLOBS_PARTS_FOLDER : TRI_BLOBS_PIECES_FOLDER;
    int error = open_folder(blobs, TRI_BLOBS_NEW_FOLDER, blobs->own, &blobs->fresh);
    if (error == 0) {
        error = open_folder(blobs, TRI_BLOBS_PIECES_FOLDER, "", &blobs->pieces);
    }
    if (error == 0) {
        error = open_folder(blobs, parts, blobs->own, &blobs->parts);
    }
    if (error == 0) {
        error = blobs->is_shared
                    ? tri_below_folder(blobs->store, tr_text_of(TRI_BLOBS_PAPERS_FOLDER), 0700,
                                       &blobs->papers)
                    : open_folder(blobs, TRI_BLOBS_NEW_FOLDER, "", &blobs->papers);
    }
    if (error == 0) {
        blobs->lock =
            openat(blobs->folder, TRI_BLOBS_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        error = blobs->lock < 0 ? tri_below_error() : 0;
    }
    return error;
}

/*
 * Opens or makes the folders. The length check leaves room for the longest name of a blob behind
 * the path, so that no URI is truncated.
 */
static int open_folders(struct tri_blobs *blobs, const char *store_folder)
{
    char real[PATH_MAX];
    blobs->store = open(store_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (blobs->store < 0 || realpath(store_folder, real) == NULL) {
        return TR_SYSTEM;
    }
    int size = snprintf(blobs->path, sizeof blobs->path, "%s/%s", real, TRI_BLOBS_FOLDER);
    if (size < 0 || (size_t)size + NAME_MAX + 2 >= sizeof blobs->path) {
        return TR_LIMIT;
    }
    int error = open_blobs(blobs, real);
    if (error == 0) {
        error = open_inside(blobs);
    }
    /* The names of the folders must be synced as well as their contents. */
    bool is_synced = error == 0 && fsync(blobs->folder) == 0 && fsync(blobs->store) == 0;
    return error == 0 && !is_synced ? TR_SYSTEM : error;
}

/* `never` is for callers that cannot be stopped, so that no other place must check for NULL. */
static int open_store(const char *store_folder, const atomic_bool *is_stopping,
                      struct tri_blobs **out)
{
    static const atomic_bool never = false;
    struct tri_blobs *blobs = tr_alloc_zero(1, sizeof *blobs);
    if (blobs == NULL) {
        return TR_MEMORY;
    }
    blobs->store = -1;
    blobs->folder = -1;
    blobs->fresh = -1;
    blobs->pieces = -1;
    blobs->parts = -1;
    blobs->papers = -1;
    blobs->lock = -1;
    blobs->is_stopping = is_stopping != NULL ? is_stopping : &never;
    blobs->copy = tr_alloc(TRI_BLOB_COPY_BYTES);
    int error = blobs->copy != NULL ? open_folders(blobs, store_folder) : TR_MEMORY;
    if (error != 0) {
        tri_blobs_close(blobs);
        return error;
    }
    *out = blobs;
    return 0;
}

int tri_blobs_open(const char *store_folder, const atomic_bool *is_stopping, struct tri_blobs **out)
{
    struct tri_blobs *blobs;
    int error = open_store(store_folder, is_stopping, &blobs);
    if (error != 0) {
        return error;
    }
    /*
     * Unfinished blobs of a dead engine. A store has one engine, so only programs beside it can
     * have files in there, and they get an error for the missing file.
     */
    error = tri_below_empty(blobs->fresh);
    if (error == 0) {
        error = tri_below_empty(blobs->papers);
    }
    if (error != 0) {
        tri_blobs_close(blobs);
        return error;
    }
    *out = blobs;
    return 0;
}

int tri_blobs_open_beside(const char *store_folder, struct tri_blobs **out)
{
    struct tri_blobs *blobs;
    int error = open_store(store_folder, NULL, &blobs);
    if (error != 0) {
        return error;
    }
    /*
     * Unique by thread id: a thread has one store at a time, and a process may have many such
     * threads.
     */
    snprintf(blobs->owner, sizeof blobs->owner, "%u-", (unsigned)gettid());
    *out = blobs;
    return 0;
}

void tri_blobs_set_stopping(struct tri_blobs *blobs, const atomic_bool *is_stopping)
{
    blobs->is_stopping = is_stopping;
}

void tri_blobs_set_turn(struct tri_blobs *blobs, const struct tr_turn *turn)
{
    blobs->turn = turn;
}

void tri_blobs_close(struct tri_blobs *blobs)
{
    if (blobs == NULL) {
        return;
    }
    const int descriptors[] = {blobs->lock,  blobs->papers, blobs->parts, blobs->pieces,
                               blobs->fresh, blobs->folder, blobs->store};
    for (size_t i = 0; i < TR_COUNT_OF(descriptors); i++) {
        if (descriptors[i] >= 0) {
            close(descriptors[i]);
        }
    }
    if (blobs->remote != NULL) {
        blobs->remote->ops->free(blobs->remote);
    }
    tr_free(blobs->copy);
    tr_free(blobs);
}

/* ---- Ages. ---------------------------------------------------------------------------------- */

/* Blocks until the lock is taken. It is held for a few system calls only. */
void tri_blob_lock(const struct tri_blobs *blobs, bool is_sweep)
{
    while (flock(blobs->lock, is_sweep ? LOCK_EX : LOCK_SH) != 0 && errno == EINTR) {
    }
}

void tri_blob_unlock(const struct tri_blobs *blobs)
{
    (void)flock(blobs->lock, LOCK_UN);
}

/* Sets its age to zero; a missing one is noticed by the next stat. */
static void renew(int folder, const char *name)
{
    (void)utimensat(folder, name, NULL, 0);
}

/* ---- Names. --------------------------------------------------------------------------------- */

void tri_blob_new_name(struct tri_blobs *blobs, char name[32])
{
    snprintf(name, 32, "%.11s%llu", blobs->owner, (unsigned long long)blobs->made++);
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool tri_blob_name_read(const char *name, uint8_t digest[TRI_BLOB_DIGEST_BYTES])
{
    for (size_t i = 0; i < TRI_BLOB_DIGEST_BYTES; i++) {
        int high = hex_value(name[2 * i]);
        int low = high < 0 ? -1 : hex_value(name[2 * i + 1]);
        if (low < 0) {
            return false;
        }
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return name[TRI_BLOB_HEX_BYTES] == '\0' || name[TRI_BLOB_HEX_BYTES] == '-';
}

/*
 * Whether a path is a blob of this store, by its text alone: BLOBS/64 lower-case digits, followed
 * by nothing or -NAME.
 */
static bool is_blob(const struct tri_blobs *blobs, const char *path,
                    uint8_t digest[TRI_BLOB_DIGEST_BYTES])
{
    size_t size = strlen(blobs->path);
    return strncmp(path, blobs->path, size) == 0 && path[size] == '/' &&
           strchr(path + size + 1, '/') == NULL && tri_blob_name_read(path + size + 1, digest);
}

/* Replaces a byte of a hint that is special in shells or URIs. */
static char tame(char c)
{
    bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '.' || c == '-' || c == '_';
    return (char)(is_kept ? c : '_');
}

/* DIGEST or DIGEST-NAME. The end of a long hint is kept, because programs look at extensions. */
static void name_blob(const struct tri_blob *blob, struct tr_text hint, char name[NAME_MAX + 1])
{
    size_t size = hint.size < TR_BLOB_HINT_BYTES_MAX ? hint.size : TR_BLOB_HINT_BYTES_MAX;
    const char *from = hint.data + (hint.size - size);
    sodium_bin2hex(name, NAME_MAX + 1, blob->digest, sizeof blob->digest);
    if (size > 0) {
        name[TRI_BLOB_HEX_BYTES] = '-';
        for (size_t i = 0; i < size; i++) {
            name[TRI_BLOB_HEX_BYTES + 1 + i] = tame(from[i]);
        }
        name[TRI_BLOB_HEX_BYTES + 1 + size] = '\0';
    }
}

/*
 * Renames it into place; false with errno. RENAME_NOREPLACE keeps an existing blob, which may be
 * open elsewhere; `is_there` tells so. `is_kept` links instead, so the first name stays.
 */
static bool put_in_place(struct tri_blobs *blobs, int folder, const char *name, const char *place,
                         bool is_kept, bool *is_there)
{
    int result = is_kept ? linkat(folder, name, blobs->folder, place, 0)
                         : renameat2(folder, name, blobs->folder, place, RENAME_NOREPLACE);
    if (result != 0 && errno == EINVAL && !is_kept) {
        /* A file system without that flag: a file replaces an equal one, a folder does not. */
        result = renameat(folder, name, blobs->folder, place);
    }
    *is_there = result != 0 && (errno == EEXIST || errno == ENOTEMPTY);
    return result == 0 || *is_there;
}

/*
 * The age of an existing blob is renewed under the same lock that the sweep takes. Otherwise a
 * sweep could remove it between the check and the answer. The folder is synced in both cases: the
 * rename of another writer may not be on the disk yet.
 */
int tri_blob_settle(struct tri_blobs *blobs, int folder, const char *name, const char *place,
                    bool is_kept)
{
    bool is_there = false;
    tri_blob_lock(blobs, false);
    bool is_placed = put_in_place(blobs, folder, name, place, is_kept, &is_there);
    int error = is_placed ? 0 : tri_below_error();
    if (is_there) {
        renew(blobs->folder, place);
    }
    tri_blob_unlock(blobs);
    if (error != 0) {
        return tri_blob_explain(blobs, error, place);
    }
    if (is_there && !is_kept) {
        (void)!tri_below_remove(folder, tr_text_of(name));
    }
    return fsync(blobs->folder) == 0 ? 0 : tri_blob_explain(blobs, TR_SYSTEM, blobs->path);
}

int tri_blob_publish(struct tri_blobs *blobs, int folder, const char *name, struct tr_text hint,
                     bool is_kept, struct tri_blob *blob)
{
    char place[NAME_MAX + 1];
    int held = -1;
    name_blob(blob, hint, place);
    blob->has_digest = true;
    snprintf(blob->uri, sizeof blob->uri, TR_BLOB_SCHEME "%s", place);
    int size = snprintf(blob->path, sizeof blob->path, "%s/%s", blobs->path, place);
    TR_ASSERT(size > 0 &&
              (size_t)size < sizeof blob->path); /* the length of the folder's path is limited */
    int error = blobs->remote == NULL ? 0 : tri_blob_send(blobs, folder, name, place, &held);
    if (error == 0) {
        error = tri_blob_settle(blobs, folder, name, place, is_kept);
    }
    if (held >= 0) {
        close(held);
    }
    return error;
}

/* ---- URIs. ---------------------------------------------------------------------------------- */

#define FILE_SCHEME "file://"
#define LOCALHOST "localhost"

static bool begins_with(struct tr_text text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

/*
 * Copies a file URI's path, with %XX decoded. False: a bad escape, or a zero byte, which would end
 * the path early.
 */
static bool decode(struct tr_text encoded, char *path)
{
    size_t at = 0;
    for (size_t i = 0; i < encoded.size; i++) {
        char c = encoded.data[i];
        if (c == '%') {
            int high = i + 2 < encoded.size ? hex_value((char)(encoded.data[i + 1] | 0x20)) : -1;
            int low = i + 2 < encoded.size ? hex_value((char)(encoded.data[i + 2] | 0x20)) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            c = (char)(high << 4 | low);
            i += 2;
        }
        path[at++] = c;
    }
    path[at] = '\0';
    return strlen(path) == at;
}

/* The blob of this store that a path is, or leads into; empty: none. */
static struct tr_text blob_around(const struct tri_blobs *blobs, const char *path)
{
    char whole[TR_PATH_BYTES_MAX];
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    size_t size = strlen(blobs->path) + 1;
    size_t end = strlen(path) > size ? size + strcspn(path + size, "/") : 0;
    snprintf(whole, sizeof whole, "%.*s", (int)end, path);
    return (struct tr_text){.data = path, .size = is_blob(blobs, whole, digest) ? end : 0};
}

/* Renews the blob that a path is, or leads into. */
static void renew_around(const struct tri_blobs *blobs, const char *path)
{
    char whole[TR_PATH_BYTES_MAX];
    struct tr_text blob = blob_around(blobs, path);
    if (blob.size > 0) {
        snprintf(whole, sizeof whole, "%.*s", (int)blob.size, blob.data);
        renew(AT_FDCWD, whole);
    }
}

/*
 * A blob of this store that a path is, or leads into, comes from the other place if it is missing
 * here. It is renewed first, so that it stays if it is not.
 */
static int bring_around(struct tri_blobs *blobs, const char *path)
{
    char whole[TR_PATH_BYTES_MAX];
    struct tr_text blob = blob_around(blobs, path);
    if (blobs->remote == NULL || blob.size == 0) {
        return 0;
    }
    snprintf(whole, sizeof whole, "%.*s", (int)blob.size, blob.data);
    tri_blob_lock(blobs, false);
    renew(AT_FDCWD, whole);
    bool is_here = access(whole, F_OK) == 0;
    tri_blob_unlock(blobs);
    return is_here ? 0 : tri_blob_bring(blobs, whole + strlen(blobs->path) + 1);
}

/*
 * A path of a blob in another store becomes the blob of this name here, if there is one: the digest
 * proves that it is the same. So moved values find their files.
 */
static void take_home(struct tri_blobs *blobs, char path[TR_PATH_BYTES_MAX])
{
    static const char folder[] = "/" TRI_BLOBS_FOLDER "/";
    char home[TR_PATH_BYTES_MAX];
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    const char *slash = strrchr(path, '/');
    size_t before = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    bool is_foreign = before >= sizeof folder - 1 &&
                      memcmp(path + before - (sizeof folder - 1), folder, sizeof folder - 1) == 0 &&
                      !is_blob(blobs, path, digest);
    int size = is_foreign ? snprintf(home, sizeof home, "%s/%s", blobs->path, slash + 1) : -1;
    if (size > 0 && (size_t)size < sizeof home && is_blob(blobs, home, digest) &&
        bring_around(blobs, home) == 0 && access(home, F_OK) == 0) {
        memcpy(path, home, (size_t)size + 1);
    }
}

/* The path of a blob's URI: its name below the folder of blobs. */
static int find_blob(struct tri_blobs *blobs, const char *shown, struct tr_text name,
                     char path[TR_PATH_BYTES_MAX])
{
    if (tri_below_check(name) != 0) {
        return tri_blob_refuse(blobs, TR_INVALID, shown, "it leads out of its blob");
    }
    int size = snprintf(path, TR_PATH_BYTES_MAX, "%s/%.*s", blobs->path, (int)name.size, name.data);
    return size > 0 && size < TR_PATH_BYTES_MAX
               ? 0
               : tri_blob_refuse(blobs, TR_LIMIT, shown, "it is too long for a path");
}

static int find_path(struct tri_blobs *blobs, struct tr_text uri, char path[TR_PATH_BYTES_MAX])
{
    char shown[256];
    snprintf(shown, sizeof shown, "%.*s", (int)(uri.size < 250 ? uri.size : 250), uri.data);
    if (uri.size >= TR_PATH_BYTES_MAX) {
        return tri_blob_refuse(blobs, TR_LIMIT, shown, "it is too long for a path");
    }
    struct tr_text name = tr_blob_uri_name(uri);
    if (name.size > 0) {
        return find_blob(blobs, shown, name, path);
    }
    if (begins_with(uri, TR_BLOB_SCHEME)) {
        return tri_blob_refuse(blobs, TR_INVALID, shown,
                               "it names no blob; write blob:DIGEST or blob:DIGEST-NAME, with the "
                               "64 digits of the content's SHA-256");
    }
    struct tr_text encoded = uri;
    if (begins_with(uri, FILE_SCHEME)) {
        size_t skipped = strlen(FILE_SCHEME);
        encoded = (struct tr_text){uri.data + skipped, uri.size - skipped};
        skipped = begins_with(encoded, LOCALHOST "/") ? strlen(LOCALHOST) : 0;
        encoded = (struct tr_text){encoded.data + skipped, encoded.size - skipped};
        if (!begins_with(encoded, "/") || !decode(encoded, path)) {
            return tri_blob_refuse(blobs, TR_INVALID, shown, "it is not a valid file URI");
        }
        return 0;
    }
    if (!begins_with(uri, "/") || memchr(uri.data, 0, uri.size) != NULL) {
        return tri_blob_refuse(blobs, TR_INVALID, shown,
                               "it is neither a path of this machine nor a URI that begins with "
                               "s3://, gs://, https:// or http://");
    }
    memcpy(path, uri.data, uri.size);
    path[uri.size] = '\0';
    return 0;
}

/* A path to where the link of the blobs leads is one of the blobs. */
static void take_back(const struct tri_blobs *blobs, char path[TR_PATH_BYTES_MAX])
{
    char behind[TR_PATH_BYTES_MAX];
    size_t size = strlen(blobs->real);
    if (blobs->is_shared && strncmp(path, blobs->real, size) == 0 && path[size] == '/') {
        int made = snprintf(behind, sizeof behind, "%s%s", blobs->path, path + size);
        if (made > 0 && (size_t)made < sizeof behind) {
            memcpy(path, behind, (size_t)made + 1);
        }
    }
}

/* The absolute path of a URI; TR_INVALID for one that is not local. */
static int blob_path(struct tri_blobs *blobs, struct tr_text uri, char path[TR_PATH_BYTES_MAX])
{
    int error = find_path(blobs, uri, path);
    if (error == 0) {
        take_back(blobs, path);
        take_home(blobs, path);
        error = bring_around(blobs, path);
    }
    return error;
}

/* ---- What is asked for. --------------------------------------------------------------------- */

/* The URI of a path: of what is a blob, or lies in one, its name. */
static void name_uri(const struct tri_blobs *blobs, struct tri_blob *blob)
{
    bool is_kept = blob_around(blobs, blob->path).size > 0;
    const char *name = blob->path + (is_kept ? strlen(blobs->path) + 1 : 0);
    snprintf(blob->uri, sizeof blob->uri, "%s%s", is_kept ? TR_BLOB_SCHEME : "", name);
}

/*
 * Fills in the result of a stat. The age is renewed before the stat and under the lock, so no sweep
 * removes a blob that was just found. The digest is taken from a blob's name, not computed.
 */
static int look(struct tri_blobs *blobs, const char *path, struct tri_blob *blob)
{
    struct stat status;
    blob->has_digest = is_blob(blobs, path, blob->digest);
    tri_blob_lock(blobs, false);
    renew_around(blobs, path);
    errno = 0;
    int error = stat(path, &status) != 0 ? tri_below_error() : 0;
    tri_blob_unlock(blobs);
    if (error != 0) {
        return tri_blob_explain(blobs, error, path);
    }
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        return tri_blob_refuse(blobs, TR_INVALID, path, "it is neither a file nor a folder");
    }
    snprintf(blob->path, sizeof blob->path, "%s", path);
    name_uri(blobs, blob);
    blob->is_directory = S_ISDIR(status.st_mode);
    blob->size = blob->is_directory ? 0 : (uint64_t)status.st_size;
    return 0;
}

/* The last part of a path, without slashes at the end, as a hint. */
static struct tr_text last_part(const char *path)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/') {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') {
        begin--;
    }
    return (struct tr_text){.data = path + begin, .size = end - begin};
}

/*
 * Opens a local path for reading, within a fence unless that is NULL. TR_OUTSIDE, TR_INVALID and
 * errors of system calls, all with words.
 */
static int blob_open(struct tri_blobs *blobs, const struct tr_fence *fence, const char *path,
                     int *fd)
{
    char words[TRI_FENCE_WORDS_BYTES];
    errno = 0;
    if (fence == NULL) {
        int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (opened < 0) {
            return tri_blob_explain(blobs, tri_below_error(), path);
        }
        *fd = opened;
        return 0;
    }
    int error = tri_fence_open(fence, path, fd, words);
    if (error == TR_OUTSIDE || error == TR_INVALID) {
        return tri_blob_refuse(blobs, error, path, words);
    }
    return error != 0 ? tri_blob_explain(blobs, error, path) : 0;
}

/* Checks that the path is of the expected kind. */
static int check_kind(struct tri_blobs *blobs, const char *path, enum tr_path_kind kind,
                      bool is_directory)
{
    if (kind == TR_PATH_FILE && is_directory) {
        return tri_blob_refuse(blobs, TR_MISMATCH, path,
                               "it is a folder, and its type is file; name a file, or declare it "
                               "as directory");
    }
    if (kind == TR_PATH_DIRECTORY && !is_directory) {
        return tri_blob_refuse(blobs, TR_MISMATCH, path,
                               "it is a file, and its type is directory; name a folder, or declare "
                               "it as file");
    }
    return 0;
}

/* The kind is checked on the open descriptor, before anything is copied. */
static int check_source(struct tri_blobs *blobs, const struct tri_blob_source *source,
                        enum tr_path_kind kind)
{
    struct stat status;
    if (fstat(source->fd, &status) != 0) {
        return tri_blob_explain(blobs, TR_SYSTEM, source->path);
    }
    bool may_be =
        S_ISREG(status.st_mode) || S_ISDIR(status.st_mode); /* otherwise the walk refuses it */
    return may_be ? check_kind(blobs, source->path, kind, S_ISDIR(status.st_mode)) : 0;
}

/* Copies the open source into the store. */
static int put_source(struct tri_blobs *blobs, const struct tri_blob_source *source,
                      const struct tri_blob_put *put, struct tri_blob *blob)
{
    char name[32];
    int error = check_source(blobs, source, put->kind);
    if (error != 0) {
        return error;
    }
    tri_blob_new_name(blobs, name);
    error = tri_blob_walk(blobs, source, name, blob);
    if (error == 0) {
        bool is_given = put->is_nameless || put->hint.size > 0;
        struct tr_text hint = is_given ? put->hint : last_part(source->path);
        error = tri_blob_publish(blobs, blobs->fresh, name, hint, false, blob);
    }
    if (error != 0) {
        (void)!tri_below_remove(blobs->fresh, tr_text_of(name));
    }
    return error;
}

/*
 * Returns a blob that is in the store already: TR_OUTSIDE if the path is not, or leaves its blob by
 * a link. A path into a blob's folder is opened within a fence to find that out.
 */
static int give_kept(struct tri_blobs *blobs, const char *path, const struct tri_blob_put *put,
                     struct tri_blob *blob)
{
    const struct tr_fence around = {.folder = blob_around(blobs, path),
                                    .trusted_bytes = (uint32_t)strlen(blobs->path)};
    int fd = -1;
    int error = around.folder.size == 0            ? TR_OUTSIDE
                : path[around.folder.size] == '\0' ? 0
                                                   : blob_open(blobs, &around, path, &fd);
    if (error == 0) {
        error = look(blobs, path, blob);
    }
    if (fd >= 0) {
        close(fd);
    }
    return error != 0 ? error : check_kind(blobs, path, put->kind, blob->is_directory);
}

/*
 * Copies the path's target. Within a fence only its descriptor is examined, because a stat by path
 * would follow links.
 */
static int put_path(struct tri_blobs *blobs, const char *path, const struct tri_blob_put *put,
                    struct tri_blob *blob)
{
    struct tri_blob_source source = {.path = path, .is_fenced = put->fence != NULL};
    int error = put->fence == NULL ? look(blobs, path, blob) : 0;
    if (error == 0) {
        error = blob_open(blobs, put->fence, path, &source.fd);
    }
    if (error == 0) {
        error = put_source(blobs, &source, put, blob);
        close(source.fd);
    }
    return error;
}

int tri_blob_put(struct tri_blobs *blobs, const struct tri_blob_put *put, struct tri_blob *out)
{
    char path[TR_PATH_BYTES_MAX];
    struct tri_blob blob = {.size = 0};
    int error = blob_path(blobs, put->path, path);
    if (error == 0) {
        error = give_kept(blobs, path, put, &blob);
        error = error == TR_OUTSIDE ? put_path(blobs, path, put, &blob) : error;
    }
    if (error == 0) {
        *out = blob;
    }
    return error;
}

int tri_blob_digest(struct tri_blobs *blobs, struct tr_text uri, struct tri_blob *out)
{
    char path[TR_PATH_BYTES_MAX];
    struct tri_blob blob = {.size = 0};
    int error = blob_path(blobs, uri, path);
    if (error == 0) {
        error = look(blobs, path, &blob);
    }
    if (error == 0 && !blob.has_digest) {
        struct tri_blob_source source = {.path = path};
        error = blob_open(blobs, NULL, path, &source.fd);
        if (error == 0) {
            error = tri_blob_walk(blobs, &source, NULL, &blob);
            close(source.fd);
        }
        blob.has_digest = true;
    }
    if (error == 0) {
        *out = blob;
    }
    return error;
}

int tri_blob_fetch(struct tri_blobs *blobs, struct tr_text uri, struct tri_blob *out)
{
    char path[TR_PATH_BYTES_MAX];
    struct tri_blob blob = {.size = 0};
    int error = blob_path(blobs, uri, path);
    if (error == 0) {
        error = look(blobs, path, &blob);
    }
    if (error == 0) {
        *out = blob;
    }
    return error;
}

/*
 * Reads up to `size` bytes; fewer at the end of the file. A file that became shorter since fstat is
 * no error.
 */
static int read_at(struct tri_blobs *blobs, int fd, const char *path, uint64_t offset, size_t size,
                   struct tri_buffer *bytes)
{
    int error = tri_buffer_reserve(bytes, size);
    while (error == 0 && size > 0) {
        ssize_t found = pread(fd, bytes->data + bytes->end, size, (off_t)offset);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found < 0) {
            return tri_blob_explain(blobs, TR_SYSTEM, path);
        }
        if (found == 0) {
            return 0;
        }
        bytes->end += (size_t)found;
        offset += (uint64_t)found;
        size -= (size_t)found;
    }
    return error != 0 ? tri_blob_explain(blobs, error, path) : 0;
}

int tri_blob_read(struct tri_blobs *blobs, const struct tr_fence *fence, struct tr_text uri,
                  uint64_t offset, uint64_t size, struct tri_buffer *bytes, uint64_t *total)
{
    char path[TR_PATH_BYTES_MAX];
    struct stat status;
    int fd = -1;
    int error = blob_path(blobs, uri, path);
    if (error != 0) {
        return error;
    }
    error = blob_open(blobs, fence, path, &fd);
    if (error != 0) {
        return error;
    }
    tri_buffer_clear(bytes);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        error = tri_blob_refuse(blobs, TR_INVALID, path, "it is not a regular file");
    } else if (offset < (uint64_t)status.st_size) {
        uint64_t left = (uint64_t)status.st_size - offset;
        uint64_t most = size < TR_BLOB_READ_BYTES_MAX ? size : TR_BLOB_READ_BYTES_MAX;
        error = read_at(blobs, fd, path, offset, (size_t)(most < left ? most : left), bytes);
    }
    if (error == 0) {
        *total = (uint64_t)status.st_size;
    }
    close(fd);
    return error;
}
