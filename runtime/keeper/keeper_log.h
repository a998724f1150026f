/*
 * The bytes of keeper.log: how a record is written, and how a whole log is read back into a table
 * of keys. Pure: bytes in, bytes out; keeper_file.h has the file.
 *
 * The file begins with TRI_KEEPER_LOG_MAGIC. A record is, with numbers in big endian,
 *
 *     u32 crc      CRC-32C of everything behind it, body included
 *     u32 size     of the body
 *     u32 batch    raised by each sync that succeeded
 *     u16 type, u8 version, u8 0
 *     body         log_opened, log_starting, log_launching, process_started, _ended or _forget
 *
 * A log_starting of a key that has ended forgets it first: its process_forget may have been lost.
 *
 * Zeros behind the last record are room for more. What the crash of a machine leaves behind the
 * last sync may be torn or missing in any place. So a record that cannot be read ends the log,
 * unless a record follows that was written after a later sync: then bytes are damaged that were
 * safe once, and that is an error.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_LOG_H
#define TR_RUNTIME_KEEPER_KEEPER_LOG_H

#include "runtime/env/buffer.h"
#include "runtime/keeper/keeper_limits.h"
#include "runtime/keeper/keeper_table.h"

/* Eight bytes: five of name, a zero, and the version of the form. */
#define TRI_KEEPER_LOG_MAGIC "trkpr\0\0\1"
#define TRI_KEEPER_LOG_MAGIC_BYTES 8
#define TRI_KEEPER_LOG_HEADER_BYTES 16

/* What there was in a log. */
struct tri_keeper_log_found {
    size_t valid_bytes; /* the file is to be cut here: what follows was never synced */
    bool is_torn;       /* bytes followed */
    bool has_store;     /* a log_opened was read, and the next two are set */
    uint64_t store;
    struct tr_text place;             /* a view of the bytes that were read */
    uint32_t batch;                   /* of the last record */
    char reason[TR_REASON_BYTES_MAX]; /* of an error or of torn bytes, in words */
};

/* Appends the file's first bytes. TR_MEMORY. */
TR_MUST_USE int tri_keeper_log_begin(struct tri_buffer *buffer);

/* Appends a record and tells its size, unless `size` is NULL. TR_MEMORY or TR_LIMIT: nothing. */
TR_MUST_USE int tri_keeper_log_put(struct tri_buffer *buffer, uint32_t batch,
                                   const struct tr_schema *schema, const void *value, size_t *size);

/* Appends what a table holds, as few records as say the same. TR_MEMORY: some of it. */
TR_MUST_USE int tri_keeper_log_put_table(struct tri_buffer *buffer, uint32_t batch,
                                         struct tri_key_table *table);

/*
 * Reads a whole log into an empty table. Any bytes may be given. Errors, with the offset and what
 * is wrong there in found->reason: TR_STORE_FOREIGN (no log of a keeper's), TR_STORE_NEWER,
 * TR_STORE_DAMAGED, TR_MEMORY, TR_BUSY (more keys than the table may hold). `found` is set in any
 * case; the table then holds what was read before the error.
 */
TR_MUST_USE int tri_keeper_log_read(struct tr_bytes bytes, struct tri_key_table *table,
                                    struct tri_keeper_log_found *found);

#endif
