/*
 * Slabs: objects of one size cut from huge pages, allocated and freed without system calls.
 *
 * Slabs of one worker share a directory of chunks, so that an object is identified by 32 bits (its
 * slot) as well as by its pointer. The first chunks of a slab are smaller, so that it takes at most
 * about twice what was needed at once, and a start does not wait for clearing megabytes. Owned by
 * one worker; no other thread may access them.
 */
#ifndef TR_RUNTIME_ACTOR_SLAB_H
#define TR_RUNTIME_ACTOR_SLAB_H

#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Bits of a slot for the object within its chunk. */
#define TRI_SLOT_BITS 15
#define TRI_SLOT_MASK ((1U << TRI_SLOT_BITS) - 1)

/* The first chunk of each slab; the largest object fits into it. */
#define TRI_FIRST_CHUNK_BYTES 32768

struct tri_chunk {
    uint8_t *base;
    uint32_t next; /* of its slab, or of the free places; 0: the last */
    uint16_t object_size;
    bool is_huge;
};

/* All chunks of a worker. */
struct tri_chunk_directory {
    struct tri_chunk *chunks;
    uint32_t count;
    uint32_t capacity;
    uint32_t free;        /* the first place without a chunk; 0: none */
    uint64_t spare_bytes; /* bytes of free objects: their chunks are kept, and count as used */
    uint64_t spare_bytes_told;
};

/* Objects of one size. */
struct tri_slab {
    struct tri_chunk_directory *directory;
    uint32_t object_size;
    uint32_t free_slot;  /* the first free object; each holds the next; 0: none */
    uint32_t fresh_slot; /* the next never used object of the last chunk */
    uint32_t fresh_left;
    uint32_t live_count;
    uint32_t object_count; /* objects in all its chunks */
    uint32_t chunk_count;
    uint32_t last_chunk; /* chunks are linked from the last to the first */
};

/* Slot 0 is no object: the directory begins with an unused chunk. */
TR_MUST_USE int tri_chunk_directory_init(struct tri_chunk_directory *directory);
void tri_chunk_directory_fini(struct tri_chunk_directory *directory);

/* Reports the spare bytes to tr_memory_needed, if they have changed by much. */
void tri_chunk_directory_tell(struct tri_chunk_directory *directory);

/* A slab of objects of `object_size` bytes, a multiple of 16 and at least 16. */
void tri_slab_init(struct tri_slab *slab, struct tri_chunk_directory *directory,
                   uint32_t object_size);

/* The slow part of tri_slab_take: another chunk. */
TR_MUST_USE int tri_slab_grow(struct tri_slab *slab);

/*
 * Frees all chunks but the first of a slab without live objects; nothing otherwise. Returns whether
 * it freed anything. Slots of it must not be used any more.
 */
bool tri_slab_release(struct tri_slab *slab);

/* The object of a slot. */
static inline void *tri_slot_object(const struct tri_chunk_directory *directory, uint32_t slot)
{
    const struct tri_chunk *chunk = &directory->chunks[slot >> TRI_SLOT_BITS];
    return chunk->base + (size_t)(slot & TRI_SLOT_MASK) * chunk->object_size;
}

/* Takes an object, not cleared; slot 0 when there is no memory. */
static inline uint32_t tri_slab_take(struct tri_slab *slab)
{
    uint32_t slot = slab->free_slot;
    if (TR_LIKELY(slot != 0)) {
        slab->free_slot = *(uint32_t *)tri_slot_object(slab->directory, slot);
    } else {
        if (TR_UNLIKELY(slab->fresh_left == 0) && tri_slab_grow(slab) != 0) {
            return 0;
        }
        slab->fresh_left--;
        slot = slab->fresh_slot++;
    }
    slab->live_count++;
    slab->directory->spare_bytes -= slab->object_size;
    return slot;
}

/* Frees an object. */
static inline void tri_slab_give(struct tri_slab *slab, uint32_t slot)
{
    *(uint32_t *)tri_slot_object(slab->directory, slot) = slab->free_slot;
    slab->free_slot = slot;
    slab->live_count--;
    slab->directory->spare_bytes += slab->object_size;
}

#endif
