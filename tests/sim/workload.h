/*
 * The workload: actors whose every message can be checked.
 *
 * A troupe is a director (an actor without a parent) and its cast. Each actor follows a plan drawn
 * from its own seed, checks in its own durable state that what it hears is what it must hear, and
 * ends when its plan is done; the director ends when all of its cast have. So a message that is
 * lost leaves somebody waiting for ever, and one that is doubled, reordered or forgotten is noticed
 * by who hears it.
 */
#ifndef TR_TESTS_SIM_WORKLOAD_H
#define TR_TESTS_SIM_WORKLOAD_H

#include "runtime/troupe.h"

/* What actors say. */
#define SIM_CAST_FIELDS(FIELD, ARRAY) \
    FIELD(u32, index, 1, 0)           \
    FIELD(u32, count, 1, 0)           \
    FIELD(bytes, refs, 1, 0)
#define SIM_GO_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define SIM_NOTE_FIELDS(FIELD, ARRAY) \
    FIELD(u32, index, 1, 0)           \
    FIELD(u64, number, 1, 0)          \
    FIELD(bytes, filling, 1, 0)
#define SIM_QUESTION_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)              \
    FIELD(u32, manner, 1, 0)
#define SIM_ANSWER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)            \
    FIELD(u64, value, 1, 0)
#define SIM_POISON_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define SIM_DONE_FIELDS(FIELD, ARRAY) \
    FIELD(u32, index, 1, 0)           \
    FIELD(u64, value, 1, 0)
#define SIM_RUMOUR_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0) FIELD(u64, sent_ns, 1, 0)
#define SIM_CALL_FIELDS(FIELD, ARRAY) \
    FIELD(key, caller, 1, 0)          \
    FIELD(u64, number, 1, 0)          \
    FIELD(u32, manner, 1, 0)          \
    FIELD(u64, total, 1, 0)
#define SIM_OUTCOME_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)             \
    FIELD(bool, is_known, 1, 0)

/* What actors are. `table` is the rest of a state, as each keeps it in a struct of its own. */
#define SIM_ACTOR_FIELDS(FIELD, ARRAY) \
    FIELD(u64, seed, 1, 0)             \
    FIELD(u64, seen, 1, 0)             \
    FIELD(u64, size, 1, 0)             \
    FIELD(u32, manner, 1, 0)           \
    ARRAY(bytes, table, 1400, 1, 0)

/* What they write down. */
#define SIM_PAGE_ENTRY_FIELDS(FIELD, ARRAY) \
    FIELD(key, writer, 1, 0)                \
    FIELD(u64, number, 1, 0)                \
    FIELD(u64, digest, 1, 0)                \
    FIELD(text, words, 1, 0)

/* What a page writer's page is, as long as it is there: a row for each, replaced by every
 * writing. */
#define SIM_PAGE_LEAF_FIELDS(FIELD, ARRAY) \
    FIELD(key, writer, 1, TR_ROW_KEY)      \
    FIELD(u32, place, 1, TR_ROW_KEY)       \
    FIELD(u64, edition, 1, 0)              \
    FIELD(text, words, 1, 0)

#define SIM_ACTOR_SCHEMAS(S)                                                \
    S(sim_cast, 900, TR_MESSAGE, 1, TR_DURABLE, SIM_CAST_FIELDS)            \
    S(sim_go, 901, TR_MESSAGE, 1, TR_DURABLE, SIM_GO_FIELDS)                \
    S(sim_note, 902, TR_MESSAGE, 1, TR_DURABLE, SIM_NOTE_FIELDS)            \
    S(sim_question, 903, TR_MESSAGE, 1, TR_DURABLE, SIM_QUESTION_FIELDS)    \
    S(sim_answer, 904, TR_MESSAGE, 1, TR_DURABLE, SIM_ANSWER_FIELDS)        \
    S(sim_poison, 905, TR_MESSAGE, 1, TR_DURABLE, SIM_POISON_FIELDS)        \
    S(sim_done, 906, TR_MESSAGE, 1, TR_DURABLE, SIM_DONE_FIELDS)            \
    S(sim_rumour, 907, TR_MESSAGE, 1, TR_HINT, SIM_RUMOUR_FIELDS)           \
    S(sim_call, 908, TR_MESSAGE, 1, TR_DURABLE, SIM_CALL_FIELDS)            \
    S(sim_outcome, 909, TR_MESSAGE, 1, TR_DURABLE, SIM_OUTCOME_FIELDS)      \
    S(sim_actor, 910, TR_STATE, 1, TR_DURABLE, SIM_ACTOR_FIELDS)            \
    S(sim_page_entry, 911, TR_RECORD, 1, TR_DURABLE, SIM_PAGE_ENTRY_FIELDS) \
    S(sim_page_leaf, 912, TR_RECORD, 1, TR_DURABLE, SIM_PAGE_LEAF_FIELDS)

SIM_ACTOR_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* What a call to the environment is. */
enum sim_call_manner {
    SIM_CALL_DO = 1, /* must come once */
    SIM_CALL_ASK,    /* has it come? */
    SIM_CALL_FINAL,  /* the caller has nothing more to do; may come again */
};

/* The behaviours: (name, id). */
#define SIM_BEHAVIOURS(B) \
    B(director, 900)      \
    B(teller, 901)        \
    B(asker, 902)         \
    B(answerer, 903)      \
    B(branch, 904)        \
    B(ticker, 906)        \
    B(page_writer, 907)   \
    B(caller, 908)        \
    B(array, 909)         \
    B(element, 910)       \
    B(witness, 912)       \
    B(remote, 913)        \
    B(reader, 914)

#define SIM_BEHAVIOUR_DECLARE(name, id) extern const struct tr_behaviour sim_##name##_behaviour;
SIM_BEHAVIOURS(SIM_BEHAVIOUR_DECLARE)
#undef SIM_BEHAVIOUR_DECLARE

/* ------------------------------------------------------------------------------- for actors */

/* A actor's turn: what the behaviour of its name does with a message. */
#define SIM_PLAY(name)                                                          \
    int sim_play_##name(struct tr_context *context, struct tr_sim_actor *state, \
                        const struct tr_message *message)
#define SIM_PLAY_DECLARE(name, id) SIM_PLAY(name);
SIM_BEHAVIOURS(SIM_PLAY_DECLARE)
#undef SIM_PLAY_DECLARE

/* The part of a state that is a actor's own: read before, written after. */
#define SIM_TABLE(type, own, state)                                                      \
    type own = {0};                                                                      \
    _Static_assert(sizeof(type) <= sizeof((state)->table.data), "a table fits a state"); \
    if ((state)->table.size == sizeof own) {                                             \
        memcpy(&own, (state)->table.data, sizeof own);                                   \
    }
#define SIM_KEEP(own, state)                              \
    do {                                                  \
        memcpy((state)->table.data, &(own), sizeof(own)); \
        (state)->table.size = (uint16_t)sizeof(own);      \
    } while (false)

/* A number of the actor's plan: the same whenever it is asked for. */
uint64_t sim_planned(const struct tr_sim_actor *state, uint64_t place, uint64_t limit);

/*
 * Whether a time lies ahead. What was due before a crash may be heard after it, and people may have
 * set the clock back in between: by so much nobody is too early.
 */
bool sim_is_early(const struct tr_context *context, uint64_t due_ms);

/* Something that must never be; always 0, so that the run goes on to its end. */
TR_PRINTF(3, 4)
int sim_wrong(const struct tr_context *context, const struct tr_message *message,
              const char *format, ...);

/* Tells itself to go on: at once or, by chance, with a timer of this id. */
#define SIM_TIMER_GO 1000
TR_MUST_USE int sim_go_on(struct tr_context *context);

/* Whether the message says to go on. */
bool sim_is_go(const struct tr_message *message);

/* What a DOWN says. */
TR_MUST_USE int sim_down(const struct tr_message *message, struct tr_down *down);

/* Whether a message is a signal of this schema. */
static inline bool sim_is_signal(const struct tr_message *message, const struct tr_schema *schema)
{
    return message->kind == TR_KIND_SIGNAL && tr_message_is(message, schema);
}

/* References as they stand in a cast. */
#define SIM_CAST_MAX 24
struct sim_refs {
    uint32_t count;
    struct tr_ref refs[SIM_CAST_MAX];
};
TR_MUST_USE int sim_read_cast(const struct tr_message *message, struct tr_sim_cast *cast,
                              struct sim_refs *refs);

/* Whether a remote actor knows already whom it has to do with. */
bool sim_remote_has_cast(const struct tr_sim_actor *state);

/* One call after another, each known to have been done once: a part of a table. */
#define SIM_CALLS_MAX 48
struct sim_calls {
    uint32_t planned;
    uint32_t begun;
    uint32_t done;
    bool is_final_begun;
    bool is_final_done;
    uint64_t ask;    /* of the call under way; 0: none */
    uint32_t manner; /* enum sim_call_manner of it */
    uint32_t number;
    uint64_t total;
};

/* Begins the next call when none is under way; the last one is final and names the total. */
TR_MUST_USE int sim_call_next(struct tr_context *context, struct tr_sim_actor *state,
                              struct sim_calls *calls);

/* Whether the message was about a call; if so it is dealt with. */
TR_MUST_USE int sim_call_hear(struct tr_context *context, struct tr_sim_actor *state,
                              struct sim_calls *calls, const struct tr_message *message,
                              bool *is_mine);

/* ---------------------------------------------------------------------------- for the play */

struct sim_host;

/* What the environment does with a call, and checks (play.h). */
void sim_workload_hear(struct sim_host *host, const struct tr_envelope *envelope,
                       struct tr_bytes body);
void sim_workload_lose(struct sim_host *host);
void sim_workload_check_loaded(struct sim_host *host);
void sim_workload_check_end(struct sim_host *host);

#endif
