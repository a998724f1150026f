/*
 * Room for what leaves an actor: in the batch for the journal, and in the frames for other places.
 *
 * A message that was accepted must not be lost, so a commit must not fail for want of memory. All
 * the room that it may take is therefore taken before, while the handler can still be cut back and
 * run again later. It is an upper bound: some messages stay here after all.
 */
#include "runtime/actor/deliver.h"

/* Rows only: images and pages are written by the cut, whose lack of memory ends the host. */
static size_t bytes_of_effects(const struct tr_context *context)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        const struct tri_effect *effect = &context->effects[i];
        bool is_row = effect->kind == TRI_EFFECT_RECORD || effect->kind == TRI_EFFECT_RECORD_DELETE;
        bytes += is_row ? sizeof(struct tri_batch_op) + effect->size : 0;
    }
    return bytes;
}

/* Each message may be written, and the one in hand is settled. */
static int room_in_batch(struct tri_worker *worker)
{
    const struct tr_context *context = &worker->context;
    size_t bytes = sizeof(struct tri_batch_op) + bytes_of_effects(context);
    const struct tri_message *message = context->outbox_head;
    for (; message != NULL; message = message->next) {
        bytes += sizeof(struct tri_batch_op) + message->size;
    }
    return tri_batch_make_room(&worker->batch, bytes);
}

/* By place, since each place has a frame of its own. */
static int room_in_frames(struct tri_worker *worker)
{
    size_t bytes[TRI_PLACE_COUNT] = {0};
    const struct tri_message *message = worker->context.outbox_head;
    for (; message != NULL; message = message->next) {
        uint32_t place = tri_place_of(worker, tri_message_to(message));
        if (place == worker->index) {
            continue;
        }
        bytes[place] += tri_frame_bytes(message->size);
        int error = tri_outbox_make_room(&worker->outbox, place, bytes[place]);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* A handler that asks for nothing takes room as well, for the message that it has handled. */
int tri_room_take(struct tri_worker *worker)
{
    int error = worker->is_journaled ? room_in_batch(worker) : 0;
    if (error == 0 && worker->context.outbox_head != NULL) {
        error = room_in_frames(worker);
    }
    return error;
}
