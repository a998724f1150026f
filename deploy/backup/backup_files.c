/*
 * Walking the folders of a store. A table says which there are, and what of each goes along.
 *
 * An unfinished value that has become a blob meanwhile is a second name of it: the tar has it as a
 * link.
 */
#include "deploy/backup/backup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/document/arena.h"
#include "runtime/blob/below.h"
#include "runtime/journal/store.h"
#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/process.h"

#define BLOBS "blobs"
#define PIECES ".pieces"

/* How deep below attempts/ the files of an attempt lie: PROJECT/DOMAIN/EXEC/ATTEMPT/FILE. */
#define ATTEMPT_DEPTH 5

/* What an attempt has written for people. */
static const char *const attempt_files[] = {TR_ATTEMPT_STDOUT, TR_ATTEMPT_STDERR,
                                            TR_ATTEMPT_PROGRESS};

/* A blob with a second name. */
struct twin {
    ino_t inode;
    const char *path;
};

struct adding {
    struct tr_tar_writer *writer;
    const char *folder; /* of the store */
    struct tr_arena arena;
    struct tri_vector twins;
    bool is_complete; /* what is gone is missed */
    char *explain;
};

/* Whether something that the walk is at goes along; of a folder, also what is in it. */
typedef bool takes(const FTSENT *entry);

static bool takes_all(const FTSENT *entry)
{
    (void)entry;
    return true;
}

static bool takes_logs(const FTSENT *entry)
{
    bool is_one = false;
    for (size_t i = 0; i < TR_COUNT_OF(attempt_files); i++) {
        is_one = is_one || strcmp(entry->fts_name, attempt_files[i]) == 0;
    }
    return entry->fts_info == FTS_D ? entry->fts_level < ATTEMPT_DEPTH
                                    : is_one && entry->fts_level == ATTEMPT_DEPTH;
}

/* What begins with a point is not whole. */
static bool takes_whole(const FTSENT *entry)
{
    return entry->fts_level != 1 || entry->fts_name[0] != '.';
}

/* Downloads that have not ended are folders here; they begin anew. */
static bool takes_pieces(const FTSENT *entry)
{
    return entry->fts_level == 0 || entry->fts_info != FTS_D;
}

static const struct {
    const char *name;
    takes *takes;
    bool has_folders; /* they go along as such, also without anything in them */
    bool is_complete;
} folders[] = {
    {"cache", takes_all, false, false},
    {TR_STORE_FETCHED, takes_all, false, false},
    {TR_STORE_CHECKPOINTS, takes_all, true, false},
    {TR_STORE_CODE, takes_whole, true, true},
    {TR_STORE_UPLOADS, takes_whole, true, true},
    {"attempts", takes_logs, false, false},
    {"graphs", takes_all, false, true},
    {BLOBS, takes_whole, true, true},
    {BLOBS "/" PIECES, takes_pieces, false, false},
};

static const char *const files[] = {"settings.yaml", "number", "aside", "poison", "attribution"};

TR_MUST_USE static int fail(const struct adding *adding, int error, const char *what)
{
    if (adding->explain[0] == '\0') {
        (void)snprintf(adding->explain, TRI_STORE_EXPLAIN_BYTES, "%.300s cannot be read: %s", what,
                       error == TR_NOT_FOUND ? "it is gone" : strerror(errno));
    }
    return error;
}

/* ---- Twins. --------------------------------------------------------------------------------- */

static int compare_twins(const void *a, const void *b)
{
    ino_t left = ((const struct twin *)a)->inode;
    ino_t right = ((const struct twin *)b)->inode;
    return left < right ? -1 : left > right ? 1 : 0;
}

static int note_twin(struct adding *adding, const struct tr_tar_entry *entry,
                     const struct stat *status)
{
    struct tr_text path = tr_arena_print(&adding->arena, "%s", entry->path);
    struct twin *twin = tri_vector_add(&adding->arena, &adding->twins, sizeof *twin);
    if (path.size == 0 || twin == NULL) {
        return TR_MEMORY;
    }
    *twin = (struct twin){.inode = status->st_ino, .path = path.data};
    return 0;
}

/* A value that was unfinished: what it has become is there already. */
static bool find_twin(const struct adding *adding, const struct stat *status,
                      struct tr_tar_entry *entry)
{
    const struct twin key = {.inode = status->st_ino};
    const struct twin *found =
        adding->twins.count == 0
            ? NULL
            : bsearch(&key, adding->twins.items, adding->twins.count, sizeof key, compare_twins);
    if (found != NULL) {
        entry->kind = TR_TAR_HARD_LINK;
        entry->size = 0;
        (void)snprintf(entry->target, sizeof entry->target, "%s", found->path);
    }
    return found != NULL;
}

/* ---- One entry. ----------------------------------------------------------------------------- */

static void describe(const struct stat *status, enum tr_tar_kind kind, struct tr_tar_entry *entry)
{
    entry->kind = kind;
    entry->mode = (uint32_t)status->st_mode & 0777;
    entry->size = kind == TR_TAR_FILE ? (uint64_t)status->st_size : 0;
    entry->modified_s = status->st_mtim.tv_sec < 0 ? 0 : (uint64_t)status->st_mtim.tv_sec;
}

static int add_open(struct adding *adding, int source, struct tr_tar_entry *entry)
{
    struct stat status;
    bool is_piece = strncmp(entry->path, BLOBS "/" PIECES, strlen(BLOBS "/" PIECES)) == 0;
    if (fstat(source, &status) != 0) {
        return fail(adding, TR_SYSTEM, entry->path);
    }
    if (!S_ISREG(status.st_mode)) {
        return 0;
    }
    describe(&status, TR_TAR_FILE, entry);
    if (is_piece && find_twin(adding, &status, entry)) {
        return tr_tar_add(adding->writer, entry, -1);
    }
    int error = tr_tar_add(adding->writer, entry, source);
    if (error == 0 && adding->is_complete && status.st_nlink > 1) {
        error = note_twin(adding, entry, &status);
    }
    return error;
}

/* What cannot be opened since it is gone is left out, but for what the database may name. */
static int add_file(struct adding *adding, const char *path, struct tr_tar_entry *entry)
{
    int source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (source < 0) {
        bool is_gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
        return !is_gone               ? fail(adding, TR_SYSTEM, path)
               : !adding->is_complete ? 0
                                      : fail(adding, TR_NOT_FOUND, path);
    }
    int error = add_open(adding, source, entry);
    int number = errno;
    close(source);
    errno = number;
    return error;
}

static int add_link(struct adding *adding, const FTSENT *found, struct tr_tar_entry *entry)
{
    describe(found->fts_statp, TR_TAR_LINK, entry);
    ssize_t size = readlink(found->fts_accpath, entry->target, sizeof entry->target - 1);
    if (size <= 0) {
        return adding->is_complete ? fail(adding, TR_SYSTEM, found->fts_accpath) : 0;
    }
    entry->target[size] = '\0';
    return tr_tar_add(adding->writer, entry, -1);
}

static int add_folder(struct adding *adding, const FTSENT *found, struct tr_tar_entry *entry)
{
    describe(found->fts_statp, TR_TAR_FOLDER, entry);
    return tr_tar_add(adding->writer, entry, -1);
}

static int add_found(struct adding *adding, const FTSENT *found, bool has_folders)
{
    struct tr_tar_entry entry = {.size = 0};
    size_t store = strlen(adding->folder) + 1;
    if (found->fts_pathlen <= store || found->fts_pathlen - store >= sizeof entry.path) {
        return fail(adding, TR_LIMIT, found->fts_path);
    }
    memcpy(entry.path, found->fts_path + store, found->fts_pathlen - store + 1);
    switch (found->fts_info) {
    case FTS_D:
        return has_folders ? add_folder(adding, found, &entry) : 0;
    case FTS_F:
        return add_file(adding, found->fts_accpath, &entry);
    case FTS_SL:
    case FTS_SLNONE:
        return add_link(adding, found, &entry);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        errno = found->fts_errno;
        return errno == ENOENT ? 0 : fail(adding, TR_SYSTEM, found->fts_path);
    default:
        return 0; /* the way back, and what is neither a file nor a folder */
    }
}

/* ---- A folder. ------------------------------------------------------------------------------ */

static int walk(struct adding *adding, FTS *tree, size_t row)
{
    FTSENT *found;
    int error = 0;
    while (error == 0 && (found = fts_read(tree)) != NULL) {
        if (folders[row].takes(found)) {
            error = add_found(adding, found, folders[row].has_folders);
        } else if (found->fts_info == FTS_D) {
            (void)fts_set(tree, found, FTS_SKIP);
        }
    }
    return error;
}

static int add_tree(struct adding *adding, size_t row)
{
    char path[PATH_MAX];
    char *paths[] = {path, NULL};
    int size = snprintf(path, sizeof path, "%s/%s", adding->folder, folders[row].name);
    if (size < 0 || (size_t)size >= sizeof path) {
        return fail(adding, TR_LIMIT, adding->folder);
    }
    if (access(path, F_OK) != 0) {
        return errno == ENOENT ? 0 : fail(adding, TR_SYSTEM, path);
    }
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (tree == NULL) {
        return fail(adding, TR_SYSTEM, path);
    }
    adding->is_complete = folders[row].is_complete;
    int error = walk(adding, tree, row);
    int number = errno;
    (void)fts_close(tree);
    errno = number;
    if (adding->twins.count > 0) {
        qsort(adding->twins.items, adding->twins.count, sizeof(struct twin), compare_twins);
    }
    return error;
}

static int add_small(struct adding *adding, const char *name)
{
    char path[PATH_MAX];
    struct tr_tar_entry entry = {.size = 0};
    (void)snprintf(path, sizeof path, "%.3000s/%s", adding->folder, name);
    (void)snprintf(entry.path, sizeof entry.path, "%s", name);
    adding->is_complete = false;
    return add_file(adding, path, &entry);
}

/* What is in an object store alone comes into the folder first. */
static int bring_blobs(const struct adding *adding)
{
    char words[TR_BLOB_WORDS_BYTES_MAX];
    int error = tri_store_blobs_bring_all(adding->folder, words);
    if (error != 0 && words[0] != '\0') {
        (void)snprintf(adding->explain, TRI_STORE_EXPLAIN_BYTES, "%.500s", words);
    }
    return error == 0 ? 0 : fail(adding, error, BLOBS);
}

int tr_backup_add_files(struct tr_tar_writer *writer, const char *folder, char *explain)
{
    struct adding adding = {.writer = writer, .folder = folder, .explain = explain};
    int error = bring_blobs(&adding);
    tr_arena_init(&adding.arena);
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(files); i++) {
        error = add_small(&adding, files[i]);
    }
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(folders); i++) {
        error = add_tree(&adding, i);
    }
    tr_arena_fini(&adding.arena);
    return error;
}

bool tr_backup_is_path(struct tr_text path)
{
    bool is_one = false;
    for (size_t i = 0; i < TR_COUNT_OF(files); i++) {
        is_one = is_one || tr_text_equal(path, tr_text_of(files[i]));
    }
    for (size_t i = 0; i < TR_COUNT_OF(folders); i++) {
        size_t size = strlen(folders[i].name);
        is_one = is_one || (path.size >= size && memcmp(path.data, folders[i].name, size) == 0 &&
                            (path.size == size || path.data[size] == '/'));
    }
    return is_one && tri_below_check(path) == 0;
}
