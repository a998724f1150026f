/*
 * A ring of bytes between two threads: one puts records in, the other takes them out.
 *
 * It loses rather than waits: a record that has no room is not written, since the writer must never
 * be held back. Records are whole and in one piece; one of up to half the ring has room whenever
 * the ring is empty.
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
    atomic_uint_fast64_t written; /* bytes that were ever put in */
    uint64_t claimed;             /* end of the record that is being written */
    uint64_t read_seen;           /* what the writer knows of `read` */
    uint8_t apart[64];            /* writer and reader do not slow each other down */
    atomic_uint_fast64_t read;    /* bytes that were ever taken out */
};

/* Makes a ring of `capacity` bytes, a power of two. TR_MEMORY. */
TR_MUST_USE int tri_ring_init(struct tri_ring *ring, uint32_t capacity);
void tri_ring_fini(struct tri_ring *ring);

/* Writer: room for a record of `size` bytes, NULL when there is none. Then publish it. */
void *tri_ring_claim(struct tri_ring *ring, uint32_t size);

/* Writer: the claimed record is whole, and the reader may see it. */
void tri_ring_publish(struct tri_ring *ring);

/* Reader: the oldest record, NULL when there is none. It stays where it is until released. */
const void *tri_ring_peek(struct tri_ring *ring, uint32_t *size);

/* Reader: the oldest record is done with. */
void tri_ring_release(struct tri_ring *ring);

#endif
