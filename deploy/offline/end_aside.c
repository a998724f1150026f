/*
 * Its actors go, their monitors hear DOWN, its launcher hears the last word of its root,
 * and its history the end.
 */
#include "deploy/offline/end_aside.h"

#include "deploy/offline/send.h"
#include "runtime/actor/actor.h"
#include "schemas/engine/flow.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

static int add(struct tr_end_aside *ending, const struct tri_op *op)
{
    struct tri_op *added = tri_vector_add(ending->arena, ending->ops, sizeof *added);
    if (added == NULL) {
        return ending->arena->error;
    }
    *added = *op;
    return 0;
}

static int say(struct tr_end_aside *ending, const struct tr_offline_message *sending,
               const struct tr_schema *schema, const void *body)
{
    struct tri_op op;
    int error =
        tr_send_offline(ending->arena, tr_offline_host(ending->store), sending, schema, body, &op);
    return error != 0 ? error : add(ending, &op);
}

int tr_row_add(struct tr_arena *arena, struct tri_vector *ops, const struct tr_schema *record,
               const void *row)
{
    size_t size_max = record->size_max(row);
    uint8_t *bytes = tr_arena_alloc(arena, size_max);
    struct tri_op *added = tri_vector_add(arena, ops, sizeof *added);
    if (bytes == NULL || added == NULL) {
        return arena->error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size_max);
    int error = record->pack(row, &writer);
    *added = (struct tri_op){.kind = TRI_OP_PUT_RECORD,
                             .type = record->id,
                             .incarnation = record->version,
                             .data = {.data = bytes, .size = tr_writer_size(&writer)}};
    return error != 0 ? error : tri_op_find_row_key(added, record);
}

/* Tells the monitors of an actor of its end, as that would have. */
static int tell_monitors(struct tr_end_aside *ending, struct tr_ref gone, struct tr_bytes edges)
{
    struct tr_cursor cursor = tr_cursor_of(edges);
    uint32_t count = tr_read_array(&cursor);
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        (void)tr_read_array(&cursor);
        uint8_t kind = tr_read_u8(&cursor);
        struct tr_ref peer = {.key.group = tr_read_u64(&cursor)};
        peer.key.serial = tr_read_u64(&cursor);
        peer.incarnation = (uint32_t)tr_read_u64(&cursor);
        uint64_t id = tr_read_u64(&cursor);
        (void)tr_read_u64(&cursor); /* when it is due */
        error = cursor.error;
        bool hears = kind == TRI_EDGE_MONITORED && peer.key.group != gone.key.group;
        if (error == 0 && hears) {
            const struct tr_offline_message sending = {.to = peer,
                                                       .kind = TR_KIND_SIGNAL,
                                                       .number = ++ending->said,
                                                       .clock = ending->now_ms << 16};
            const struct tr_down down = {.actor = gone, .monitor = id, .reason = -TR_KILLED};
            error = say(ending, &sending, &tr_down_schema, &down);
        }
    }
    return error;
}

static int tell_launcher(struct tr_end_aside *ending, struct tr_ref root,
                         const struct tr_image *image)
{
    struct tr_execution_ended ended = {.name = ending->row->name, .phase = TR_EXECUTION_ABORTED};
    const struct tr_offline_message sending = {.from = root,
                                               .to = image->parent,
                                               .number = image->sequence + 1,
                                               .clock = ending->now_ms << 16};
    struct tr_bytes graph = ending->row->graph;
    memcpy(&ended.graph, graph.data,
           graph.size < sizeof ended.graph ? graph.size : sizeof ended.graph);
    return say(ending, &sending, &tr_execution_ended_schema, &ended);
}

static int note_end(struct tr_end_aside *ending, struct tr_ref root, const struct tr_image *image)
{
    struct tr_execution row = *ending->row;
    const struct tr_phase phase = {
        .execution = row.execution,
        .actor = root.key,
        .number = UINT32_MAX + image->sequence, /* beyond what it has counted */
        .subject = TR_SUBJECT_EXECUTION,
        .element = TR_ELEMENT_NONE,
        .phase = TR_EXECUTION_ABORTED,
        .at_ms = ending->now_ms,
        .cause = ending->cause,
    };
    row.phase = TR_EXECUTION_ABORTED;
    row.ended_ms = ending->now_ms;
    row.code = tr_text_of("SetAside");
    row.message = ending->cause;
    int error = tr_row_add(ending->arena, ending->ops, &tr_execution_schema, &row);
    return error != 0 ? error : tr_row_add(ending->arena, ending->ops, &tr_phase_schema, &phase);
}

static int end_actor(void *self, const struct tri_op *op)
{
    struct tr_end_aside *ending = self;
    struct tr_image image;
    int error = tr_image_unpack(op->data, tr_image_schema.version, &image);
    struct tr_ref gone = {.key = op->key, .incarnation = image.incarnation};
    struct tri_op end = {.kind = TRI_OP_DELETE_ACTOR, .key = op->key};
    if (error == 0) {
        error = add(ending, &end);
    }
    if (error == 0) {
        error = tell_monitors(ending, gone, image.edges);
    }
    if (error == 0 && tr_key_equal(op->key, tr_group_root(op->key.group).key)) {
        error = tell_launcher(ending, gone, &image);
        if (error == 0) {
            error = note_end(ending, gone, &image);
        }
    }
    return error;
}

int tr_end_aside(struct tr_end_aside *ending)
{
    const struct tri_store_visitor visitor = {.self = ending, .actor = end_actor};
    struct tri_group_range group = {ending->row->execution, ending->row->execution};
    return tri_store_load_groups(ending->store, group, &visitor);
}
