/*
 * What the outside of players remembers: every errand it was ever sent. It notices when one is done
 * twice.
 */
#include "tests/sim/observations.h"

#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define MS 1000000ULL

struct sim_entry *sim_ledger_entry(struct sim_ledger *ledger, uint32_t host, struct tr_key key)
{
    for (uint32_t i = 0; i < ledger->count; i++) {
        struct sim_entry *entry = &ledger->entries[i];
        if (entry->host == host && tr_key_equal(entry->key, key)) {
            return entry;
        }
    }
    TR_ASSERT(ledger->count < SIM_LEDGER_ENTRIES_MAX);
    struct sim_entry *entry = &ledger->entries[ledger->count++];
    *entry = (struct sim_entry){.host = host, .key = key};
    return entry;
}

/* Writes an errand down; whether the outside had heard of it before. */
static bool note_errand(struct sim_host *host, const struct tr_sim_errand *errand)
{
    struct sim_entry *entry = sim_ledger_entry(&host->world->ledger, host->index, errand->caller);
    uint64_t bit = 1ULL << errand->number % 64;
    bool was_known = (entry->seen & bit) != 0;
    if (errand->manner == SIM_ERRAND_DO && was_known) {
        sim_fail("outside: errand %llu of %llu/%llu is done twice",
                 (unsigned long long)errand->number, (unsigned long long)errand->caller.group,
                 (unsigned long long)errand->caller.serial);
    }
    if (errand->manner != SIM_ERRAND_ASK) {
        entry->seen |= bit;
    }
    if (errand->manner == SIM_ERRAND_FINAL) {
        if (entry->is_final && entry->total != errand->total) {
            sim_fail("outside: the total of %llu/%llu was %llu and is now %llu",
                     (unsigned long long)errand->caller.group,
                     (unsigned long long)errand->caller.serial, (unsigned long long)entry->total,
                     (unsigned long long)errand->total);
        }
        entry->is_final = true;
        entry->total = errand->total;
    }
    return was_known;
}

void sim_players_hear(struct sim_host *host, const struct tr_envelope *envelope,
                      struct tr_bytes body)
{
    struct sim_world *world = host->world;
    struct tr_sim_errand errand;
    if (envelope->type != tr_sim_errand_schema.id ||
        tr_sim_errand_unpack(body, envelope->version, &errand) != 0) {
        sim_fail("outside: a message of type %u", envelope->type);
        return;
    }
    bool was_known = note_errand(host, &errand);
    bool is_silent = envelope->deadline_ms != 0 && sim_below(&world->chance.outside, 8) == 0;
    if (!is_silent) {
        struct tr_sim_outcome outcome = {.number = errand.number, .is_known = was_known};
        sim_outside_reply(host, envelope, &tr_sim_outcome_schema, &outcome,
                          sim_below(&world->chance.outside, 60 * MS));
    }
}
