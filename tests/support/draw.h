/*
 * Numbers drawn from a seed, for tests: the same seed gives the same numbers, always.
 */
#ifndef TR_TESTS_SUPPORT_DRAW_H
#define TR_TESTS_SUPPORT_DRAW_H

#include <stddef.h>
#include <stdint.h>

struct draw {
    uint64_t state;
};

/* splitmix64: one addition and a good stir. */
static inline uint64_t draw_u64(struct draw *draw)
{
    uint64_t mixed = draw->state += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

/* A number below `bound`, which is not 0. */
static inline size_t draw_below(struct draw *draw, size_t bound)
{
    return (size_t)(draw_u64(draw) % bound);
}

/* A number whose width is drawn first: small ones are as frequent as large ones. */
static inline uint64_t draw_wide(struct draw *draw)
{
    return draw_u64(draw) >> draw_below(draw, 64);
}

#endif
