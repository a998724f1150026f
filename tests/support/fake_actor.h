/*
 * A fake actor: an actor that does what a test tells it to, and remembers what it hears.
 *
 * `act` carries a function of the test, which the handler calls. Whatever else comes is written
 * into one list of everything heard, for all fake actors, and kept in the fake actor's own state as
 * far as a test may want to see it cut back or loaded again.
 */
#ifndef TR_TESTS_SUPPORT_FAKE_ACTOR_H
#define TR_TESTS_SUPPORT_FAKE_ACTOR_H

#include "runtime/troupe.h"

#define TR_ACT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, script, 1, 0)        \
    FIELD(u64, number, 1, 0)        \
    FIELD(ref, peer, 1, 0)
#define TR_NOTE_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_HINTED_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_QUESTION_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_ANSWER_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
#define TR_PARCEL_FIELDS(FIELD, ARRAY) FIELD(bytes, content, 1, 0)
#define TR_LEDGER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)           \
    FIELD(text, words, 1, 0)
#define TR_TALLY_FIELDS(FIELD, ARRAY) \
    FIELD(text, place, 1, TR_ROW_KEY) \
    FIELD(u64, day, 1, TR_ROW_KEY)    \
    FIELD(u64, number, 1, 0)
#define TR_FAKE_ACTOR_FIELDS(FIELD, ARRAY) \
    FIELD(u64, count, 1, 0)                \
    FIELD(u64, number, 1, 0)               \
    FIELD(ref, peer, 1, 0)                 \
    FIELD(u64, ask, 1, 0)                  \
    FIELD(ref, asker, 1, 0)                \
    FIELD(u64, deferred, 1, 0)             \
    FIELD(u64, monitor, 1, 0)              \
    ARRAY(text, words, 40, 1, 0)

#define FAKE_ACTOR_SCHEMAS(S)                                         \
    S(act, 61000, TR_MESSAGE, 1, TR_DURABLE, TR_ACT_FIELDS)           \
    S(note, 61001, TR_MESSAGE, 1, TR_DURABLE, TR_NOTE_FIELDS)         \
    S(hinted, 61002, TR_MESSAGE, 1, TR_HINT, TR_HINTED_FIELDS)        \
    S(question, 61003, TR_MESSAGE, 1, TR_DURABLE, TR_QUESTION_FIELDS) \
    S(answer, 61004, TR_MESSAGE, 1, TR_DURABLE, TR_ANSWER_FIELDS)     \
    S(parcel, 61005, TR_MESSAGE, 1, TR_DURABLE, TR_PARCEL_FIELDS)     \
    S(ledger, 61000, TR_RECORD, 1, 0, TR_LEDGER_FIELDS)               \
    S(tally, 61001, TR_RECORD, 1, 0, TR_TALLY_FIELDS)                 \
    S(fake_actor, 61000, TR_STATE, 1, 0, TR_FAKE_ACTOR_FIELDS)

FAKE_ACTOR_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

typedef int (*fake_actor_script)(struct tr_context *context, struct tr_fake_actor *fake,
                                 const struct tr_act *act, const struct tr_message *message);

extern const struct tr_behaviour fake_actor_behaviour;
extern const struct tr_behaviour *const fake_actor_behaviours[];
extern const size_t fake_actor_behaviour_count;

/* What a fake actor heard. */
struct heard {
    struct tr_ref self;
    struct tr_ref from;
    uint16_t type;
    uint8_t kind;
    uint64_t number;     /* of a note, question or answer; id of a timer; monitor of a DOWN */
    uint64_t ask;        /* for answers */
    int reason;          /* of a DOWN and a failed ask */
    struct tr_ref about; /* of a DOWN */
};

#define HEARD_MAX 65536
extern struct heard fake_actor_heard[HEARD_MAX];
extern size_t fake_actor_heard_count;

/* Forgets all that was heard. */
void fake_actor_forget(void);

/* How often a fake actor heard a type of message, and the last one of it (NULL: none). */
size_t fake_actor_heard_times(struct tr_ref self, const struct tr_schema *schema);
const struct heard *fake_actor_heard_last(struct tr_ref self, const struct tr_schema *schema);

struct stage;

/* Tells a fake actor to act, and lets everything happen that follows. */
void fake_actor_act(struct stage *stage, struct tr_ref fake, fake_actor_script script,
                    uint64_t number, struct tr_ref peer);

/* Sends it a note, and nothing happens yet. */
void fake_actor_note(struct stage *stage, struct tr_ref fake, uint64_t number);

/* Its state, to look at. */
const struct tr_fake_actor *fake_actor_state(struct stage *stage, struct tr_ref fake);

#endif
