/*
 * The director of a troupe: spawns its cast, tells each whom it plays with, and waits until all
 * have ended. Its last call tells the environment that the troupe is done.
 */
#include "tests/sim/workload.h"

#define MEMBERS_MAX 16

/* The kinds of the workload, as often as they are to be drawn. */
static const struct tr_behaviour *const kinds[] = {
    &sim_teller_behaviour, &sim_teller_behaviour, &sim_teller_behaviour,
    &sim_asker_behaviour,  &sim_asker_behaviour,  &sim_answerer_behaviour,
    &sim_branch_behaviour, &sim_ticker_behaviour, &sim_page_writer_behaviour,
    &sim_caller_behaviour, &sim_array_behaviour,  &sim_witness_behaviour,
};

struct member {
    struct tr_ref ref;
    bool is_done;
    bool is_down;
    bool is_stopped; /* was told to end */
};

struct directing {
    uint32_t spawned;
    uint32_t told;
    struct member members[MEMBERS_MAX];
    struct sim_calls calls;
};

/* `manner` is the number of members and, above, the burst. */
static uint32_t member_count(const struct tr_sim_actor *state)
{
    uint32_t count = state->manner & 0xffff;
    return count < MEMBERS_MAX ? count : MEMBERS_MAX;
}

/* What the plan says that the n-th member plays; a burst needs a teller. */
static const struct tr_behaviour *planned_kind(const struct tr_sim_actor *state, uint32_t member)
{
    if (member < 2 && state->manner >> 16 != 0) {
        return &sim_teller_behaviour;
    }
    return kinds[sim_planned(state, member, TR_COUNT_OF(kinds))];
}

/* The same, but without an answerer nobody asks. */
static const struct tr_behaviour *kind_of(const struct tr_sim_actor *state, uint32_t member)
{
    const struct tr_behaviour *kind = planned_kind(state, member);
    bool has_answerer = kind != &sim_asker_behaviour;
    for (uint32_t i = 0; !has_answerer && i < member_count(state); i++) {
        has_answerer = planned_kind(state, i) == &sim_answerer_behaviour;
    }
    return has_answerer ? kind : &sim_ticker_behaviour;
}

static int spawn_member(struct tr_context *context, struct tr_sim_actor *state,
                        struct directing *directing)
{
    static const char *const names[] = {"one", "two", "three", "four"};
    uint32_t number = directing->spawned++;
    const struct tr_behaviour *kind = kind_of(state, number);
    bool is_teller = kind == &sim_teller_behaviour;
    struct tr_sim_actor first = {
        /* Tellers share a seed: who tells whom how much. */
        .seed = is_teller ? state->seed : sim_planned(state, 100 + number, UINT64_MAX),
        .size = state->size,
        .manner = is_teller                       ? state->manner >> 16
                  : kind == &sim_branch_behaviour ? 3
                                                  : 0,
    };
    struct tr_spawn_options options = {
        .name = number < TR_COUNT_OF(names) ? tr_text_of(names[number]) : tr_text_of(""),
        .is_group = tr_random(context) % 4 == 0,
        .is_watched = true,
        .state = &first,
    };
    return tr_spawn(context, kind, &options, &directing->members[number].ref);
}

/* Whether a member is among those that another one is told of. */
static bool is_partner(const struct tr_sim_actor *state, uint32_t member, uint32_t other)
{
    const struct tr_behaviour *kind = kind_of(state, member);
    const struct tr_behaviour *its = kind_of(state, other);
    if (kind == &sim_teller_behaviour) {
        return its == kind;
    }
    if (kind == &sim_asker_behaviour) {
        return its == &sim_answerer_behaviour;
    }
    return kind == &sim_witness_behaviour && its != kind;
}

static int tell_member(struct tr_context *context, const struct tr_sim_actor *state,
                       struct directing *directing)
{
    uint32_t member = directing->told++;
    struct sim_refs refs = {0};
    struct tr_sim_cast cast = {0};
    for (uint32_t i = 0; i < member_count(state); i++) {
        if (i == member) {
            cast.index = refs.count;
        }
        if (is_partner(state, member, i)) {
            refs.refs[refs.count++] = directing->members[i].ref;
        }
    }
    cast.count = refs.count;
    cast.refs = (struct tr_bytes){(const uint8_t *)refs.refs, refs.count * sizeof refs.refs[0]};
    return tr_tell(context, directing->members[member].ref, &tr_sim_cast_schema, &cast);
}

/* Spawns first, then the casts, a few in each turn. */
static int direct(struct tr_context *context, struct tr_sim_actor *state,
                  struct directing *directing)
{
    int error = 0;
    uint64_t count = 1 + tr_random(context) % 4;
    while (error == 0 && count-- > 0 && directing->told < member_count(state)) {
        error = directing->spawned < member_count(state) ? spawn_member(context, state, directing)
                                                         : tell_member(context, state, directing);
    }
    if (error == 0 && directing->told < member_count(state)) {
        error = sim_go_on(context);
    }
    return error;
}

static struct member *find_member(struct directing *directing, struct tr_key key)
{
    for (uint32_t i = 0; i < directing->spawned; i++) {
        if (tr_key_equal(directing->members[i].ref.key, key)) {
            return &directing->members[i];
        }
    }
    return NULL;
}

/* When nobody asks any more, the answerers go. */
static int stop_answerers(struct tr_context *context, const struct tr_sim_actor *state,
                          struct directing *directing)
{
    int error = 0;
    for (uint32_t i = 0; i < directing->spawned; i++) {
        if (kind_of(state, i) == &sim_asker_behaviour && !directing->members[i].is_down) {
            return 0;
        }
    }
    for (uint32_t i = 0; error == 0 && i < directing->spawned; i++) {
        struct member *member = &directing->members[i];
        if (kind_of(state, i) == &sim_answerer_behaviour && !member->is_stopped) {
            member->is_stopped = true;
            error = tr_tell(context, member->ref, &tr_sim_done_schema, &(struct tr_sim_done){0});
        }
    }
    return error;
}

static int hear_down(struct tr_context *context, const struct tr_sim_actor *state,
                     struct directing *directing, const struct tr_message *message)
{
    struct tr_down down;
    int error = sim_down(message, &down);
    struct member *member = find_member(directing, down.actor.key);
    if (error != 0) {
        return error;
    }
    if (member == NULL || member->is_down) {
        return sim_wrong(context, message, "DOWN of no member, or again");
    }
    const struct tr_behaviour *kind = kind_of(state, (uint32_t)(member - directing->members));
    int reason = -(int)down.reason;
    if (reason != 0) {
        return sim_wrong(context, message, "a %s ended with %s", kind->name, tr_error_name(reason));
    }
    if (kind == &sim_teller_behaviour && !member->is_done) {
        return sim_wrong(context, message, "DOWN before the last message");
    }
    member->is_down = true;
    return 0;
}

static int hear_done(struct tr_context *context, struct directing *directing,
                     const struct tr_message *message)
{
    struct member *member = find_member(directing, message->from.key);
    if (member == NULL || member->is_done || member->is_down) {
        return sim_wrong(context, message, "done by no member, or again");
    }
    member->is_done = true;
    return 0;
}

static bool is_complete(const struct tr_sim_actor *state, const struct directing *directing)
{
    bool is_complete = directing->told == member_count(state);
    for (uint32_t i = 0; is_complete && i < directing->spawned; i++) {
        is_complete = directing->members[i].is_down;
    }
    return is_complete;
}

SIM_PLAY(director)
{
    SIM_TABLE(struct directing, directing, state);
    bool is_mine;
    int error = sim_call_hear(context, state, &directing.calls, message, &is_mine);
    if (error != 0) {
        return error;
    }
    if (sim_is_go(message)) {
        error = direct(context, state, &directing);
    } else if (sim_is_signal(message, &tr_down_schema)) {
        error = hear_down(context, state, &directing, message);
    } else if (tr_message_is(message, &tr_sim_done_schema)) {
        error = hear_done(context, &directing, message);
    } else if (!is_mine) {
        return sim_wrong(context, message, "not for a director");
    }
    if (error == 0 && directing.told == member_count(state)) {
        error = stop_answerers(context, state, &directing);
    }
    if (error == 0 && is_complete(state, &directing)) {
        error = directing.calls.is_final_done ? tr_stop(context)
                                              : sim_call_next(context, state, &directing.calls);
    }
    SIM_KEEP(directing, state);
    return error;
}
