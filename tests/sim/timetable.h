/*
 * Schedules in a world: the person who registers some plans and drops them in the end, the
 * program's answers about the clock, and what must come of it. What they start sleeps for a while.
 */
#ifndef TR_TESTS_SIM_TIMETABLE_H
#define TR_TESTS_SIM_TIMETABLE_H

#include "schemas/engine/history.h"
#include "schemas/engine/schedule.h"
#include "tests/sim/engine.h"

#define SIM_PLANNER_GO_FIELDS(FIELD, ARRAY) \
    FIELD(ref, schedules, 1, 0)             \
    FIELD(ref, launcher, 1, 0)

/*
 * `set` and `dropped` count the plans of which that is known. `paused` has a bit for each plan that
 * it has paused; one `is_changing` while it waits for the answer.
 */
#define SIM_PLANNER_FIELDS(FIELD, ARRAY) \
    FIELD(ref, schedules, 1, 0)          \
    FIELD(ref, launcher, 1, 0)           \
    FIELD(bool, has_begun, 1, 0)         \
    FIELD(bool, is_dropping, 1, 0)       \
    FIELD(u32, set, 1, 0)                \
    FIELD(u32, dropped, 1, 0)            \
    FIELD(u32, paused, 1, 0)             \
    FIELD(bool, is_changing, 1, 0)

#define SIM_PLANNER_SCHEMAS(S)                                               \
    S(sim_planner_go, 933, TR_MESSAGE, 1, TR_DURABLE, SIM_PLANNER_GO_FIELDS) \
    S(sim_planner, 932, TR_STATE, 1, TR_DURABLE, SIM_PLANNER_FIELDS)

SIM_PLANNER_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/*
 * Registers all plans, pauses some of them for a while where people pause, and drops them when
 * faults have been over for a while.
 */
extern const struct tr_behaviour sim_planner_behaviour;

struct sim_timetable;

/* Draws plans, and puts their graph among those of the world. */
struct sim_timetable *sim_timetable_new(struct sim_stage *stage, struct sim_random *random);
void sim_timetable_free(struct sim_timetable *timetable);

/* The program is asked about the clock; whether that is what the call is. */
bool sim_timetable_hear(struct sim_timetable *timetable, struct sim_host *host,
                        const struct tr_envelope *envelope, struct tr_bytes body);

/* Rows that are committed: an execution, if a schedule has started it; a schedule itself. */
bool sim_timetable_take_execution(struct sim_timetable *timetable, const struct tr_execution *row);
void sim_timetable_take_schedule(struct sim_timetable *timetable,
                                 const struct tr_schedule_row *row);

/* When all is over. */
void sim_timetable_check_end(const struct sim_timetable *timetable);

#endif
