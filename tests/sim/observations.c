/*
 * What the environment of the workload remembers: every call it was ever sent. It notices when one
 * is done twice.
 */
#include "tests/sim/observations.h"

#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define MS 1000000ULL

struct sim_observation *sim_observation_of_actor(struct sim_observations *observations,
                                                 uint32_t host, struct tr_key key)
{
    for (uint32_t i = 0; i < observations->count; i++) {
        struct sim_observation *entry = &observations->entries[i];
        if (entry->host == host && tr_key_equal(entry->key, key)) {
            return entry;
        }
    }
    TR_ASSERT(observations->count < SIM_OBSERVATIONS_MAX);
    struct sim_observation *entry = &observations->entries[observations->count++];
    *entry = (struct sim_observation){.host = host, .key = key};
    return entry;
}

/* Writes a call down; whether the environment had heard of it before. */
static bool note_call(struct sim_host *host, const struct tr_sim_call *call)
{
    struct sim_observation *entry =
        sim_observation_of_actor(&host->world->observations, host->index, call->caller);
    uint64_t bit = 1ULL << call->number % 64;
    bool was_known = (entry->seen & bit) != 0;
    if (call->manner == SIM_CALL_DO && was_known) {
        sim_fail("environment: call %llu of %llu/%llu is done twice",
                 (unsigned long long)call->number, (unsigned long long)call->caller.group,
                 (unsigned long long)call->caller.serial);
    }
    if (call->manner != SIM_CALL_ASK) {
        entry->seen |= bit;
    }
    if (call->manner == SIM_CALL_FINAL) {
        if (entry->is_final && entry->total != call->total) {
            sim_fail("environment: the total of %llu/%llu was %llu and is now %llu",
                     (unsigned long long)call->caller.group,
                     (unsigned long long)call->caller.serial, (unsigned long long)entry->total,
                     (unsigned long long)call->total);
        }
        entry->is_final = true;
        entry->total = call->total;
    }
    return was_known;
}

void sim_workload_hear(struct sim_host *host, const struct tr_envelope *envelope,
                       struct tr_bytes body)
{
    struct sim_world *world = host->world;
    struct tr_sim_call call;
    if (envelope->type != tr_sim_call_schema.id ||
        tr_sim_call_unpack(body, envelope->version, &call) != 0) {
        sim_fail("environment: a message of type %u", envelope->type);
        return;
    }
    bool was_known = note_call(host, &call);
    bool is_silent = envelope->deadline_ms != 0 && sim_below(&world->chance.environment, 8) == 0;
    if (!is_silent) {
        struct tr_sim_outcome outcome = {.number = call.number, .is_known = was_known};
        sim_environment_reply(host, envelope, &tr_sim_outcome_schema, &outcome,
                              sim_below(&world->chance.environment, 60 * MS));
    }
}
