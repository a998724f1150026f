/*
 * Finding slow handlers without timing each: a slice that took long is the suspicion, and timed
 * runs are the proof.
 */
#include "runtime/host/slow.h"

#include <unistd.h>

#include "runtime/tap/line.h"

#define NS_PER_MS 1000000ULL
#define SLOW_NS (TR_SLOW_HANDLER_MS * NS_PER_MS)

/* Counts a slow run, and names its behaviour if that has not been done. */
static void note(struct tri_worker *worker, uint8_t behaviour, uint64_t took_ns)
{
    worker->metrics.handlers_slow++;
    if (atomic_exchange_explicit(&worker->shared->is_named_slow[behaviour], true,
                                 memory_order_relaxed)) {
        return;
    }
    struct tri_line line;
    tri_line_init(&line, STDERR_FILENO);
    tri_line_string(&line, "troupe: behaviour ");
    tri_line_string(&line, worker->shared->behaviours[behaviour]->name);
    tri_line_number(&line, ": a run took ", took_ns / NS_PER_MS);
    tri_line_string(&line, " ms, in which its worker did nothing else (others are only counted)\n");
    tri_line_flush(&line);
}

void tri_slow_run(struct tri_worker *worker, struct tri_actor *actor)
{
    uint8_t behaviour = actor->behaviour;
    uint64_t begin_ns = tri_monotonic_ns(worker->shared->env);
    tri_run(worker, actor);
    uint64_t took_ns = tri_monotonic_ns(worker->shared->env) - begin_ns;
    if (took_ns > SLOW_NS) {
        note(worker, behaviour, took_ns);
    }
}

void tri_slow_slice(struct tri_worker *worker, uint64_t took_ns, uint32_t run_count,
                    uint8_t behaviour)
{
    if (worker->timed_slices > 0) {
        worker->timed_slices--; /* each run has been measured */
        return;
    }
    if (took_ns <= SLOW_NS) {
        return;
    }
    if (run_count == 1) {
        note(worker, behaviour, took_ns);
        return;
    }
    worker->timed_slices = TR_TIMED_SLICES;
    /* Longer than so many ordinary runs and a slow one: it was there, and nobody knows whose. */
    if (took_ns > SLOW_NS + run_count * (uint64_t)TR_RUN_NS_MAX) {
        worker->metrics.handlers_slow++;
    }
}
