/*
 * Frames on a non-blocking stream socket. Each direction has one bounded buffer: input that has not
 * been returned as a frame yet, and output that the peer has not read yet. So a peer that floods or
 * never reads cannot make this process grow.
 *
 * The caller polls the socket. tri_frames_fill reads, tri_frames_next returns complete frames,
 * tri_frames_put packs, tri_frames_flush sends. A partly sent frame stays at the front of the
 * output, so frames never interleave.
 */
#include "runtime/keeper_client/frames.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 65536

void tri_frames_init(struct tri_frames *frames, int fd, size_t frame_bytes_max,
                     size_t output_bytes_max)
{
    *frames = (struct tri_frames){
        .fd = fd, .frame_bytes_max = frame_bytes_max, .output_bytes_max = output_bytes_max};
}

void tri_frames_fini(struct tri_frames *frames)
{
    if (frames->fd >= 0) {
        close(frames->fd);
    }
    frames->fd = -1;
    tri_buffer_fini(&frames->input);
    tri_buffer_fini(&frames->output);
}

/* Whether errno means that nothing can be read or written now. */
static bool is_nothing(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int tri_frames_fill(struct tri_frames *frames, size_t bytes_max)
{
    /*
     * One frame of the largest size fits, plus one read. Beyond that the kernel's socket buffer
     * fills and the sender is held back by flow control.
     */
    size_t ahead_max = frames->frame_bytes_max + TRI_FRAME_HEADER_BYTES + READ_BYTES;
    size_t taken = 0;
    while (taken < bytes_max && tri_buffer_size(&frames->input) < ahead_max) {
        int error = tri_buffer_reserve(&frames->input, READ_BYTES);
        if (error != 0) {
            return error;
        }
        uint8_t *end = frames->input.data + frames->input.end;
        ssize_t size = recv(frames->fd, end, READ_BYTES, MSG_DONTWAIT);
        if (size == 0) {
            return TR_CLOSED;
        }
        if (size < 0) {
            bool is_reset = errno == ECONNRESET || errno == EPIPE;
            return is_nothing() ? 0 : is_reset ? TR_CLOSED : TR_SYSTEM;
        }
        frames->input.end += (size_t)size;
        taken += (size_t)size;
        if (size < READ_BYTES) {
            return 0;
        }
    }
    return 0;
}

static uint32_t load32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return __builtin_bswap32(value);
}

static void store32(uint8_t *at, uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(at, &value, sizeof value);
}

int tri_frames_next(struct tri_frames *frames, struct tri_packet *frame)
{
    size_t size = tri_buffer_size(&frames->input);
    if (size < TRI_FRAME_HEADER_BYTES) {
        return TR_NOT_FOUND;
    }
    const uint8_t *header = tri_buffer_front(&frames->input);
    size_t body_size = load32(header);
    if (body_size > frames->frame_bytes_max) {
        return TR_LIMIT;
    }
    if (size - TRI_FRAME_HEADER_BYTES < body_size) {
        return TR_NOT_FOUND;
    }
    uint32_t type = load32(header + 4);
    *frame = (struct tri_packet){
        .type = (uint16_t)(type >> 16),
        .version = (uint8_t)(type >> 8),
        .body = {.data = header + TRI_FRAME_HEADER_BYTES, .size = body_size},
    };
    /* The bytes stay where they are until the buffer is filled again. */
    tri_buffer_consume(&frames->input, TRI_FRAME_HEADER_BYTES + body_size);
    return 0;
}

int tri_frames_put(struct tri_frames *frames, const struct tr_schema *schema, const void *value)
{
    size_t size_max = TRI_FRAME_HEADER_BYTES + schema->size_max(value);
    if (tri_frames_waiting(frames) + size_max > frames->output_bytes_max) {
        return size_max > frames->output_bytes_max ? TR_LIMIT : TR_BUSY;
    }
    /*
     * The message is packed in place behind space for its header, since the body size is known only
     * afterwards. `end` is advanced last, so an error leaves the output unchanged.
     */
    int error = tri_buffer_reserve(&frames->output, size_max);
    if (error != 0) {
        return error;
    }
    uint8_t *header = frames->output.data + frames->output.end;
    struct tr_writer writer =
        tr_writer_of(header + TRI_FRAME_HEADER_BYTES, size_max - TRI_FRAME_HEADER_BYTES);
    error = schema->pack(value, &writer);
    size_t body_size = tr_writer_size(&writer);
    if (error != 0 || body_size > frames->frame_bytes_max) {
        return TR_LIMIT;
    }
    store32(header, (uint32_t)body_size);
    store32(header + 4, (uint32_t)schema->id << 16 | (uint32_t)schema->version << 8);
    frames->output.end += TRI_FRAME_HEADER_BYTES + body_size;
    return 0;
}

int tri_frames_flush(struct tri_frames *frames)
{
    while (tri_frames_waiting(frames) > 0) {
        /* MSG_NOSIGNAL: a closed peer is an error here, not a SIGPIPE for the process. */
        ssize_t size = send(frames->fd, tri_buffer_front(&frames->output),
                            tri_frames_waiting(frames), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0) {
            bool is_closed = errno == EPIPE || errno == ECONNRESET;
            return is_nothing() ? 0 : is_closed ? TR_CLOSED : TR_SYSTEM;
        }
        tri_buffer_consume(&frames->output, (size_t)size);
    }
    return 0;
}
