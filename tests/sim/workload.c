/*
 * What all actors of the workload share: the frame around each turn, and small things that most of
 * them do.
 *
 * Around a turn stands chance: a handler fails for no reason after it has done everything, so that
 * all of its effects must be taken back; or memory fails in the middle of it.
 */
#include "tests/sim/workload.h"

#include <stdarg.h>
#include <stdio.h>

#include "runtime/actor/parts.h"
#include "tests/sim/world.h"

SIM_ACTOR_SCHEMAS(TR_SCHEMA_DEFINE)

typedef int sim_turn(struct tr_context *context, struct tr_sim_actor *state,
                     const struct tr_message *message);

/* Allocations within which one fails, when one is to fail. */
#define FAILING_ALLOCATION_WITHIN 6

static int take_turn(struct tr_context *context, void *state, const struct tr_message *message,
                     sim_turn *turn)
{
    struct sim_world *world = sim_world();
    uint64_t failed_before = world->counts.failed_allocations;
    bool is_failing = !world->is_calm && sim_chance(&world->chance.failure, world->plan.failure);
    sim_memory_arm(world, FAILING_ALLOCATION_WITHIN);
    int error = turn(context, state, message);
    sim_memory_disarm(world);
    /* Actors of the workload fail on purpose with TR_FAILED; whatever else they give back they were
     * given. */
    bool is_excused =
        world->counts.failed_allocations != failed_before || error == 0 || error == TR_FAILED;
    if (!is_excused) {
        return sim_wrong(context, message, "an effect was refused: %s", tr_error_name(error));
    }
    if (error == 0 && is_failing) {
        world->counts.failed_handlers++;
        return TR_FAILED;
    }
    return error;
}

#define SIM_BEHAVIOUR_DEFINE(behaviour_name, behaviour_id)                      \
    static int handle_##behaviour_name(struct tr_context *context, void *state, \
                                       const struct tr_message *message)        \
    {                                                                           \
        return take_turn(context, state, message, sim_play_##behaviour_name);   \
    }                                                                           \
    const struct tr_behaviour sim_##behaviour_name##_behaviour = {              \
        .name = #behaviour_name,                                                \
        .id = (behaviour_id),                                                   \
        .state = &tr_sim_actor_schema,                                          \
        .supervision = {.backoff_max_ms = 50},                                  \
        .handle = handle_##behaviour_name,                                      \
    };
SIM_BEHAVIOURS(SIM_BEHAVIOUR_DEFINE)

uint64_t sim_planned(const struct tr_sim_actor *state, uint64_t place, uint64_t limit)
{
    return sim_mix(state->seed ^ sim_mix(place)) % limit;
}

bool sim_is_early(const struct tr_context *context, uint64_t due_ms)
{
    return tr_steady_ms(context) + 2 * sim_world()->plan.clock_jump_ms < due_ms;
}

int sim_wrong(const struct tr_context *context, const struct tr_message *message,
              const char *format, ...)
{
    char words[SIM_FAILURE_BYTES / 2];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    struct tr_ref self = tr_self(context);
    const struct tr_behaviour *behaviour = tri_actor_behaviour(context->worker, context->actor);
    sim_fail("%s %llu/%llu: %s (message type %u kind %u from %llu/%llu sequence %llu)",
             behaviour->name, (unsigned long long)self.key.group,
             (unsigned long long)self.key.serial, words, message->type, message->kind,
             (unsigned long long)message->from.key.group,
             (unsigned long long)message->from.key.serial,
             (unsigned long long)tr_envelope_get(message->envelope, 64, sequence));
    return 0;
}

int sim_go_on(struct tr_context *context)
{
    uint64_t choice = tr_random(context) % 8;
    if (choice < 2) {
        return tr_timer_start(context, SIM_TIMER_GO, tr_random(context) % 20);
    }
    return tr_tell(context, tr_self(context), &tr_sim_go_schema, &(struct tr_sim_go){0});
}

bool sim_is_go(const struct tr_message *message)
{
    struct tr_timer timer;
    if (tr_message_is(message, &tr_sim_go_schema)) {
        return true;
    }
    return sim_is_signal(message, &tr_timer_schema) &&
           tr_message_read(message, timer, &timer) == 0 && timer.id == SIM_TIMER_GO;
}

int sim_down(const struct tr_message *message, struct tr_down *down)
{
    return tr_message_read(message, down, down);
}

int sim_read_cast(const struct tr_message *message, struct tr_sim_cast *cast, struct sim_refs *refs)
{
    int error = tr_message_read(message, sim_cast, cast);
    if (error != 0) {
        return error;
    }
    if (cast->refs.size != cast->count * sizeof(struct tr_ref) || cast->count > SIM_CAST_MAX) {
        return TR_MALFORMED;
    }
    refs->count = cast->count;
    memcpy(refs->refs, cast->refs.data, cast->refs.size);
    return 0;
}
