/*
 * What actors count for people who watch an engine, as part of their effects (tr_count): what a
 * handler that fails has counted does not count. All of it begins at 0 with each engine.
 *
 * Executions and attempts are counted by the workflow that they belong to. The first
 * TR_METRIC_WORKFLOWS_MAX of these have counters of their own, and all others share one set, so
 * that names which programs make up cannot grow what a monitoring system has to keep.
 *
 * struct tr_counters says which counters there are: the number of one is its place there. Gauges
 * (struct tr_gauges) are sums over the states of the actors that live; so they need no counting,
 * and hold over restarts.
 */
#ifndef TR_ACTORS_METRICS_METRICS_H
#define TR_ACTORS_METRICS_METRICS_H

#include <stdatomic.h>

#include "runtime/troupe.h"
#include "schemas/engine/phase.h"
#include "schemas/engine/schedule.h"

/* Workflows with counters of their own. Their names are kept up to so many bytes each. */
#define TR_METRIC_WORKFLOWS_MAX 64
#define TR_METRIC_NAME_BYTES 256

/* A duration counts in the first bucket whose bound it does not exceed; the last has none. */
#define TR_TIME_BUCKETS 14
extern const uint64_t tr_time_bounds_ms[TR_TIME_BUCKETS];

struct tr_time_counters {
    uint64_t counts[TR_TIME_BUCKETS];
    uint64_t sum_ms;
};

/* Of one workflow. What did not run has no time. */
struct tr_workflow_counters {
    uint64_t executions_started;
    uint64_t executions_ended[TR_EXECUTION_PHASE_COUNT];
    struct tr_time_counters execution_time;
    uint64_t attempts_started;
    uint64_t attempts_ended[TR_TASK_PHASE_COUNT];
    struct tr_time_counters attempt_wait; /* until it ran */
    struct tr_time_counters attempt_run;  /* from then on */
};

/* All of them. The last workflow stands for those that have no counters of their own. */
struct tr_counters {
    struct tr_workflow_counters workflows[TR_METRIC_WORKFLOWS_MAX + 1];
    uint64_t cache[TR_CACHE_STATUS_COUNT]; /* tasks that ended, by what the cache did for them */
    uint64_t schedule_times[TR_SCHEDULE_OUTCOME_COUNT];
    struct tr_time_counters schedule_delay; /* of what was started, behind its time */
};

#define TR_COUNTER_COUNT (sizeof(struct tr_counters) / sizeof(uint64_t))

/* What the states of all actors add up to. */
struct tr_gauges {
    int64_t attempts[TR_TASK_PHASE_COUNT]; /* that have not ended */
    int64_t tasks_retrying;                /* that wait until their next attempt is due */
    int64_t tokens_held;                   /* of quotas, pools and resources */
    int64_t tokens_waiting;
    int64_t cache_owned; /* keys of the cache that somebody makes */
    int64_t cache_waiting;
    int64_t schedules;
};

_Static_assert(sizeof(struct tr_gauges) <= TR_GAUGES_MAX * sizeof(int64_t), "they fit");

/* The workflows that have counters; zeros at first. Any thread may use it. */
struct tr_metric_workflows {
    atomic_bool is_taken;      /* by the one that adds */
    atomic_uint_fast32_t size; /* entries below it do not change any more */
    struct tr_metric_workflow {
        uint64_t hash;
        char project[TR_METRIC_NAME_BYTES];
        char domain[TR_METRIC_NAME_BYTES];
        char name[TR_METRIC_NAME_BYTES];
    } items[TR_METRIC_WORKFLOWS_MAX];
};

/* The place of a workflow, which it gets with this if there is one; TR_METRIC_WORKFLOWS_MAX: none.
 */
uint32_t tr_metric_workflow(struct tr_metric_workflows *workflows, struct tr_text project,
                            struct tr_text domain, struct tr_text name);

/* ------------------------------------------------------------ within a handler */

/* Whose counters are meant. */
struct tr_metric_labels {
    struct tr_text project;
    struct tr_text domain;
    struct tr_text workflow;
};

/* An execution goes to a phase; `run_ms` is how long it has run when that is an end. */
TR_MUST_USE int tr_count_execution(struct tr_context *context,
                                   struct tr_metric_workflows *workflows,
                                   const struct tr_metric_labels *labels, uint8_t phase,
                                   uint64_t run_ms);

/* An attempt goes from one phase to another, by these times of it; 0: not yet. */
struct tr_attempt_times {
    uint64_t created_ms;
    uint64_t started_ms;
    uint64_t elapsed_us; /* of its work, where that was measured */
};
TR_MUST_USE int tr_count_attempt(struct tr_context *context, struct tr_metric_workflows *workflows,
                                 const struct tr_metric_labels *labels, uint8_t from, uint8_t to,
                                 const struct tr_attempt_times *times);

/* A task has ended, of which the cache did this. */
TR_MUST_USE int tr_count_cache(struct tr_context *context, uint8_t status);

/* A time of a schedule was dealt with; `due_ms` is when that should have been. */
TR_MUST_USE int tr_count_schedule(struct tr_context *context, uint8_t outcome, uint64_t due_ms);

#endif
