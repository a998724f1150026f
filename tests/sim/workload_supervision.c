/*
 * Trees: children that end by themselves, are told to stop with children of their own, or are
 * quarantined by a message that fails twice until an operator resumes them. For each of them the
 * parent hears one DOWN, and one more for each monitor of its own.
 */
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define CHILDREN_MAX 4

/* What a parent does to a child. */
enum fate {
    FATE_FREE,
    FATE_STOPPED,
    FATE_POISONED,
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
    uint32_t spawned;
    uint32_t worked;
    struct child children[CHILDREN_MAX];
};

/* `manner` is the depth that is left below. */
static uint32_t planned_children(const struct tr_sim_actor *state)
{
    return state->manner == 0 ? 0 : (uint32_t)sim_planned(state, 1, CHILDREN_MAX + 1);
}

static uint32_t planned_work(const struct tr_sim_actor *state)
{
    return (uint32_t)sim_planned(state, 2, state->size / 2 + 1);
}

static int spawn(struct tr_context *context, struct tr_sim_actor *state, struct child *child)
{
    uint64_t choice = tr_random(context);
    child->fate = (uint8_t)(choice % FATE_COUNT);
    struct tr_sim_actor first = {
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
    int error = tr_spawn(context, &sim_branch_behaviour, &options, &child->ref);
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
    for (uint32_t i = 0; i < branching->spawned; i++) {
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
        int error = tr_tell(context, child->ref, &tr_sim_done_schema, &(struct tr_sim_done){0});
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

static int work(struct tr_context *context, struct tr_sim_actor *state, struct branching *branching)
{
    int error = 0;
    bool is_left = false;
    if (branching->spawned < planned_children(state)) {
        error = spawn(context, state, &branching->children[branching->spawned++]);
    } else if (tr_random(context) % 2 == 0) {
        error = stop_one(context, branching, &is_left);
    } else {
        is_left = true;
    }
    branching->worked++;
    if (error == 0) {
        error = take_back_monitor(context, branching);
    }
    bool goes_on = is_left || branching->spawned < planned_children(state) ||
                   branching->worked < planned_work(state);
    if (error == 0 && goes_on) {
        error = sim_go_on(context);
    }
    return error;
}

static struct child *find_child(struct branching *branching, struct tr_ref ref)
{
    for (uint32_t i = 0; i < branching->spawned; i++) {
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
    if (reason != 0 && !is_gone) {
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

static bool is_complete(const struct tr_sim_actor *state, const struct branching *branching)
{
    bool is_complete = branching->spawned == planned_children(state) &&
                       branching->worked >= planned_work(state) && branching->worked > 0;
    for (uint32_t i = 0; is_complete && i < branching->spawned; i++) {
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
    if (tr_message_is(message, &tr_sim_done_schema)) {
        return tr_stop(context);
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
