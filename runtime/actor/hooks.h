/*
 * Callbacks from a worker to the rooms above it: tables of operations, set at its init. So watching
 * (watch/port.h) and other hosts (cluster/interhost.h) depend on a worker, and not the reverse.
 *
 * All of them run on the worker's thread, within the step they concern.
 */
#ifndef TR_RUNTIME_ACTOR_HOOKS_H
#define TR_RUNTIME_ACTOR_HOOKS_H

#include "runtime/actor/parts.h"

/* ------------------------------------------------------------------ watching */

struct tri_watch_ops {
    void (*handler_begins)(struct tri_worker *worker, const struct tri_actor *actor);
    void (*message)(struct tri_worker *worker, enum tr_tap_point point, struct tri_actor *actor,
                    const struct tri_message *message, int reason);
    void (*actor)(struct tri_worker *worker, enum tr_tap_point point, struct tri_actor *actor,
                  int reason);
    void (*spawn)(struct tri_worker *worker, struct tri_actor *actor, uint64_t trace);
    void (*moved)(struct tri_worker *worker, struct tri_actor *actor, uint32_t to_worker);
    void (*note_batches)(struct tri_worker *worker);
};

/* Whether a tap wants this point. Without a tap a point costs this one branch. */
static inline bool tri_is_tapped(const struct tri_worker *worker, enum tr_tap_point point)
{
    return TR_UNLIKELY((worker->tap_mask >> point & 1) != 0);
}

/* A handler begins; called if any point is tapped. Reads the clock if a tap wants it. */
static inline void tri_tap_handler_begins(struct tri_worker *worker, const struct tri_actor *actor)
{
    worker->watch->handler_begins(worker, actor);
}

/* An event about a message. `actor` is its actor here, or NULL. */
static inline void tri_tap_message(struct tri_worker *worker, enum tr_tap_point point,
                                   struct tri_actor *actor, const struct tri_message *message,
                                   int reason)
{
    worker->watch->message(worker, point, actor, message, reason);
}

/* An event about an actor without a message. */
static inline void tri_tap_actor(struct tri_worker *worker, enum tr_tap_point point,
                                 struct tri_actor *actor, int reason)
{
    worker->watch->actor(worker, point, actor, reason);
}

/* A child was spawned, in the trace of the message that its parent handles (0: from outside). */
static inline void tri_tap_spawn(struct tri_worker *worker, struct tri_actor *actor, uint64_t trace)
{
    worker->watch->spawn(worker, actor, trace);
}

/* An actor moves to another worker, or has arrived here. */
static inline void tri_tap_moved(struct tri_worker *worker, struct tri_actor *actor,
                                 uint32_t to_worker)
{
    worker->watch->moved(worker, actor, to_worker);
}

/* The journal got a batch, or has reported the committed number. */
static inline void tri_tap_note_batches(struct tri_worker *worker)
{
    worker->watch->note_batches(worker);
}

/* --------------------------------------------------------------- other hosts */

struct tri_remote_ops {
    bool (*deliver)(struct tri_worker *worker, struct tri_message *message);
    bool (*pass)(struct tri_worker *worker, struct tri_message *message, uint64_t from);
    void (*group_ended)(struct tri_worker *worker, uint64_t group);
};

/* A number of spawns that no worker ever reaches: that of each group's interhost actor. */
#define TRI_INTERHOST_NUMBER (1ULL << 58)

/* The interhost actor of a group. */
static inline struct tr_key tri_interhost_key(uint64_t group)
{
    return (struct tr_key){group, TRI_INTERHOST_NUMBER << 4 | (group & (TR_WORKERS_MAX - 1))};
}

static inline bool tri_is_interhost(struct tr_key key)
{
    return key.serial >> 4 == TRI_INTERHOST_NUMBER;
}

/* Whether a group lives on another host. */
static inline bool tri_is_remote(const struct tri_worker *worker, uint64_t group)
{
    return !tri_owners_is_here(&worker->owners, group);
}

/*
 * Whether what a group says to another one goes by their interhost actors. It does between hosts;
 * and where they have become neighbours, because a partition came to this host while it ran, it
 * still does: what was said before may be on its way there, and must not be overtaken.
 */
static inline bool tri_crosses(struct tri_worker *worker, uint64_t from, uint64_t to)
{
    const struct tri_owners *owners = &worker->owners;
    if (TR_UNLIKELY(tri_is_remote(worker, to))) {
        return true;
    }
    return TR_UNLIKELY(worker->has_neighbours) && from != to && !tr_group_is_host(from) &&
           !tr_group_is_host(to) &&
           (tri_owners_view(owners, from) != tri_owners_view(owners, to) ||
            tri_owners_is_parted(owners, from) != tri_owners_is_parted(owners, to) ||
            tri_key_map_get(&worker->neighbours, (struct tr_key){from, to}) != 0);
}

/*
 * A message that an actor of a group has sent (0: this worker itself), before it is delivered:
 * takes it over if its receiver is a neighbour; whether it did.
 */
static inline bool tri_remote_pass(struct tri_worker *worker, struct tri_message *message,
                                   uint64_t from)
{
    return TR_UNLIKELY(worker->has_neighbours) && worker->remote->pass(worker, message, from);
}

/* A message for a receiver that is not on this worker, on a host that is not alone: takes it over
 * if it is for another host or for an interhost actor; whether it did. */
static inline bool tri_remote_deliver(struct tri_worker *worker, struct tri_message *message)
{
    return worker->remote->deliver(worker, message);
}

/* The actor has ended, or left this worker: it waits for no other host here any more. */
static inline void tri_remote_forget(struct tri_worker *worker, struct tr_key key)
{
    tri_key_groups_remove(&worker->remote_waiters, key);
}

/* A group has ended: none of its actors waits any more, and its interhost actor may end too. */
static inline void tri_remote_on_group_end(struct tri_worker *worker, uint64_t group)
{
    if (worker->interhost_actors.count > 0) {
        worker->remote->group_ended(worker, group);
    }
}

#endif
