/*
 * The outside of each host: a service that remembers every errand it was ever sent, answers late,
 * out of order, or not at all, and notices when an errand is done twice.
 */
#include "tests/sim/ledger.h"

#include <stdlib.h>

#include "tests/sim/players.h"
#include "tests/sim/world.h"

#define MS 1000000ULL

/* An answer that is not sent yet. */
struct sim_outbox {
    struct sim_outbox *next;
    uint64_t due_ns;
    struct tr_ref to;
    uint64_t ask;
    struct tr_sim_outcome outcome;
};

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

void sim_outside_hear(struct sim_host *host, struct tr_bytes message)
{
    struct sim_world *world = host->world;
    struct tr_envelope envelope;
    tr_envelope_unpack(message.data, &envelope);
    struct tr_sim_errand errand;
    if (envelope.type != tr_sim_errand_schema.id ||
        tr_sim_errand_unpack(tr_envelope_body(message.data), envelope.version, &errand) != 0) {
        sim_fail("outside: a message of type %u", envelope.type);
        return;
    }
    world->counts.outside_calls++;
    bool was_known = note_errand(host, &errand);
    bool is_silent = envelope.deadline_ms != 0 && sim_below(&world->chance.outside, 8) == 0;
    if (is_silent) {
        return;
    }
    struct sim_outbox *reply = sim_must(malloc(sizeof *reply));
    *reply = (struct sim_outbox){
        .next = host->outside_box,
        .due_ns = world->now_ns + sim_below(&world->chance.outside, 60 * MS),
        .to = tr_envelope_from(&envelope),
        .ask = envelope.sequence,
        .outcome = {.number = errand.number, .is_known = was_known},
    };
    host->outside_box = reply;
}

/* Sends one answer to the worker of birth of whoever waits for it. */
static void send_reply(struct sim_host *host, const struct sim_outbox *reply)
{
    struct tr_envelope envelope = {
        .kind = TR_KIND_REPLY,
        .to_group = reply->to.key.group,
        .to_serial = reply->to.key.serial,
        .to_incarnation = reply->to.incarnation,
        .cause_group = reply->to.key.group,
        .cause_serial = reply->to.key.serial,
        .cause_incarnation = reply->to.incarnation,
        .cause_sequence = reply->ask,
    };
    uint32_t worker = tri_birth_worker(&host->host->shared, reply->to.key);
    int error =
        tri_voice_say(&host->outside, worker, &envelope, &tr_sim_outcome_schema, &reply->outcome);
    TR_ASSERT(error == 0);
}

static bool send_replies(struct sim_host *host)
{
    bool did_send = false;
    struct sim_outbox **link = &host->outside_box;
    while (*link != NULL) {
        struct sim_outbox *reply = *link;
        if (reply->due_ns <= host->world->now_ns) {
            send_reply(host, reply);
            *link = reply->next;
            free(reply);
            did_send = true;
        } else {
            link = &reply->next;
        }
    }
    tri_voice_flush(&host->outside);
    return did_send;
}

bool sim_outside_step(struct sim_host *host)
{
    struct tri_frame frame;
    bool did_read = false;
    while (tri_link_receive(host->outside.link, &frame) == 0) {
        struct tr_bytes bytes;
        bool is_stored;
        size_t offset = 0;
        while (tri_frame_next(&frame, &offset, &bytes, &is_stored)) {
            sim_outside_hear(host, bytes);
        }
        tri_link_release(host->outside.link, &frame);
        did_read = true;
    }
    return send_replies(host) || did_read;
}

uint64_t sim_outside_due_ns(const struct sim_host *host)
{
    uint64_t due_ns = UINT64_MAX;
    for (const struct sim_outbox *reply = host->outside_box; reply != NULL; reply = reply->next) {
        due_ns = reply->due_ns < due_ns ? reply->due_ns : due_ns;
    }
    return due_ns;
}

void sim_outside_forget(struct sim_host *host, bool all)
{
    struct sim_outbox **link = &host->outside_box;
    while (*link != NULL) {
        struct sim_outbox *reply = *link;
        if (all || sim_below(&host->world->chance.outside, 2) == 0) {
            *link = reply->next;
            free(reply);
        } else {
            link = &reply->next;
        }
    }
}
