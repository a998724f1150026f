/*
 * All plays, and finding what has a name.
 */
#include "tests/sim/play.h"

#include <string.h>

#include "tests/sim/inject.h"

const struct sim_play *const sim_plays[] = {&sim_players, &sim_web_play, &sim_engine,
                                            &sim_grades_play};
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

const struct sim_plant *sim_plant_find(const struct sim_play *play, const char *name)
{
    for (size_t i = 0; i < *play->plant_count; i++) {
        if (strcmp(play->plants[i].name, name) == 0) {
            return &play->plants[i];
        }
    }
    return NULL;
}
