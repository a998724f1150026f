/*
 * The cache of results: its keys, and the documents under them. Nothing here is an actor; a task's
 * steps are in task_cache.c.
 *
 * A key is made of digests of all that a result depends on: which task it is, its cache version and
 * interface, and the inputs but for those that are to be ignored, with local files by their content
 * (tri_resolve_apply). Under it lies one document in the store's folder, under a name that has the
 * three parts of the key: cache/ab/INPUTS-TASK-VERSION. So what was made of the same inputs lies in
 * one folder, and `troupe explain` finds the nearest entry of a miss without reading all.
 *
 * Of a task of Flyte's INPUTS is the beginning of the hash in the artifact's tag that Flyte gives
 * the same literals (flyte_cached-HASH), and VERSION that of the SHA-256 of its dataset's version
 * (CACHE_VERSION-IN-OUT). So a store can be compared with Flyte's. Where inputs are larger than
 * TR_CACHE_FLYTE_BYTES_MAX or lie in the blob store, INPUTS is as of any other task.
 */
#ifndef TR_ACTORS_VALUES_CACHE_H
#define TR_ACTORS_VALUES_CACHE_H

#include "actors/graph/compiled/graph.h"

/* A key: 16 bytes of the inputs, 8 of the task, 8 of its version and interface. */
#define TR_CACHE_INPUTS_BYTES 16
#define TR_CACHE_TASK_BYTES 8
#define TR_CACHE_VERSION_BYTES 8
#define TR_CACHE_KEY_BYTES (TR_CACHE_INPUTS_BYTES + TR_CACHE_TASK_BYTES + TR_CACHE_VERSION_BYTES)

/* "cache/", two digits, a slash and all of them in three parts, with a closing zero. */
#define TR_CACHE_NAME_BYTES (2 * TR_CACHE_KEY_BYTES + 2)
#define TR_CACHE_PATH_BYTES (6 + 2 + 1 + TR_CACHE_NAME_BYTES + 1)

/* So many inputs are told apart when a miss is explained, each by so many bytes of its digest. */
#define TR_CACHE_COMPARED_MAX 64
#define TR_CACHE_INPUT_BYTES 8

/* The most that is hashed as Flyte does it, one value at a time, in a handler. */
#define TR_CACHE_FLYTE_BYTES_MAX 16384U

/* So many elements of a map have their misses kept, the first ones. */
#define TR_CACHE_MISSES_MAX 1000

/*
 * Whether the key of these inputs, all of them, is made of their literals as Flyte makes it. They
 * keep their types then, and a digest stands in the place of a local path.
 */
bool tr_cache_is_flytes(const struct tr_settings *settings, struct tr_bytes inputs);

/*
 * Makes the key. `inputs` are the slots that count, with `is_flytes` as above, else as content; the
 * digest of each is appended to `digests`, of the first TR_CACHE_COMPARED_MAX of them. TR_MEMORY,
 * TR_LIMIT, TR_MALFORMED.
 */
TR_MUST_USE int tr_cache_key(const struct tr_graph *graph, const struct tr_task *task,
                             const struct tr_settings *settings, struct tr_bytes inputs,
                             bool is_flytes, uint8_t key[TR_CACHE_KEY_BYTES],
                             struct tr_buffer *digests);

/* Where the document of a key lies, below the store's folder. */
void tr_cache_path(struct tr_bytes key, char path[TR_CACHE_PATH_BYTES]);

/* What a key was made of, as it is kept with an entry and with a miss. */
struct tr_cache_subject {
    struct tr_bytes key;
    struct tr_text task; /* PROJECT/DOMAIN/TASK */
    struct tr_text version;
    struct tr_bytes inputs; /* packed: [name, digest, ...] */
};

/* Appends the task of a subject, and its inputs from their digests. The buffer's error. */
TR_MUST_USE int tr_cache_write_task(const struct tr_graph *graph, const struct tr_task *task,
                                    struct tr_buffer *buffer);
TR_MUST_USE int tr_cache_write_inputs(const struct tr_task *task,
                                      const struct tr_settings *settings, struct tr_bytes digests,
                                      struct tr_buffer *buffer);

/* In what an entry differs from what was looked for. */
struct tr_cache_difference {
    bool has_version;   /* another cache version */
    bool has_interface; /* the same, and another interface */
    uint32_t inputs;    /* that differ, or that one of them does not have */
};

/*
 * Compares two subjects of one task. Each input that differs is given to `take`, by its name, or
 * as "" where it is beyond TR_CACHE_COMPARED_MAX. TR_MALFORMED.
 */
TR_MUST_USE int tr_cache_compare(const struct tr_cache_subject *wanted,
                                 const struct tr_cache_subject *entry,
                                 void (*take)(void *self, struct tr_text input), void *self,
                                 struct tr_cache_difference *difference);

/* What a document says. Texts and bytes are views into it. */
struct tr_cache_document {
    struct tr_cache_subject subject;
    struct tr_text execution; /* that made it, and where */
    struct tr_text path;
    uint64_t element; /* or TR_ELEMENT_NONE */
    uint64_t made_ms;
    struct tr_bytes outputs;
};

TR_MUST_USE int tr_cache_document_write(const struct tr_cache_document *document,
                                        struct tr_buffer *buffer);

/* TR_MALFORMED, or TR_VERSION for one of a newer program. */
TR_MUST_USE int tr_cache_document_read(struct tr_bytes bytes, struct tr_cache_document *document);

#endif
