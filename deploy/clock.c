/*
 * The system's clocks, through the seam's own file.
 */
#include "deploy/clock.h"

#include "runtime/env/clock.h"

uint64_t tr_clock_ms(void)
{
    return tri_monotonic_ms();
}

uint64_t tr_clock_wall_ms(void)
{
    return tri_wall_ms();
}
