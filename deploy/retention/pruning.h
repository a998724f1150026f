/*
 * Forgetting: executions that have ended, what their attempts have left, results in the cache, and
 * every file of a store that nothing names any more (deploy/retention/mark.h has the rule).
 *
 * It works beside a live engine, which deletes the rows; files it removes itself.
 */
#ifndef TR_DEPLOY_RETENTION_PRUNING_H
#define TR_DEPLOY_RETENTION_PRUNING_H

#include <stdatomic.h>

#include "deploy/history/executions.h"
#include "deploy/selection/execution_filter.h"
#include "runtime/link/endpoint.h"

/*
 * What nothing names stays so long all the same: it may just have been made, and be named by a
 * commit that is still to come.
 */
#define TR_PRUNE_UNNAMED_MS (60ULL * 60 * 1000)

/* How long executions with certain labels are kept after their end; 0: for ever. */
struct tr_retention_rule {
    struct tr_label_selector labels;
    uint64_t executions_ms;
};

/* What goes. Times are milliseconds since 1970, 0 for nothing by age. */
struct tr_prune_request {
    const char *folder;                    /* of the store */
    uint64_t executions_before_ms;         /* executions that ended before, */
    struct tr_execution_filter filter;     /* of these only those that suit; */
    const struct tr_retention_rule *rules; /* the first that holds goes before `…_before_ms` */
    size_t rule_count;
    uint64_t now_ms;            /* for the rules */
    const uint64_t *executions; /* and these by their numbers */
    size_t execution_count;
    uint64_t attempts_before_ms; /* folders of attempts and checkpoints */
    uint64_t cache_before_ms;    /* results in the cache made before, environments unused since */
    uint64_t audit_before_ms;    /* rows of the audit */
    uint64_t unnamed_before_ms;  /* what nothing names */
    uint64_t blobs_cache_bytes;  /* of blobs/, where that is a cache; 0: as it is */
    bool is_only_cache;          /* of blobs: nothing else goes */
    bool is_one_of_several;      /* folders of what other hosts have forgotten go, too */
    bool is_only_own;            /* what all hosts share stays: rows, graphs, blobs */
    bool keeps_unnamed;          /* so does all that nothing names */
    bool is_dry;                 /* counts only; needs no engine */
    const atomic_bool *is_stopping; /* ends it with TR_CLOSED; may be NULL */
    /* Hears how many executions have gone; on the thread that prunes. May be NULL. */
    void (*progress)(void *self, uint64_t done, uint64_t total);
    void *self;
};

/* What went: how many, and the bytes of files. */
struct tr_pruned_part {
    uint64_t count;
    uint64_t bytes;
};

#define TR_PRUNED_PARTS(P)                                                       \
    P(EXECUTIONS, "executions", "executions")                                    \
    P(ATTEMPTS, "attempts", "folders of attempts and checkpoints of executions") \
    P(CACHE, "cache", "results in the cache")                                    \
    P(ENVIRONMENTS, "environments", "environments that no attempt has used")     \
    P(GRAPHS, "graphs", "definitions that nothing names")                        \
    P(BLOBS, "blobs", "files and large values that nothing names")               \
    P(AUDIT, "audit", "rows of the audit")

enum tr_pruned_part_id {
#define TRI_PRUNED_PART(id, name, words) TR_PRUNED_##id,
    TR_PRUNED_PARTS(TRI_PRUNED_PART)
#undef TRI_PRUNED_PART
        TR_PRUNED_PART_COUNT
};

struct tr_pruned {
    struct tr_pruned_part parts[TR_PRUNED_PART_COUNT];
    uint64_t stayed; /* folders on shares that could not be removed, as others have made them */
    char why[TRI_STORE_EXPLAIN_BYTES];        /* of the first of these */
    char blobs_stay[TRI_STORE_EXPLAIN_BYTES]; /* why no blob was removed; empty: none had to stay */
};

/* Whether a request needs the engine, that is to say finds executions or rows to be forgotten. */
TR_MUST_USE int tr_prune_needs_engine(const struct tr_prune_request *request, char *explain,
                                      bool *needs_engine);

/*
 * Does it. `client` reaches the engine; NULL where none is needed. What was removed before an error
 * is counted; to ask again goes on. Errors: TR_BUSY (a named execution has not ended),
 * TR_STORE_LOCKED (the store is being copied: removal_lock.h), what the store and the engine say,
 * TR_SYSTEM (errno), TR_MEMORY, TR_CLOSED; `explain` (TRI_STORE_EXPLAIN_BYTES) has words.
 */
TR_MUST_USE int tr_prune(const struct tr_prune_request *request, struct tri_client *client,
                         char *explain, struct tr_pruned *pruned);

#endif
