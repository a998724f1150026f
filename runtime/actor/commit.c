/*
 * The end of a handler: all of its effects, or none.
 *
 * Everything that may need memory is prepared first; from then on nothing fails. Spawns are applied
 * first, so that messages to the children find them; the outbox last, in the order of sending.
 *
 * The steps of one message: the handler returns 0; tri_effects_prepare allocates all memory (slots
 * of edges, space for pages, entries of families, space in the batch and in the frames);
 * tri_effects_commit applies the list in the handler's order, then delivers the outbox. An error of
 * the handler or of prepare undoes everything, and the actor is as before the message. The commit
 * cannot be undone, because other actors may have received messages.
 */
#include "runtime/actor/deliver.h"

#include "runtime/actor/hooks.h"

/*
 * Allocates what an effect needs; undone by cutting back. A child joins its family here and not in
 * commit, since the family's entry in the map may need memory.
 */
static int prepare(struct tri_worker *worker, struct tri_actor *actor, struct tri_effect *effect)
{
    switch ((enum tri_effect_kind)effect->kind) {
    case TRI_EFFECT_SPAWN:
        return tri_actor_join(worker, tri_actor_at(worker, effect->slot));
    case TRI_EFFECT_EDGE_ADD:
        effect->slot = tri_slab_take(&worker->edge_slab);
        return effect->slot == 0 ? TR_MEMORY : 0;
    case TRI_EFFECT_PAGE:
        return tri_page_reserve(actor, effect->page);
    case TRI_EFFECT_EDGE_REMOVE:
    case TRI_EFFECT_RECORD:
    case TRI_EFFECT_RECORD_DELETE:
    case TRI_EFFECT_COUNT:
        return 0;
    }
    return TR_INVALID;
}

/* The slot was taken by prepare, so this cannot fail. */
static void apply_edge_add(struct tri_worker *worker, struct tri_actor *actor,
                           const struct tri_effect *effect)
{
    struct tri_edge *edge = tri_edge_place(
        worker, actor, effect->slot, (enum tri_edge_kind)effect->edge, effect->peer, effect->id);
    edge->due_ms = effect->due_ms;
    if (edge->due_ms != 0) {
        tri_wheel_insert(worker, edge);
    }
}

/* Deferred replies are found by peer and number, all other edges by a number of the actor. */
static struct tri_edge *find_removed(const struct tri_worker *worker, const struct tri_actor *actor,
                                     const struct tri_effect *effect)
{
    enum tri_edge_kind kind = (enum tri_edge_kind)effect->edge;
    if (kind == TRI_EDGE_OWED) {
        return tri_edge_find_exact(worker, actor, kind, effect->peer.key, effect->id);
    }
    return tri_edge_find(worker, actor, kind, effect->id);
}

static void apply_edge_remove(struct tri_worker *worker, struct tri_actor *actor,
                              const struct tri_effect *effect)
{
    struct tri_edge *edge = find_removed(worker, actor, effect);
    if (edge != NULL) {
        tri_edge_remove(worker, actor, edge);
    }
}

/* Adds the row to the batch, whose space was reserved (take_room); frees its bytes. */
static void apply_record(struct tri_worker *worker, const struct tri_effect *effect)
{
    if (worker->is_journaled) {
        struct tri_op op = {
            .kind = effect->kind == TRI_EFFECT_RECORD ? TRI_OP_PUT_RECORD : TRI_OP_DELETE_RECORDS,
            .type = (uint16_t)effect->page,
            .key_size = effect->key_size,
            .incarnation = effect->peer.incarnation,
            .number = effect->id,
            .data = {.data = effect->bytes, .size = effect->size},
        };
        tri_batch_add(&worker->batch, &op);
    }
    tr_free(effect->bytes);
}

/*
 * A child is spawned: its group's counter is written with it. Messages that arrived before the
 * spawn are put into the mailbox first: those of this handler are in the outbox, which is delivered
 * after all effects.
 */
static void apply_spawn(struct tri_worker *worker, uint32_t slot)
{
    struct tri_actor *child = tri_actor_at(worker, slot);
    worker->metrics.actors_spawned++;
    if (TR_UNLIKELY(worker->unspawned_count > 0)) {
        tri_deliver_unspawned(worker, child->key);
    }
    tri_actor_touch(worker, child);
    tri_recorder_note_actor(worker, TR_TAP_SPAWN, child, 0);
    if (tri_is_tapped(worker, TR_TAP_SPAWN)) {
        tri_tap_spawn(worker, child, worker->context.trace);
    }
}

/* Applies one effect. It cannot fail: prepare allocated everything. */
static void apply(struct tri_worker *worker, struct tri_actor *actor,
                  const struct tri_effect *effect)
{
    switch ((enum tri_effect_kind)effect->kind) {
    case TRI_EFFECT_SPAWN:
        apply_spawn(worker, effect->slot);
        return;
    case TRI_EFFECT_EDGE_ADD:
        apply_edge_add(worker, actor, effect);
        return;
    case TRI_EFFECT_EDGE_REMOVE:
        apply_edge_remove(worker, actor, effect);
        return;
    case TRI_EFFECT_PAGE:
        tri_page_put(worker, actor, effect->page, effect->bytes, effect->size);
        return;
    case TRI_EFFECT_RECORD:
    case TRI_EFFECT_RECORD_DELETE:
        apply_record(worker, effect);
        return;
    case TRI_EFFECT_COUNT:
        worker->counters[effect->page] += effect->id;
        return;
    }
}

/* Undoes a spawn, and a group that it would have begun. */
static void undo_spawn(struct tri_worker *worker, struct tri_actor *child)
{
    uint64_t number = child->key.group;
    bool is_root = (child->flags & TRI_ACTOR_IS_ROOT) != 0;
    tri_actor_free(worker, child);
    if (is_root) {
        tri_group_undo(worker, number);
    }
}

/* Releases what was prepared, and the effect's own data. The slot of an unprepared edge is 0. */
static void undo(struct tri_worker *worker, struct tri_effect *effect)
{
    switch ((enum tri_effect_kind)effect->kind) {
    case TRI_EFFECT_SPAWN:
        undo_spawn(worker, tri_actor_at(worker, effect->slot));
        return;
    case TRI_EFFECT_EDGE_ADD:
        if (effect->slot != 0) {
            tri_slab_give(&worker->edge_slab, effect->slot);
        }
        return;
    case TRI_EFFECT_PAGE:
    case TRI_EFFECT_RECORD:
    case TRI_EFFECT_RECORD_DELETE:
        tr_free(effect->bytes);
        return;
    case TRI_EFFECT_EDGE_REMOVE:
    case TRI_EFFECT_COUNT:
        return;
    }
}

/* Undoes all effects, prepared or not, and frees the messages. The actor itself was not changed. */
void tri_effects_cut_back(struct tri_worker *worker)
{
    struct tr_context *context = &worker->context;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        undo(worker, &context->effects[i]);
    }
    context->effect_count = 0;
    while (context->outbox_head != NULL) {
        struct tri_message *message = context->outbox_head;
        context->outbox_head = message->next;
        tri_message_free(worker, message);
    }
    context->outbox_tail = NULL;
}

static uint32_t count_added(const struct tr_context *context)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        count += context->effects[i].kind == TRI_EFFECT_EDGE_ADD ? 1 : 0;
    }
    return count;
}

/*
 * The number of edges that the actor will lose: the answered one, and those that the handler
 * removes. Each is marked when counted, because a handler may remove one twice. An edge that the
 * same handler adds and removes is not counted: the sum is an upper bound.
 */
static uint32_t count_leaving(const struct tri_worker *worker, struct tri_edge *answered)
{
    const struct tr_context *context = &worker->context;
    uint32_t count = 0;
    if (answered != NULL) {
        answered->is_leaving = true;
        count++;
    }
    for (uint32_t i = 0; i < context->effect_count; i++) {
        const struct tri_effect *effect = &context->effects[i];
        struct tri_edge *edge = effect->kind == TRI_EFFECT_EDGE_REMOVE
                                    ? find_removed(worker, context->actor, effect)
                                    : NULL;
        if (edge != NULL && !edge->is_leaving) {
            edge->is_leaving = true;
            count++;
        }
    }
    struct tri_edge *edge = tri_edge_first(worker, context->actor);
    for (; edge != NULL; edge = tri_edge_next(worker, context->actor, edge)) {
        edge->is_leaving = false;
    }
    return count;
}

/*
 * Removals are counted only near the limit: it takes a search for each. A handler that adds no edge
 * always passes, so an actor at the limit can remove edges.
 */
static bool have_edges_room(const struct tri_worker *worker, struct tri_edge *answered)
{
    const struct tri_actor *actor = worker->context.actor;
    uint32_t added = count_added(&worker->context);
    if (tri_edge_has_room(worker, actor, added)) {
        return true;
    }
    uint32_t leaving = count_leaving(worker, answered);
    return leaving >= added || tri_edge_has_room(worker, actor, added - leaving);
}

/* ---- Room for what leaves. ------------------------------------------------------------------- */

/*
 * An accepted message must not be lost, so a commit must not fail for want of memory. All the space
 * that it may need, in the batch for the journal and in the frames for other places, is therefore
 * reserved while the handler can still be cut back and run again later. It is an upper bound: some
 * messages stay here.
 */

/* Rows only: images and pages are written by the cut, which ends the host without memory. */
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

/* Each message may be written, and the current one is settled. */
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

/* A handler without effects needs space as well, for settling its message. */
static int take_room(struct tri_worker *worker)
{
    int error = worker->is_journaled ? room_in_batch(worker) : 0;
    if (error != 0 || worker->context.outbox_head == NULL) {
        return error;
    }
    return room_in_frames(worker);
}

int tri_effects_prepare(struct tri_worker *worker, struct tri_edge *answered)
{
    struct tr_context *context = &worker->context;
    if (!have_edges_room(worker, answered)) {
        tri_effects_cut_back(worker);
        return TR_LIMIT;
    }
    for (uint32_t i = 0; i < context->effect_count; i++) {
        int error = prepare(worker, context->actor, &context->effects[i]);
        if (error != 0) {
            tri_effects_cut_back(worker);
            return error;
        }
    }
    int error = take_room(worker);
    if (error != 0) {
        tri_effects_cut_back(worker);
    }
    return error;
}

void tri_effects_commit(struct tri_worker *worker)
{
    struct tr_context *context = &worker->context;
    /* Numbers of messages are consumed only here: a handler that is cut back consumes none. */
    context->actor->sequence = context->sequence;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        apply(worker, context->actor, &context->effects[i]);
    }
    context->effect_count = 0;
    struct tri_message *message = context->outbox_head;
    context->outbox_head = NULL;
    context->outbox_tail = NULL;
    uint32_t self = context->actor->slot;
    uint64_t group = context->actor->key.group;
    while (message != NULL) {
        struct tri_message *next = message->next;
        uint32_t hint = message->from_hint;
        /*
         * In the outbox the field holds the receiver's slot, in a mailbox the sender's, which makes
         * a reply cheap.
         */
        message->from_hint = self;
        if (tri_is_tapped(worker, TR_TAP_SEND)) {
            tri_tap_message(worker, TR_TAP_SEND, context->actor, message, 0);
        }
        if (!tri_remote_pass(worker, message, group)) {
            tri_deliver(worker, message, hint);
        }
        message = next;
    }
}
