/*
 * Tellers: each tells every other one a planned number of notes, numbered from 1 on for each pair.
 * A note out of its order, twice, or not at all is noticed by who hears it.
 */
#include "tests/sim/workload.h"

#define FILLING_BYTES_MAX 700

struct telling {
    bool has_cast;
    bool is_done;
    uint32_t index;
    struct sim_refs refs;
    uint32_t sent[SIM_CAST_MAX];
    uint32_t heard[SIM_CAST_MAX];
};

/* How many notes go from one to another; both work it out of what they share. */
static uint32_t planned_notes(const struct tr_sim_actor *state, uint32_t from, uint32_t to)
{
    if (from == to) {
        return 0;
    }
    /* `manner` is the burst: the first two fill a mailbox with it. */
    if (state->manner > 0 && from == 0 && to == 1) {
        return state->manner;
    }
    return (uint32_t)(sim_planned(state, 1000 + from * SIM_CAST_MAX + to, state->size + 1));
}

static uint8_t filling_byte(uint64_t number, size_t place)
{
    return (uint8_t)(number * 31 + place * 7);
}

static int send_note(struct tr_context *context, struct telling *telling, uint32_t to)
{
    uint8_t filling[FILLING_BYTES_MAX];
    uint64_t number = ++telling->sent[to];
    uint64_t choice = tr_random(context);
    size_t size = choice % 16 == 0 ? choice / 16 % FILLING_BYTES_MAX : choice / 16 % 40;
    for (size_t i = 0; i < size; i++) {
        filling[i] = filling_byte(number, i);
    }
    struct tr_sim_note note = {
        .index = telling->index, .number = number, .filling = {.data = filling, .size = size}};
    return tr_tell(context, telling->refs.refs[to], &tr_sim_note_schema, &note);
}

static uint32_t left_to(const struct tr_sim_actor *state, const struct telling *telling,
                        uint32_t to)
{
    return planned_notes(state, telling->index, to) - telling->sent[to];
}

/* Sends some notes to whoever has some coming; whether any are left then. */
static int send_some(struct tr_context *context, struct tr_sim_actor *state,
                     struct telling *telling, bool *is_all)
{
    uint32_t most = state->manner > 0 ? 200 : (uint32_t)(1 + tr_random(context) % 5);
    uint32_t begin = (uint32_t)(tr_random(context) % telling->refs.count);
    *is_all = true;
    for (uint32_t i = 0; i < telling->refs.count; i++) {
        uint32_t to = (begin + i) % telling->refs.count;
        while (most > 0 && left_to(state, telling, to) > 0) {
            int error = send_note(context, telling, to);
            if (error != 0) {
                return error;
            }
            most--;
            if (state->manner == 0 && tr_random(context) % 2 == 0) {
                break;
            }
        }
        *is_all = *is_all && left_to(state, telling, to) == 0;
    }
    return 0;
}

static int hear_note(struct tr_context *context, struct tr_sim_actor *state,
                     struct telling *telling, const struct tr_message *message)
{
    struct tr_sim_note note;
    int error = tr_message_read(message, sim_note, &note);
    if (error != 0) {
        return error;
    }
    if (note.index >= SIM_CAST_MAX || note.number != telling->heard[note.index] + 1ULL) {
        return sim_wrong(context, message, "note %llu of teller %u comes after note %u",
                         (unsigned long long)note.number, note.index,
                         telling->heard[note.index % SIM_CAST_MAX]);
    }
    for (size_t i = 0; i < note.filling.size; i++) {
        if (note.filling.data[i] != filling_byte(note.number, i)) {
            return sim_wrong(context, message, "note %llu has another filling",
                             (unsigned long long)note.number);
        }
    }
    telling->heard[note.index]++;
    if (telling->has_cast && note.number > planned_notes(state, note.index, telling->index)) {
        return sim_wrong(context, message, "more notes than were planned");
    }
    return 0;
}

static bool is_complete(const struct tr_sim_actor *state, const struct telling *telling)
{
    bool is_complete = telling->has_cast;
    for (uint32_t i = 0; is_complete && i < telling->refs.count; i++) {
        is_complete = left_to(state, telling, i) == 0 &&
                      telling->heard[i] == planned_notes(state, i, telling->index);
    }
    return is_complete;
}

static int hear_cast(struct telling *telling, const struct tr_message *message)
{
    struct tr_sim_cast cast;
    int error = sim_read_cast(message, &cast, &telling->refs);
    telling->index = cast.index;
    telling->has_cast = true;
    return error;
}

SIM_PLAY(teller)
{
    SIM_TABLE(struct telling, telling, state);
    int error = 0;
    bool must_send = sim_is_go(message);
    if (tr_message_is(message, &tr_sim_cast_schema)) {
        error = hear_cast(&telling, message);
        must_send = true;
    } else if (tr_message_is(message, &tr_sim_note_schema)) {
        error = hear_note(context, state, &telling, message);
    } else if (!must_send) {
        return sim_wrong(context, message, "not for a teller");
    }
    bool is_all = true;
    if (error == 0 && must_send) {
        error = send_some(context, state, &telling, &is_all);
    }
    if (error == 0 && !is_all) {
        error = sim_go_on(context);
    }
    if (error == 0 && !telling.is_done && is_complete(state, &telling)) {
        telling.is_done = true;
        struct tr_sim_done done = {.index = telling.index};
        error = tr_tell(context, tr_parent(context), &tr_sim_done_schema, &done);
        if (error == 0) {
            error = tr_stop(context);
        }
    }
    SIM_KEEP(telling, state);
    return error;
}
