/*
 * Askers and answerers. A question is answered at once, later, or never; it may have a deadline,
 * be cancelled, or go to somebody who is not there. Whatever happens, exactly one outcome comes for
 * each question that was not cancelled, and none for one that was.
 */
#include "tests/sim/workload.h"

/* How the asker wants its question to be taken. */
enum manner {
    MANNER_NOW,
    MANNER_LATER,
    MANNER_NEVER,      /* with a deadline */
    MANNER_UNEXPECTED, /* the answerer says that it does not know such a thing */
    MANNER_NOBODY,     /* goes to an incarnation that never was */
    MANNER_COUNT,
};

#define OPEN_MAX 8
#define DEFERRED_MAX 16

static uint64_t value_of(uint64_t number)
{
    return number * 2654435761U + 17;
}

/* ------------------------------------------------------------------------------- the asker */

struct question {
    uint64_t ask; /* 0: none */
    uint64_t number;
    uint64_t due_ms;
    uint32_t manner;
};

struct asking {
    uint32_t index;
    uint32_t asked;
    uint32_t cancelled;
    uint32_t finished;
    struct sim_refs refs; /* the answerers */
    struct question open[OPEN_MAX];
};

static struct question *find_open(struct asking *asking, uint64_t ask)
{
    for (uint32_t i = 0; i < OPEN_MAX; i++) {
        if (asking->open[i].ask == ask) {
            return &asking->open[i];
        }
    }
    return NULL;
}

static int put_question(struct tr_context *context, struct asking *asking)
{
    struct question *place = find_open(asking, 0);
    if (place == NULL) {
        return 0; /* later, when some have been answered */
    }
    uint64_t choice = tr_random(context);
    uint32_t manner = (uint32_t)(choice % MANNER_COUNT);
    struct tr_ref to = asking->refs.refs[choice / 8 % asking->refs.count];
    if (manner == MANNER_NOBODY) {
        to.incarnation += 5;
    }
    bool has_deadline = manner == MANNER_NEVER || choice / 64 % 3 == 0;
    uint64_t timeout_ms = has_deadline ? 1 + choice / 256 % 60 : 0;
    struct tr_sim_question question = {.number = ++asking->asked, .manner = manner};
    *place = (struct question){.number = question.number,
                               .manner = manner,
                               .due_ms = has_deadline ? tr_steady_ms(context) + timeout_ms : 0};
    return tr_ask(context, to, &tr_sim_question_schema, &question, timeout_ms, &place->ask);
}

static int cancel_one(struct tr_context *context, struct asking *asking)
{
    struct question *question = &asking->open[tr_random(context) % OPEN_MAX];
    if (question->ask == 0) {
        return 0;
    }
    int error = tr_ask_cancel(context, question->ask);
    *question = (struct question){0};
    asking->cancelled++;
    asking->finished++;
    return error;
}

static int hear_answer(struct tr_context *context, struct asking *asking,
                       const struct tr_message *message)
{
    struct tr_sim_answer answer;
    int error = tr_message_read(message, sim_answer, &answer);
    struct question *question = find_open(asking, tr_message_ask(message));
    if (error != 0) {
        return error;
    }
    if (message->kind != TR_KIND_REPLY || question == NULL) {
        return sim_wrong(context, message, "an answer to no question");
    }
    bool is_answerable = question->manner == MANNER_NOW || question->manner == MANNER_LATER;
    if (answer.number != question->number || answer.value != value_of(answer.number) ||
        !is_answerable) {
        return sim_wrong(context, message, "the answer to question %llu instead of %llu",
                         (unsigned long long)answer.number, (unsigned long long)question->number);
    }
    *question = (struct question){0};
    asking->finished++;
    return 0;
}

/* Whether a question may have ended for this reason. */
static bool is_plausible(const struct tr_context *context, const struct question *question,
                         int reason)
{
    switch (reason) {
    case TR_TIMEOUT:
        return question->due_ms != 0 && !sim_is_early(context, question->due_ms);
    case TR_UNKNOWN_TYPE:
        return question->manner == MANNER_UNEXPECTED;
    case TR_STALE_INCARNATION:
        return question->manner == MANNER_NOBODY;
    default:
        return false;
    }
}

static int hear_no_answer(struct tr_context *context, struct asking *asking,
                          const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    struct question *question = find_open(asking, tr_message_ask(message));
    if (error != 0) {
        return error;
    }
    if (question == NULL) {
        return sim_wrong(context, message, "the failure of no question");
    }
    int reason = -(int)failed.reason;
    if (!is_plausible(context, question, reason)) {
        return sim_wrong(context, message, "question %llu (manner %u, due %llu) failed with %s",
                         (unsigned long long)question->number, question->manner,
                         (unsigned long long)question->due_ms, tr_error_name(reason));
    }
    *question = (struct question){0};
    asking->finished++;
    return 0;
}

static int ask_more(struct tr_context *context, struct tr_sim_actor *state, struct asking *asking)
{
    int error = 0;
    uint64_t count = 1 + tr_random(context) % 3;
    while (error == 0 && count-- > 0 && asking->asked < state->size) {
        error = put_question(context, asking);
    }
    if (error == 0 && tr_random(context) % 4 == 0) {
        error = cancel_one(context, asking);
    }
    return error;
}

SIM_PLAY(asker)
{
    SIM_TABLE(struct asking, asking, state);
    int error = 0;
    if (tr_message_is(message, &tr_sim_cast_schema)) {
        struct tr_sim_cast cast;
        error = sim_read_cast(message, &cast, &asking.refs);
        asking.index = cast.index;
        error = error == 0 ? sim_go_on(context) : error;
    } else if (sim_is_go(message)) {
        error = ask_more(context, state, &asking);
        bool is_full = find_open(&asking, 0) == NULL;
        if (error == 0 && asking.asked < state->size) {
            error = is_full ? tr_timer_start(context, SIM_TIMER_GO, 5) : sim_go_on(context);
        }
    } else if (sim_is_signal(message, &tr_ask_failed_schema)) {
        error = hear_no_answer(context, &asking, message);
    } else if (tr_message_is(message, &tr_sim_answer_schema)) {
        error = hear_answer(context, &asking, message);
    } else {
        return sim_wrong(context, message, "not for an asker");
    }
    if (error == 0 && asking.asked >= state->size && asking.finished == asking.asked) {
        error = tr_stop(context);
    }
    SIM_KEEP(asking, state);
    return error;
}

/* ---------------------------------------------------------------------------- the answerer */

struct deferred {
    struct tr_deferred_reply deferred;
    uint64_t number;
    bool is_owed;
};

struct answering {
    struct deferred deferred[DEFERRED_MAX];
    uint64_t owed_for_ever;
};

static int answer_later(struct tr_context *context, struct answering *answering,
                        const struct tr_message *message, uint64_t number)
{
    for (uint32_t i = 0; i < DEFERRED_MAX; i++) {
        if (!answering->deferred[i].is_owed) {
            answering->deferred[i] = (struct deferred){
                .deferred = tr_message_deferred(message), .number = number, .is_owed = true};
            return tr_timer_start(context, i, tr_random(context) % 30);
        }
    }
    struct tr_sim_answer answer = {.number = number, .value = value_of(number)};
    return tr_reply(context, message, &tr_sim_answer_schema, &answer);
}

static int take_question(struct tr_context *context, struct answering *answering,
                         const struct tr_message *message)
{
    struct tr_sim_question question;
    int error = tr_message_read(message, sim_question, &question);
    if (error != 0) {
        return error;
    }
    switch ((enum manner)question.manner) {
    case MANNER_NOW: {
        struct tr_sim_answer answer = {.number = question.number,
                                       .value = value_of(question.number)};
        return tr_reply(context, message, &tr_sim_answer_schema, &answer);
    }
    case MANNER_LATER:
        return answer_later(context, answering, message, question.number);
    case MANNER_NEVER:
        answering->owed_for_ever++;
        return 0;
    case MANNER_UNEXPECTED:
        return tr_unexpected(context, message);
    case MANNER_NOBODY:
    case MANNER_COUNT:
        break;
    }
    return sim_wrong(context, message, "a question for nobody has found somebody");
}

static int pay(struct tr_context *context, struct answering *answering,
               const struct tr_message *message)
{
    struct tr_timer timer;
    int error = tr_message_read(message, timer, &timer);
    if (error != 0) {
        return error;
    }
    struct deferred *deferred = &answering->deferred[timer.id % DEFERRED_MAX];
    if (timer.id >= DEFERRED_MAX || !deferred->is_owed) {
        return sim_wrong(context, message, "a timer for no deferred reply");
    }
    struct tr_sim_answer answer = {.number = deferred->number, .value = value_of(deferred->number)};
    error = tr_reply_deferred(context, deferred->deferred, &tr_sim_answer_schema, &answer);
    deferred->is_owed = false;
    return error;
}

SIM_PLAY(answerer)
{
    SIM_TABLE(struct answering, answering, state);
    int error = 0;
    if (tr_message_is(message, &tr_sim_question_schema)) {
        error = take_question(context, &answering, message);
    } else if (sim_is_signal(message, &tr_timer_schema)) {
        error = pay(context, &answering, message);
    } else if (tr_message_is(message, &tr_sim_done_schema)) {
        error = tr_stop(context);
    } else if (!tr_message_is(message, &tr_sim_cast_schema)) {
        return sim_wrong(context, message, "not for an answerer");
    }
    SIM_KEEP(answering, state);
    return error;
}
