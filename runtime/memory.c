/*
 * The access to the system's memory. Each block has its size in front, so that memory in use can be
 * counted at any time; 16 bytes keep malloc's alignment.
 *
 * The counts are relaxed atomics: only totals are read, and they order nothing else. A failed
 * allocation changes no count and no block, so a caller can continue with what it has.
 *
 * The hook of simulators and tests is asked before the system, with the requested size. It is a
 * plain variable: it may be set only while one thread runs.
 */
#include "runtime/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define HEADER_BYTES 16

static atomic_uint_fast64_t used_bytes;
static atomic_uint_fast64_t spare_bytes;
static bool (*allow_hook)(void *self, size_t size);
static void *allow_self;

static bool allowed(size_t size)
{
    return allow_hook == NULL || allow_hook(allow_self, size);
}

/* Counts the requested size, without the header and malloc's rounding. */
static void count_up(size_t size)
{
    atomic_fetch_add_explicit(&used_bytes, size, memory_order_relaxed);
}

static void count_down(size_t size)
{
    atomic_fetch_sub_explicit(&used_bytes, size, memory_order_relaxed);
}

/* Stores the size in front of the returned memory. */
static void *finish(uint8_t *raw, size_t size)
{
    if (raw == NULL) {
        return NULL;
    }
    memcpy(raw, &size, sizeof size);
    count_up(size);
    return raw + HEADER_BYTES;
}

static size_t size_of(const uint8_t *raw)
{
    size_t size;
    memcpy(&size, raw, sizeof size);
    return size;
}

void *tr_alloc(size_t size)
{
    if (size == 0 || size > SIZE_MAX - HEADER_BYTES || !allowed(size)) {
        return NULL;
    }
    return finish(malloc(size + HEADER_BYTES), size);
}

void *tr_alloc_zero(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || total == 0 ||
        total > SIZE_MAX - HEADER_BYTES || !allowed(total)) {
        return NULL;
    }
    return finish(calloc(1, total + HEADER_BYTES), total);
}

/* The size in front moves with the block, and is overwritten only after realloc has succeeded. */
void *tr_realloc(void *block, size_t size)
{
    if (block == NULL) {
        return tr_alloc(size);
    }
    if (size == 0 || size > SIZE_MAX - HEADER_BYTES || !allowed(size)) {
        return NULL;
    }
    uint8_t *raw = (uint8_t *)block - HEADER_BYTES;
    size_t before = size_of(raw);
    uint8_t *moved = realloc(raw, size + HEADER_BYTES);
    if (moved == NULL) {
        return NULL;
    }
    count_down(before);
    return finish(moved, size);
}

char *tr_text_copy(struct tr_text text)
{
    char *copy = tr_alloc(text.size + 1);
    if (copy != NULL && text.size > 0) { /* an empty text may have no bytes at all */
        memcpy(copy, text.data, text.size);
    }
    if (copy != NULL) {
        copy[text.size] = '\0';
    }
    return copy;
}

void tr_free(void *block)
{
    if (block != NULL) {
        uint8_t *raw = (uint8_t *)block - HEADER_BYTES;
        count_down(size_of(raw));
        free(raw);
    }
}

/*
 * New pages of mmap are zero, so a chunk is cleared without a write. MAP_NORESERVE, because the
 * kernel need not commit memory for the part that is unmapped again.
 */
void *tr_chunk_new(void)
{
    if (!allowed(TR_CHUNK_BYTES)) {
        return NULL;
    }
    /* Twice the size is mapped, and everything outside of the aligned chunk unmapped. */
    uint8_t *raw = mmap(NULL, 2 * (size_t)TR_CHUNK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
        return NULL;
    }
    size_t skipped = (size_t)(-(uintptr_t)raw & (TR_CHUNK_BYTES - 1));
    uint8_t *chunk = raw + skipped;
    if (skipped > 0) {
        munmap(raw, skipped);
    }
    munmap(chunk + TR_CHUNK_BYTES, TR_CHUNK_BYTES - skipped);
    /* Touching new memory in small pages costs more than sending a message. */
    (void)madvise(chunk, TR_CHUNK_BYTES, MADV_HUGEPAGE);
    count_up(TR_CHUNK_BYTES);
    return chunk;
}

void tr_chunk_free(void *chunk)
{
    if (chunk != NULL) {
        munmap(chunk, TR_CHUNK_BYTES);
        count_down(TR_CHUNK_BYTES);
    }
}

void tr_memory_begin(void)
{
#ifdef __GLIBC__
    struct rlimit addresses;
    (void)mallopt(M_MMAP_THRESHOLD, TR_MAPPED_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, TR_TRIMMED_BYTES);
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
        (void)mallopt(M_ARENA_MAX, 1);
    }
#endif
}

void tr_memory_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

uint64_t tr_memory_used(void)
{
    return atomic_load_explicit(&used_bytes, memory_order_relaxed);
}

/* Spare memory is reported late: for a moment it can be more than the used memory. */
uint64_t tr_memory_needed(void)
{
    uint64_t used = tr_memory_used();
    uint64_t spare = atomic_load_explicit(&spare_bytes, memory_order_relaxed);
    return spare < used ? used - spare : 0;
}

/*
 * A negative difference wraps around, and so does the sum: the total is correct modulo 2^64, and
 * never negative as each caller only takes back what it has reported.
 */
void tr_memory_spare_change(uint64_t told, uint64_t now)
{
    atomic_fetch_add_explicit(&spare_bytes, now - told, memory_order_relaxed);
}

void tr_memory_hook_set(bool (*hook)(void *self, size_t size), void *self)
{
    allow_hook = hook;
    allow_self = self;
}
