/*
 * The format of keeper.log: writing a record, and reading a whole log into a table of keys. Pure:
 * bytes in, bytes out; keeper_file.h has the file.
 *
 * The file begins with TRI_KEEPER_LOG_MAGIC. A record is, with numbers in big endian,
 *
 *     u32 crc      CRC-32C of everything behind it, body included
 *     u32 size     of the body
 *     u32 batch    raised by each sync that succeeded
 *     u16 type, u8 version, u8 0
 *     body         log_opened, log_starting, log_launching, process_started, _ended or _forget
 *
 * A log_starting of an ended key implies that it was forgotten: its process_forget may have been
 * lost.
 *
 * Zeros behind the last record are preallocated space. After a crash of the machine, bytes behind
 * the last sync may be torn or missing anywhere. So an unreadable record ends the log, unless a
 * record follows that was written after a later sync: then synced bytes are damaged, which is an
 * error.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_LOG_H
#define TR_RUNTIME_KEEPER_KEEPER_LOG_H

#include "runtime/env/buffer.h"
#include "runtime/keeper/keeper_table.h"
#include "runtime/keeper_client/keeper_limits.h"

/* Eight bytes: five of name, zeros, and the version of the format. */
#define TRI_KEEPER_LOG_MAGIC "trkpr\0\0\1"
#define TRI_KEEPER_LOG_MAGIC_BYTES 8
#define TRI_KEEPER_LOG_HEADER_BYTES 16

/* What was found in a log. */
struct tri_keeper_log_found {
    size_t valid_bytes; /* the file is truncated here: the rest was never synced */
    bool is_torn;       /* bytes followed */
    bool has_store;     /* a log_opened was read: the next two are set */
    uint64_t store;
    struct tr_text place;             /* a view of the bytes that were read */
    uint32_t batch;                   /* of the last record */
    char reason[TR_REASON_BYTES_MAX]; /* words of an error or about torn bytes */
};

/* Appends the file's first bytes. TR_MEMORY. */
TR_MUST_USE int tri_keeper_log_begin(struct tri_buffer *buffer);

/*
 * Appends a record and returns its size, unless `size` is NULL. TR_MEMORY, TR_LIMIT: appended
 * nothing.
 */
TR_MUST_USE int tri_keeper_log_put(struct tri_buffer *buffer, uint32_t batch,
                                   const struct tr_schema *schema, const void *value, size_t *size);

/*
 * Appends the contents of a table in as few records as possible. TR_MEMORY: appended some of them.
 */
TR_MUST_USE int tri_keeper_log_put_table(struct tri_buffer *buffer, uint32_t batch,
                                         struct tri_key_table *table);

/*
 * Reads a whole log into an empty table. Any bytes are accepted. Errors, with the offset and the
 * defect in found->reason: TR_STORE_FOREIGN (not a keeper's log), TR_STORE_NEWER, TR_STORE_DAMAGED,
 * TR_MEMORY, TR_BUSY (more keys than the table may hold). `found` is always set; on an error the
 * table holds what was read before it.
 */
TR_MUST_USE int tri_keeper_log_read(struct tr_bytes bytes, struct tri_key_table *table,
                                    struct tri_keeper_log_found *found);

#endif
