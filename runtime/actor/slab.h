/*
 * Slabs: objects of one size cut from huge pages, given and taken back without asking the system.
 *
 * Slabs of one worker share a directory of chunks, so that an object is known by 32 bits (its
 * slot) as well as by its pointer. The first chunks of a slab are smaller, so that it takes no more
 * than about twice what was needed at once, and a start does not wait for megabytes to be wiped.
 * Owned by one worker; no other thread may look.
 */
#ifndef TR_RUNTIME_ACTOR_SLAB_H
#define TR_RUNTIME_ACTOR_SLAB_H

#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* Objects of one chunk have so many bits of a slot. */
#define TRI_SLOT_BITS 15
#define TRI_SLOT_MASK ((1U << TRI_SLOT_BITS) - 1)

/* The first chunk of each slab; the largest object fits into it. */
#define TRI_FIRST_CHUNK_BYTES 32768

struct tri_chunk {
    uint8_t *base;
    uint32_t next; /* of its slab, or of the places that are free; 0: it is the last */
    uint16_t object_size;
    bool is_huge;
};

/* All chunks of a worker. */
struct tri_chunk_directory {
    struct tri_chunk *chunks;
    uint32_t count;
    uint32_t capacity;
    uint32_t free;        /* the first place whose chunk was given back; 0: none */
    uint64_t spare_bytes; /* of objects that are not out: chunks are kept, and count as used */
    uint64_t spare_bytes_told;
};

/* Objects of one size. */
struct tri_slab {
    struct tri_chunk_directory *directory;
    uint32_t object_size;
    uint32_t free_slot;  /* the first of the free objects; each holds the next; 0: none */
    uint32_t fresh_slot; /* the next object of the last chunk never given */
    uint32_t fresh_left;
    uint32_t live_count;
    uint32_t object_count; /* that its chunks hold */
    uint32_t chunk_count;
    uint32_t last_chunk; /* they are listed from the last to the first */
};

/* Slot 0 is nobody: the directory begins with a chunk that is never used. */
TR_MUST_USE int tri_chunk_directory_init(struct tri_chunk_directory *directory);
void tri_chunk_directory_fini(struct tri_chunk_directory *directory);

/* Tells tr_memory_needed how much is spare here, where that has changed by much. */
void tri_chunk_directory_tell(struct tri_chunk_directory *directory);

/* A slab of objects of `object_size` bytes, a multiple of 16 and at least 16. */
void tri_slab_init(struct tri_slab *slab, struct tri_chunk_directory *directory,
                   uint32_t object_size);

/* The slow part of tri_slab_take: another chunk. */
TR_MUST_USE int tri_slab_grow(struct tri_slab *slab);

/*
 * Gives back all chunks but the first of a slab that has no object out; of any other, nothing.
 * Whether there was something. Who still has a slot of it may not look there any more.
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

/* Gives an object back. */
static inline void tri_slab_give(struct tri_slab *slab, uint32_t slot)
{
    *(uint32_t *)tri_slot_object(slab->directory, slot) = slab->free_slot;
    slab->free_slot = slot;
    slab->live_count--;
    slab->directory->spare_bytes += slab->object_size;
}

#endif
