/*
 * The graphs of a store: each definition that was ever run is a row of the store under its SHA-256,
 * packed, which comes with or before the first execution of it. A store of an earlier program has
 * them as files of its folder graphs/, which are found there until they are taken into the database
 * (runtime/store_files.h).
 */
#ifndef TR_DEPLOY_GRAPHS_GRAPHS_H
#define TR_DEPLOY_GRAPHS_GRAPHS_H

#include "actors/graph/compiled/graph.h"
#include "runtime/journal/reader.h"

/* The name of a graph: its hash in hexadecimal digits, and a closing zero. */
#define TR_GRAPH_HEX_BYTES (2 * TR_GRAPH_HASH_BYTES + 1)
void tr_graph_hex(const uint8_t *hash, char hex[TR_GRAPH_HEX_BYTES]);

/* The hash of a name; false: it is none. */
bool tr_graph_of_hex(const char *hex, uint8_t hash[TR_GRAPH_HASH_BYTES]);

/* The largest packed graph that a store keeps: databases limit the size of a row. */
#define TR_GRAPH_ROW_BYTES_MAX (512ULL << 20)

/*
 * The row of a graph that has its hash: the hash and the packed graph, in a buffer that the caller
 * ends, also after an error. TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_graphs_row(const struct tr_graph *graph, struct tr_buffer *row);

/* Opens the store in a folder for reading its graphs. Errors and words as tri_store_open. */
TR_MUST_USE int tr_graphs_open(const char *folder, char *explain, struct tri_store **store);

/*
 * Reads the graph of a hash, which becomes the caller's: from the store in a folder, or from the
 * snapshot of a reader. TR_NOT_FOUND, TR_STORE_DAMAGED (it is not what its hash says), TR_VERSION
 * (of a newer program), TR_SYSTEM (errno), TR_MEMORY, and what the store says.
 */
TR_MUST_USE int tr_graphs_get(const char *folder, struct tr_bytes hash, struct tr_graph **graph);
TR_MUST_USE int tr_graphs_read(struct tr_reader *reader, struct tr_bytes hash,
                               struct tr_graph **graph);

/* The same from an open store. */
TR_MUST_USE int tr_graphs_load(struct tri_store *store, const char *folder, struct tr_bytes hash,
                               struct tr_graph **graph);

/* The same as bytes, which the caller frees (tr_free), unchecked, from an open store. */
TR_MUST_USE int tr_graphs_bytes(struct tri_store *store, const char *folder, const uint8_t *hash,
                                uint8_t **data, size_t *size);

/* A graph of a store. */
struct tr_graphs_entry {
    char name[TR_GRAPH_HEX_BYTES];
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    uint64_t put_ms;
    uint64_t bytes;
};

/*
 * Shows each graph of a store once. A nonzero result of `each` stops and is returned; else
 * TR_SYSTEM (errno), and what the store says.
 */
TR_MUST_USE int tr_graphs_each(struct tri_store *store, const char *folder,
                               int (*each)(void *self, const struct tr_graphs_entry *graph),
                               void *self);

/*
 * Says what is wrong with a graph, and what to do about it: in `words` (TRI_STORE_EXPLAIN_BYTES),
 * with its hash. `what` is whose it is.
 */
void tr_graphs_explain(char *words, const char *what, struct tr_bytes hash, int error);

/*
 * The graphs of registered plans that are looked for, by taking the rows of a query
 * (tr_schedule_row_schema): how many there are, and the hash of the last one.
 */
struct tr_graphs_of_plans {
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    uint32_t count;
};

int tr_graphs_take_plan(void *self, const void *row);

#endif
