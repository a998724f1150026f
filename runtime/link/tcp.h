/*
 * Wires over ZeroMQ tcp: one PULL that listens, and a PUSH to each other host.
 *
 * They are not encrypted yet, so all addresses must be of this machine (CURVE comes with clusters).
 */
#ifndef TR_RUNTIME_LINK_TCP_H
#define TR_RUNTIME_LINK_TCP_H

#include "runtime/link/directory.h"
#include "runtime/link/wire.h"

/*
 * Listens at `address` and connects to every host of the directory, now or when it becomes
 * reachable. Errors: TR_INVALID (an address that is not "tcp://127.0.0.1:PORT" or
 * "tcp://[::1]:PORT"), TR_SYSTEM (the address is in use), TR_MEMORY.
 */
TR_MUST_USE int tri_tcp_wire_open(void *context, const struct tri_directory *directory,
                                  const char *address, struct tri_wire **wire);

#endif
