/*
 * The runtime's public header: behaviour.h for writing actors, hosting.h for running a host of
 * them, exchange.h for what a program provides to the host's services, figures.h for their metrics,
 * tap/tap.h for observing events. For the floors above; the runtime itself includes only the parts
 * that it needs.
 */
#ifndef TR_RUNTIME_TROUPE_H
#define TR_RUNTIME_TROUPE_H

#include "runtime/behaviour.h"
#include "runtime/exchange.h"
#include "runtime/hosting.h"
#include "runtime/tap/tap.h"

#endif
