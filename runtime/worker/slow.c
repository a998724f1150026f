/*
 * Finds slow handlers without timing each: a long slice triggers timed runs.
 *
 * The first slow run among others may not be identified, and is only counted if the slice took
 * longer than all its runs may take. An actor that is slow again within TR_TIMED_SLICES slices is
 * found.
 */
#include "runtime/worker/slow.h"

#include "runtime/trace/recorder.h"

#define NS_PER_MS 1000000ULL
#define SLOW_NS (TR_SLOW_HANDLER_MS * NS_PER_MS)

/* Counts a slow run, and adds it to the recorder. */
static void note(struct tri_worker *worker, struct tr_key actor, uint8_t behaviour,
                 uint64_t took_ns)
{
    worker->metrics.handlers_slow++;
    *tri_recorder_next(&worker->recorder) = (struct tri_event){
        .to_serial = actor.serial,
        .to_group = (uint32_t)actor.group,
        .sequence = (uint32_t)(took_ns / NS_PER_MS),
        .at_ms = (uint32_t)worker->now_ms,
        .type = worker->shared->behaviours[behaviour]->id,
        .point = TRI_RECORDER_SLOW,
    };
}

void tri_slow_run(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tr_key key = actor->key; /* the run may end the actor */
    uint8_t behaviour = actor->behaviour;
    uint64_t begin_ns = tri_monotonic_ns(worker->shared->env);
    tri_run_actor(worker, actor);
    uint64_t took_ns = tri_monotonic_ns(worker->shared->env) - begin_ns;
    if (took_ns > SLOW_NS) {
        note(worker, key, behaviour, took_ns);
    }
}

void tri_slow_slice(struct tri_worker *worker, uint64_t took_ns, uint32_t run_count,
                    struct tr_key actor, uint8_t behaviour)
{
    if (worker->timed_slices > 0) {
        worker->timed_slices--; /* each run was measured */
        return;
    }
    if (took_ns <= SLOW_NS) {
        return;
    }
    if (run_count == 1) {
        note(worker, actor, behaviour, took_ns);
        return;
    }
    worker->timed_slices = TR_TIMED_SLICES;
    /*
     * Longer than all runs of the slice may take plus a slow one: so a slow one was among them,
     * though unknown which.
     */
    if (took_ns > SLOW_NS + run_count * (uint64_t)TR_RUN_NS_MAX) {
        worker->metrics.handlers_slow++;
    }
}
