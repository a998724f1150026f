/*
 * A host that runs takes partitions over from one that is lost (tr_host_take): their groups come
 * from the store into its workers, while others run.
 *
 * Nothing of them is sent or taken here until the owners are changed, which is the middle of it:
 *
 *     tri_take_prepare   reads the groups and loads them, dormant, with what is in their mailboxes
 *     (owners)           the interhost service, and behind it each worker, has them as its own
 *     tri_take_open      delivers the rest, ends what has lost its parent, and lets them run
 *
 * Until the owners are changed, whoever speaks to these groups keeps what he says, since nobody
 * acknowledges it: so messages wait where they are, and arrive behind those that were stored.
 */
#ifndef TR_RUNTIME_HOST_TAKE_H
#define TR_RUNTIME_HOST_TAKE_H

#include "runtime/host/host.h"

struct tri_take;

/*
 * Loads what a view gives this host and it does not have, from a store that is open for reading or
 * not used otherwise meanwhile. `view` and its arrays are used until the end. TR_BUSY: there is no
 * memory for it now; TR_INVALID: the host is alone, or would lose a partition; TR_EXISTS: the view
 * is no later one, or the groups are here already; TR_CLOSED, TR_MEMORY; those of reading and of
 * unpacking. NULL for `*take` without an error: the view gives this host nothing.
 */
TR_MUST_USE int tri_take_prepare(struct tr_host *host, const struct tr_host_view *view,
                                 struct tri_store *store, struct tri_take **take);

/*
 * Once the owners are on their way to the workers: waits for that, and lets the groups run. The
 * only errors are those that end the host.
 */
TR_MUST_USE int tri_take_open(struct tri_take *take);

/* Frees what is left of it; NULL is fine. */
void tri_take_free(struct tri_take *take);

#endif
