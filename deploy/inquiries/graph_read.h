/*
 * A graph of the store for what is handled on another host than that which has put it there
 * (actors/services/graph_fetch.h).
 */
#ifndef TR_DEPLOY_INQUIRIES_GRAPH_READ_H
#define TR_DEPLOY_INQUIRIES_GRAPH_READ_H

#include "runtime/troupe.h"

/* Answers graph_read: a row of inquiries.c. TR_NOT_FOUND and others of tr_graphs_get. */
TR_MUST_USE int tr_graph_read_answer(const struct tr_inquiry *inquiry, char *explain);

#endif
