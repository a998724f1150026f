/*
 * Writes and reads the entries of a recording's file.
 *
 * The header of an entry is written byte by byte in big endian, so a recording can be read on
 * another machine. The CRC covers everything after it, including the size: a damaged size cannot
 * make a reader take wrong bytes for a body.
 */
#include "runtime/trace/recording.h"

#include <endian.h>

#include "runtime/env/crc32c.h"
#include "runtime/memory.h"

/* Entries have any length, so the numbers are not aligned. */
static void put_u32(uint8_t *at, uint32_t value)
{
    uint32_t wire = htobe32(value);
    memcpy(at, &wire, sizeof wire);
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t wire;
    memcpy(&wire, at, sizeof wire);
    return be32toh(wire);
}

int tr_recording_entry_make(const struct tr_schema *schema, const void *value, uint8_t **bytes,
                            size_t *size)
{
    size_t body_max = schema->size_max(value);
    if (body_max > TR_RECORDING_BODY_BYTES_MAX) {
        return TR_LIMIT;
    }
    uint8_t *entry = tr_alloc(TR_RECORDING_HEADER_BYTES + body_max);
    if (entry == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(entry + TR_RECORDING_HEADER_BYTES, body_max);
    int error = schema->pack(value, &writer);
    if (error != 0) {
        tr_free(entry);
        return error;
    }
    size_t body_size = tr_writer_size(&writer);
    put_u32(entry + 4, (uint32_t)body_size);
    entry[8] = (uint8_t)(schema->id >> 8);
    entry[9] = (uint8_t)schema->id;
    entry[10] = schema->version;
    entry[11] = 0;
    struct tr_bytes covered = {.data = entry + 4,
                               .size = TR_RECORDING_HEADER_BYTES - 4 + body_size};
    put_u32(entry, tri_crc32c(covered));
    *bytes = entry;
    *size = TR_RECORDING_HEADER_BYTES + body_size;
    return 0;
}

int tr_recording_begin(struct tr_bytes bytes, struct tr_recording_reader *reader)
{
    if (bytes.size < TR_RECORDING_MAGIC_BYTES ||
        memcmp(bytes.data, TR_RECORDING_MAGIC, TR_RECORDING_MAGIC_BYTES) != 0) {
        return TR_MALFORMED;
    }
    *reader = (struct tr_recording_reader){.bytes = bytes, .at = TR_RECORDING_MAGIC_BYTES};
    return 0;
}

/*
 * The size is checked before it is compared with the rest, and the CRC comes last, because it needs
 * the whole body. A truncated file gives TR_TRUNCATED and a changed one TR_MALFORMED. The position
 * advances only after a valid entry.
 */
int tr_recording_next(struct tr_recording_reader *reader, struct tr_recording_entry *entry)
{
    size_t left = reader->bytes.size - reader->at;
    const uint8_t *at = reader->bytes.data + reader->at;
    if (left == 0) {
        return TR_NOT_FOUND;
    }
    if (left < TR_RECORDING_HEADER_BYTES) {
        return TR_TRUNCATED;
    }
    size_t body_size = get_u32(at + 4);
    if (body_size > TR_RECORDING_BODY_BYTES_MAX || at[11] != 0) {
        return TR_MALFORMED;
    }
    if (left - TR_RECORDING_HEADER_BYTES < body_size) {
        return TR_TRUNCATED;
    }
    struct tr_bytes covered = {.data = at + 4, .size = TR_RECORDING_HEADER_BYTES - 4 + body_size};
    if (tri_crc32c(covered) != get_u32(at)) {
        return TR_MALFORMED;
    }
    *entry = (struct tr_recording_entry){
        .type = (uint16_t)(at[8] << 8 | at[9]),
        .version = at[10],
        .body = {.data = at + TR_RECORDING_HEADER_BYTES, .size = body_size},
        .at = reader->at,
    };
    reader->at += TR_RECORDING_HEADER_BYTES + body_size;
    return 0;
}
