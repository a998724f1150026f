/*
 * The thread of the interhost service (cluster/service.h).
 */
#ifndef TR_RUNTIME_HOST_INTERHOST_THREAD_H
#define TR_RUNTIME_HOST_INTERHOST_THREAD_H

#include "runtime/host/host.h"

struct tri_interhost_thread;

/*
 * Opens the wire and starts the thread. TR_MEMORY, TR_SYSTEM (the address is in use or invalid),
 * TR_INVALID (not an address of this machine, and this host has no keys; or a peer has none).
 */
TR_MUST_USE int tri_interhost_thread_start(struct tr_host *host,
                                           struct tri_interhost_thread **thread);

/*
 * Tells the service, and through it the workers, which host has each partition from a view on; an
 * earlier one than they know changes nothing. What this host gets is loaded (take.h). By the thread
 * that made the host. TR_INVALID: this host would lose a partition, or there are too many;
 * TR_NOT_FOUND: a host is unknown; TR_MEMORY.
 */
TR_MUST_USE int tri_interhost_thread_tell_owners(struct tr_host *host, uint64_t view,
                                                 const uint16_t *hosts, size_t count);

/* The same, and this host gives up partitions that are empty (give.h). */
TR_MUST_USE int tri_interhost_thread_tell_given(struct tr_host *host, uint64_t view,
                                                const uint16_t *hosts, size_t count);

/*
 * Another host of which this one has not heard yet, or which is to be reached elsewhere: `address`
 * and `key` (TR_WIRE_KEY_BYTES) are those of its present life, "" and NULL if it has none. By the
 * thread that made the host. TR_INVALID (the number or the address makes no sense), TR_LIMIT
 * (TR_HOSTS_MAX), TR_MEMORY.
 */
TR_MUST_USE int tri_interhost_thread_tell_peer(struct tr_host *host, const struct tr_peer *peer);

/* Asks it to end at its next wakeup. */
void tri_interhost_thread_request_stop(struct tri_interhost_thread *thread);

/* Ends it: unsent messages are sent again by a later start. NULL is fine. */
void tri_interhost_thread_stop(struct tri_interhost_thread *thread);

/* This host has made a view: the others look at once. */
TR_MUST_USE int tri_interhost_thread_tell_view(struct tr_host *host, uint64_t view);

#endif
