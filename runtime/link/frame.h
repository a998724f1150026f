/*
 * A frame: many messages in one batch of bytes, from one place to another.
 *
 *     [place u32][count u32] ([size u32][is_stored u32][envelope and body])*
 *
 * in the machine's byte order: frames of this form never leave their process.
 */
#ifndef TR_RUNTIME_LINK_FRAME_H
#define TR_RUNTIME_LINK_FRAME_H

#include "runtime/link/link.h"

/* A growing frame. */
struct tri_frame_builder {
    uint8_t *data;
    size_t size;
    size_t capacity;
    uint32_t count;
};

/* Adds a message. TR_MEMORY leaves the frame unchanged. */
TR_MUST_USE int tri_frame_add(struct tri_frame_builder *builder, struct tr_bytes message,
                              bool is_stored);

/* The size of a message in a frame; and reserves space for so many bytes. TR_MEMORY. */
size_t tri_frame_bytes(size_t message_size);
TR_MUST_USE int tri_frame_make_room(struct tri_frame_builder *builder, size_t more);

/*
 * Returns the bytes, which the caller owns (tr_free, or tri_channel_send); the builder is empty
 * afterwards.
 */
uint8_t *tri_frame_take(struct tri_frame_builder *builder, uint32_t place, size_t *size);

void tri_frame_builder_fini(struct tri_frame_builder *builder);

/* The place that sent a frame. */
uint32_t tri_frame_place(const struct tri_frame *frame);

/* The messages of a frame one by one; false at the end. `offset` begins at 0. */
bool tri_frame_next(const struct tri_frame *frame, size_t *offset, struct tr_bytes *message,
                    bool *is_stored);

#endif
