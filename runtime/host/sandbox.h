/*
 * A sandbox: one actor of a recording, alone, with nobody to hear it. Its handler gets the recorded
 * messages with what it had then (time, randomness, numbers for spawns), and what it asks for is
 * shown instead of done: nothing leaves the sandbox, and no clock runs in it.
 *
 *     error = tri_sandbox_new(&options, &sandbox);
 *     error = tri_sandbox_put(sandbox, actor, snapshot);
 *     error = tri_sandbox_handle(sandbox, &recorded, &visitor, &handled);
 *
 * What was recorded is not trusted: numbers that would make two actors one are moved on. One
 * thread.
 */
#ifndef TR_RUNTIME_HOST_SANDBOX_H
#define TR_RUNTIME_HOST_SANDBOX_H

#include "runtime/hosting.h"
#include "schemas/runtime/recording.h"

struct tri_sandbox;

struct tri_sandbox_options {
    const struct tr_behaviour *const *behaviours;
    size_t behaviour_count;
    void *program;     /* what tr_program gives */
    uint64_t ahead_ms; /* of the steady clock there */
    uint64_t seed;     /* of the host of the recording, and what its messages carry */
    uint32_t epoch;
    uint16_t host; /* and its number among several: that of groups that begin here */
};

enum tri_seen_kind {
    TRI_SEEN_STATE,         /* schema, before, bytes: its packed fixed part, when it has changed */
    TRI_SEEN_PAGE,          /* number, before, bytes: one that was edited or dropped */
    TRI_SEEN_MESSAGE,       /* bytes: envelope and body; calls, questions and controls too */
    TRI_SEEN_SPAWN,         /* actor, schema of its state, bytes: that state, name, behaviour */
    TRI_SEEN_TIMER,         /* number: its id, due_ms */
    TRI_SEEN_TIMER_STOP,    /* number: the id of one that was running */
    TRI_SEEN_RECORD,        /* number: id of the record's schema, version, bytes */
    TRI_SEEN_RECORD_DELETE, /* the same; count: fields of the key */
    TRI_SEEN_STOP,          /* it ends */
};

/* Something that a handler has asked for. Views live until the visit returns. */
struct tri_seen {
    enum tri_seen_kind kind;
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
    void (*visit)(void *self, const struct tri_seen *seen);
};

/* What became of a message. */
struct tri_sandbox_handled {
    int reason;         /* 0, or the error of the handler: then nothing has changed */
    bool is_unexpected; /* the behaviour does not know it */
    bool is_late;       /* nobody waits for this answer any more: the handler did not see it */
    uint64_t sequence;  /* of what the actor had sent before; when it is not the recorded one, */
    bool has_other_history; /* then it has not become what it was then */
};

/* TR_MEMORY, TR_LIMIT (too many behaviours), TR_INVALID (two with one id). */
TR_MUST_USE int tri_sandbox_new(const struct tri_sandbox_options *options,
                                struct tri_sandbox **sandbox);
void tri_sandbox_free(struct tri_sandbox *sandbox);

/*
 * Makes the actor from a snapshot, once. States of older versions are read as their schemas say.
 * Errors: those of tri_snapshot_unpack; TR_EXISTS.
 */
TR_MUST_USE int tri_sandbox_put(struct tri_sandbox *sandbox, struct tr_ref actor,
                                struct tr_bytes snapshot);

/* The behaviour of the actor, and its packed state, which lives until the next call. TR_MEMORY. */
const struct tr_behaviour *tri_sandbox_behaviour(const struct tri_sandbox *sandbox);
TR_MUST_USE int tri_sandbox_state(struct tri_sandbox *sandbox, struct tr_bytes *state);

/*
 * Gives the actor a message, and shows what comes of it in the order of its happening. A message
 * whose handler failed when it was recorded changes nothing here either. `handled` may be NULL.
 * Errors: TR_MALFORMED (no message to this actor, numbers out of bounds), TR_NO_ACTOR (none was
 * put, or it has ended), TR_MEMORY.
 */
TR_MUST_USE int tri_sandbox_handle(struct tri_sandbox *sandbox,
                                   const struct tr_recorded_message *recorded,
                                   const struct tri_sandbox_visitor *visitor,
                                   struct tri_sandbox_handled *handled);

#endif
