/*
 * Files are written below STORE/import.new, which is nobody's, and settled one after the other when
 * they are whole. What an import that was killed has left there goes with the next one.
 */
#include "deploy/transfer/unpacking_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/common/clock.h"
#include "deploy/common/file.h"
#include "deploy/graphs/graphs.h"
#include "deploy/transfer/unpacking.h"
#include "runtime/blob/below.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/runtime/process.h"

#define ASIDE "import.new"
#define CODE TR_STORE_CODE "/"

/* Code is read-only (deploy/flyte/code.c), and may be for others to read. */
#define CODE_FOLDER_MODE 0755
#define CODE_FILE_MODE 0444
#define CODE_PROGRAM_MODE 0555

/* Files that are written. */
struct files {
    struct tr_unpacking *unpacking;
    struct tri_blobs *blobs;
    int store;
    int descriptor;          /* of the file that is being written; -1: none */
    uint64_t size;           /* of what is written of it */
    char path[PATH_MAX];     /* of it, below the store's folder */
    char settling[PATH_MAX]; /* the blob, graph or code that it is or lies in; empty: none */
};

static int fail(const struct files *files, int error, const char *what)
{
    char *explain = files->unpacking->explain;
    if (explain[0] == '\0') {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: %s", what,
                 error == TR_SYSTEM      ? strerror(errno)
                 : error == TR_MALFORMED ? "it is not what its name says: the file is damaged"
                                         : tr_error_text(error));
    }
    return error;
}

/* ---------------------------------------------------------------------------- names */

/* The first two parts of a path: "blobs/DIGEST-NAME". */
static size_t settled_part(struct tr_text path)
{
    const char *slash = memchr(path.data, '/', path.size);
    size_t first = slash == NULL ? path.size : (size_t)(slash - path.data) + 1;
    slash = memchr(path.data + first, '/', path.size - first);
    return slash == NULL ? path.size : (size_t)(slash - path.data);
}

static bool has_digest(struct tr_text path)
{
    size_t at = 0;
    while (at < path.size && at < TR_REFERENCE_DIGITS &&
           ((path.data[at] >= '0' && path.data[at] <= '9') ||
            (path.data[at] >= 'a' && path.data[at] <= 'f'))) {
        at++;
    }
    return at == TR_REFERENCE_DIGITS && (path.size == at || strchr("-/", path.data[at]) != NULL);
}

bool tr_unpacking_is_path(struct tr_text path)
{
    static const char *const folders[] = {"blobs/", "graphs/", CODE};
    for (size_t i = 0; i < TR_COUNT_OF(folders); i++) {
        size_t size = strlen(folders[i]);
        if (path.size > size && path.size < PATH_MAX - sizeof ASIDE &&
            memcmp(path.data, folders[i], size) == 0) {
            struct tr_text rest = {.data = path.data + size, .size = path.size - size};
            return tri_below_check(path) == 0 && has_digest(rest);
        }
    }
    return false;
}

/* -------------------------------------------------------------------------- settling */

/* A graph becomes a row of the commit with all that names it. */
static int add_graph(struct tr_unpacking *unpacking, const uint8_t *hash, struct tr_bytes bytes)
{
    struct tr_graph *graph = NULL;
    int error = tr_graph_unpack(bytes, &graph);
    if (error != 0) {
        return error;
    }
    tr_graph_free(graph);
    struct tri_op *op = tri_vector_add(&unpacking->arena, &unpacking->ops, sizeof *op);
    uint8_t *row = tr_arena_alloc(&unpacking->arena, TR_GRAPH_HASH_BYTES + bytes.size);
    if (op == NULL || row == NULL) {
        return unpacking->arena.error;
    }
    memcpy(row, hash, TR_GRAPH_HASH_BYTES);
    memcpy(row + TR_GRAPH_HASH_BYTES, bytes.data, bytes.size);
    *op = (struct tri_op){.kind = TRI_OP_PUT_GRAPH,
                          .number = tr_clock_wall_ms(),
                          .data = {.data = row, .size = TR_GRAPH_HASH_BYTES + bytes.size}};
    tri_op_sort_by_hash(op);
    return 0;
}

static int settle_graph(struct files *files, const char *path)
{
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    char hex[TR_GRAPH_HEX_BYTES];
    char name[PATH_MAX];
    struct tr_bytes bytes;
    int error = tr_file_map(path, &bytes);
    if (error != 0) {
        return fail(files, error, path);
    }
    tr_digest(bytes, hash);
    tr_graph_hex(hash, hex);
    snprintf(name, sizeof name, "graphs/%s", hex);
    error = strcmp(name, files->settling) == 0 ? add_graph(files->unpacking, hash, bytes)
                                               : TR_MALFORMED;
    tr_file_unmap(bytes);
    return error == 0 ? 0 : fail(files, error, files->settling);
}

static int settle_blob(struct files *files, const char *path)
{
    const char *name = files->settling + strlen("blobs/");
    const char *hint = name[TR_REFERENCE_DIGITS] == '-' ? name + TR_REFERENCE_DIGITS + 1 : "";
    struct tri_blob blob;
    const struct tri_blob_put put = {
        .path = tr_text_of(path), .hint = tr_text_of(hint), .is_nameless = hint[0] == '\0'};
    int error = tri_blob_put(files->blobs, &put, &blob);
    if (error != 0) {
        return fail(files, error, tri_blobs_words(files->blobs));
    }
    const char *slash = strrchr(blob.path, '/');
    return strcmp(slash + 1, name) == 0 ? 0 : fail(files, TR_MALFORMED, files->settling);
}

/* What is in a folder is on the disk: rows that name it are kept longer than the machine runs. */
static int sync_folder(int store, const char *name)
{
    int folder = openat(store, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int error = folder < 0 || syncfs(folder) != 0 ? TR_SYSTEM : 0;
    if (folder >= 0) {
        close(folder);
    }
    return error;
}

/*
 * Its name is that of the archive that it was unpacked from, so that nobody can say whether it is
 * what its name says; that of a store which has it stays, and is young again to who prunes.
 */
static int settle_code(struct files *files)
{
    char aside[PATH_MAX];
    const char *place = files->settling;
    if (utimensat(files->store, place, NULL, AT_SYMLINK_NOFOLLOW) == 0) {
        return 0;
    }
    snprintf(aside, sizeof aside, ASIDE "/%.2000s", place);
    bool has_folder =
        mkdirat(files->store, TR_STORE_CODE, CODE_FOLDER_MODE) == 0 || errno == EEXIST;
    int error = has_folder ? sync_folder(files->store, aside) : TR_SYSTEM;
    if (error == 0 && renameat(files->store, aside, files->store, place) != 0 && errno != EEXIST &&
        errno != ENOTEMPTY) {
        error = TR_SYSTEM;
    }
    if (error == 0) {
        error = sync_folder(files->store, TR_STORE_CODE);
    }
    return error == 0 ? 0 : fail(files, error, place);
}

static bool is_code(const char *path)
{
    return strncmp(path, CODE, strlen(CODE)) == 0;
}

/* Gives the blob, the graph or the code that was written last its place. */
static int settle(struct files *files)
{
    char path[PATH_MAX];
    int error = 0;
    if (files->descriptor >= 0) {
        close(files->descriptor);
        files->descriptor = -1;
    }
    if (files->settling[0] != '\0') {
        int size = snprintf(path, sizeof path, "%.2000s/" ASIDE "/%.2000s",
                            files->unpacking->folder, files->settling);
        bool is_graph = strncmp(files->settling, "graphs/", strlen("graphs/")) == 0;
        error = size < 0                   ? TR_LIMIT
                : is_graph                 ? settle_graph(files, path)
                : is_code(files->settling) ? settle_code(files)
                                           : settle_blob(files, path);
        snprintf(path, sizeof path, ASIDE "/%.2000s", files->settling);
        (void)!tri_below_remove(files->store, tr_text_of(path));
    }
    files->settling[0] = '\0';
    return error;
}

/* --------------------------------------------------------------------------- writing */

static int make_folder(const struct files *files, const char *path)
{
    int folder = -1;
    mode_t mode = is_code(files->path) ? CODE_FOLDER_MODE : 0700;
    int error = tri_below_folder(files->store, tr_text_of(path), mode, &folder);
    if (folder >= 0) {
        close(folder);
    }
    return error == 0 ? 0 : fail(files, error, path);
}

/* A link as it is: whether it stays inside is seen when the folder around it is settled. */
static int make_link(const struct tri_below_place *place, struct tr_bytes target)
{
    char *text = tr_text_copy((struct tr_text){(const char *)target.data, target.size});
    int error = text == NULL                                       ? TR_MEMORY
                : symlinkat(text, place->folder, place->last) != 0 ? TR_SYSTEM
                                                                   : 0;
    int number = errno;
    tr_free(text);
    errno = number;
    return error;
}

static mode_t mode_of(const struct files *files, uint8_t kind)
{
    bool is_program = kind == TR_ARCHIVE_PROGRAM;
    return is_code(files->path) ? (is_program ? CODE_PROGRAM_MODE : CODE_FILE_MODE)
                                : (is_program ? 0700 : 0600);
}

/* Makes what is no folder; a file is open from then on. Code has no links. */
static int make_file(struct files *files, const char *path, const struct tr_archive_file *file)
{
    struct tri_below_place place;
    if (file->kind == TR_ARCHIVE_LINK && is_code(files->path)) {
        return fail(files, TR_MALFORMED, path);
    }
    int error = tri_below_find(files->store, tr_text_of(path), 0700, &place);
    if (error != 0) {
        return fail(files, error, path);
    }
    if (file->kind == TR_ARCHIVE_LINK) {
        error = make_link(&place, file->bytes);
    } else {
        files->descriptor =
            openat(place.folder, place.last, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                   mode_of(files, file->kind));
        error = files->descriptor < 0 ? TR_SYSTEM : 0;
    }
    if (error != 0) {
        error = fail(files, error, path);
    }
    tri_below_place_close(&place);
    return error;
}

static int begin_file(struct files *files, const struct tr_archive_file *file)
{
    char path[PATH_MAX];
    size_t settled = settled_part(file->path);
    bool is_same = strlen(files->settling) == settled &&
                   memcmp(files->settling, file->path.data, settled) == 0;
    int error = is_same ? 0 : settle(files);
    if (error != 0) {
        return error;
    }
    if (files->descriptor >= 0) {
        close(files->descriptor);
        files->descriptor = -1;
    }
    snprintf(files->settling, sizeof files->settling, "%.*s", (int)settled, file->path.data);
    snprintf(files->path, sizeof files->path, "%.*s", (int)file->path.size, file->path.data);
    snprintf(path, sizeof path, ASIDE "/%.4000s", files->path);
    files->size = 0;
    return file->kind == TR_ARCHIVE_FOLDER ? make_folder(files, path)
                                           : make_file(files, path, file);
}

/* Leaves a hole behind what is there. */
static int add_hole(struct files *files, uint64_t size)
{
    if (size == 0) {
        return 0;
    }
    if (size > (uint64_t)INT64_MAX - files->size) {
        return TR_MALFORMED;
    }
    files->size += size;
    bool is_left = ftruncate(files->descriptor, (off_t)files->size) == 0 &&
                   lseek(files->descriptor, 0, SEEK_END) >= 0;
    return is_left ? 0 : TR_SYSTEM;
}

static int take_file(void *self, const struct tr_archive_file *file)
{
    struct files *files = self;
    int error = file->offset == 0 ? begin_file(files, file) : 0;
    if (error != 0 || file->kind == TR_ARCHIVE_FOLDER || file->kind == TR_ARCHIVE_LINK) {
        return error;
    }
    bool is_next = files->descriptor >= 0 && files->size == file->offset &&
                   tr_text_equal(file->path, tr_text_of(files->path));
    if (!is_next) {
        return fail(files, TR_MALFORMED, files->path);
    }
    error = add_hole(files, file->hole);
    if (error == 0) {
        error = tri_below_write_all(files->descriptor, file->bytes);
    }
    files->size += file->bytes.size;
    return error == 0 ? 0 : fail(files, error, files->path);
}

static void clear(const struct files *files)
{
    if (faccessat(files->store, ASIDE, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        (void)!tri_below_remove(files->store, tr_text_of(ASIDE));
    }
}

int tr_unpacking_files(struct tr_unpacking *unpacking)
{
    char problem[TR_ARCHIVE_PROBLEM_BYTES];
    struct files files = {.unpacking = unpacking, .descriptor = -1};
    struct tr_archive_visitor visitor = {.self = &files, .file = take_file};
    files.store = open(unpacking->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files.store < 0) {
        return fail(&files, TR_SYSTEM, unpacking->folder);
    }
    clear(&files);
    int error = tri_store_blobs_open_beside(unpacking->folder, &files.blobs);
    if (error == 0) {
        error = tr_archive_read(unpacking->bytes, &visitor, problem);
        if (error == 0) {
            error = settle(&files);
        }
    }
    if (files.descriptor >= 0) {
        close(files.descriptor);
    }
    clear(&files);
    tri_blobs_close(files.blobs);
    close(files.store);
    return error == 0 ? 0 : fail(&files, error, "its files cannot be stored");
}
