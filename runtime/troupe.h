/*
 * The runtime's public header: how actors are written, and how a host of them is run.
 *
 * An actor is a behaviour (a name, a state, one handler) and a state that nobody else touches. The
 * handler gets a copy of the state and one message, and answers with effects: it changes the copy,
 * tells, asks, spawns, sets timers. When it returns 0 all of that happens at once; when it returns
 * an error none of it does, and the supervision that the behaviour names takes over.
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
 * tr_random, which within one message have one value (law 2): so a run can be replayed.
 *
 * All functions with a tr_context may be called only from the handler it was given to, on its
 * thread. They return 0 or a tr_error; an effect that could not be taken (no memory, a named
 * limit) is best answered by returning that error.
 */
#ifndef TR_RUNTIME_TROUPE_H
#define TR_RUNTIME_TROUPE_H

#include "runtime/journal/store.h"
#include "runtime/limits.h"
#include "runtime/tap/tap.h"
#include "schemas/codec/field.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/envelope.h"

struct tr_context;
struct tr_host;

/*
 * Group 0 is not for actors: its serials are the services of a host, which tr_call reaches, and the
 * voices of its workers.
 */
enum tr_service {
    TR_SERVICE_CONTROL = 1,
    TR_SERVICE_HTTP = 2,
    TR_SERVICE_PROCESSES = 3,
    TR_SERVICE_JOURNAL = 4,      /* calls nobody, and is not called */
    TR_SERVICE_HTTP_ANSWERS = 5, /* the voice of http */
    TR_SERVICE_FILES = 6,
    TR_SERVICE_BORDER = 7, /* the voice of what comes from other hosts */
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

/* What becomes of an actor whose handler keeps failing. */
enum tr_exhausted {
    TR_EXHAUSTED_QUARANTINE, /* stands still with its mailbox, visible, until an operator resumes */
    TR_EXHAUSTED_STOP,       /* ends; monitors hear DOWN with TR_FAILED */
    TR_EXHAUSTED_ESCALATE,   /* ends, and its parent fails with it */
};

/* How failures of a behaviour's handler are answered; zeros are sensible. */
struct tr_supervision {
    uint32_t backoff_first_ms;   /* before the first restart; 0: 10 ms */
    uint32_t backoff_max_ms;     /* the delay doubles up to this; 0: 10 s */
    uint32_t restarts_max;       /* within window_ms, then exhausted; 0: 10 */
    uint32_t window_ms;          /* 0: 60 s */
    enum tr_exhausted exhausted; /* a message that fails twice always quarantines */
};

/* A kind of actor. Behaviours are constant tables, registered with the host. */
struct tr_behaviour {
    const char *name;
    uint16_t id;                   /* on disk: never given twice; 1 to 99 belong to the runtime */
    const struct tr_schema *state; /* role TR_STATE; its struct is the fixed part */
    struct tr_supervision supervision;
    int (*handle)(struct tr_context *context, void *state, const struct tr_message *message);
};

/* How a child is born; zeros are sensible. */
struct tr_spawn_options {
    struct tr_text name; /* within the parent; empty: its serial */
    uint64_t element;    /* with is_element: the name is [element] */
    bool is_element;
    bool is_watched;      /* the parent, or tr_host_wait, hears of the end for sure */
    bool is_group;        /* begins a group of its own: an execution */
    uint32_t incarnation; /* 0: the first; a successor under the same name gives one more */
    const void *state;    /* the first state, copied; NULL: zeros */
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

/* The parent; serial 0 for one that the host itself gave birth to. */
struct tr_ref tr_parent(const struct tr_context *context);

/*
 * What the program gave the host to hand to its handlers: tables that do not change while it runs,
 * or that have locks of their own. A handler's answer may not depend on what changes in it.
 */
void *tr_program(const struct tr_context *context);

/*
 * Whether the handler's group may grow, and whether a new group may begin: TR_LIMIT where it has as
 * many actors or bytes as its bounds say, TR_BUSY where the host has no memory for more. For those
 * who bear children without end; they fail then, in words, instead of all that live here.
 */
TR_MUST_USE int tr_may_grow(const struct tr_context *context);
TR_MUST_USE int tr_may_begin(const struct tr_context *context);

/*
 * Names a part of the program whose function the handler is about to call; NULL and NULL: it has
 * returned. If that ends the process, by a signal or since it never returns, the part is counted
 * for it (tr_host_blamed), and the actor is not put into quarantine. Texts are copied, at most
 * TR_BLAME_PART_BYTES_MAX and TR_BLAME_FUNCTION_BYTES_MAX of them.
 */
void tr_blame(struct tr_context *context, const char *part, const char *function);

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
struct tr_debt {
    struct tr_ref asker;
    uint64_t ask;
};

/* The debt of an ASK that this handler does not answer itself. */
struct tr_debt tr_message_debt(const struct tr_message *message);

/* Answers a question kept before. A debt that is not this actor's is TR_NOT_FOUND. */
TR_MUST_USE int tr_reply_debt(struct tr_context *context, struct tr_debt debt,
                              const struct tr_schema *schema, const void *body);

/* ----------------------------------- within a handler: actors and timers */

/* Gives birth to a child on this worker. The reference is good at once, in this handler too. */
TR_MUST_USE int tr_spawn(struct tr_context *context, const struct tr_behaviour *behaviour,
                         const struct tr_spawn_options *options, struct tr_ref *child);

/* The hint for tr_tell_hinted of the child that tr_spawn gave last. */
uint32_t tr_spawned_hint(const struct tr_context *context);

/* Ends this actor when the handler has returned 0. Its children end first, with TR_KILLED. */
TR_MUST_USE int tr_stop(struct tr_context *context);

/* Ends a child. To any other actor this is TR_INVALID. */
TR_MUST_USE int tr_stop_child(struct tr_context *context, struct tr_ref child);

/*
 * Hears tr_down, once, when the actor ends, or at once if it is gone. It comes after the last
 * message of that actor. Monitors stack: each call is one; `monitor` names it.
 */
TR_MUST_USE int tr_monitor(struct tr_context *context, struct tr_ref actor, uint64_t *monitor);
TR_MUST_USE int tr_demonitor(struct tr_context *context, uint64_t monitor);

/* Ties two lives: when one ends with a failure, so does the other. Linking twice is one link. */
TR_MUST_USE int tr_link(struct tr_context *context, struct tr_ref actor);
TR_MUST_USE int tr_unlink(struct tr_context *context, struct tr_ref actor);

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
 * Calls a service outside (enum tr_service) over the boundary: it leaves when everything that led
 * to it is committed. Answers as tr_ask does. After a crash of the host it is not done again: the
 * actor hears tr_ask_failed with TR_NO_CONNECTION and asks the outside what became of it (law 5).
 */
TR_MUST_USE int tr_call(struct tr_context *context, uint16_t service,
                        const struct tr_schema *schema, const void *body, uint64_t timeout_ms,
                        uint64_t *ask);

/* ---------------------------------------------------------------- a host */

/*
 * A host belongs to the thread that made it: all functions with a tr_host are for that thread.
 */

/* Another host: actors are told by their references, wherever they live. */
struct tr_peer {
    uint16_t number;
    const char *address; /* where it listens */
};

/* A group that does not live on the host where it began, whose number its own begins with. */
struct tr_group_place {
    uint64_t group;
    uint16_t number; /* of the host that has it, this one too */
};

/* Words of what goes wrong with a document, and the code of a failure. */
#define TR_EXCHANGE_EXPLAIN_BYTES 1024
#define TR_EXCHANGE_CODE_BYTES 64

/* Lets others go first between pieces of what takes long (runtime/blob/turn.h). */
struct tr_turn;

/* A call that the program answers itself: its message, and how the answer is given. */
struct tr_inquiry {
    void *program; /* tr_host_options.program */
    const char *store_folder;
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
    const struct tr_turn *turn; /* for what takes long */
    int (*reply)(const struct tr_inquiry *inquiry, const struct tr_schema *schema,
                 const void *body);
};

/* Gives the answer, whose views may end when this returns. What packing says. */
TR_MUST_USE static inline int tr_inquiry_answer(const struct tr_inquiry *inquiry,
                                                const struct tr_schema *schema, const void *body)
{
    return inquiry->reply(inquiry, schema, body);
}

/*
 * What the program knows of documents that programs outside write and read, for values that no
 * message carries. Called by the files service's thread, which may wait for disks; they own nothing
 * and keep nothing. `plan` comes from the program's own actors.
 */
struct tr_fence;

/* A document that is to be read. */
struct tr_exchange_reading {
    struct tr_bytes plan;
    const char *store_folder;
    struct tr_text path;
    /* Of it and of all that it names; NULL: none (schemas/runtime/files.h). */
    const struct tr_fence *fence;
    const struct tr_turn *turn;
};

/* One that is to be written, to an open file. */
struct tr_exchange_writing {
    struct tr_bytes plan;
    const char *store_folder;
    int descriptor;
    const struct tr_turn *turn;
};

struct tr_exchange {
    /* Writes a document. Errors with words. */
    int (*write)(const struct tr_exchange_writing *writing, char *explain);
    /*
     * Reads a document into packed slots of tr_alloc that fit into half a message. What is wrong
     * with the document itself is a code and words, and 0; errors are the machine's.
     */
    int (*read)(const struct tr_exchange_reading *reading, struct tr_bytes *slots, char *code,
                char *explain);
    /*
     * Answers a call of an actor to the files service that is none of its own, such as a look into
     * the history: with one `tr_inquiry_answer`, or an error with words. NULL: there is none.
     */
    int (*answer)(const struct tr_inquiry *inquiry, char *explain);
};

/* Where the values of processes' secrets may be. */
enum tr_secret_kind { TR_SECRET_ENVIRONMENT, TR_SECRET_FOLDER, TR_SECRET_COMMAND };

struct tr_secret_source {
    enum tr_secret_kind kind;
    const char *folder; /* NULL: the user's own, troupe/secrets in $XDG_CONFIG_HOME or ~/.config */
    /* argv, ended by NULL; GROUP/KEY[@VERSION] is put behind it, and what it prints is the value */
    const char *const *command;
};

/* How much there may be at once; 0: as limits.h says. */
struct tr_bounds {
    uint64_t group_actors; /* of one group, on one worker */
    uint64_t group_bytes;  /* of these actors, their states and pages */
    uint64_t host_bytes;   /* of all memory (tr_memory_needed) */
};

/* How a host is made; zeros are sensible. */
struct tr_host_options {
    uint32_t worker_count; /* 0: one per core, at most TR_WORKERS_MAX */
    enum tr_durability durability;
    const char *folder; /* of the store; needed unless durability is NONE */
    const struct tr_behaviour *const *behaviours;
    size_t behaviour_count;
    const struct tr_schema *const *records; /* that tr_record writes */
    size_t record_count;
    const struct tr_views *views; /* of these records, for people who query them; NULL: none */
    uint64_t seed;                /* of randomness; 0: from the system */
    bool has_http;                /* TR_SERVICE_HTTP is there to be called */
    bool has_files;               /* TR_SERVICE_FILES is there to be called; it needs a folder */
    const struct tr_exchange *exchange; /* large documents for it; NULL: it refuses them */
    /* argv of the keeper of processes, ended by NULL; NULL: TR_SERVICE_PROCESSES is not there */
    const char *const *keeper_command;
    uint32_t jobs;                          /* processes that run at once; 0: one per core */
    const struct tr_secret_source *secrets; /* in their order; they outlive the host */
    size_t secret_count;                    /* 0: the environment, then the user's folder */
    uint32_t unclaimed_ms;     /* keeps ends of processes nobody asks for; 0: ten minutes */
    uint16_t aside_behaviour;  /* groups whose first actor has it may be put aside; 0: none */
    bool is_balanced;          /* moves actors from busy workers to idle ones */
    uint32_t stuck_handler_ms; /* 0: TR_STUCK_HANDLER_MS */
    struct tr_bounds bounds;
    int interrupt;             /* a descriptor, readable when whoever waits should stop; 0: none */
    uint32_t http_patience_ms; /* with who takes nothing of a stream; 0: TR_HTTP_PATIENCE_MS */
    void *program;             /* what tr_program gives to handlers; it outlives the host */
    /* Of several hosts: this one's number, 1 to 32767, which no other host has, and which stays the
     * same as long as its store has anything; it needs a store. 0: the host is alone. */
    uint16_t number;
    const char *listen; /* where the others reach this one, such as "tcp://127.0.0.1:7070" */
    const struct tr_peer *peers;
    size_t peer_count;
    const struct tr_group_place *places; /* of groups that are not where they began */
    size_t place_count;
};

/*
 * Makes a host, opens its store and loads what is left there; nothing runs yet. Errors: those of
 * the store, TR_INVALID, TR_MEMORY; `explain` (TRI_STORE_EXPLAIN_BYTES, may be NULL) has words.
 */
TR_MUST_USE int tr_host_new(const struct tr_host_options *options, char *explain,
                            struct tr_host **host);

/* Starts the threads. */
TR_MUST_USE int tr_host_start(struct tr_host *host);

/*
 * Gives birth to an actor without a parent, in a group of its own; returns when it is born, and
 * that is committed. TR_BUSY when a worker's memory is at its limit.
 */
TR_MUST_USE int tr_host_spawn(struct tr_host *host, const struct tr_behaviour *behaviour,
                              const struct tr_spawn_options *options, struct tr_ref *actor);

/* A birth among others. */
struct tr_host_birth {
    const struct tr_behaviour *behaviour;
    struct tr_spawn_options options;
};

/*
 * The same for several, at most TR_HOST_BIRTHS_MAX, on one worker, which commits them together.
 * After an error some of them may have been born, and stand in `actors`.
 */
TR_MUST_USE int tr_host_spawn_all(struct tr_host *host, const struct tr_host_birth *births,
                                  size_t count, struct tr_ref *actors);

/* Sends a message from outside. */
TR_MUST_USE int tr_host_tell(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                             const void *body);

/*
 * Waits until the actor has ended and gives its reason: 0 or a tr_error. Of an actor that had ended
 * before nothing is known any more, and the reason is TR_NO_ACTOR, unless it was spawned with
 * is_watched. `timeout_ms` 0 waits for ever; TR_TIMEOUT leaves the actor as it is.
 */
TR_MUST_USE int tr_host_wait(struct tr_host *host, struct tr_ref actor, uint64_t timeout_ms,
                             int *reason);

/*
 * Asks an actor from outside, and waits: `take` (or NULL) gets the answer, whose views live until
 * it returns. What is answered is committed. Errors: TR_TIMEOUT (`timeout_ms`; 0: none),
 * TR_NO_ACTOR, the reason of the actor's end, and why the host cannot go on. Nobody waits for long
 * for a store that cannot write (its error, such as TR_STORE_FULL), or behind an interrupt
 * (TR_CLOSED): what was asked may be done yet.
 */
TR_MUST_USE int tr_host_ask(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                            const void *body, uint64_t timeout_ms,
                            void (*take)(void *self, const struct tr_message *answer), void *self);

/* Hears of the end of an actor from now on; tr_host_ended tells it. TR_CLOSED, TR_MEMORY. */
TR_MUST_USE int tr_host_monitor(struct tr_host *host, struct tr_ref actor, uint64_t *monitor);

/* Gives the reason of an end that a monitor has heard of, once; TR_NOT_FOUND: it has not come. */
TR_MUST_USE int tr_host_ended(struct tr_host *host, struct tr_ref actor, uint64_t monitor,
                              int *reason);

/*
 * Lies down until something comes for this thread, until `descriptor` is readable (-1: none), or
 * the time is over; may return early. TR_CLOSED, or why the host cannot go on.
 */
TR_MUST_USE int tr_host_rest(struct tr_host *host, int descriptor, uint64_t timeout_ms);

/*
 * The actor named so, from the root: "/orders/worker[3]"; before the start of a host among those
 * that it has loaded. TR_NOT_FOUND.
 */
TR_MUST_USE int tr_host_find(struct tr_host *host, struct tr_text address, struct tr_ref *actor);

/* Whether an actor is among those that a host has loaded; before its start. */
bool tr_host_has(struct tr_host *host, struct tr_ref actor);

/*
 * Lets groups sleep that a host has loaded, before its start: their actors are not run. What is
 * sent to them and what their timers say waits in their mailboxes, and nothing of it is lost; they
 * cannot be moved (TR_BUSY), and end with their parents as ever. TR_CLOSED after the start;
 * TR_MEMORY.
 */
TR_MUST_USE int tr_host_sleep(struct tr_host *host, const uint64_t *groups, size_t count);

/* Lets a group go on that sleeps, or all of them (0); one that is awake stays so. TR_CLOSED. */
TR_MUST_USE int tr_host_wake(struct tr_host *host, uint64_t group);

/* Moves an actor, with what is in its mailbox, to another worker; returns when it runs there. */
TR_MUST_USE int tr_host_move(struct tr_host *host, struct tr_ref actor, uint32_t worker);

/* Lets a quarantined actor go on; with `drop` without the message that failed twice. */
TR_MUST_USE int tr_host_resume(struct tr_host *host, struct tr_ref actor, bool drop);

/*
 * Why the host cannot go on, in words for a person; empty while it can. A store that fails ends a
 * host: what was not committed has been seen by nobody, and a restart goes on from the store.
 */
const char *tr_host_explain(struct tr_host *host);

/*
 * Why what is to be written waits, as an enum tr_error (TR_STORE_FULL above all); 0 while it does
 * not. It is tried again until it succeeds. From any thread.
 */
int tr_host_waits_for(const struct tr_host *host);

/* How many processes of tasks the host lets run at once. */
uint32_t tr_host_jobs(const struct tr_host *host);

/* How far the wall clock was put back between the store's host before and this one. */
uint64_t tr_host_put_back_ms(const struct tr_host *host);

/* ------------------------------------------------------------ looking at a host */

/* A part of the program that has ended the process: how often, by which function, the last time. */
struct tr_blamed {
    char part[TR_BLAME_PART_BYTES_MAX];
    char function[TR_BLAME_FUNCTION_BYTES_MAX];
    uint32_t ended_by; /* a signal; TR_BLAMED_STUCK: it did not return */
    uint32_t count;
};
#define TR_BLAMED_STUCK 255

/*
 * Those that are remembered in a store's folder, at most TR_BLAMED_MAX; gives how many. A new host
 * has counted what ended the process before it. From any thread; a list that cannot be read is
 * empty.
 */
size_t tr_blamed_read(const char *folder, struct tr_blamed blamed[TR_BLAMED_MAX]);

/* Forgets those of which `is_meant` says so. TR_SYSTEM: the list could not be written. */
TR_MUST_USE int tr_blamed_forget(const char *folder,
                                 bool (*is_meant)(const void *self, const struct tr_blamed *blamed),
                                 const void *self);

/*
 * Groups that are put aside: loading them has ended the process TR_ASIDE_ENDS times in a row, or
 * has found no memory. They stay in the store as they are, and what is said to them waits there, up
 * to TR_UNBORN_MESSAGES_MAX messages, until they are taken up again and a host starts.
 *
 * tr_aside_read gives how many there are, at most TR_ASIDE_MAX; a list that cannot be read is none.
 * tr_aside_lift forgets one, also one that is only suspected. TR_SYSTEM: the list could not be
 * written. From any thread.
 */
size_t tr_aside_read(const char *folder, uint64_t groups[TR_ASIDE_MAX]);
TR_MUST_USE int tr_aside_lift(const char *folder, uint64_t group);

/* Whether this host has put a group aside. */
bool tr_host_is_aside(const struct tr_host *host, uint64_t group);

/*
 * The program reads what belongs to a group before the host's start, and that is counted as its
 * loading is; 0: no more. A start that ends before that, in order too, counts as one that it ended.
 */
void tr_host_loads(struct tr_host *host, uint64_t group);

/* A figure of a host: a total since its start. */
struct tr_metric {
    const char *name;
    const char *text; /* what it counts */
    uint64_t value;
};

/*
 * The figures of all workers, summed up; `count` is how many there are. By the thread that made the
 * host; nothing is stopped. Errors: TR_CLOSED (it does not run), TR_TIMEOUT (a worker's handler is
 * stuck), TR_MEMORY.
 */
TR_MUST_USE int tr_host_metrics(struct tr_host *host, struct tr_metric metrics[TR_METRICS_MAX],
                                size_t *count);

/* A message that nobody took, and why not. */
struct tr_dead_letter {
    struct tr_envelope envelope;
    uint64_t at_ms;
    int reason;
    uint32_t worker;
};

/*
 * The newest dead letters that are kept (TR_DEAD_LETTERS_KEPT of each worker), at most `capacity`,
 * oldest first. Thread and errors as tr_host_metrics.
 */
TR_MUST_USE int tr_host_dead_letters(struct tr_host *host, struct tr_dead_letter *letters,
                                     size_t capacity, size_t *count);

/* An actor as its worker sees it. Texts live as long as the call that shows it. */
struct tr_actor_seen {
    struct tr_ref actor;
    struct tr_text address; /* from the root, or from "~" where the rest lives on another worker */
    struct tr_text behaviour;
    struct tr_text phase; /* "idle", "ready", "backing off", "quarantined", … */
    uint32_t worker;
    uint32_t mailbox;
    uint32_t edges;   /* timers, monitors, links, open questions */
    uint64_t waiting; /* open questions and calls among them */
};

/*
 * Shows each actor whose address matches a pattern (as in taps: `*` within a name, `**` anything),
 * of each worker at most `limit`. `found` (or NULL) is how many match in all. Thread and errors as
 * tr_host_metrics.
 */
TR_MUST_USE int tr_host_actors(struct tr_host *host, struct tr_text pattern, uint32_t limit,
                               void (*visit)(void *self, const struct tr_actor_seen *actor),
                               void *self, uint64_t *found);

/*
 * Writes the flight recorders of all workers to a file descriptor, one event a line. Thread and
 * errors as tr_host_metrics, but a worker that is stuck is written too, as it is.
 */
TR_MUST_USE int tr_host_dump(struct tr_host *host, int descriptor);

/* Commits what there is, ends the threads and leaves actors as they are in the store. */
void tr_host_stop(struct tr_host *host);

/* Frees the host, stopping it first; NULL is fine. */
void tr_host_free(struct tr_host *host);

#endif
