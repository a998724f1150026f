/*
 * The cache of results: its keys, and the documents under them. Nothing here is an actor; a task's
 * steps are in task_cache.c.
 *
 * A key is the SHA-256 of all that a result depends on: project, domain, task, cache version,
 * interface, and the inputs but for those that are to be ignored, with local files by their content
 * (tri_resolve_apply). Under it lies one document in the store's folder, cache/ab/abcd….
 */
#ifndef TR_ACTORS_VALUES_CACHE_H
#define TR_ACTORS_VALUES_CACHE_H

#include "actors/graph/compiled/graph.h"

#define TR_CACHE_KEY_BYTES TR_GRAPH_HASH_BYTES

/* "cache/", two digits, a slash and all of them, with a closing zero. */
#define TR_CACHE_PATH_BYTES (6 + 2 + 1 + 2 * TR_CACHE_KEY_BYTES + 1)

/* Makes the key. `inputs` are the slots that count, as content. TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tr_cache_key(const struct tr_graph *graph, const struct tr_task *task,
                             const struct tr_settings *settings, struct tr_bytes inputs,
                             uint8_t key[TR_CACHE_KEY_BYTES]);

/* Where the document of a key lies, below the store's folder. */
void tr_cache_path(struct tr_bytes key, char path[TR_CACHE_PATH_BYTES]);

/* What a document says. Texts and bytes are views into it. */
struct tr_cache_document {
    struct tr_bytes key;
    struct tr_text execution; /* that made it, and where */
    struct tr_text path;
    uint64_t made_ms;
    struct tr_bytes outputs;
};

TR_MUST_USE int tr_cache_document_write(const struct tr_cache_document *document,
                                        struct tr_buffer *buffer);

/* TR_MALFORMED, or TR_VERSION for one of a newer program. */
TR_MUST_USE int tr_cache_document_read(struct tr_bytes bytes, struct tr_cache_document *document);

#endif
