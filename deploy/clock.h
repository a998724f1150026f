/*
 * The time, for commands that have no host to ask for it.
 */
#ifndef TR_DEPLOY_CLOCK_H
#define TR_DEPLOY_CLOCK_H

#include <stdint.h>

/* Milliseconds that only ever grow, and milliseconds since 1970. Any thread. */
uint64_t tr_clock_ms(void);
uint64_t tr_clock_wall_ms(void);

#endif
