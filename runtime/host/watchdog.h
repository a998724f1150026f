/*
 * The watchdog: a thread that looks at what each worker has in hand, and ends the process when a
 * handler does not return.
 *
 * A handler cannot be ended from outside without leaving its worker's memory in pieces; the process
 * can, and the next start goes on from the store, knows which message it was
 * (host/poison_message.h), and puts its actor aside at the second time.
 *
 * Time in which the whole process stood still (a suspended machine, ctrl-Z, a debugger) is not the
 * handler's: between two looks no more than twice their distance counts.
 */
#ifndef TR_RUNTIME_HOST_WATCHDOG_H
#define TR_RUNTIME_HOST_WATCHDOG_H

#include "runtime/host/host.h"

struct tri_watchdog;

/* Starts to look at a host's workers, whose threads run. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_watchdog_start(struct tr_host *host, struct tri_watchdog **watchdog);

/* Ends the thread; NULL is fine. */
void tri_watchdog_stop(struct tri_watchdog *watchdog);

/* ----------------------------------------------- its judgement, for tests */

/* What it knows of one worker. */
struct tri_watched_turn {
    uint64_t turn;
    uint64_t stuck_ns; /* how long this turn has been in hand, as far as it counts */
};

/* A look after `passed_ns`; how long the handler has been at it. */
uint64_t tri_watch_turn(struct tri_watched_turn *watched, uint64_t turn, uint64_t passed_ns,
                        uint64_t look_ns);

#endif
