/*
 * How schedules are shown: those that were applied just now, and all that are registered.
 */
#ifndef TR_DEPLOY_COMMANDS_SCHEDULES_H
#define TR_DEPLOY_COMMANDS_SCHEDULES_H

#include "actors/graph/compiled/graph.h"
#include "deploy/cli/command.h"
#include "deploy/common/clock.h"
#include "runtime/journal/reader.h"

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

/*
 * Prints the schedules of a store; where no engine is live, they all rest. TR_MEMORY, and what the
 * reader says.
 */
TR_MUST_USE int tr_schedules_print(const struct tr_invocation *invocation, struct tr_reader *reader,
                                   bool is_live);

#endif
