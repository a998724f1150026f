/*
 * Arrays: a parent with many children, of which only a window lives at once. Each element gives its
 * value once, and ends as it does so.
 */
#include "tests/sim/workload.h"

#define ELEMENTS_MAX 256

struct counting {
    uint32_t spawned;
    uint32_t finished;
    uint32_t watched;
    uint32_t downs;
    uint64_t sum;
    uint64_t bits[ELEMENTS_MAX / 64];
};

static uint32_t planned_elements(const struct tr_sim_actor *state)
{
    return (uint32_t)(sim_planned(state, 1, 12) * state->size % ELEMENTS_MAX) + 1;
}

static uint32_t planned_window(const struct tr_sim_actor *state)
{
    return (uint32_t)(1 + sim_planned(state, 2, 32));
}

static uint64_t value_of(uint64_t element)
{
    return element * element + 3;
}

static int spawn_element(struct tr_context *context, struct counting *counting)
{
    uint32_t number = counting->spawned++;
    bool is_watched = tr_random(context) % 3 == 0;
    struct tr_sim_actor first = {.seed = tr_random(context), .size = number};
    struct tr_spawn_options options = {
        .element = number, .is_element = true, .is_watched = is_watched, .state = &first};
    struct tr_ref element;
    int error = tr_spawn(context, &sim_element_behaviour, &options, &element);
    if (error == 0) {
        counting->watched += is_watched ? 1 : 0;
        error = tr_tell_hinted(context, element, tr_spawned_hint(context), &tr_sim_go_schema,
                               &(struct tr_sim_go){number});
    }
    return error;
}

static int fill_window(struct tr_context *context, const struct tr_sim_actor *state,
                       struct counting *counting)
{
    int error = 0;
    while (error == 0 && counting->spawned < planned_elements(state) &&
           counting->spawned - counting->finished < planned_window(state)) {
        error = spawn_element(context, counting);
    }
    return error;
}

static int hear_value(struct tr_context *context, struct counting *counting,
                      const struct tr_message *message)
{
    struct tr_sim_done done;
    int error = tr_message_read(message, sim_done, &done);
    if (error != 0) {
        return error;
    }
    uint64_t bit = 1ULL << (done.index % 64);
    uint64_t *bits = &counting->bits[done.index / 64 % TR_COUNT_OF(counting->bits)];
    if (done.index >= counting->spawned || (*bits & bit) != 0 ||
        done.value != value_of(done.index)) {
        return sim_wrong(context, message, "element %u gives %llu", done.index,
                         (unsigned long long)done.value);
    }
    *bits |= bit;
    counting->finished++;
    counting->sum += done.value;
    return 0;
}

SIM_PLAY(array)
{
    SIM_TABLE(struct counting, counting, state);
    int error = 0;
    if (tr_message_is(message, &tr_sim_done_schema)) {
        error = hear_value(context, &counting, message);
    } else if (sim_is_signal(message, &tr_down_schema)) {
        counting.downs++;
        if (counting.downs > counting.watched || counting.downs > counting.finished) {
            return sim_wrong(context, message, "DOWN before the last message");
        }
    } else if (!tr_message_is(message, &tr_sim_cast_schema)) {
        return sim_wrong(context, message, "not for an array");
    }
    if (error == 0) {
        error = fill_window(context, state, &counting);
    }
    if (error == 0 && counting.finished == planned_elements(state) &&
        counting.downs == counting.watched) {
        error = tr_stop(context);
    }
    SIM_KEEP(counting, state);
    return error;
}

/* An element: gives its value at once, or after a while. */
SIM_PLAY(element)
{
    if (!sim_is_go(message)) {
        return sim_wrong(context, message, "not for an element");
    }
    bool is_first = state->manner == 0;
    state->manner = 1;
    if (is_first && sim_planned(state, 1, 4) == 0) {
        return tr_timer_start(context, SIM_TIMER_GO, sim_planned(state, 2, 25));
    }
    struct tr_sim_done done = {.index = (uint32_t)state->size, .value = value_of(state->size)};
    int error = tr_tell(context, tr_parent(context), &tr_sim_done_schema, &done);
    return error != 0 ? error : tr_stop(context);
}
