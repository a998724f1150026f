/*
 * A host among several that a store has: the thread that says that it lives, and what services ask
 * of it.
 */
#ifndef TR_RUNTIME_HOST_HOST_MEMBERS_H
#define TR_RUNTIME_HOST_HOST_MEMBERS_H

#include "runtime/host/host.h"
#include "runtime/services/process_service.h"

/*
 * Before the clocks of this life begin: reads who has had the store, or this host's partitions, and
 * lets the clock go on behind all that another host may have read, if this one has had it last no
 * more.
 */
TR_MUST_USE int tri_host_tenures_load(struct tr_host *host, const struct tr_host_options *options,
                                      struct tri_kept_clock *kept);

/* Once they have begun: writes down that this host has it from now on. Errors of a commit. */
TR_MUST_USE int tri_host_tenures_begin(struct tr_host *host);

/*
 * Before a host beside others runs what a view gives it: writes down that it has these partitions
 * since then; `store` is the one that they are read from. Errors of reading and of tr_host_write.
 */
TR_MUST_USE int tri_host_tenures_take(struct tr_host *host, struct tri_store *store,
                                      const struct tr_host_view *view, uint64_t since_ms);

/*
 * Begins to say that the host lives, if its store has hosts; before anything is loaded. `fail`
 * (called once, by another thread) is told when another has the work.
 */
TR_MUST_USE int tri_host_members_start(struct tr_host *host,
                                       void (*fail)(void *self, int error, const char *words));

/* Ends that; before the store is closed. */
void tri_host_members_stop(struct tr_host *host);

/* Whether calls may leave now, by the host; any thread. */
bool tri_host_members_may_call(void *host);

/* What the process service asks; NULL: the store has no hosts. */
const struct tri_process_hosts *tri_host_members_processes(struct tr_host *host);

#endif
