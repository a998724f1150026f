/*
 * Memory that is given back all at once: whatever a compilation makes is one free.
 *
 * A failed allocation gives NULL and leaves its error in the arena, so that builders return NULL
 * through their levels and the outermost caller asks `error` once at the end. One thread per arena.
 */
#ifndef TR_ACTORS_GRAPH_DOCUMENT_ARENA_H
#define TR_ACTORS_GRAPH_DOCUMENT_ARENA_H

#include "schemas/codec/base.h"

struct tr_arena {
    /* private */
    struct tri_arena_chunk *chunks;
    uint8_t *at;
    uint8_t *end;
    size_t chunk_bytes;
    uint64_t used_bytes;
    /* The first failure: TR_MEMORY, or TR_LIMIT at TR_GRAPH_BYTES_MAX; 0 while there is none. */
    int error;
};

/* An array that grows in an arena; `items` moves when it grows. */
struct tri_vector {
    void *items;
    uint32_t count;
    uint32_t capacity;
};

/* An empty arena; it allocates nothing before its first use. */
void tr_arena_init(struct tr_arena *arena);

/* The same, with a cleared block that is used first, aligned for everything, and the caller's. */
void tr_arena_init_with(struct tr_arena *arena, void *block, size_t size);

/* Gives everything back. The arena may be used again. */
void tr_arena_fini(struct tr_arena *arena);

/* Cleared memory, aligned for everything; never NULL for size 0. NULL when there is no memory. */
TR_MUST_USE void *tr_arena_alloc(struct tr_arena *arena, size_t size);

/* The same for `count` elements. */
TR_MUST_USE void *tr_arena_array(struct tr_arena *arena, size_t count, size_t size);

/*
 * A copy of the text or the bytes; empty where there is no memory. A zero stands behind it, which
 * is no part of it: a text can be handed to what takes strings.
 */
struct tr_text tr_arena_text(struct tr_arena *arena, struct tr_text text);
struct tr_bytes tr_arena_bytes(struct tr_arena *arena, struct tr_bytes bytes);

/* Formatted text; empty where there is no memory. */
struct tr_text tr_arena_print(struct tr_arena *arena, const char *format, ...) TR_PRINTF(2, 3);

/* One more element of `size` bytes at the end of the vector, cleared; NULL without memory. */
TR_MUST_USE void *tri_vector_add(struct tr_arena *arena, struct tri_vector *vector, size_t size);

#endif
