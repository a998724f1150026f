/*
 * The end of a handler: all of its effects, or none.
 *
 * What could still fail for want of memory is prepared first; from then on nothing fails. Children
 * come first, so that messages to them find them; the outbox last, in the order of sending.
 */
#include "runtime/actor/deliver.h"

#include "runtime/watch/port.h"

/* Takes what an effect will need; undone by cutting back. */
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
        return 0;
    }
    return TR_INVALID;
}

static void apply_edge_add(struct tri_worker *worker, struct tri_actor *actor,
                           const struct tri_effect *effect)
{
    bool is_linked = effect->edge == TRI_EDGE_LINK &&
                     tri_edge_find_peer(worker, actor, TRI_EDGE_LINK, effect->peer.key) != NULL;
    if (is_linked) {
        tri_slab_give(&worker->edge_slab, effect->slot); /* linking twice is one link */
        return;
    }
    struct tri_edge *edge = tri_edge_place(
        worker, actor, effect->slot, (enum tri_edge_kind)effect->edge, effect->peer, effect->id);
    edge->due_ms = effect->due_ms;
    if (edge->due_ms != 0) {
        tri_wheel_insert(worker, edge);
    }
}

/* Links are found by peer, debts by both, everything else by a number of the actor's own. */
static struct tri_edge *find_removed(const struct tri_worker *worker, const struct tri_actor *actor,
                                     const struct tri_effect *effect)
{
    enum tri_edge_kind kind = (enum tri_edge_kind)effect->edge;
    if (kind == TRI_EDGE_LINK) {
        return tri_edge_find_peer(worker, actor, kind, effect->peer.key);
    }
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

/* A child is born: the counter of its group is written with it. */
static void apply_spawn(struct tri_worker *worker, uint32_t slot)
{
    struct tri_actor *child = tri_actor_at(worker, slot);
    worker->metrics.actors_born++;
    if (TR_UNLIKELY(worker->unborn_count > 0)) {
        tri_deliver_unborn(worker, child->key);
    }
    tri_actor_touch(worker, child);
    tri_record_actor(worker, TR_TAP_SPAWN, child, 0);
    if (tri_is_tapped(worker, TR_TAP_SPAWN)) {
        tri_tap_spawn(worker, child, worker->context.trace);
    }
}

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
    }
}

/* A child that is not born after all; a group that was to begin with it does not begin. */
static void undo_spawn(struct tri_worker *worker, struct tri_actor *child)
{
    uint64_t number = child->key.group;
    bool is_root = (child->flags & TRI_ACTOR_IS_ROOT) != 0;
    tri_actor_free(worker, child);
    if (is_root) {
        tri_group_undo(worker, number);
    }
}

/* Gives back what was prepared, and what the effect itself holds. */
static void undo(struct tri_worker *worker, struct tri_effect *effect, bool is_prepared)
{
    switch ((enum tri_effect_kind)effect->kind) {
    case TRI_EFFECT_SPAWN:
        undo_spawn(worker, tri_actor_at(worker, effect->slot));
        return;
    case TRI_EFFECT_EDGE_ADD:
        if (is_prepared) {
            tri_slab_give(&worker->edge_slab, effect->slot);
        }
        return;
    case TRI_EFFECT_PAGE:
    case TRI_EFFECT_RECORD:
    case TRI_EFFECT_RECORD_DELETE:
        tr_free(effect->bytes);
        return;
    case TRI_EFFECT_EDGE_REMOVE:
        return;
    }
}

static void cut_back(struct tri_worker *worker, uint32_t prepared_count)
{
    struct tr_context *context = &worker->context;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        undo(worker, &context->effects[i], i < prepared_count);
    }
    context->effect_count = 0;
    while (context->outbox_head != NULL) {
        struct tri_message *message = context->outbox_head;
        context->outbox_head = message->next;
        tri_message_free(worker, message);
    }
    context->outbox_tail = NULL;
}

void tri_effects_cut_back(struct tri_worker *worker)
{
    cut_back(worker, 0);
}

int tri_effects_prepare(struct tri_worker *worker)
{
    struct tr_context *context = &worker->context;
    uint32_t edge_count = context->actor->edge_count;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        edge_count += context->effects[i].kind == TRI_EFFECT_EDGE_ADD ? 1 : 0;
        int error = edge_count > TR_EDGES_MAX
                        ? TR_LIMIT
                        : prepare(worker, context->actor, &context->effects[i]);
        if (error != 0) {
            cut_back(worker, i);
            return error;
        }
    }
    int error = tri_room_take(worker);
    if (error != 0) {
        cut_back(worker, context->effect_count);
    }
    return error;
}

void tri_effects_commit(struct tri_worker *worker)
{
    struct tr_context *context = &worker->context;
    context->actor->sequence = context->sequence;
    for (uint32_t i = 0; i < context->effect_count; i++) {
        apply(worker, context->actor, &context->effects[i]);
    }
    context->effect_count = 0;
    struct tri_message *message = context->outbox_head;
    context->outbox_head = NULL;
    context->outbox_tail = NULL;
    uint32_t self = context->actor->slot;
    while (message != NULL) {
        struct tri_message *next = message->next;
        uint32_t hint = message->from_hint;
        message->from_hint = self;
        if (tri_is_tapped(worker, TR_TAP_SEND)) {
            tri_tap_message(worker, TR_TAP_SEND, context->actor, message, 0);
        }
        tri_deliver(worker, message, hint);
        message = next;
    }
}
