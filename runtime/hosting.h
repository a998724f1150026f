/*
 * How a host of actors is made, run and looked at; part of the public header, troupe.h.
 */
#ifndef TR_RUNTIME_HOSTING_H
#define TR_RUNTIME_HOSTING_H

#include "runtime/behaviour.h"
#include "runtime/exchange.h"
#include "runtime/figures.h"
#include "runtime/journal/store.h"

struct tr_host;

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
    /* A folder that stands last in a variable of all processes, such as PYTHONPATH; NULL: none. */
    const char *search_variable; /* both outlive the host */
    const char *search_folder;
    const struct tr_object_store *object_stores; /* for files; they outlive the host */
    size_t object_store_count;
    uint32_t unclaimed_ms;     /* keeps ends of processes nobody asks for; 0: ten minutes */
    uint16_t aside_behaviour;  /* groups whose first actor has it may be set aside; 0: none */
    bool is_balanced;          /* moves actors from busy workers to idle ones */
    uint32_t stuck_handler_ms; /* 0: TR_STUCK_HANDLER_MS */
    struct tr_bounds bounds;
    int interrupt; /* a descriptor, readable when waiting should stop; 0: none */
    uint32_t http_receiver_timeout_ms; /* 0: TR_HTTP_RECEIVER_TIMEOUT_MS */
    void *program;                     /* what tr_program gives to handlers; it outlives the host */
    uint32_t counter_count;            /* counters of tr_count, at most TR_COUNTERS_MAX */
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
 * Spawns an actor without a parent, in a group of its own; returns when it is spawned, and
 * that is committed. TR_BUSY when a worker's memory is at its limit.
 */
TR_MUST_USE int tr_host_spawn(struct tr_host *host, const struct tr_behaviour *behaviour,
                              const struct tr_spawn_options *options, struct tr_ref *actor);

/* A spawn among others. */
struct tr_host_spawn_request {
    const struct tr_behaviour *behaviour;
    struct tr_spawn_options options;
};

/*
 * The same for several, at most TR_HOST_SPAWNS_MAX, on one worker, which commits them together.
 * After an error some of them may have been spawned, and stand in `actors`.
 */
TR_MUST_USE int tr_host_spawn_all(struct tr_host *host, const struct tr_host_spawn_request *spawns,
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
TR_MUST_USE int tr_host_poll(struct tr_host *host, int descriptor, uint64_t timeout_ms);

/*
 * The actor named so, from the root: "/orders/worker[3]"; before the start of a host among those
 * that it has loaded. TR_NOT_FOUND.
 */
TR_MUST_USE int tr_host_find(struct tr_host *host, struct tr_text address, struct tr_ref *actor);

/* Whether an actor is among those that a host has loaded; before its start. */
bool tr_host_has(struct tr_host *host, struct tr_ref actor);

/*
 * Makes groups dormant that a host has loaded, before its start: their actors are not run. What is
 * sent to them and what their timers say waits in their mailboxes, and nothing of it is lost; they
 * cannot be moved (TR_BUSY), and end with their parents as ever. TR_CLOSED after the start;
 * TR_MEMORY.
 */
TR_MUST_USE int tr_host_set_dormant(struct tr_host *host, const uint64_t *groups, size_t count);

/* Wakes a dormant group, or all of them (0); an active one stays so. TR_CLOSED. */
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
struct tr_crash_attribution {
    char part[TR_ATTRIBUTION_PART_BYTES_MAX];
    char function[TR_ATTRIBUTION_FUNCTION_BYTES_MAX];
    uint32_t ended_by; /* a signal; TR_CRASH_STUCK: it did not return */
    uint32_t count;
};
#define TR_CRASH_STUCK 255

/*
 * Those that are remembered in a store's folder, at most TR_CRASH_ATTRIBUTIONS_MAX; gives how many.
 * A new host has counted what ended the process before it. From any thread; a list that cannot be
 * read is empty.
 */
size_t tr_crash_attributions_read(const char *folder,
                                  struct tr_crash_attribution crashes[TR_CRASH_ATTRIBUTIONS_MAX]);

/* Forgets those of which `is_meant` says so. TR_SYSTEM: the list could not be written. */
TR_MUST_USE int tr_crash_attributions_forget(
    const char *folder,
    bool (*is_meant)(const void *self, const struct tr_crash_attribution *crashes),
    const void *self);

/*
 * Groups that are set aside: loading them has ended the process TR_ASIDE_ENDS times in a row, or
 * has found no memory. They stay in the store as they are, and what is said to them waits there, up
 * to TR_UNSPAWNED_MESSAGES_MAX messages, until they are taken up again and a host starts.
 *
 * tr_aside_read gives how many there are, at most TR_ASIDE_MAX; a list that cannot be read is none.
 * tr_aside_lift forgets one, also one that is only suspected. TR_SYSTEM: the list could not be
 * written. From any thread.
 */
size_t tr_aside_read(const char *folder, uint64_t groups[TR_ASIDE_MAX]);
TR_MUST_USE int tr_aside_lift(const char *folder, uint64_t group);

/* Whether this host has set a group aside. */
bool tr_host_is_aside(const struct tr_host *host, uint64_t group);

/*
 * The program reads what belongs to a group before the host's start, and that is counted as its
 * loading is; 0: no more. A start that ends before that, in order too, counts as one that it ended.
 */
void tr_host_note_loading(struct tr_host *host, uint64_t group);

/* A figure of a host: a total since its start, or how much there is now. */
struct tr_metric {
    const char *name;
    const char *text; /* what it counts */
    uint64_t value;
    bool is_level; /* how much there is now */
};

/*
 * The figures of all workers, summed up; `count` is how many there are. By the thread that made the
 * host; nothing is stopped. Errors: TR_CLOSED (it does not run), TR_TIMEOUT (a worker's handler is
 * stuck), TR_MEMORY.
 */
TR_MUST_USE int tr_host_metrics(struct tr_host *host, struct tr_metric metrics[TR_METRICS_MAX],
                                size_t *count);

/*
 * The gauges that the states of all actors count among (struct tr_behaviour), and the program's
 * counters (tr_count), of which there have to be as many as the options say. Sums over all workers;
 * thread and errors as tr_host_metrics.
 */
TR_MUST_USE int tr_host_gauges(struct tr_host *host, int64_t gauges[TR_GAUGES_MAX]);
TR_MUST_USE int tr_host_counters(struct tr_host *host, uint64_t *counters);

/*
 * How the journal and the services stand. By the thread that made the host; nobody is asked, so
 * that it is known while they hang, too.
 */
void tr_host_journal_figures(const struct tr_host *host, struct tr_journal_figures *figures);
void tr_host_service_figures(const struct tr_host *host, struct tr_service_figures *figures);

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
struct tr_actor_info {
    struct tr_ref actor;
    struct tr_text address; /* from the root, or from "~" where the rest lives on another worker */
    struct tr_text behaviour;
    struct tr_text phase; /* "idle", "ready", "backing off", "quarantined", … */
    uint32_t worker;
    uint32_t mailbox;
    uint32_t edges;   /* timers, monitors, open questions */
    uint64_t waiting; /* open questions and calls among them */
};

/*
 * Shows each actor whose address matches a pattern (as in taps: `*` within a name, `**` anything),
 * of each worker at most `limit`. `found` (or NULL) is how many match in all. Thread and errors as
 * tr_host_metrics.
 */
TR_MUST_USE int tr_host_actors(struct tr_host *host, struct tr_text pattern, uint32_t limit,
                               void (*visit)(void *self, const struct tr_actor_info *actor),
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
