/*
 * When schedules fire: pure functions over a schedule, a time zone and times in seconds since 1970.
 *
 * Cron means the clocks of its zone. Like Vixie's cron, a time that the clocks jump over fires at
 * the first moment after the jump, and one that they show twice fires the first time; but a
 * schedule that fires in every hour keeps to the hours that pass, neither more often nor less.
 * `every` counts from 1970 on, so that 10m fires at :00, :10, :20, whenever it was registered. With
 * an offset all times are so much later.
 */
#ifndef TR_ACTORS_GRAPH_COMPILED_SCHEDULE_TIME_H
#define TR_ACTORS_GRAPH_COMPILED_SCHEDULE_TIME_H

#include "actors/graph/compiled/graph.h"
#include "actors/graph/document/zone.h"

/* A time that is handled later than this was missed: `catch_up` says what becomes of it. */
#define TR_SCHEDULE_LATE_SECONDS 10

/* Missed times that `catch_up: all` fires, the latest ones; those before them are left out. */
#define TR_SCHEDULE_CATCH_UP_MAX 1000

/* The longest name of an execution that a schedule starts, with its closing zero. */
#define TR_SCHEDULE_NAME_BYTES 64

/* The first time after `after`. TR_NOT_FOUND: there is none in the next 60 years. */
TR_MUST_USE int tr_schedule_next(const struct tr_schedule *schedule, const struct tr_zone *zone,
                                 int64_t after, int64_t *next);

/*
 * What to do at `now` about a time that has come. `next` is when to look again, and may have come,
 * too; INT64_MAX: never.
 */
struct tr_schedule_due {
    bool fires; /* `fire` is to be started; it is the time itself, or a later one */
    int64_t fire;
    int64_t next;
    bool leaves_out; /* missed times before `fire`, or all of them, are not started */
};

struct tr_schedule_due tr_schedule_due(const struct tr_schedule *schedule,
                                       const struct tr_zone *zone, int64_t time, int64_t now);

/*
 * The name of the execution of a time: PLAN-20260820t030000z, the time in UTC. A plan's name that
 * is too long for that is cut, and ends with a hash of all of it.
 */
void tr_schedule_name(struct tr_text plan, int64_t time, char name[TR_SCHEDULE_NAME_BYTES]);

#endif
