/*
 * Writing actors; part of the runtime's public header, troupe.h.
 *
 * An actor is a behaviour (a name, a state, one handler) and a private state. The handler gets a
 * copy of the state and one message, and returns effects: it changes the copy, tells, asks, spawns,
 * sets timers. When it returns 0 all of them happen at once; when it returns an error none does,
 * and the message is retried or the actor quarantined.
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
 * Handlers do no I/O, do not block, and read no clock and no randomness but tr_now_ms and
 * tr_random, which are fixed for one message (law 2 of runtime/ARCHITECTURE.md), so a run can be
 * replayed.
 *
 * All functions with a tr_context may be called only from the handler it was given to, on its
 * thread. They return 0 or a tr_error; a handler should return the error of an effect that failed
 * (no memory, a named limit).
 */
#ifndef TR_RUNTIME_BEHAVIOUR_H
#define TR_RUNTIME_BEHAVIOUR_H

#include "runtime/limits.h"
#include "schemas/codec/field.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

struct tr_context;

/*
 * The serials of a group that is a host (tr_group_is_host): its services, which tr_call reaches,
 * its program, and the senders of its workers.
 */
enum tr_service {
    TR_SERVICE_CONTROL = 1,
    TR_SERVICE_HTTP = 2,
    TR_SERVICE_PROCESSES = 3,
    TR_SERVICE_JOURNAL = 4,      /* only sends to workers, and is not called */
    TR_SERVICE_HTTP_ANSWERS = 5, /* the sender of http's answers */
    TR_SERVICE_FILES = 6,
    TR_SERVICE_INTERHOST = 7, /* the sender of messages from other hosts */
    TR_SERVICE_COUNT = 8,
    TR_SERVICE_WORKERS =
        64, /* + the worker's number: the sender of messages of the runtime itself */
};

/* A message as its receiver gets it; valid until the handler returns. */
struct tr_message {
    const uint8_t *envelope; /* the whole message: tr_envelope_get, tr_envelope_unpack */
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

/* Of a REPLY or the failure of an ask: the number that tr_ask returned. */
static inline uint64_t tr_message_ask(const struct tr_message *message)
{
    return tr_envelope_get(message->envelope, 64, cause_sequence);
}

/*
 * The delays before a failed message is retried; zeros are defaults. An actor is quarantined when
 * one message fails twice, or after TR_RESTARTS_MAX failures within TR_RESTART_WINDOW_MS: it does
 * not run until an operator resumes it.
 */
struct tr_supervision {
    uint32_t backoff_first_ms; /* before the first restart; 0: 10 ms */
    uint32_t backoff_max_ms;   /* the delay doubles up to this; 0: 10 s */
};

/* The first id of a behaviour that is no part of the runtime. */
#define TR_BEHAVIOUR_ID_FIRST 100

/* A type of actor. Behaviours are constant tables, registered with the host. */
struct tr_behaviour {
    const char *name;
    uint16_t id;                   /* stored: never reuse one; those below belong to the runtime */
    const struct tr_schema *state; /* role TR_STATE; its struct is the fixed part */
    struct tr_supervision supervision;
    int (*handle)(struct tr_context *context, void *state, const struct tr_message *message);
    /*
     * The state's contribution to the host's gauges (tr_host_gauges): adds `sign`, 1 or -1, once
     * for each thing it counts. It is called whenever a state is created, removed or changed; it
     * depends on nothing else and cannot fail. NULL: none.
     */
    void (*gauge)(const void *state, int64_t sign, int64_t gauges[TR_GAUGES_MAX]);
};

/* Options of a spawn; zeros are defaults. */
struct tr_spawn_options {
    struct tr_text name; /* within the parent; empty: its serial */
    uint64_t element;    /* with is_element: the name is [element] */
    bool is_element;
    bool is_watched;      /* the parent, or tr_host_wait, certainly gets the end */
    bool is_group;        /* begins a new group: an execution */
    uint32_t incarnation; /* 0: the first; a successor under the same name has one more */
    const void *state;    /* the initial state, copied; NULL: zeros */
};

/* Bounds of actors and memory; 0: those of limits.h. */
struct tr_bounds {
    uint64_t group_actors; /* of one group, on one worker */
    uint64_t group_bytes;  /* of these actors, their states and pages */
    uint64_t host_bytes;   /* of all memory (tr_memory_needed) */
};

/* --------------------------------------------- within a handler: reading */

/* The wall time in milliseconds since 1970, fixed for the whole message. */
uint64_t tr_now_ms(const struct tr_context *context);

/*
 * The time for storing and comparing: it does not go back (after a kill by at most
 * TR_CLOCK_KEPT_MS), also if the wall clock was set back between two hosts; then it is ahead of the
 * wall clock.
 */
uint64_t tr_steady_ms(const struct tr_context *context);

/* The next random number of this message, the same in every replay. */
uint64_t tr_random(struct tr_context *context);

struct tr_ref tr_self(const struct tr_context *context);

/* The first actor of a group, alive or not: a root, or a child that was spawned with is_group. */
struct tr_ref tr_group_root(uint64_t group);

/* The parent; serial 0 if the host itself spawned the actor. */
struct tr_ref tr_parent(const struct tr_context *context);

/*
 * The program's pointer for handlers: tables that do not change while the host runs, or that have
 * locks of their own. A handler's effects must not depend on changing data in it.
 */
void *tr_program(const struct tr_context *context);

/*
 * Whether the handler's group may grow, and whether a new group may begin: TR_LIMIT if it has as
 * many actors or bytes as its bounds allow, TR_BUSY if the host has no memory for more. For actors
 * that spawn without limit; they fail then, with words, instead of all actors of the host.
 */
TR_MUST_USE int tr_may_grow(const struct tr_context *context);
TR_MUST_USE int tr_may_begin(const struct tr_context *context);

/*
 * The actor's name within its parent, written to `name`; a view of it. One that nobody has named is
 * called "~" and its serial.
 */
struct tr_text tr_self_name(const struct tr_context *context, char name[TR_NAME_BYTES_MAX + 1]);

/*
 * Names a part of the program whose function the handler is about to call; NULL and NULL: it has
 * returned. If that ends the process, by a signal or because it never returns, the part is counted
 * (tr_crash_attributions_read), and the actor is not quarantined. Texts are copied, up to
 * TR_ATTRIBUTION_PART_BYTES_MAX and TR_ATTRIBUTION_FUNCTION_BYTES_MAX bytes.
 */
void tr_attribute_crash(struct tr_context *context, const char *part, const char *function);

/* Handles a message that the behaviour does not know: makes it a dead letter and returns 0. */
TR_MUST_USE int tr_unexpected(struct tr_context *context, const struct tr_message *message);

/* -------------------------------------------- within a handler: messages */

/*
 * Sends a message. Order from one actor to another is kept. Without a receiver it becomes a dead
 * letter, which is no error of this call. Errors: TR_LIMIT (too large, too many), TR_MEMORY, and
 * the schema's packing errors.
 */
TR_MUST_USE int tr_tell(struct tr_context *context, struct tr_ref to,
                        const struct tr_schema *schema, const void *body);

/* As tr_tell, with the slot of tr_spawned_hint or message->from_hint, which saves a lookup. */
TR_MUST_USE int tr_tell_hinted(struct tr_context *context, struct tr_ref to, uint32_t hint,
                               const struct tr_schema *schema, const void *body);

/*
 * Sends a question. It is answered by a REPLY, whose tr_message_ask is `*ask`, or by tr_ask_failed,
 * with TR_TIMEOUT, TR_NO_ACTOR, TR_NO_CONNECTION or the reason of the other's end; never by both.
 * After a timeout the outcome is unknown. `timeout_ms` 0 waits for ever. `ask` may be NULL.
 */
TR_MUST_USE int tr_ask(struct tr_context *context, struct tr_ref to, const struct tr_schema *schema,
                       const void *body, uint64_t timeout_ms, uint64_t *ask);

/* Cancels a question: a later answer is dropped and counted (TR_LATE_REPLY). */
TR_MUST_USE int tr_ask_cancel(struct tr_context *context, uint64_t ask);

/* Answers an ASK; for any other message it sends a plain message to its sender. */
TR_MUST_USE int tr_reply(struct tr_context *context, const struct tr_message *message,
                         const struct tr_schema *schema, const void *body);

/* A question to be answered later, kept in a state. */
struct tr_deferred_reply {
    struct tr_ref asker;
    uint64_t ask;
};

/* Returns an ASK's data for answering it in a later handler. */
struct tr_deferred_reply tr_message_deferred(const struct tr_message *message);

/* Answers a kept question. TR_NOT_FOUND if this actor does not owe it. */
TR_MUST_USE int tr_reply_deferred(struct tr_context *context, struct tr_deferred_reply deferred,
                                  const struct tr_schema *schema, const void *body);

/* ----------------------------------- within a handler: actors and timers */

/* Spawns a child on this worker. The reference is valid at once, also in this handler. */
TR_MUST_USE int tr_spawn(struct tr_context *context, const struct tr_behaviour *behaviour,
                         const struct tr_spawn_options *options, struct tr_ref *child);

/*
 * The singleton of a behaviour, a name and a shard (tr_host_singleton), on whatever host it is,
 * valid at once. If it has not begun it begins before it gets what this handler says to it from now
 * on. Two names have one place with a chance of one in 2^42; what is said to the second is then
 * heard by the first. TR_INVALID: the name is empty or too long, or this host was not told of
 * partitions; TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tr_singleton(struct tr_context *context, const struct tr_behaviour *behaviour,
                             struct tr_text name, uint32_t shard, struct tr_ref *singleton);

/* The hint for tr_tell_hinted of the child that was spawned last. */
uint32_t tr_spawned_hint(const struct tr_context *context);

/* Ends this actor when the handler has returned 0. Its children end first, with TR_KILLED. */
TR_MUST_USE int tr_stop(struct tr_context *context);

/*
 * Requests tr_down, once, when the actor ends, or at once if it is gone. It comes after the last
 * message of that actor. Each call is one monitor, identified by `monitor`.
 */
TR_MUST_USE int tr_monitor(struct tr_context *context, struct tr_ref actor, uint64_t *monitor);
TR_MUST_USE int tr_demonitor(struct tr_context *context, uint64_t monitor);

/* Sends tr_timer with `id` after `delay_ms`. A timer of the same id is replaced. Durable. */
TR_MUST_USE int tr_timer_start(struct tr_context *context, uint64_t id, uint64_t delay_ms);

/* The same at a time of tr_steady_ms. Time during which no host lived counts. */
TR_MUST_USE int tr_timer_start_at(struct tr_context *context, uint64_t id, uint64_t due_ms);

/* After this no tr_timer with `id` is delivered, even one already in the mailbox. None is fine. */
TR_MUST_USE int tr_timer_stop(struct tr_context *context, uint64_t id);

/* ------------------------------- within a handler: pages and the outside */

/* The bytes of a page, empty if there is none; valid until the handler returns. */
TR_MUST_USE int tr_page_get(struct tr_context *context, uint32_t page, struct tr_bytes *bytes);

/* A page to write: a copy of the current one, truncated or zero-filled to `size`. */
TR_MUST_USE int tr_page_edit(struct tr_context *context, uint32_t page, size_t size, void **bytes);

TR_MUST_USE int tr_page_drop(struct tr_context *context, uint32_t page);

/*
 * Writes a row of a record schema, in the commit of this handler. If the schema has a key
 * (TR_ROW_KEY) it replaces the row with the same key. Errors: TR_LIMIT (too large, too many,
 * TR_ROW_KEY_BYTES_MAX), TR_MEMORY, and the schema's packing errors.
 */
TR_MUST_USE int tr_record(struct tr_context *context, const struct tr_schema *schema,
                          const void *row);

/*
 * The same for a row that no other was written before with the same key, as far as the caller
 * knows: a database may then write it quicker. If there is one it is replaced all the same.
 */
TR_MUST_USE int tr_record_first(struct tr_context *context, const struct tr_schema *schema,
                                const void *row);

/*
 * Deletes the rows whose first `key_field_count` key fields equal those of `row`, in the commit of
 * this handler and in order with the rows written before and after. None is fine. Errors:
 * TR_INVALID (no field, or more than the key has), and those of tr_record.
 */
TR_MUST_USE int tr_record_delete(struct tr_context *context, const struct tr_schema *schema,
                                 const void *row, uint32_t key_field_count);

/*
 * Adds to one of the program's counters (tr_host_counters), when this handler's effects are
 * applied. Counters start with the host and are not stored. An unknown number is ignored. Errors:
 * TR_LIMIT, TR_MEMORY.
 */
TR_MUST_USE int tr_count(struct tr_context *context, uint32_t counter, uint64_t amount);

/*
 * Calls a service (enum tr_service) across the boundary: the call is sent when everything that led
 * to it is committed. Answers as tr_ask does. After a crash of the host it is not repeated: the
 * actor gets tr_ask_failed with TR_NO_CONNECTION and reconciles with the outside (law 5 of
 * runtime/ARCHITECTURE.md).
 */
TR_MUST_USE int tr_call(struct tr_context *context, uint16_t service,
                        const struct tr_schema *schema, const void *body, uint64_t timeout_ms,
                        uint64_t *ask);

#endif
