/*
 * Frames: messages of schemas/ over a connected, non-blocking stream socket. Both ends of the
 * keeper's protocol use them. A frame is u32 size of the body, u16 type, u8 version, u8 0, body;
 * numbers are big endian. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_CLIENT_FRAMES_H
#define TR_RUNTIME_KEEPER_CLIENT_FRAMES_H

#include "runtime/env/buffer.h"
#include "schemas/codec/field.h"

#define TRI_FRAME_HEADER_BYTES 8

struct tri_frames {
    int fd;
    size_t frame_bytes_max;
    size_t output_bytes_max;
    struct tri_buffer input;
    struct tri_buffer output;
};

/* One received message. Its body is valid until the next call with the same tri_frames. */
struct tri_packet {
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
};

/* Takes ownership of the socket. */
void tri_frames_init(struct tri_frames *frames, int fd, size_t frame_bytes_max,
                     size_t output_bytes_max);

/* Closes the socket and drops unsent messages. */
void tri_frames_fini(struct tri_frames *frames);

/*
 * Reads available bytes: at most about `bytes_max`, and at most one frame ahead of tri_frames_next.
 * Returns 0 also when nothing was available. TR_CLOSED: the peer has closed, but complete frames
 * may still be buffered; TR_SYSTEM (errno), TR_MEMORY.
 */
TR_MUST_USE int tri_frames_fill(struct tri_frames *frames, size_t bytes_max);

/* The next complete frame. TR_NOT_FOUND: none yet. TR_LIMIT: the frame exceeds frame_bytes_max. */
TR_MUST_USE int tri_frames_next(struct tri_frames *frames, struct tri_packet *frame);

/*
 * Appends a message to the output. TR_BUSY: the output is full; TR_LIMIT: the message is too large;
 * TR_MEMORY.
 */
TR_MUST_USE int tri_frames_put(struct tri_frames *frames, const struct tr_schema *schema,
                               const void *value);

/* Sends as much as the socket accepts. TR_CLOSED, TR_SYSTEM (errno). */
TR_MUST_USE int tri_frames_flush(struct tri_frames *frames);

/* Unsent bytes. */
static inline size_t tri_frames_waiting(const struct tri_frames *frames)
{
    return tri_buffer_size(&frames->output);
}

#endif
