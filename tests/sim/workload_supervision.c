/*
 * Trees and pairs: lives that depend on each other.
 *
 * A branch has children that end by themselves, are stopped, are poisoned (a message fails twice,
 * and somebody has to resume them), or fail until they are given up. For each of them the parent
 * hears one DOWN, and one more for each monitor of its own, with a reason that fits.
 */
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define CHILDREN_MAX 4
#define MORTAL_FAILS 300000 /* in a million of its messages */

/* What a parent does to a child. */
enum fate {
    FATE_FREE,
    FATE_STOPPED,
    FATE_POISONED,
    FATE_MORTAL,
    FATE_COUNT,
};

struct child {
    struct tr_ref ref;
    uint64_t monitor; /* 0: none, or heard, or taken back */
    uint8_t fate;
    bool is_stopped;
    bool is_down;
};

struct branching {
    uint32_t born;
    uint32_t worked;
    struct child children[CHILDREN_MAX];
};

/* `manner` is the depth that is left below. */
static uint32_t planned_children(const struct tr_sim_player *state)
{
    return state->manner == 0 ? 0 : (uint32_t)sim_planned(state, 1, CHILDREN_MAX + 1);
}

static uint32_t planned_work(const struct tr_sim_player *state)
{
    return (uint32_t)sim_planned(state, 2, state->size / 2 + 1);
}

static int bear(struct tr_context *context, struct tr_sim_player *state, struct child *child)
{
    uint64_t choice = tr_random(context);
    child->fate = (uint8_t)(choice % FATE_COUNT);
    bool is_mortal = child->fate == FATE_MORTAL;
    struct tr_sim_player first = {
        .seed = sim_planned(state, choice, UINT64_MAX),
        .size = state->size,
        .manner = state->manner - 1,
    };
    struct tr_spawn_options options = {
        .element = choice % 1000,
        .is_element = choice / 8 % 2 == 0,
        .name = choice / 8 % 4 == 1 ? tr_text_of("twig") : tr_text_of(""),
        .is_group = choice / 64 % 8 == 0,
        .is_watched = true,
        .state = &first,
    };
    const struct tr_behaviour *behaviour =
        is_mortal ? &sim_mortal_behaviour : &sim_branch_behaviour;
    int error = tr_spawn(context, behaviour, &options, &child->ref);
    if (error == 0 && choice / 512 % 3 == 0) {
        error = tr_monitor(context, child->ref, &child->monitor);
    }
    if (error == 0) {
        error = tr_tell(context, child->ref, &tr_sim_go_schema, &(struct tr_sim_go){1});
    }
    if (error == 0 && child->fate == FATE_POISONED) {
        error = tr_tell(context, child->ref, &tr_sim_poison_schema, &(struct tr_sim_poison){1});
    }
    return error;
}

/* Stops one of the children whose fate that is; whether some are left. */
static int stop_one(struct tr_context *context, struct branching *branching, bool *is_left)
{
    bool is_one_stopped = false;
    *is_left = false;
    for (uint32_t i = 0; i < branching->born; i++) {
        struct child *child = &branching->children[i];
        if (child->fate != FATE_STOPPED || child->is_stopped) {
            continue;
        }
        if (is_one_stopped) {
            *is_left = true;
            continue;
        }
        is_one_stopped = true;
        child->is_stopped = true;
        int error = tr_stop_child(context, child->ref);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

static int take_back_monitor(struct tr_context *context, struct branching *branching)
{
    struct child *child = &branching->children[tr_random(context) % CHILDREN_MAX];
    if (child->monitor == 0 || tr_random(context) % 3 != 0) {
        return 0;
    }
    int error = tr_demonitor(context, child->monitor);
    child->monitor = 0;
    return error;
}

static int work(struct tr_context *context, struct tr_sim_player *state,
                struct branching *branching)
{
    int error = 0;
    bool is_left = false;
    if (branching->born < planned_children(state)) {
        error = bear(context, state, &branching->children[branching->born++]);
    } else if (tr_random(context) % 2 == 0) {
        error = stop_one(context, branching, &is_left);
    } else {
        is_left = true;
    }
    branching->worked++;
    if (error == 0) {
        error = take_back_monitor(context, branching);
    }
    bool goes_on = is_left || branching->born < planned_children(state) ||
                   branching->worked < planned_work(state);
    if (error == 0 && goes_on) {
        error = sim_go_on(context);
    }
    return error;
}

/* Whether a child may have ended so. */
static bool is_plausible(const struct child *child, int reason)
{
    switch ((enum fate)child->fate) {
    case FATE_STOPPED:
        return reason == 0 || reason == TR_KILLED;
    case FATE_MORTAL:
        return reason == 0 || reason == TR_FAILED;
    case FATE_FREE:
    case FATE_POISONED:
    case FATE_COUNT:
        return reason == 0;
    }
    return false;
}

static struct child *find_child(struct branching *branching, struct tr_ref ref)
{
    for (uint32_t i = 0; i < branching->born; i++) {
        if (tr_key_equal(branching->children[i].ref.key, ref.key)) {
            return &branching->children[i];
        }
    }
    return NULL;
}

static int hear_down(struct tr_context *context, struct branching *branching,
                     const struct tr_message *message)
{
    struct tr_down down;
    int error = sim_down(message, &down);
    if (error != 0) {
        return error;
    }
    struct child *child = find_child(branching, down.actor);
    int reason = -(int)down.reason;
    if (child == NULL) {
        return sim_wrong(context, message, "DOWN of nobody's child %llu/%llu",
                         (unsigned long long)down.actor.key.group,
                         (unsigned long long)down.actor.key.serial);
    }
    bool is_gone = down.monitor != 0 && reason == TR_NO_ACTOR;
    if (!is_plausible(child, reason) && !is_gone) {
        return sim_wrong(context, message, "a child of fate %u ended with %s", child->fate,
                         tr_error_name(reason));
    }
    if (down.monitor != 0) {
        if (down.monitor != child->monitor) {
            return sim_wrong(context, message, "DOWN for a monitor that is none");
        }
        child->monitor = 0;
        return 0;
    }
    if (child->is_down) {
        return sim_wrong(context, message, "a second DOWN");
    }
    child->is_down = true;
    return 0;
}

static bool is_complete(const struct tr_sim_player *state, const struct branching *branching)
{
    bool is_complete = branching->born == planned_children(state) &&
                       branching->worked >= planned_work(state) && branching->worked > 0;
    for (uint32_t i = 0; is_complete && i < branching->born; i++) {
        is_complete = branching->children[i].is_down && branching->children[i].monitor == 0;
    }
    return is_complete;
}

SIM_PLAY(branch)
{
    SIM_TABLE(struct branching, branching, state);
    int error = 0;
    if (tr_message_is(message, &tr_sim_poison_schema)) {
        return TR_FAILED;
    }
    if (sim_is_signal(message, &tr_down_schema)) {
        error = hear_down(context, &branching, message);
    } else if (sim_is_go(message) || tr_message_is(message, &tr_sim_cast_schema)) {
        error = work(context, state, &branching);
    } else {
        return sim_wrong(context, message, "not for a branch");
    }
    if (error == 0 && is_complete(state, &branching)) {
        error = tr_stop(context);
    }
    SIM_KEEP(branching, state);
    return error;
}

/* One that fails often, is tried again, and in the end is done or given up. */
SIM_PLAY(mortal)
{
    if (!sim_is_go(message)) {
        return sim_wrong(context, message, "not for a mortal");
    }
    if (sim_chance(&sim_world()->chance.failure, MORTAL_FAILS)) {
        return TR_FAILED;
    }
    if (state->size <= 1) {
        return tr_stop(context);
    }
    state->size--;
    return tr_tell(context, tr_self(context), &tr_sim_go_schema, &(struct tr_sim_go){0});
}

/* ------------------------------------------------------------------------------------ pairs */

/* A pair's roles, in `manner`. */
enum role {
    ROLE_PARENT,
    ROLE_LEFT,
    ROLE_RIGHT,
};

/* What the parent tries. */
enum trial {
    TRIAL_STOP_LEFT,  /* the right one must follow */
    TRIAL_STOP_RIGHT, /* the left one must follow */
    TRIAL_END_LEFT,   /* in order: the right one must live */
    TRIAL_UNLINK,     /* and then stop the left one: the right one must live */
    TRIAL_COUNT,
};

struct pairing {
    struct tr_ref left;
    struct tr_ref right;
    uint32_t trial;
    bool is_unlinked;
    bool is_left_down;
    bool is_right_down;
};

static int begin_trial(struct tr_context *context, struct pairing *pairing)
{
    switch ((enum trial)pairing->trial) {
    case TRIAL_STOP_LEFT:
        return tr_stop_child(context, pairing->left);
    case TRIAL_STOP_RIGHT:
        return tr_stop_child(context, pairing->right);
    case TRIAL_END_LEFT:
        return tr_tell(context, pairing->left, &tr_sim_go_schema, &(struct tr_sim_go){0});
    case TRIAL_UNLINK:
        if (pairing->is_unlinked) {
            return tr_stop_child(context, pairing->left);
        }
        pairing->is_unlinked = true;
        return tr_tell(context, pairing->left, &tr_sim_cast_schema, &(struct tr_sim_cast){0});
    case TRIAL_COUNT:
        break;
    }
    return 0;
}

static int spawn_half(struct tr_context *context, enum role role, struct tr_ref *half)
{
    struct tr_sim_player state = {.manner = (uint32_t)role};
    struct tr_spawn_options options = {
        .is_watched = true, .is_group = tr_random(context) % 4 == 0, .state = &state};
    return tr_spawn(context, &sim_pair_behaviour, &options, half);
}

static int begin_pair(struct tr_context *context, struct pairing *pairing)
{
    pairing->trial = (uint32_t)(tr_random(context) % TRIAL_COUNT);
    int error = spawn_half(context, ROLE_LEFT, &pairing->left);
    if (error == 0) {
        error = spawn_half(context, ROLE_RIGHT, &pairing->right);
    }
    if (error == 0) {
        struct tr_sim_cast cast = {
            .count = 1, .refs = {(const uint8_t *)&pairing->right, sizeof pairing->right}};
        error = tr_tell(context, pairing->left, &tr_sim_cast_schema, &cast);
    }
    return error;
}

static int hear_half_down(struct tr_context *context, struct pairing *pairing,
                          const struct tr_message *message)
{
    struct tr_down down;
    int error = sim_down(message, &down);
    if (error != 0) {
        return error;
    }
    bool is_left = tr_key_equal(down.actor.key, pairing->left.key);
    bool *is_down = is_left ? &pairing->is_left_down : &pairing->is_right_down;
    bool follows = pairing->trial == TRIAL_STOP_LEFT || pairing->trial == TRIAL_STOP_RIGHT;
    bool is_killed = follows || (is_left && pairing->trial == TRIAL_UNLINK);
    int reason = -(int)down.reason;
    if (*is_down || reason != (is_killed ? TR_KILLED : 0)) {
        return sim_wrong(context, message, "the %s half of a pair (trial %u) ended with %s",
                         is_left ? "left" : "right", pairing->trial, tr_error_name(reason));
    }
    *is_down = true;
    if (!follows && is_left) {
        return tr_tell(context, pairing->right, &tr_sim_go_schema, &(struct tr_sim_go){0});
    }
    if (pairing->is_left_down && pairing->is_right_down) {
        return tr_stop(context);
    }
    return 0;
}

static int play_parent(struct tr_context *context, struct tr_sim_player *state,
                       const struct tr_message *message)
{
    SIM_TABLE(struct pairing, pairing, state);
    int error = 0;
    if (tr_message_is(message, &tr_sim_cast_schema)) {
        error = begin_pair(context, &pairing);
    } else if (tr_message_is(message, &tr_sim_done_schema)) {
        error = begin_trial(context, &pairing);
    } else if (sim_is_signal(message, &tr_down_schema)) {
        error = hear_half_down(context, &pairing, message);
    } else {
        return sim_wrong(context, message, "not for a pair's parent");
    }
    SIM_KEEP(pairing, state);
    return error;
}

/* A cast of one ties the knot, an empty one unties it. */
static int tie(struct tr_context *context, struct sim_refs *refs, const struct tr_message *message)
{
    struct tr_sim_cast cast;
    struct sim_refs told = {0};
    int error = sim_read_cast(message, &cast, &told);
    if (error != 0) {
        return error;
    }
    if (told.count == 0) {
        return tr_unlink(context, refs->refs[0]);
    }
    *refs = told;
    return tr_link(context, refs->refs[0]);
}

/* The left half does what its parent says; both end in order when they are told to go on. */
static int play_half(struct tr_context *context, struct tr_sim_player *state,
                     const struct tr_message *message)
{
    SIM_TABLE(struct sim_refs, refs, state);
    if (sim_is_go(message)) {
        return tr_stop(context);
    }
    if (!tr_message_is(message, &tr_sim_cast_schema)) {
        return sim_wrong(context, message, "not for half of a pair");
    }
    int error = tie(context, &refs, message);
    SIM_KEEP(refs, state);
    if (error == 0) {
        error = tr_tell(context, tr_parent(context), &tr_sim_done_schema, &(struct tr_sim_done){0});
    }
    return error;
}

SIM_PLAY(pair)
{
    return state->manner == ROLE_PARENT ? play_parent(context, state, message)
                                        : play_half(context, state, message);
}
