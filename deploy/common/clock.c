/*
 * The system's clocks, through the seam's own file.
 */
#include "deploy/common/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "runtime/env/clock.h"

uint64_t tr_clock_ms(void)
{
    return tri_monotonic_ms();
}

uint64_t tr_clock_wall_ms(void)
{
    return tri_wall_ms();
}

struct timespec tr_clock_after(uint32_t ms)
{
    uint64_t us = tri_clock_us(CLOCK_MONOTONIC) + (uint64_t)ms * 1000;
    return (struct timespec){.tv_sec = (time_t)(us / 1000000),
                             .tv_nsec = (long)(us % 1000000 * 1000)};
}

/* A timer that is never due, and is cancelled when the clock is set. */
static int watch(int descriptor)
{
    static const struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX / 1000000000}};
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

int tr_clock_watch(void)
{
    int descriptor = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (descriptor >= 0 && watch(descriptor) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

bool tr_clock_was_set(int descriptor)
{
    uint64_t count;
    if (read(descriptor, &count, sizeof count) >= 0 || errno != ECANCELED) {
        return false;
    }
    (void)watch(descriptor);
    return true;
}
