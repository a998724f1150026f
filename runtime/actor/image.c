/*
 * Images. The writer produces in one pass, without an intermediate copy, exactly the bytes of
 * tr_image_pack; the reader validates everything.
 *
 * The order of the writes is that of TR_IMAGE_FIELDS in schemas/runtime/control.h. An image has no
 * mailbox and no pages: those are operations of their own in a batch, so that a page is written
 * only when it has changed.
 */
#include "runtime/actor/image.h"

/*
 * Upper bounds of the packed header without its name, and of an edge: a tag, the kind, and at most
 * 9 bytes for each number of 64 bits.
 */
#define HEAD_BYTES_MAX 160
#define EDGE_BYTES_MAX 48
#define EDGE_FIELDS 6

/*
 * The flags and phases that stay valid elsewhere. The others concern this worker's lists, its
 * journal or a move.
 */
#define FLAGS_KEPT                                                                         \
    (TRI_ACTOR_WATCHED | TRI_ACTOR_IS_ROOT | TRI_ACTOR_RETRIED | TRI_ACTOR_SPREAD_FAMILY | \
     TRI_ACTOR_ELEMENT | TRI_ACTOR_OVERLOADED)

/*
 * READY and RUNNING concern a run queue of this worker. The reader decides itself whether the actor
 * can run.
 */
static uint8_t phase_kept(uint8_t phase)
{
    return phase == TRI_QUARANTINED || phase == TRI_BACKING_OFF ? phase : TRI_IDLE;
}

size_t tri_image_size_max(const struct tri_worker *worker, const struct tri_actor *actor)
{
    const struct tr_schema *state = tri_actor_behaviour(worker, actor)->state;
    const void *value = actor + 1;
    return HEAD_BYTES_MAX + TR_NAME_BYTES_MAX + actor->edge_count * (size_t)EDGE_BYTES_MAX +
           state->size_max(value);
}

static void write_name(const struct tri_actor *actor, struct tr_writer *writer)
{
    if ((actor->flags & TRI_ACTOR_ELEMENT) != 0) {
        tr_write_u64(writer, actor->name);
    } else if (actor->name == 0) {
        tr_write_nil(writer);
    } else {
        tr_write_text(writer, tr_text_of((const char *)(uintptr_t)actor->name));
    }
}

static void write_edges(const struct tri_worker *worker, const struct tri_actor *actor,
                        struct tr_writer *writer)
{
    tr_write_array(writer, actor->edge_count);
    const struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        tr_write_array(writer, EDGE_FIELDS);
        tr_write_u8(writer, edge->kind);
        tr_write_u64(writer, edge->peer.group);
        tr_write_u64(writer, edge->peer.serial);
        tr_write_u32(writer, edge->peer_incarnation);
        tr_write_u64(writer, edge->id);
        tr_write_u64(writer, edge->due_ms);
    }
}

int tri_image_write(const struct tri_worker *worker, struct tri_actor *actor,
                    struct tr_writer *writer)
{
    const struct tr_behaviour *behaviour = tri_actor_behaviour(worker, actor);
    tr_write_array(writer, tr_image_schema.field_count);
    tr_write_u16(writer, behaviour->id);
    tr_write_u8(writer, behaviour->state->version);
    tr_write_u16(writer, actor->flags & FLAGS_KEPT);
    tr_write_u8(writer, phase_kept(actor->phase));
    tr_write_u32(writer, actor->incarnation);
    tr_write_ref(writer, (struct tr_ref){actor->parent, actor->parent_incarnation});
    tr_write_u64(writer, actor->sequence);
    tr_write_u16(writer, actor->muted_by);
    write_name(actor, writer);
    write_edges(worker, actor, writer);
    return behaviour->state->pack(tri_actor_state(actor), writer);
}

static int read_name(const struct tr_image *image, struct tri_actor_spec *spec)
{
    struct tr_cursor cursor = tr_cursor_of(image->name);
    if ((image->flags & TRI_ACTOR_ELEMENT) != 0) {
        spec->is_element = true;
        spec->element = tr_read_u64(&cursor);
    } else if (!tr_read_nil(&cursor)) {
        spec->name = tr_read_text(&cursor);
    }
    return cursor.error;
}

/* An edge as it is packed. */
struct packed_edge {
    uint8_t kind;
    struct tr_ref peer;
    uint64_t id;
    uint64_t due_ms;
};

static int unpack_edge(struct tr_cursor *cursor, struct packed_edge *edge)
{
    uint32_t field_count = tr_read_array(cursor);
    if (cursor->error == 0 && field_count != EDGE_FIELDS) {
        return TR_MALFORMED;
    }
    edge->kind = tr_read_u8(cursor);
    edge->peer.key.group = tr_read_u64(cursor);
    edge->peer.key.serial = tr_read_u64(cursor);
    edge->peer.incarnation = tr_read_u32(cursor);
    edge->id = tr_read_u64(cursor);
    edge->due_ms = tr_read_u64(cursor);
    if (cursor->error != 0) {
        return cursor->error;
    }
    return edge->kind > TRI_EDGE_BACKOFF ? TR_MALFORMED : 0;
}

/*
 * The wheel accepts a due time in the past and returns it in its next turn. A back-off edge is also
 * the counter of restarts and stays when the actor runs again: its old due time starts nothing
 * then.
 */
void tri_image_start_timer(struct tri_worker *worker, const struct tri_actor *actor,
                           struct tri_edge *edge)
{
    bool runs =
        edge->due_ms != 0 && (edge->kind != TRI_EDGE_BACKOFF || actor->phase == TRI_BACKING_OFF);
    if (runs && edge->wheel_place == 0) {
        tri_wheel_insert(worker, edge);
    }
}

/* Reads one edge; its timer is started again. */
static int read_edge(struct tri_worker *worker, struct tri_actor *actor, struct tr_cursor *cursor)
{
    struct packed_edge packed;
    int error = unpack_edge(cursor, &packed);
    if (error != 0) {
        return error;
    }
    struct tri_edge *edge =
        tri_edge_add(worker, actor, (enum tri_edge_kind)packed.kind, packed.peer, packed.id);
    if (edge == NULL) {
        return TR_MEMORY;
    }
    edge->due_ms = packed.due_ms;
    tri_image_start_timer(worker, actor, edge);
    return 0;
}

int tri_image_check(const struct tr_image *image)
{
    struct tri_actor_spec spec = {.is_element = false};
    struct tr_cursor cursor = tr_cursor_of(image->edges);
    uint32_t count = tr_read_array(&cursor);
    int error = read_name(image, &spec);
    if (error == 0 && (spec.name.size > TR_NAME_BYTES_MAX || count > TR_EDGES_MAX + 1)) {
        error = TR_LIMIT;
    }
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct packed_edge edge;
        error = unpack_edge(&cursor, &edge);
    }
    return error != 0 ? error : cursor.error;
}

/* There may be one edge more than the limit: the one that counts restarts. */
static int read_edges(struct tri_worker *worker, struct tri_actor *actor, struct tr_bytes bytes)
{
    struct tr_cursor cursor = tr_cursor_of(bytes);
    uint32_t count = tr_read_array(&cursor);
    if (count > TR_EDGES_MAX + 1) {
        return TR_LIMIT;
    }
    for (uint32_t i = 0; i < count; i++) {
        int error = read_edge(worker, actor, &cursor);
        if (error != 0) {
            return error;
        }
    }
    return cursor.error;
}

/*
 * Reads version 1, the only one so far. The state is unpacked into the scratch of the worker, which
 * is unused: images are read between two messages.
 */
static int read_parts(struct tri_worker *worker, struct tr_bytes bytes, struct tr_image *image,
                      struct tri_actor_spec *spec)
{
    int error = tr_image_unpack(bytes, tr_image_schema.version, image);
    if (error != 0) {
        return error;
    }
    int index = tri_behaviour_index(worker->shared, image->behaviour);
    if (index < 0) {
        return TR_UNKNOWN_TYPE;
    }
    const struct tr_schema *state = worker->shared->behaviours[index]->state;
    error = state->unpack(image->state, image->state_version, worker->scratch);
    if (error != 0) {
        return error;
    }
    spec->behaviour = (uint32_t)index;
    spec->incarnation = image->incarnation;
    spec->parent = image->parent;
    spec->state = worker->scratch;
    return read_name(image, spec);
}

int tri_image_read(struct tri_worker *worker, struct tr_key key, struct tr_bytes bytes,
                   struct tri_actor **out)
{
    struct tr_image image;
    struct tri_actor_spec spec = {.key = key};
    int error = read_parts(worker, bytes, &image, &spec);
    if (error != 0) {
        return error;
    }
    struct tri_actor *actor;
    error = tri_actor_new(worker, &spec, &actor);
    if (error != 0) {
        return error;
    }
    actor->flags |= image.flags & FLAGS_KEPT;
    actor->sequence = image.sequence;
    actor->muted_by = image.muted_by;
    error = tri_actor_join(worker, actor);
    /* After joining, which sets the actor idle. */
    actor->phase = phase_kept(image.phase);
    if (error == 0) {
        error = read_edges(worker, actor, image.edges);
    }
    if (error != 0) {
        tri_actor_free(worker, actor);
        return error;
    }
    *out = actor;
    return 0;
}

void tri_image_open(struct tri_worker *worker, struct tri_actor *actor)
{
    if (tri_queue_may_run(actor)) {
        tri_queue_push(worker, actor);
    }
}
