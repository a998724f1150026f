/*
 * Metrics of one thread that others read: counters, and histograms of sizes.
 *
 * Each is an atomic that only its thread writes, so a step is a load and a store. Neither writer
 * nor readers wait, also while the thread hangs in a call. Values read together may be of different
 * times: the count of a value may be visible before its sum.
 */
#ifndef TR_RUNTIME_TRACE_HISTOGRAM_H
#define TR_RUNTIME_TRACE_HISTOGRAM_H

#include <stdatomic.h>

#include "runtime/figures.h"

typedef _Atomic uint64_t tri_figure;

/* Adds to a figure; for the thread that owns it. */
static inline void tri_figure_add(tri_figure *figure, uint64_t amount)
{
    uint64_t before = atomic_load_explicit(figure, memory_order_relaxed);
    atomic_store_explicit(figure, before + amount, memory_order_relaxed);
}

static inline void tri_figure_set(tri_figure *figure, uint64_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

/* Reads one; for any thread. */
static inline uint64_t tri_figure_get(const tri_figure *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

/* A histogram. `bounds` are increasing and end with UINT64_MAX; they outlive the histogram. */
struct tri_histogram {
    const uint64_t *bounds;
    tri_figure counts[TR_HISTOGRAM_BUCKETS_MAX];
    tri_figure sum;
};

/* Counts a value; for the thread that owns it. */
static inline void tri_histogram_add(struct tri_histogram *histogram, uint64_t value)
{
    size_t bucket = 0;
    while (value > histogram->bounds[bucket]) {
        bucket++;
    }
    tri_figure_add(&histogram->counts[bucket], 1);
    tri_figure_add(&histogram->sum, value);
}

/* A copy for any thread. */
static inline struct tr_histogram tri_histogram_read(const struct tri_histogram *histogram)
{
    struct tr_histogram copy = {.bounds = histogram->bounds,
                                .sum = tri_figure_get(&histogram->sum)};
    do {
        copy.counts[copy.size] = tri_figure_get(&histogram->counts[copy.size]);
    } while (histogram->bounds[copy.size++] != UINT64_MAX);
    return copy;
}

#endif
