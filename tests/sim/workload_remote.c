/*
 * Remote actors: actors of several hosts that know each other. Each tells every other one a planned
 * number of notes, which none may lose, double or overtake; rumours, which may be lost, but only
 * with a link, and then it must have heard so; and questions, of which each has one outcome. Each
 * monitors all others, and who hears of an end has heard everything before.
 */
#include "tests/sim/workload.h"
#include "tests/sim/world.h"

#define FILLING_BYTES_MAX 40000

/* What a remote actor knows of another one. */
struct colleague {
    struct tr_ref ref;
    uint64_t monitor;
    uint32_t sent;
    uint32_t heard;
    uint32_t rumours_sent;
    uint32_t rumours_heard;
    uint64_t rumour_sent_ns; /* the last of them, by the world's time */
    uint64_t watched_ns;     /* since when it is monitored */
    bool is_gone;
    uint32_t cuts; /* it was told that the link was down, as often as rumours may be missing */
};

struct question {
    uint64_t ask; /* 0: none is open */
    uint64_t number;
    uint64_t due_ms;
    bool is_answerable;
};

struct remote_state {
    bool has_cast;
    uint32_t index;
    uint32_t count;
    uint32_t asked;
    uint32_t finished;
    struct colleague others[SIM_REMOTES_MAX];
    struct question question;
    struct sim_calls calls;
};

static uint32_t planned_notes(const struct tr_sim_actor *state, uint32_t from, uint32_t to)
{
    if (from == to) {
        return 0;
    }
    /* `manner` is the burst: the first two fill a window with it. */
    if (state->manner > 0 && from == 0 && to == 1) {
        return state->manner;
    }
    return (uint32_t)sim_planned(state, 3000 + from * SIM_REMOTES_MAX + to, 4 * state->size + 1);
}

static uint8_t filling_byte(uint64_t number, size_t place)
{
    return (uint8_t)(number * 37 + place * 11);
}

/* Mostly small; now and then more than a page holds. */
static size_t filling_size(uint64_t choice)
{
    uint64_t kind = choice % 64;
    choice /= 64;
    return kind == 0 ? choice % FILLING_BYTES_MAX : kind < 4 ? choice % 900 : choice % 40;
}

static int send_note(struct tr_context *context, const struct remote_state *remote_state,
                     struct colleague *other)
{
    uint8_t filling[FILLING_BYTES_MAX];
    uint64_t number = ++other->sent;
    size_t size = filling_size(tr_random(context));
    for (size_t i = 0; i < size; i++) {
        filling[i] = filling_byte(number, i);
    }
    struct tr_sim_note note = {
        .index = remote_state->index, .number = number, .filling = {.data = filling, .size = size}};
    return tr_tell(context, other->ref, &tr_sim_note_schema, &note);
}

static int send_rumour(struct tr_context *context, struct colleague *other)
{
    struct tr_sim_rumour rumour = {.number = ++other->rumours_sent, .sent_ns = sim_world()->now_ns};
    return tr_tell(context, other->ref, &tr_sim_rumour_schema, &rumour);
}

static uint64_t value_of(uint64_t number)
{
    return number * 40503 + 7;
}

static int put_question(struct tr_context *context, struct remote_state *remote_state,
                        const struct colleague *other)
{
    uint64_t choice = tr_random(context);
    bool is_answerable = choice % 4 != 0;
    bool has_deadline = !is_answerable || choice / 4 % 3 == 0;
    uint64_t timeout_ms = has_deadline ? 1 + choice / 16 % 80 : 0;
    remote_state->question = (struct question){
        .number = ++remote_state->asked,
        .is_answerable = is_answerable,
        .due_ms = has_deadline ? tr_steady_ms(context) + timeout_ms : 0,
    };
    struct tr_sim_question question = {.number = remote_state->asked, .manner = is_answerable};
    return tr_ask(context, other->ref, &tr_sim_question_schema, &question, timeout_ms,
                  &remote_state->question.ask);
}

/* Something to anybody; whether notes are left for later. */
static int say_some(struct tr_context *context, const struct tr_sim_actor *state,
                    struct remote_state *remote_state, bool *is_all)
{
    uint32_t most = state->manner > 0 ? 100 : (uint32_t)(1 + tr_random(context) % 4);
    uint32_t begin = (uint32_t)(tr_random(context) % remote_state->count);
    int error = 0;
    *is_all = true;
    for (uint32_t i = 0; error == 0 && i < remote_state->count; i++) {
        uint32_t to = (begin + i) % remote_state->count;
        struct colleague *other = &remote_state->others[to];
        uint32_t planned = planned_notes(state, remote_state->index, to);
        while (error == 0 && most > 0 && other->sent < planned) {
            error = send_note(context, remote_state, other);
            most--;
            if (error == 0 && tr_random(context) % 2 == 0) {
                error = send_rumour(context, other);
            }
        }
        bool may_ask = to != remote_state->index && remote_state->question.ask == 0 &&
                       remote_state->asked < state->size && tr_random(context) % 2 == 0;
        if (error == 0 && may_ask) {
            error = put_question(context, remote_state, other);
        }
        *is_all = *is_all && other->sent == planned;
    }
    return error;
}

static struct colleague *find_colleague(struct remote_state *remote_state, struct tr_key key)
{
    for (uint32_t i = 0; i < remote_state->count; i++) {
        if (tr_key_equal(remote_state->others[i].ref.key, key)) {
            return &remote_state->others[i];
        }
    }
    return NULL;
}

static int hear_note(struct tr_context *context, const struct tr_sim_actor *state,
                     struct remote_state *remote_state, const struct tr_message *message)
{
    struct tr_sim_note note;
    int error = tr_message_read(message, sim_note, &note);
    if (error != 0) {
        return error;
    }
    struct colleague *other = &remote_state->others[note.index % SIM_REMOTES_MAX];
    if (note.number != other->heard + 1ULL) {
        return sim_wrong(context, message, "note %llu of actor %u comes after note %u",
                         (unsigned long long)note.number, note.index, other->heard);
    }
    for (size_t i = 0; i < note.filling.size; i++) {
        if (note.filling.data[i] != filling_byte(note.number, i)) {
            return sim_wrong(context, message, "note %llu has another filling",
                             (unsigned long long)note.number);
        }
    }
    other->heard++;
    if (other->is_gone || (remote_state->has_cast &&
                           note.number > planned_notes(state, note.index, remote_state->index))) {
        return sim_wrong(context, message, "a note after the last one");
    }
    return 0;
}

/* Rumours came to somebody who does not know their senders yet: there is nothing to check. */
static int hear_rumour(struct tr_context *context, struct remote_state *remote_state,
                       const struct tr_message *message)
{
    struct tr_sim_rumour rumour;
    int error = tr_message_read(message, sim_rumour, &rumour);
    struct colleague *other = find_colleague(remote_state, message->from.key);
    if (error != 0 || other == NULL) {
        return error;
    }
    if (rumour.number <= other->rumours_heard) {
        return sim_wrong(context, message, "rumour %llu comes after rumour %u",
                         (unsigned long long)rumour.number, other->rumours_heard);
    }
    /* Within a host they are lost with the host, and nobody is told. */
    bool is_far = !tri_owners_is_here(&context->worker->owners, other->ref.key.group);
    /* Of links that were down before it listened it was not told, however often they were. */
    bool is_old = other->rumour_sent_ns < other->watched_ns;
    bool is_gap = rumour.number != other->rumours_heard + 1ULL && is_far && !is_old;
    if (is_gap && other->cuts == 0) {
        return sim_wrong(context, message, "rumours before %llu were lost, and no link was down",
                         (unsigned long long)rumour.number);
    }
    other->rumours_heard = (uint32_t)rumour.number;
    other->rumour_sent_ns = rumour.sent_ns;
    /* What the last session has left behind may come when the news of its end is old. */
    other->cuts -= is_gap ? 1 : 0;
    sim_world()->counts.hints_between_hosts++;
    return 0;
}

static int hear_question(struct tr_context *context, const struct tr_message *message)
{
    struct tr_sim_question question;
    int error = tr_message_read(message, sim_question, &question);
    if (error != 0 || question.manner == 0) {
        return error;
    }
    struct tr_sim_answer answer = {.number = question.number, .value = value_of(question.number)};
    return tr_reply(context, message, &tr_sim_answer_schema, &answer);
}

static int hear_answer(struct tr_context *context, struct remote_state *remote_state,
                       const struct tr_message *message)
{
    struct tr_sim_answer answer;
    struct question *question = &remote_state->question;
    int error = tr_message_read(message, sim_answer, &answer);
    if (error != 0) {
        return error;
    }
    if (question->ask == 0 || tr_message_ask(message) != question->ask) {
        return sim_wrong(context, message, "an answer to no question");
    }
    if (!question->is_answerable || answer.number != question->number ||
        answer.value != value_of(answer.number)) {
        return sim_wrong(context, message, "the answer to another question");
    }
    *question = (struct question){0};
    remote_state->finished++;
    return 0;
}

static int hear_no_answer(struct tr_context *context, struct remote_state *remote_state,
                          const struct tr_message *message)
{
    struct tr_ask_failed failed;
    struct question *question = &remote_state->question;
    int error = tr_message_read(message, ask_failed, &failed);
    if (error != 0) {
        return error;
    }
    if (question->ask == 0 || tr_message_ask(message) != question->ask) {
        return sim_wrong(context, message, "the failure of no question");
    }
    int reason = -(int)failed.reason;
    bool is_timeout =
        reason == TR_TIMEOUT && question->due_ms != 0 && !sim_is_early(context, question->due_ms);
    if (!is_timeout && reason != TR_NO_CONNECTION && reason != TR_NO_ACTOR) {
        return sim_wrong(context, message, "question %llu failed with %s",
                         (unsigned long long)question->number, tr_error_name(reason));
    }
    sim_world()->counts.links_noticed += reason == TR_NO_CONNECTION ? 1 : 0;
    *question = (struct question){0};
    remote_state->finished++;
    return 0;
}

/*
 * Monitors another one, from now on: a link that was down before it did not hear of, also one that
 * was down again before it has handled that it was.
 */
static int watch(struct tr_context *context, struct remote_state *remote_state, uint32_t index)
{
    struct colleague *other = &remote_state->others[index];
    other->watched_ns = sim_world()->now_ns;
    other->cuts++;
    return tr_monitor(context, other->ref, &other->monitor);
}

static int hear_down(struct tr_context *context, const struct tr_sim_actor *state,
                     struct remote_state *remote_state, const struct tr_message *message)
{
    struct tr_down down;
    int error = sim_down(message, &down);
    struct colleague *other = find_colleague(remote_state, down.actor.key);
    if (error != 0) {
        return error;
    }
    if (other == NULL || other->monitor != down.monitor || other->is_gone) {
        return sim_wrong(context, message, "DOWN of nobody, or again");
    }
    int reason = -(int)down.reason;
    uint32_t from = (uint32_t)(other - remote_state->others);
    if (reason == TR_NO_CONNECTION) {
        sim_world()->counts.links_noticed++;
        return watch(context, remote_state, from);
    }
    if (reason != 0 && reason != TR_NO_ACTOR) {
        return sim_wrong(context, message, "a remote actor ended with %s", tr_error_name(reason));
    }
    if (other->heard != planned_notes(state, from, remote_state->index)) {
        return sim_wrong(context, message, "DOWN before the last note: %u of %u", other->heard,
                         planned_notes(state, from, remote_state->index));
    }
    other->is_gone = true;
    return 0;
}

static int hear_cast(struct tr_context *context, struct remote_state *remote_state,
                     const struct tr_message *message)
{
    struct tr_sim_cast cast;
    struct sim_refs refs;
    int error = sim_read_cast(message, &cast, &refs);
    if (error != 0 || remote_state->has_cast) {
        return error; /* the program may ask twice */
    }
    remote_state->has_cast = true;
    remote_state->index = cast.index;
    remote_state->count = cast.count;
    for (uint32_t i = 0; error == 0 && i < cast.count; i++) {
        remote_state->others[i].ref = refs.refs[i];
        if (i != cast.index) {
            error = watch(context, remote_state, i);
        }
    }
    return error != 0 ? error : sim_go_on(context);
}

/* Everything is said and heard, and all before this one are gone: so nobody waits in a ring. */
static bool is_complete(const struct tr_sim_actor *state, const struct remote_state *remote_state)
{
    bool is_complete = remote_state->has_cast && remote_state->question.ask == 0;
    for (uint32_t i = 0; is_complete && i < remote_state->count; i++) {
        const struct colleague *other = &remote_state->others[i];
        is_complete = other->sent == planned_notes(state, remote_state->index, i) &&
                      other->heard == planned_notes(state, i, remote_state->index) &&
                      (i >= remote_state->index || other->is_gone);
    }
    return is_complete;
}

static int hear(struct tr_context *context, struct tr_sim_actor *state,
                struct remote_state *remote_state, const struct tr_message *message)
{
    if (tr_message_is(message, &tr_sim_cast_schema)) {
        return hear_cast(context, remote_state, message);
    }
    if (tr_message_is(message, &tr_sim_note_schema)) {
        return hear_note(context, state, remote_state, message);
    }
    if (tr_message_is(message, &tr_sim_rumour_schema)) {
        return hear_rumour(context, remote_state, message);
    }
    if (tr_message_is(message, &tr_sim_question_schema)) {
        return hear_question(context, message);
    }
    if (tr_message_is(message, &tr_sim_answer_schema)) {
        return hear_answer(context, remote_state, message);
    }
    if (sim_is_signal(message, &tr_ask_failed_schema)) {
        return hear_no_answer(context, remote_state, message);
    }
    if (sim_is_signal(message, &tr_down_schema)) {
        return hear_down(context, state, remote_state, message);
    }
    return sim_wrong(context, message, "not for a remote actor");
}

bool sim_remote_has_cast(const struct tr_sim_actor *state)
{
    SIM_TABLE(struct remote_state, remote_state, state);
    return remote_state.has_cast;
}

SIM_PLAY(remote)
{
    SIM_TABLE(struct remote_state, remote_state, state);
    bool is_mine;
    int error = sim_call_hear(context, state, &remote_state.calls, message, &is_mine);
    if (error == 0 && !is_mine && sim_is_go(message)) {
        bool is_all = true;
        if (!remote_state.has_cast) {
            return tr_stop(context); /* nobody knows of this one: it was asked for twice */
        }
        error = say_some(context, state, &remote_state, &is_all);
        if (error == 0 && !is_all) {
            error = sim_go_on(context);
        }
    } else if (error == 0 && !is_mine) {
        error = hear(context, state, &remote_state, message);
    }
    if (error == 0 && is_complete(state, &remote_state)) {
        error = remote_state.calls.is_final_done
                    ? tr_stop(context)
                    : sim_call_next(context, state, &remote_state.calls);
    }
    SIM_KEEP(remote_state, state);
    return error;
}
