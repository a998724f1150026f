/*
 * Wires over ZeroMQ tcp: one PULL that listens, and a PUSH to each other host.
 *
 * If the directory has keys they are encrypted by CURVE, and only its peers are let in (zap.h); a
 * peer whose key is set later is let in from then on, and connected by tri_wire_connect. Without
 * keys nothing is encrypted, so all addresses have to be of this machine.
 */
#ifndef TR_RUNTIME_LINK_TCP_H
#define TR_RUNTIME_LINK_TCP_H

#include "runtime/link/directory.h"
#include "runtime/link/wire.h"

/*
 * Listens at `address` (NULL: at none) and connects to every host of the directory, now or when it
 * becomes reachable. TR_INVALID (an address that is not "tcp://HOST:PORT", or without keys not
 * "tcp://127.0.0.1:PORT" or "tcp://[::1]:PORT"; a peer with an address and without a key where
 * this host has keys),
 * TR_SYSTEM (the address is in use), TR_EXISTS (another wire of this context has keys), TR_MEMORY.
 */
TR_MUST_USE int tri_tcp_wire_open(void *context, const struct tri_directory *directory,
                                  const char *address, struct tri_wire **wire);

/* How many clients were refused, because they have no key of a peer. */
uint64_t tri_tcp_wire_refused(const struct tri_wire *wire);

#endif
