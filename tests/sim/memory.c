/*
 * Memory that fails on purpose.
 *
 * An allocation is made to fail only where that has an answer: in a handler, while images are read
 * at a start, and in the journal. Everywhere else the runtime says by an assertion that it cannot
 * go on, which is the crash of a host, and those are made otherwise.
 */
#include "tests/sim/world.h"

static uint32_t left; /* allocations until one fails; 0: none will */

static bool allow(void *self, size_t size)
{
    struct sim_world *world = self;
    (void)size;
    if (left == 0 || --left > 0) {
        return true;
    }
    world->counts.failed_allocations++;
    return false;
}

void sim_memory_arm(struct sim_world *world, uint32_t within)
{
    if (!world->is_calm && sim_chance(&world->chance.memory, world->plan.memory)) {
        left = (uint32_t)sim_between(&world->chance.memory, 1, within);
        tr_memory_hook_set(allow, world);
    }
}

void sim_memory_disarm(struct sim_world *world)
{
    (void)world;
    left = 0;
    tr_memory_hook_set(NULL, NULL);
}
