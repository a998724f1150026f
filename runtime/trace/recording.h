/*
 * The file of a recording: eight bytes of magic, then entries of schemas/runtime/recording.h, each
 * after a header of twelve bytes, with numbers in big endian:
 *
 *     u32 crc      CRC-32C of all that follows it in this entry
 *     u32 size     of the body
 *     u16 type
 *     u8  version  of the schema
 *     u8  0
 *
 * It is only appended to, so a truncated file is valid up to there, and detected as truncated. A
 * reader validates everything. Any thread.
 */
#ifndef TR_RUNTIME_TRACE_RECORDING_H
#define TR_RUNTIME_TRACE_RECORDING_H

#include "runtime/limits.h"
#include "schemas/codec/field.h"

#define TR_RECORDING_MAGIC "\211troupe\n"
#define TR_RECORDING_MAGIC_BYTES 8
#define TR_RECORDING_HEADER_BYTES 12

/* Bytes of a body: an actor snapshot and some more. */
#define TR_RECORDING_BODY_BYTES_MAX (TR_SNAPSHOT_BYTES_MAX + 4096)

/* One entry, whose body is a view of the file's bytes. */
struct tr_recording_entry {
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
    size_t at; /* its offset in the file */
};

/* The position of a reader. */
struct tr_recording_reader {
    struct tr_bytes bytes;
    size_t at;
};

/* Makes one entry, allocated by tr_alloc. TR_LIMIT, TR_MEMORY, and errors of packing. */
TR_MUST_USE int tr_recording_entry_make(const struct tr_schema *schema, const void *value,
                                        uint8_t **bytes, size_t *size);

/* Begins to read; `bytes` outlive the reader. TR_MALFORMED: not a recording. */
TR_MUST_USE int tr_recording_begin(struct tr_bytes bytes, struct tr_recording_reader *reader);

/*
 * The next entry. TR_NOT_FOUND: no more; TR_TRUNCATED: the file ends within an entry; TR_MALFORMED:
 * the entry is invalid or damaged. After an error `reader->at` is its offset.
 */
TR_MUST_USE int tr_recording_next(struct tr_recording_reader *reader,
                                  struct tr_recording_entry *entry);

#endif
