/*
 * `troupe explain PLAN`: why a schedule has not started what people expect of it: what it waits
 * for, what became of its last time, and the latest times that were not started.
 */
#ifndef TR_DEPLOY_LOOK_EXPLAIN_SCHEDULE_H
#define TR_DEPLOY_LOOK_EXPLAIN_SCHEDULE_H

#include "deploy/cli/browse.h"

/*
 * Explains the schedules that a word names: PLAN, or /PROJECT/DOMAIN/PLAN. `is_meant` false: it
 * names none, or an execution has just this name, and nothing was written. What goes wrong is said.
 */
enum tr_exit_status tr_explain_schedule(const struct tr_browse *browse, const char *word,
                                        bool *is_meant);

/*
 * Reads the rows (schemas/engine/schedule.h) of registered plans that such a word names. Errors of
 * `take` and of the reader.
 */
TR_MUST_USE int tr_plans_named(struct tr_reader *reader, const char *word,
                               int (*take)(void *self, const void *row), void *self);

#endif
