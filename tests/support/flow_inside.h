/*
 * What the files of the stage for workflows know of each other.
 */
#ifndef TR_TESTS_SUPPORT_FLOW_INSIDE_H
#define TR_TESTS_SUPPORT_FLOW_INSIDE_H

#include "tests/support/flow.h"

/* The stage that is open: handlers know no other way to it. */
extern struct flow *flow_current;

/* What stands in the place of tasks and arrays. */
extern const struct tr_behaviour flow_task_fake;
extern const struct tr_behaviour flow_array_fake;

/* The files service of the stage, which answers for an earlier execution. */
void flow_recall_open(struct flow *flow);
void flow_recall_close(struct flow *flow);

/* Answers what was asked; whether there was anything. */
bool flow_recall_serve(struct flow *flow);

#endif
