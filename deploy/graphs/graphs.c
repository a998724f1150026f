/*
 * Reading the graphs of a store: first its rows, then the files that an earlier program has left.
 */
#include "deploy/graphs/graphs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/document/limits.h"
#include "deploy/common/file.h"
#include "deploy/common/schemas.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"
#include "schemas/engine/schedule.h"

_Static_assert(TR_GRAPH_HASH_BYTES == TRI_GRAPH_HASH_BYTES, "the store keeps whole hashes");

/* Graphs that are listed at once. */
#define LISTED_MAX 256

/* ---------------------------------------------------------------------------- names */

void tr_graph_hex(const uint8_t *hash, char hex[TR_GRAPH_HEX_BYTES])
{
    for (size_t i = 0; i < TR_GRAPH_HASH_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    }
}

static int digit_of(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

bool tr_graph_of_hex(const char *hex, uint8_t hash[TR_GRAPH_HASH_BYTES])
{
    if (strlen(hex) != TR_GRAPH_HEX_BYTES - 1) {
        return false;
    }
    for (size_t i = 0; i < TR_GRAPH_HASH_BYTES; i++) {
        int high = digit_of(hex[2 * i]);
        int low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        hash[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void tr_graphs_explain(char *words, const char *what, struct tr_bytes hash, int error)
{
    char hex[TR_GRAPH_HEX_BYTES] = "without a hash";
    if (hash.size == TR_GRAPH_HASH_BYTES) {
        tr_graph_hex(hash.data, hex);
    }
    const char *remedy = error == TR_NOT_FOUND || error == TR_STORE_DAMAGED
                             ? "; restore the store from a backup that has it"
                         : error == TR_VERSION ? "; use the program that wrote it"
                                               : "";
    snprintf(words, TRI_STORE_EXPLAIN_BYTES, "the definition of %.200s, graph %s, %s%s%s", what,
             hex,
             error == TR_NOT_FOUND       ? "is missing in the store"
             : error == TR_STORE_DAMAGED ? "is damaged in the store"
                                         : "cannot be read: ",
             error == TR_NOT_FOUND || error == TR_STORE_DAMAGED ? ""
             : error == TR_SYSTEM                               ? strerror(errno)
                                                                : tr_error_text(error),
             remedy);
}

/* -------------------------------------------------------------------------- writing */

int tr_graphs_row(const struct tr_graph *graph, struct tr_buffer *row)
{
    tr_buffer_init(row, TR_GRAPH_ROW_BYTES_MAX);
    tr_buffer_add(row, graph->hash, TR_GRAPH_HASH_BYTES);
    return tr_graph_pack(graph, row);
}

/* -------------------------------------------------------------------------- reading */

int tr_graphs_open(const char *folder, char *explain, struct tri_store **store)
{
    const struct tri_store_options options = {.folder = folder,
                                              .durability = TR_DURABILITY_PROCESS,
                                              .read_only = true,
                                              .records = tr_program_records,
                                              .record_count = tr_program_record_count};
    return tri_store_open(&options, explain, store);
}

/* The file of an earlier program. */
static int read_file(const char *folder, const uint8_t *hash, uint8_t **data, size_t *size)
{
    char path[PATH_MAX];
    char hex[TR_GRAPH_HEX_BYTES];
    char *text = NULL;
    tr_graph_hex(hash, hex);
    int length = snprintf(path, sizeof path, "%s/graphs/%s", folder, hex);
    if (length < 0 || (size_t)length >= sizeof path) {
        return TR_LIMIT;
    }
    int error = tr_file_read(path, TR_GRAPH_BYTES_MAX, &text, size);
    if (error == 0) {
        *data = (uint8_t *)text;
    }
    return error;
}

int tr_graphs_bytes(struct tri_store *store, const char *folder, const uint8_t *hash,
                    uint8_t **data, size_t *size)
{
    int error = tri_store_read_graph(store, hash, data, size);
    return error == TR_NOT_FOUND ? read_file(folder, hash, data, size) : error;
}

/* What was found, which is freed, as a graph. */
static int unpack(uint8_t *data, size_t size, const uint8_t *hash, struct tr_graph **graph)
{
    uint8_t found[TR_GRAPH_HASH_BYTES];
    struct tr_bytes bytes = {.data = data, .size = size};
    tr_digest(bytes, found);
    int error =
        memcmp(found, hash, sizeof found) == 0 ? tr_graph_unpack(bytes, graph) : TR_STORE_DAMAGED;
    tr_free(data);
    return error == TR_MALFORMED ? TR_STORE_DAMAGED : error;
}

int tr_graphs_load(struct tri_store *store, const char *folder, struct tr_bytes hash,
                   struct tr_graph **graph)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (hash.size != TR_GRAPH_HASH_BYTES) {
        return TR_STORE_DAMAGED;
    }
    int error = tr_graphs_bytes(store, folder, hash.data, &data, &size);
    return error != 0 ? error : unpack(data, size, hash.data, graph);
}

int tr_graphs_get(const char *folder, struct tr_bytes hash, struct tr_graph **graph)
{
    struct tri_store *store;
    int error = tr_graphs_open(folder, NULL, &store);
    if (error != 0) {
        return error;
    }
    error = tr_graphs_load(store, folder, hash, graph);
    tri_store_close(store);
    return error;
}

int tr_graphs_read(struct tr_reader *reader, struct tr_bytes hash, struct tr_graph **graph)
{
    uint8_t *data = NULL;
    size_t size = 0;
    if (hash.size != TR_GRAPH_HASH_BYTES) {
        return TR_STORE_DAMAGED;
    }
    int error = tr_reader_graph(reader, hash.data, &data, &size);
    if (error == TR_NOT_FOUND) {
        error = read_file(tr_reader_folder(reader), hash.data, &data, &size);
    }
    return error != 0 ? error : unpack(data, size, hash.data, graph);
}

/* -------------------------------------------------------------------------- listing */

struct listing {
    int (*each)(void *self, const struct tr_graphs_entry *graph);
    void *self;
    uint8_t last[TR_GRAPH_HASH_BYTES];
    uint64_t count;
};

static int show_row(void *self, const struct tri_graph_entry *row)
{
    struct listing *listing = self;
    struct tr_graphs_entry graph = {.put_ms = row->put_ms, .bytes = row->bytes};
    memcpy(graph.hash, row->hash, sizeof graph.hash);
    memcpy(listing->last, row->hash, sizeof listing->last);
    tr_graph_hex(graph.hash, graph.name);
    listing->count++;
    return listing->each(listing->self, &graph);
}

static int show_rows(struct tri_store *store, struct listing *listing)
{
    uint64_t before;
    int error = 0;
    do {
        before = listing->count;
        error = tri_store_list_graphs(store, before == 0 ? NULL : listing->last, LISTED_MAX,
                                      show_row, listing);
    } while (error == 0 && listing->count - before == LISTED_MAX);
    return error;
}

/* A file, unless it is a row already: then it is what a kill has left. */
static int show_file(struct tri_store *store, int folder, const char *name,
                     const struct listing *listing)
{
    struct tr_graphs_entry graph;
    struct stat status;
    uint8_t *data = NULL;
    size_t size = 0;
    if (!tr_graph_of_hex(name, graph.hash) ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return 0;
    }
    int error = tri_store_read_graph(store, graph.hash, &data, &size);
    tr_free(data);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    tr_graph_hex(graph.hash, graph.name);
    graph.put_ms =
        (uint64_t)status.st_ctim.tv_sec * 1000 + (uint64_t)status.st_ctim.tv_nsec / 1000000;
    graph.bytes = (uint64_t)status.st_size;
    return listing->each(listing->self, &graph);
}

static int show_files(struct tri_store *store, const char *place, const struct listing *listing)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    int error = 0;
    int length = snprintf(path, sizeof path, "%s/graphs", place);
    if (length < 0 || (size_t)length >= sizeof path) {
        return TR_LIMIT;
    }
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno == ENOENT ? 0 : TR_SYSTEM;
    }
    while (error == 0 && (entry = readdir(folder)) != NULL) {
        error = show_file(store, dirfd(folder), entry->d_name, listing);
    }
    closedir(folder);
    return error;
}

int tr_graphs_each(struct tri_store *store, const char *folder,
                   int (*each)(void *self, const struct tr_graphs_entry *graph), void *self)
{
    struct listing listing = {.each = each, .self = self};
    int error = show_rows(store, &listing);
    return error != 0 ? error : show_files(store, folder, &listing);
}

int tr_graphs_take_plan(void *self, const void *row)
{
    struct tr_graphs_of_plans *found = self;
    const struct tr_schedule_row *plan = row;
    if (plan->graph.size == sizeof found->hash) {
        memcpy(found->hash, plan->graph.data, sizeof found->hash);
        found->count++;
    }
    return 0;
}
