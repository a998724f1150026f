/*
 * The seam to the world (law 10 of runtime/ARCHITECTURE.md): everything that is not a function of
 * state and message comes through here, so that a simulator can be all of it.
 *
 * Production binds it with tri_env_real; the simulator in tests/sim binds clocks, randomness, links
 * and the store's file system to one seed. Each function says from which thread it is called.
 */
#ifndef TR_RUNTIME_ENV_ENV_H
#define TR_RUNTIME_ENV_ENV_H

#include "schemas/codec/base.h"

struct tr_env;
struct tri_channel;
struct tri_wire;
struct tri_directory;

struct tr_env_ops {
    /* Nanoseconds since boot, which only ever grow, also while the machine is suspended; any
     * thread. */
    uint64_t (*monotonic_ns)(struct tr_env *env);
    /* Milliseconds since 1970, which people may set; any thread. */
    uint64_t (*wall_ms)(struct tr_env *env);
    /* Sixty-four bits that nobody can guess; any thread. */
    uint64_t (*entropy)(struct tr_env *env);
    /* The end of the link of one place (a worker or a service); called by that place's thread. */
    int (*link_open)(struct tr_env *env, uint32_t place, struct tri_channel **link);
    /* The wire to the hosts of a directory, which listens at an address; by the interhost thread.
     * NULL where there are no other hosts. */
    int (*wire_open)(struct tr_env *env, const struct tri_directory *directory, const char *address,
                     struct tri_wire **wire);
};

/*
 * The clocks of one life of a host, made of what the wall clock said at its start and what has gone
 * by on the monotonic one since, so that setting the wall clock changes neither. What people read
 * is by the first. Deadlines, and whatever else is kept to be compared with a later time, are by
 * the steady one, which goes on over lives: where the wall clock was put back between two of them,
 * it is ahead of that by `ahead_ms`.
 */
struct tri_life {
    uint64_t start_ns;
    uint64_t start_wall_ms;
    uint64_t ahead_ms;
    uint64_t put_back_ms; /* how far, since the life before; for people */
};

/* What a store keeps of the steady clock. */
struct tri_kept_clock {
    uint64_t steady_ms; /* no earlier life has seen it much later */
    uint64_t ahead_ms;
};

/* The head of every environment's own struct. */
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
 * The real world: the system's clocks and randomness, and links over ZeroMQ inproc in a context of
 * their own. Errors: TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tri_env_real_new(struct tr_env **env);

/* Ends it, after all its links are closed; NULL is fine. */
void tri_env_real_free(struct tr_env *env);

/*
 * The clocks of a life that begins now. Time without a life counts, as far as the wall clock tells
 * of it: while it is behind the steady one, that stands still. Once it has caught up they are the
 * same again, so that a clock that jumps to and fro never drives the steady one on.
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

/* Milliseconds since 1970 by a life's clock, when the monotonic one says `now_ns`. */
static inline uint64_t tri_life_ms(const struct tri_life *life, uint64_t now_ns)
{
    return life->start_wall_ms + (now_ns - life->start_ns) / 1000000;
}

/* The same by the steady one. */
static inline uint64_t tri_life_steady_ms(const struct tri_life *life, uint64_t now_ns)
{
    return tri_life_ms(life, now_ns) + life->ahead_ms;
}

#endif
