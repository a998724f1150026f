/*
 * The thread of the interhost service (cluster/service.h).
 */
#ifndef TR_RUNTIME_HOST_INTERHOST_THREAD_H
#define TR_RUNTIME_HOST_INTERHOST_THREAD_H

#include "runtime/host/host.h"

struct tri_interhost_thread;

/* Opens the wire and starts the thread. TR_MEMORY, TR_SYSTEM (the address is taken, or none),
 * TR_INVALID (an address that is not on this machine: nothing guards it yet). */
TR_MUST_USE int tri_interhost_thread_start(struct tr_host *host,
                                           struct tri_interhost_thread **thread);

/* Says that it is to end; it looks when it wakes. */
void tri_interhost_thread_request_stop(struct tri_interhost_thread *thread);

/* Ends it: what waits there is sent again by a later start. NULL is fine. */
void tri_interhost_thread_stop(struct tri_interhost_thread *thread);

#endif
