/*
 * Builds and reads frames. Both ends are ours, so a malformed frame is our bug.
 *
 * Unlike the frames of TCP or the endpoint these never leave their process, so they have no
 * checksum, no version and the machine's byte order. Items are not aligned, so headers are copied
 * out.
 */
#include "runtime/link/frame.h"

#include <string.h>

#include "runtime/memory.h"

#define FRAME_FIRST_BYTES 4096

struct frame_header {
    uint32_t place;
    uint32_t count;
};

struct frame_item {
    uint32_t size;
    uint32_t is_stored;
};

size_t tri_frame_bytes(size_t message_size)
{
    return sizeof(struct frame_item) + message_size;
}

int tri_frame_make_room(struct tri_frame_builder *builder, size_t more)
{
    size_t size = builder->data == NULL ? sizeof(struct frame_header) : builder->size;
    if (builder->data != NULL && builder->capacity - size >= more) {
        return 0;
    }
    size_t capacity = builder->data == NULL ? FRAME_FIRST_BYTES : builder->capacity;
    while (capacity - size < more) {
        capacity *= 2;
    }
    uint8_t *data = tr_realloc(builder->data, capacity);
    if (data == NULL) {
        return TR_MEMORY;
    }
    builder->data = data;
    builder->size = size;
    builder->capacity = capacity;
    return 0;
}

int tri_frame_add(struct tri_frame_builder *builder, struct tr_bytes message, bool is_stored)
{
    struct frame_item item = {.size = (uint32_t)message.size, .is_stored = is_stored};
    int error = tri_frame_make_room(builder, sizeof item + message.size);
    if (error != 0) {
        return error;
    }
    memcpy(builder->data + builder->size, &item, sizeof item);
    if (message.size > 0) {
        memcpy(builder->data + builder->size + sizeof item, message.data, message.size);
    }
    builder->size += sizeof item + message.size;
    builder->count++;
    return 0;
}

uint8_t *tri_frame_take(struct tri_frame_builder *builder, uint32_t place, size_t *size)
{
    TR_ASSERT(builder->count > 0);
    struct frame_header header = {.place = place, .count = builder->count};
    memcpy(builder->data, &header, sizeof header);
    uint8_t *data = builder->data;
    *size = builder->size;
    *builder = (struct tri_frame_builder){0};
    return data;
}

void tri_frame_builder_fini(struct tri_frame_builder *builder)
{
    tr_free(builder->data);
    *builder = (struct tri_frame_builder){0};
}

uint32_t tri_frame_place(const struct tri_frame *frame)
{
    struct frame_header header;
    TR_ASSERT(frame->size >= sizeof header);
    memcpy(&header, frame->data, sizeof header);
    return header.place;
}

bool tri_frame_next(const struct tri_frame *frame, size_t *offset, struct tr_bytes *message,
                    bool *is_stored)
{
    size_t at = *offset == 0 ? sizeof(struct frame_header) : *offset;
    struct frame_item item;
    if (at >= frame->size) {
        return false;
    }
    TR_ASSERT(frame->size - at >= sizeof item);
    memcpy(&item, frame->data + at, sizeof item);
    at += sizeof item;
    TR_ASSERT(frame->size - at >= item.size);
    *message = (struct tr_bytes){.data = frame->data + at, .size = item.size};
    *is_stored = item.is_stored != 0;
    *offset = at + item.size;
    return true;
}
