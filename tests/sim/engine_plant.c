/*
 * The engine's planted faults, one row each. They are made around its handlers and in the plugin:
 * a message is kept from its actor, or changed, or a state is spoilt behind its back.
 */
#include "tests/sim/engine_plant.h"

#include "tests/sim/engine_turn.h"

/* Whether this is such a message to such an actor. */
static bool is_to(const struct tr_behaviour *behaviour, const struct tr_behaviour *wanted,
                  const struct tr_message *message, const struct tr_schema *schema)
{
    return behaviour->id == wanted->id && tr_message_is(message, schema);
}

static bool strikes(uint32_t once_in)
{
    return sim_plant_strikes(sim_world()->host_in_step, once_in);
}

static int forget_end(struct tr_context *context, void *state, const struct tr_message *message,
                      const struct tr_behaviour *behaviour)
{
    if (is_to(behaviour, &tr_workflow_behaviour, message, &tr_node_ended_schema) && strikes(10)) {
        return 0;
    }
    return sim_engine_handle(context, state, message);
}

bool sim_engine_submits_blindly(void)
{
    const struct sim_plant *plant = sim_world()->plant;
    return plant != NULL && plant->is_in_plugin && strikes(2);
}

const struct sim_plant sim_engine_plants[] = {
    {.name = "node-end-forgotten",
     .text = "a workflow does not take note of a node's end",
     .first_seed = 1,
     .turn = forget_end},
    {.name = "submitted-blindly",
     .text = "the plugin submits again after a failed call, without asking",
     .first_seed = 1,
     .is_in_plugin = true},
};
const size_t sim_engine_plant_count = TR_COUNT_OF(sim_engine_plants);
