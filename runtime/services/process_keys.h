/*
 * Who wants to hear of which process: for each key the attempt that runs under it with its caller,
 * and the callers that wait for another answer about it, oldest first. An entry is there as long as
 * somebody waits. Those whose turn has not come stand in a line.
 */
#ifndef TR_RUNTIME_SERVICES_PROCESS_KEYS_H
#define TR_RUNTIME_SERVICES_PROCESS_KEYS_H

#include "runtime/process/attempt.h"
#include "runtime/services/service.h"

/* Calls about one key, beside its process_run, that may be open at once. */
#define TR_PROCESS_CALLS_MAX 8

/* How far a process_run has come. */
enum tri_run_phase {
    TRI_RUN_NONE,    /* nobody asked for one */
    TRI_RUN_WAITING, /* it stands in the line, and nothing of it is made yet */
    TRI_RUN_HELD,    /* its folder is there: does the keeper know the key? */
    TRI_RUN_ASKED,   /* the keeper was told, or has it already */
    TRI_RUN_STARTED, /* the caller was told that it runs */
    TRI_RUN_PHASE_COUNT,
};

struct tri_process_key {
    struct tri_process_key *next; /* of the same bucket */
    enum tri_run_phase phase;
    struct tri_caller run;
    struct tri_attempt *attempt; /* unless TRI_RUN_NONE */
    uint8_t *held;               /* the body of a run that waits or is held */
    size_t held_size;
    uint8_t held_version;
    bool is_stopped;                /* a stop was asked for while it was held */
    struct tri_process_key *before; /* in the line */
    struct tri_process_key *behind;
    uint32_t pid; /* of process_started, from TRI_RUN_STARTED on */
    uint64_t start_time;
    uint64_t started_ms;
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

/* The key's entry, a new one if there is none. NULL: out of memory. */
struct tri_process_key *tri_process_keys_have(struct tri_process_keys *keys, struct tr_text key);

/* A caller waits for an answer about a key. TR_LIMIT (too many open calls), TR_MEMORY. */
TR_MUST_USE int tri_process_keys_open(struct tri_process_keys *keys, struct tr_text key,
                                      const struct tri_caller *caller);

/* Takes the oldest open call of an entry; false when there is none. */
bool tri_process_key_answer(struct tri_process_key *entry, struct tri_caller *caller);

/* Keeps a copy of a run's body until it is let go. TR_MEMORY. */
TR_MUST_USE int tri_process_key_hold(struct tri_process_key *entry, struct tr_bytes body,
                                     uint8_t version);
void tri_process_key_let_go(struct tri_process_key *entry);

/* Entries in the order in which they came; zeros are an empty line. It owns none of them. */
struct tri_process_line {
    struct tri_process_key *first;
    struct tri_process_key *last;
};

/* Puts an entry at the end; takes one out, wherever it stands. */
void tri_process_line_put(struct tri_process_line *line, struct tri_process_key *entry);
void tri_process_line_remove(struct tri_process_line *line, struct tri_process_key *entry);

/* The run of an entry is over: forgets all about it. */
void tri_process_key_end(struct tri_process_key *entry);

/* Forgets a key for which nobody waits; any other stays. */
void tri_process_keys_tidy(struct tri_process_keys *keys, struct tri_process_key *entry);

/* Calls for each entry, and forgets all of them. */
void tri_process_keys_clear(struct tri_process_keys *keys, void *self,
                            void (*visit)(void *self, struct tri_process_key *entry));

#endif
