/*
 * The environment (law 10 of runtime/ARCHITECTURE.md): everything that is not a function of state
 * and message comes through this interface, so that a simulator can replace it.
 *
 * tri_env_real is the real one; the simulator in tests/sim derives clocks, randomness, links and
 * the store's file system from one seed. Each function says which thread may call it.
 */
#ifndef TR_RUNTIME_ENV_ENV_H
#define TR_RUNTIME_ENV_ENV_H

#include <stdatomic.h>

#include "schemas/codec/base.h"

struct tr_env;
struct tri_channel;
struct tri_wire;
struct tri_directory;

struct tr_env_ops {
    /* Nanoseconds since boot, monotonic, including time suspended; any thread. */
    uint64_t (*monotonic_ns)(struct tr_env *env);
    /* Milliseconds since 1970, by the adjustable wall clock; any thread. */
    uint64_t (*wall_ms)(struct tr_env *env);
    /* Sixty-four unpredictable bits; any thread. */
    uint64_t (*entropy)(struct tr_env *env);
    /* Opens the link of one place (a worker or a service); called by that place's thread. */
    int (*link_open)(struct tr_env *env, uint32_t place, struct tri_channel **link);
    /*
     * Opens the wire to the hosts of a directory, listening at an address; called by the interhost
     * thread. NULL if there are no other hosts.
     */
    int (*wire_open)(struct tr_env *env, const struct tri_directory *directory, const char *address,
                     struct tri_wire **wire);
};

/*
 * The clocks of one life of a host, from the wall clock at its start and the monotonic time since,
 * so that setting the wall clock changes neither. The first is for people. Deadlines, and all
 * stored times that are compared later, use the steady one, which never goes back between lives: if
 * the wall clock was set back between two of them, the steady clock is `ahead_ms` ahead of it. What
 * comes from a host whose clock is ahead brings this one forward (tri_life_reach), while others
 * read it.
 */
struct tri_life {
    uint64_t start_ns;
    uint64_t start_wall_ms;
    atomic_uint_fast64_t ahead_ms; /* it only grows */
    uint64_t put_back_ms;          /* how far the wall clock was set back between lives */
};

/* The steady clock as stored. */
struct tri_kept_clock {
    uint64_t steady_ms; /* no earlier life has read a much later time */
    uint64_t ahead_ms;
};

/* The first member of every environment's struct. */
struct tr_env {
    const struct tr_env_ops *ops;
};

static inline uint64_t tri_monotonic_ns(struct tr_env *env)
{
    return env->ops->monotonic_ns(env);
}

static inline uint64_t tri_wall_ms(struct tr_env *env)
{
    return env->ops->wall_ms(env);
}

static inline uint64_t tri_entropy(struct tr_env *env)
{
    return env->ops->entropy(env);
}

/*
 * The real environment: the system's clocks and randomness, and links over ZeroMQ inproc in a
 * context of its own. Errors: TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tri_env_real_new(struct tr_env **env);

/* Frees it, after all its links are closed; NULL is fine. */
void tri_env_real_free(struct tr_env *env);

/*
 * Starts the clocks of a new life. Time between lives counts, as far as the wall clock shows it:
 * while the wall clock is behind the steady one, the steady one does not advance. When it has
 * caught up they are equal again, so a clock that jumps back and forth does not advance the steady
 * one.
 */
static inline struct tri_life tri_life_begin(struct tr_env *env, struct tri_kept_clock kept)
{
    struct tri_life life = {.start_ns = tri_monotonic_ns(env), .start_wall_ms = tri_wall_ms(env)};
    if (kept.steady_ms > life.start_wall_ms) {
        life.ahead_ms = kept.steady_ms - life.start_wall_ms;
        life.put_back_ms = life.ahead_ms > kept.ahead_ms ? life.ahead_ms - kept.ahead_ms : 0;
    }
    return life;
}

/* A life's wall clock in milliseconds since 1970, at the monotonic time `now_ns`. */
static inline uint64_t tri_life_ms(const struct tri_life *life, uint64_t now_ns)
{
    return life->start_wall_ms + (now_ns - life->start_ns) / 1000000;
}

/* A life's steady clock at `now_ns`. */
static inline uint64_t tri_life_steady_ms(const struct tri_life *life, uint64_t now_ns)
{
    return tri_life_ms(life, now_ns) + atomic_load_explicit(&life->ahead_ms, memory_order_relaxed);
}

/* Brings the steady clock forward to a time, if it is behind it. One thread at a time. */
static inline void tri_life_reach(struct tri_life *life, uint64_t now_ns, uint64_t steady_ms)
{
    uint64_t own_ms = tri_life_steady_ms(life, now_ns);
    if (own_ms < steady_ms) {
        atomic_fetch_add_explicit(&life->ahead_ms, steady_ms - own_ms, memory_order_relaxed);
    }
}

#endif
