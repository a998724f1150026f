/*
 * Outboxes. Frames for a full pipe stay here, in order; sending never blocks, so that a place
 * always continues reading and no two can wait for each other.
 *
 * The memory is bounded by the senders: a worker stops when tri_outbox_is_congested
 * (runtime/actor/cut.c), and accepted messages are never dropped.
 */
#include "runtime/link/outbox.h"

#include "runtime/memory.h"

/* A frame that a full pipe has refused. */
struct tri_outbox_frame {
    struct tri_outbox_frame *next;
    uint8_t *data;
    size_t size;
};

int tri_outbox_add(struct tri_outbox *outbox, uint32_t place, struct tr_bytes message,
                   bool is_stored)
{
    struct tri_frame_builder *frame = &outbox->places[place].frame;
    int error = tri_frame_add(frame, message, is_stored);
    if (error == 0 && frame->count == 1) {
        outbox->waiting_count++;
    }
    return error;
}

int tri_outbox_make_room(struct tri_outbox *outbox, uint32_t place, size_t more)
{
    return tri_frame_make_room(&outbox->places[place].frame, more);
}

/*
 * Adds a frame to the backlog. While it is not empty, later frames for that place must follow it:
 * see tri_outbox_send.
 */
static void backlog_push(struct tri_outbox *outbox, uint32_t number, uint8_t *data, size_t size)
{
    struct tri_outbox_place *place = &outbox->places[number];
    struct tri_outbox_frame *parcel = tr_alloc(sizeof *parcel);
    TR_ASSERT(parcel != NULL); /* its messages were accepted and must not be lost */
    *parcel = (struct tri_outbox_frame){.data = data, .size = size};
    if (place->backlog_tail != NULL) {
        place->backlog_tail->next = parcel;
    } else {
        place->backlog_head = parcel;
    }
    place->backlog_tail = parcel;
    place->backlog_count++;
    outbox->backlog_count++;
}

void tri_outbox_send(struct tri_outbox *outbox, struct tri_channel *link, uint32_t place,
                     uint8_t *data, size_t size)
{
    /* The pipe may have room again, but this frame must not overtake the backlog. */
    bool must_wait = outbox->places[place].backlog_head != NULL;
    if (must_wait || tri_channel_send(link, place, data, size) != 0) {
        backlog_push(outbox, place, data, size);
    } else {
        outbox->sent_count++;
    }
}

/* Retries the backlog of a place, oldest first. */
static void retry_backlog(struct tri_outbox *outbox, struct tri_channel *link, uint32_t number)
{
    struct tri_outbox_place *place = &outbox->places[number];
    while (place->backlog_head != NULL) {
        struct tri_outbox_frame *parcel = place->backlog_head;
        if (tri_channel_send(link, number, parcel->data, parcel->size) != 0) {
            return;
        }
        place->backlog_head = parcel->next;
        if (place->backlog_head == NULL) {
            place->backlog_tail = NULL;
        }
        place->backlog_count--;
        outbox->backlog_count--;
        outbox->sent_count++;
        tr_free(parcel);
    }
}

/* Sends the unfinished frames, each after the backlog of its place. */
void tri_outbox_flush(struct tri_outbox *outbox, struct tri_channel *link)
{
    for (uint32_t i = 0; !tri_outbox_is_empty(outbox) && i < TRI_PLACE_COUNT; i++) {
        retry_backlog(outbox, link, i);
        struct tri_frame_builder *frame = &outbox->places[i].frame;
        if (frame->count > 0) {
            size_t size;
            uint8_t *data = tri_frame_take(frame, link->place, &size);
            outbox->waiting_count--;
            tri_outbox_send(outbox, link, i, data, size);
        }
    }
}

bool tri_outbox_is_full(const struct tri_outbox *outbox)
{
    for (uint32_t i = 0; outbox->waiting_count > 0 && i < TRI_PLACE_COUNT; i++) {
        const struct tri_frame_builder *frame = &outbox->places[i].frame;
        if (frame->count >= TR_BATCH_ENVELOPES_MAX ||
            (frame->count > 0 && frame->size >= TR_BATCH_BYTES_MAX)) {
            return true;
        }
    }
    return false;
}

/* Whether a pipe is so far behind that this place should stop producing. */
bool tri_outbox_is_congested(const struct tri_outbox *outbox)
{
    for (uint32_t i = 0; outbox->backlog_count > 0 && i < TRI_PLACE_COUNT; i++) {
        if (outbox->places[i].backlog_count > TR_PIPE_BACKLOG_MAX) {
            return true;
        }
    }
    return false;
}

void tri_outbox_fini(struct tri_outbox *outbox)
{
    for (uint32_t i = 0; i < TRI_PLACE_COUNT; i++) {
        struct tri_outbox_place *place = &outbox->places[i];
        tri_frame_builder_fini(&place->frame);
        while (place->backlog_head != NULL) {
            struct tri_outbox_frame *parcel = place->backlog_head;
            place->backlog_head = parcel->next;
            tr_free(parcel->data);
            tr_free(parcel);
        }
    }
    *outbox = (struct tri_outbox){0};
}
