/*
 * The real environment: the system's clocks, its randomness, and ZeroMQ between threads.
 * CLOCK_BOOTTIME and not CLOCK_MONOTONIC, because deadlines continue while a machine is suspended.
 */
#include <sys/random.h>
#include <time.h>

#include "runtime/env/env.h"
#include "runtime/link/tcp.h"
#include "runtime/link/zmq.h"
#include "runtime/memory.h"

struct real_env {
    struct tr_env base;
    void *context; /* of links within the process */
    void *wires;   /* to other hosts; NULL: there are none */
};

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    int failed = clock_gettime(clock, &now);
    TR_ASSERT(failed == 0);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t real_monotonic_ns(struct tr_env *env)
{
    (void)env;
    return read_clock(CLOCK_BOOTTIME);
}

static uint64_t real_wall_ms(struct tr_env *env)
{
    (void)env;
    return read_clock(CLOCK_REALTIME) / 1000000U;
}

static uint64_t real_entropy(struct tr_env *env)
{
    (void)env;
    uint64_t value = 0;
    /* So few bytes are always returned whole, once the kernel's generator is ready. */
    ssize_t got = getrandom(&value, sizeof value, 0);
    TR_ASSERT(got == (ssize_t)sizeof value);
    return value;
}

static int real_link_open(struct tr_env *env, uint32_t place, struct tri_channel **link)
{
    const struct real_env *real = (const struct real_env *)env;
    return tri_zmq_channel_open(real->context, place, link);
}

static int real_wire_open(struct tr_env *env, const struct tri_directory *directory,
                          const char *address, struct tri_wire **wire)
{
    struct real_env *real = (struct real_env *)env;
    if (real->wires == NULL) {
        real->wires = tri_zmq_context_new(1);
    }
    return real->wires == NULL ? TR_SYSTEM
                               : tri_tcp_wire_open(real->wires, directory, address, wire);
}

static const struct tr_env_ops real_ops = {
    .monotonic_ns = real_monotonic_ns,
    .wall_ms = real_wall_ms,
    .entropy = real_entropy,
    .link_open = real_link_open,
    .wire_open = real_wire_open,
};

int tri_env_real_new(struct tr_env **out)
{
    struct real_env *real = tr_alloc(sizeof *real);
    if (real == NULL) {
        return TR_MEMORY;
    }
    real->base.ops = &real_ops;
    real->context = tri_zmq_context_new(0);
    real->wires = NULL;
    if (real->context == NULL) {
        tr_free(real);
        return TR_SYSTEM;
    }
    *out = &real->base;
    return 0;
}

void tri_env_real_free(struct tr_env *env)
{
    if (env != NULL) {
        struct real_env *real = (struct real_env *)env;
        tri_zmq_context_free(real->wires);
        tri_zmq_context_free(real->context);
        tr_free(real);
    }
}
