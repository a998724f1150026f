/*
 * Messages of schemas/ over a connected stream socket that does not block: both ends of the
 * keeper's conversation. A frame is u32 size of the body, u16 type, u8 version, u8 0, body, with
 * numbers in big endian. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_FRAMES_H
#define TR_RUNTIME_KEEPER_FRAMES_H

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

/* One message as it came; its body lives until the next call with the same tri_frames. */
struct tri_packet {
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
};

/* Takes the socket over. */
void tri_frames_init(struct tri_frames *frames, int fd, size_t frame_bytes_max,
                     size_t output_bytes_max);

/* Closes the socket and frees what waited. */
void tri_frames_fini(struct tri_frames *frames);

/*
 * Reads what has come, at most about `bytes_max`, and no more than one frame ahead of what
 * tri_frames_next has given out. 0 also if there was nothing. TR_CLOSED: the other side has ended,
 * but frames may still be there; TR_SYSTEM (errno), TR_MEMORY.
 */
TR_MUST_USE int tri_frames_fill(struct tri_frames *frames, size_t bytes_max);

/* The next whole frame. TR_NOT_FOUND: there is none yet. TR_LIMIT: it is too large to come. */
TR_MUST_USE int tri_frames_next(struct tri_frames *frames, struct tri_packet *frame);

/* Packs a message behind what waits. TR_BUSY: too much waits; TR_LIMIT: too large; TR_MEMORY. */
TR_MUST_USE int tri_frames_put(struct tri_frames *frames, const struct tr_schema *schema,
                               const void *value);

/* Sends what the socket takes. TR_CLOSED, TR_SYSTEM (errno). */
TR_MUST_USE int tri_frames_flush(struct tri_frames *frames);

/* Bytes that wait to be sent. */
static inline size_t tri_frames_waiting(const struct tri_frames *frames)
{
    return tri_buffer_size(&frames->output);
}

#endif
