/*
 * The planted faults.
 */
#include "tests/sim/plant.h"

#include <string.h>

#include "tests/sim/world.h"

const struct sim_plant sim_plants[] = {
    {.name = "none", .text = "nothing is planted"},
};
const size_t sim_plant_count = TR_COUNT_OF(sim_plants);

const struct sim_plant *sim_plant_find(const char *name)
{
    for (size_t i = 0; i < sim_plant_count; i++) {
        if (strcmp(sim_plants[i].name, name) == 0) {
            return &sim_plants[i];
        }
    }
    return NULL;
}

void sim_plant_send(struct sim_host *host, uint32_t from, uint32_t to, uint8_t *data, size_t size)
{
    const struct sim_plant *plant = host->world->plant;
    if (plant != NULL && plant->send != NULL) {
        plant->send(host, from, to, data, size);
    } else {
        sim_net_push(&host->net, from, to, data, size);
    }
}
