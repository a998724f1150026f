/*
 * Errands to the outside: calls that must be done once, whatever happens on the way.
 *
 * After a failure the caller does not know what became of an errand, so it asks; only when the
 * outside has not heard of it, it is done again (law 5). The bits of `seen` are set in the message
 * that makes the call, so what the outside has heard of must be in every state that is loaded.
 */
#include "tests/sim/workload.h"

#define FINAL_BIT 63U

static int make(struct tr_context *context, struct tr_sim_player *state,
                struct sim_errands *errands)
{
    struct tr_sim_errand errand = {
        .caller = tr_self(context).key,
        .number = errands->number,
        .manner = errands->manner,
        .total = errands->total,
    };
    uint64_t choice = tr_random(context);
    uint64_t timeout_ms = choice % 3 == 0 ? 0 : 1 + choice % 150;
    if (errands->manner != SIM_ERRAND_ASK) {
        state->seen |= 1ULL << errands->number;
    }
    return tr_call(context, TR_SERVICE_HTTP, &tr_sim_errand_schema, &errand, timeout_ms,
                   &errands->ask);
}

int sim_errand_next(struct tr_context *context, struct tr_sim_player *state,
                    struct sim_errands *errands)
{
    if (errands->ask != 0 || errands->is_final_begun) {
        return 0;
    }
    if (errands->begun < errands->planned) {
        errands->manner = SIM_ERRAND_DO;
        errands->number = errands->begun++;
    } else {
        errands->manner = SIM_ERRAND_FINAL;
        errands->number = FINAL_BIT;
        errands->is_final_begun = true;
    }
    return make(context, state, errands);
}

static void finish(struct sim_errands *errands)
{
    if (errands->manner == SIM_ERRAND_FINAL) {
        errands->is_final_done = true;
    } else {
        errands->done++;
    }
}

static int hear_outcome(struct tr_context *context, struct tr_sim_player *state,
                        struct sim_errands *errands, const struct tr_message *message)
{
    struct tr_sim_outcome outcome;
    int error = tr_message_read(message, sim_outcome, &outcome);
    if (error != 0) {
        return error;
    }
    if (outcome.number != errands->number) {
        return sim_wrong(context, message, "the outcome of errand %llu instead of %u",
                         (unsigned long long)outcome.number, errands->number);
    }
    if (errands->manner == SIM_ERRAND_ASK && !outcome.is_known) {
        errands->manner = SIM_ERRAND_DO;
        return make(context, state, errands);
    }
    finish(errands);
    return 0;
}

static int hear_failure(struct tr_context *context, struct tr_sim_player *state,
                        struct sim_errands *errands, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    if (error != 0) {
        return error;
    }
    int reason = -(int)failed.reason;
    if (reason != TR_TIMEOUT && reason != TR_NO_CONNECTION) {
        return sim_wrong(context, message, "an errand failed with %s", tr_error_name(reason));
    }
    if (errands->manner == SIM_ERRAND_DO) {
        errands->manner = SIM_ERRAND_ASK;
    }
    return make(context, state, errands);
}

int sim_errand_hear(struct tr_context *context, struct tr_sim_player *state,
                    struct sim_errands *errands, const struct tr_message *message, bool *is_mine)
{
    bool is_outcome = tr_message_is(message, &tr_sim_outcome_schema);
    bool is_failure = sim_is_signal(message, &tr_ask_failed_schema);
    *is_mine =
        (is_outcome || is_failure) && errands->ask != 0 && tr_message_ask(message) == errands->ask;
    if (!*is_mine) {
        if (is_outcome) {
            return sim_wrong(context, message, "an outcome that nobody waits for");
        }
        return 0;
    }
    errands->ask = 0;
    return is_outcome ? hear_outcome(context, state, errands, message)
                      : hear_failure(context, state, errands, message);
}

/* ------------------------------------------------------------------------------- the caller */

/* A caller does nothing but errands. */
SIM_PLAY(caller)
{
    SIM_TABLE(struct sim_errands, errands, state);
    bool is_mine;
    int error = sim_errand_hear(context, state, &errands, message, &is_mine);
    if (error != 0) {
        return error;
    }
    if (tr_message_is(message, &tr_sim_cast_schema)) {
        errands.planned =
            (uint32_t)(1 + sim_planned(state, 1, SIM_ERRANDS_MAX) % (state->size + 1));
        errands.total = errands.planned;
    } else if (!is_mine && !sim_is_go(message)) {
        return sim_wrong(context, message, "not for a caller");
    }
    if (errands.is_final_done) {
        return tr_stop(context);
    }
    if (errands.ask == 0) {
        /* Sometimes later, so that errands fall into different groups of the journal. */
        if (!sim_is_go(message) && tr_random(context) % 2 == 0) {
            error = sim_go_on(context);
        } else {
            error = sim_errand_next(context, state, &errands);
        }
    }
    SIM_KEEP(errands, state);
    return error;
}
