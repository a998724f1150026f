/*
 * Reads images of actors for commands, without a worker.
 */
#include "runtime/journal/images.h"

#include "runtime/journal/image_kinds.h"
#include "runtime/journal/reader_ops.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

/* Numbers of an edge in an image: kind, group, serial, incarnation, id, due_ms. */
#define EDGE_FIELDS 6

/* The callback that rows are shown to. */
struct showing {
    struct tr_reader *reader;
    int (*image)(void *self, const struct tr_actor_image *image);
    int (*message)(void *self, struct tr_ref from, struct tr_ref to);
    void *self;
};

static void count_edge(struct tr_actor_image *image, uint8_t kind, uint64_t group, uint64_t due_ms)
{
    bool is_error = kind == TRI_EDGE_BACKOFF && group <= INT32_MAX;
    image->failed_with = is_error ? -(int)group : image->failed_with;
    image->asks += kind == TRI_EDGE_ASK ? 1 : 0;
    image->calls += kind == TRI_EDGE_CALL ? 1 : 0;
    image->monitors += kind == TRI_EDGE_MONITORING ? 1 : 0;
    if (kind == TRI_EDGE_TIMER) {
        image->timers++;
        image->due_ms = image->due_ms == 0 || due_ms < image->due_ms ? due_ms : image->due_ms;
    }
}

static int read_edges(struct tr_bytes bytes, struct tr_actor_image *image)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t count = tr_read_array(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        if (tr_read_array(&cursor) != EDGE_FIELDS) {
            return TR_MALFORMED;
        }
        uint8_t kind = tr_read_u8(&cursor);
        uint64_t group = tr_read_u64(&cursor);
        for (int field = 2; field < EDGE_FIELDS - 1; field++) {
            (void)tr_read_u64(&cursor);
        }
        count_edge(image, kind, group, tr_read_u64(&cursor));
    }
    return cursor.error;
}

static int read_name(const struct tr_image *from, struct tr_actor_image *image)
{
    struct tr_cursor cursor = tr_cursor_of(from->name);
    image->is_element = (from->flags & TRI_ACTOR_ELEMENT) != 0;
    if (image->is_element) {
        image->element = tr_read_u64(&cursor);
    } else if (!tr_read_nil(&cursor)) {
        image->name = tr_read_text(&cursor);
    }
    return cursor.error;
}

int tri_image_of(const struct tri_op *op, struct tr_actor_image *image)
{
    struct tr_image from;
    int error = tr_image_unpack(op->data, tr_image_schema.version, &from);
    if (error != 0) {
        return error;
    }
    *image = (struct tr_actor_image){
        .actor = {op->key, op->incarnation},
        .parent = from.parent,
        .behaviour = from.behaviour,
        .is_quarantined = from.phase == TRI_QUARANTINED,
        .is_backing_off = from.phase == TRI_BACKING_OFF,
        .state_version = from.state_version,
        .state = from.state,
    };
    error = read_name(&from, image);
    return error != 0 ? error : read_edges(from.edges, image);
}

static int show_image(void *self, const struct tri_op *op)
{
    struct showing *showing = self;
    struct tr_actor_image image;
    if (tri_image_of(op, &image) != 0) {
        return showing->reader->ops->damaged(showing->reader, "a stored actor has no valid image");
    }
    return showing->image(showing->self, &image);
}

int tr_images_of_group(struct tr_reader *reader, uint64_t group,
                       int (*show)(void *self, const struct tr_actor_image *image), void *self)
{
    struct showing showing = {.reader = reader, .image = show, .self = self};
    return reader->ops->visit(reader, TRI_VISIT_GROUP, group, show_image, &showing);
}

int tr_images_of_behaviour(struct tr_reader *reader, uint16_t behaviour,
                           int (*show)(void *self, const struct tr_actor_image *image), void *self)
{
    struct showing showing = {.reader = reader, .image = show, .self = self};
    return reader->ops->visit(reader, TRI_VISIT_BEHAVIOUR, behaviour, show_image, &showing);
}

int tr_image_page(struct tr_reader *reader, struct tr_key actor, uint32_t page, void *buffer,
                  size_t capacity, size_t *size)
{
    return tri_store_read_page(reader->ops->store(reader), actor, page, buffer, capacity, size);
}

static int show_message(void *self, const struct tri_op *op)
{
    struct showing *showing = self;
    size_t size;
    if (tr_envelope_check(op->data, &size) != 0) {
        return showing->reader->ops->damaged(showing->reader, "a stored message is invalid");
    }
    struct tr_ref from = {{tr_envelope_get(op->data.data, 64, from_group),
                           tr_envelope_get(op->data.data, 64, from_serial)},
                          tr_envelope_get(op->data.data, 32, from_incarnation)};
    struct tr_ref to = {{tr_envelope_get(op->data.data, 64, to_group),
                         tr_envelope_get(op->data.data, 64, to_serial)},
                        tr_envelope_get(op->data.data, 32, to_incarnation)};
    return showing->message(showing->self, from, to);
}

int tr_images_messages(struct tr_reader *reader,
                       int (*show)(void *self, struct tr_ref from, struct tr_ref to), void *self)
{
    struct showing showing = {.reader = reader, .message = show, .self = self};
    return reader->ops->visit(reader, TRI_VISIT_MESSAGES, 0, show_message, &showing);
}
