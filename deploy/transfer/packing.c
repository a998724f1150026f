/*
 * Packing: rows as their records pack them, then the files that they name, folders file by file.
 */
#include "deploy/transfer/packing.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/common/file.h"
#include "deploy/graphs/graphs.h"
#include "deploy/retention/mark.h"
#include "runtime/blob/holes.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/runtime/process.h"

static int fail(const struct tr_packing *packing, int error, const char *what)
{
    if (packing->explain[0] == '\0') {
        snprintf(packing->explain, TRI_STORE_EXPLAIN_BYTES, "%.300s: %s", what,
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return error;
}

/* ---------------------------------------------------------------- which executions */

/* A look through all executions for those that one of the found has launched. */
struct finding {
    struct tr_packing_set *found;
    struct tr_buffer addresses; /* of those found, each "/PROJECT/DOMAIN/NAME/" and a zero */
    uint64_t first;
    bool has_more;
};

void tr_packing_set_fini(struct tr_packing_set *executions)
{
    tr_free(executions->numbers);
    *executions = (struct tr_packing_set){.count = 0};
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right ? 1 : 0;
}

bool tr_packing_set_has(const struct tr_packing_set *executions, uint64_t number)
{
    for (size_t i = 0; i < executions->count; i++) {
        if (executions->numbers[i] == number) {
            return true;
        }
    }
    return false;
}

/* Whether the node that launched a row is one of an execution that was found. */
static bool is_launched(const struct finding *finding, struct tr_text parent)
{
    const char *at = (const char *)finding->addresses.data;
    const char *end = at + finding->addresses.size;
    for (; at < end; at += strlen(at) + 1) {
        const char *address = parent.size > 0 && parent.data[0] != '/' ? at + 1 : at;
        size_t size = strlen(address);
        if (parent.size > size && memcmp(parent.data, address, size) == 0) {
            return true;
        }
    }
    return false;
}

static int take_execution(void *self, const void *value)
{
    struct finding *finding = self;
    struct tr_packing_set *found = finding->found;
    const struct tr_execution *row = value;
    bool is_wanted = row->execution == finding->first || is_launched(finding, row->parent);
    if (!is_wanted || tr_packing_set_has(found, row->execution)) {
        return 0;
    }
    uint64_t *grown = tr_realloc(found->numbers, (found->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return TR_MEMORY;
    }
    found->numbers = grown;
    found->numbers[found->count++] = row->execution;
    found->unfinished += tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase) ? 0 : 1;
    finding->has_more = true;
    tr_buffer_add_string(&finding->addresses, "/");
    tr_buffer_add_text(&finding->addresses, row->project);
    tr_buffer_add_string(&finding->addresses, "/");
    tr_buffer_add_text(&finding->addresses, row->domain);
    tr_buffer_add_string(&finding->addresses, "/");
    tr_buffer_add_text(&finding->addresses, row->name);
    tr_buffer_add(&finding->addresses, "/", 2);
    return finding->addresses.error;
}

int tr_packing_set_find(struct tr_reader *reader, const struct tr_execution *row,
                        struct tr_packing_set *executions)
{
    struct finding finding = {.found = executions, .first = row->execution, .has_more = true};
    struct tr_reader_query query = {.record = &tr_execution_schema};
    int error = 0;
    tr_buffer_init(&finding.addresses, 0);
    *executions = (struct tr_packing_set){.count = 0};
    while (error == 0 && finding.has_more) {
        finding.has_more = false;
        error = tr_reader_rows(reader, &query, take_execution, &finding);
    }
    tr_buffer_fini(&finding.addresses);
    if (error != 0) {
        tr_packing_set_fini(executions);
    } else if (executions->count > 0) {
        qsort(executions->numbers, executions->count, sizeof *executions->numbers, compare_numbers);
    }
    return error;
}

/* ----------------------------------------------------------------------------- rows */

int tr_packing_begin(struct tr_packing *packing, const char *path,
                     const struct tr_archive_head *head)
{
    packing->writer.descriptor = -1;
    int error = tr_mark_list(packing->folder, packing->explain, &packing->references);
    if (error != 0) {
        return error;
    }
    error = tr_archive_create(path, &packing->writer);
    if (error != 0) {
        return fail(packing, error, path);
    }
    tr_archive_add(&packing->writer, &tr_archive_head_schema, head);
    return 0;
}

void tr_packing_add(struct tr_packing *packing, const struct tr_archive_op *op, bool is_page)
{
    tr_references_read(packing->references, op->data, is_page);
    tr_archive_add(&packing->writer, &tr_archive_op_schema, op);
}

/* Rows of one record on their way into the archive. */
struct rows {
    struct tr_packing *packing;
    const struct tr_schema *record;
};

/* What is still to be delivered is, by the store that is left: its actor stays there. */
static bool stays_behind(const struct tr_schema *record, const void *row)
{
    const struct tr_notification_row *notification = row;
    return record == &tr_notification_row_schema &&
           notification->status < TR_NOTIFICATION_DELIVERED;
}

static int add_row(void *self, const void *row)
{
    struct rows *rows = self;
    if (stays_behind(rows->record, row)) {
        return 0;
    }
    size_t size_max = rows->record->size_max(row);
    uint8_t *bytes = tr_alloc(size_max);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = rows->record->pack(row, &writer);
    if (error == 0) {
        struct tr_archive_op op = {.kind = TRI_OP_PUT_RECORD,
                                   .type = rows->record->id,
                                   .incarnation = rows->record->version,
                                   .data = {.data = bytes, .size = tr_writer_size(&writer)}};
        tr_packing_add(rows->packing, &op, false);
        error = rows->packing->writer.error;
    }
    tr_free(bytes);
    return error;
}

int tr_packing_rows(struct tr_packing *packing, struct tr_reader *reader)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < packing->executions->count; i++) {
        struct tr_reader_filter filter =
            tr_filter_number("execution", TR_FILTER_EQUAL, packing->executions->numbers[i]);
        for (size_t j = 0; error == 0 && j < tr_history_schema_count; j++) {
            struct rows rows = {.packing = packing, .record = tr_history_schemas[j]};
            struct tr_reader_query query = {
                .record = rows.record, .filters = &filter, .filter_count = 1};
            error = tr_reader_rows(reader, &query, add_row, &rows);
        }
    }
    return error == 0 ? 0 : fail(packing, error, "the history cannot be exported");
}

/* ---------------------------------------------------------------------------- files */

/* A regular file that is added piece by piece. */
struct adding {
    struct tr_packing *packing;
    struct tr_archive_file file; /* the piece, up to its bytes */
    struct tr_bytes bytes;       /* the whole */
    uint64_t at;                 /* up to which it has been added */
};

/* Adds a hole and the data behind it; a file of which nothing is there yet has an empty piece. */
static void add_range(struct adding *adding, const struct tri_range *data)
{
    struct tr_archive_file *file = &adding->file;
    struct tr_archive_writer *writer = &adding->packing->writer;
    file->hole = data->begin - adding->at;
    do {
        uint64_t begin = adding->at + file->hole;
        uint64_t left = data->end - begin;
        file->offset = adding->at;
        file->bytes = (struct tr_bytes){
            .data = adding->bytes.data + begin,
            .size = left < TR_ARCHIVE_PIECE_BYTES ? (size_t)left : TR_ARCHIVE_PIECE_BYTES};
        tr_archive_add(writer, &tr_archive_file_schema, file);
        adding->at = begin + file->bytes.size;
        file->hole = 0;
    } while (adding->at < data->end && writer->error == 0);
}

static int add_ranges(struct adding *adding, int fd)
{
    struct tri_range data;
    do {
        int error = tri_holes_next_data(fd, adding->at, &data);
        if (error != 0) {
            return error;
        }
        if (data.end > adding->at || adding->bytes.size == 0) {
            add_range(adding, &data);
        }
    } while (adding->at < adding->bytes.size && adding->packing->writer.error == 0);
    return adding->packing->writer.error;
}

/* `name` is its path below the store's folder. */
static int add_file(struct tr_packing *packing, const char *path, const char *name, mode_t mode)
{
    struct adding adding = {
        .packing = packing,
        .file = {.path = tr_text_of(name),
                 .kind = (mode & 0100) != 0 ? TR_ARCHIVE_PROGRAM : TR_ARCHIVE_PLAIN}};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? TR_SYSTEM : tr_file_map(path, &adding.bytes);
    if (error == 0) {
        error = add_ranges(&adding, fd);
        tr_file_unmap(adding.bytes);
    }
    if (error != 0) {
        error = fail(packing, error, path);
    }
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

static int add_link(struct tr_packing *packing, const char *path, const char *name)
{
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target);
    if (size < 0) {
        return fail(packing, TR_SYSTEM, path);
    }
    const struct tr_archive_file file = {
        .path = tr_text_of(name),
        .kind = TR_ARCHIVE_LINK,
        .bytes = {.data = (const uint8_t *)target, .size = (size_t)size}};
    tr_archive_add(&packing->writer, &tr_archive_file_schema, &file);
    return packing->writer.error == 0 ? 0 : fail(packing, packing->writer.error, path);
}

static void add_folder(struct tr_packing *packing, const char *name)
{
    struct tr_archive_file file = {.path = tr_text_of(name), .kind = TR_ARCHIVE_FOLDER};
    tr_archive_add(&packing->writer, &tr_archive_file_schema, &file);
}

/* A folder of blobs or of code: all that is in it. */
static int add_tree(struct tr_packing *packing, char *path)
{
    char *const roots[] = {path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;
    int error = 0;
    if (tree == NULL) {
        return fail(packing, TR_SYSTEM, path);
    }
    while (error == 0 && (errno = 0, entry = fts_read(tree)) != NULL) {
        const char *name = entry->fts_path + strlen(packing->folder) + 1;
        if (entry->fts_info == FTS_D) {
            add_folder(packing, name);
        } else if (entry->fts_info == FTS_F) {
            error = add_file(packing, entry->fts_path, name, entry->fts_statp->st_mode);
        } else if (entry->fts_info == FTS_SL) {
            error = add_link(packing, entry->fts_path, name);
        } else if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR) {
            errno = entry->fts_errno;
            error = fail(packing, TR_SYSTEM, entry->fts_path);
        }
    }
    fts_close(tree);
    return error;
}

/* A graph, from the store, under the name that it has in an archive. */
static int add_graph(struct tr_packing *packing, struct tri_store *store, const char *hex)
{
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    uint8_t *data = NULL;
    size_t size = 0;
    char name[sizeof "graphs/" + TR_GRAPH_HEX_BYTES];
    struct adding adding = {.packing = packing, .file = {.kind = TR_ARCHIVE_PLAIN}};
    if (!tr_graph_of_hex(hex, hash)) {
        return fail(packing, TR_STORE_DAMAGED, hex);
    }
    (void)snprintf(name, sizeof name, "graphs/%s", hex);
    adding.file.path = tr_text_of(name);
    int error = tr_graphs_bytes(store, packing->folder, hash, &data, &size);
    if (error != 0) {
        return fail(packing, error, name);
    }
    adding.bytes = (struct tr_bytes){.data = data, .size = size};
    add_range(&adding, &(struct tri_range){.begin = 0, .end = size});
    tr_free(data);
    return packing->writer.error == 0 ? 0 : fail(packing, packing->writer.error, name);
}

static int add_blob(struct tr_packing *packing, const char *file)
{
    char path[PATH_MAX];
    char words[TR_BLOB_WORDS_BYTES_MAX] = "";
    struct stat status;
    int size = snprintf(path, sizeof path, "%s/blobs/%s", packing->folder, file);
    if (size < 0 || (size_t)size >= sizeof path) {
        return fail(packing, TR_LIMIT, file);
    }
    int error = tri_store_blobs_bring(packing->folder, tr_text_of(file), NULL, words);
    if (error != 0) {
        return fail(packing, error, words[0] != '\0' ? words : path);
    }
    if (lstat(path, &status) != 0) {
        return fail(packing, TR_SYSTEM, path);
    }
    const char *name = path + strlen(packing->folder) + 1;
    return S_ISDIR(status.st_mode) ? add_tree(packing, path)
                                   : add_file(packing, path, name, status.st_mode);
}

/* The name has a slash at its end. */
static int add_code(struct tr_packing *packing, const char *name)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/" TR_STORE_CODE "/%.*s", packing->folder,
                        TR_REFERENCE_DIGITS, name);
    return size < 0 || (size_t)size >= sizeof path ? fail(packing, TR_LIMIT, name)
                                                   : add_tree(packing, path);
}

static int add_named(struct tr_packing *packing, struct tri_store *store, const char *file,
                     bool is_graph)
{
    bool is_code = strchr(file, '/') != NULL;
    return is_graph  ? add_graph(packing, store, file)
           : is_code ? add_code(packing, file)
                     : add_blob(packing, file);
}

int tr_packing_finish(struct tr_packing *packing)
{
    const char *file;
    bool is_graph;
    size_t place = 0;
    struct tri_store *store = NULL;
    int error = tr_mark_follow(packing->folder, packing->references, packing->explain);
    if (error == 0) {
        error = tr_graphs_open(packing->folder, packing->explain, &store);
    }
    while (error == 0 && tr_references_each(packing->references, &place, &file, &is_graph)) {
        error = add_named(packing, store, file, is_graph);
    }
    tri_store_close(store);
    if (error == 0) {
        error = tr_archive_finish(&packing->writer);
        if (error != 0) {
            error = fail(packing, error, "the file cannot be written");
        }
    }
    return error;
}

void tr_packing_fini(struct tr_packing *packing, const char *path, bool is_kept)
{
    if (!is_kept) {
        tr_archive_abandon(&packing->writer, path);
    }
    tr_references_free(packing->references);
    packing->references = NULL;
}
