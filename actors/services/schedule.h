/*
 * One schedule, in the hands of a handler: what the files of its actor share.
 *
 * The actor waits for the time that its state calls `due`. When that has come it asks the program
 * what to do (schedule_look): which execution is to be started, and when to look again. It starts
 * one through the launcher of its project, under the name of the time. So whatever crashes between,
 * the same time is never started twice: within the store nothing is lost or done twice, and a name
 * that was ever used is not used again.
 */
#ifndef TR_ACTORS_SERVICES_SCHEDULE_H
#define TR_ACTORS_SERVICES_SCHEDULE_H

#include "actors/engine.h"
#include "actors/graph/compiled/schedule_time.h"
#include "schemas/engine/phase.h"
#include "schemas/engine/schedule.h"
#include "schemas/runtime/files.h"

struct tri_schedule {
    struct tr_context *context;
    struct tr_schedule_state *state;
    const struct tr_message *message;
    const struct tr_graph *graph; /* held while the handler runs; NULL: it is not there just now */
    const struct tr_plan *plan;
};

/* Writes how it stands into the store's row. Without the graph nothing, until there is one. */
TR_MUST_USE int tri_schedule_record(struct tri_schedule *schedule);
TR_MUST_USE int tri_schedule_forget(struct tri_schedule *schedule);

/* Asks the launcher for the execution of `fire`; `call` is the question. */
TR_MUST_USE int tri_schedule_launch(struct tri_schedule *schedule);

/*
 * The program's answer to schedule_look, but for `exists`: pure. A clock that was set back goes
 * through times again that were dealt with; those that were started have their names.
 */
void tr_schedule_see(const struct tr_schedule *schedule, const struct tr_zone *zone,
                     const struct tr_schedule_look *asked, uint64_t now_ms,
                     struct tr_schedule_seen *seen);

/*
 * Appends a slot for each input of the workflow: what the plan gives, the scheduled time for
 * `kickoff_input`, else the workflow's default.
 */
TR_MUST_USE int tr_schedule_inputs(const struct tr_graph *graph, const struct tr_plan *plan,
                                   int64_t time, struct tr_buffer *inputs);

#endif
