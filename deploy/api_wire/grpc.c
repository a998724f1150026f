/*
 * Framing as gRPC's page on its protocol over HTTP/2 has it. A message may come in any pieces, as
 * frames of HTTP/2 mean nothing to it.
 */
#include "deploy/api_wire/grpc.h"

#include <string.h>

#include "schemas/codec/error.h"

#define TIMEOUT_DIGITS_MAX 8

/* ------------------------------------------------------------------- messages */

static size_t least(size_t left, size_t right)
{
    return left < right ? left : right;
}

static void cut(struct tr_bytes *piece, size_t size)
{
    piece->data += size;
    piece->size -= size;
}

static int read_prefix(struct tr_grpc_reader *reader, struct tr_bytes *piece, uint64_t bytes_max)
{
    size_t size = least(TR_GRPC_PREFIX_BYTES - reader->prefix_size, piece->size);
    if (size > 0) {
        memcpy(reader->prefix + reader->prefix_size, piece->data, size);
    }
    reader->prefix_size += size;
    cut(piece, size);
    if (reader->prefix_size < TR_GRPC_PREFIX_BYTES) {
        return 0;
    }
    const uint8_t *prefix = reader->prefix;
    reader->is_compressed = prefix[0] == 1;
    reader->size = (size_t)prefix[1] << 24 | (size_t)prefix[2] << 16 | (size_t)prefix[3] << 8 |
                   (size_t)prefix[4];
    return prefix[0] > 1 ? TR_MALFORMED : reader->size > bytes_max ? TR_LIMIT : 0;
}

int tr_grpc_read(struct tr_grpc_reader *reader, struct tr_bytes *piece, uint64_t bytes_max,
                 bool *is_whole)
{
    int error = 0;
    *is_whole = false;
    if (reader->prefix_size < TR_GRPC_PREFIX_BYTES) {
        error = read_prefix(reader, piece, bytes_max);
    }
    if (error != 0 || reader->prefix_size < TR_GRPC_PREFIX_BYTES) {
        return error;
    }
    size_t size = least(reader->size - tri_buffer_size(&reader->message), piece->size);
    error = tri_buffer_append(&reader->message, piece->data, size);
    if (error == 0) {
        cut(piece, size);
        *is_whole = tri_buffer_size(&reader->message) == reader->size;
    }
    return error;
}

struct tr_bytes tr_grpc_message(const struct tr_grpc_reader *reader)
{
    size_t size = tri_buffer_size(&reader->message);
    return (struct tr_bytes){
        .data = size == 0 ? (const uint8_t *)"" : tri_buffer_front(&reader->message), .size = size};
}

void tr_grpc_reader_next(struct tr_grpc_reader *reader)
{
    reader->prefix_size = 0;
    reader->size = 0;
    tri_buffer_clear(&reader->message);
}

bool tr_grpc_reader_is_empty(const struct tr_grpc_reader *reader)
{
    return reader->prefix_size == 0;
}

void tr_grpc_reader_fini(struct tr_grpc_reader *reader)
{
    tri_buffer_fini(&reader->message);
    *reader = (struct tr_grpc_reader){.prefix_size = 0};
}

void tr_grpc_prefix(size_t size, uint8_t prefix[TR_GRPC_PREFIX_BYTES])
{
    TR_ASSERT(size <= UINT32_MAX);
    prefix[0] = 0;
    for (size_t i = 1; i < TR_GRPC_PREFIX_BYTES; i++) {
        prefix[i] = (uint8_t)(size >> 8 * (TR_GRPC_PREFIX_BYTES - 1 - i));
    }
}

/* --------------------------------------------------------------------- headers */

/* Parts of a millisecond are rounded up, as none would be no time at all. */
bool tr_grpc_timeout(struct tr_text text, uint64_t *milliseconds)
{
    static const struct {
        char unit;
        uint64_t multiplied;
        uint64_t divided;
    } units[] = {{'H', 3600000, 1}, {'M', 60000, 1}, {'S', 1000, 1},
                 {'m', 1, 1},       {'u', 1, 1000},  {'n', 1, 1000000}};
    uint64_t number = 0;
    if (text.size < 2 || text.size > TIMEOUT_DIGITS_MAX + 1) {
        return false;
    }
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    for (size_t i = 0; i < TR_COUNT_OF(units); i++) {
        if (text.data[text.size - 1] == units[i].unit) {
            *milliseconds =
                (number * units[i].multiplied + units[i].divided - 1) / units[i].divided;
            return true;
        }
    }
    return false;
}

size_t tr_grpc_words(struct tr_text text, char *room, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;
    for (size_t i = 0; i < text.size && used + 4 <= size; i++) {
        unsigned char letter = (unsigned char)text.data[i];
        if (letter >= ' ' && letter <= '~' && letter != '%') {
            room[used++] = (char)letter;
        } else {
            room[used++] = '%';
            room[used++] = digits[letter >> 4];
            room[used++] = digits[letter & 15];
        }
    }
    room[used] = '\0';
    return used;
}
