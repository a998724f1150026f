/*
 * Making, running and observing a host of actors; part of the public header, troupe.h.
 */
#ifndef TR_RUNTIME_HOSTING_H
#define TR_RUNTIME_HOSTING_H

#include "runtime/behaviour.h"
#include "runtime/exchange.h"
#include "runtime/figures.h"
#include "runtime/journal/store.h"
#include "runtime/link/wire_keys.h"
#include "schemas/runtime/crash.h"

struct tr_host;

/*
 * A host belongs to the thread that made it: all functions with a tr_host are for that thread,
 * unless they say otherwise.
 */

/* Another host: messages to its actors are sent by their references. */
struct tr_peer {
    uint16_t number;
    const char *address; /* its listening address */
    const uint8_t *key; /* its public key, TR_WIRE_KEY_BYTES; NULL: what is sent is not encrypted */
};

/* A group that is not with its partition, whose number its own begins with. */
struct tr_group_place {
    uint64_t group;
    uint16_t number; /* of the host that has it, which may be this one */
};

/* Options of a host; zeros are defaults. */
struct tr_host_options {
    uint32_t worker_count; /* 0: one per core, at most TR_WORKERS_MAX */
    enum tr_durability durability;
    const char *folder; /* of the store; required unless durability is NONE */
    const struct tr_behaviour *const *behaviours;
    size_t behaviour_count;
    const struct tr_schema *const *records; /* written by tr_record */
    size_t record_count;
    const struct tr_views *views;       /* of these records; NULL: none */
    uint64_t seed;                      /* for random numbers; 0: from the system */
    bool has_http;                      /* provides TR_SERVICE_HTTP */
    bool has_files;                     /* provides TR_SERVICE_FILES; it needs a folder */
    const struct tr_exchange *exchange; /* for its large documents; NULL: it refuses them */
    /* argv of the keeper of processes, NULL-terminated; NULL: no TR_SERVICE_PROCESSES */
    const char *const *keeper_command;
    uint32_t jobs;          /* processes at once; 0: one per core */
    bool is_cold;           /* no process is forked from a warm worker */
    bool expects_processes; /* the keeper is started with the host, and not with the first one */
    const struct tr_secret_source *secrets; /* in order; they outlive the host */
    size_t secret_count;                    /* 0: the environment, then the user's folder */
    const struct tr_identity *identities;   /* of requests of http; they outlive the host */
    size_t identity_count;
    /* A folder appended to a variable of all processes, such as PYTHONPATH; NULL: none. */
    const char *search_variable; /* both outlive the host */
    const char *search_folder;
    /* Values of variables that processes ask for by name and the host's environment has not. */
    struct tr_variable_maker variables;
    const struct tr_object_store *object_stores; /* for TR_SERVICE_FILES; they outlive the host */
    size_t object_store_count;
    /*
     * Where blobs are kept: an absolute path, or s3://BUCKET[/PREFIX], of one of object_stores.
     * NULL: where the store has them. It outlives the host.
     */
    const char *blobs;
    /* Where the store may have several hosts (deploy/HOSTS.md); they outlive the host. */
    const char *host_name;     /* NULL: that of the machine */
    uint32_t lease_ms;         /* silent for so long it may be fenced; 0: TRI_MEMBER_LEASE_MS */
    uint32_t process_lease_ms; /* its processes end so long behind its last word; 0: as usual */
    uint32_t unclaimed_ms;     /* how long unclaimed ends of processes are kept; 0: ten minutes */
    uint16_t aside_behaviour;  /* groups whose first actor has it may be set aside; 0: none */
    const uint64_t *lifted;    /* groups that are not set aside any more */
    size_t lifted_count;
    /*
     * Called with `opened_self` when the store is open, and no other engine can have it, before it
     * is loaded: others may read it from now on. NULL: nothing.
     */
    void (*opened)(void *self);
    void *opened_self;
    bool is_balanced;          /* moves actors from busy workers to idle ones */
    uint32_t stuck_handler_ms; /* 0: TR_STUCK_HANDLER_MS */
    struct tr_bounds bounds;
    int interrupt; /* a descriptor that is readable when waiting should stop; 0: none */
    uint32_t http_receiver_timeout_ms; /* 0: TR_HTTP_RECEIVER_TIMEOUT_MS */
    void *program;                     /* returned by tr_program; it outlives the host */
    uint32_t counter_count;            /* counters of tr_count, at most TR_COUNTERS_MAX */
    /*
     * One that works beside other hosts of a store in a database, by the store's table of hosts:
     * its number and all below but `listen` are found there, and kept up by tr_host_follow; what
     * hosts say to each other is encrypted. It listens where the others reach it.
     */
    bool is_member;
    bool keeps_groups; /* it gives others no groups for balance, but those that are wanted there */
    /*
     * Called with `program` before groups of partitions come to a member that another host had, on
     * the thread of tr_host_follow: what they need is made ready, and read from the store, which
     * has all of them. It asks no actor. After an error they come with a later call. NULL: nothing.
     */
    int (*before_taking)(void *program, const bool *partitions, size_t count);
    /*
     * For several hosts: this one's number, 1 to TR_HOST_NUMBER_MAX, unique among them; it needs a
     * store. 0: there are no other hosts.
     */
    uint16_t number;
    /*
     * The host of each partition of all groups (0: nobody that is known), as it is in a view, the
     * number of its last change: of a store only what is in this host's partitions is loaded. NULL:
     * partition N is that of host N, and a store is that of its host for ever.
     */
    const uint16_t *partitions;
    const uint32_t *epochs; /* of the partitions: how many hosts each has had; NULL: none */
    size_t partition_count; /* at most TR_PARTITIONS_MAX */
    uint64_t view;
    uint8_t slot;       /* below TR_HOSTS_MAX, of no other host at the same time */
    const char *listen; /* its address for the others, such as "tcp://127.0.0.1:7070" */
    /*
     * With keys all that hosts say to each other is encrypted, each peer has one, and only peers
     * are let in. NULL: nothing is, and all addresses are of this machine.
     */
    const struct tr_wire_keys *keys;
    const struct tr_peer *peers;
    size_t peer_count;
    const struct tr_group_place *places; /* of groups that are not with their partition */
    size_t place_count;
};

/*
 * Makes a host, opens its store and loads it; nothing runs yet. Errors: those of the store,
 * TR_INVALID, TR_MEMORY; `explain` (TRI_STORE_EXPLAIN_BYTES, may be NULL) gets the words.
 */
TR_MUST_USE int tr_host_new(const struct tr_host_options *options, char *explain,
                            struct tr_host **host);

/* Starts the threads. */
TR_MUST_USE int tr_host_start(struct tr_host *host);

/*
 * Spawns an actor without a parent, in a group of its own; returns when the spawn is committed.
 * TR_BUSY when a worker's memory is at its limit.
 */
TR_MUST_USE int tr_host_spawn(struct tr_host *host, const struct tr_behaviour *behaviour,
                              const struct tr_spawn_options *options, struct tr_ref *actor);

/* A request for a spawn. */
struct tr_host_spawn_request {
    const struct tr_behaviour *behaviour;
    struct tr_spawn_options options;
};

/*
 * The same for several, at most TR_HOST_SPAWNS_MAX, on one worker, which commits them together.
 * After an error some of them may have been spawned, and are in `actors`.
 */
TR_MUST_USE int tr_host_spawn_all(struct tr_host *host, const struct tr_host_spawn_request *spawns,
                                  size_t count, struct tr_ref *actors);

/* Sends a message to an actor. */
TR_MUST_USE int tr_host_tell(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                             const void *body);

/*
 * The singleton of a behaviour and a name: an actor without a parent that is there once among all
 * hosts of a store, on the host of its partition. It begins with the first call of any host, its
 * state all zeros, and does not end by itself; `shard` tells several of one name apart. Returns
 * when that is committed. TR_EXISTS: its place is taken by another name; TR_INVALID: the name is
 * empty or too long, or this host was not told of partitions; TR_BUSY: later again, since there is
 * no memory for it now or its partition is being given to another host; those of tr_host_ask.
 */
TR_MUST_USE int tr_host_singleton(struct tr_host *host, const struct tr_behaviour *behaviour,
                                  struct tr_text name, uint32_t shard, struct tr_ref *singleton);

/*
 * The same without waiting: where it is. If it has not begun it begins before it gets what this
 * host's program says to it from now on, whatever it takes to reach it. Another name that has its
 * place hears that instead. TR_INVALID as above; those of tr_host_tell.
 */
TR_MUST_USE int tr_host_singleton_begin(struct tr_host *host, const struct tr_behaviour *behaviour,
                                        struct tr_text name, uint32_t shard,
                                        struct tr_ref *singleton);

/*
 * Where a singleton is, whether it has begun or not; also before the start of the host. What is
 * sent to one that has not begun is lost. TR_INVALID as tr_host_singleton.
 */
TR_MUST_USE int tr_host_singleton_ref(const struct tr_host *host, struct tr_text name,
                                      uint32_t shard, struct tr_ref *singleton);

/* Whether a group is this host's, in the last view that it has taken over; any if it is alone. */
bool tr_host_owns(const struct tr_host *host, uint64_t group);

/* Which partition a group is of: one that is a member's moves with it (tr_host_follow). */
uint64_t tr_group_partition(uint64_t group);

/*
 * Waits until the actor has ended and returns its reason: 0 or a tr_error. If it had ended before,
 * the reason is TR_NO_ACTOR, unless it was spawned with is_watched. `timeout_ms` 0 waits for ever;
 * TR_TIMEOUT does not change the actor.
 */
TR_MUST_USE int tr_host_wait(struct tr_host *host, struct tr_ref actor, uint64_t timeout_ms,
                             int *reason);

/*
 * Asks an actor, and waits: `take` (or NULL) gets the answer, whose views are valid until it
 * returns. The answer is committed. Errors: TR_TIMEOUT (`timeout_ms`; 0: none), TR_NO_ACTOR, the
 * reason of the actor's end, and the host's fatal error. The wait is short if the store cannot
 * write (its error, such as TR_STORE_FULL), or after an interrupt (TR_CLOSED): the request may
 * still be carried out.
 */
TR_MUST_USE int tr_host_ask(struct tr_host *host, struct tr_ref to, const struct tr_schema *schema,
                            const void *body, uint64_t timeout_ms,
                            void (*take)(void *self, const struct tr_message *answer), void *self);

/*
 * Asks an actor and does not wait: `take` gets the answer, which is committed, or NULL and why
 * there is none, later, while this thread is in a function that waits for the host, as
 * tr_host_poll. It may call nothing that waits. Questions that are open when the host is freed have
 * no answer. Errors: TR_CLOSED, TR_MEMORY, and those of sending; then it was not asked.
 */
TR_MUST_USE int tr_host_ask_on(
    struct tr_host *host, struct tr_ref to, const struct tr_schema *schema, const void *body,
    void (*take)(void *self, const struct tr_message *answer, int reason), void *self);

/* Monitors the end of an actor; tr_host_ended returns it. TR_CLOSED, TR_MEMORY. */
TR_MUST_USE int tr_host_monitor(struct tr_host *host, struct tr_ref actor, uint64_t *monitor);

/* Returns the reason of a monitored end, once; TR_NOT_FOUND: it has not ended yet. */
TR_MUST_USE int tr_host_ended(struct tr_host *host, struct tr_ref actor, uint64_t monitor,
                              int *reason);

/*
 * Waits until a message for this thread arrives, until `descriptor` is readable (-1: none), or the
 * time is over; may return early. TR_CLOSED, or the host's fatal error.
 */
TR_MUST_USE int tr_host_poll(struct tr_host *host, int descriptor, uint64_t timeout_ms);

/*
 * Finds an actor by its address: "/orders/worker[3]"; before the start of a host among its loaded
 * actors. TR_NOT_FOUND.
 */
TR_MUST_USE int tr_host_find(struct tr_host *host, struct tr_text address, struct tr_ref *actor);

/* Whether an actor was loaded; before the start. */
bool tr_host_has(struct tr_host *host, struct tr_ref actor);

/*
 * Makes loaded groups dormant, before the start: their actors are not run. Messages and timers wait
 * in their mailboxes, and none is lost; they cannot be moved (TR_BUSY), and end with their parents
 * as usual. TR_CLOSED after the start; TR_MEMORY.
 */
TR_MUST_USE int tr_host_set_dormant(struct tr_host *host, const uint64_t *groups, size_t count);

/* Wakes a dormant group, or all of them (0); an active one is not changed. TR_CLOSED. */
TR_MUST_USE int tr_host_wake(struct tr_host *host, uint64_t group);

/* ------------------------------------------------- what comes from another store */

/*
 * This start of the host, as a sender: its own group and the store's incarnation. With a serial
 * (enum tr_service) and a number they name what it has said. From any thread.
 */
struct tr_ref tr_host_self(const struct tr_host *host);

/* Whether it has memory for something new: 0 or TR_BUSY. From any thread. */
TR_MUST_USE int tr_host_may_begin(const struct tr_host *host);

/*
 * Begins to write operations into the store, all or none, in the order of the workers' batches.
 * They are copied. TR_BUSY: those before are not written yet; TR_CLOSED (no store, or it does not
 * run), TR_MEMORY.
 */
TR_MUST_USE int tr_host_write(struct tr_host *host, const struct tri_op *ops, size_t count);

/* Whether they are written: 0; TR_BUSY: not yet; the host's fatal error. tr_host_poll learns it. */
TR_MUST_USE int tr_host_written(struct tr_host *host);

/* Waits for it. Errors as tr_host_ask; they may still be written then. */
TR_MUST_USE int tr_host_write_wait(struct tr_host *host);

/* An actor of this host that is the parent of one that comes, and its address. */
struct tr_adoption_parent {
    struct tr_ref actor;
    struct tr_text address;
};

/*
 * Groups of another store, with all that is in them: counters, actors, pages and messages, in the
 * order of tri_op_compare; other kinds are passed over. The first actors of groups may have parents
 * here, all others have theirs among them.
 */
struct tr_adoption {
    const struct tri_op *ops;
    size_t count;
    const struct tr_adoption_parent *parents;
    size_t parent_count;
};

/*
 * Whether they can be taken in, and what that needs; the adoption stays as it is until the end.
 * TR_MALFORMED, TR_UNKNOWN_TYPE (no such behaviour), TR_LIMIT, TR_BUSY (the memory is at its
 * limit), TR_EXISTS (one of the groups is here), TR_INVALID (the host is one of several),
 * TR_CLOSED, TR_MEMORY.
 */
struct tr_adopting;
TR_MUST_USE int tr_host_adopt_prepare(struct tr_host *host, const struct tr_adoption *adoption,
                                      struct tr_adopting **adopting);

/*
 * Takes them in, once they are written: they are dormant, and tr_host_wake wakes them. Workers do
 * it in shares, so that others go on meanwhile. The only errors are those that end the host; the
 * next one loads them from the store.
 */
TR_MUST_USE int tr_host_adopt(struct tr_adopting *adopting);

/* Frees what was prepared; NULL is fine. */
void tr_host_adopt_drop(struct tr_adopting *adopting);

/* ------------------------------------------------- what a lost host has left */

/* Who has the partitions in a view, of several hosts of one store. */
struct tr_host_view {
    uint64_t view;
    const uint16_t *hosts;  /* the number of the host of each; 0: nobody that is known */
    const uint32_t *epochs; /* how many hosts each has had before; NULL: none */
    size_t count;           /* at most TR_PARTITIONS_MAX */
};

/*
 * Learns who has the partitions now. Those that this host gets and did not have it takes from
 * `store`, in which everything is that the lost host had: it loads their groups while others run,
 * and lets them go on. Messages to them wait meanwhile, and arrive once and in order. Errors change
 * nothing, but those that end the host: TR_BUSY (there is no memory for it now; or the store does
 * not answer), TR_INVALID (the host is alone, or would lose a partition), TR_NOT_FOUND (a host is
 * unknown), TR_EXISTS (the view is no later one), TR_UNKNOWN_TYPE, TR_MALFORMED, TR_STORE_DAMAGED
 * and others of reading, TR_CLOSED, TR_MEMORY.
 */
TR_MUST_USE int tr_host_take(struct tr_host *host, const struct tr_host_view *view,
                             struct tri_store *store);

/*
 * Takes over what the table of hosts says now (is_member): hosts that have come or are reached
 * elsewhere, who has which partition, and the groups of those that this host has got. To be called
 * about once a second; nothing has changed, mostly. Waiting for an actor calls it, too. Errors as
 * tr_host_take, TR_LIMIT (more hosts than there may be) and those of tri_store_settle: unless the
 * host ends, the next call goes on.
 */
TR_MUST_USE int tr_host_follow(struct tr_host *host);

/*
 * From now on it gives all that it can to those beside it, as it follows, and gets nothing until it
 * begins anew. TR_NOT_FOUND: nobody works beside it; others as those of the database.
 */
TR_MUST_USE int tr_host_drain(struct tr_host *host);

/* How many partitions it has. */
uint64_t tr_host_owned(const struct tr_host *host);

/* Whether it should follow now, and not only in a second. */
bool tr_host_must_follow(const struct tr_host *host);

/*
 * Readable when the table of hosts has changed, for tr_host_follow; -1: it works beside no others.
 * And whether it has since the last such question.
 */
int tr_host_news(const struct tr_host *host);
bool tr_host_has_news(struct tr_host *host);

/*
 * Shows each other host that is lost or has left, as the table said when it was taken over last
 * (tr_host_follow), with the incarnation that it is lost in.
 */
void tr_host_lost(const struct tr_host *host,
                  void (*show)(void *self, uint16_t number, uint64_t incarnation), void *self);

/*
 * Shows each host that lives, this one among them, as the table said then; and the last incarnation
 * that any host had been given. 0: it works beside no others.
 */
uint64_t tr_host_living(const struct tr_host *host, void (*show)(void *self, uint16_t number),
                        void *self);

/* The name of the host that lives and has a public key (TR_WIRE_KEY_BYTES); false: none has it. */
bool tr_host_name_of_key(const struct tr_host *host, const uint8_t *key, char *name, size_t size);

/* The keys by which the other hosts know this one; NULL: it works beside no others. */
const struct tr_wire_keys *tr_host_keys(const struct tr_host *host);

/* Moves an actor, with its mailbox, to another worker; returns when it runs there. */
TR_MUST_USE int tr_host_move(struct tr_host *host, struct tr_ref actor, uint32_t worker);

/* Resumes a quarantined actor; with `drop` without the message that failed twice. */
TR_MUST_USE int tr_host_resume(struct tr_host *host, struct tr_ref actor, bool drop);

/*
 * Keeps a graph in the store, once: `row` is its hash (TRI_GRAPH_HASH_BYTES) and the graph behind
 * it, `now_ms` the wall time, from which its age begins anew. It is committed with or before
 * whatever actors do because of messages that are sent after this returns. From any thread. TR_BUSY
 * (too much waits for the store), TR_CLOSED, TR_MEMORY; TR_INVALID without durability.
 */
TR_MUST_USE int tr_host_put_graph(struct tr_host *host, struct tr_bytes row, uint64_t now_ms);

/*
 * Removes graphs, by hashes that lie behind each other, but for those that were put after
 * `before_ms`; returns when it is committed. Errors as above, and the store's while it cannot be
 * written.
 */
TR_MUST_USE int tr_host_remove_graphs(struct tr_host *host, struct tr_bytes hashes,
                                      uint64_t before_ms);

/*
 * The fatal error of the host in words; empty if there is none. A failing store ends a host:
 * uncommitted effects have not been visible, and a restart continues from the store.
 */
const char *tr_host_explain(struct tr_host *host);

/*
 * Why writes to the store wait, as an enum tr_error (usually TR_STORE_FULL); 0 if they do not. They
 * are retried until they succeed. From any thread.
 */
int tr_host_waits_for(const struct tr_host *host);

/*
 * Something that people should know of this host, in words, such as that memory is not bounded;
 * NULL: nothing. What comes later takes no place of it. From any thread.
 */
const char *tr_host_note(const struct tr_host *host);

/* The number of processes that the host runs at once. */
uint32_t tr_host_jobs(const struct tr_host *host);

/*
 * The number of the store, which no other has; its first host has drawn it. 0 without durability.
 */
uint64_t tr_host_store_number(const struct tr_host *host);

/* How far the wall clock was set back between the store's previous host and this one. */
uint64_t tr_host_put_back_ms(const struct tr_host *host);

/* ------------------------------------------------------------ looking at a host */

/* `ended_by` of a part that did not return, beside the numbers of signals. */
#define TR_CRASH_STUCK 255

/*
 * The parts of the program (tr_attribute_crash) that have ended the process, the last end included,
 * and their number.
 */
size_t tr_host_crash_attributions(const struct tr_host *host,
                                  struct tr_crash_part parts[TR_CRASH_ATTRIBUTIONS_MAX]);

/*
 * Forgets those for which `is_meant` returns true; it is committed when this returns. By the thread
 * that made the host. TR_BUSY, TR_CLOSED, TR_MEMORY, or what the journal waits for.
 */
TR_MUST_USE int tr_host_forget_crash_attributions(
    struct tr_host *host, bool (*is_meant)(const void *self, const struct tr_crash_part *part),
    const void *self);

/*
 * A group is set aside when loading it has ended the process TR_ASIDE_ENDS times in a row, or has
 * failed for want of memory. It stays in the store, and messages to it wait there, up to
 * TR_UNSPAWNED_MESSAGES_MAX, until it is lifted and a host starts.
 *
 * tr_host_lift_aside lifts one, also one below that count; thread and errors as before.
 */
TR_MUST_USE int tr_host_lift_aside(struct tr_host *host, uint64_t group);

/* Whether this host has set a group aside. */
bool tr_host_is_aside(const struct tr_host *host, uint64_t group);

/*
 * The program reads data of a group before the host's start, which counts like loading it; 0:
 * finished. A start that ends before that, also in order, counts as ended by the group.
 */
void tr_host_note_loading(struct tr_host *host, uint64_t group);

/* A metric of a host: a total since its start, or a current level. */
struct tr_metric {
    const char *name;
    const char *text; /* description */
    uint64_t value;
    bool is_level; /* a current level */
};

/*
 * The metrics of all workers, summed up; `count` is their number. Called by the thread that made
 * the host; nothing is stopped. Errors: TR_CLOSED (it does not run), TR_TIMEOUT (a worker's handler
 * is stuck), TR_MEMORY.
 */
TR_MUST_USE int tr_host_metrics(struct tr_host *host, struct tr_metric metrics[TR_METRICS_MAX],
                                size_t *count);

/*
 * The gauges of the states of all actors (struct tr_behaviour), and the program's counters
 * (tr_count), as many as the options say. Sums over all workers; thread and errors as
 * tr_host_metrics.
 */
TR_MUST_USE int tr_host_gauges(struct tr_host *host, int64_t gauges[TR_GAUGES_MAX]);
TR_MUST_USE int tr_host_counters(struct tr_host *host, uint64_t *counters);

/*
 * The metrics of the journal and the services. Called by the thread that made the host; they are
 * read without a request, so they are available also while these hang.
 */
void tr_host_journal_figures(const struct tr_host *host, struct tr_journal_figures *figures);
void tr_host_service_figures(const struct tr_host *host, struct tr_service_figures *figures);

/*
 * Waits until the store's tables have what is acknowledged, as long as they can be written: for a
 * reader of this process. The program's thread.
 */
void tr_host_catch_up(const struct tr_host *host);

/* A message that no actor took, and the reason. */
struct tr_dead_letter {
    struct tr_envelope envelope;
    uint64_t at_ms;
    int reason;
    uint32_t worker;
};

/*
 * The newest kept dead letters (TR_DEAD_LETTERS_KEPT of each worker), at most `capacity`, oldest
 * first. Thread and errors as tr_host_metrics.
 */
TR_MUST_USE int tr_host_dead_letters(struct tr_host *host, struct tr_dead_letter *letters,
                                     size_t capacity, size_t *count);

/* A copy of an actor's data. Texts are valid during the call that shows it. */
struct tr_actor_info {
    struct tr_ref actor;
    struct tr_text address; /* from the root, or from "~" if a parent is unknown */
    struct tr_text behaviour;
    struct tr_text phase; /* "idle", "ready", "backing off", "quarantined", … */
    uint32_t worker;
    uint32_t mailbox;
    uint32_t edges;   /* timers, monitors, open questions */
    uint64_t waiting; /* of these, open questions and calls */
    uint64_t memory;  /* bytes: of the actor, its pages, edges, and messages that wait */
};

/*
 * Shows each actor whose address matches a pattern (as in taps: `*` within a name, `**` anything),
 * of each worker at most `limit`. `found` (or NULL) gets the number of all matching ones. Thread
 * and errors as tr_host_metrics.
 */
TR_MUST_USE int tr_host_actors(struct tr_host *host, struct tr_text pattern, uint32_t limit,
                               void (*visit)(void *self, const struct tr_actor_info *actor),
                               void *self, uint64_t *found);

/*
 * Writes the flight recorders of all workers to a file descriptor, one event a line. Thread and
 * errors as tr_host_metrics, but a stuck worker's is written too, directly.
 */
TR_MUST_USE int tr_host_dump(struct tr_host *host, int descriptor);

/* Commits pending changes, ends the threads and leaves actors in the store as they are. */
void tr_host_stop(struct tr_host *host);

/* Frees the host, stopping it first; NULL is fine. */
void tr_host_free(struct tr_host *host);

#endif
