/*
 * How schedules are shown: those that were applied just now, and all that are registered.
 */
#ifndef TR_DEPLOY_SCHEDULES_SCHEDULES_PRINT_H
#define TR_DEPLOY_SCHEDULES_SCHEDULES_PRINT_H

#include "actors/graph/compiled/graph.h"
#include "deploy/cli/command.h"
#include "deploy/common/clock.h"

/* What became of a plan: enum tr_schedule_change. */
struct tr_applied_plan {
    struct tr_text plan;
    uint8_t change;
    uint64_t next_ms; /* when it fires next; 0: never */
};

/* Prints what was applied, as -o says; the graph says the rest. */
enum tr_exit_status tr_applied_print(const struct tr_invocation *invocation,
                                     const struct tr_graph *graph,
                                     const struct tr_applied_plan *applied, uint32_t count);

/* Prints all schedules of the store that the command means. */
enum tr_exit_status tr_schedules_list(const struct tr_invocation *invocation);

#endif
