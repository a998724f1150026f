/*
 * A ring of bytes between two threads: one writes records, the other reads them.
 *
 * It drops instead of waiting: a record without room is not written, since the writer must never be
 * delayed. Records are contiguous; one of up to half the ring fits whenever the ring is empty.
 */
#ifndef TR_RUNTIME_TRACE_RING_H
#define TR_RUNTIME_TRACE_RING_H

#include <stdatomic.h>

#include "schemas/codec/base.h"

/* Records begin at multiples of this, and `size` is rounded up to it. */
#define TRI_RING_ALIGNMENT 16U

struct tri_ring {
    uint32_t capacity; /* a power of two */
    uint8_t *bytes;
    atomic_uint_fast64_t written; /* total bytes written */
    uint64_t claimed;             /* end of the record that is being written */
    uint64_t read_seen;           /* the writer's copy of `read` */
    uint8_t apart[64];            /* separates writer and reader in different cache lines */
    atomic_uint_fast64_t read;    /* total bytes read */
};

/* Makes a ring of `capacity` bytes, a power of two. TR_MEMORY. */
TR_MUST_USE int tri_ring_init(struct tri_ring *ring, uint32_t capacity);
void tri_ring_fini(struct tri_ring *ring);

/* Writer: reserves a record of `size` bytes, NULL if there is no room. Publish it afterwards. */
void *tri_ring_claim(struct tri_ring *ring, uint32_t size);

/* Writer: makes the claimed record visible to the reader. */
void tri_ring_publish(struct tri_ring *ring);

/* Reader: the oldest record, NULL if there is none. It stays valid until released. */
const void *tri_ring_peek(struct tri_ring *ring, uint32_t *size);

/* Reader: frees the oldest record. */
void tri_ring_release(struct tri_ring *ring);

#endif
