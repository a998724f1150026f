/*
 * Dormant execution groups: loaded and whole, with mailboxes that fill and timers that fire into
 * them, but not run. tr_host_sleep marks their actors before the start; from then on the mark is
 * the worker's.
 */
#ifndef TR_RUNTIME_HOST_DORMANT_H
#define TR_RUNTIME_HOST_DORMANT_H

#include "runtime/actor/deliver.h"

/* The program wakes a group, or all: who has something to do may run. */
void tri_dormant_on_wake(struct tri_worker *worker, const struct tr_message *message);

#endif
