/*
 * Links over ZeroMQ inproc: one PULL for each place, and a PUSH to each other place, made at its
 * first use.
 */
#ifndef TR_RUNTIME_LINK_ZMQ_H
#define TR_RUNTIME_LINK_ZMQ_H

#include "runtime/link/link.h"

/*
 * A ZeroMQ context of one host, with so many threads for I/O: links within the process need none,
 * wires to other hosts one. NULL: the system refused.
 */
void *tri_zmq_context_new(int io_threads);

/* Frees it, after all its links or wires are closed. */
void tri_zmq_context_free(void *context);

/*
 * Binds the PULL of a place. It and all functions of the link are for one thread. TR_MEMORY,
 * TR_SYSTEM.
 */
TR_MUST_USE int tri_zmq_channel_open(void *context, uint32_t place, struct tri_channel **link);

#endif
