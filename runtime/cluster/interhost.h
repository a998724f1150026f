/*
 * The interhost actor: the actor of a group that exchanges messages with other hosts (law 8 of
 * runtime/ARCHITECTURE.md).
 *
 *     X ──out──▶ X's interhost actor ──send──▶ Y's interhost actor ──X's bytes──▶ Y
 *                                       ◀──ack───
 *
 * A message from X to a Y whose group is on another host goes, as bytes, to the interhost actor of
 * X's own group. It assigns the next number of the pair of groups and keeps the message; after the
 * commit of that the message is sent to the other host. The interhost actor there applies each
 * number once and in order: its own state has the last number, which is committed together with the
 * effects of the message, and only then acknowledged.
 *
 * An interhost actor is spawned at its first use and ends when it has no pair left; it has the same
 * reserved serial in every group. It lives on its group's worker of origin, and does not move. The
 * files: pair.h is its state, interhost.c its handlers, remote.c passes messages to it and reports
 * a link that is down to actors.
 */
#ifndef TR_RUNTIME_CLUSTER_INTERHOST_H
#define TR_RUNTIME_CLUSTER_INTERHOST_H

#include "runtime/actor/deliver.h"
#include "runtime/actor/hooks.h"
#include "schemas/runtime/interhost.h"

/* Whether an interhost actor accepts messages of this type from other hosts. */
bool tri_interhost_accepts(uint16_t type);

extern const struct tr_behaviour tri_interhost_behaviour;

/* ----------------------------------------------------------------- remote.c */

/*
 * An actor arrived by a move: notes its waits on other hosts, and reports links that went down on
 * its way.
 */
void tri_remote_note_moved(struct tri_worker *worker, struct tri_actor *actor);

/*
 * After a start all links were down: reports that for the actor's asks and monitors on other hosts.
 */
void tri_remote_note_loaded(struct tri_worker *worker, struct tri_actor *actor);

/* The interhost service tells a worker that the link to a host is up or down. */
void tri_remote_on_link(struct tri_worker *worker, const struct tr_message *message);

/*
 * Fails the waits of a group's actors, on all workers, for a host whose link was down. On the
 * worker of its interhost actor, after the messages that the link delivered.
 */
void tri_remote_fail_waits(struct tri_worker *worker, uint64_t group, uint16_t host);
void tri_remote_on_lost(struct tri_worker *worker, const struct tr_message *message);

/* The interhost service tells a worker who has the partitions now. */
void tri_remote_on_owners(struct tri_worker *worker, const struct tr_message *message);

/*
 * Fails the waits of a group's actors, on all workers, for groups whose partitions got another host
 * in a view: what that one's predecessor has not said any more is lost. On the worker of its
 * interhost actor, after what the link to the predecessor delivered.
 */
void tri_remote_fail_moved(struct tri_worker *worker, uint64_t group, uint64_t view);
void tri_remote_on_view(struct tri_worker *worker, const struct tr_message *message);

/*
 * Groups of some partitions leave this host (runtime/move/leave.h): the waits of all others on this
 * worker for them fail.
 */
void tri_remote_fail_left(struct tri_worker *worker, const bool *leaving);

/*
 * Two groups of this host speak as if they were on two (tri_crosses), in one direction, from now on
 * until the host ends. On every worker, before an actor of one of them runs. TR_MEMORY.
 */
TR_MUST_USE int tri_remote_note_neighbour(struct tri_worker *worker, uint64_t from, uint64_t to);

/*
 * A start, before its threads: groups that have a pair, and are both here, are neighbours.
 * TR_MEMORY.
 */
TR_MUST_USE int tri_remote_load_neighbours(struct tri_worker *workers, uint32_t count);

/* An interhost actor has come to this host, where some links are up: it sends all of its again. */
void tri_remote_open(struct tri_worker *worker, struct tri_actor *interhost);

/* Called by a worker for messages and ends of groups that concern other hosts (actor/hooks.h). */
extern const struct tri_remote_ops tri_remote_ops;

#endif
