/*
 * Taking files into the store: a commit for some of them, then their removal.
 *
 * What is committed at `process` is not on the disk yet, and a file may be; so it is removed only
 * at `full`, and taken again until then.
 */
#include "runtime/store_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/journal/crashes.h"
#include "runtime/memory.h"
#include "schemas/codec/utf8.h"

/* ----------------------------------------------------------------------------- graphs */

/* Of one commit. */
#define FILES_MAX 256
#define BYTES_MAX (16U << 20)

/* A graph whose size no row can have is left where it is. */
#define GRAPH_BYTES_MAX (512U << 20)

#define HEX_BYTES (2 * TRI_GRAPH_HASH_BYTES)

_Static_assert(TRI_GRAPH_HASH_BYTES == crypto_hash_sha256_BYTES, "graphs are known by SHA-256");

struct taking {
    struct tri_store *store;
    int folder;
    bool removes;
    struct tri_op ops[FILES_MAX];
    char names[FILES_MAX][HEX_BYTES + 1];
    size_t count;
    size_t bytes;
};

static void drop(struct taking *taking)
{
    for (size_t i = 0; i < taking->count; i++) {
        tr_free((void *)(uintptr_t)taking->ops[i].data.data);
    }
    taking->count = 0;
    taking->bytes = 0;
}

static int compare(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

/* Commits what was read, and removes the files. */
static int commit(struct taking *taking)
{
    struct tri_commit all = {
        .ops = taking->ops, .count = taking->count, .last_number = taking->store->last_number};
    if (taking->count == 0) {
        return 0;
    }
    qsort(taking->ops, taking->count, sizeof taking->ops[0], compare);
    int error = tri_store_commit(taking->store, &all);
    for (size_t i = 0; error == 0 && taking->removes && i < taking->count; i++) {
        (void)unlinkat(taking->folder, taking->names[i], 0); /* else it is taken again */
    }
    drop(taking);
    return error;
}

static bool read_all(int file, uint8_t *bytes, size_t size)
{
    size_t at = 0;
    ssize_t got = 1;
    while (at < size && got > 0) {
        got = read(file, bytes + at, size - at);
        at += got > 0 ? (size_t)got : 0;
    }
    return at == size;
}

/* Whether the graph behind the hash is what its name says; the hash is written then. */
static bool check(const char *name, uint8_t *row, size_t graph_bytes)
{
    char hex[HEX_BYTES + 1];
    crypto_hash_sha256(row, row + TRI_GRAPH_HASH_BYTES, graph_bytes);
    (void)sodium_bin2hex(hex, sizeof hex, row, TRI_GRAPH_HASH_BYTES);
    return strcmp(hex, name) == 0;
}

/* Reads a file into the next operation; what is no graph is left out. */
static int read_graph(struct taking *taking, const char *name, int file, const struct stat *status)
{
    size_t size = (size_t)status->st_size;
    uint8_t *row = tr_alloc(TRI_GRAPH_HASH_BYTES + size);
    if (row == NULL) {
        return TR_MEMORY;
    }
    if (!read_all(file, row + TRI_GRAPH_HASH_BYTES, size) || !check(name, row, size)) {
        tr_free(row);
        return 0;
    }
    struct tri_op *op = &taking->ops[taking->count];
    *op = (struct tri_op){
        .kind = TRI_OP_PUT_GRAPH,
        .number =
            (uint64_t)status->st_ctim.tv_sec * 1000 + (uint64_t)status->st_ctim.tv_nsec / 1000000,
        .data = {.data = row, .size = TRI_GRAPH_HASH_BYTES + size},
    };
    tri_op_sort_by_hash(op);
    memcpy(taking->names[taking->count], name, HEX_BYTES + 1);
    taking->count++;
    taking->bytes += op->data.size;
    return 0;
}

static int take_graph(struct taking *taking, const char *name)
{
    struct stat status;
    int error = 0;
    if (strlen(name) != HEX_BYTES) {
        return 0;
    }
    int file = openat(taking->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return errno == ENOENT || errno == ELOOP ? 0 : TR_SYSTEM;
    }
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= GRAPH_BYTES_MAX) {
        error = read_graph(taking, name, file, &status);
    }
    (void)close(file);
    bool is_full = taking->count == FILES_MAX || taking->bytes >= BYTES_MAX;
    return error == 0 && is_full ? commit(taking) : error;
}

static int take_graphs(struct taking *taking, DIR *folder)
{
    const struct dirent *entry;
    int error = 0;
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        error = take_graph(taking, entry->d_name);
    }
    return error != 0 ? error : commit(taking);
}

static int take_folder(struct tri_store *store, const char *path, enum tr_durability durability)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : TR_SYSTEM;
    }
    struct taking *taking = tr_alloc_zero(1, sizeof *taking);
    int error = taking == NULL ? TR_MEMORY : 0;
    if (error == 0) {
        taking->store = store;
        taking->folder = dirfd(folder);
        taking->removes = durability == TR_DURABILITY_FULL;
        error = take_graphs(taking, folder);
        drop(taking);
    }
    int number = errno;
    tr_free(taking);
    closedir(folder);
    if (error == 0 && durability == TR_DURABILITY_FULL) {
        (void)rmdir(path); /* what was left stays with it */
    }
    errno = number;
    return error;
}

/* ------------------------------------------------------------------------- the number */

#define NUMBER_DIGITS 16

/* The number in the file, which has a line of digits; 0: there is none. */
static uint64_t read_number(const char *path)
{
    char text[NUMBER_DIGITS + 2] = "";
    char *end = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) {
        (void)close(file);
    }
    unsigned long long number = size == NUMBER_DIGITS + 1 ? strtoull(text, &end, 16) : 0;
    return number != 0 && end == text + NUMBER_DIGITS ? number : 0;
}

/* One that cannot be read is drawn anew, as it always was. */
static int take_number(struct tri_store *store, const char *path, enum tr_durability durability)
{
    uint64_t number = read_number(path);
    uint64_t known = 0;
    size_t size = 0;
    int error = number == 0
                    ? TR_NOT_FOUND
                    : tri_store_read_meta(store, TRI_META_NUMBER, &known, sizeof known, &size);
    if (number != 0 && error == TR_NOT_FOUND) {
        struct tri_op op = {.kind = TRI_OP_PUT_META,
                            .number = TRI_META_NUMBER,
                            .data = {.data = (const uint8_t *)&number, .size = sizeof number}};
        struct tri_commit commit = {.ops = &op, .count = 1, .last_number = store->last_number};
        error = tri_store_commit(store, &commit);
    }
    if (error == 0 && durability == TR_DURABILITY_FULL) {
        (void)unlink(path);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

/* ------------------------------------------------------------ what has ended the process */

/* Of those that one file had. */
#define COUNTS_MAX 256

struct poison_row {
    uint64_t actor_group;
    uint64_t actor_serial;
    uint64_t from_group;
    uint64_t from_serial;
    uint64_t from_incarnation; /* 32 bits */
    uint64_t sequence;
    uint64_t digest;
    uint64_t type; /* 16 bits */
    uint32_t ends;
    uint32_t silent;
};

struct part_row {
    char part[96];
    char function[28];
    uint32_t ended_by;
    uint32_t ends;
};

struct aside_row {
    uint64_t group;
    uint64_t ends;
};

_Static_assert(sizeof(struct poison_row) == 72 && sizeof(struct part_row) == 132,
               "rows are as they were written");

static struct tri_crash_row of_poison(const void *file_row)
{
    const struct poison_row *row = file_row;
    return (struct tri_crash_row){
        .kind = TRI_CRASH_MESSAGE,
        .key = {row->actor_group, row->actor_serial},
        .message = {.from = {{row->from_group, row->from_serial}, (uint32_t)row->from_incarnation},
                    .sequence = row->sequence,
                    .digest = row->digest,
                    .type = (uint16_t)row->type,
                    .ends = row->ends,
                    .silent = row->silent}};
}

/* A text that is none stays empty, and means no part. */
static struct tr_text text_of(const char *text, size_t capacity)
{
    struct tr_text found = {.data = text, .size = strnlen(text, capacity - 1)};
    return tr_utf8_valid(found) ? found : (struct tr_text){.data = text};
}

static struct tri_crash_row of_part(const void *file_row)
{
    const struct part_row *row = file_row;
    struct tri_crash_row found = {.kind = TRI_CRASH_PART,
                                  .part = {.ended_by = row->ended_by, .ends = row->ends}};
    int error = tr_array_set(&found.part.part, text_of(row->part, sizeof row->part));
    TR_ASSERT(error == 0);
    error = tr_array_set(&found.part.function, text_of(row->function, sizeof row->function));
    TR_ASSERT(error == 0);
    return found;
}

static struct tri_crash_row of_aside(const void *file_row)
{
    const struct aside_row *row = file_row;
    return (struct tri_crash_row){.kind = TRI_CRASH_GROUP,
                                  .key = {.group = row->group},
                                  .group = {.ends = (uint32_t)row->ends}};
}

/* A file has a mark, and rows behind it. */
static const struct count_file {
    const char *name;
    uint64_t mark;
    size_t row_bytes;
    size_t rows_max;
    struct tri_crash_row (*row)(const void *file_row);
} count_files[] = {
    {"poison", 0x32304e4f53494f50U /* POISON02 */, sizeof(struct poison_row), 256, of_poison},
    {"attribution", 0x3130454d414c4254U /* TBLAME01 */, sizeof(struct part_row), 64, of_part},
    {"aside", 0x3130454449534154U /* TASIDE01 */, sizeof(struct aside_row), 64, of_aside},
};

/* The number of rows, without a partial last one; -1: there is no such file. */
static ssize_t read_counts(const char *path, const struct count_file *file, void *rows)
{
    uint64_t mark = 0;
    struct iovec parts[] = {{&mark, sizeof mark}, {rows, file->rows_max * file->row_bytes}};
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = opened < 0 ? 0 : readv(opened, parts, 2);
    if (opened >= 0) {
        (void)close(opened);
    }
    bool is_it = size >= (ssize_t)sizeof mark && mark == file->mark;
    return is_it ? (ssize_t)(((size_t)size - sizeof mark) / file->row_bytes) : -1;
}

/*
 * A row that the store has is newer. The file is removed at any durability, or it would bring back
 * what was lifted meanwhile; so a loss of power may cost these counts.
 */
static int take_counts(struct tri_store *store, const char *path, const struct count_file *file,
                       struct tri_crashes *crashes)
{
    uint8_t rows[COUNTS_MAX * sizeof(struct part_row)] __attribute__((aligned(8)));
    ssize_t count = read_counts(path, file, rows);
    if (count < 0) {
        return 0;
    }
    int error = tri_crashes_read(store, crashes);
    for (ssize_t i = 0; error == 0 && i < count && crashes->count < TRI_CRASHES_MAX; i++) {
        const struct tri_crash_row row = file->row(rows + (size_t)i * file->row_bytes);
        if (!tri_crashes_has(crashes, &row)) {
            (void)tri_crashes_row(crashes, &row, (uint32_t)store->incarnation);
        }
    }
    if (error == 0) {
        error = tri_crashes_commit(crashes, store);
    }
    if (error == 0) {
        (void)unlink(path);
    }
    return error;
}

static int take_all_counts(struct tri_store *store, const char *folder)
{
    struct tri_crashes *crashes = tr_alloc(sizeof *crashes);
    int error = crashes == NULL ? TR_MEMORY : 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(count_files); i++) {
        char path[PATH_MAX + 16];
        (void)snprintf(path, sizeof path, "%s/%s", folder, count_files[i].name);
        error = take_counts(store, path, &count_files[i], crashes);
    }
    tr_free(crashes);
    return error;
}

/* --------------------------------------------------------------------------- all of them */

int tri_store_files_take(struct tri_store *store, const char *folder, enum tr_durability durability,
                         char *explain)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/graphs", folder);
    if (size < 0 || (size_t)size >= sizeof path) {
        return 0; /* nothing can be there */
    }
    int error = take_folder(store, path, durability);
    if (error == 0) {
        (void)snprintf(path, sizeof path, "%s/number", folder);
        error = take_number(store, path, durability);
    }
    if (error == 0) {
        error = take_all_counts(store, folder);
    }
    if (error != 0 && explain != NULL) {
        bool is_of_files = error == TR_SYSTEM || error == TR_MEMORY;
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: %s",
                       is_of_files ? path : "the files of an earlier program cannot be taken in",
                       error == TR_SYSTEM   ? strerror(errno)
                       : error == TR_MEMORY ? tr_error_text(error)
                                            : tri_store_explain(store));
    }
    return error;
}
