/*
 * Chance from a seed: SplitMix64, in streams of their own, so that one part of the simulator that
 * draws more often does not change what another part draws.
 */
#ifndef TR_TESTS_SIM_RANDOM_H
#define TR_TESTS_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_random {
    uint64_t state;
};

static inline uint64_t sim_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27) * 0x94d049bb133111ebU;
    return value ^ value >> 31;
}

/* The stream with this name (any number) of a seed. */
static inline struct sim_random sim_random_of(uint64_t seed, uint64_t name)
{
    return (struct sim_random){.state = sim_mix(sim_mix(seed) ^ name)};
}

static inline uint64_t sim_draw(struct sim_random *random)
{
    random->state += 0x9e3779b97f4a7c15U;
    return sim_mix(random->state);
}

/* A number from 0 to `limit` - 1. */
static inline uint64_t sim_below(struct sim_random *random, uint64_t limit)
{
    return sim_draw(random) % limit;
}

/* A number from `least` to `most`. */
static inline uint64_t sim_between(struct sim_random *random, uint64_t least, uint64_t most)
{
    return least + sim_below(random, most - least + 1);
}

/* True so many times in a million; 0 draws nothing. */
static inline bool sim_chance(struct sim_random *random, uint32_t per_million)
{
    return per_million > 0 && sim_below(random, 1000000) < per_million;
}

#endif
