/*
 * A bump allocator: chunks that double up to a bound, cleared when they are made, and freed
 * together. Nothing in it is ever given back alone, so an allocation is an addition.
 *
 * An allocation that does not fit into the chunk in use begins a new chunk, and the rest of the old
 * one is lost. A chunk is as large as the request where that is larger than the usual size, so any
 * size up to TR_GRAPH_BYTES_MAX works. Doubling keeps the number of chunks logarithmic for small
 * graphs; the bound keeps the loss per chunk below a mebibyte for large ones.
 *
 * The first failure is final: later allocations fail too, even those that would fit. So one
 * question at the end is enough: without an error in the arena nothing is missing.
 */
#include "actors/graph/document/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define CHUNK_BYTES_MIN 4096U
#define CHUNK_BYTES_MAX (1U << 20)
/* That of max_align_t, which also malloc gives. */
#define ALIGNMENT 16U

/*
 * What stands before the memory of a chunk. The padding makes it as large as ALIGNMENT, so that the
 * memory behind it is aligned because the chunk is.
 */
struct tri_arena_chunk {
    struct tri_arena_chunk *next;
    uint64_t padding;
};

void tr_arena_init(struct tr_arena *arena)
{
    *arena = (struct tr_arena){.chunk_bytes = CHUNK_BYTES_MIN};
}

void tr_arena_init_with(struct tr_arena *arena, void *block, size_t size)
{
    *arena = (struct tr_arena){
        .chunk_bytes = CHUNK_BYTES_MIN, .at = block, .end = (uint8_t *)block + size};
}

void tr_arena_fini(struct tr_arena *arena)
{
    struct tri_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct tri_arena_chunk *next = chunk->next;
        tr_free(chunk);
        chunk = next;
    }
    tr_arena_init(arena);
}

static void *fail(struct tr_arena *arena, int error)
{
    if (arena->error == 0) {
        arena->error = error;
    }
    return NULL;
}

/*
 * Makes a chunk that has room for `size` bytes and begins to use it. The bound counts whole chunks,
 * since that is what the process pays; a block of tr_arena_init_with is the caller's and not
 * counted. `used_bytes + room` cannot wrap: both are at most 2 GiB.
 */
static bool grow(struct tr_arena *arena, size_t size)
{
    size_t room = size > arena->chunk_bytes ? size : arena->chunk_bytes;
    if (arena->used_bytes + room > TR_GRAPH_BYTES_MAX) {
        fail(arena, TR_LIMIT);
        return false;
    }
    struct tri_arena_chunk *chunk = tr_alloc_zero(1, sizeof *chunk + room);
    if (chunk == NULL) {
        fail(arena, TR_MEMORY);
        return false;
    }
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->at = (uint8_t *)(chunk + 1);
    arena->end = arena->at + room;
    arena->used_bytes += room;
    if (arena->chunk_bytes < CHUNK_BYTES_MAX) {
        arena->chunk_bytes *= 2;
    }
    return true;
}

void *tr_arena_alloc(struct tr_arena *arena, size_t size)
{
    if (arena->error != 0) {
        return NULL;
    }
    /* Before the rounding below, which would wrap for a size near SIZE_MAX. */
    if (size > TR_GRAPH_BYTES_MAX) {
        return fail(arena, TR_LIMIT);
    }
    /* Size 0 takes a place, too: its result must differ from NULL, which means a failure. */
    size_t needed = size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if ((size_t)(arena->end - arena->at) < needed && !grow(arena, needed)) {
        return NULL;
    }
    void *block = arena->at;
    arena->at += needed;
    return block;
}

void *tr_arena_array(struct tr_arena *arena, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        return fail(arena, TR_LIMIT);
    }
    return tr_arena_alloc(arena, total);
}

struct tr_text tr_arena_text(struct tr_arena *arena, struct tr_text text)
{
    char *copy = text.size == 0 ? NULL : tr_arena_alloc(arena, text.size + 1);
    if (copy == NULL) {
        return (struct tr_text){.data = "", .size = 0};
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return (struct tr_text){.data = copy, .size = text.size};
}

struct tr_bytes tr_arena_bytes(struct tr_arena *arena, struct tr_bytes bytes)
{
    struct tr_text text = {.data = (const char *)bytes.data, .size = bytes.size};
    text = tr_arena_text(arena, text);
    return (struct tr_bytes){.data = (const uint8_t *)text.data, .size = text.size};
}

struct tr_text tr_arena_print(struct tr_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = size <= 0 ? NULL : tr_arena_alloc(arena, (size_t)size + 1);
    if (text == NULL) {
        return (struct tr_text){.data = "", .size = 0};
    }
    /*
     * vsnprintf uses up the list of arguments, so the second pass begins it again. The closing zero
     * gets room but is no part of the text.
     */
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)size + 1, format, arguments);
    va_end(arguments);
    return (struct tr_text){.data = text, .size = (size_t)size};
}

void *tri_vector_add(struct tr_arena *arena, struct tri_vector *vector, size_t size)
{
    if (vector->count == vector->capacity) {
        /*
         * Growing copies, and the old items stay in the arena until its end: all of them together
         * are no larger than the new ones. The product cannot wrap: TR_GRAPH_BYTES_MAX ends the
         * arena long before the capacity comes to 2^32, even for items of one byte.
         */
        uint32_t capacity = vector->capacity == 0 ? 4 : vector->capacity * 2;
        void *items = tr_arena_array(arena, capacity, size);
        if (items == NULL) {
            return NULL;
        }
        if (vector->count > 0) {
            memcpy(items, vector->items, vector->count * size);
        }
        vector->items = items;
        vector->capacity = capacity;
    }
    return (uint8_t *)vector->items + size * vector->count++;
}
