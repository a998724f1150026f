/*
 * A sandbox: one actor of a recording, alone. Its handler gets the recorded messages with the
 * recorded time, randomness and numbers for spawns, and its effects are shown instead of applied:
 * nothing leaves the sandbox, and no clock runs in it.
 *
 *     error = tri_sandbox_new(&options, &sandbox);
 *     error = tri_sandbox_put(sandbox, actor, snapshot);
 *     error = tri_sandbox_handle(sandbox, &recorded, &visitor, &handled);
 *
 * The recording is not trusted: numbers that would give two actors one key are increased. One
 * thread.
 */
#ifndef TR_RUNTIME_WORKER_SANDBOX_H
#define TR_RUNTIME_WORKER_SANDBOX_H

#include "runtime/hosting.h"
#include "schemas/runtime/recording.h"

struct tri_sandbox;

struct tri_sandbox_options {
    const struct tr_behaviour *const *behaviours;
    size_t behaviour_count;
    void *program;     /* returned by tr_program */
    uint64_t ahead_ms; /* the recording's offset of the steady clock */
    uint64_t seed;     /* of the recording's host, and the epoch of its messages */
    uint32_t epoch;
    uint16_t host; /* its number among several hosts, in new group numbers */
};

enum tri_sandbox_effect_kind {
    TRI_SANDBOX_STATE,         /* schema, before, bytes: the packed fixed part, if it has changed */
    TRI_SANDBOX_PAGE,          /* number, before, bytes: an edited or dropped page */
    TRI_SANDBOX_MESSAGE,       /* bytes: envelope and body; also calls, questions and controls */
    TRI_SANDBOX_SPAWN,         /* actor, schema of its state, bytes: that state, name, behaviour */
    TRI_SANDBOX_TIMER,         /* number: its id, due_ms */
    TRI_SANDBOX_TIMER_STOP,    /* number: the id of a running timer */
    TRI_SANDBOX_RECORD,        /* number: id of the record's schema, version, bytes */
    TRI_SANDBOX_RECORD_DELETE, /* the same; count: fields of the key */
    TRI_SANDBOX_STOP,          /* the actor ends */
};

/* One effect of a handler. Views are valid until the visit returns. */
struct tri_sandbox_effect {
    enum tri_sandbox_effect_kind kind;
    uint64_t number;
    uint64_t due_ms;
    uint32_t count;
    uint8_t version;
    const struct tr_schema *schema;
    const char *behaviour;
    struct tr_text name;
    struct tr_ref actor;
    struct tr_bytes before;
    struct tr_bytes bytes;
};

struct tri_sandbox_visitor {
    void *self;
    void (*visit)(void *self, const struct tri_sandbox_effect *seen);
};

/* The result of a message. */
struct tri_sandbox_handled {
    int reason;             /* 0, or the handler's error: then nothing has changed */
    bool is_unexpected;     /* the behaviour does not know it */
    bool is_late;           /* no question waits for this answer: the handler did not get it */
    uint64_t sequence;      /* of the last message that the actor had sent */
    bool has_other_history; /* it differs from the recorded one */
};

/* TR_MEMORY, TR_LIMIT (too many behaviours), TR_INVALID (two with one id). */
TR_MUST_USE int tri_sandbox_new(const struct tri_sandbox_options *options,
                                struct tri_sandbox **sandbox);
void tri_sandbox_free(struct tri_sandbox *sandbox);

/*
 * Makes the actor from a snapshot, once. States of older versions are converted by their schemas.
 * Errors: those of tri_snapshot_unpack; TR_EXISTS.
 */
TR_MUST_USE int tri_sandbox_put(struct tri_sandbox *sandbox, struct tr_ref actor,
                                struct tr_bytes snapshot);

/*
 * The behaviour of the actor, and its packed state, which is valid until the next call. TR_MEMORY.
 */
const struct tr_behaviour *tri_sandbox_behaviour(const struct tri_sandbox *sandbox);
TR_MUST_USE int tri_sandbox_state(struct tri_sandbox *sandbox, struct tr_bytes *state);

/*
 * Gives the actor a message, and shows its effects in order. A message whose handler failed in the
 * recording changes nothing here either. `handled` may be NULL. Errors: TR_MALFORMED (not a message
 * to this actor, numbers out of range), TR_NO_ACTOR (there is none, or it has ended), TR_MEMORY.
 */
TR_MUST_USE int tri_sandbox_handle(struct tri_sandbox *sandbox,
                                   const struct tr_recorded_message *recorded,
                                   const struct tri_sandbox_visitor *visitor,
                                   struct tri_sandbox_handled *handled);

#endif
