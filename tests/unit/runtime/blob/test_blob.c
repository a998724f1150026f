/*
 * The blob store: content by its digest, once; pieces that come again; hostile folders and names;
 * crashes between two steps; a full disk.
 */
#include "runtime/blob/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "schemas/codec/error.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

struct world {
    char store[128];
    struct tri_blobs *blobs;
    atomic_bool is_stopping;
};

/* What was synced since a test has forgotten it, and whether the next sync fails. */
enum { SYNCED_MAX = 64 };

static ino_t synced[SYNCED_MAX];
static size_t synced_count;
static bool is_sync_failing;

/* In the place of the C library's. */
int fsync(int fd)
{
    struct stat status;
    if (is_sync_failing) {
        is_sync_failing = false;
        errno = EIO;
        return -1;
    }
    if (fstat(fd, &status) == 0 && synced_count < SYNCED_MAX) {
        synced[synced_count++] = status.st_ino;
    }
    return (int)syscall(SYS_fsync, fd);
}

static int setup(void **state)
{
    static struct world world;
    world = (struct world){.is_stopping = false};
    snprintf(world.store, sizeof world.store, "/tmp/troupe-blob-XXXXXX");
    assert_non_null(mkdtemp(world.store));
    assert_int_equal(tri_blobs_open(world.store, &world.is_stopping, &world.blobs), 0);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    tri_blobs_close(world->blobs);
    (void)folder_remove(world->store);
    return 0;
}

static void reopen(struct world *world)
{
    tri_blobs_close(world->blobs);
    assert_int_equal(tri_blobs_open(world->store, &world->is_stopping, &world->blobs), 0);
}

static const char *path_of(const struct world *world, const char *name)
{
    static char paths[4][1024];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", world->store, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct tr_bytes bytes_of(const char *text)
{
    return (struct tr_bytes){(const uint8_t *)text, strlen(text)};
}

static int put_path(struct world *world, const char *path, struct tri_blob *blob)
{
    return tri_blob_put(world->blobs, &(struct tri_blob_put){.path = tr_text_of(path)}, blob);
}

static int put(struct world *world, const char *name, struct tri_blob *blob)
{
    return put_path(world, path_of(world, name), blob);
}

static int put_piece(struct world *world, uint64_t offset, const char *text, bool is_last,
                     struct tri_blob *blob)
{
    return tri_blob_write(world->blobs, tr_text_of("value"), offset, bytes_of(text), is_last, blob);
}

static void expect_content(struct world *world, const char *uri, const char *text)
{
    struct tri_buffer bytes = {0};
    uint64_t total;
    assert_int_equal(
        tri_blob_read(world->blobs, NULL, tr_text_of(uri), 0, UINT64_MAX, &bytes, &total), 0);
    assert_int_equal(total, strlen(text));
    assert_int_equal(tri_buffer_size(&bytes), strlen(text));
    assert_memory_equal(tri_buffer_front(&bytes), text, strlen(text));
    tri_buffer_fini(&bytes);
}

/* How many entries there are in a folder of the blob store. */
static int count_entries(struct world *world, const char *name)
{
    char command[600];
    int count = -1;
    snprintf(command, sizeof command, "ls %s | wc -l", path_of(world, name));
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    (void)pclose(pipe);
    return count;
}

static bool was_synced(const char *path)
{
    struct stat status;
    bool is_found = false;
    assert_int_equal(stat(path, &status), 0);
    for (size_t i = 0; i < synced_count; i++) {
        is_found = is_found || synced[i] == status.st_ino;
    }
    return is_found;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    }
    return count;
}

static void a_program_beside_the_engine_disturbs_nothing(void **state)
{
    struct world *world = *state;
    struct tri_blobs *beside;
    struct tri_blob blob;
    char name[32];
    char other[32];
    int fd;
    assert_int_equal(tri_blob_begin(world->blobs, name, &fd), 0);
    close(fd);
    assert_int_equal(tri_blobs_open_beside(world->store, &beside), 0);
    assert_int_equal(count_entries(world, "blobs/.new"), 1);
    assert_int_equal(tri_blob_begin(beside, other, &fd), 0);
    close(fd);
    assert_string_not_equal(name, other);
    assert_int_equal(tri_blob_write(beside, tr_text_of("value"), 0, bytes_of("large"), true, &blob),
                     0);
    expect_content(world, blob.uri, "large");
    tri_blobs_close(beside);
    assert_int_equal(count_entries(world, "blobs/.new"), 2);
    reopen(world);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
    expect_content(world, blob.uri, "large");
}

/* ---- Files. --------------------------------------------------------------------------------- */

static void a_file_is_stored_once(void **state)
{
    struct world *world = *state;
    struct tri_blob first;
    struct tri_blob again;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    write_file(path_of(world, "report.csv"), "a,b\n1,2\n");
    assert_int_equal(put(world, "report.csv", &first), 0);
    assert_int_equal(put(world, "report.csv", &again), 0);
    assert_string_equal(first.uri, again.uri);
    crypto_hash_sha256(digest, (const uint8_t *)"a,b\n1,2\n", 8);
    assert_memory_equal(first.digest, digest, sizeof digest);
    assert_int_equal(first.size, 8);
    assert_false(first.is_directory);
    assert_non_null(strstr(first.uri, "-report.csv"));
    assert_memory_equal(first.uri, "blob:", 5);
    assert_string_equal(strrchr(first.path, '/') + 1, first.uri + 5);
    expect_content(world, first.uri, "a,b\n1,2\n");
    assert_int_equal(count_entries(world, "blobs"), 1);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
    struct stat status;
    assert_int_equal(stat(first.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0444);
    /* The blob itself goes through unchanged. */
    assert_int_equal(put_path(world, first.uri, &again), 0);
    assert_string_equal(first.uri, again.uri);
    assert_string_equal(first.path, again.path);
    assert_memory_equal(first.digest, again.digest, sizeof digest);
    /* So does its path, which was its URI before. */
    assert_int_equal(put_path(world, first.path, &again), 0);
    assert_string_equal(first.uri, again.uri);
    expect_content(world, first.path, "a,b\n1,2\n");
}

static void a_uri_is_a_path_here(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    struct tri_blob found;
    char uri[TR_PATH_BYTES_MAX + 32];
    assert_int_equal(mkdir(path_of(world, "folder"), 0755), 0);
    write_file(path_of(world, "folder/x"), "x");
    assert_int_equal(put(world, "folder", &blob), 0);
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of(blob.uri), &found), 0);
    assert_string_equal(found.path, blob.path);
    assert_string_equal(found.uri, blob.uri);
    assert_true(found.has_digest && found.is_directory);
    /* What lies in a folder has a URI, too, and its content's digest. */
    snprintf(uri, sizeof uri, "%s/x", blob.uri);
    assert_int_equal(tri_blob_digest(world->blobs, tr_text_of(uri), &found), 0);
    assert_string_equal(found.uri, uri);
    assert_int_equal(access(found.path, R_OK), 0);
    assert_int_equal(put(world, "folder/x", &blob), 0);
    assert_memory_equal(found.digest, blob.digest, sizeof blob.digest);
    expect_content(world, uri, "x");
}

static void what_is_no_uri_of_a_blob_is_refused(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    char uri[TR_PATH_BYTES_MAX + 32];
    write_file(path_of(world, "x"), "x");
    assert_int_equal(put(world, "x", &blob), 0);
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of("blob:12"), &blob), TR_INVALID);
    assert_string_equal(tri_blobs_words(world->blobs),
                        "blob:12: it names no blob; write blob:DIGEST or blob:DIGEST-NAME, with "
                        "the 64 digits of the content's SHA-256");
    snprintf(uri, sizeof uri, "%s/../../x", blob.uri);
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of(uri), &blob), TR_INVALID);
    assert_non_null(strstr(tri_blobs_words(world->blobs), ": it leads out of its blob"));
    snprintf(uri, sizeof uri, "blob:%064d", 0);
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of(uri), &blob), TR_NOT_FOUND);
    assert_non_null(strstr(tri_blobs_words(world->blobs), ": No such file or directory"));
}

/* Makes a file of a text at an offset, and a size; dense: zeroes are written where it has none. */
static void write_sparse(const char *path, const char *text, off_t offset, off_t size,
                         bool is_dense)
{
    static const uint8_t zeroes[64 << 10];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    for (off_t at = 0; is_dense && at < size; at += (off_t)sizeof zeroes) {
        assert_int_equal(pwrite(fd, zeroes, sizeof zeroes, at), sizeof zeroes);
    }
    assert_int_equal(pwrite(fd, text, strlen(text), offset), strlen(text));
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

static int64_t bytes_on_disk(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return 512 * (int64_t)status.st_blocks;
}

static void holes_stay_holes(void **state)
{
    static const off_t offsets[] = {0, 9 << 20, (16 << 20) - 4};
    const off_t size = 16 << 20;
    struct world *world = *state;
    struct tri_blob dense;
    struct tri_blob sparse;
    struct stat status;
    assert_int_equal(put_path(world, "/proc/version", &dense), 0); /* whose size is told as 0 */
    assert_true(dense.size > 0);
    for (size_t i = 0; i < TR_COUNT_OF(offsets); i++) {
        write_sparse(path_of(world, "dense"), "text", offsets[i], size, true);
        assert_int_equal(put(world, "dense", &dense), 0);
        write_sparse(path_of(world, "sparse"), "text", offsets[i], size, false);
        assert_int_equal(put(world, "sparse", &sparse), 0);
        assert_memory_equal(sparse.digest, dense.digest, sizeof dense.digest);
        assert_int_equal(sparse.size, size);
        assert_int_equal(stat(sparse.path, &status), 0);
        assert_int_equal(status.st_size, size);
        assert_true(bytes_on_disk(dense.path) >= size);
        assert_true(bytes_on_disk(sparse.path) <= 1 << 20);
    }
}

/* Puts what has to be of a kind. */
static int put_kind(struct world *world, const char *path, enum tr_path_kind kind)
{
    struct tri_blob blob;
    const struct tri_blob_put put = {.path = tr_text_of(path), .kind = kind};
    return tri_blob_put(world->blobs, &put, &blob);
}

static void what_is_of_another_kind_is_refused(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    char inside[TR_PATH_BYTES_MAX + 16];
    assert_int_equal(mkdir(path_of(world, "folder"), 0755), 0);
    write_file(path_of(world, "folder/x"), "x");
    assert_int_equal(put_kind(world, path_of(world, "folder"), TR_PATH_FILE), TR_MISMATCH);
    assert_non_null(strstr(tri_blobs_words(world->blobs),
                           "/folder: it is a folder, and its type is file; name a file, or"));
    assert_int_equal(put_kind(world, path_of(world, "folder/x"), TR_PATH_DIRECTORY), TR_MISMATCH);
    assert_non_null(strstr(tri_blobs_words(world->blobs),
                           "/x: it is a file, and its type is directory; name a folder, or"));
    assert_int_equal(count_entries(world, "blobs"), 0);
    assert_int_equal(put_kind(world, path_of(world, "folder"), TR_PATH_DIRECTORY), 0);
    assert_int_equal(put_kind(world, path_of(world, "folder/x"), TR_PATH_FILE), 0);
    assert_int_equal(put(world, "folder", &blob), 0);
    snprintf(inside, sizeof inside, "%s/x", blob.uri);
    assert_int_equal(put_kind(world, blob.uri, TR_PATH_FILE), TR_MISMATCH);
    assert_int_equal(put_kind(world, inside, TR_PATH_DIRECTORY), TR_MISMATCH);
    assert_int_equal(put_kind(world, inside, TR_PATH_FILE), 0);
    assert_int_equal(count_entries(world, "blobs"), 2);
}

static void a_hint_is_tamed(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    write_file(path_of(world, "x"), "x");
    const struct tri_blob_put hinted = {.path = tr_text_of(path_of(world, "x")),
                                        .hint = tr_text_of("../../etc/pass wd\n.csv")};
    assert_int_equal(tri_blob_put(world->blobs, &hinted, &blob), 0);
    assert_string_equal(strrchr(blob.path, '/') + 65, "-.._.._etc_pass_wd_.csv");
    assert_int_equal(access(blob.path, R_OK), 0);
}

static void uris_are_read(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    char uri[600];
    write_file(path_of(world, "a b"), "x");
    snprintf(uri, sizeof uri, "file://%s/a%%20b", world->store);
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of(uri), &blob), 0);
    assert_string_equal(blob.uri, path_of(world, "a b"));
    assert_string_equal(blob.path, blob.uri);
    snprintf(uri, sizeof uri, "file://localhost%s/a%%20b", world->store);
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of(uri), &blob), 0);
    static const char *const bad[] = {"file://host/x", "file:///a%2",   "file:///a%00b",
                                      "relative",      "s3://bucket/x", ""};
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of(bad[i]), &blob), TR_INVALID);
        assert_non_null(strstr(tri_blobs_words(world->blobs), bad[i]));
    }
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of("/no/such"), &blob), TR_NOT_FOUND);
    assert_non_null(strstr(tri_blobs_words(world->blobs), "/no/such"));
    assert_int_equal(tri_blob_fetch(world->blobs, tr_text_of("/dev/null"), &blob), TR_INVALID);
}

static void a_read_has_limits(void **state)
{
    struct world *world = *state;
    struct tri_buffer bytes = {0};
    struct tri_blob blob;
    uint64_t total;
    static char large[TR_BLOB_READ_BYTES_MAX + 7];
    memset(large, 'x', sizeof large - 1);
    assert_int_equal(put_piece(world, 0, large, true, &blob), 0);
    struct tr_text uri = tr_text_of(blob.uri);
    assert_int_equal(tri_blob_read(world->blobs, NULL, uri, 0, UINT64_MAX, &bytes, &total), 0);
    assert_int_equal(tri_buffer_size(&bytes), TR_BLOB_READ_BYTES_MAX);
    assert_int_equal(total, sizeof large - 1);
    assert_int_equal(tri_blob_read(world->blobs, NULL, uri, total - 2, 100, &bytes, &total), 0);
    assert_int_equal(tri_buffer_size(&bytes), 2);
    assert_int_equal(tri_blob_read(world->blobs, NULL, uri, UINT64_MAX, 100, &bytes, &total), 0);
    assert_int_equal(tri_buffer_size(&bytes), 0);
    tri_buffer_fini(&bytes);
}

/* ---- Folders. ------------------------------------------------------------------------------- */

static void make_folder(struct world *world, const char *name)
{
    char path[600];
    assert_int_equal(mkdir(path_of(world, name), 0700), 0);
    snprintf(path, sizeof path, "%s/b", name);
    write_file(path_of(world, path), "bee");
    snprintf(path, sizeof path, "%s/a", name);
    assert_int_equal(mkdir(path_of(world, path), 0755), 0);
    snprintf(path, sizeof path, "%s/a/run", name);
    write_file(path_of(world, path), "#!");
    assert_int_equal(chmod(path_of(world, path), 0700), 0);
    snprintf(path, sizeof path, "%s/link", name);
    assert_int_equal(symlink("a/../b", path_of(world, path)), 0);
}

static void a_folder_is_its_content(void **state)
{
    struct world *world = *state;
    struct tri_blob first;
    struct tri_blob other;
    make_folder(world, "one");
    make_folder(world, "two");
    assert_int_equal(put(world, "one", &first), 0);
    assert_true(first.is_directory);
    assert_int_equal(first.size, 5);
    assert_int_equal(tri_blob_digest(world->blobs, tr_text_of(path_of(world, "two")), &other), 0);
    assert_memory_equal(first.digest, other.digest, sizeof first.digest);
    assert_int_equal(tri_blob_digest(world->blobs, tr_text_of(first.uri), &other), 0);
    assert_memory_equal(first.digest, other.digest, sizeof first.digest);
    char path[5000];
    struct stat status;
    snprintf(path, sizeof path, "%s/a/run", first.path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0500); /* as closed as the source */
    snprintf(path, sizeof path, "%s/link", first.path);
    expect_content(world, path, "bee");
    /* Each of these is another content. */
    assert_int_equal(chmod(path_of(world, "two/b"), 0755), 0);
    assert_int_equal(tri_blob_digest(world->blobs, tr_text_of(path_of(world, "two")), &other), 0);
    assert_memory_not_equal(first.digest, other.digest, sizeof first.digest);
    assert_int_equal(chmod(path_of(world, "two/b"), 0644), 0);
    assert_int_equal(rename(path_of(world, "two/b"), path_of(world, "two/c")), 0);
    assert_int_equal(tri_blob_digest(world->blobs, tr_text_of(path_of(world, "two")), &other), 0);
    assert_memory_not_equal(first.digest, other.digest, sizeof first.digest);
}

static void what_has_no_content_is_refused(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    static const char *const targets[] = {"/etc/passwd", "..", "a/../../x", "../one/b"};
    for (size_t i = 0; i < TR_COUNT_OF(targets); i++) {
        assert_int_equal(mkdir(path_of(world, "one"), 0700), 0);
        assert_int_equal(symlink(targets[i], path_of(world, "one/door")), 0);
        assert_int_equal(put(world, "one", &blob), TR_INVALID);
        assert_non_null(strstr(tri_blobs_words(world->blobs), "one/door"));
        assert_int_equal(unlink(path_of(world, "one/door")), 0);
        assert_int_equal(rmdir(path_of(world, "one")), 0);
    }
    assert_int_equal(mkdir(path_of(world, "one"), 0700), 0);
    assert_int_equal(mkfifo(path_of(world, "one/pipe"), 0600), 0);
    assert_int_equal(put(world, "one", &blob), TR_INVALID);
    assert_int_equal(put(world, "one/pipe", &blob), TR_INVALID);
    assert_int_equal(count_entries(world, "blobs"), 0);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
}

static void folders_without_end_are_refused(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    char path[512];
    snprintf(path, sizeof path, "%s/deep", world->store);
    for (int i = 0; i < TR_BLOB_DEPTH_MAX + 2; i++) {
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path + strlen(path), sizeof path - strlen(path), "/d");
    }
    assert_int_equal(put(world, "deep", &blob), TR_LIMIT);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
}

/* ---- Pieces. -------------------------------------------------------------------------------- */

static void pieces_become_a_blob(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    struct tri_blob whole;
    assert_int_equal(put_piece(world, 0, "one,", false, &blob), 0);
    assert_string_equal(blob.uri, "");
    assert_int_equal(put_piece(world, 4, "two,", false, &blob), 0);
    assert_int_equal(put_piece(world, 4, "two,", false, &blob), 0); /* its answer was lost */
    assert_int_equal(blob.size, 8);
    reopen(world); /* the engine died: what was answered is there */
    assert_int_equal(put_piece(world, 8, "three", true, &blob), 0);
    expect_content(world, blob.uri, "one,two,three");
    reopen(world);
    assert_int_equal(put_piece(world, 8, "three", true, &whole), 0);
    assert_string_equal(blob.uri, whole.uri);
    assert_memory_equal(blob.digest, whole.digest, sizeof blob.digest);
    assert_int_equal(put_piece(world, 0, "one,", false, &blob), 0); /* from the beginning again */
    expect_content(world, whole.uri, "one,two,three");
    assert_int_equal(tri_blob_write(world->blobs, tr_text_of("other"), 0, bytes_of("one,two,three"),
                                    true, &blob),
                     0);
    assert_string_equal(blob.uri, whole.uri); /* the same content, whole at once */
}

static void missing_pieces_are_refused(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    assert_int_equal(put_piece(world, 4, "two", true, &blob), TR_INVALID);
    assert_int_equal(put_piece(world, 0, "one", false, &blob), 0);
    assert_int_equal(put_piece(world, 4, "two", true, &blob), TR_INVALID);
    assert_non_null(strstr(tri_blobs_words(world->blobs), "missing"));
    static const char *const names[] = {"", "..", "a/b", "/tmp/x", "."};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        assert_int_equal(
            tri_blob_write(world->blobs, tr_text_of(names[i]), 0, bytes_of("x"), false, &blob),
            TR_INVALID);
    }
    assert_int_equal(
        tri_blob_write(world->blobs, tr_text_of("value"), UINT64_MAX, bytes_of("x"), false, &blob),
        TR_LIMIT);
}

/* ---- Crashes, full disks, sweeping. --------------------------------------------------------- */

static void what_was_left_unfinished_is_removed(void **state)
{
    struct world *world = *state;
    write_file(path_of(world, "blobs/.new/0"), "half");
    assert_int_equal(mkdir(path_of(world, "blobs/.new/1"), 0700), 0);
    write_file(path_of(world, "blobs/.new/1/x"), "half");
    reopen(world);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
}

static void a_full_disk_is_told(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    static char large[200001];
    memset(large, 'x', sizeof large - 1);
    write_file(path_of(world, "large"), large);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 100000, .rlim_max = before.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int put_error = put(world, "large", &blob);
    int write_error = put_piece(world, 0, large, true, &blob);
    int piece_error = put_piece(world, 0, large, false, &blob);
    int document_error = tri_document_put(world->blobs, tr_text_of("d"), bytes_of(large));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(put_error, TR_STORE_FULL);
    assert_int_equal(write_error, TR_STORE_FULL);
    assert_int_equal(piece_error, TR_STORE_FULL);
    assert_int_equal(document_error, TR_STORE_FULL);
    assert_int_equal(count_entries(world, "blobs"), 0);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
    /* With room again, all goes on. */
    assert_int_equal(put(world, "large", &blob), 0);
    assert_int_equal(put_piece(world, 0, large, false, &blob), 0);
    assert_int_equal(put_piece(world, 200000, "!", true, &blob), 0);
    assert_int_equal(blob.size, 200001);
}

static void a_long_copy_is_given_up(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    write_file(path_of(world, "x"), "x");
    atomic_store(&world->is_stopping, true);
    assert_int_equal(put(world, "x", &blob), TR_CLOSED);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
}

static bool is_second(void *self, const char *name)
{
    return strcmp(name, self) == 0;
}

static int sweep(struct world *world, uint64_t before_ms, bool is_dry, char *used,
                 struct tri_swept *swept)
{
    struct tri_blob_sweep sweep = {.before_ms = before_ms,
                                   .pieces_before_ms = before_ms,
                                   .is_dry = is_dry,
                                   .self = used,
                                   .is_used = is_second};
    return tri_blob_sweep(world->blobs, &sweep, swept);
}

static void unnamed_blobs_are_swept(void **state)
{
    struct world *world = *state;
    struct tri_blob first;
    struct tri_blob second;
    struct tri_blob unused;
    struct tri_swept swept;
    write_file(path_of(world, "x"), "x");
    make_folder(world, "folder");
    assert_int_equal(put(world, "folder", &first), 0);
    assert_int_equal(put(world, "x", &second), 0);
    assert_int_equal(put_piece(world, 0, "never finished", false, &unused), 0);
    uint64_t now_ms = tri_wall_ms() + 1;
    assert_int_equal(sweep(world, now_ms - 3600000, false, second.uri + 5, &swept), 0);
    assert_int_equal(swept.count, 0);
    assert_int_equal(sweep(world, now_ms, true, second.uri + 5, &swept), 0);
    assert_int_equal(swept.count, 2);
    assert_int_equal(access(first.path, R_OK), 0);
    uint64_t bytes = swept.bytes;
    assert_true(bytes >= strlen("never finished"));
    assert_int_equal(sweep(world, now_ms, false, second.uri + 5, &swept), 0);
    assert_int_equal(swept.count, 2);
    assert_int_equal(swept.bytes, bytes);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
    assert_int_equal(access(second.path, R_OK), 0);
    assert_int_not_equal(access(first.path, R_OK), 0);
    assert_int_equal(put_piece(world, 14, "!", true, &unused), TR_INVALID);
}

/* Each way to ask for a blob, or to store it again, makes it young. */
static void whoever_asks_for_a_blob_keeps_it(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    struct tri_blob again;
    struct tri_swept swept;
    char nobody[] = "";
    static int (*const asks[])(struct tri_blobs *, struct tr_text,
                               struct tri_blob *) = {tri_blob_fetch, tri_blob_digest};
    write_file(path_of(world, "x"), "x");
    assert_int_equal(put(world, "x", &blob), 0);
    for (size_t i = 0; i < TR_COUNT_OF(asks) + 2; i++) {
        uint64_t before_ms = tri_wall_ms();
        while (tri_wall_ms() <= before_ms + 20) { /* the clock of files is a coarse one */
        }
        if (i < TR_COUNT_OF(asks)) {
            assert_int_equal(asks[i](world->blobs, tr_text_of(blob.uri), &again), 0);
        } else if (i == TR_COUNT_OF(asks)) {
            assert_int_equal(put(world, "x", &again), 0);
        } else {
            assert_int_equal(put_path(world, blob.uri, &again), 0);
        }
        assert_int_equal(sweep(world, before_ms, false, nobody, &swept), 0);
        assert_int_equal(swept.count, 0);
    }
    assert_int_equal(sweep(world, tri_wall_ms() + 1, false, nobody, &swept), 0);
    assert_int_equal(swept.count, 1);
}

/* ---- Documents. ----------------------------------------------------------------------------- */

static void documents_are_whole(void **state)
{
    struct world *world = *state;
    struct tri_buffer bytes = {0};
    struct tr_text path = tr_text_of("cache/ab/abcd");
    assert_int_equal(tri_document_get(world->blobs, path, &bytes), TR_NOT_FOUND);
    assert_int_equal(tri_document_put(world->blobs, path, bytes_of("first")), 0);
    assert_int_equal(tri_document_put(world->blobs, path, bytes_of("second")), 0);
    reopen(world);
    assert_int_equal(tri_document_get(world->blobs, path, &bytes), 0);
    assert_int_equal(tri_buffer_size(&bytes), 6);
    assert_memory_equal(tri_buffer_front(&bytes), "second", 6);
    assert_int_equal(count_entries(world, "blobs/.new"), 0);
    tri_buffer_fini(&bytes);
}

/* A name that is not on the disk leads nowhere after the loss of power. */
static void names_of_folders_are_synced(void **state)
{
    struct world *world = *state;
    synced_count = 0;
    reopen(world);
    assert_true(was_synced(world->store) && was_synced(path_of(world, "blobs")));
    for (int i = 0; i < 2; i++) {
        synced_count = 0;
        assert_int_equal(tri_document_put(world->blobs, tr_text_of("cache/ab/abcd"), bytes_of("x")),
                         0);
        assert_true(was_synced(path_of(world, "cache/ab")) && was_synced(path_of(world, "cache")) &&
                    was_synced(world->store));
    }
}

static void a_sync_that_fails_is_told(void **state)
{
    struct world *world = *state;
    struct tri_blob blob;
    int before = count_descriptors();
    is_sync_failing = true;
    assert_int_equal(put_piece(world, 0, "piece", false, &blob), TR_SYSTEM);
    assert_non_null(strstr(tri_blobs_words(world->blobs), "Input/output error"));
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(put_piece(world, 0, "piece", false, &blob), 0);
}

static void hostile_documents_are_refused(void **state)
{
    struct world *world = *state;
    struct tri_buffer bytes = {0};
    static const char *const names[] = {"../x", "/tmp/x", "a/../b", "a//b", ""};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        struct tr_text path = tr_text_of(names[i]);
        assert_int_equal(tri_document_get(world->blobs, path, &bytes), TR_INVALID);
        assert_int_equal(tri_document_put(world->blobs, path, bytes_of("x")), TR_INVALID);
    }
    assert_int_equal(symlink("/etc", path_of(world, "door")), 0);
    assert_int_equal(symlink("/etc/passwd", path_of(world, "file")), 0);
    assert_int_equal(tri_document_get(world->blobs, tr_text_of("door/passwd"), &bytes),
                     TR_NOT_FOUND);
    assert_int_equal(tri_document_put(world->blobs, tr_text_of("door/x"), bytes_of("x")),
                     TR_NOT_FOUND);
    assert_int_equal(tri_document_get(world->blobs, tr_text_of("file"), &bytes), TR_NOT_FOUND);
    assert_int_equal(tri_document_get(world->blobs, tr_text_of("blobs"), &bytes), TR_INVALID);
    tri_buffer_fini(&bytes);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_program_beside_the_engine_disturbs_nothing),
        TEST(a_file_is_stored_once),
        TEST(a_uri_is_a_path_here),
        TEST(what_is_no_uri_of_a_blob_is_refused),
        TEST(holes_stay_holes),
        TEST(what_is_of_another_kind_is_refused),
        TEST(a_hint_is_tamed),
        TEST(uris_are_read),
        TEST(a_read_has_limits),
        TEST(a_folder_is_its_content),
        TEST(what_has_no_content_is_refused),
        TEST(folders_without_end_are_refused),
        TEST(pieces_become_a_blob),
        TEST(missing_pieces_are_refused),
        TEST(what_was_left_unfinished_is_removed),
        TEST(a_full_disk_is_told),
        TEST(a_long_copy_is_given_up),
        TEST(unnamed_blobs_are_swept),
        TEST(whoever_asks_for_a_blob_keeps_it),
        TEST(documents_are_whole),
        TEST(names_of_folders_are_synced),
        TEST(a_sync_that_fails_is_told),
        TEST(hostile_documents_are_refused),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
