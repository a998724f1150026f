/*
 * The ring. Positions only grow; their low bits are the offset. A record that does not fit before
 * the end of the memory begins at its start, and the rest before the end is marked as skipped.
 *
 * Each side publishes its position with release and reads the other's with acquire: so the reader
 * sees whole records, and the writer never overwrites one that is being read.
 *
 * The release of `written` makes the bytes of a record visible before its position; the release of
 * `read` ensures that the reader has finished with the bytes before the writer reuses them. Each
 * side reads its own position relaxed, as it is the only writer of it.
 */
#include "runtime/trace/ring.h"

#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* The header of each record. */
struct head {
    uint32_t span; /* including this header, rounded up */
    uint32_t size; /* the requested size; 0: skipped, continue at the start */
    uint64_t padding;
};

_Static_assert(sizeof(struct head) == TRI_RING_ALIGNMENT, "a head keeps records aligned");

int tri_ring_init(struct tri_ring *ring, uint32_t capacity)
{
    TR_ASSERT(capacity >= 2 * TRI_RING_ALIGNMENT && (capacity & (capacity - 1)) == 0);
    uint8_t *bytes = tr_alloc(capacity);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    *ring = (struct tri_ring){.capacity = capacity, .bytes = bytes};
    return 0;
}

void tri_ring_fini(struct tri_ring *ring)
{
    tr_free(ring->bytes);
    ring->bytes = NULL;
}

/*
 * The capacity is a power of two and headers have the alignment's size: a header never crosses the
 * end.
 */
static struct head *head_at(const struct tri_ring *ring, uint64_t position)
{
    return (struct head *)(void *)(ring->bytes + (position & (ring->capacity - 1)));
}

/* Whether so many bytes are free. The other side's position is read only if necessary. */
static bool has_room(struct tri_ring *ring, uint64_t written, uint64_t needed)
{
    if (written + needed - ring->read_seen <= ring->capacity) {
        return true;
    }
    ring->read_seen = atomic_load_explicit(&ring->read, memory_order_acquire);
    return written + needed - ring->read_seen <= ring->capacity;
}

/*
 * On the writer's thread. A record is visible to the reader only after it is published. Claim and
 * publish must alternate.
 */
void *tri_ring_claim(struct tri_ring *ring, uint32_t size)
{
    TR_ASSERT(size > 0 && size < UINT32_MAX / 2);
    uint32_t rounded = (size + TRI_RING_ALIGNMENT - 1) & ~(TRI_RING_ALIGNMENT - 1);
    uint32_t span = (uint32_t)sizeof(struct head) + rounded;
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    uint64_t to_end = ring->capacity - (written & (ring->capacity - 1));
    uint64_t skipped = span > to_end ? to_end : 0;
    if (span > ring->capacity || !has_room(ring, written, skipped + span)) {
        return NULL;
    }
    /*
     * The mark and the record are published together by one store. So after a mark the reader
     * always finds a record, and need not read `written` again.
     */
    if (skipped > 0) {
        *head_at(ring, written) = (struct head){.span = (uint32_t)skipped};
    }
    struct head *head = head_at(ring, written + skipped);
    *head = (struct head){.span = span, .size = size};
    ring->claimed = written + skipped + span;
    return head + 1;
}

void tri_ring_publish(struct tri_ring *ring)
{
    atomic_store_explicit(&ring->written, ring->claimed, memory_order_release);
}

/* On the reader's thread. The record stays until it is released. */
const void *tri_ring_peek(struct tri_ring *ring, uint32_t *size)
{
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_acquire);
    if (read == written) {
        return NULL;
    }
    const struct head *head = head_at(ring, read);
    /* A mark: frees its bytes at once. */
    if (head->size == 0) {
        read += head->span;
        atomic_store_explicit(&ring->read, read, memory_order_release);
        head = head_at(ring, read);
    }
    *size = head->size;
    return head + 1;
}

/* Only after a successful peek: the span is read from the header there. */
void tri_ring_release(struct tri_ring *ring)
{
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
    atomic_store_explicit(&ring->read, read + head_at(ring, read)->span, memory_order_release);
}
