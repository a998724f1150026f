/*
 * Callers by key: for each key its run with the caller, and the callers of other calls about it,
 * oldest first. An entry exists as long as it has a caller. Runs that wait are queued.
 */
#ifndef TR_RUNTIME_SERVICES_PROCESS_KEYS_H
#define TR_RUNTIME_SERVICES_PROCESS_KEYS_H

#include "runtime/process/attempt.h"
#include "runtime/services/service.h"

/* Open calls about one key, besides its process_run. */
#define TR_PROCESS_CALLS_MAX 8

/* The phases of a process_run. */
enum tri_process_run_phase {
    TRI_PROCESS_RUN_NONE,    /* no run */
    TRI_PROCESS_RUN_WAITING, /* it is queued, and nothing of it is made yet */
    TRI_PROCESS_RUN_HELD,    /* its folder exists; the keeper is asked whether it knows the key */
    TRI_PROCESS_RUN_ASKED,   /* the keeper has it */
    TRI_PROCESS_RUN_STARTED, /* the caller was told that it has started */
    TRI_PROCESS_RUN_PHASE_COUNT,
};

struct tri_process_key {
    struct tri_process_key *next; /* of the same bucket */
    enum tri_process_run_phase phase;
    struct tri_caller run;
    struct tri_attempt *attempt; /* unless in phase NONE */
    uint8_t *held;               /* the body of a waiting or held run */
    size_t held_size;
    uint8_t held_version;
    bool is_stopped;                /* a stop was requested while it was held */
    struct tri_process_key *before; /* in the queue */
    struct tri_process_key *behind;
    uint32_t pid; /* of process_started, from phase STARTED on */
    uint64_t start_time;
    uint64_t started_ms;
    bool is_bounded; /* a bound of memory was asked for */
    struct tri_caller open[TR_PROCESS_CALLS_MAX];
    uint32_t open_count;
    uint32_t hash;
    uint32_t size;
    char key[];
};

struct tri_process_keys {
    struct tri_process_key **buckets;
    uint32_t mask;
    uint32_t count;
};

TR_MUST_USE int tri_process_keys_init(struct tri_process_keys *keys);
void tri_process_keys_fini(struct tri_process_keys *keys);

/* The key's entry, or NULL. */
struct tri_process_key *tri_process_keys_find(const struct tri_process_keys *keys,
                                              struct tr_text key);

/* The key's entry, created if missing. NULL: no memory. */
struct tri_process_key *tri_process_keys_ensure(struct tri_process_keys *keys, struct tr_text key);

/* Adds an open call about a key. TR_LIMIT (too many open calls), TR_MEMORY. */
TR_MUST_USE int tri_process_keys_open(struct tri_process_keys *keys, struct tr_text key,
                                      const struct tri_caller *caller);

/* Removes the oldest open call of an entry; false if there is none. */
bool tri_process_key_answer(struct tri_process_key *entry, struct tri_caller *caller);

/* Keeps a copy of a run's body until it is released. TR_MEMORY. */
TR_MUST_USE int tri_process_key_hold(struct tri_process_key *entry, struct tr_bytes body,
                                     uint8_t version);
void tri_process_key_release(struct tri_process_key *entry);

/* A FIFO of entries, which it does not own; all zero is empty. */
struct tri_process_queue {
    struct tri_process_key *first;
    struct tri_process_key *last;
};

/* Append an entry; remove one from any position. */
void tri_process_queue_put(struct tri_process_queue *queue, struct tri_process_key *entry);
void tri_process_queue_remove(struct tri_process_queue *queue, struct tri_process_key *entry);

/* Ends the run of an entry and frees its data. */
void tri_process_key_end(struct tri_process_key *entry);

/* Frees an entry without callers; any other stays. */
void tri_process_keys_drop_unused(struct tri_process_keys *keys, struct tri_process_key *entry);

/* Visits and removes all entries. */
void tri_process_keys_clear(struct tri_process_keys *keys, void *self,
                            void (*visit)(void *self, struct tri_process_key *entry));

#endif
