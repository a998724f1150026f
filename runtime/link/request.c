/*
 * Makes and reads the frames of requests and answers. Any bytes may be read.
 *
 * The header is in big endian with fixed positions, so that each version of the program can read
 * the protocol's version and refuse others with TR_VERSION. The body is msgpack with a version of
 * its own.
 */
#include <string.h>

#include "runtime/link/endpoint.h"
#include "runtime/memory.h"

static void put_be(uint8_t *at, unsigned size, uint32_t value)
{
    for (unsigned i = 0; i < size; i++) {
        at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
    }
}

static uint32_t get_be(const uint8_t *at, unsigned size)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < size; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

int tri_request_read(struct tr_bytes frame, struct tri_request *request)
{
    const uint8_t *at = frame.data;
    if (frame.size < TRI_REQUEST_HEADER_BYTES || at[0] != 'T' || at[1] != 'R') {
        return TR_MALFORMED;
    }
    if (at[2] != TR_ENDPOINT_PROTOCOL) {
        return TR_VERSION;
    }
    /*
     * Reserved bytes must be 0, so that a later version can give them a meaning that older ones
     * refuse.
     */
    if (get_be(at + 6, 2) != 0) {
        return TR_MALFORMED;
    }
    *request = (struct tri_request){
        .version = at[3],
        .type = (uint16_t)get_be(at + 4, 2),
        .number = get_be(at + 8, 4),
        .body = {.data = at + TRI_REQUEST_HEADER_BYTES,
                 .size = frame.size - TRI_REQUEST_HEADER_BYTES},
    };
    return 0;
}

int tri_request_make(uint32_t number, const struct tr_schema *schema, const void *body,
                     uint8_t **out, size_t *size)
{
    size_t body_max = schema->size_max(body);
    if (body_max > TR_ENDPOINT_BYTES_MAX - TRI_REQUEST_HEADER_BYTES) {
        return TR_LIMIT;
    }
    uint8_t *frame = tr_alloc(TRI_REQUEST_HEADER_BYTES + body_max);
    if (frame == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(frame + TRI_REQUEST_HEADER_BYTES, body_max);
    int error = schema->pack(body, &writer);
    if (error != 0) {
        tr_free(frame);
        return error;
    }
    memcpy(frame, (const uint8_t[]){'T', 'R', TR_ENDPOINT_PROTOCOL, schema->version}, 4);
    put_be(frame + 4, 2, schema->id);
    put_be(frame + 6, 2, 0);
    put_be(frame + 8, 4, number);
    *out = frame;
    *size = TRI_REQUEST_HEADER_BYTES + tr_writer_size(&writer);
    return 0;
}
