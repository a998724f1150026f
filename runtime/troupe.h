/*
 * The runtime's public header: behaviour.h has how actors are written, hosting.h how a host of them
 * is run, exchange.h what a program gives the host's services, figures.h what these count,
 * tap/tap.h how one looks at what happens. For the floors above; the runtime itself includes the
 * part that it needs.
 */
#ifndef TR_RUNTIME_TROUPE_H
#define TR_RUNTIME_TROUPE_H

#include "runtime/behaviour.h"
#include "runtime/exchange.h"
#include "runtime/hosting.h"
#include "runtime/tap/tap.h"

#endif
