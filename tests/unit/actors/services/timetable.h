/*
 * What the tests of schedules stand on: the stage for workflows with schedules on it, a program
 * that answers them by the stage's clock and by what the store has of executions, and time that
 * passes.
 */
#ifndef TR_TESTS_UNIT_ACTORS_SERVICES_TIMETABLE_H
#define TR_TESTS_UNIT_ACTORS_SERVICES_TIMETABLE_H

#include "actors/services/schedule.h"
#include "tests/support/flow.h"

/* When a stage begins: at 22:13:20. */
#define START_S ((int64_t)(STAGE_START_WALL_MS / 1000))
#define MINUTE 60
#define HOUR 3600

extern struct flow *timetable_flow;
extern struct tr_ref timetable_schedules;
extern bool timetable_is_broken;    /* the program cannot say anything */
extern bool timetable_is_forgetful; /* it knows no execution, and is quick */

/* What the schedules answered. */
struct timetable_kept {
    int error;
    uint8_t change;
};

/* Opens a stage with these launch plans of the workflow `main`; `fires`: its engine fires them. */
void timetable_begin(const char *plans, bool fires);
void timetable_end(void);

/* The engine dies, and is there again after so many seconds. */
void timetable_crash(int64_t seconds);

/* Registers a plan, and forgets it. */
struct timetable_kept timetable_apply(const char *plan);
struct timetable_kept timetable_drop(const char *plan);

/* Ann pauses one and says why, and lets it go on; or says so and waits for no answer. */
struct timetable_kept timetable_pause(const char *plan, const char *message);
struct timetable_kept timetable_resume(const char *plan);
void timetable_tell_pause(const char *plan, bool is_paused);

/* An engine that fires has begun, or the clock was set. */
void timetable_wake(void);
void timetable_set_clock(int64_t seconds);

/* Answers what was asked, once or until nothing happens any more; whether there was anything. */
bool timetable_serve(void);
void timetable_settle(void);

/* Lets time pass, second by second. */
void timetable_pass(int64_t seconds);

/* How many executions were begun, and of a plan at a time. */
size_t timetable_begun(void);
size_t timetable_begun_at(const char *plan, int64_t time);

/* The row of a plan, as people see it. */
bool timetable_row_of(const char *plan, struct tr_schedule_row *row);
uint8_t timetable_outcome_of(const char *plan);

/* The first full minute, or hour, after the stage's beginning. */
int64_t timetable_first_of(int64_t every);

#endif
