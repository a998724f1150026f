/*
 * The two clocks, for this room and the rooms that reach outside; all other code gets the time as
 * an argument.
 */
#ifndef TR_RUNTIME_ENV_CLOCK_H
#define TR_RUNTIME_ENV_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tri_clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t tri_monotonic_us(void)
{
    return tri_clock_us(CLOCK_BOOTTIME); /* includes time suspended */
}

static inline uint64_t tri_monotonic_ms(void)
{
    return tri_monotonic_us() / 1000;
}

static inline uint64_t tri_wall_ms(void)
{
    return tri_clock_us(CLOCK_REALTIME) / 1000;
}

#endif
