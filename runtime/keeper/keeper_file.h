/*
 * The file keeper.log: read once when a keeper starts, appended to in batches with one sync each,
 * rewritten when too much of it concerns forgotten keys. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_FILE_H
#define TR_RUNTIME_KEEPER_KEEPER_FILE_H

#include "runtime/keeper/keeper_log.h"

#define TRI_KEEPER_LOG_NAME "keeper.log"

struct tri_keeper_file {
    int folder; /* the caller's */
    int fd;
    bool is_synced;  /* false: survives a crash of processes, not a power loss */
    bool has_failed; /* after an I/O error nothing more is written */
    uint32_t batch;  /* number of the next batch */
    uint64_t size;   /* of the complete records */
    uint64_t length; /* of the file: zeros follow */
    uint64_t store;  /* the store's number, drawn when the log was made */
    struct tri_buffer pending;
};

/*
 * Opens or creates the log in `folder`, reads it into an empty table, cuts off an unsynced tail,
 * and writes a log_opened with this place, synced. `was_here`: the log was last opened in the same
 * place, so its pids may be living processes. `reason` (TR_REASON_BYTES_MAX) gets the words of an
 * error, or of what was cut off, else "". Errors: those of tri_keeper_log_read, TR_STORE_FULL,
 * TR_STORE_FAILED, TR_SYSTEM, TR_LIMIT.
 */
TR_MUST_USE int tri_keeper_file_open(struct tri_keeper_file *file, int folder, bool is_synced,
                                     struct tr_text place, struct tri_key_table *table,
                                     char *reason, bool *was_here);

/* Closes the file; uncommitted records are lost. */
void tri_keeper_file_close(struct tri_keeper_file *file);

/* Queues a record, and adds its size to `log_bytes`. TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tri_keeper_file_put(struct tri_keeper_file *file, const struct tr_schema *schema,
                                    const void *value, size_t *log_bytes);

/* What a commit guarantees when it returns 0. */
enum tri_keeper_commit {
    TRI_COMMIT_WRITTEN, /* survives a crash of the keeper */
    TRI_COMMIT_SYNCED   /* survives a crash of the machine */
};

/*
 * Writes the queued records. On an error none of them is in the log and the queue is empty:
 * TR_STORE_FULL (a retry may succeed), TR_STORE_FAILED (it will not; the log stays as it is).
 */
TR_MUST_USE int tri_keeper_file_commit(struct tri_keeper_file *file,
                                       enum tri_keeper_commit promise);

/*
 * Rewrites the log from the table, syncs it, and renames it over the old one. The queue must be
 * empty. On an error the old log stays in use: TR_STORE_FULL, TR_STORE_FAILED, TR_MEMORY.
 */
TR_MUST_USE int tri_keeper_file_rewrite(struct tri_keeper_file *file, struct tr_text place,
                                        struct tri_key_table *table);

#endif
