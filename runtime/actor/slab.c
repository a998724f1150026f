/*
 * Grows and releases slabs. While a worker is busy its chunks are kept: needed memory will be
 * needed again, and returning pages costs more than holding them.
 *
 * A slot is the number of a chunk and, in its low bits, of an object in it. Numbers of chunks begin
 * at 1, so slot 0 is no object. The directory may move when it grows; chunks never do, so pointers
 * to objects stay valid.
 */
#include "runtime/actor/slab.h"

#include <string.h>

#define DIRECTORY_FIRST 64

/*
 * Spare memory is reported to other threads in steps of this size: their bound is inexact by as
 * much.
 */
#define TOLD_STEP_BYTES 65536

/* The chunks of a slab before its first huge page. */
static const uint32_t first_chunks[] = {
    TRI_FIRST_CHUNK_BYTES, 32U << 10, 64U << 10, 128U << 10, 256U << 10, 512U << 10, 1U << 20};

int tri_chunk_directory_init(struct tri_chunk_directory *directory)
{
    struct tri_chunk *chunks = tr_alloc_zero(DIRECTORY_FIRST, sizeof *chunks);
    if (chunks == NULL) {
        return TR_MEMORY;
    }
    *directory =
        (struct tri_chunk_directory){.chunks = chunks, .count = 1, .capacity = DIRECTORY_FIRST};
    return 0;
}

/* Frees a chunk; its place stays. */
static void free_chunk(struct tri_chunk *chunk)
{
    if (chunk->is_huge) {
        tr_chunk_free(chunk->base);
    } else {
        tr_free(chunk->base);
    }
    chunk->base = NULL;
}

void tri_chunk_directory_fini(struct tri_chunk_directory *directory)
{
    for (uint32_t i = 1; i < directory->count; i++) {
        free_chunk(&directory->chunks[i]);
    }
    tr_free(directory->chunks);
    tr_memory_spare_change(directory->spare_bytes_told, 0);
    *directory = (struct tri_chunk_directory){0};
}

void tri_chunk_directory_tell(struct tri_chunk_directory *directory)
{
    uint64_t now = directory->spare_bytes;
    uint64_t told = directory->spare_bytes_told;
    if (TR_UNLIKELY((now > told ? now - told : told - now) >= TOLD_STEP_BYTES)) {
        tr_memory_spare_change(told, now);
        directory->spare_bytes_told = now;
    }
}

void tri_slab_init(struct tri_slab *slab, struct tri_chunk_directory *directory,
                   uint32_t object_size)
{
    TR_ASSERT(object_size >= 16 && object_size % 16 == 0);
    TR_ASSERT(object_size <= TRI_FIRST_CHUNK_BYTES);
    *slab = (struct tri_slab){.directory = directory, .object_size = object_size};
}

/* Reserves space for one more chunk's entry. */
static int directory_reserve(struct tri_chunk_directory *directory)
{
    if (directory->free != 0 || directory->count < directory->capacity) {
        return 0;
    }
    uint32_t capacity = directory->capacity * 2;
    if (capacity > 1U << (32 - TRI_SLOT_BITS)) {
        return TR_LIMIT;
    }
    struct tri_chunk *chunks = tr_realloc(directory->chunks, capacity * sizeof *chunks);
    if (chunks == NULL) {
        return TR_MEMORY;
    }
    directory->chunks = chunks;
    directory->capacity = capacity;
    return 0;
}

/* Takes a place for one more chunk, which was reserved. */
static uint32_t directory_take(struct tri_chunk_directory *directory)
{
    uint32_t number = directory->free;
    if (number == 0) {
        return directory->count++;
    }
    directory->free = directory->chunks[number].next;
    return number;
}

/* Starts with the last chunk, all of whose objects are unused. */
static void begin_chunk(struct tri_slab *slab, size_t bytes)
{
    size_t objects = bytes / slab->object_size;
    slab->fresh_slot = slab->last_chunk << TRI_SLOT_BITS;
    slab->fresh_left = objects > TRI_SLOT_MASK ? TRI_SLOT_MASK : (uint32_t)objects;
    slab->object_count += slab->fresh_left;
    slab->directory->spare_bytes += (uint64_t)slab->fresh_left * slab->object_size;
}

int tri_slab_grow(struct tri_slab *slab)
{
    struct tri_chunk_directory *directory = slab->directory;
    int error = directory_reserve(directory);
    if (error != 0) {
        return error;
    }
    bool is_huge = slab->chunk_count >= TR_COUNT_OF(first_chunks);
    size_t bytes = is_huge ? TR_CHUNK_BYTES : first_chunks[slab->chunk_count];
    uint8_t *base = is_huge ? tr_chunk_new() : tr_alloc(bytes);
    if (base == NULL) {
        return TR_MEMORY;
    }
    uint32_t number = directory_take(directory);
    directory->chunks[number] = (struct tri_chunk){.base = base,
                                                   .object_size = (uint16_t)slab->object_size,
                                                   .is_huge = is_huge,
                                                   .next = slab->last_chunk};
    slab->last_chunk = number;
    slab->chunk_count++;
    begin_chunk(slab, bytes);
    return 0;
}

/*
 * The first chunk stays: all of its objects count as unused, and the list of free ones, which leads
 * through freed chunks, is dropped.
 */
bool tri_slab_release(struct tri_slab *slab)
{
    struct tri_chunk_directory *directory = slab->directory;
    if (slab->live_count > 0 || slab->chunk_count <= 1) {
        return false;
    }
    while (slab->chunk_count > 1) {
        uint32_t number = slab->last_chunk;
        struct tri_chunk *chunk = &directory->chunks[number];
        free_chunk(chunk);
        slab->last_chunk = chunk->next;
        slab->chunk_count--;
        chunk->next = directory->free;
        directory->free = number;
    }
    directory->spare_bytes -= (uint64_t)slab->object_count * slab->object_size;
    slab->object_count = 0;
    slab->free_slot = 0;
    begin_chunk(slab, first_chunks[0]);
    return true;
}
