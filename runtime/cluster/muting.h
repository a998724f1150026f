/*
 * Holding back actors that say more to other hosts than their interhost actor may keep.
 */
#ifndef TR_RUNTIME_CLUSTER_MUTING_H
#define TR_RUNTIME_CLUSTER_MUTING_H

#include "runtime/cluster/pair.h"

/*
 * Mutes a sender, as of one group's window, or of TRI_PAIR_WAITING; once for each. What a host says
 * itself is not held back.
 */
TR_MUST_USE int tri_interhost_mute(struct tri_interhost_turn *turn, struct tr_ref sender,
                                   uint64_t group);

/* Unmutes all senders that wait for the window of a group, or for TRI_PAIR_WAITING. */
TR_MUST_USE int tri_interhost_unmute_all(struct tri_interhost_turn *turn, uint64_t group);

/* Senders that were muted for want of room may go on, if there is enough. */
TR_MUST_USE int tri_interhost_relieve(struct tri_interhost_turn *turn);

/* Whether all pairs together keep so much that no sender may say more. */
bool tri_interhost_is_full(const struct tri_interhost_turn *turn);

#endif
