/*
 * Graphs are deleted by their hashes and by time: one that somebody puts meanwhile stays, whoever
 * deletes.
 */
#include "deploy/retention/pruning_graphs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/common/client.h"
#include "deploy/common/schemas.h"
#include "deploy/graphs/graphs.h"
#include "runtime/memory.h"
#include "runtime/store_open.h"
#include "schemas/engine/history_views.h"
#include "schemas/engine/retention.h"

/* How long the engine may take for one share. */
#define FORGET_MS 10000

/* Graphs that are to go. */
struct unnamed {
    const struct tr_prune_request *request;
    const struct tr_references *references;
    uint64_t before_ms;
    uint8_t *hashes;
    size_t count;
    size_t capacity;
    uint64_t bytes;
    char *explain;
};

static int fail(const struct unnamed *unnamed, int error)
{
    if (unnamed->explain[0] == '\0') {
        snprintf(unnamed->explain, TRI_STORE_EXPLAIN_BYTES, "definitions cannot be removed: %s",
                 error == TR_SYSTEM ? strerror(errno) : tr_error_text(error));
    }
    return error;
}

static bool is_stopping(const struct tr_prune_request *request)
{
    return request->is_stopping != NULL && atomic_load(request->is_stopping);
}

/* ------------------------------------------------------------------------- finding */

static int take(void *self, const struct tr_graphs_entry *graph)
{
    struct unnamed *unnamed = self;
    if (is_stopping(unnamed->request)) {
        return TR_CLOSED;
    }
    if (graph->put_ms > unnamed->before_ms || tr_references_has(unnamed->references, graph->name)) {
        return 0;
    }
    if (unnamed->count == unnamed->capacity) {
        size_t capacity = 2 * unnamed->capacity + 64;
        uint8_t *grown = tr_realloc(unnamed->hashes, capacity * TR_GRAPH_HASH_BYTES);
        if (grown == NULL) {
            return TR_MEMORY;
        }
        unnamed->hashes = grown;
        unnamed->capacity = capacity;
    }
    memcpy(unnamed->hashes + unnamed->count++ * TR_GRAPH_HASH_BYTES, graph->hash,
           TR_GRAPH_HASH_BYTES);
    unnamed->bytes += graph->bytes;
    return 0;
}

static int find(struct unnamed *unnamed)
{
    struct tri_store *store;
    int error = tr_graphs_open(unnamed->request->folder, unnamed->explain, &store);
    if (error != 0) {
        return error;
    }
    error = tr_graphs_each(store, unnamed->request->folder, take, unnamed);
    tri_store_close(store);
    return error;
}

/* ------------------------------------------------------------------------ removing */

static struct tr_bytes share_of(const struct unnamed *unnamed, size_t at)
{
    size_t left = unnamed->count - at;
    size_t count = left < TR_FORGET_GRAPHS_MAX ? left : TR_FORGET_GRAPHS_MAX;
    return (struct tr_bytes){.data = unnamed->hashes + at * TR_GRAPH_HASH_BYTES,
                             .size = count * TR_GRAPH_HASH_BYTES};
}

static int ask(const struct unnamed *unnamed, struct tri_client *client, struct tr_bytes share)
{
    const struct tr_forget forget = {.graphs = share, .before_ms = unnamed->before_ms};
    struct tr_forgotten forgotten;
    struct tri_request answer;
    int error = tr_client_call(client, &tr_forget_schema, &forget, &tr_forgotten_schema, FORGET_MS,
                               NULL, NULL, &answer);
    if (error == 0) {
        error = answer.type == tr_forgotten_schema.id
                    ? tr_forgotten_unpack(answer.body, answer.version, &forgotten)
                    : TR_UNKNOWN_TYPE; /* an older engine */
    }
    return error != 0 ? error : (int)forgotten.error;
}

static int ask_all(const struct unnamed *unnamed, struct tri_client *client)
{
    int error = 0;
    for (size_t at = 0; error == 0 && at < unnamed->count; at += TR_FORGET_GRAPHS_MAX) {
        error =
            is_stopping(unnamed->request) ? TR_CLOSED : ask(unnamed, client, share_of(unnamed, at));
    }
    return error;
}

/* The hashes are in the order of the store, and so are the operations. */
static int remove_share(const struct unnamed *unnamed, struct tri_store *store,
                        struct tr_bytes share)
{
    struct tri_op ops[TR_FORGET_GRAPHS_MAX];
    struct tri_commit commit = {.ops = ops, .last_number = store->last_number};
    for (size_t at = 0; at < share.size; at += TR_GRAPH_HASH_BYTES) {
        ops[commit.count] = (struct tri_op){.kind = TRI_OP_DELETE_GRAPH,
                                            .number = unnamed->before_ms,
                                            .data = {share.data + at, TR_GRAPH_HASH_BYTES}};
        tri_op_sort_by_hash(&ops[commit.count++]);
    }
    return tri_store_commit(store, &commit);
}

static int remove_all(const struct unnamed *unnamed, struct tri_store *store)
{
    int error = 0;
    for (size_t at = 0; error == 0 && at < unnamed->count; at += TR_FORGET_GRAPHS_MAX) {
        error = is_stopping(unnamed->request) ? TR_CLOSED
                                              : remove_share(unnamed, store, share_of(unnamed, at));
    }
    if (error != 0 && error != TR_CLOSED) {
        snprintf(unnamed->explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
    }
    return error;
}

/* Without a client: in the store itself, or by the engine that has it. */
static int remove_alone(const struct unnamed *unnamed)
{
    struct tri_store *store;
    struct tri_client *client;
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    const struct tri_store_options options = {.folder = unnamed->request->folder,
                                              .durability = TR_DURABILITY_FULL,
                                              .records = tr_program_records,
                                              .record_count = tr_program_record_count,
                                              .views = &tr_history_views};
    int error = tri_store_open(&options, words, &store);
    if (error == 0) {
        error = remove_all(unnamed, store);
        tri_store_close(store);
        return error;
    }
    if (error == TR_STORE_LOCKED && tri_client_open(unnamed->request->folder, &client) == 0) {
        error = ask_all(unnamed, client);
        tri_client_close(client);
        return error;
    }
    snprintf(unnamed->explain, TRI_STORE_EXPLAIN_BYTES, "%s", words);
    return error;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, TR_GRAPH_HASH_BYTES);
}

int tr_prune_graphs(const struct tr_prune_request *request, struct tri_client *client,
                    const struct tr_references *references, uint64_t before_ms, char *explain,
                    struct tr_pruned_part *part)
{
    struct unnamed unnamed = {
        .request = request, .references = references, .before_ms = before_ms, .explain = explain};
    int error = find(&unnamed);
    if (error == 0 && unnamed.count > 0 && !request->is_dry) {
        qsort(unnamed.hashes, unnamed.count, TR_GRAPH_HASH_BYTES, compare_hashes);
        error = client != NULL ? ask_all(&unnamed, client) : remove_alone(&unnamed);
    }
    if (error == 0) {
        part->count += unnamed.count;
        part->bytes += unnamed.bytes;
    }
    tr_free(unnamed.hashes);
    return error == 0 ? 0 : fail(&unnamed, error);
}
