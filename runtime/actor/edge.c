/*
 * Edges: a ring per actor, oldest first, because the oldest question is usually answered first.
 *
 * The ring is linked by slots of 32 bits, which keeps an edge within one cache line. Adding and
 * removing are O(1); finding walks from the oldest edge and is O(n) of the actor's edges, of which
 * most actors have a few.
 */
#include "runtime/actor/parts.h"

struct tri_edge *tri_edge_add(struct tri_worker *worker, struct tri_actor *actor,
                              enum tri_edge_kind kind, struct tr_ref peer, uint64_t id)
{
    uint32_t slot = tri_slab_take(&worker->edge_slab);
    return slot == 0 ? NULL : tri_edge_place(worker, actor, slot, kind, peer, id);
}

struct tri_edge *tri_edge_place(struct tri_worker *worker, struct tri_actor *actor, uint32_t slot,
                                enum tri_edge_kind kind, struct tr_ref peer, uint64_t id)
{
    struct tri_edge *edge = tri_edge_at(worker, slot);
    *edge = (struct tri_edge){
        .actor = actor->slot,
        .slot = slot,
        .kind = (uint8_t)kind,
        .peer = peer.key,
        .peer_incarnation = peer.incarnation,
        .id = id,
        .next = slot,
        .previous = slot,
    };
    actor->edge_count++;
    if (actor->edges == 0) {
        actor->edges = slot;
        return edge;
    }
    struct tri_edge *first = tri_edge_at(worker, actor->edges);
    struct tri_edge *last = tri_edge_at(worker, first->previous);
    edge->next = first->slot;
    edge->previous = last->slot;
    last->next = slot;
    first->previous = slot;
    return edge;
}

void tri_edge_remove(struct tri_worker *worker, struct tri_actor *actor, struct tri_edge *edge)
{
    if (edge->wheel_place != 0) {
        tri_wheel_remove(worker, edge);
    }
    actor->edge_count--;
    if (edge->next == edge->slot) {
        actor->edges = 0;
    } else {
        tri_edge_at(worker, edge->previous)->next = edge->next;
        tri_edge_at(worker, edge->next)->previous = edge->previous;
        if (actor->edges == edge->slot) {
            actor->edges = edge->next;
        }
    }
    tri_slab_give(&worker->edge_slab, edge->slot);
}

struct tri_edge *tri_edge_first(const struct tri_worker *worker, const struct tri_actor *actor)
{
    return actor->edges == 0 ? NULL : tri_edge_at(worker, actor->edges);
}

struct tri_edge *tri_edge_next(const struct tri_worker *worker, const struct tri_actor *actor,
                               const struct tri_edge *edge)
{
    return edge->next == actor->edges ? NULL : tri_edge_at(worker, edge->next);
}

struct tri_edge *tri_edge_find(const struct tri_worker *worker, const struct tri_actor *actor,
                               enum tri_edge_kind kind, uint64_t id)
{
    struct tri_edge *edge = tri_edge_first(worker, actor);
    while (edge != NULL && (edge->kind != kind || edge->id != id)) {
        edge = tri_edge_next(worker, actor, edge);
    }
    return edge;
}

struct tri_edge *tri_edge_backoff(const struct tri_worker *worker, const struct tri_actor *actor)
{
    struct tri_edge *edge = tri_edge_first(worker, actor);
    while (edge != NULL && edge->kind != TRI_EDGE_BACKOFF) {
        edge = tri_edge_next(worker, actor, edge);
    }
    return edge;
}

/* Searches for the uncounted edge only if the actor is at its limit. */
bool tri_edge_has_room(const struct tri_worker *worker, const struct tri_actor *actor,
                       uint32_t more)
{
    uint32_t count = actor->edge_count + more;
    if (more == 0 || count <= TR_EDGES_MAX) {
        return true;
    }
    return count == TR_EDGES_MAX + 1 && tri_edge_backoff(worker, actor) != NULL;
}

struct tri_edge *tri_edge_find_exact(const struct tri_worker *worker, const struct tri_actor *actor,
                                     enum tri_edge_kind kind, struct tr_key peer, uint64_t id)
{
    struct tri_edge *edge = tri_edge_first(worker, actor);
    while (edge != NULL &&
           (edge->kind != kind || edge->id != id || !tr_key_equal(edge->peer, peer))) {
        edge = tri_edge_next(worker, actor, edge);
    }
    return edge;
}
