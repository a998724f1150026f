/*
 * Starting the executions of a span of times, so many at once, in the engine of this process or as
 * a client of another's.
 */
#ifndef TR_DEPLOY_SCHEDULES_BACKFILL_H
#define TR_DEPLOY_SCHEDULES_BACKFILL_H

#include "actors/graph/compiled/graph.h"
#include "deploy/connect/connect.h"
#include "deploy/engine/launch.h"

/* Times of one backfill. */
#define TR_BACKFILL_MAX 100000

/* Those that are started at once and left. */
#define TR_BACKFILL_DETACHED_MAX 1000

/* What became of a time. */
enum tr_backfill_state {
    TR_BACKFILL_WAITS,
    TR_BACKFILL_RUNS,
    TR_BACKFILL_EXISTED,
    TR_BACKFILL_ENDED
};

struct tr_backfill_time {
    int64_t time;
    uint8_t state; /* enum tr_backfill_state */
    uint8_t phase; /* how it ended: of an execution */
    uint64_t execution;
    uint64_t monitor; /* in this process's engine, whose rest ends with it */
};

struct tr_backfill {
    const struct tr_invocation *invocation;
    const char *folder;
    const struct tr_graph *graph;
    struct tr_bytes packed; /* the same */
    const struct tr_plan *plan;
    uint32_t at_once;
    bool is_detached;      /* all are started, and none is waited for */
    struct tr_text labels; /* that were asked for */
    struct tr_backfill_time *times;
    uint32_t count;
};

/*
 * Starts them in their order and, unless they are left, stays until all have ended. Ctrl-C starts
 * no more and waits for those that run, a second one leaves them. What the command ends with: the
 * worst of them.
 */
enum tr_exit_status tr_backfill_run(struct tr_backfill *backfill, struct tr_connection *connection);

#endif
