/*
 * An outbox: what one place has to say to all others, a frame for each, and what their full pipes
 * have refused. Used by the place's own thread.
 */
#ifndef TR_RUNTIME_LINK_OUTBOX_H
#define TR_RUNTIME_LINK_OUTBOX_H

#include "runtime/link/frame.h"

struct tri_parcel;

struct tri_outbox_place {
    struct tri_frame_builder frame;
    struct tri_parcel *backlog_head; /* refused by a full pipe, oldest first */
    struct tri_parcel *backlog_tail;
    uint32_t backlog_count;
};

struct tri_outbox {
    struct tri_outbox_place places[TRI_PLACE_COUNT];
    uint32_t waiting_count; /* places with a frame that is begun */
    uint32_t backlog_count; /* parcels in all backlogs */
    uint64_t sent_count;    /* frames that have left */
};

/* Adds a message to the frame for a place. TR_MEMORY. */
TR_MUST_USE int tri_outbox_add(struct tri_outbox *outbox, uint32_t place, struct tr_bytes message,
                               bool is_stored);

/* Makes sure that `more` bytes (tri_frame_bytes) will fit into the frame for a place. TR_MEMORY. */
TR_MUST_USE int tri_outbox_make_room(struct tri_outbox *outbox, uint32_t place, size_t more);

/* Sends bytes of tr_alloc as they are, behind what waits for that pipe; takes them over. */
void tri_outbox_send(struct tri_outbox *outbox, struct tri_channel *link, uint32_t place,
                     uint8_t *data, size_t size);

/* Sends all frames, and what pipes have refused before. */
void tri_outbox_flush(struct tri_outbox *outbox, struct tri_channel *link);

/* Whether some frame has the size at which it should leave. */
bool tri_outbox_is_full(const struct tri_outbox *outbox);

/* Whether some pipe is so far behind that no more should be said. */
bool tri_outbox_is_congested(const struct tri_outbox *outbox);

/* Whether nothing waits here. */
static inline bool tri_outbox_is_empty(const struct tri_outbox *outbox)
{
    return outbox->waiting_count == 0 && outbox->backlog_count == 0;
}

void tri_outbox_fini(struct tri_outbox *outbox);

#endif
