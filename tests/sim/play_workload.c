/*
 * The play of the players: each host has a troupe or two, which the program asks for and sets
 * going.
 */
#include "runtime/border/border.h"
#include "tests/sim/inject.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define SIM_BEHAVIOUR_POINTER(name, id, restarts, exhausted) &sim_##name##_behaviour,
static const struct tr_behaviour *const behaviours[] = {SIM_BEHAVIOURS(SIM_BEHAVIOUR_POINTER)};
static const size_t behaviour_count = TR_COUNT_OF(behaviours);

static const struct tr_schema *const records[] = {&tr_sim_page_entry_schema,
                                                  &tr_sim_page_leaf_schema};
static const size_t record_count = TR_COUNT_OF(records);

/* What the next actor is: after the troupes come the envoys, who all share a plan. */
static struct tr_sim_player first_state(const struct sim_host *host)
{
    const struct sim_plan *plan = &host->world->plan;
    uint32_t number = host->program.granted;
    if (number >= plan->troupe_count) {
        return (struct tr_sim_player){
            .seed = sim_mix(plan->seed * 16 + 15), .size = plan->size, .manner = plan->envoy_burst};
    }
    return (struct tr_sim_player){
        .seed = sim_mix(plan->seed * 16 + host->index * 4 + number),
        .size = plan->size,
        .manner = plan->cast_count | (number == 0 ? plan->burst << 16 : 0),
    };
}

static bool is_over(const struct sim_host *host)
{
    const struct sim_plan *plan = &host->world->plan;
    return host->program.granted >= plan->troupe_count + plan->envoy_count;
}

/* Asks for a troupe or an envoy until it was told of all of them. */
static bool ask(struct sim_host *host)
{
    if (host->program.wish != 0 || is_over(host)) {
        return false;
    }
    struct tr_sim_player first = first_state(host);
    if (host->program.granted < host->world->plan.troupe_count) {
        sim_program_wish(host, &sim_director_behaviour, tr_text_of("troupe"), &first);
    } else {
        sim_program_wish(host, &sim_envoy_behaviour, tr_text_of("envoy"), &first);
    }
    return true;
}

/* Remembers an envoy, by the place of its host and its own there. It has been counted already. */
static void note_envoy(struct sim_host *host, struct tr_ref envoy)
{
    const struct sim_plan *plan = &host->world->plan;
    if (host->program.granted > plan->troupe_count) {
        uint32_t place = host->program.granted - plan->troupe_count - 1;
        host->world->envoys[host->index * plan->envoy_count + place] = envoy;
    }
}

static void granted(struct sim_host *host, const struct tr_granted *granted)
{
    struct sim_ledger *ledger = &host->world->ledger;
    for (uint32_t i = 0; i < ledger->count; i++) {
        const struct sim_entry *entry = &ledger->entries[i];
        if (entry->was_granted && entry->host == host->index &&
            entry->key.group == granted->actor.key.group) {
            sim_fail("group %llu was given twice", (unsigned long long)entry->key.group);
        }
    }
    sim_ledger_entry(ledger, host->index, granted->actor.key)->was_granted = true;
    note_envoy(host, granted->actor);
}

/* Tells an envoy that knows nobody yet whom it has to do with, once all are there; and one that
 * nobody knows, because it was asked for again, to go. */
static bool look_at_envoy(struct sim_host *host, const struct tri_actor *actor)
{
    const struct sim_world *world = host->world;
    struct sim_refs refs = {.count = world->plan.host_count * world->plan.envoy_count};
    struct tr_sim_cast cast = {.index = UINT32_MAX, .count = refs.count};
    bool are_all_there = true;
    for (uint32_t i = 0; i < refs.count; i++) {
        refs.refs[i] = world->envoys[i];
        are_all_there = are_all_there && !tr_key_is_none(refs.refs[i].key);
        cast.index = tr_key_equal(refs.refs[i].key, actor->key) ? i : cast.index;
    }
    if (!are_all_there || !sim_program_may_wish(host, actor->key)) {
        return false;
    }
    cast.refs = (struct tr_bytes){(const uint8_t *)refs.refs, refs.count * sizeof refs.refs[0]};
    if (cast.index != UINT32_MAX) {
        sim_program_say(host, actor, TR_KIND_TELL, &tr_sim_cast_schema, &cast);
    } else {
        sim_program_say(host, actor, TR_KIND_TELL, &tr_sim_go_schema, &(struct tr_sim_go){0});
    }
    return true;
}

/* A director that is new is told to begin. */
static bool look(struct sim_host *host, const struct tri_worker *worker, struct tri_actor *actor)
{
    const struct tr_sim_player *state = tri_actor_state(actor);
    if (tri_is_border(actor->key)) {
        return false;
    }
    bool is_idle_envoy = tri_actor_behaviour(worker, actor) == &sim_envoy_behaviour &&
                         actor->mailbox_count == 0 && !sim_envoy_has_cast(state);
    if (is_idle_envoy) {
        return look_at_envoy(host, actor);
    }
    bool is_new = tri_actor_behaviour(worker, actor) == &sim_director_behaviour &&
                  state->table.size == 0 && actor->mailbox_count == 0;
    if (is_new && sim_program_may_wish(host, actor->key)) {
        sim_program_say(host, actor, TR_KIND_TELL, &tr_sim_go_schema, &(struct tr_sim_go){0});
        return true;
    }
    if (!is_new) {
        sim_program_forget_wish(host, actor->key);
    }
    return false;
}

static bool drops(uint16_t type)
{
    return type == tr_sim_poison_schema.id;
}

static void record(struct sim_host *host, const struct tri_op *op)
{
    sim_shadow_record(host->shadow, op);
}

const struct sim_play sim_players = {
    .name = "players",
    .behaviours = behaviours,
    .behaviour_count = &behaviour_count,
    .records = records,
    .record_count = &record_count,
    .plants = sim_plants,
    .plant_count = &sim_plant_count,
    .ask = ask,
    .granted = granted,
    .look = look,
    .drops = drops,
    .hear = sim_players_hear,
    .record = record,
    .is_over = is_over,
    .check_loaded = sim_players_check_loaded,
    .check_end = sim_players_check_end,
};
