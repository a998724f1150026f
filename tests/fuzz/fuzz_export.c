/*
 * Any bytes as an exported file: read as an import reads it, before anything is changed. It is
 * taken or refused in words, and nothing is left.
 *
 * Since few inputs guess a checksum, an odd first byte gives the rest as bodies: a byte of type,
 * two of size, and so many bytes, for each entry.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "deploy/transfer/unpacking.h"
#include "runtime/env/crc32c.h"
#include "runtime/memory.h"

/* What is read: eight bytes, and entries. */
#define FILE_BYTES_MAX (1U << 16)

static const uint16_t types[] = {477, 478, 479, 534};

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

/* Adds an entry whose checksum is right; the bytes that it takes. */
static size_t add_entry(uint8_t *at, uint16_t type, const uint8_t *body, size_t size)
{
    put_u32(at + 4, (uint32_t)size);
    at[8] = (uint8_t)(type >> 8);
    at[9] = (uint8_t)type;
    at[10] = 1;
    at[11] = 0;
    memcpy(at + TR_RECORDING_HEADER_BYTES, body, size);
    struct tr_bytes covered = {.data = at + 4, .size = TR_RECORDING_HEADER_BYTES - 4 + size};
    put_u32(at, tri_crc32c(covered));
    return TR_RECORDING_HEADER_BYTES + size;
}

static size_t make_file(uint8_t *file, const uint8_t *data, size_t size)
{
    size_t used = TR_ARCHIVE_MAGIC_BYTES;
    size_t at = 0;
    memcpy(file, TR_ARCHIVE_MAGIC, TR_ARCHIVE_MAGIC_BYTES);
    while (size - at >= 3) {
        uint16_t type = types[data[at] % TR_COUNT_OF(types)];
        size_t wanted = (size_t)(data[at + 1] << 8 | data[at + 2]);
        at += 3;
        size_t body = wanted < size - at ? wanted : size - at;
        if (used + TR_RECORDING_HEADER_BYTES + body > FILE_BYTES_MAX) {
            break;
        }
        used += add_entry(file + used, type, data + at, body);
        at += body;
    }
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[FILE_BYTES_MAX];
    uint64_t before = tr_memory_used();
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_unpacking unpacking = {.folder = "/store", .explain = explain};
    unpacking.bytes = (struct tr_bytes){.data = data, .size = size};
    if (size > 0 && data[0] % 2 == 1) {
        unpacking.bytes =
            (struct tr_bytes){.data = file, .size = make_file(file, data + 1, size - 1)};
    }
    int error = tr_unpacking_read(&unpacking);
    TR_ASSERT(error <= 0 && (error == 0 || explain[0] != '\0'));
    unpacking.bytes.size = 0; /* nothing was mapped */
    tr_unpacking_fini(&unpacking);
    TR_ASSERT(tr_memory_used() == before);
    return 0;
}
