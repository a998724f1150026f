/*
 * A worker: everything that one thread needs to run its actors, and that no other thread accesses.
 * `struct tri_shared` is shared by all workers of a host; it does not change after the start,
 * except for a few atomic counters.
 *
 * The files of this folder operate on it: deliver (messages), run (handlers), effects (results of
 * handlers), supervise (failures and ends), wheel (timers), image (to and from bytes). The loop
 * that calls them is worker/worker.c.
 */
#ifndef TR_RUNTIME_ACTOR_WORKER_H
#define TR_RUNTIME_ACTOR_WORKER_H

#include <stdatomic.h>

#include "runtime/actor/actor.h"
#include "runtime/actor/current_message.h"
#include "runtime/actor/table.h"
#include "runtime/env/env.h"
#include "runtime/journal/batch.h"
#include "runtime/limits.h"
#include "runtime/link/directory.h"
#include "runtime/link/outbox.h"
#include "runtime/link/owners.h"
#include "runtime/trace/recorder.h"

/* If messages take longer on average, the worker reads the clock between them. */
#define TRI_SLOW_MESSAGE_NS 5000

/* Number of sizes of actors (header and state) and of messages that have a slab. */
#define TRI_ACTOR_SLABS 24
#define TRI_MESSAGE_SLABS 8

/* Shared by all workers of a host. */
struct tri_shared {
    struct tr_env *env;
    const struct tr_behaviour *behaviours[TR_BEHAVIOURS_MAX];
    uint32_t behaviour_count;
    uint32_t worker_count;
    enum tr_durability durability;
    /*
     * This start of the host, as a sender: its own group and the store's incarnation. The serial is
     * of who sends.
     */
    struct tr_ref host;
    uint32_t services;              /* bits by enum tr_service: available services */
    struct tri_directory directory; /* the hosts */
    struct tri_owners owners;       /* which of them has which group, at the start */
    bool has_partitions; /* it was told who has them, and a store may have those of others, too */
    uint32_t partition_count; /* of all hosts; 0: it was not told */
    uint8_t slot;             /* of this host among those of its store */
    uint64_t voice;           /* the group in which it speaks to others itself */
    void *program;            /* tr_program */
    struct tr_bounds bounds;
    bool is_balanced;             /* actors move from busy workers to idle ones */
    atomic_bool has_lost_workers; /* the store has counters of workers beyond this start's */
    uint64_t seed;
    uint32_t counter_count; /* of the program's counters */
    struct tri_life life;
    atomic_uint_fast64_t next_number; /* of the journal's total order */
    atomic_uint_fast64_t moves; /* of actors between workers: begun and ended; odd during one */
};

/* Doubly linked timers by due time, on levels of 64 places each; see wheel.c. */
#define TRI_WHEEL_LEVELS 7
#define TRI_WHEEL_PLACES 64

struct tri_wheel {
    uint64_t now_ms;
    uint32_t places[TRI_WHEEL_LEVELS * TRI_WHEEL_PLACES + 1]; /* edges; place 0 is not used */
    uint64_t occupied[TRI_WHEEL_LEVELS];
    uint32_t count;
};

/* A group on one worker: its spawns here. */
struct tri_group {
    uint64_t number;
    uint64_t next_spawn; /* of this worker */
    uint32_t epoch;
    uint32_t actor_count; /* alive here */
    uint64_t bytes;       /* of them and their pages */
    bool is_counter_dirty;
    bool is_spread; /* other workers may have actors of it: some have moved */
    bool is_aside;  /* it was not loaded: messages to it are kept */
    bool is_ended;  /* its first actor has ended: it is removed with its last one here */
};

/* The index of a group's epoch among its counters in the store: after those of all workers. */
#define TRI_COUNTER_EPOCH (TR_WORKERS_MAX + 1)

/* Groups by number: open addressing. */
struct tri_group_map {
    struct tri_group *groups; /* number 0: empty */
    uint32_t mask;
    uint32_t count;
    uint32_t recent; /* the last found entry */
};

/* A small map from keys to numbers, with open addressing, for properties that few actors have. */
struct tri_key_map {
    struct tri_key_entry *entries;
    uint32_t mask;
    uint32_t count;
    uint32_t recent; /* the last found entry */
};

struct tri_key_entry {
    struct tr_key key; /* serial 0: empty */
    uint64_t value;
};

/* A set of keys that also lists those of one group, without a look at the others. */
struct tri_key_groups {
    struct tri_key_map places; /* key → which of its group's it is, from 1 on */
    struct tri_key_map lists; /* (group, place) → serial; (group, TRI_KEY_GROUPS_COUNT) → count */
};

#define TRI_KEY_GROUPS_COUNT UINT64_MAX

/* Runnable actors. */
struct tri_run_queue {
    uint32_t head;
    uint32_t tail;
    uint32_t count;
};

/* The effects of a handler beside messages. */
enum tri_effect_kind {
    TRI_EFFECT_SPAWN,       /* slot: of the actor, in phase SPAWNING */
    TRI_EFFECT_EDGE_ADD,    /* edge, peer, id, due_ms; slot: taken by prepare */
    TRI_EFFECT_EDGE_REMOVE, /* edge, id */
    TRI_EFFECT_PAGE,        /* page, bytes (NULL: dropped), size */
    /* page = schema id, peer.incarnation = version, bytes, size, key_size; id = 1: a key's first */
    TRI_EFFECT_RECORD,
    TRI_EFFECT_RECORD_DELETE, /* the same; id = number of key fields */
    TRI_EFFECT_COUNT,         /* page = the counter, id = the increment */
};

/* One effect of a handler that is not a message. */
struct tri_effect {
    uint8_t kind;      /* enum tri_effect_kind */
    uint8_t edge;      /* enum tri_edge_kind */
    uint16_t key_size; /* of a record's row, as in struct tri_op */
    uint32_t page;
    uint32_t slot;
    uint32_t size;
    struct tr_ref peer;
    uint64_t id;
    uint64_t due_ms;
    void *bytes;
};

/* A handler's context; one per worker. */
struct tr_context {
    struct tri_worker *worker;
    struct tri_actor *actor;
    const struct tr_message *message;
    uint64_t sequence;
    uint64_t random;
    uint64_t trace;
    struct tri_message *outbox_head;
    struct tri_message *outbox_tail;
    uint32_t outbox_count;
    uint32_t spawned_slot;
    struct tri_effect *effects;
    uint32_t effect_count;
    uint32_t effect_capacity;
    bool is_stopping;
    bool is_answered;   /* the current question was answered */
    bool is_unexpected; /* the behaviour does not know the current message */
};

/* Metrics: totals since the start, one set per worker. */
#define TRI_METRICS(M)                                                            \
    M(messages_handled, "messages handled")                                       \
    M(messages_local, "messages to an actor of the same worker")                  \
    M(messages_sent, "messages to another worker or service")                     \
    M(messages_received, "messages from another worker or service")               \
    M(actors_spawned, "actors spawned")                                           \
    M(actors_ended, "actors ended")                                               \
    M(actors_moved_in, "actors moved here from another worker")                   \
    M(actors_moved_out, "actors moved to another worker")                         \
    M(handler_failures, "handlers that returned an error")                        \
    M(handlers_slow, "runs of an actor that took longer than TR_SLOW_HANDLER_MS") \
    M(quarantines, "actors put into quarantine")                                  \
    M(dead_letters, "messages that no actor took")                                \
    M(undecodable, "messages without a valid envelope")                           \
    M(mutes, "senders muted by a full mailbox")                                   \
    M(timers_fired, "timers that came due")                                       \
    M(interhost_sent, "numbered messages to groups on other hosts")               \
    M(interhost_again, "the same, sent again without an acknowledgement")         \
    M(interhost_duplicates, "messages of other hosts that were applied before")   \
    M(interhost_stale, "messages of hosts that no longer own their group")        \
    M(interhost_waited, "messages that waited for room for a pair of groups")     \
    M(cuts, "batches sent to the journal")                                        \
    M(slices, "iterations of the worker's loop")

struct tri_metrics {
#define TRI_METRIC(name, text) uint64_t name;
    TRI_METRICS(TRI_METRIC)
#undef TRI_METRIC
};

/* Current levels: L(name, description, member of the worker). */
#define TRI_LEVELS(L)                                                            \
    L(actors, "live actors", actor_count)                                        \
    L(actors_ready, "runnable actors in a queue", ready.count)                   \
    L(timers, "timers and deadlines not due yet", wheel.count)                   \
    L(messages_unspawned, "messages to actors not spawned yet", unspawned_count) \
    L(cuts_outstanding, "batches not committed yet", cuts_outstanding)           \
    L(cut_bytes_outstanding, "bytes of these batches", cut_bytes_outstanding)

struct tri_levels {
#define TRI_LEVEL(name, text, member) uint64_t name;
    TRI_LEVELS(TRI_LEVEL)
#undef TRI_LEVEL
};

/* A dead letter, as people see it. */
struct tri_dead_letter {
    struct tr_envelope envelope;
    uint64_t at_ms;
    int reason;
};

/* Messages held for one actor that has just moved here. */
struct tri_held {
    struct tri_held *next;
    struct tr_key actor;
    struct tri_message *head;
    struct tri_message *tail;
    uint32_t count;
};

struct tri_worker {
    struct tri_shared *shared;
    const struct tri_watch_ops *watch; /* actor/hooks.h */
    const struct tri_remote_ops *remote;
    /* Handles a frame (host/receive.h); set by whoever has it step. */
    void (*receive)(struct tri_worker *worker, const struct tri_frame *frame);
    struct tri_channel *link;
    uint32_t index;
    bool is_journaled;
    bool is_stopping;
    /* The time of this slice: wall clock and steady clock (struct tri_life). */
    uint64_t now_ms;
    uint64_t steady_ms;
    uint64_t now_ns;
    uint64_t clock; /* hybrid logical clock */
    uint64_t said;  /* number of messages of the worker itself, such as DOWN for an ended actor */
    /* Memory. */
    struct tri_chunk_directory directory;
    struct tri_slab actor_slabs[TRI_ACTOR_SLABS];
    struct tri_slab message_slabs[TRI_MESSAGE_SLABS];
    struct tri_slab edge_slab;
    uint32_t reserve[TR_SIGNAL_RESERVE]; /* spare messages for signals without memory */
    uint32_t reserve_count;
    bool uses_reserve;
    /* Actors and groups here. */
    struct tri_table table;
    struct tri_group_map groups;
    uint64_t next_group;                 /* number of groups created here */
    struct tri_key_map families;         /* parent's key → slot of its first child here */
    struct tri_key_map parent_addresses; /* parent's key → its address, if only children are here */
    struct tri_key_map routes;           /* key → worker, for actors that moved */
    uint32_t actor_count;
    /* Scheduling. */
    struct tri_run_queue ready;
    struct tri_run_queue urgent;
    uint32_t urgent_in_row;
    struct tri_wheel wheel;
    struct tr_context context;
    uint8_t *scratch; /* the copy of the state for a handler */
    /* Messages to other places. */
    struct tri_outbox outbox;
    /* Changes for the journal. */
    struct tri_batch batch;
    uint32_t *dirty; /* slots of actors to write; ended ones are no longer marked */
    uint32_t dirty_count;
    uint32_t dirty_capacity;
    uint32_t handled_since_cut;
    uint64_t *dirty_groups; /* numbers of groups with spawns since the last cut */
    uint32_t dirty_group_count;
    uint32_t dirty_group_capacity;
    uint64_t cut_number;            /* of the last batch */
    uint64_t committed_number;      /* reported by the journal */
    uint32_t cuts_outstanding;      /* uncommitted batches */
    uint64_t cut_bytes_outstanding; /* their bytes */
    /* Messages to actors that are not spawned yet. */
    struct tri_message *unspawned;
    uint32_t unspawned_count;
    /* The place whose frame is being read, or this worker's own. */
    uint32_t receiving_from;
    /* Other hosts (cluster/interhost.h). */
    struct tri_owners owners;       /* which host has which group, as this worker knows it */
    struct tri_key_map early_views; /* (group, view) to be told, of a view not known yet */
    uint64_t lost_view;             /* changes of owners told to actors here last, from this */
    uint64_t lost_view_ms;          /* view on; and when; 0: never */
    struct tri_key_map neighbours;  /* (group, group) that spoke as others when they were loaded */
    bool has_neighbours;            /* some are: there, or by a partition that came later */
    struct tri_key_map interhost_actors;  /* on this worker */
    struct tri_key_groups remote_waiters; /* actors here that may wait for another host */
    uint64_t links_up;                    /* bits by the index of the directory's peers */
    uint64_t link_down_ms[TR_HOSTS_MAX];  /* when each was last lost to an actor here; 0: never */
    /* Moves (move/move.h): messages that wait for the end of a move, and its source. */
    struct tri_held *held;
    uint32_t held_from;
    struct tri_moves *moves;
    uint32_t flushes;     /* of others, before groups leave this host (move/leave.h) */
    uint64_t balanced_ns; /* when this worker last took part in balancing */
    uint64_t message_ns;  /* recent average time of a message */
    /* Observation. */
    struct tri_metrics metrics;
    int64_t gauges[TR_GAUGES_MAX]; /* sums over the states of all actors here */
    uint64_t *counters;            /* the program's counters */
    struct tri_recorder recorder;
    uint32_t timed_slices; /* remaining slices in which each run is measured: worker/slow.h */
    uint32_t tap_mask;     /* bits of enum tri_tap_point that a tap wants */
    struct tri_tap_port *tap;
    struct tri_dead_letter *dead_letters;
    struct tri_current_message *own_message;
    struct tri_current_message *current_message; /* survives a crash: crashes/poison_message.h */
    int fatal;                                   /* the error that ends this host, or 0 */
};

/* The actor of a slot; slot is not 0. */
static inline struct tri_actor *tri_actor_at(const struct tri_worker *worker, uint32_t slot)
{
    return tri_slot_object(&worker->directory, slot);
}

static inline struct tri_edge *tri_edge_at(const struct tri_worker *worker, uint32_t slot)
{
    return tri_slot_object(&worker->directory, slot);
}

/* The actor with this key on this worker, or NULL. `hint` is a slot to try first, 0 for none. */
struct tri_actor *tri_actor_find(struct tri_worker *worker, struct tr_key key, uint32_t hint);

/* Adds an actor's state to the gauges (1), or removes it (-1). */
static inline void tri_actor_gauge(struct tri_worker *worker, const struct tri_actor *actor,
                                   int64_t sign)
{
    const struct tr_behaviour *behaviour = worker->shared->behaviours[actor->behaviour];
    if (behaviour->gauge != NULL) {
        behaviour->gauge(actor + 1, sign, worker->gauges);
    }
}

/* The worker on which a serial was spawned. */
static inline uint32_t tri_origin_worker(const struct tri_shared *shared, struct tr_key key)
{
    return (uint32_t)(key.serial & (TR_WORKERS_MAX - 1)) % shared->worker_count;
}

#endif
