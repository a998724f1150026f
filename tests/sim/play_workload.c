/*
 * The play of the workload: each host has a troupe or two, which the program asks for and sets
 * going.
 */
#include "runtime/cluster/interhost.h"
#include "tests/sim/inject.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define SIM_BEHAVIOUR_POINTER(name, id) &sim_##name##_behaviour,
static const struct tr_behaviour *const behaviours[] = {SIM_BEHAVIOURS(SIM_BEHAVIOUR_POINTER)};
static const size_t behaviour_count = TR_COUNT_OF(behaviours);

static const struct tr_schema *const records[] = {&tr_sim_page_entry_schema,
                                                  &tr_sim_page_leaf_schema};
static const size_t record_count = TR_COUNT_OF(records);

/* What the next actor is: after the troupes come the remote actors, who all share a plan. */
static struct tr_sim_actor first_state(const struct sim_host *host)
{
    const struct sim_plan *plan = &host->world->plan;
    uint32_t number = host->program.granted;
    if (number >= plan->troupe_count) {
        return (struct tr_sim_actor){.seed = sim_mix(plan->seed * 16 + 15),
                                     .size = plan->size,
                                     .manner = plan->remote_burst};
    }
    return (struct tr_sim_actor){
        .seed = sim_mix(plan->seed * 16 + host->index * 4 + number),
        .size = plan->size,
        .manner = plan->cast_count | (number == 0 ? plan->burst << 16 : 0),
    };
}

static bool is_over(const struct sim_host *host)
{
    const struct sim_plan *plan = &host->world->plan;
    return host->program.granted >= plan->troupe_count + plan->remote_count;
}

/* Asks for a troupe or a remote actor until it was told of all of them. */
static bool ask(struct sim_host *host)
{
    if (host->program.request != 0 || is_over(host)) {
        return false;
    }
    struct tr_sim_actor first = first_state(host);
    if (host->program.granted < host->world->plan.troupe_count) {
        sim_program_wish(host, &sim_director_behaviour, tr_text_of("troupe"), &first);
    } else {
        sim_program_wish(host, &sim_remote_behaviour, tr_text_of("remote"), &first);
    }
    return true;
}

/* Remembers a remote actor, by the place of its host and its own there. It has been counted
 * already. */
static void note_remote(struct sim_host *host, struct tr_ref remote)
{
    const struct sim_plan *plan = &host->world->plan;
    if (host->program.granted > plan->troupe_count) {
        uint32_t place = host->program.granted - plan->troupe_count - 1;
        host->world->remotes[host->index * plan->remote_count + place] = remote;
    }
}

static void granted(struct sim_host *host, const struct tr_control_reply *granted)
{
    struct sim_observations *observations = &host->world->observations;
    for (uint32_t i = 0; i < observations->count; i++) {
        const struct sim_observation *entry = &observations->entries[i];
        if (entry->was_granted && entry->host == host->index &&
            entry->key.group == granted->actor.key.group) {
            sim_fail("group %llu was given twice", (unsigned long long)entry->key.group);
        }
    }
    sim_observation_of_actor(observations, host->index, granted->actor.key)->was_granted = true;
    note_remote(host, granted->actor);
}

/* Tells a remote actor that knows nobody yet whom it has to do with, once all are there; and one
 * that nobody knows, because it was asked for again, to go. */
static bool look_at_remote(struct sim_host *host, const struct tri_actor *actor)
{
    const struct sim_world *world = host->world;
    struct sim_refs refs = {.count = world->plan.host_count * world->plan.remote_count};
    struct tr_sim_cast cast = {.index = UINT32_MAX, .count = refs.count};
    bool are_all_there = true;
    for (uint32_t i = 0; i < refs.count; i++) {
        refs.refs[i] = world->remotes[i];
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
    const struct tr_sim_actor *state = tri_actor_state(actor);
    if (tri_is_interhost(actor->key)) {
        return false;
    }
    bool is_idle_remote = tri_actor_behaviour(worker, actor) == &sim_remote_behaviour &&
                          actor->mailbox_count == 0 && !sim_remote_has_cast(state);
    if (is_idle_remote) {
        return look_at_remote(host, actor);
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

const struct sim_play sim_workload = {
    .name = "workload",
    .behaviours = behaviours,
    .behaviour_count = &behaviour_count,
    .records = records,
    .record_count = &record_count,
    .bugs = sim_bugs,
    .bug_count = &sim_bug_count,
    .ask = ask,
    .granted = granted,
    .look = look,
    .drops = drops,
    .hear = sim_workload_hear,
    .record = record,
    .is_over = is_over,
    .lose = sim_workload_lose,
    .check_loaded = sim_workload_check_loaded,
    .check_end = sim_workload_check_end,
};
