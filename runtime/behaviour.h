/*
 * How actors are written; part of the runtime's public header, troupe.h.
 *
 * An actor is a behaviour (a name, a state, one handler) and a state that nobody else touches. The
 * handler gets a copy of the state and one message, and answers with effects: it changes the copy,
 * tells, asks, spawns, sets timers. When it returns 0 all of that happens at once; when it returns
 * an error none of it does, and the message is tried again or the actor quarantined.
 *
 *     static int handle(struct tr_context *context, void *state, const struct tr_message *message)
 *     {
 *         struct counter *counter = state;
 *         if (tr_message_is(message, &tr_tick_schema)) {
 *             counter->count++;
 *             return tr_reply(context, message, &tr_tock_schema, &(struct tr_tock){0});
 *         }
 *         return tr_unexpected(context, message);
 *     }
 *
 * Handlers do no I/O, do not block, and read neither clock nor randomness but tr_now_ms and
 * tr_random, which within one message have one value (law 2 of runtime/ARCHITECTURE.md): so a run
 * can be replayed.
 *
 * All functions with a tr_context may be called only from the handler it was given to, on its
 * thread. They return 0 or a tr_error; an effect that could not be taken (no memory, a named
 * limit) is best answered by returning that error.
 */
#ifndef TR_RUNTIME_BEHAVIOUR_H
#define TR_RUNTIME_BEHAVIOUR_H

#include "runtime/limits.h"
#include "schemas/codec/field.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

struct tr_context;

/*
 * Group 0 is not for actors: its serials are the services of a host, which tr_call reaches, and the
 * senders of its workers.
 */
enum tr_service {
    TR_SERVICE_CONTROL = 1,
    TR_SERVICE_HTTP = 2,
    TR_SERVICE_PROCESSES = 3,
    TR_SERVICE_JOURNAL = 4,      /* calls nobody, and is not called */
    TR_SERVICE_HTTP_ANSWERS = 5, /* the sender of http */
    TR_SERVICE_FILES = 6,
    TR_SERVICE_INTERHOST = 7, /* the sender of what comes from other hosts */
    TR_SERVICE_COUNT = 8,
    TR_SERVICE_WORKERS = 64, /* + the worker's number: the sender of what no actor says */
};

/* A message as its receiver sees it; valid until the handler returns. */
struct tr_message {
    const uint8_t *envelope; /* all of it: tr_envelope_get, tr_envelope_unpack */
    struct tr_ref from;
    uint16_t type;
    uint8_t version;
    uint8_t kind; /* enum tr_envelope_kind */
    uint32_t from_hint;
    struct tr_bytes body;
};

/* Whether the message is of this schema. */
static inline bool tr_message_is(const struct tr_message *message, const struct tr_schema *schema)
{
    return message->type == schema->id;
}

/* Reads a message of the schema NAME into a struct: tr_message_read(message, tick, &tick). */
#define tr_message_read(message, name, value) \
    tr_##name##_unpack((message)->body, (message)->version, (value))

/* For a REPLY or the failure of an ask: the number that tr_ask gave. */
static inline uint64_t tr_message_ask(const struct tr_message *message)
{
    return tr_envelope_get(message->envelope, 64, cause_sequence);
}

/*
 * How soon a message whose handler failed is tried again; zeros are sensible. An actor is
 * quarantined when one message fails twice, or after TR_RESTARTS_MAX failures within
 * TR_RESTART_WINDOW_MS: it stands still with its mailbox until an operator resumes it.
 */
struct tr_supervision {
    uint32_t backoff_first_ms; /* before the first restart; 0: 10 ms */
    uint32_t backoff_max_ms;   /* the delay doubles up to this; 0: 10 s */
};

/* A kind of actor. Behaviours are constant tables, registered with the host. */
struct tr_behaviour {
    const char *name;
    uint16_t id;                   /* on disk: never given twice; 1 to 99 belong to the runtime */
    const struct tr_schema *state; /* role TR_STATE; its struct is the fixed part */
    struct tr_supervision supervision;
    int (*handle)(struct tr_context *context, void *state, const struct tr_message *message);
    /*
     * How a state counts among the host's gauges (tr_host_gauges): adds `sign`, 1 or -1, as often
     * as it counts. It is called wherever a state comes, goes or changes; it depends on nothing
     * else, and fails never. NULL: it counts nowhere.
     */
    void (*gauge)(const void *state, int64_t sign, int64_t gauges[TR_GAUGES_MAX]);
};

/* How a child is spawned; zeros are sensible. */
struct tr_spawn_options {
    struct tr_text name; /* within the parent; empty: its serial */
    uint64_t element;    /* with is_element: the name is [element] */
    bool is_element;
    bool is_watched;      /* the parent, or tr_host_wait, hears of the end for sure */
    bool is_group;        /* begins a group of its own: an execution */
    uint32_t incarnation; /* 0: the first; a successor under the same name gives one more */
    const void *state;    /* the first state, copied; NULL: zeros */
};

/* How much there may be at once; 0: as limits.h says. */
struct tr_bounds {
    uint64_t group_actors; /* of one group, on one worker */
    uint64_t group_bytes;  /* of these actors, their states and pages */
    uint64_t host_bytes;   /* of all memory (tr_memory_needed) */
};

/* --------------------------------------------- within a handler: reading */

/* The time as people read it, in milliseconds since 1970, one value for the whole message. */
uint64_t tr_now_ms(const struct tr_context *context);

/*
 * The time to keep and compare with later ones: it does not go back (after a kill not by more than
 * TR_CLOCK_KEPT_MS), also where the wall clock was put back while no host lived, and is ahead of
 * that one then.
 */
uint64_t tr_steady_ms(const struct tr_context *context);

/* The next random number of this message: the same in every replay of it. */
uint64_t tr_random(struct tr_context *context);

struct tr_ref tr_self(const struct tr_context *context);

/* The actor that began a group, alive or not: a root, or a child that was spawned with is_group. */
struct tr_ref tr_group_root(uint64_t group);

/* The parent; serial 0 for one that the host itself spawned. */
struct tr_ref tr_parent(const struct tr_context *context);

/*
 * What the program gave the host to hand to its handlers: tables that do not change while it runs,
 * or that have locks of their own. A handler's answer may not depend on what changes in it.
 */
void *tr_program(const struct tr_context *context);

/*
 * Whether the handler's group may grow, and whether a new group may begin: TR_LIMIT where it has as
 * many actors or bytes as its bounds say, TR_BUSY where the host has no memory for more. For those
 * that spawn children without end; they fail then, in words, instead of all that live here.
 */
TR_MUST_USE int tr_may_grow(const struct tr_context *context);
TR_MUST_USE int tr_may_begin(const struct tr_context *context);

/*
 * Names a part of the program whose function the handler is about to call; NULL and NULL: it has
 * returned. If that ends the process, by a signal or since it never returns, the part is counted
 * for it (tr_crash_attributions_read), and the actor is not put into quarantine. Texts are copied,
 * at most TR_ATTRIBUTION_PART_BYTES_MAX and TR_ATTRIBUTION_FUNCTION_BYTES_MAX of them.
 */
void tr_attribute_crash(struct tr_context *context, const char *part, const char *function);

/* Answers a message that the behaviour does not know: a dead letter, and 0. */
TR_MUST_USE int tr_unexpected(struct tr_context *context, const struct tr_message *message);

/* -------------------------------------------- within a handler: messages */

/*
 * Sends a message. Order from one actor to another is kept. A receiver that is gone makes a dead
 * letter, which is not this call's error. Errors: TR_LIMIT (too large, too many), TR_MEMORY, and
 * the schema's packing errors.
 */
TR_MUST_USE int tr_tell(struct tr_context *context, struct tr_ref to,
                        const struct tr_schema *schema, const void *body);

/* As tr_tell, with the slot that tr_spawned_hint or message->from_hint gave: saves a look-up. */
TR_MUST_USE int tr_tell_hinted(struct tr_context *context, struct tr_ref to, uint32_t hint,
                               const struct tr_schema *schema, const void *body);

/*
 * Sends a question. Either a REPLY comes, whose tr_message_ask is `*ask`, or tr_ask_failed does,
 * with TR_TIMEOUT, TR_NO_ACTOR, TR_NO_CONNECTION or the reason of the other's end; never both.
 * The outcome of a timeout is unknown. `timeout_ms` 0 waits for ever. `ask` may be NULL.
 */
TR_MUST_USE int tr_ask(struct tr_context *context, struct tr_ref to, const struct tr_schema *schema,
                       const void *body, uint64_t timeout_ms, uint64_t *ask);

/* Forgets a question: what still comes of it is dropped and counted (TR_LATE_REPLY). */
TR_MUST_USE int tr_ask_cancel(struct tr_context *context, uint64_t ask);

/* Answers an ASK; to any other message it is a plain message back to its sender. */
TR_MUST_USE int tr_reply(struct tr_context *context, const struct tr_message *message,
                         const struct tr_schema *schema, const void *body);

/* Whom to answer later: a question that is kept in a state. */
struct tr_deferred_reply {
    struct tr_ref asker;
    uint64_t ask;
};

/* What it takes to answer an ASK in a later handler. */
struct tr_deferred_reply tr_message_deferred(const struct tr_message *message);

/* Answers a question kept before. One that is not this actor's is TR_NOT_FOUND. */
TR_MUST_USE int tr_reply_deferred(struct tr_context *context, struct tr_deferred_reply deferred,
                                  const struct tr_schema *schema, const void *body);

/* ----------------------------------- within a handler: actors and timers */

/* Spawns a child on this worker. The reference is good at once, in this handler too. */
TR_MUST_USE int tr_spawn(struct tr_context *context, const struct tr_behaviour *behaviour,
                         const struct tr_spawn_options *options, struct tr_ref *child);

/* The hint for tr_tell_hinted of the child that tr_spawn gave last. */
uint32_t tr_spawned_hint(const struct tr_context *context);

/* Ends this actor when the handler has returned 0. Its children end first, with TR_KILLED. */
TR_MUST_USE int tr_stop(struct tr_context *context);

/*
 * Hears tr_down, once, when the actor ends, or at once if it is gone. It comes after the last
 * message of that actor. Monitors stack: each call is one; `monitor` names it.
 */
TR_MUST_USE int tr_monitor(struct tr_context *context, struct tr_ref actor, uint64_t *monitor);
TR_MUST_USE int tr_demonitor(struct tr_context *context, uint64_t monitor);

/* tr_timer comes with `id` after `delay_ms`. A timer of the same id is replaced. Durable. */
TR_MUST_USE int tr_timer_start(struct tr_context *context, uint64_t id, uint64_t delay_ms);

/* The same at a time of tr_steady_ms. Time during which no host lived counts. */
TR_MUST_USE int tr_timer_start_at(struct tr_context *context, uint64_t id, uint64_t due_ms);

/* After this no tr_timer with `id` comes, even one that is on its way. None is fine. */
TR_MUST_USE int tr_timer_stop(struct tr_context *context, uint64_t id);

/* ------------------------------- within a handler: pages and the outside */

/* The bytes of a page, none if there is no such page; valid until the handler returns. */
TR_MUST_USE int tr_page_get(struct tr_context *context, uint32_t page, struct tr_bytes *bytes);

/* A page to write: a copy of what there is, cut or filled up with zeros to `size`. */
TR_MUST_USE int tr_page_edit(struct tr_context *context, uint32_t page, size_t size, void **bytes);

TR_MUST_USE int tr_page_drop(struct tr_context *context, uint32_t page);

/*
 * Writes a row of a record schema, in the commit of this handler. Where the schema has a key
 * (TR_ROW_KEY) it takes the place of the row with the same key. Errors: TR_LIMIT (too large, too
 * many, TR_ROW_KEY_BYTES_MAX), TR_MEMORY, and the schema's packing errors.
 */
TR_MUST_USE int tr_record(struct tr_context *context, const struct tr_schema *schema,
                          const void *row);

/*
 * Deletes the rows whose first `key_field_count` fields of the key are those of `row`, in the
 * commit of this handler and in order with the rows written before and after. None is fine. Errors:
 * TR_INVALID (no field, or more than the key has), and those of tr_record.
 */
TR_MUST_USE int tr_record_delete(struct tr_context *context, const struct tr_schema *schema,
                                 const void *row, uint32_t key_field_count);

/*
 * Adds to one of the program's counters (tr_host_counters), when this handler's effects happen.
 * They count from the host's start and are on no disk. A number that is none of them counts
 * nowhere. Errors: TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tr_count(struct tr_context *context, uint32_t counter, uint64_t amount);

/*
 * Calls a service outside (enum tr_service) over the boundary: it leaves when everything that led
 * to it is committed. Answers as tr_ask does. After a crash of the host it is not done again: the
 * actor hears tr_ask_failed with TR_NO_CONNECTION and asks the outside what became of it (law 5 of
 * runtime/ARCHITECTURE.md).
 */
TR_MUST_USE int tr_call(struct tr_context *context, uint16_t service,
                        const struct tr_schema *schema, const void *body, uint64_t timeout_ms,
                        uint64_t *ask);

#endif
