/*
 * Calls to the environment: calls that must be done once, whatever happens on the way.
 *
 * After a failure the caller does not know what became of a call, so it asks; only when the
 * environment has not heard of it, it is done again (law 5 of runtime/ARCHITECTURE.md). The bits of
 * `seen` are set in the message that makes the call, so what the environment has heard of must be
 * in every state that is loaded.
 */
#include "tests/sim/workload.h"

#define FINAL_BIT 63U

static int make(struct tr_context *context, struct tr_sim_actor *state, struct sim_calls *calls)
{
    struct tr_sim_call call = {
        .caller = tr_self(context).key,
        .number = calls->number,
        .manner = calls->manner,
        .total = calls->total,
    };
    uint64_t choice = tr_random(context);
    uint64_t timeout_ms = choice % 3 == 0 ? 0 : 1 + choice % 150;
    if (calls->manner != SIM_CALL_ASK) {
        state->seen |= 1ULL << calls->number;
    }
    return tr_call(context, TR_SERVICE_HTTP, &tr_sim_call_schema, &call, timeout_ms, &calls->ask);
}

int sim_call_next(struct tr_context *context, struct tr_sim_actor *state, struct sim_calls *calls)
{
    if (calls->ask != 0 || calls->is_final_begun) {
        return 0;
    }
    if (calls->begun < calls->planned) {
        calls->manner = SIM_CALL_DO;
        calls->number = calls->begun++;
    } else {
        calls->manner = SIM_CALL_FINAL;
        calls->number = FINAL_BIT;
        calls->is_final_begun = true;
    }
    return make(context, state, calls);
}

static void finish(struct sim_calls *calls)
{
    if (calls->manner == SIM_CALL_FINAL) {
        calls->is_final_done = true;
    } else {
        calls->done++;
    }
}

static int hear_outcome(struct tr_context *context, struct tr_sim_actor *state,
                        struct sim_calls *calls, const struct tr_message *message)
{
    struct tr_sim_outcome outcome;
    int error = tr_message_read(message, sim_outcome, &outcome);
    if (error != 0) {
        return error;
    }
    if (outcome.number != calls->number) {
        return sim_wrong(context, message, "the outcome of call %llu instead of %u",
                         (unsigned long long)outcome.number, calls->number);
    }
    if (calls->manner == SIM_CALL_ASK && !outcome.is_known) {
        calls->manner = SIM_CALL_DO;
        return make(context, state, calls);
    }
    finish(calls);
    return 0;
}

static int hear_failure(struct tr_context *context, struct tr_sim_actor *state,
                        struct sim_calls *calls, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    int error = tr_message_read(message, ask_failed, &failed);
    if (error != 0) {
        return error;
    }
    int reason = -(int)failed.reason;
    if (reason != TR_TIMEOUT && reason != TR_NO_CONNECTION) {
        return sim_wrong(context, message, "a call failed with %s", tr_error_name(reason));
    }
    if (calls->manner == SIM_CALL_DO) {
        calls->manner = SIM_CALL_ASK;
    }
    return make(context, state, calls);
}

int sim_call_hear(struct tr_context *context, struct tr_sim_actor *state, struct sim_calls *calls,
                  const struct tr_message *message, bool *is_mine)
{
    bool is_outcome = tr_message_is(message, &tr_sim_outcome_schema);
    bool is_failure = sim_is_signal(message, &tr_ask_failed_schema);
    *is_mine =
        (is_outcome || is_failure) && calls->ask != 0 && tr_message_ask(message) == calls->ask;
    if (!*is_mine) {
        if (is_outcome) {
            return sim_wrong(context, message, "an outcome that nobody waits for");
        }
        return 0;
    }
    calls->ask = 0;
    return is_outcome ? hear_outcome(context, state, calls, message)
                      : hear_failure(context, state, calls, message);
}

/* ------------------------------------------------------------------------------- the caller */

/* A caller does nothing but calls. */
SIM_PLAY(caller)
{
    SIM_TABLE(struct sim_calls, calls, state);
    bool is_mine;
    int error = sim_call_hear(context, state, &calls, message, &is_mine);
    if (error != 0) {
        return error;
    }
    if (tr_message_is(message, &tr_sim_cast_schema)) {
        calls.planned = (uint32_t)(1 + sim_planned(state, 1, SIM_CALLS_MAX) % (state->size + 1));
        calls.total = calls.planned;
    } else if (!is_mine && !sim_is_go(message)) {
        return sim_wrong(context, message, "not for a caller");
    }
    if (calls.is_final_done) {
        return tr_stop(context);
    }
    if (calls.ask == 0) {
        /* Sometimes later, so that calls fall into different groups of the journal. */
        if (!sim_is_go(message) && tr_random(context) % 2 == 0) {
            error = sim_go_on(context);
        } else {
            error = sim_call_next(context, state, &calls);
        }
    }
    SIM_KEEP(calls, state);
    return error;
}
