/*
 * A host that works gives some of its partitions to one that has fewer, such as one that comes:
 * those in which nothing lies, so that whoever gets one has nothing to load. Others it gives when
 * that is wanted, with all groups that lie there: they leave (../move/leave.h), and the other host
 * loads them from the store. Two hosts never have a group.
 */
#ifndef TR_RUNTIME_HOST_GIVE_H
#define TR_RUNTIME_HOST_GIVE_H

#include "runtime/host/host.h"
#include "runtime/members/member.h"

struct tri_give;

/* NULL: no memory. */
struct tri_give *tri_give_new(void);
void tri_give_free(struct tri_give *give);

/*
 * Goes on with what is being given, or begins to give, if this look says so; about once a second,
 * behind everything that follows from the look (follow.h). Errors: TR_MEMORY, and those that end
 * the host; what the database does not answer is asked again by the next call.
 */
TR_MUST_USE int tri_give_step(struct tri_give *give, struct tr_host *host,
                              const struct tri_member_view *seen);

/* What came of what was wanted. */
struct tri_give_outcome {
    bool is_done;
    int reason;          /* TR_BUSY: all of it waits; TR_INVALID: who should get it is not up */
    uint64_t given;      /* partitions that the other hosts have now */
    uint64_t have_calls; /* those that stay, since calls are open; or since processes run */
    uint64_t have_processes;
    struct tri_member_shares waits; /* what keeps each, in place of hosts: enum tri_member_wait */
    uint64_t frozen_ns;             /* until the database had it */
};

/*
 * The next step gives these partitions with all that lies there, as far as they are this host's;
 * one that waits for calls or processes stays. Only while it is idle.
 */
void tri_give_want(struct tri_give *give, const struct tri_member_shares *shares);
bool tri_give_is_idle(const struct tri_give *give);

/* Whether it goes on without waiting for a second, as what is left has nothing to wait for. */
bool tri_give_has_more(const struct tri_give *give);

/* Gives nothing that is not empty but what is wanted. */
void tri_give_keep(struct tri_give *give);

/* Of what was wanted last; valid as long as `give`. */
const struct tri_give_outcome *tri_give_outcome_of(const struct tri_give *give);

/* Whether a look is older than what this host has done itself since. */
bool tri_give_is_past(const struct tri_give *give, const struct tri_member_view *seen);

/* What is on its way to others is theirs already, for this host: puts that over a look's owners. */
void tri_give_cover(const struct tri_give *give, uint16_t *hosts);

#endif
