/*
 * Pruning by the engine itself: on a thread of its own, which is a client of its own process, so
 * that the engine goes on and has one way to forget.
 *
 * What the program calls is for one thread, which steps the engine meanwhile
 * (deploy/server/serve.h).
 */
#ifndef TR_DEPLOY_RETENTION_JANITOR_H
#define TR_DEPLOY_RETENTION_JANITOR_H

#include "deploy/retention/pruning.h"
#include "runtime/journal/store.h"

struct tr_janitor;

/*
 * Begins what a request says; its texts and numbers outlive the janitor, which stops by itself.
 * TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tr_janitor_start(const struct tr_prune_request *request,
                                 struct tr_janitor **janitor);

/* Whether he has done it. */
bool tr_janitor_is_done(const struct tr_janitor *janitor);

/*
 * Stops him where he is not done, and waits for his end. Where the engine is not stepped any more,
 * its socket is closed before, so that it does not wait for answers. What tr_prune says, with its
 * words in `explain` (TRI_STORE_EXPLAIN_BYTES); NULL is fine.
 */
int tr_janitor_end(struct tr_janitor *janitor, struct tr_pruned *pruned, char *explain);

/* How long things are kept after their end, in milliseconds. 0, the default: for ever. */
struct tr_retention {
    uint64_t executions_ms;
    uint64_t failed_attempts_ms; /* folders of attempts and checkpoints */
    uint64_t cache_ms;           /* results, after they were made */
    uint64_t audit_ms;           /* rows of the audit */
    uint64_t blobs_cache_bytes;  /* of blobs/ as a cache; 0: TR_BLOBS_CACHE_BYTES */
    struct tri_vector rules;     /* struct tr_retention_rule: for executions with certain labels */
};

/* How often an engine that stays forgets what is older. */
#define TR_RETENTION_EVERY_MS (60ULL * 60 * 1000)

/* How often it looks at the cache of blobs, and how large that may be by default. */
#define TR_BLOBS_CACHE_EVERY_MS (60ULL * 1000)
#define TR_BLOBS_CACHE_BYTES (64ULL << 30)

/* A retention that is being kept. Zeros at first. */
struct tr_retaining {
    const char *folder; /* of the store */
    struct tr_retention retention;
    struct tr_janitor *janitor;
    bool is_one_of_several; /* hosts of the store, which have the retention alike */
    bool is_janitor;        /* of these it forgets what all of them share */
    uint64_t next_ms;       /* of tr_clock_ms; 0: now */
    uint64_t next_cache_ms; /* the same, of the cache of blobs */
};

/*
 * Begins, at the first step and then once an hour, to forget what is too old, and hears of its end.
 * True: it has ended; then `explain` (TRI_STORE_EXPLAIN_BYTES) has words where it failed, else
 * none, and `pruned` says what went. A retention without any time does nothing but remove folders
 * of what other hosts have forgotten. Where blobs/ is a cache, it is bounded once a minute.
 */
bool tr_retaining_step(struct tr_retaining *retaining, struct tr_pruned *pruned, char *explain);

/* Whether it is the one of several hosts; one that was not begins at its next step. */
void tr_retaining_set_janitor(struct tr_retaining *retaining, bool is_janitor);

/* Stops what is under way, as tr_janitor_end; before the engine is closed. */
void tr_retaining_fini(struct tr_retaining *retaining);

#endif
