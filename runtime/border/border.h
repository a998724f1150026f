/*
 * The border: the actor of a group that speaks to other hosts (law 8).
 *
 *     X ──border_out──▶ border of X's group ──border_send──▶ border of Y's group ──X's bytes──▶ Y
 *                                           ◀──border_ack───
 *
 * What X says to a Y whose group lives elsewhere goes, as bytes, to the border of X's own group. It
 * gives it the next number of the pair of groups and keeps it; the commit that has it lets it go to
 * the other host. The border there applies each number once and in order: its own state says which
 * was the last, so that is committed together with what came of it, and only then acknowledged.
 *
 * A border is born when it is first needed and ends when nothing is left of any pair; it has one
 * serial in every group that no birth ever gets. It lives on the worker where its group began, and
 * does not move. The files: pair.h is what it keeps, border.c what it does with messages, far.c how
 * a worker comes to it and what a link that is down means to actors.
 */
#ifndef TR_RUNTIME_BORDER_BORDER_H
#define TR_RUNTIME_BORDER_BORDER_H

#include "runtime/actor/deliver.h"
#include "schemas/runtime/border.h"

/* A number of births that no worker ever reaches. */
#define TRI_BORDER_BIRTH (1ULL << 58)

/* The border of a group. */
static inline struct tr_key tri_border_key(uint64_t group)
{
    return (struct tr_key){group, TRI_BORDER_BIRTH << 4 | (group & (TR_WORKERS_MAX - 1))};
}

static inline bool tri_is_border(struct tr_key key)
{
    return key.serial >> 4 == TRI_BORDER_BIRTH;
}

/* Whether a border hears messages of this type from other hosts. */
bool tri_border_hears(uint16_t type);

extern const struct tr_behaviour tri_border_behaviour;

/* ----------------------------------------------------------------- far.c */

/* A message for somebody who is not on this worker, on a host that is not alone: takes it over if
 * it is for another host, for a border, or for the host itself by its own group; whether it did. */
bool tri_far_deliver(struct tri_worker *worker, struct tri_message *message);

/* Whether a group lives on another host. */
static inline bool tri_is_far(const struct tri_worker *worker, uint64_t group)
{
    return !tri_directory_is_here(&worker->shared->directory, group);
}

/* An actor has come by a move: what it waits for on other hosts is remembered; and what it may not
 * have heard on its way, that a link is down, it hears now. */
void tri_far_note_moved(struct tri_worker *worker, struct tri_actor *actor);

/* Remembers an actor if it waits for anybody on another host. */
void tri_far_note(struct tri_worker *worker, const struct tri_actor *actor);

/* A start is a link that was down: what the actor has asked of other hosts, and whom it monitors
 * there, hears so. */
void tri_far_note_loaded(struct tri_worker *worker, struct tri_actor *actor);

/* The actor has ended, or left this worker. */
void tri_far_forget(struct tri_worker *worker, struct tr_key key);

/* The link to a host is up or down: what a worker is told by the border's service. */
void tri_far_on_link(struct tri_worker *worker, const struct tr_message *message);

/* Those of a group, on all workers, who wait for a host hear that its link was down. On the worker
 * of its border, behind what that has brought in. */
void tri_far_lose(struct tri_worker *worker, uint64_t group, uint16_t host);
void tri_far_on_lost(struct tri_worker *worker, const struct tr_message *message);

/* A group has ended: nobody waits in it any more, and its border may end too. */
void tri_far_on_group_end(struct tri_worker *worker, uint64_t group);

#endif
