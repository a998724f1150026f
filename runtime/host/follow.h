/*
 * A host that works beside others of one store: what the store's table of hosts says becomes its
 * number, its partitions and its peers, and while it runs each change of it.
 *
 *     tri_follow_begin   once the store is open, before workers are made
 *     membership         (a thread) beats, says where it listens, fences who is lost
 *     tr_host_follow     what the thread has seen, taken over by the host: peers, owners, groups
 */
#ifndef TR_RUNTIME_HOST_FOLLOW_H
#define TR_RUNTIME_HOST_FOLLOW_H

#include "runtime/host/host.h"
#include "runtime/members/membership.h"

/*
 * Completes the options of a host that is a member, whose store is open: they refer to what the
 * host keeps. Its keys are new, and the secret one is nowhere but in memory. TR_INVALID (no store
 * with hosts, or what members cannot do yet), TR_LIMIT (the host's number), TR_MEMORY, and those
 * of tri_registry_look, with words.
 */
TR_MUST_USE int tri_follow_begin(struct tr_host *host, struct tr_host_options *options,
                                 char *explain);

/* What a membership needs of it; nothing for a host that does not follow. */
void tri_follow_describe(const struct tr_host *host, struct tri_membership_options *membership);

/* Behind the membership. NULL is fine. */
void tri_follow_free(struct tri_follow *follow);

#endif
