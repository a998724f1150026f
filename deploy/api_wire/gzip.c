/*
 * Both ways with a bound on what comes out, which is counted while it comes: a few bytes may stand
 * for a thousand times as many, and an answer that hardly shrinks is not worth the work.
 */
#include "deploy/api_wire/gzip.h"

#include <zlib.h>

#include "runtime/env/library.h"
#include "schemas/codec/error.h"

/* The largest window, and that there is a head of gzip. */
#define WINDOW_BITS (15 + 16)

#define BLOCK_BYTES (64U << 10)

/* The least work, and memory for it as zlib has it by itself. */
#define LEVEL 1
#define MEMORY_LEVEL 8

#define FUNCTIONS(F) \
    F(deflate)       \
    F(deflateEnd)    \
    F(deflateInit2_) \
    F(inflate)       \
    F(inflateEnd)    \
    F(inflateInit2_)

struct functions {
#define MEMBER(name) __typeof__ (&name)(name);
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static const struct functions *load(void)
{
#define NAME(name) #name,
    static struct functions functions;
    static const char *const names[] = {FUNCTIONS(NAME)};
    static struct tri_library library = {
        .name = "libz.so.1", .names = names, .count = TR_COUNT_OF(names), .functions = &functions};
    return tri_library_open(&library);
#undef NAME
}

/* One block more by one of zlib's functions; what it says of it in `state`. */
static int add_block(int (*step)(z_stream *stream, int flush), int flush, z_stream *stream,
                     uint64_t bytes_max, struct tri_buffer *message, int *state)
{
    int error = tri_buffer_reserve(message, BLOCK_BYTES);
    if (error != 0) {
        return error;
    }
    stream->next_out = message->data + message->end;
    stream->avail_out = BLOCK_BYTES;
    *state = step(stream, flush);
    message->end += BLOCK_BYTES - stream->avail_out;
    return tri_buffer_size(message) > bytes_max ? TR_LIMIT : 0;
}

int tr_gzip_read(struct tr_bytes bytes, uint64_t bytes_max, struct tri_buffer *message)
{
    const struct functions *zlib = load();
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)bytes.data, /* it is only read */
                       .avail_in = (unsigned)bytes.size};
    int state = Z_OK;
    int error = 0;
    if (zlib == NULL) {
        return TR_NOT_FOUND;
    }
    TR_ASSERT(bytes.size <= UINT32_MAX);
    if (zlib->inflateInit2_(&stream, WINDOW_BITS, ZLIB_VERSION, (int)sizeof stream) != Z_OK) {
        return TR_MEMORY;
    }
    while (error == 0 && state == Z_OK) {
        error = add_block(zlib->inflate, Z_NO_FLUSH, &stream, bytes_max, message, &state);
    }
    (void)zlib->inflateEnd(&stream);
    if (error == 0 && (state != Z_STREAM_END || stream.avail_in != 0)) {
        error = state == Z_MEM_ERROR ? TR_MEMORY : TR_MALFORMED;
    }
    return error;
}

int tr_gzip_write(struct tr_bytes bytes, uint64_t bytes_max, struct tri_buffer *message)
{
    const struct functions *zlib = load();
    z_stream stream = {.next_in = (uint8_t *)(uintptr_t)bytes.data, /* it is only read */
                       .avail_in = (unsigned)bytes.size};
    int state = Z_OK;
    int error = 0;
    if (zlib == NULL) {
        return TR_NOT_FOUND;
    }
    TR_ASSERT(bytes.size <= UINT32_MAX);
    if (zlib->deflateInit2_(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                            Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof stream) != Z_OK) {
        return TR_MEMORY;
    }
    while (error == 0 && state == Z_OK) {
        error = add_block(zlib->deflate, Z_FINISH, &stream, bytes_max, message, &state);
    }
    (void)zlib->deflateEnd(&stream);
    return error;
}
