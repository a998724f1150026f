/*
 * Schedules that people change without editing a file: pausing one, letting it go on, and starting
 * an execution of its plan now.
 */
#ifndef TR_DEPLOY_SERVER_CHANGE_SCHEDULES_H
#define TR_DEPLOY_SERVER_CHANGE_SCHEDULES_H

#include "deploy/engine/launch.h"
#include "deploy/server/apply_plans.h"
#include "schemas/runtime/request.h"

/*
 * Pauses a schedule or lets it go on; returns when that is committed. TR_NOT_FOUND: there is none
 * of the address; TR_LIMIT: the message is too long; with words in `words`
 * (TR_APPLY_EXPLAIN_BYTES).
 */
TR_MUST_USE int tr_live_pause_schedule(struct tr_live *live, const struct tr_pause_schedule *pause,
                                       char *words);

/*
 * Begins one execution of the plan as it is registered, with its inputs; `kickoff_input` gets the
 * time as it is now. The schedule has no part in it: a pause or an execution that runs is not in
 * its way, and it is in the way of no time. TR_NOT_FOUND, and those of tr_live_launch, with words
 * in the outcome's message.
 */
TR_MUST_USE int tr_live_trigger_schedule(struct tr_live *live,
                                         const struct tr_trigger_schedule *trigger,
                                         struct tr_launch_outcome *outcome);

#endif
