/*
 * A host that works gives some of its partitions to one that has fewer, such as one that comes.
 * Only partitions in which nothing lies are given: no group moves. So two hosts never have a group,
 * and whoever gets a partition has nothing to load.
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

/* Whether a look is older than what this host has done itself since. */
bool tri_give_is_past(const struct tri_give *give, const struct tri_member_view *seen);

/* What is on its way to others is theirs already, for this host: puts that over a look's owners. */
void tri_give_cover(const struct tri_give *give, uint16_t *hosts);

#endif
