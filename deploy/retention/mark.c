/*
 * Reading all that may name a file of a store, in the order in which names move: first the list of
 * files, then the documents of the cache and of downloads, the actors that have read them, the
 * history that those have written, and at last what the named ones name themselves. So a name that
 * is somewhere when this ends was somewhere when it was read there, or came with a file that is
 * young.
 */
#include "deploy/retention/mark.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "deploy/common/file.h"
#include "deploy/common/schemas.h"
#include "deploy/graphs/graphs.h"
#include "deploy/history/executions.h"
#include "deploy/retention/pruning_uploads.h"
#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"
#include "schemas/engine/schedule.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/process.h"

/* What the engine's own blobs with a name are called, behind their digits. */
static const char *const read_names[] = {"-inputs.json"};

struct search {
    const struct tr_mark_options *options;
    struct tr_references *references;
    struct tri_store *store;        /* for all but the history, without a snapshot */
    const struct tr_schema *record; /* whose rows come */
    char *explain;
};

static int fail(const struct search *search, int error, const char *what)
{
    if (search->explain[0] == '\0') {
        snprintf(search->explain, TRI_STORE_EXPLAIN_BYTES, "%.300s cannot be read: %s", what,
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return error;
}

/* An error of the store, in its own words; of a file beside it, by its number. */
static int fail_store(const struct search *search, int error)
{
    if (error == TR_SYSTEM) {
        return fail(search, error, search->options->folder);
    }
    if (search->explain[0] == '\0') {
        snprintf(search->explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(search->store));
    }
    return error;
}

static int check_stop(const struct search *search)
{
    const atomic_bool *is_stopping = search->options->is_stopping;
    return is_stopping != NULL && atomic_load(is_stopping) ? TR_CLOSED : 0;
}

/* ------------------------------------------------------------------------ the files */

/* Shows each name in a folder of the store; one that is not there is empty. */
static int each_file(const struct search *search, const char *name,
                     int (*show)(const struct search *search, const char *path, const char *file))
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", search->options->folder, name);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    int error = 0;
    if (folder == NULL) {
        return errno == ENOENT ? 0 : fail(search, TR_SYSTEM, path);
    }
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            error = check_stop(search);
            if (error == 0) {
                error = show(search, path, entry->d_name);
            }
        }
    }
    closedir(folder);
    return error;
}

static bool is_read(const char *file)
{
    size_t size = strlen(file);
    if (size <= TR_REFERENCE_DIGITS) {
        return true;
    }
    for (size_t i = 0; i < TR_COUNT_OF(read_names); i++) {
        if (strcmp(file + TR_REFERENCE_DIGITS, read_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Shows each blob of the store, wherever it has them. */
static int each_blob(struct search *search,
                     int (*each)(void *self, const char *file, uint64_t changed_ms))
{
    char words[TR_BLOB_WORDS_BYTES_MAX];
    int error = tri_store_blobs_each(search->options->folder, each, search, words);
    if (error != 0 && words[0] != '\0') {
        snprintf(search->explain, TRI_STORE_EXPLAIN_BYTES, "%.500s", words);
    }
    return error == 0 || error == TR_CLOSED ? error : fail(search, error, "blobs");
}

static int add_blob(void *self, const char *file, uint64_t changed)
{
    const struct search *search = self;
    int error = check_stop(search);
    (void)changed;
    return error != 0 ? error : tr_references_add(search->references, file, false, is_read(file));
}

/* A folder of code is named by its content, as a blob is; its slash tells them apart. */
static int add_code(const struct search *search, const char *path, const char *file)
{
    char name[NAME_MAX + sizeof "/"];
    (void)path;
    (void)snprintf(name, sizeof name, "%s/", file);
    return tr_references_add(search->references, name, false, false);
}

static int add_graph(void *self, const struct tr_graphs_entry *graph)
{
    const struct search *search = self;
    int error = check_stop(search);
    return error != 0 ? error : tr_references_add(search->references, graph->name, true, true);
}

/* Keeps those newer than the cutoff. */
static int keep_young_blob(void *self, const char *file, uint64_t changed_ms)
{
    const struct search *search = self;
    if (changed_ms > search->options->blobs_before_ms) {
        tr_references_keep(search->references, file);
    }
    return check_stop(search);
}

static int keep_young_graph(void *self, const struct tr_graphs_entry *graph)
{
    const struct search *search = self;
    if (graph->put_ms > search->options->graphs_before_ms) {
        tr_references_keep(search->references, graph->name);
    }
    return check_stop(search);
}

static int each_graph(struct search *search,
                      int (*each)(void *self, const struct tr_graphs_entry *graph))
{
    int error = tr_graphs_each(search->store, search->options->folder, each, search);
    return error == 0 || error == TR_CLOSED ? error : fail_store(search, error);
}

static int list_files(struct search *search)
{
    int error = each_blob(search, add_blob);
    if (error != 0) {
        return error;
    }
    error = each_file(search, TR_STORE_CODE, add_code);
    if (error != 0) {
        return error;
    }
    error = tr_uploads_add(search->options->folder, search->references);
    if (error != 0) {
        return fail(search, error, TR_STORE_UPLOADS);
    }
    error = each_graph(search, add_graph);
    return error != 0 ? error : tr_references_sort(search->references);
}

static int add_here(const struct search *search, const char *path, const char *file)
{
    (void)path;
    return tr_references_add(search->references, file, false, is_read(file));
}

/* Those that lie in the folder of the store, which may be a cache. */
static int list_cache(struct search *search)
{
    int error = each_file(search, "blobs", add_here);
    return error != 0 ? error : tr_references_sort(search->references);
}

static int keep_young_files(struct search *search)
{
    int error = each_blob(search, keep_young_blob);
    return error != 0 ? error : each_graph(search, keep_young_graph);
}

/* ------------------------------------------------------------------------ the actors */

static int read_whole(void *self, const struct tri_op *op)
{
    const struct search *search = self;
    tr_references_read(search->references, op->data, false);
    return check_stop(search);
}

static int read_page(void *self, const struct tri_op *op)
{
    const struct search *search = self;
    tr_references_read(search->references, op->data, true);
    return check_stop(search);
}

static int read_actors(struct search *search)
{
    struct tri_store_visitor visitor = {
        .self = search, .actor = read_whole, .page = read_page, .message = read_whole};
    int error = tri_store_load(search->store, &visitor);
    return error == 0 || error == TR_CLOSED ? error : fail_store(search, error);
}

/* ----------------------------------------------------------------------- the history */

/* Records that are many and say what happened, not what was given. */
static bool is_without_names(const struct tr_schema *record)
{
    return record == &tr_phase_schema || record == &tr_element_block_schema ||
           record == &tr_attempt_schema || record == &tr_progress_schema;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right ? 1 : 0;
}

static void read_field(const struct search *search, const struct tr_field *field,
                       const uint8_t *place)
{
    struct tr_bytes bytes = {.size = 0};
    if (field->kind == TR_FIELD_text || field->kind == TR_FIELD_bytes ||
        field->kind == TR_FIELD_any) {
        memcpy(&bytes, place, sizeof bytes); /* a text has the same two parts */
    } else if (field->kind == TR_FIELD_u64) {
        bytes = (struct tr_bytes){.data = place, .size = sizeof(uint64_t)};
    }
    tr_references_read(search->references, bytes, false);
}

static int read_row(void *self, const void *row)
{
    const struct search *search = self;
    const struct tr_mark_options *options = search->options;
    const struct tr_field *fields = search->record->fields();
    bool has_execution = fields[0].offset == 0 && strcmp(fields[0].name, "execution") == 0;
    if (has_execution && options->gone_count > 0 &&
        bsearch(row, options->gone, options->gone_count, sizeof *options->gone, compare_numbers) !=
            NULL) {
        return 0;
    }
    for (uint16_t i = 0; i < search->record->field_count; i++) {
        if ((fields[i].marks & TRI_ARRAY_MARK) == 0) {
            read_field(search, &fields[i], (const uint8_t *)row + fields[i].offset);
        }
    }
    return check_stop(search);
}

/* A schedule needs its definition as long as it is registered. */
static int read_schedule(void *self, const void *value)
{
    const struct search *search = self;
    const struct tr_schedule_row *row = value;
    tr_references_read(search->references, row->graph, false);
    return check_stop(search);
}

static int read_history(struct search *search)
{
    _Static_assert(sizeof(struct tr_text) == sizeof(struct tr_bytes) &&
                       offsetof(struct tr_text, size) == offsetof(struct tr_bytes, size),
                   "a text is read as bytes");
    struct tr_reader *reader;
    int error = tr_history_open(search->options->folder, search->explain, &reader);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; error == 0 && i < tr_program_record_count; i++) {
        search->record = tr_program_records[i];
        struct tr_reader_query query = {.record = search->record};
        error =
            is_without_names(search->record) ? 0 : tr_reader_rows(reader, &query, read_row, search);
    }
    if (error == 0) {
        struct tr_reader_query schedules = {.record = &tr_schedule_row_schema};
        error = tr_reader_rows(reader, &schedules, read_schedule, search);
    }
    if (error != 0 && error != TR_CLOSED) {
        snprintf(search->explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_reader_explain(reader));
    }
    tr_reader_close(reader);
    return error;
}

/* --------------------------------------------------------------------- the documents */

static int read_file(const struct search *search, const char *folder, const char *file)
{
    char path[PATH_MAX];
    struct tr_bytes bytes;
    struct stat status;
    int size = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (size < 0 || (size_t)size >= sizeof path) {
        return fail(search, TR_LIMIT, folder);
    }
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0; /* it has gone meanwhile, or is a folder: those are people's */
    }
    int error = tr_file_map(path, &bytes);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : fail(search, error, path);
    }
    tr_references_read(search->references, bytes, false);
    tr_file_unmap(bytes);
    return 0;
}

/* One of the folders into which documents are parted; `path` is that of the folder around it. */
static int read_documents_of(const struct search *search, const char *path, const char *file)
{
    char name[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s/%s", slash == NULL ? path : slash + 1, file);
    return each_file(search, name, read_file);
}

static int read_documents(struct search *search)
{
    int error = each_file(search, "cache", read_documents_of);
    return error != 0 ? error : each_file(search, TR_STORE_FETCHED, read_documents_of);
}

static int read_graph(const struct search *search, const char *name)
{
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    uint8_t *data = NULL;
    size_t size = 0;
    if (!tr_graph_of_hex(name, hash)) {
        return 0;
    }
    int error = tr_graphs_bytes(search->store, search->options->folder, hash, &data, &size);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : fail(search, error, name);
    }
    tr_references_read(search->references, (struct tr_bytes){.data = data, .size = size}, false);
    tr_free(data);
    return 0;
}

/* One that has gone meanwhile names nothing. */
static int read_blob(const struct search *search, const char *file)
{
    char folder[PATH_MAX];
    char words[TR_BLOB_WORDS_BYTES_MAX] = "";
    snprintf(folder, sizeof folder, "%s/blobs", search->options->folder);
    int error = tri_store_blobs_bring(search->options->folder, tr_text_of(file), NULL, words);
    if (error != 0 && error != TR_NOT_FOUND) {
        return fail(search, error, words[0] != '\0' ? words : file);
    }
    return read_file(search, folder, file);
}

/* What the named ones name. */
static int read_named(struct search *search)
{
    const char *file;
    bool is_graph;
    int error = 0;
    while (error == 0 && tr_references_next(search->references, &file, &is_graph)) {
        error = check_stop(search);
        if (error == 0) {
            error = is_graph ? read_graph(search, file) : read_blob(search, file);
        }
    }
    return error;
}

/* ------------------------------------------------------------------------ searches */

typedef int step(struct search *search);

/* Makes a search of its steps, in their order. */
static int find(const struct tr_mark_options *options, char *explain, step *const *steps,
                size_t count, struct tr_references **references)
{
    struct search search = {.options = options, .explain = explain};
    explain[0] = '\0';
    int error = tr_references_new(&search.references);
    if (error == 0) {
        error = tr_graphs_open(options->folder, explain, &search.store);
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = steps[i](&search);
    }
    tri_store_close(search.store);
    if (error != 0) {
        tr_references_free(search.references);
        return fail(&search, error, options->folder);
    }
    *references = search.references;
    return 0;
}

int tr_mark_referenced(const struct tr_mark_options *options, char *explain,
                       struct tr_references **references)
{
    static step *const steps[] = {list_files,  keep_young_files, read_documents,
                                  read_actors, read_history,     read_named};
    return find(options, explain, steps, TR_COUNT_OF(steps), references);
}

int tr_mark_active(const struct tr_mark_options *options, char *explain,
                   struct tr_references **references)
{
    static step *const steps[] = {list_cache, read_actors, read_named};
    return find(options, explain, steps, TR_COUNT_OF(steps), references);
}

int tr_mark_list(const char *folder, char *explain, struct tr_references **references)
{
    static step *const steps[] = {list_files};
    const struct tr_mark_options options = {.folder = folder};
    return find(&options, explain, steps, TR_COUNT_OF(steps), references);
}

int tr_mark_follow(const char *folder, struct tr_references *references, char *explain)
{
    struct tr_mark_options options = {.folder = folder};
    struct search search = {.options = &options, .references = references, .explain = explain};
    explain[0] = '\0';
    int error = tr_graphs_open(folder, explain, &search.store);
    if (error == 0) {
        error = read_named(&search);
    }
    tri_store_close(search.store);
    return error;
}
