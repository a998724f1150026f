/*
 * Groups leave this host for another one, with the partitions that they lie in. Nothing of them
 * travels from host to host: what this host has of them is committed, and the other one loads it
 * from the store, as a start does (runtime/host/take.h). The program asks each worker, step by step
 * (runtime/host/give.c):
 *
 *     freeze    none of their handlers runs any more; mailboxes accept, timers fire into them
 *     look      whether they wait for what only this host can tell them
 *     part      what others of this host say to them goes by interhost actors from now on
 *     flush     what was said before, by any worker, is in the mailboxes
 *     (owners)  they are the other host's, for this one
 *     unload    all of them is cut, hints too, and forgotten
 *
 * Until `part` they are thawed by a freeze without them; behind it they come back by being loaded.
 * On a worker's own thread, between two messages.
 */
#ifndef TR_RUNTIME_MOVE_LEAVE_H
#define TR_RUNTIME_MOVE_LEAVE_H

#include "runtime/actor/deliver.h"

/*
 * The partitions in which no handler runs, from now on, one each of TR_PARTITIONS_MAX; others run
 * again.
 */
void tri_leave_freeze(struct tri_worker *worker, const bool *frozen);

/* What keeps a group here, as enum tri_member_wait has it (../members/member.h). */
enum tri_leave_wait {
    TRI_LEAVE_FREE,
    TRI_LEAVE_CALLS,     /* what it has asked the outside is not answered yet, or is a move */
    TRI_LEAVE_PROCESSES, /* processes, or files of this machine that they need */
};

/* What keeps each frozen partition here; an entry of `waits` only grows. */
void tri_leave_look(struct tri_worker *worker, uint8_t *waits);

/* Frozen partitions part from the others, as if they had another host. */
void tri_leave_part(struct tri_worker *worker);

/* Says to each other worker that all of it was said; whether all others have said so, so often. */
void tri_leave_flush(struct tri_worker *worker);
bool tri_leave_is_flushed(const struct tri_worker *worker, uint32_t rounds);
void tri_leave_on_flush(struct tri_worker *worker, const struct tr_message *message);

/*
 * Writes all of the partitions into a cut, and forgets it. Who waits for one of their actors is
 * told that there is no connection. TR_MEMORY, or what the worker ends with: the store has
 * everything.
 */
TR_MUST_USE int tri_leave_unload(struct tri_worker *worker, const bool *leaving);

#endif
