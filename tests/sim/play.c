/*
 * All plays, and finding what has a name.
 */
#include "tests/sim/play.h"

#include <string.h>

#include "tests/sim/inject.h"

const struct sim_play *const sim_plays[] = {&sim_workload, &sim_web_play, &sim_engine,
                                            &sim_idempotency_play};
const size_t sim_play_count = TR_COUNT_OF(sim_plays);

const struct sim_play *sim_play_find(const char *name)
{
    for (size_t i = 0; i < sim_play_count; i++) {
        if (strcmp(sim_plays[i]->name, name) == 0) {
            return sim_plays[i];
        }
    }
    return NULL;
}

const struct sim_bug *sim_inject_find(const struct sim_play *play, const char *name)
{
    for (size_t i = 0; i < *play->bug_count; i++) {
        if (strcmp(play->bugs[i].name, name) == 0) {
            return &play->bugs[i];
        }
    }
    return NULL;
}
