/*
 * Graphs that dynamic tasks decide: compiled, stored and held for the task that asked.
 */
#ifndef TR_DEPLOY_INQUIRIES_DECIDE_H
#define TR_DEPLOY_INQUIRIES_DECIDE_H

#include "runtime/troupe.h"

/* Answers graph_make: a row of inquiries.c. */
TR_MUST_USE int tr_decide_graph(const struct tr_inquiry *inquiry, char *explain);

#endif
