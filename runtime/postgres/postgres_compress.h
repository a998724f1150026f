/*
 * Entries of the log, compressed by zstd for their way to the server and its disk. An entry is full
 * of pages that are half empty and of keys that repeat: of those of many small workflows one byte
 * of 25 is left, which zstd finds at more than a gigabyte a second.
 *
 * The library is loaded when the first store in PostgreSQL is opened.
 */
#ifndef TR_RUNTIME_POSTGRES_POSTGRES_COMPRESS_H
#define TR_RUNTIME_POSTGRES_POSTGRES_COMPRESS_H

#include "runtime/commits/commit_entry.h"

/* The name of the library, for words about one that is not there. */
#define TRI_POSTGRES_ZSTD "libzstd.so.1"

/* Whether the library can be had. Any thread. */
bool tri_postgres_can_compress(void);

/* What it needs while it works: the library's memory, and room for the result. Zeros are none. */
struct tri_postgres_compressor {
    void *context;
    uint8_t *bytes;
    size_t capacity;
};

/*
 * `compressed` lies in the compressor until the next call. It begins otherwise than any entry does.
 * TR_MEMORY.
 */
TR_MUST_USE int tri_postgres_compress(struct tri_postgres_compressor *compressor,
                                      struct tr_bytes plain, struct tr_bytes *compressed);

void tri_postgres_compressor_fini(struct tri_postgres_compressor *compressor);

/*
 * The entry that was compressed, or was not, as versions before did it; checked, and freed by the
 * caller (tr_free). TR_INVALID: it is none, or damaged. TR_MEMORY.
 */
TR_MUST_USE int tri_postgres_restore_entry(struct tr_bytes stored,
                                           struct tri_commit_entry_head *head, uint8_t **entry);

#endif
