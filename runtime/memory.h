/*
 * The only access to the system's memory: allocation with counting, limits, and injected failures,
 * and huge-page chunks for slabs.
 *
 * A simulator that fails the n-th allocation, a test that expects memory back at zero, and a limit
 * per process all need one place. Any thread may call these functions.
 */
#ifndef TR_RUNTIME_MEMORY_H
#define TR_RUNTIME_MEMORY_H

#include "schemas/codec/base.h"

/* A chunk of slab memory: one huge page. */
#define TR_CHUNK_BYTES (2U << 20)
#define TR_MAPPED_BYTES (4U << 20)

/*
 * As much may lie free at the end of a heap before it is given back (tr_memory_begin): by default
 * it is 128 KiB, and what a burst of commits frees would be mapped and cleared again by the next.
 */
#define TR_TRIMMED_BYTES (16U << 20)

/* Uncleared memory; NULL if there is none. Size 0 is allowed and gives NULL. */
TR_MUST_USE void *tr_alloc(size_t size);

/* Cleared memory for `count` elements; NULL if there is none or the product overflows. */
TR_MUST_USE void *tr_alloc_zero(size_t count, size_t size);

/* As realloc: NULL leaves the old block unchanged. */
TR_MUST_USE void *tr_realloc(void *block, size_t size);

/* A copy of the text with a closing zero; NULL when there is no memory. */
TR_MUST_USE char *tr_text_copy(struct tr_text text);

/* Frees a block; NULL is fine. */
void tr_free(void *block);

/* A cleared chunk of TR_CHUNK_BYTES, aligned to its size; NULL when there is none. */
TR_MUST_USE void *tr_chunk_new(void);
void tr_chunk_free(void *chunk);

/*
 * Blocks from TR_MAPPED_BYTES on are mapped from the system and returned to it at once; smaller
 * ones are used again from glibc's heaps, until tr_memory_trim, since new pages for each commit of
 * a journal under load took a tenth of all time. glibc would adapt to large ones by itself. And
 * if the address space is limited (`ulimit -v`) threads share one heap, as each takes 64 MiB of it.
 * For the whole process, before its threads; may be called again.
 */
void tr_memory_begin(void);

/*
 * Returns free but cached memory to the system, which takes milliseconds if there is much. Later
 * allocations cost more, so it is called after a burst of work.
 */
void tr_memory_trim(void);

/* Bytes allocated here and in use, including chunks. */
uint64_t tr_memory_used(void);

/*
 * The same without the spare memory of slabs: compared with memory limits, since otherwise a host
 * that was full once would stay so as long as one actor of a kind lives.
 */
uint64_t tr_memory_needed(void);

/*
 * Reports that `now` of the bytes in use are spare memory of the caller, who reported `told`
 * before.
 */
void tr_memory_spare_change(uint64_t told, uint64_t now);

/*
 * From now on every allocation asks `hook` first and fails if it returns false; NULL ends that. For
 * simulators and tests; set it while one thread runs.
 */
void tr_memory_hook_set(bool (*hook)(void *self, size_t size), void *self);

#endif
