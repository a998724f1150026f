/*
 * The program's answer to a schedule that asks what to do (schemas/engine/schedule.h,
 * schedule_look).
 */
#ifndef TR_DEPLOY_INQUIRIES_SCHEDULE_LOOK_H
#define TR_DEPLOY_INQUIRIES_SCHEDULE_LOOK_H

#include "runtime/troupe.h"

/* A row of inquiries.c. TR_NOT_FOUND: the graph is not there just now, or no such time zone. */
TR_MUST_USE int tr_schedule_look_answer(const struct tr_inquiry *inquiry, char *explain);

#endif
