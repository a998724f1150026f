/*
 * The time, for commands that have no host to ask for it.
 */
#ifndef TR_DEPLOY_COMMON_CLOCK_H
#define TR_DEPLOY_COMMON_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Milliseconds that only ever grow, and milliseconds since 1970. Any thread. */
uint64_t tr_clock_ms(void);
uint64_t tr_clock_wall_ms(void);

/* The moment after some milliseconds, of CLOCK_MONOTONIC, for what waits until one. Any thread. */
struct timespec tr_clock_after(uint32_t ms);

/*
 * A descriptor that is readable when the clock on the wall was set, or the machine was suspended
 * meanwhile; -1 (errno): there is none. It is the caller's to close.
 */
int tr_clock_watch(void);

/* Whether that was so; from now on it is watched for the next time. */
bool tr_clock_was_set(int descriptor);

#endif
