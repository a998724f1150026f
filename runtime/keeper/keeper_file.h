/*
 * keeper.log as a file: read once when a keeper starts, appended to in batches with one sync each,
 * written anew when too much of it concerns forgotten keys. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_FILE_H
#define TR_RUNTIME_KEEPER_KEEPER_FILE_H

#include "runtime/keeper/keeper_log.h"

#define TRI_KEEPER_LOG_NAME "keeper.log"

struct tri_keeper_file {
    int folder; /* the caller's */
    int fd;
    bool is_synced;  /* false: survives the end of processes, not the loss of power */
    bool has_failed; /* an I/O error: nothing is written any more */
    uint32_t batch;  /* of what is written next */
    uint64_t size;   /* of what was written well */
    uint64_t length; /* of the file: zeros follow */
    uint64_t store;  /* the number that was made with the log */
    struct tri_buffer pending;
};

/*
 * Opens or makes the log in `folder`, reads it into an empty table, cuts off what was never
 * synced, and writes a log_opened with this place, synced. `was_here` tells whether the log was
 * last opened in the same place, so that its pids may be living processes. `reason` (of
 * TR_REASON_BYTES_MAX) gets the words of an error, or of what was cut off, else "".
 * Errors: those of tri_keeper_log_read, TR_STORE_FULL, TR_STORE_FAILED, TR_SYSTEM, TR_LIMIT.
 */
TR_MUST_USE int tri_keeper_file_open(struct tri_keeper_file *file, int folder, bool is_synced,
                                     struct tr_text place, struct tri_key_table *table,
                                     char *reason, bool *was_here);

/* Closes it; what was put and not committed is lost. */
void tri_keeper_file_close(struct tri_keeper_file *file);

/* Puts a record behind those that wait, and adds its size to `log_bytes`. TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tri_keeper_file_put(struct tri_keeper_file *file, const struct tr_schema *schema,
                                    const void *value, size_t *log_bytes);

/* What a commit promises when it returns 0. */
enum tri_keeper_commit {
    TRI_COMMIT_WRITTEN, /* survives the keeper */
    TRI_COMMIT_SYNCED   /* survives the machine */
};

/*
 * Writes what waits. On an error nothing of it is in the log and nothing waits any more:
 * TR_STORE_FULL (may go well later), TR_STORE_FAILED (will not; the log stays as it is).
 */
TR_MUST_USE int tri_keeper_file_commit(struct tri_keeper_file *file,
                                       enum tri_keeper_commit promise);

/*
 * Writes the log anew with what the table holds, and puts it in the old one's place at once, when
 * that is synced. Nothing may wait. On an error the old log stays in use: TR_STORE_FULL,
 * TR_STORE_FAILED, TR_MEMORY.
 */
TR_MUST_USE int tri_keeper_file_rewrite(struct tri_keeper_file *file, struct tr_text place,
                                        struct tri_key_table *table);

#endif
