/*
 * The only way to the system's memory: allocation that counts, can be limited, and can be made to
 * fail on purpose, and huge-page chunks for slabs.
 *
 * Why one place: a simulator that fails the n-th allocation, a test that asks for memory back to
 * zero, and a limit per process all need one place. Any thread may call these.
 */
#ifndef TR_RUNTIME_MEMORY_H
#define TR_RUNTIME_MEMORY_H

#include "schemas/codec/base.h"

/* A chunk of slab memory: one huge page. */
#define TR_CHUNK_BYTES (2U << 20)
#define TR_MAPPED_BYTES (512U << 10)

/* Memory that is not cleared; NULL when there is none. Size 0 is allowed and gives NULL. */
TR_MUST_USE void *tr_alloc(size_t size);

/* Cleared memory for `count` elements; NULL when there is none or the product overflows. */
TR_MUST_USE void *tr_alloc_zero(size_t count, size_t size);

/* As realloc: NULL leaves the old block as it was. */
TR_MUST_USE void *tr_realloc(void *block, size_t size);

/* A copy of the text with a closing zero; NULL when there is no memory. */
TR_MUST_USE char *tr_text_copy(struct tr_text text);

/* Gives a block back; NULL is fine. */
void tr_free(void *block);

/* A cleared chunk of TR_CHUNK_BYTES, aligned to its size; NULL when there is none. */
TR_MUST_USE void *tr_chunk_new(void);
void tr_chunk_free(void *chunk);

/*
 * Blocks from TR_MAPPED_BYTES on come from the system and go back to it at once. Else glibc learns
 * from the first large ones that they are short-lived, takes later ones from its heaps, too, and
 * these stay as large as they were once: ten megabytes of an engine that had submitted 5,000 jobs.
 * And where addresses are bounded (`ulimit -v`) threads share one heap, each of which would take 64
 * MiB of them. For the whole process, before its threads; may be called again.
 */
void tr_memory_begin(void);

/*
 * Gives memory that is free but kept for later back to the system, which takes milliseconds where
 * there is much. What is asked for next costs more: for when a while of work is over.
 */
void tr_memory_trim(void);

/* Bytes in use that were taken here, chunks included. */
uint64_t tr_memory_used(void);

/*
 * The same without what slabs keep for later: what bounds of memory are held against, since a host
 * that has been full would else stay so for as long as one actor of a kind lives on.
 */
uint64_t tr_memory_needed(void);

/* Of the bytes in use, `now` are kept for later by the caller, who said `told` before. */
void tr_memory_spare_change(uint64_t told, uint64_t now);

/*
 * From now on every allocation asks `hook` first and fails where it answers false; NULL ends that.
 * For simulators and tests; set while one thread runs.
 */
void tr_memory_hook_set(bool (*hook)(void *self, size_t size), void *self);

#endif
