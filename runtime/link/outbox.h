/*
 * An outbox: one place's unsent messages, a frame for each other place, and the frames that full
 * pipes have refused. Used by the place's own thread.
 */
#ifndef TR_RUNTIME_LINK_OUTBOX_H
#define TR_RUNTIME_LINK_OUTBOX_H

#include "runtime/link/frame.h"

struct tri_outbox_frame;

struct tri_outbox_place {
    struct tri_frame_builder frame;
    struct tri_outbox_frame *backlog_head; /* refused by a full pipe, oldest first */
    struct tri_outbox_frame *backlog_tail;
    uint32_t backlog_count;
};

struct tri_outbox {
    struct tri_outbox_place places[TRI_PLACE_COUNT];
    uint32_t waiting_count; /* places with an unfinished frame */
    uint32_t backlog_count; /* frames in all backlogs */
    uint64_t sent_count;    /* frames sent */
};

/* Adds a message to the frame for a place. TR_MEMORY. */
TR_MUST_USE int tri_outbox_add(struct tri_outbox *outbox, uint32_t place, struct tr_bytes message,
                               bool is_stored);

/* Reserves space for `more` bytes (tri_frame_bytes) in the frame for a place. TR_MEMORY. */
TR_MUST_USE int tri_outbox_make_room(struct tri_outbox *outbox, uint32_t place, size_t more);

/*
 * Sends bytes allocated by tr_alloc as one frame, after the backlog of that pipe; takes ownership.
 */
void tri_outbox_send(struct tri_outbox *outbox, struct tri_channel *link, uint32_t place,
                     uint8_t *data, size_t size);

/* Sends the backlogs and all frames. */
void tri_outbox_flush(struct tri_outbox *outbox, struct tri_channel *link);

/* Whether a frame has reached the size at which it should be sent. */
bool tri_outbox_is_full(const struct tri_outbox *outbox);

/* Whether a pipe is so far behind that no more messages should be added. */
bool tri_outbox_is_congested(const struct tri_outbox *outbox);

/* Whether it holds no messages. */
static inline bool tri_outbox_is_empty(const struct tri_outbox *outbox)
{
    return outbox->waiting_count == 0 && outbox->backlog_count == 0;
}

void tri_outbox_fini(struct tri_outbox *outbox);

#endif
