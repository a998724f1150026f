/*
 * Dormant execution groups: loaded, with mailboxes that receive messages and timers that fire into
 * them, but not run. tr_host_set_dormant marks their actors before the start; from then on the
 * worker owns the mark.
 */
#ifndef TR_RUNTIME_HOST_DORMANT_H
#define TR_RUNTIME_HOST_DORMANT_H

#include "runtime/actor/deliver.h"

/* The program wakes a group, or all: their actors may run. */
void tri_dormant_on_wake(struct tri_worker *worker, const struct tr_message *message);

#endif
