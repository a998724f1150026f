/*
 * Muting: an edge of the interhost actor for each sender and group, so that it is unmuted as often
 * as it was muted.
 */
#include "runtime/cluster/muting.h"

/* Whether this sender is muted by the window of this group already. */
static bool is_muted(const struct tri_interhost_turn *turn, struct tr_key sender, uint64_t group)
{
    return tri_edge_find_exact(turn->context->worker, turn->context->actor, TRI_EDGE_MUTING, sender,
                               group) != NULL;
}

int tri_interhost_mute(struct tri_interhost_turn *turn, struct tr_ref sender, uint64_t group)
{
    if (tr_group_is_host(sender.key.group) || is_muted(turn, sender.key, group) ||
        !tri_edge_has_room(turn->context->worker, turn->context->actor, 1)) {
        return 0;
    }
    struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = sender};
    struct tr_mute mute = {.sender = sender.key};
    int error =
        tri_effects_send(turn->context, &heading, 0, &tr_mute_schema, &mute, TR_MESSAGE_BYTES_MAX);
    if (error == 0) {
        error = tri_effect_add(turn->context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_ADD,
                                                                  .edge = TRI_EDGE_MUTING,
                                                                  .peer = sender,
                                                                  .id = group});
    }
    if (error == 0) {
        turn->context->worker->metrics.mutes++;
    }
    return error;
}

int tri_interhost_unmute_all(struct tri_interhost_turn *turn, uint64_t group)
{
    struct tri_worker *worker = turn->context->worker;
    const struct tri_actor *interhost = turn->context->actor;
    const struct tri_edge *edge = tri_edge_first(worker, interhost);
    int error = 0;
    for (; error == 0 && edge != NULL; edge = tri_edge_next(worker, interhost, edge)) {
        if (edge->kind != TRI_EDGE_MUTING || edge->id != group) {
            continue;
        }
        struct tr_ref sender = {edge->peer, edge->peer_incarnation};
        struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = sender};
        struct tr_unmute unmute = {.sender = sender.key};
        error = tri_effects_send(turn->context, &heading, 0, &tr_unmute_schema, &unmute,
                                 TR_MESSAGE_BYTES_MAX);
        if (error == 0) {
            error =
                tri_effect_add(turn->context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_REMOVE,
                                                                  .edge = TRI_EDGE_MUTING,
                                                                  .id = group});
        }
    }
    return error;
}

bool tri_interhost_is_full(const struct tri_interhost_turn *turn)
{
    return turn->state->pages > TR_INTERHOST_PAGES_MAX / 2;
}

int tri_interhost_relieve(struct tri_interhost_turn *turn)
{
    const struct tri_pair *waiting;
    uint32_t page;
    int error = tri_pair_find(turn, TRI_PAIR_WAITING, &waiting, &page);
    bool is_enough =
        error == 0 && waiting == NULL && turn->state->pages <= TR_INTERHOST_PAGES_MAX / 4;
    return is_enough ? tri_interhost_unmute_all(turn, TRI_PAIR_WAITING) : error;
}
