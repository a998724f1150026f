/*
 * The watchdog: a thread that checks each worker's current message, and ends the process when a
 * handler does not return.
 *
 * Ending a handler from outside would leave its worker's memory inconsistent; ending the process
 * does not: the next start continues from the store, knows the message
 * (crashes/poison_message.h), and quarantines its actor at the second time.
 *
 * Time in which the whole process was stopped (a suspended machine, ctrl-Z, a debugger) does not
 * count: between two checks at most twice their interval counts.
 */
#ifndef TR_RUNTIME_HOST_WATCHDOG_H
#define TR_RUNTIME_HOST_WATCHDOG_H

#include "runtime/host/host.h"

struct tri_watchdog;

/* Starts watching a host's running workers. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_watchdog_start(struct tr_host *host, struct tri_watchdog **watchdog);

/* Ends the thread; NULL is fine. */
void tri_watchdog_stop(struct tri_watchdog *watchdog);

/* ----------------------------------------------- its judgement, for tests */

/* The watchdog's state of one worker. */
struct tri_watchdog_state {
    uint64_t turn;
    uint64_t stuck_ns; /* how long this turn has lasted, as far as it counts */
};

/* A check after `passed_ns`; returns how long the handler has been running. */
uint64_t tri_watchdog_check(struct tri_watchdog_state *watched, uint64_t turn, uint64_t passed_ns,
                            uint64_t look_ns);

#endif
