/*
 * A copy of a store's database as it stood at one moment, beside a live engine or without one.
 *
 * The engine's log cannot begin anew while the moment is held, so the copy is made as quickly as
 * the disk allows, and given up where the log has grown too much meanwhile.
 */
#ifndef TR_RUNTIME_SQLITE_SQLITE_COPY_H
#define TR_RUNTIME_SQLITE_SQLITE_COPY_H

#include "runtime/journal/store.h"
#include "runtime/limits.h"

/* Half of what lets the engine wait: TR_STORE_LOG_REFUSE_BYTES. */
#define TR_STORE_COPY_LOG_BYTES_MAX (TR_STORE_LOG_REFUSE_BYTES / 2)

struct tri_store_copying {
    const char *folder; /* of the store */
    const char *path;   /* of the copy: a file that is empty, or not there yet */
    const struct tr_schema *const *records; /* as for opening it */
    size_t record_count;
    uint64_t log_bytes_max;
    void *self;
    /* Hears how far it is, in bytes; what it returns other than 0 ends it. May be NULL. */
    int (*progress)(void *self, uint64_t done, uint64_t total);
};

/*
 * Copies it; the copy is whole when this returns 0, and not synced. One thread; blocks for as long
 * as the disk does. Errors: what opening says, TR_BUSY (the log has reached `log_bytes_max`),
 * TR_STORE_FULL, TR_STORE_FAILED, `progress`' own; `explain` (TRI_STORE_EXPLAIN_BYTES) has words
 * but for the last.
 */
TR_MUST_USE int tri_sqlite_copy(const struct tri_store_copying *copying, char *explain);

#endif
