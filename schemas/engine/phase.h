/*
 * All phases of executions, nodes and attempts, and which may follow which: one table each.
 *
 * Elements of arrays have the phases of nodes. Numbers are on disk and never change their meaning.
 * Each row has the word that people read.
 */
#ifndef TR_SCHEMAS_ENGINE_PHASE_H
#define TR_SCHEMAS_ENGINE_PHASE_H

#include "schemas/codec/base.h"

/* P(NAME, number, word, is an end) */
#define TR_EXECUTION_PHASES(P)             \
    P(UNDEFINED, 0, "undefined", false)    \
    P(QUEUED, 1, "queued", false)          \
    P(RUNNING, 2, "running", false)        \
    P(SUCCEEDING, 3, "succeeding", false)  \
    P(SUCCEEDED, 4, "succeeded", true)     \
    P(FAILING, 5, "failing", false)        \
    P(FAILED, 6, "failed", true)           \
    P(ABORTED, 7, "aborted", true)         \
    P(TIMED_OUT, 8, "timed out", true)     \
    P(ABORTING, 9, "aborting", false)      \
    P(TIMING_OUT, 10, "timing out", false) \
    P(EXPORTED, 11, "exported", true)

#define TR_NODE_PHASES(P)                              \
    P(NOT_YET_STARTED, 0, "not yet started", false)    \
    P(QUEUED, 1, "queued", false)                      \
    P(RUNNING, 2, "running", false)                    \
    P(FAILING, 3, "failing", false)                    \
    P(SUCCEEDING, 4, "succeeding", false)              \
    P(SUCCEEDED, 5, "succeeded", true)                 \
    P(FAILED, 6, "failed", true)                       \
    P(SKIPPED, 7, "skipped", true)                     \
    P(RETRYABLE_FAILURE, 8, "waiting to retry", false) \
    P(TIMING_OUT, 9, "timing out", false)              \
    P(TIMED_OUT, 10, "timed out", true)                \
    P(DYNAMIC_RUNNING, 11, "dynamic running", false)   \
    P(RECOVERED, 12, "recovered", true)                \
    P(ABORTING, 13, "aborting", false)                 \
    P(ABORTED, 14, "aborted", true)

/* Of an attempt: what a plugin says. flyteplugins' core.Phase. */
#define TR_TASK_PHASES(P)                                       \
    P(UNDEFINED, 0, "undefined", false)                         \
    P(NOT_READY, 1, "not ready", false)                         \
    P(WAITING_FOR_RESOURCES, 2, "waiting for resources", false) \
    P(QUEUED, 3, "queued", false)                               \
    P(INITIALIZING, 4, "initializing", false)                   \
    P(RUNNING, 5, "running", false)                             \
    P(SUCCESS, 6, "succeeded", true)                            \
    P(RETRYABLE_FAILURE, 7, "failed, may be retried", true)     \
    P(PERMANENT_FAILURE, 8, "failed", true)                     \
    P(WAITING_FOR_CACHE, 9, "waiting for the cache", false)     \
    P(ABORTED, 10, "aborted", true)

/* What is done with the cache: flyteidl.core.CatalogCacheStatus. */
#define TR_CACHE_STATUSES(P)                    \
    P(DISABLED, 0, "disabled", true)            \
    P(MISS, 1, "miss", true)                    \
    P(HIT, 2, "hit", true)                      \
    P(POPULATED, 3, "populated", true)          \
    P(LOOKUP_FAILURE, 4, "lookup failed", true) \
    P(PUT_FAILURE, 5, "put failed", true)       \
    P(SKIPPED, 6, "skipped", true)              \
    P(EVICTED, 7, "evicted", true)              \
    P(OVERWRITTEN, 8, "overwritten", true)

enum tr_execution_phase {
#define TRI_PHASE_ENUM(name, number, word, is_end) TR_EXECUTION_##name = (number),
    TR_EXECUTION_PHASES(TRI_PHASE_ENUM)
#undef TRI_PHASE_ENUM
        TR_EXECUTION_PHASE_COUNT,
    TR_EXECUTION_PHASE_MAX = TR_EXECUTION_PHASE_COUNT - 1
};

enum tr_node_phase {
#define TRI_PHASE_ENUM(name, number, word, is_end) TR_NODE_PHASE_##name = (number),
    TR_NODE_PHASES(TRI_PHASE_ENUM)
#undef TRI_PHASE_ENUM
        TR_NODE_PHASE_COUNT,
    TR_NODE_PHASE_MAX = TR_NODE_PHASE_COUNT - 1
};

enum tr_task_phase {
#define TRI_PHASE_ENUM(name, number, word, is_end) TR_TASK_PHASE_##name = (number),
    TR_TASK_PHASES(TRI_PHASE_ENUM)
#undef TRI_PHASE_ENUM
        TR_TASK_PHASE_COUNT,
    TR_TASK_PHASE_MAX = TR_TASK_PHASE_COUNT - 1
};

enum tr_cache_status {
#define TRI_PHASE_ENUM(name, number, word, is_end) TR_CACHE_STATUS_##name = (number),
    TR_CACHE_STATUSES(TRI_PHASE_ENUM)
#undef TRI_PHASE_ENUM
        TR_CACHE_STATUS_COUNT,
};

/* Whose phases are meant. */
enum tr_subject {
    TR_SUBJECT_EXECUTION = 1,
    TR_SUBJECT_NODE = 2, /* and the elements of arrays */
    TR_SUBJECT_TASK = 3, /* one attempt */
};

/* The word for people ("running"); "?" for a number that is none. */
const char *tr_execution_phase_word(uint8_t phase);
const char *tr_node_phase_word(uint8_t phase);
const char *tr_task_phase_word(uint8_t phase);
const char *tr_cache_status_word(uint8_t status);
const char *tr_phase_word(enum tr_subject subject, uint8_t phase);

/* Whether nothing follows. */
bool tr_phase_is_end(enum tr_subject subject, uint8_t phase);

/*
 * Whether `to` may follow `from`: facts of Flyte (nodes/executor.go, workflow/executor.go), with
 * aborts and time-outs as Troupe has them. Nothing follows itself: a retry
 * goes through RETRYABLE_FAILURE.
 */
bool tr_phase_may_follow(enum tr_subject subject, uint8_t from, uint8_t to);

#endif
