/*
 * The interhost actor: the actor of a group that speaks to other hosts (law 8 of
 * runtime/ARCHITECTURE.md).
 *
 *     X ──out──▶ X's interhost actor ──send──▶ Y's interhost actor ──X's bytes──▶ Y
 *                                       ◀──ack───
 *
 * What X says to a Y whose group lives elsewhere goes, as bytes, to the interhost actor of X's own
 * group. It gives it the next number of the pair of groups and keeps it; the commit that has it
 * lets it go to the other host. The interhost actor there applies each number once and in order:
 * its own state says which was the last, so that is committed together with what came of it, and
 * only then acknowledged.
 *
 * An interhost actor is spawned when it is first needed and ends when nothing is left of any pair;
 * it has one serial in every group that no spawn ever gets. It lives on the worker where its group
 * began, and does not move. The files: pair.h is what it keeps, interhost.c what it does with
 * messages, remote.c how a worker comes to it and what a link that is down means to actors.
 */
#ifndef TR_RUNTIME_CLUSTER_INTERHOST_H
#define TR_RUNTIME_CLUSTER_INTERHOST_H

#include "runtime/actor/deliver.h"
#include "runtime/actor/hooks.h"
#include "schemas/runtime/interhost.h"

/* Whether an interhost actor hears messages of this type from other hosts. */
bool tri_interhost_hears(uint16_t type);

extern const struct tr_behaviour tri_interhost_behaviour;

/* ----------------------------------------------------------------- remote.c */

/* An actor has come by a move: what it waits for on other hosts is remembered; and what it may not
 * have heard on its way, that a link is down, it hears now. */
void tri_far_note_moved(struct tri_worker *worker, struct tri_actor *actor);

/* A start is a link that was down: what the actor has asked of other hosts, and whom it monitors
 * there, hears so. */
void tri_far_note_loaded(struct tri_worker *worker, struct tri_actor *actor);

/* The link to a host is up or down: what a worker is told by the interhost service. */
void tri_far_on_link(struct tri_worker *worker, const struct tr_message *message);

/* Those of a group, on all workers, who wait for a host hear that its link was down. On the worker
 * of its interhost actor, behind what that has brought in. */
void tri_far_lose(struct tri_worker *worker, uint64_t group, uint16_t host);
void tri_far_on_lost(struct tri_worker *worker, const struct tr_message *message);

/* What a worker calls when a message or the end of a group concerns other hosts (actor/hooks.h). */
extern const struct tri_far_ops tri_far_ops;

#endif
